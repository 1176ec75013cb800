//! Interfaces that were removed and are there again: opened beside the data path, as that takes long.
//!
//! An interface that is not there is waited for: the kernel tells when it comes. One that is there and
//! cannot be opened (another program holds it, memory is short) is tried again after growing pauses,
//! and at once when interfaces have changed; why it cannot is told once.

use super::dial::pause_after;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use tenuto_io::{
    Interest, OpenedPort, PollKey, PollSet, PortKind, PortOpener, PortSettings as OpenSettings,
    interface_index,
};
use tenuto_units::Span;

/// Longest pause between attempts to open an interface that is there.
const PAUSE_MAX: Span = Span::from_s(8);

/// What has come of an attempt to open an interface.
pub(super) enum Attempt<T = OpenedPort> {
    /// It is open.
    Opened(T),
    /// It is there and cannot be opened, for this reason; it is tried again.
    Refused(String),
    /// It is not there.
    Absent,
}

/// Attempts to open ports again, one at a time for each.
pub(super) struct Reopening<T = OpenedPort> {
    tell: Sender<(usize, Attempt<T>)>,
    told: Receiver<(usize, Attempt<T>)>,
    /// Readable when there may be something to take.
    wake: UnixStream,
    waker: UnixStream,
    pub(super) key: PollKey,
    /// Places that attempts are made for.
    trying: BTreeMap<usize, Trying>,
}

/// Attempts that are made for a port.
struct Trying {
    /// Ends a pause between them.
    hurry: Sender<()>,
    /// Whether interfaces have changed since they began.
    has_changed: bool,
}

/// One attempt to open an interface of the present network namespace.
pub(super) fn attempt(interface: &str, kind: Option<PortKind>) -> Attempt {
    let how = OpenSettings { kind, ..OpenSettings::default() };
    attempt_at(|| interface_index(interface), || PortOpener::new(how, 1).open(interface))
}

/// An interface that came, went or was replaced meanwhile counts as absent: its refusal is of another
/// one, and the kernel tells of the change.
fn attempt_at<T>(
    mut index: impl FnMut() -> Option<u32>,
    open: impl FnOnce() -> io::Result<T>,
) -> Attempt<T> {
    let Some(before) = index() else { return Attempt::Absent };
    match open() {
        Ok(opened) => Attempt::Opened(opened),
        Err(error) if index() == Some(before) => Attempt::Refused(error.to_string()),
        Err(_) => Attempt::Absent,
    }
}

impl<T: Send + 'static> Reopening<T> {
    pub(super) fn new(poll: &mut PollSet) -> io::Result<Self> {
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let key = poll.add(wake.as_raw_fd(), Interest::Read);
        let (tell, told) = channel();
        Ok(Self { tell, told, wake, waker, key, trying: BTreeMap::new() })
    }

    /// Begins to open the interface of a port. While that goes on already, it is hurried on, and tried
    /// once more should the interface not have been there.
    ///
    /// # Errors
    /// When there is no thread or descriptor for it.
    pub(super) fn begin(
        &mut self,
        place: usize,
        attempt: impl FnMut() -> Attempt<T> + Send + 'static,
    ) -> io::Result<()> {
        if let Some(trying) = self.trying.get_mut(&place) {
            trying.has_changed = true;
            // Whoever has just ended is taken before long.
            let _ = trying.hurry.send(());
            return Ok(());
        }
        let (tell, mut waker) = (self.tell.clone(), self.waker.try_clone()?);
        let (hurry, hurried) = channel();
        crate::beside::spawn("reopen", move || {
            keep_trying(attempt, &hurried, |news| {
                // Whoever is gone does not want it; a full pipe wakes up too.
                let is_wanted = tell.send((place, news)).is_ok();
                let _ = waker.write(&[1]);
                is_wanted
            });
        })?;
        self.trying.insert(place, Trying { hurry, has_changed: false });
        Ok(())
    }

    /// What has come of attempts, by the place of the port, each with whether they should begin again.
    pub(super) fn take(&mut self) -> Vec<(usize, Attempt<T>, bool)> {
        let _ = self.wake.read(&mut [0; 64]);
        let told: Vec<(usize, Attempt<T>)> = self.told.try_iter().collect();
        let again = |(place, attempt)| match attempt {
            Attempt::Refused(_) => (place, attempt, false),
            Attempt::Opened(_) | Attempt::Absent => {
                let over = self.trying.remove(&place);
                let once_more = over.is_some_and(|trying| trying.has_changed);
                let is_absent = matches!(attempt, Attempt::Absent);
                (place, attempt, is_absent && once_more)
            }
        };
        told.into_iter().map(again).collect()
    }
}

/// Tries until the interface is open or gone, or nobody wants it any more; tells of refusals whenever
/// their reason changes.
fn keep_trying<T>(
    mut attempt: impl FnMut() -> Attempt<T>,
    hurried: &Receiver<()>,
    mut tell: impl FnMut(Attempt<T>) -> bool,
) {
    let (mut failures, mut said) = (0, None);
    loop {
        let why = match attempt() {
            Attempt::Refused(why) => why,
            over => {
                tell(over);
                return;
            }
        };
        failures += 1;
        if said.as_ref() != Some(&why) && !tell(Attempt::Refused(why.clone())) {
            return;
        }
        said = Some(why);
        match hurried.recv_timeout(pause_after(failures, PAUSE_MAX)) {
            Err(RecvTimeoutError::Disconnected) => return,
            Ok(()) => while hurried.try_recv().is_ok() {},
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carries out attempts that end so one after the other, hurried on, and gives what was told.
    fn told(ends: Vec<Attempt<u8>>) -> Vec<String> {
        let (mut ends, mut told) = (ends.into_iter(), Vec::new());
        let (hurry, hurried) = channel();
        (0..9).for_each(|_| hurry.send(()).expect("it is kept"));
        let mut next = || {
            let _ = hurry.send(());
            ends.next().expect("no more attempts than these")
        };
        keep_trying(&mut next, &hurried, |attempt| {
            told.push(match attempt {
                Attempt::Opened(number) => format!("opened {number}"),
                Attempt::Refused(why) => why,
                Attempt::Absent => "absent".to_owned(),
            });
            true
        });
        assert!(ends.next().is_none(), "it ends no earlier");
        told
    }

    #[test]
    fn a_refusal_is_told_once_and_tried_again() {
        let refused = |why: &str| Attempt::Refused(why.to_owned());
        let ends = vec![refused("busy"), refused("busy"), refused("memory"), Attempt::Opened(7)];
        assert_eq!(told(ends), ["busy", "memory", "opened 7"]);
        assert_eq!(told(vec![refused("busy"), Attempt::Absent]), ["busy", "absent"]);
    }

    #[test]
    fn an_interface_that_comes_goes_or_is_replaced_meanwhile_is_absent() {
        let attempt = |indices: [Option<u32>; 2]| {
            let mut indices = indices.into_iter();
            let open = || Err::<u8, _>(io::Error::other("no such device"));
            attempt_at(move || indices.next().expect("asked twice"), open)
        };
        assert!(
            matches!(attempt([Some(3), Some(3)]), Attempt::Refused(why) if why == "no such device")
        );
        for changed in [[None, Some(3)], [Some(3), None], [Some(3), Some(4)], [None, None]] {
            assert!(matches!(attempt(changed), Attempt::Absent), "{changed:?}");
        }
    }

    #[test]
    fn who_ends_lets_go_of_those_who_try() {
        let (hurry, hurried) = channel();
        let mut hurry = Some(hurry);
        let refuse = || {
            hurry = None;
            Attempt::<u8>::Refused("busy".to_owned())
        };
        keep_trying(refuse, &hurried, |_| true);
        let unwanted = || Attempt::<u8>::Refused("busy".to_owned());
        keep_trying(unwanted, &hurried, |_| false);
    }

    #[test]
    fn a_refused_interface_is_waited_for_and_an_absent_one_asked_for_again() {
        let mut poll = PollSet::new();
        let mut reopening = Reopening::<u8>::new(&mut poll).expect("descriptors");
        let (next, ends) = channel();
        reopening.begin(3, move || ends.recv().unwrap_or(Attempt::Absent)).expect("a thread");
        let mut wait = |reopening: &mut Reopening<u8>| loop {
            poll.wait(None).expect("it can be waited for");
            if let Some(taken) = reopening.take().pop() {
                return taken;
            }
        };
        next.send(Attempt::Refused("busy".to_owned())).expect("it is wanted");
        assert!(matches!(wait(&mut reopening), (3, Attempt::Refused(_), false)));
        // Interfaces change: no pause is waited for, and no second thread begun.
        reopening.begin(3, || unreachable!("one is there")).expect("no thread");
        next.send(Attempt::Absent).expect("it is wanted");
        assert!(matches!(wait(&mut reopening), (3, Attempt::Absent, true)));
        reopening.begin(3, || Attempt::Opened(9)).expect("a thread");
        assert!(matches!(wait(&mut reopening), (3, Attempt::Opened(9), false)));
    }
}
