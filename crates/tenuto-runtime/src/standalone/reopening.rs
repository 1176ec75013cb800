//! Interfaces that were removed and are there again: opened beside the data path, as that takes long.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use tenuto_io::{
    Interest, OpenedPort, PollKey, PollSet, PortKind, PortOpener, PortSettings as OpenSettings,
};

/// An attempt that is over: the place of the port, and what has come of it.
pub(super) type Attempt = (usize, io::Result<OpenedPort>);

/// Attempts to open ports again, one at a time for each.
pub(super) struct Reopening {
    tell: Sender<Attempt>,
    over: Receiver<Attempt>,
    /// Readable when an attempt may be over.
    wake: UnixStream,
    waker: UnixStream,
    pub(super) key: PollKey,
    /// Places that an attempt is made for; true when interfaces have changed since it began.
    trying: BTreeMap<usize, bool>,
}

impl Reopening {
    pub(super) fn new(poll: &mut PollSet) -> io::Result<Self> {
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let key = poll.add(wake.as_raw_fd(), Interest::Read);
        let (tell, over) = channel();
        Ok(Self { tell, over, wake, waker, key, trying: BTreeMap::new() })
    }

    /// Begins to open an interface. While that goes on already, it is only noted that it is to be tried
    /// once more if it fails.
    ///
    /// # Errors
    /// When there is no thread or descriptor for it.
    pub(super) fn begin(
        &mut self,
        place: usize,
        interface: &str,
        kind: Option<PortKind>,
    ) -> io::Result<()> {
        if let Some(once_more) = self.trying.get_mut(&place) {
            *once_more = true;
            return Ok(());
        }
        let (tell, interface) = (self.tell.clone(), interface.to_owned());
        let mut waker = self.waker.try_clone()?;
        crate::beside::spawn("reopen", move || {
            let how = OpenSettings { kind, ..OpenSettings::default() };
            // Whoever is gone does not want it; a full pipe wakes up too.
            let _ = tell.send((place, PortOpener::new(how, 1).open(&interface)));
            let _ = waker.write(&[1]);
        })?;
        self.trying.insert(place, false);
        Ok(())
    }

    /// Attempts that are over, each with whether it should be made once more.
    pub(super) fn take(&mut self) -> Vec<(Attempt, bool)> {
        let _ = self.wake.read(&mut [0; 64]);
        let over: Vec<Attempt> = self.over.try_iter().collect();
        let again = |(place, opened): Attempt| {
            let has_failed = opened.is_err();
            let once_more = self.trying.remove(&place).unwrap_or(false);
            ((place, opened), has_failed && once_more)
        };
        over.into_iter().map(again).collect()
    }
}
