//! The last messages of a flow, each in the place that its number names.
//!
//! A place is given to the later of two messages. Later is who was released later; so a sender
//! that restarts its numbers is followed without a gap as long as its clock goes on. Where its
//! epoch went back as well, a message with number 0 after a long run of others is a restart
//! (ARINC 664: sequence number 0 means reset), and so is any earlier message a long time after
//! the one in its place.

use tenuto_units::{Instant, Span};

/// Places of a window. In-flight messages of one flow and the skew of two networks, counted in
/// periods, are far fewer.
pub(super) const PLACES: usize = 32;
/// A message that is older than the one in its place and this much behind it in arrival is no
/// straggler: no queue of such networks holds a frame so long.
const STRAGGLER_MAX: Span = Span::from_s(1);

/// Which message something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// Sequence number of the virtual link, or the message id.
    pub(super) number: u32,
    pub(super) message_id: u32,
    /// Release by the stamp; the last frame of a message may be too small for one.
    pub(super) release: Option<Instant>,
}

/// Where a message belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is there.
    Known(usize),
    /// It is not there, and the place is its own now.
    Free(usize),
    /// A later message has the place.
    Past,
}

#[derive(Clone, Debug)]
pub(super) struct Entry<T> {
    pub(super) identity: Identity,
    /// Latest arrival.
    pub(super) at: Instant,
    pub(super) value: T,
}

#[derive(Clone, Debug)]
pub(super) struct Window<T> {
    entries: Vec<Option<Entry<T>>>,
    /// The message released last of all.
    latest: Option<(Instant, u32)>,
}

impl<T> Window<T> {
    pub(super) fn new() -> Self {
        Self { entries: std::iter::repeat_with(|| None).take(PLACES).collect(), latest: None }
    }

    pub(super) fn place(&self, identity: Identity, at: Instant) -> Place {
        let place = identity.number as usize % PLACES;
        match &self.entries[place] {
            None => Place::Free(place),
            Some(entry) if entry.identity.is_same(identity) => Place::Known(place),
            Some(entry)
                if identity.is_after(entry.identity)
                    || at.since(entry.at) > STRAGGLER_MAX
                    || self.is_restart(identity) =>
            {
                Place::Free(place)
            }
            Some(_) => Place::Past,
        }
    }

    /// Whether the sender of this message has lost its numbers and its epoch.
    fn is_restart(&self, identity: Identity) -> bool {
        let (Some(release), Some((latest, latest_id))) = (identity.release, self.latest) else {
            return false;
        };
        identity.number == 0 && release < latest && latest_id as usize >= PLACES
    }

    /// Gives a free place away; the entry that had it is lost, and after a restart all are.
    pub(super) fn put(
        &mut self,
        place: usize,
        entry: Entry<T>,
        mut lost: impl FnMut(usize, &Entry<T>),
    ) {
        let restart = self.is_restart(entry.identity);
        if restart {
            self.latest = None;
        }
        for (other, slot) in self.entries.iter_mut().enumerate() {
            if let Some(old) = slot.take_if(|_| restart || other == place) {
                lost(other, &old);
            }
        }
        self.note(entry.identity);
        self.entries[place] = Some(entry);
    }

    fn note(&mut self, identity: Identity) {
        if let Some(release) = identity.release {
            let seen = (release, identity.message_id);
            self.latest = self.latest.max(Some(seen));
        }
    }

    pub(super) fn get(&self, place: usize) -> Option<&Entry<T>> {
        self.entries[place].as_ref()
    }

    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Entry<T>> {
        self.entries[place].as_mut()
    }
}

impl Identity {
    fn is_same(self, other: Self) -> bool {
        let same_release = match (self.release, other.release) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        same_release && (self.number, self.message_id) == (other.number, other.message_id)
    }

    fn is_after(self, other: Self) -> bool {
        match (self.release, other.release) {
            (Some(release), Some(other)) => release > other,
            _ => self.message_id.wrapping_sub(other.message_id).cast_signed() > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u32, message_id: u32, release: u64) -> Identity {
        Identity { number, message_id, release: Some(Instant::from_ns(release)) }
    }

    fn put(window: &mut Window<()>, identity: Identity, at: u64) -> usize {
        let at = Instant::from_ns(at);
        let Place::Free(place) = window.place(identity, at) else { panic!("{identity:?}") };
        let mut lost = 0;
        window.put(place, Entry { identity, at, value: () }, |_, _| lost += 1);
        lost
    }

    #[test]
    fn the_later_release_has_the_place() {
        let mut window = Window::new();
        assert_eq!(put(&mut window, message(1, 1, 100), 100), 0);
        let at = Instant::from_ns(200);
        assert_eq!(window.place(message(1, 1, 100), at), Place::Known(1));
        // The same number 255 messages later.
        assert_eq!(put(&mut window, message(1, 256, 200), 200), 1);
        assert_eq!(window.place(message(1, 1, 100), at), Place::Past);
        let unstamped = Identity { release: None, ..message(1, 256, 0) };
        assert_eq!(window.place(unstamped, at), Place::Known(1));
    }

    #[test]
    fn a_sender_that_lost_its_epoch_is_followed() {
        let mut window = Window::new();
        for id in 0..40 {
            put(&mut window, message(id, id, 1_000 + u64::from(id)), 0);
        }
        assert_eq!(put(&mut window, message(0, 0, 5), 0), PLACES);
        assert_eq!(put(&mut window, message(1, 1, 6), 0), 0);
    }

    #[test]
    fn a_late_first_message_is_no_restart() {
        let mut window = Window::new();
        put(&mut window, message(1, 1, 11), 20);
        assert_eq!(put(&mut window, message(0, 0, 10), 30), 0);
        assert_eq!(window.place(message(1, 1, 11), Instant::from_ns(40)), Place::Known(1));
    }

    #[test]
    fn after_a_long_silence_anything_is_new() {
        let mut window = Window::new();
        put(&mut window, message(3, 3, u64::MAX), 0);
        let restarted = message(3, 3, 5);
        assert_eq!(window.place(restarted, Instant::from_ns(1_000_000_000)), Place::Past);
        assert_eq!(window.place(restarted, Instant::from_ns(1_000_000_001)), Place::Free(3));
    }
}
