//! Threads that receive and send, each for a group of ports.
//!
//! They only move frames between devices and bounded lanes. Every frame is looked up by the thread
//! of the data path, so that what a barrier has confirmed is in effect for whatever is received
//! afterwards, and for what still waits in a lane.

use super::news::SwitchNews;
use super::ports::Carrier;
use super::settings::IoThreads;
use crate::beside;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use tenuto_io::{Port, RelayEnd, RelayPort, ThreadSettings, serve_relays};

/// What to say of so many threads beside that of the data path on so many processors.
///
/// Where they share one, each hand-over of a burst costs a turn of the scheduler, and barriers wait for it:
/// under load some 2.3 times as long with two threads on two processors, as measured
/// (docs/reference/switch.md). Copies are lost no more often than without.
pub(super) fn advice(threads: usize, processors: usize) -> Option<String> {
    (threads > 0 && processors <= threads).then(|| {
        let wanted = threads + 1;
        let instead = match processors {
            0..=2 => "leave --io-threads out".to_owned(),
            _ => format!("--io-threads {}", processors - 1),
        };
        format!(
            "{threads} threads of ports and that of the data path want {wanted} processors, and there are \
             {processors}: under load a barrier takes more than twice as long as without; {instead}"
        )
    })
}

/// Ports whose devices are to be served by threads.
pub(super) struct IoGroups {
    groups: Vec<Vec<RelayEnd>>,
    next: usize,
}

/// The threads, which end when the last port of theirs is dropped.
pub(super) struct RunningIo(Vec<JoinHandle<io::Result<()>>>);

impl IoGroups {
    /// One group for each of so many threads.
    pub(super) fn new(threads: usize) -> Self {
        Self { groups: (0..threads).map(|_| Vec::new()).collect(), next: 0 }
    }

    /// Puts a port into the next group; what is used in its place. Without groups, the port itself.
    pub(super) fn take(
        &mut self,
        port: Box<dyn Port + Send>,
        interface: &str,
    ) -> io::Result<Carrier> {
        if self.groups.is_empty() {
            return Ok(Carrier::Own(port));
        }
        let (near, end) = RelayPort::before(port, interface)?;
        let group = self.next % self.groups.len();
        self.groups[group].push(end);
        self.next += 1;
        Ok(Carrier::Relayed(Box::new(near)))
    }

    /// Starts the threads, which wait and are scheduled as the data path; what was not granted to
    /// one of them is told.
    pub(super) fn start(
        self,
        how: ThreadSettings,
        threads: &IoThreads,
        news: &mut dyn FnMut(SwitchNews),
    ) -> io::Result<RunningIo> {
        let mut running = Vec::new();
        let (tell, told) = channel();
        let groups = self.groups.into_iter().filter(|group| !group.is_empty());
        for (number, group) in groups.enumerate() {
            let count = threads.processors.len().max(1);
            let processor = threads.processors.get(number % count).copied();
            // All of the process is locked by the data path.
            let how = ThreadSettings { processor, lock_memory: false, ..how };
            let tell = tell.clone();
            let name = format!("tenuto-io{number}");
            running.push(beside::spawn(&name, move || serve(group, how, tell))?);
        }
        drop(tell);
        for note in told {
            news(SwitchNews::Warning(note));
        }
        Ok(RunningIo(running))
    }
}

fn serve(group: Vec<RelayEnd>, how: ThreadSettings, tell: Sender<String>) -> io::Result<()> {
    let (wait, notes) = how.apply();
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    for note in notes {
        let _ = tell.send(format!("{name}: {note}"));
    }
    // Who started it waits for all that is to be told.
    drop(tell);
    serve_relays(group, wait)
}

impl RunningIo {
    /// Waits for their end; why one ended otherwise.
    pub(super) fn join(self) -> Vec<String> {
        let ends = self.0.into_iter().filter_map(|thread| match thread.join() {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("a thread of ports panicked".into()),
        });
        ends.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_share_a_processor_are_advised_against() {
        for (threads, processors) in [(0, 1), (0, 2), (1, 2), (2, 3), (2, 64)] {
            assert_eq!(advice(threads, processors), None, "{threads} on {processors}");
        }
        for (threads, processors, instead) in [
            (1, 1, "leave --io-threads out"),
            (2, 2, "leave --io-threads out"),
            (4, 4, "--io-threads 3"),
        ] {
            let text = advice(threads, processors).expect("too few");
            assert!(text.ends_with(instead), "{text}");
        }
    }
}
