//! Behaviour monitors: which level does this flow's behaviour ask for?
//!
//! The sporadic invariant with a guide time ([MC-SDN] section IV-A): message k must not arrive
//! before G_k = max(G_{k−1}, E_{k−1} − J) + T. Judged by arrival stamp, per level; the level asked
//! for is the lowest from which on the message keeps every contract. Sizes are counted from the real frames of a
//! message, on the wire; the size in the shim header is only a claim
//! (docs/theory/modes.md, "Order of things at the first switch: monitor, then meter").
//!
//! All frames of a message are released at once, so they come within J of the first: what comes
//! later under the same id begins another message. Else a host could hold most of a message back
//! until the next is due, and send two at once unseen.
//!
//! After a violation the guide time starts from the violating message, so that a flow that goes
//! back to its lower contract is seen to keep it at once, and a network can return.

mod line;
mod wide;

use crate::switch::path_cache::cached_path::Record;
use crate::switch::path_cache::meter_monitor_store::{Lendable, NOT_LENT};
pub(in crate::switch) use line::LineMonitor;
use std::hash::Hasher;
use std::sync::Arc;
use tenuto_units::{Instant, Span};
use wide::WideMonitor;

/// What a level allows of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LevelContract {
    /// Mode level.
    pub level: u8,
    /// Largest message, bytes on the wire.
    pub wire_bytes_max: u32,
    /// Least spacing.
    pub period: Span,
    /// Release jitter and delay variation up to here.
    pub jitter: Span,
}

/// The watch over one flow, and what it has seen. What most frames touch is its second line of cache: meters
/// are touched in their first, and what is touched is spread over all sets of a cache that way.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(128))]
pub struct MonitorState {
    /// When an observer was last told of it.
    pub told: Instant,
    /// Messages, but for those that the line has not added up.
    messages: u64,
    /// Messages that asked for more than level 0.
    pub violations: u64,
    wide: Option<Box<WideMonitor>>,
    /// What it was asked for.
    asked: Arc<[LevelContract]>,
    kind: MonitorKind,
    /// The path that its line is lent to.
    pub(super) lent: u32,
    line: LineMonitor,
}

impl MonitorState {
    /// A monitor that has seen nothing; `contracts` lowest level first.
    pub fn new(kind: MonitorKind, contracts: &[LevelContract]) -> Self {
        let (line, wide) = match LineMonitor::new(kind, contracts) {
            Some(line) => (line, None),
            None => {
                let wide = WideMonitor::new(kind, contracts);
                (LineMonitor::wide(kind), Some(Box::new(wide)))
            }
        };
        let (told, asked) = (Instant::ZERO, contracts.into());
        Self { told, messages: 0, violations: 0, wide, asked, kind, lent: NOT_LENT, line }
    }

    /// Whether it is what [`MonitorState::new`] would make of these, but for what it has seen.
    pub(in crate::switch) fn is_of(&self, kind: MonitorKind, contracts: &[LevelContract]) -> bool {
        self.kind == kind && *self.asked == *contracts
    }

    /// Messages (or frames) judged.
    pub fn messages(&self) -> u64 {
        self.messages + u64::from(self.line.begun())
    }

    /// Whether all that frames change of it is its line.
    pub(super) const fn is_narrow(&self) -> bool {
        !self.line.is_wide
    }

    /// That line.
    pub(super) const fn line(&self) -> &LineMonitor {
        &self.line
    }

    /// Messages that its line has not room for.
    pub(super) const fn add_messages(&mut self, more: u64) {
        self.messages += more;
    }

    /// Takes in a frame of so many bytes with FCS, and counts; gives the level that its message asks for.
    #[inline(always)]
    pub(super) fn see(&mut self, arrival: Instant, bytes: &[u8], frame_bytes: u32) -> u8 {
        let (message, wire_bytes) = self.line.read(bytes, frame_bytes);
        let seen = self.observe(arrival, message, wire_bytes);
        if seen.begins
            && let Some(more) = self.line.begin()
        {
            self.messages += more;
        }
        if seen.violates {
            self.violations += 1;
        }
        seen.wanted
    }

    /// Takes in a frame; returns the level that its message asks for.
    ///
    /// `message` is the id in its shim header, if it has one: a frame without is a message. A
    /// monitor of frames does not look at it: any payload can be read as a shim.
    #[inline(always)]
    pub fn observe(
        &mut self,
        arrival: Instant,
        message: Option<u32>,
        wire_bytes: u32,
    ) -> Observation {
        // The line says it: to look for a wide one would read the other.
        if self.line.is_wide
            && let Some(wide) = &mut self.wide
        {
            return wide.observe(arrival, message, wire_bytes);
        }
        self.line.observe(arrival, message, wire_bytes)
    }

    /// Its contracts, the message that is being counted, and its guide times relative to `now`:
    /// equal keys judge alike all that arrives from `now` on.
    pub fn identify(&self, now: Instant, hasher: &mut impl Hasher) {
        match &self.wide {
            Some(wide) => wide.identify(now, hasher),
            None => self.line.widened().identify(now, hasher),
        }
    }
}

/// What tells messages apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MonitorKind {
    /// The message id of the shim header.
    Message,
    /// Every frame is a message.
    Frame,
}

/// What a frame says of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The lowest level whose contract the message has kept so far.
    pub wanted: u8,
    /// Whether the frame is the first of its message.
    pub begins: bool,
    /// Whether it is the first of its message to ask for more than the start level.
    pub violates: bool,
}

impl Lendable for MonitorState {
    fn lent(&mut self) -> &mut u32 {
        &mut self.lent
    }

    fn lent_to(&self) -> u32 {
        self.lent
    }

    fn take_in(&mut self, record: &Record) {
        self.line = record.monitor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn car_camera() -> MonitorState {
        MonitorState::new(MonitorKind::Message, &[level(0, 200), level(1, 22)])
    }

    const fn level(level: u8, period_ms: u64) -> LevelContract {
        LevelContract {
            level,
            wire_bytes_max: 1_000,
            period: Span::from_ms(period_ms),
            jitter: Span::from_ms(1),
        }
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_monitor_is_two_lines_of_cache_and_judges_in_the_second() {
        assert_eq!(size_of::<Option<MonitorState>>(), 128);
        assert_eq!(std::mem::offset_of!(MonitorState, line), 64);
    }

    #[test]
    fn messages_add_up_beyond_what_the_line_holds() {
        let contracts = [level(0, 0), level(1, 0)];
        let mut state = MonitorState::new(MonitorKind::Frame, &contracts);
        for n in 0..200_000_u64 {
            assert_eq!(state.messages(), n);
            state.see(ms(n), &[], 64);
        }
    }

    #[test]
    fn a_flow_that_keeps_its_contract_with_jitter_never_asks_for_more() {
        let mut monitor = car_camera();
        // Released every 200 ms, each arriving up to 1 ms late in the worst pattern.
        for (id, at) in [(1, 1), (2, 200), (3, 401), (4, 600), (5, 800)] {
            assert_eq!(monitor.observe(ms(at), Some(id), 100).wanted, 0, "message {id}");
        }
    }

    #[test]
    fn a_shorter_period_asks_for_the_next_level_and_back() {
        let mut monitor = car_camera();
        assert_eq!(monitor.observe(ms(1_000), Some(1), 100).wanted, 0);
        assert_eq!(monitor.observe(ms(1_022), Some(2), 100).wanted, 1);
        assert_eq!(monitor.observe(ms(1_044), Some(3), 100).wanted, 1);
        assert_eq!(monitor.observe(ms(1_244), Some(4), 100).wanted, 0, "back at 200 ms");
    }

    #[test]
    fn real_bytes_count_not_the_claim() {
        let mut monitor = car_camera();
        assert_eq!(monitor.observe(ms(0), Some(7), 600).wanted, 0);
        assert_eq!(monitor.observe(ms(0), Some(7), 400).wanted, 0);
        assert_eq!(
            monitor.observe(ms(0), Some(7), 1).wanted,
            1,
            "1001 bytes: more than any contract"
        );
    }

    #[test]
    fn frames_without_shim_are_messages_of_their_own() {
        let mut monitor = car_camera();
        assert_eq!(monitor.observe(ms(0), None, 10).wanted, 0);
        assert_eq!(monitor.observe(ms(1), None, 10).wanted, 1);
    }

    #[test]
    fn a_monitor_of_frames_reads_no_shim() {
        let mut monitor = MonitorState::new(MonitorKind::Frame, &[level(0, 200), level(1, 22)]);
        let first = monitor.observe(ms(0), Some(7), 100);
        assert_eq!(first, Observation { wanted: 0, begins: true, violates: false });
        let second = monitor.observe(ms(1), Some(7), 100);
        assert_eq!(second, Observation { wanted: 1, begins: true, violates: true });
    }

    #[test]
    fn what_is_held_back_of_a_message_is_another_one() {
        let mut monitor = car_camera();
        assert_eq!(monitor.observe(ms(0), Some(7), 500).wanted, 0);
        let in_time = monitor.observe(ms(1), Some(7), 100);
        assert_eq!((in_time.wanted, in_time.begins), (0, false), "within the jitter of 1 ms");
        // The rest just in front of the next message: both at once were twice the contract.
        let late = monitor.observe(ms(199), Some(7), 400);
        assert_eq!(late, Observation { wanted: 1, begins: true, violates: true });
    }

    #[test]
    fn a_message_violates_once_whichever_frame_shows_it() {
        let mut monitor = car_camera();
        let seen = [600, 600, 600].map(|bytes| monitor.observe(ms(0), Some(7), bytes));
        assert_eq!(seen.map(|seen| seen.begins), [true, false, false]);
        assert_eq!(seen.map(|seen| seen.violates), [false, true, false]);
        assert_eq!(seen.map(|seen| seen.wanted), [0, 1, 1]);
    }
}
