//! Two ports joined in memory, for tests and for nodes of one process.

use crate::frame_fit::check_frame;
use crate::sys::socket::event_counter;
use crate::{
    BURST_FRAMES, Capabilities, FRAME_BYTES_LIMIT, FlushReport, Lent, LinkState, MonotonicClock,
    Offer, Port, PortKind, PortStatistics,
};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard};
use tenuto_units::Instant;

/// Memory of one frame, allocated once and swapped from hand to hand ever after.
struct Slot {
    arrival: Instant,
    length: usize,
    bytes: Box<[u8; FRAME_BYTES_LIMIT]>,
}

impl Slot {
    fn new() -> Self {
        Self { arrival: Instant::ZERO, length: 0, bytes: Box::new([0; FRAME_BYTES_LIMIT]) }
    }

    fn frame(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Frames on their way in one direction; its counter is readable exactly while some wait.
struct Lane {
    slots: Vec<Slot>,
    first: usize,
    count: usize,
    signal: File,
    latest: Instant,
    overflowed: u64,
    /// The end that sends is dropped.
    is_closed: bool,
}

impl Lane {
    fn new(frames_limit: usize) -> io::Result<Arc<Mutex<Self>>> {
        Ok(Arc::new(Mutex::new(Self {
            slots: (0..frames_limit).map(|_| Slot::new()).collect(),
            first: 0,
            count: 0,
            signal: File::from(event_counter()?),
            latest: Instant::ZERO,
            overflowed: 0,
            is_closed: false,
        })))
    }

    /// Takes the frame of `slot` in exchange for an empty one; `false` when there is no room.
    fn push(&mut self, arrival: Instant, slot: &mut Slot) -> io::Result<bool> {
        if self.count == self.slots.len() {
            self.overflowed += 1;
            return Ok(false);
        }
        if self.count == 0 {
            (&self.signal).write_all(&1_u64.to_ne_bytes())?;
        }
        self.latest = self.latest.max(arrival);
        slot.arrival = self.latest;
        let place = (self.first + self.count) % self.slots.len();
        std::mem::swap(&mut self.slots[place], slot);
        self.count += 1;
        Ok(true)
    }

    /// Puts the next frame into `slot`, in exchange for what is in it.
    fn pop(&mut self, slot: &mut Slot) -> io::Result<bool> {
        if self.count == 0 {
            return Ok(false);
        }
        std::mem::swap(&mut self.slots[self.first], slot);
        self.first = (self.first + 1) % self.slots.len();
        self.count -= 1;
        if self.count == 0 {
            (&self.signal).read_exact(&mut [0; 8])?;
        }
        Ok(true)
    }
}

fn lock(lane: &Mutex<Lane>) -> MutexGuard<'_, Lane> {
    // A lane is whole between any two statements, so that a panic elsewhere does not spoil it.
    lane.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// One end of a pair of ports joined in memory.
///
/// Arrivals are stamped when the other end flushes: by the monotonic clock, or by the time that
/// the other end was told with [`MemoryPort::set_now`]. Each frame is copied once, when it is sent.
pub struct MemoryPort {
    incoming: Arc<Mutex<Lane>>,
    outgoing: Arc<Mutex<Lane>>,
    incoming_fd: RawFd,
    /// What is lent, outside of the lane.
    taken: Vec<Slot>,
    burst: Vec<Slot>,
    burst_count: usize,
    statistics: PortStatistics,
    now: Option<Instant>,
}

impl MemoryPort {
    /// Two joined ports; in each direction at most `frames_limit` frames wait to be received.
    ///
    /// # Errors
    ///
    /// When the process has no descriptors left.
    pub fn pair(frames_limit: usize) -> io::Result<(Self, Self)> {
        let (left, right) = (Lane::new(frames_limit)?, Lane::new(frames_limit)?);
        let end = |incoming: &Arc<Mutex<Lane>>, outgoing: &Arc<Mutex<Lane>>| Self {
            incoming_fd: lock(incoming).signal.as_raw_fd(),
            incoming: Arc::clone(incoming),
            outgoing: Arc::clone(outgoing),
            taken: (0..BURST_FRAMES).map(|_| Slot::new()).collect(),
            burst: (0..BURST_FRAMES).map(|_| Slot::new()).collect(),
            burst_count: 0,
            statistics: PortStatistics::default(),
            now: None,
        };
        Ok((end(&left, &right), end(&right, &left)))
    }

    /// From now on stamps what this end sends with `now` instead of the monotonic clock.
    pub fn set_now(&mut self, now: Instant) {
        self.now = Some(now);
    }
}

impl Drop for MemoryPort {
    fn drop(&mut self) {
        lock(&self.outgoing).is_closed = true;
        lock(&self.incoming).is_closed = true;
    }
}

impl Port for MemoryPort {
    fn lend(&mut self, budget: usize, take: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize> {
        let most = budget.min(BURST_FRAMES);
        let mut count = 0;
        {
            // The lock is released before the frames are lent: who takes them may use the other end.
            let mut lane = lock(&self.incoming);
            while count < most && lane.pop(&mut self.taken[count])? {
                count += 1;
            }
        }
        if count > 0 {
            let mut arrivals = [Instant::ZERO; BURST_FRAMES];
            let mut frames: [&[u8]; BURST_FRAMES] = [&[]; BURST_FRAMES];
            for (place, slot) in self.taken[..count].iter().enumerate() {
                (arrivals[place], frames[place]) = (slot.arrival, slot.frame());
            }
            self.statistics.received += count as u64;
            let fetched = self.now.unwrap_or_else(MonotonicClock::now);
            take(Lent { fetched, arrivals: &arrivals[..count], frames: &frames[..count] });
        }
        Ok(count)
    }

    fn pending(&self) -> Option<bool> {
        Some(lock(&self.incoming).count > 0)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        check_frame(frame, FRAME_BYTES_LIMIT)?;
        let Some(slot) = self.burst.get_mut(self.burst_count) else { return Ok(false) };
        slot.bytes[..frame.len()].copy_from_slice(frame);
        slot.length = frame.len();
        self.burst_count += 1;
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<FlushReport> {
        let mut report = FlushReport::default();
        let count = std::mem::take(&mut self.burst_count);
        if count == 0 {
            return Ok(report);
        }
        let now = self.now.unwrap_or_else(MonotonicClock::now);
        let mut lane = lock(&self.outgoing);
        for slot in &mut self.burst[..count] {
            match lane.push(now, slot)? {
                true => report.sent += 1,
                false => report.refused += 1,
            }
        }
        self.statistics.sent += report.sent as u64;
        self.statistics.refused += report.refused as u64;
        Ok(report)
    }

    fn offer(&mut self, frames: &[&[u8]]) -> io::Result<Offer> {
        let room = {
            let lane = lock(&self.outgoing);
            lane.slots.len() - lane.count
        };
        let taken = &frames[..frames.len().min(room)];
        Ok(Offer { report: self.transmit(taken)?, left: frames.len() - taken.len() })
    }

    fn poll_fd(&self) -> Option<RawFd> {
        Some(self.incoming_fd)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: PortKind::Memory,
            kernel_stamps: false,
            pollable: true,
            peekable: true,
            zero_copy: false,
            exclusive: true,
            burst_frames: BURST_FRAMES,
            frame_bytes_limit: FRAME_BYTES_LIMIT,
        }
    }

    fn statistics(&mut self) -> io::Result<PortStatistics> {
        self.statistics.overflowed = lock(&self.incoming).overflowed;
        Ok(self.statistics)
    }

    fn link(&mut self) -> io::Result<LinkState> {
        let is_closed = lock(&self.incoming).is_closed;
        Ok(if is_closed { LinkState::NoCarrier } else { LinkState::Up })
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
