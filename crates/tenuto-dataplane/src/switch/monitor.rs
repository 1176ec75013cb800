//! Behaviour monitors: which level does this flow's behaviour ask for?
//!
//! The sporadic invariant with a guide time ([MC-SDN] section IV-A): message k must not arrive
//! before G_k = max(G_{k−1}, E_{k−1} − J) + T. Judged by arrival stamp, per level; the level asked
//! for is the lowest from which on the message keeps every contract. Sizes are counted from the real frames of a
//! message, on the wire; the size in the shim header is only a claim (theory, message delay).
//!
//! All frames of a message are released at once, so they come within J of the first: what comes
//! later under the same id begins another message. Else a host could hold most of a message back
//! until the next is due, and send two at once unseen.
//!
//! After a violation the guide time starts from the violating message, so that a flow that goes
//! back to its lower contract is seen to keep it at once, and a network can return.

use std::hash::{Hash, Hasher};
use tenuto_units::{Instant, Span, WIRE_OVERHEAD_BYTES, frame_bytes_padded};
use tenuto_wire::shim::message_id;

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

/// What a monitor has seen; in two lines of cache, as every message is written here.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(128))]
pub struct MonitorState {
    /// The watch.
    pub monitor: Monitor,
    /// When an observer was last told of it.
    pub told: Instant,
    /// Messages (or frames) judged.
    pub messages: u64,
    /// Messages that asked for more than level 0.
    pub violations: u64,
}

impl MonitorState {
    /// Reads something of what [`Self::see`] reads, in each of the two lines.
    #[inline]
    pub(super) const fn touch(&self) -> u64 {
        self.monitor.message_wire_bytes ^ self.messages
    }

    /// Takes in a frame of so many bytes with FCS; gives the level that its message asks for.
    #[inline(always)]
    pub(super) fn see(&mut self, arrival: Instant, bytes: &[u8], frame_bytes: u32) -> u8 {
        let message = match self.monitor.kind {
            MonitorKind::Message => message_id(bytes),
            MonitorKind::Frame => None,
        };
        let wire_bytes = frame_bytes_padded(frame_bytes) + WIRE_OVERHEAD_BYTES;
        let seen = self.monitor.observe(arrival, message, wire_bytes);
        self.messages += u64::from(seen.begins);
        self.violations += u64::from(seen.violates);
        seen.wanted
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

/// The contract of a level, and how the current message stands to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Guide {
    level: u8,
    /// Whether the current message came too early for this level.
    early: bool,
    wire_bytes_max: u32,
    period: Span,
    jitter: Span,
    /// No message is expected before this instant; zero before the first.
    not_before: Instant,
}

/// Levels whose guides lie beside the monitor: most networks have no more.
const NEAR: usize = 2;

/// Guides, lowest level first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Guides {
    Near([Guide; NEAR]),
    Far(Vec<Guide>),
}

impl Guides {
    fn of(contracts: &[LevelContract]) -> Self {
        let guides: Vec<Guide> = contracts.iter().map(Guide::new).collect();
        <[Guide; NEAR]>::try_from(guides).map_or_else(Self::Far, Self::Near)
    }

    fn all(&self) -> &[Guide] {
        match self {
            Self::Near(guides) => guides,
            Self::Far(guides) => guides,
        }
    }
}

/// The watch over one flow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Monitor {
    message_wire_bytes: u64,
    /// The last instant at which a frame can belong to the current message.
    message_until: Instant,
    message: Option<u32>,
    kind: MonitorKind,
    guides: Guides,
}

impl Monitor {
    /// A monitor that has seen nothing; `contracts` lowest level first.
    pub fn new(kind: MonitorKind, contracts: &[LevelContract]) -> Self {
        Self {
            kind,
            guides: Guides::of(contracts),
            message: None,
            message_wire_bytes: 0,
            message_until: Instant::ZERO,
        }
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
        let message = message.filter(|_| self.kind == MonitorKind::Message);
        let same = message.is_some() && message == self.message && arrival <= self.message_until;
        let wire_bytes = u64::from(wire_bytes);
        if same {
            let before = wanted(self.guides.all(), self.message_wire_bytes);
            self.message_wire_bytes += wire_bytes;
            let wanted = wanted(self.guides.all(), self.message_wire_bytes);
            return Observation { wanted, begins: false, violates: wanted > 0 && before == 0 };
        }
        self.message = message;
        self.message_wire_bytes = wire_bytes;
        // Where guides lie near, their number is known to the compiler.
        let (spread, wanted) = match &mut self.guides {
            Guides::Near(guides) => begin_message(guides, arrival, wire_bytes),
            Guides::Far(guides) => begin_message(guides, arrival, wire_bytes),
        };
        self.message_until = arrival + spread;
        Observation { wanted, begins: true, violates: wanted > 0 }
    }

    /// Its contracts, the message that is being counted, and its guide times relative to `now`:
    /// equal keys judge alike all that arrives from `now` on.
    pub fn identify(&self, now: Instant, hasher: &mut impl Hasher) {
        // What can belong to a message that has ended counts for nothing any more.
        let open = self.message.filter(|_| now <= self.message_until);
        let bytes = if open.is_some() { self.message_wire_bytes } else { 0 };
        let left = open.map(|_| self.message_until.since(now).as_ns());
        (self.kind, open, bytes, left, self.guides.all().len()).hash(hasher);
        for guide in self.guides.all() {
            let Guide { level, early, wire_bytes_max, period, jitter, not_before } = *guide;
            // A guide time counts until the jitter has passed as well: the next message is held
            // against the later of it and the arrival less the jitter.
            let ahead = (not_before + jitter).since(now).as_ns();
            (level, wire_bytes_max, period, jitter, ahead, early).hash(hasher);
        }
    }
}

/// A message begins with its first frame: how far apart its frames can arrive (the largest J of
/// its contracts), and the level that it asks for so far.
#[inline]
fn begin_message(guides: &mut [Guide], arrival: Instant, wire_bytes: u64) -> (Span, u8) {
    let mut spread = Span::ZERO;
    for guide in &mut *guides {
        guide.begin_message(arrival);
        spread = spread.max(guide.jitter);
    }
    (spread, wanted(guides, wire_bytes))
}

/// The level that a message asks for by what was seen of it: the lowest from which on it keeps
/// every contract. A lower guide that a violation has set back excuses no higher one.
#[inline]
fn wanted(guides: &[Guide], wire_bytes: u64) -> u8 {
    let broken = |g: &Guide| g.early || wire_bytes > u64::from(g.wire_bytes_max);
    // What keeps no contract at all asks for the highest level; the excess there is policed.
    let first_kept = guides.iter().rposition(broken).map_or(0, |last| last + 1);
    guides.get(first_kept).or(guides.last()).map_or(0, |g| g.level)
}

impl Guide {
    const fn new(&LevelContract { level, wire_bytes_max, period, jitter }: &LevelContract) -> Self {
        Self { level, early: false, wire_bytes_max, period, jitter, not_before: Instant::ZERO }
    }

    #[inline]
    fn begin_message(&mut self, arrival: Instant) {
        let Self { period, jitter, .. } = *self;
        self.early = arrival < self.not_before;
        let earliest = arrival.saturating_sub(jitter);
        let base = if self.early { earliest } else { self.not_before.max(earliest) };
        self.not_before = base + period;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn car_camera() -> Monitor {
        Monitor::new(MonitorKind::Message, &[level(0, 200), level(1, 22)])
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
    fn a_monitor_is_two_lines_of_cache_and_touched_in_both() {
        assert_eq!(size_of::<Option<MonitorState>>(), 128);
        assert!(std::mem::offset_of!(MonitorState, monitor.message_wire_bytes) < 64);
        assert!(std::mem::offset_of!(MonitorState, messages) >= 64);
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
        let mut monitor = Monitor::new(MonitorKind::Frame, &[level(0, 200), level(1, 22)]);
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
