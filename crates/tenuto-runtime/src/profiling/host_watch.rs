//! What the machine that measures adds by itself: how long frames take where no device is, and how late it wakes up.

use tenuto_io::{MonotonicClock, StampedPort};
use tenuto_units::{Instant, Span};
use tenuto_world::profiling::HostNoise;

/// A line that every machine has.
const LOOPBACK: &str = "lo";
/// A frame crosses it this often.
const EVERY: Span = Span::from_ms(10);
/// Samples that are kept.
const SAMPLES_MAX: usize = 1 << 18;
/// An EtherType for experiments, which no stack of a host takes for its own.
const FRAME: [u8; 60] = {
    let mut frame = [0; 60];
    (frame[12], frame[13]) = (0x88, 0xb5);
    frame
};

/// Frames over the machine's own line, one at a time, and wake-ups.
pub(super) struct HostWatch {
    line: Option<StampedPort>,
    next: Instant,
    left: Option<Instant>,
    crossed_ns: Vec<u64>,
    woken_ns: Vec<u64>,
}

impl HostWatch {
    /// Begins; without the line where there is none.
    pub(super) fn start() -> Self {
        Self {
            line: StampedPort::open(LOOPBACK, None).ok(),
            next: MonotonicClock::now(),
            left: None,
            crossed_ns: Vec::new(),
            woken_ns: Vec::new(),
        }
    }

    pub(super) fn poll_fd(&self) -> Option<i32> {
        self.line.as_ref().map(StampedPort::poll_fd)
    }

    /// The machine was to wake up the measurement at `due`, and did at `now`.
    pub(super) fn woken(&mut self, due: Instant, now: Instant) {
        if self.woken_ns.len() < SAMPLES_MAX {
            self.woken_ns.push(now.since(due).as_ns());
        }
    }

    /// Looks for the frame that is under way, and sends the next one if it is time.
    pub(super) fn look(&mut self, now: Instant, may_send: bool) {
        let Some(line) = &mut self.line else { return };
        let (mut left, mut came) = (None, None);
        let departed = line.departed(&mut |at, frame| {
            left = (frame.get(12..14) == Some(&[0x88, 0xb5])).then_some(at).or(left);
        });
        let received = line.receive(&mut |at, frame| {
            came = (frame.get(12..14) == Some(&[0x88, 0xb5])).then_some(at).or(came);
        });
        if departed.is_err() || received.is_err() {
            self.line = None;
            return;
        }
        self.left = left.or(self.left);
        if let (Some(left), Some(came)) = (self.left, came)
            && self.crossed_ns.len() < SAMPLES_MAX
        {
            self.crossed_ns.push(came.since(left).as_ns());
            self.left = None;
        }
        if may_send && now >= self.next {
            self.next = now + EVERY;
            self.left = None;
            if !line.offer(&[&FRAME]).is_ok_and(|done| done.report.sent == 1) {
                self.line = None;
            }
        }
    }

    /// What was seen so far; `None`: nothing.
    pub(super) fn noise(&self) -> Option<HostNoise> {
        let (frames, wakes) = (spread(&self.crossed_ns), spread(&self.woken_ns));
        if self.crossed_ns.is_empty() && self.woken_ns.is_empty() {
            return None;
        }
        Some(HostNoise {
            frames: self.crossed_ns.len() as u64,
            frame_ns_p50: frames[0],
            frame_ns_p99: frames[1],
            frame_ns_max: frames[2],
            wakes: self.woken_ns.len() as u64,
            wake_ns_p50: wakes[0],
            wake_ns_p99: wakes[1],
            wake_ns_max: wakes[2],
        })
    }
}

/// 50 %, 99 % and the largest.
fn spread(samples: &[u64]) -> [u64; 3] {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let at = |percent: usize| {
        let last = sorted.len().saturating_sub(1);
        sorted.get((last * percent).div_ceil(100)).copied().unwrap_or(0)
    };
    [at(50), at(99), at(100)]
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn the_tail_is_not_hidden_by_rounding() {
        assert_eq!(spread(&[]), [0; 3]);
        assert_eq!(spread(&[7]), [7; 3]);
        let hundred: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(spread(&hundred), [51, 100, 100]);
        let few = [1, 2, 900];
        assert_eq!(spread(&few), [2, 900, 900]);
    }
}
