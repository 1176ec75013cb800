//! The end at the device, and the thread that serves several of them.

use super::lane::{LaneEntry, LaneExit};
use super::{ABANDONED, Device, OUTGOING_FRAMES, Shared};
use crate::{
    BURST_FRAMES, Backpressure, FlushReport, Interest, LinkState, Look, MonotonicClock, Offer,
    Pending, PollKey, PollSet, Port, PortWait,
};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Frames that one call of the device sends: half of what its lane holds, so that there is room for
/// others meanwhile.
pub(super) const SENT_AT_ONCE: usize = OUTGOING_FRAMES / 2;

/// The end of who serves the device.
pub struct RelayEnd {
    /// `None` while it is lost.
    device: Option<Device>,
    /// There while it is waited on.
    device_key: Option<PollKey>,
    bell_key: Option<PollKey>,
    shared: Arc<Shared>,
    to_us: LaneEntry,
    from_us: LaneExit,
    /// The lane was full when it was looked at last: the device is left alone until there is room.
    is_held: bool,
    /// What it has no room for stays in the lane.
    backpressure: Backpressure,
}

/// Serves the devices of relays on the calling thread, until the last of their ports is dropped.
///
/// # Errors
///
/// When a port has no descriptor to wait for, or those of `ppoll`. Devices that are lost are told
/// to their ports, which may put others in their places.
pub fn serve_relays(mut ends: Vec<RelayEnd>, mut wait: PortWait) -> io::Result<()> {
    let mut set = PollSet::new();
    for end in &mut ends {
        end.enter(&mut set)?;
    }
    while ends.iter().any(RelayEnd::is_open) {
        let retry_at = ends.iter().filter_map(|end| end.backpressure.retry_at()).min();
        wait.wait(&mut set, retry_at, &mut |look| {
            let open = ends.iter().filter(|end| end.is_open());
            Pending::all(open.map(|end| end.pending(look)))
        })?;
        ends.iter_mut().filter(|end| end.is_open()).for_each(|end| end.serve(&mut set));
    }
    Ok(())
}

impl RelayEnd {
    pub(super) fn new(
        device: Device,
        shared: Arc<Shared>,
        to_us: LaneEntry,
        from_us: LaneExit,
    ) -> Self {
        let backpressure = Backpressure::default();
        let (device, device_key, bell_key) = (Some(device), None, None);
        Self { device, device_key, bell_key, shared, to_us, from_us, is_held: false, backpressure }
    }

    fn enter(&mut self, set: &mut PollSet) -> io::Result<()> {
        self.device_key = self.device.as_deref().map(|device| set.add_port(device)).transpose()?;
        self.bell_key = Some(set.add(self.shared.there.fd(), Interest::Read));
        Ok(())
    }

    /// Whether its port is not dropped yet.
    const fn is_open(&self) -> bool {
        self.bell_key.is_some()
    }

    /// Whether something is to be done here.
    fn pending(&self, look: Look) -> Pending {
        if look == Look::BeforeSleep {
            if self.is_held {
                self.shared.is_room_wanted.store(true, Ordering::Relaxed);
            }
            self.shared.there.expect();
        }
        let is_told = self.shared.is_closed.load(Ordering::Acquire)
            || self.shared.is_asked.load(Ordering::Acquire);
        // A full device is waited for until it is offered more.
        let has_frame = self.backpressure.retry_at().is_none() && self.from_us.has_frame();
        if is_told || has_frame {
            return Pending::Frames;
        }
        match (&self.device, self.is_held) {
            (None, _) => Pending::Nothing,
            // What finds no room in the lane waits in the device.
            (_, true) if self.to_us.room() == 0 => Pending::Nothing,
            (_, true) => Pending::Frames,
            (Some(device), false) => Pending::of([&**device as &dyn Port], look),
        }
    }

    /// Moves at most a burst each way, and does what its port has asked for.
    fn serve(&mut self, set: &mut PollSet) {
        self.shared.there.hush();
        if self.shared.is_closed.load(Ordering::Acquire) {
            let keys = [self.device_key.take(), self.bell_key.take()];
            return keys.into_iter().flatten().for_each(|key| set.remove(key));
        }
        let is_asked = self.shared.is_asked.load(Ordering::Relaxed)
            && self.shared.is_asked.swap(false, Ordering::AcqRel);
        let renewed = if is_asked { self.renew(set) } else { Ok(()) };
        let moved = renewed.and_then(|()| self.move_frames(set));
        let looked = moved.and_then(|()| if is_asked { self.look() } else { Ok(()) });
        if let Err(error) = looked {
            self.lose(&error, set);
        }
        self.is_held = self.to_us.room() == 0;
        if let Some(key) = self.device_key {
            // One that is not to be read may be readable for ever.
            set.set_interest(key, if self.is_held { Interest::None } else { Interest::Read });
        }
    }

    /// Takes the device that was put in the place of a lost one, if there is any.
    fn renew(&mut self, set: &mut PollSet) -> io::Result<()> {
        let Some(next) = self.shared.told(|told| told.next.take()) else { return Ok(()) };
        while self.from_us.taken_ever() < next.stale {
            let left = usize::try_from(next.stale - self.from_us.taken_ever());
            let count = self.from_us.take(left.unwrap_or(BURST_FRAMES));
            if count == 0 {
                break;
            }
            self.refuse(count);
            self.from_us.give_back(count);
        }
        self.tell_room();
        self.backpressure = Backpressure::default();
        let device = self.device.insert(next.device);
        self.device_key = Some(set.add_port(&**device)?);
        Ok(())
    }

    fn refuse(&self, count: usize) {
        self.shared.refused.fetch_add(count as u64, Ordering::Relaxed);
    }

    fn move_frames(&mut self, set: &PollSet) -> io::Result<()> {
        for _ in 0..OUTGOING_FRAMES / SENT_AT_ONCE {
            if self.backpressure.retry_at().is_some_and(|at| MonotonicClock::now() < at) {
                break;
            }
            let count = self.from_us.take(SENT_AT_ONCE);
            if count == 0 {
                break;
            }
            let sent = self.send(count)?;
            self.refuse(sent.report.refused);
            self.from_us.give_back(count - sent.left);
            if sent.left > 0 {
                break;
            }
        }
        self.tell_room();
        let Self { device: Some(device), to_us, shared, .. } = self else { return Ok(()) };
        let room = to_us.room().min(BURST_FRAMES);
        let is_readable = self.device_key.is_some_and(|key| set.readiness(key).readable);
        if room == 0 || !(is_readable || device.pending().unwrap_or(false)) {
            return Ok(());
        }
        device.lend(room, &mut |lent| {
            for (&arrival, frame) in lent.arrivals.iter().zip(lent.frames) {
                let is_in = to_us.put(arrival, frame);
                debug_assert!(is_in, "there was room");
            }
        })?;
        if to_us.hand_over() > 0 {
            shared.here.ring();
        }
        Ok(())
    }

    /// Wakes who waits for room in the lane to the device: once for all that was just sent, as each time
    /// costs a turn of both threads where they share a processor.
    fn tell_room(&self) {
        // As the bell: of the two threads at least one sees what the other did before.
        fence(Ordering::SeqCst);
        if self.shared.is_way_wanted.load(Ordering::Relaxed) {
            self.shared.is_way_wanted.store(false, Ordering::Relaxed);
            self.shared.here.ring();
        }
    }

    /// Has the device send what was taken.
    fn send(&mut self, count: usize) -> io::Result<Offer> {
        let mut frames: [&[u8]; BURST_FRAMES] = [&[]; BURST_FRAMES];
        for (target, parcel) in frames.iter_mut().zip(self.from_us.taken()) {
            *target = parcel.frame();
        }
        let Some(device) = &mut self.device else { return Ok(refused(count)) };
        self.backpressure.offer(&mut **device, &frames[..count])
    }

    /// Looks at link and books.
    fn look(&mut self) -> io::Result<()> {
        let Some(device) = &mut self.device else { return Ok(()) };
        if device.link()? == LinkState::Gone {
            return Err(io::Error::new(io::ErrorKind::NotFound, "its interface was removed"));
        }
        let statistics = device.statistics()?;
        self.shared.told(|told| told.statistics = statistics);
        Ok(())
    }

    /// Gives the device away, to be closed elsewhere: that takes time, which others here have not.
    fn lose(&mut self, error: &io::Error, set: &mut PollSet) {
        if let Some(key) = self.device_key.take() {
            set.remove(key);
        }
        self.tell_loss(error);
    }

    fn tell_loss(&mut self, error: &io::Error) {
        let lost = self.device.take();
        // Those of a burst that it was lost with are refused, too.
        let left = self.from_us.taken().len();
        self.refuse(left);
        self.from_us.give_back(left);
        self.backpressure = Backpressure::default();
        self.shared.told(|told| {
            told.why_lost = Some((error.kind(), error.to_string()));
            told.lost = lost;
            self.shared.is_lost.store(true, Ordering::Release);
        });
        self.shared.here.ring();
    }
}

/// Of frames for a device that is lost.
fn refused(count: usize) -> Offer {
    Offer { report: FlushReport { sent: 0, refused: count }, left: 0 }
}

/// A thread that ends before its ports, be it by a panic, leaves none of them waiting for it.
impl Drop for RelayEnd {
    fn drop(&mut self) {
        if self.is_open() {
            self.shared.is_abandoned.store(true, Ordering::Release);
            self.tell_loss(&io::Error::other(ABANDONED));
        }
    }
}
