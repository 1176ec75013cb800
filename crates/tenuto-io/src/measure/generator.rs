//! Sends marked frames, paced or as fast as the interface takes them.

use super::{Beside, Load};
use crate::sys::time;
use crate::{BURST_FRAMES, MonotonicClock, PacketPort, Port};
use std::io;
use tenuto_units::{Instant, Span};

/// A mark: four letters, a sequence number, the time of sending in CLOCK_REALTIME.
pub(super) const MARK_BYTES: usize = 16;
const LETTERS: [u8; 4] = *b"TNTO";
/// Of frames that are sent before the window.
const EARLY_LETTERS: [u8; 4] = *b"TNTE";
/// Of the number of a flow.
const FLOW_BYTES: usize = 4;

pub(super) struct Generator {
    port: PacketPort,
    frame: Vec<u8>,
    beside: Option<Other>,
}

/// Who sends beside.
struct Other {
    port: PacketPort,
    frame: Vec<u8>,
    gap: Span,
    next: Instant,
}

impl Other {
    fn open(beside: &Beside) -> io::Result<Self> {
        let port = PacketPort::open(beside.interface.as_str())?;
        let (frame, gap) = (beside.frame.clone(), gap(beside.rate_pps));
        Ok(Self { port, frame, gap, next: Instant::ZERO })
    }

    fn send_if_due(&mut self, now: Instant) -> io::Result<()> {
        if now < self.next {
            return Ok(());
        }
        self.next = (self.next + self.gap).max(now);
        self.port.send(&self.frame)?;
        self.port.flush().map(|_| ())
    }
}

fn gap(rate_pps: u64) -> Span {
    Span::from_ns(1_000_000_000 / rate_pps.max(1))
}

impl Generator {
    pub(super) fn open(interface: &str, load: &Load) -> io::Result<Self> {
        if load.frame.len() < load.mark_at + MARK_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "a frame of {} B has no room for a mark of {MARK_BYTES} B at {}",
                    load.frame.len(),
                    load.mark_at
                ),
            ));
        }
        if load.flows.is_some_and(|flows| flows.at + FLOW_BYTES > load.mark_at) {
            let text = "the bytes of a flow come before the mark";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let beside = load.beside.as_ref().map(Other::open).transpose()?;
        Ok(Self { port: PacketPort::open(interface)?, frame: load.frame.clone(), beside })
    }

    /// Sends what belongs to no window for so long, marked as such.
    pub(super) fn run_in(&mut self, load: &Load, length: Span) -> io::Result<()> {
        self.send_for(load, length, EARLY_LETTERS).map(|_| ())
    }

    /// Sends for the load's window; returns how many frames were taken.
    pub(super) fn run(&mut self, load: &Load) -> io::Result<u64> {
        self.send_for(load, load.window, LETTERS)
    }

    fn send_for(&mut self, load: &Load, length: Span, letters: [u8; 4]) -> io::Result<u64> {
        let end = MonotonicClock::now() + length;
        let gap = load.rate_pps.map(gap);
        let burst = if gap.is_some() { 1 } else { BURST_FRAMES };
        let (mut next, mut sequence, mut taken) = (MonotonicClock::now(), 0_u32, 0);
        loop {
            let now = MonotonicClock::now();
            if now >= end {
                return Ok(taken);
            }
            if let Some(beside) = &mut self.beside {
                beside.send_if_due(now)?;
            }
            if now < next {
                std::hint::spin_loop();
                continue;
            }
            // From the last ideal time, but never to catch up what was missed.
            next = gap.map_or(now, |gap| (next + gap).max(now));
            for _ in 0..burst {
                if let Some(flows) = load.flows {
                    let flow = sequence % flows.count.max(1);
                    self.frame[flows.at..][..FLOW_BYTES].copy_from_slice(&flow.to_be_bytes());
                }
                mark(&mut self.frame[load.mark_at..], letters, sequence, time::realtime_ns());
                sequence = sequence.wrapping_add(1);
                self.port.send(&self.frame)?;
            }
            taken += self.port.flush()?.sent as u64;
        }
    }
}

fn mark(target: &mut [u8], letters: [u8; 4], sequence: u32, now_ns: u64) {
    target[..4].copy_from_slice(&letters);
    target[4..8].copy_from_slice(&sequence.to_be_bytes());
    target[8..MARK_BYTES].copy_from_slice(&now_ns.to_be_bytes());
}

/// When a frame was sent, in CLOCK_REALTIME, if it is marked.
pub(super) fn sent_at_ns(frame: &[u8], mark_at: usize) -> Option<u64> {
    let mark = frame.get(mark_at..mark_at + MARK_BYTES)?;
    let time = mark[8..].first_chunk().copied().map(u64::from_be_bytes);
    time.filter(|_| mark[..4] == LETTERS)
}

/// Whether a frame was sent before the window.
pub(super) fn is_early(frame: &[u8], mark_at: usize) -> bool {
    frame.get(mark_at..).is_some_and(|mark| mark.starts_with(&EARLY_LETTERS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_as_written_and_nothing_else_is() {
        let mut frame = vec![0; 60];
        assert_eq!(sent_at_ns(&frame, 20), None);
        mark(&mut frame[20..], LETTERS, 7, 123_456);
        assert_eq!(sent_at_ns(&frame, 20), Some(123_456));
        assert_eq!(sent_at_ns(&frame, 21), None);
        assert_eq!(sent_at_ns(&frame[..35], 20), None);
        assert!(!is_early(&frame, 20));
        mark(&mut frame[20..], EARLY_LETTERS, 7, 123_456);
        assert!(is_early(&frame, 20) && !is_early(&frame, 21) && !is_early(&frame[..9], 20));
        assert_eq!(sent_at_ns(&frame, 20), None);
    }
}
