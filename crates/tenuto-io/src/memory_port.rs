//! Two ports joined in memory, for tests and for nodes of one process.

use crate::port::check_frame;
use crate::sys::socket::event_counter;
use crate::{BURST_FRAMES, Capabilities, FRAME_BYTES_LIMIT, FlushReport, MonotonicClock, Port};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard};
use tenuto_units::Instant;

/// Frames on their way in one direction; its counter is readable exactly while some wait.
struct Lane {
    frames: VecDeque<(Instant, Vec<u8>)>,
    signal: File,
    latest: Instant,
}

impl Lane {
    fn new() -> io::Result<Arc<Mutex<Self>>> {
        let signal = File::from(event_counter()?);
        Ok(Arc::new(Mutex::new(Self { frames: VecDeque::new(), signal, latest: Instant::ZERO })))
    }

    fn push(&mut self, arrival: Instant, frame: Vec<u8>) -> io::Result<()> {
        if self.frames.is_empty() {
            (&self.signal).write_all(&1_u64.to_ne_bytes())?;
        }
        self.latest = self.latest.max(arrival);
        self.frames.push_back((self.latest, frame));
        Ok(())
    }

    fn pop(&mut self) -> io::Result<Option<(Instant, Vec<u8>)>> {
        let frame = self.frames.pop_front();
        if frame.is_some() && self.frames.is_empty() {
            (&self.signal).read_exact(&mut [0; 8])?;
        }
        Ok(frame)
    }
}

fn lock(lane: &Mutex<Lane>) -> MutexGuard<'_, Lane> {
    // A lane is whole between any two statements, so that a panic elsewhere does not spoil it.
    lane.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// One end of a pair of ports joined in memory.
///
/// Arrivals are stamped when the other end flushes: by the monotonic clock, or by the time that
/// the other end was told with [`MemoryPort::set_now`].
pub struct MemoryPort {
    incoming: Arc<Mutex<Lane>>,
    outgoing: Arc<Mutex<Lane>>,
    incoming_fd: RawFd,
    burst: Vec<Vec<u8>>,
    frames_limit: usize,
    now: Option<Instant>,
}

impl MemoryPort {
    /// Two joined ports; in each direction at most `frames_limit` frames wait to be received.
    ///
    /// # Errors
    ///
    /// When the process has no descriptors left.
    pub fn pair(frames_limit: usize) -> io::Result<(Self, Self)> {
        let (left, right) = (Lane::new()?, Lane::new()?);
        let end = |incoming: &Arc<Mutex<Lane>>, outgoing: &Arc<Mutex<Lane>>| Self {
            incoming_fd: lock(incoming).signal.as_raw_fd(),
            incoming: Arc::clone(incoming),
            outgoing: Arc::clone(outgoing),
            burst: Vec::with_capacity(BURST_FRAMES),
            frames_limit,
            now: None,
        };
        Ok((end(&left, &right), end(&right, &left)))
    }

    /// From now on stamps what this end sends with `now` instead of the monotonic clock.
    pub fn set_now(&mut self, now: Instant) {
        self.now = Some(now);
    }
}

impl Port for MemoryPort {
    fn receive(
        &mut self,
        budget: usize,
        sink: &mut dyn FnMut(Instant, &[u8]),
    ) -> io::Result<usize> {
        for count in 0..budget {
            // The lock is released before the sink runs, which may use the other end.
            let next = lock(&self.incoming).pop()?;
            match next {
                Some((arrival, frame)) => sink(arrival, &frame),
                None => return Ok(count),
            }
        }
        Ok(budget)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        check_frame(frame)?;
        if self.burst.len() == BURST_FRAMES {
            return Ok(false);
        }
        self.burst.push(frame.to_vec());
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<FlushReport> {
        let mut report = FlushReport::default();
        let now = self.now.unwrap_or_else(MonotonicClock::now);
        let mut lane = lock(&self.outgoing);
        for frame in self.burst.drain(..) {
            if lane.frames.len() < self.frames_limit {
                lane.push(now, frame)?;
                report.sent += 1;
            } else {
                report.refused += 1;
            }
        }
        Ok(report)
    }

    fn poll_fd(&self) -> Option<RawFd> {
        Some(self.incoming_fd)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kernel_stamps: false,
            pollable: true,
            burst_frames: BURST_FRAMES,
            frame_bytes_limit: FRAME_BYTES_LIMIT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interest, PollSet};

    fn received(port: &mut MemoryPort, budget: usize) -> Vec<(u64, Vec<u8>)> {
        let mut frames = Vec::new();
        let mut sink = |at: Instant, frame: &[u8]| frames.push((at.as_ns(), frame.to_vec()));
        port.receive(budget, &mut sink).expect("memory");
        frames
    }

    #[test]
    fn frames_cross_in_order_with_the_senders_time() {
        let (mut a, mut b) = MemoryPort::pair(8).expect("pair");
        a.set_now(Instant::from_ns(7));
        assert!(a.send(&[1; 60]).expect("fits") && a.send(&[2; 60]).expect("fits"));
        assert_eq!(received(&mut b, 9), [], "nothing crosses before the flush");
        assert_eq!(a.flush().expect("flush"), FlushReport { sent: 2, refused: 0 });
        a.set_now(Instant::from_ns(5));
        assert!(a.send(&[3; 60]).expect("fits"));
        a.flush().expect("flush");
        assert_eq!(received(&mut b, 1), [(7, vec![1; 60])], "the budget is kept");
        assert_eq!(received(&mut b, 9), [(7, vec![2; 60]), (7, vec![3; 60])], "never earlier");
        assert_eq!(received(&mut a, 9), [], "a port does not hear itself");
    }

    #[test]
    fn a_full_lane_refuses_and_a_full_burst_wants_a_flush() {
        let (mut a, mut b) = MemoryPort::pair(3).expect("pair");
        for _ in 0..BURST_FRAMES {
            assert!(a.send(&[0; 60]).expect("fits"));
        }
        assert!(!a.send(&[0; 60]).expect("fits"));
        let refused = BURST_FRAMES - 3;
        assert_eq!(a.flush().expect("flush"), FlushReport { sent: 3, refused });
        assert_eq!(received(&mut b, 9).len(), 3);
        for bytes in [0, 13, FRAME_BYTES_LIMIT + 1] {
            let error = a.send(&vec![0; bytes]).expect_err("unfit");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn it_is_readable_exactly_while_frames_wait() {
        let (mut a, mut b) = MemoryPort::pair(8).expect("pair");
        let mut set = PollSet::new();
        let key = set.add(b.poll_fd().expect("pollable"), Interest::Read);
        let mut readable = || {
            set.wait(Some(Instant::ZERO)).expect("poll");
            set.readiness(key).readable
        };
        assert!(!readable());
        for _ in 0..2 {
            assert!(a.send(&[0; 60]).expect("fits"));
        }
        a.flush().expect("flush");
        assert!(readable());
        received(&mut b, 1);
        assert!(readable(), "one is left");
        received(&mut b, 1);
        assert!(!readable());
    }
}
