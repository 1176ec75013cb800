//! A monitor of any number of contracts, of any size.

use super::{LevelContract, MonitorKind, Observation};
use std::hash::{Hash, Hasher};
use tenuto_units::{Instant, Span};

/// The contract of a level, and how the current message stands to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Guide {
    pub(super) level: u8,
    /// Whether the current message came too early for this level.
    pub(super) early: bool,
    pub(super) wire_bytes_max: u32,
    pub(super) period: Span,
    pub(super) jitter: Span,
    /// No message is expected before this instant; zero before the first.
    pub(super) not_before: Instant,
}

/// The watch over one flow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct WideMonitor {
    pub(super) kind: MonitorKind,
    /// Lowest level first.
    pub(super) guides: Vec<Guide>,
    pub(super) message: Option<u32>,
    pub(super) message_wire_bytes: u64,
    /// The last instant at which a frame can belong to the current message.
    pub(super) message_until: Instant,
}

impl WideMonitor {
    /// A monitor that has seen nothing; `contracts` lowest level first.
    pub(super) fn new(kind: MonitorKind, contracts: &[LevelContract]) -> Self {
        Self {
            kind,
            guides: contracts.iter().map(Guide::new).collect(),
            message: None,
            message_wire_bytes: 0,
            message_until: Instant::ZERO,
        }
    }

    /// Takes in a frame; returns the level that its message asks for.
    ///
    /// `message` is the id in its shim header, if it has one: a frame without is a message. A
    /// monitor of frames does not look at it: any payload can be read as a shim.
    pub(super) fn observe(
        &mut self,
        arrival: Instant,
        message: Option<u32>,
        wire_bytes: u32,
    ) -> Observation {
        let message = message.filter(|_| self.kind == MonitorKind::Message);
        let same = message.is_some() && message == self.message && arrival <= self.message_until;
        let wire_bytes = u64::from(wire_bytes);
        if same {
            let before = wanted(&self.guides, self.message_wire_bytes);
            self.message_wire_bytes += wire_bytes;
            let wanted = wanted(&self.guides, self.message_wire_bytes);
            return Observation { wanted, begins: false, violates: wanted > 0 && before == 0 };
        }
        self.message = message;
        self.message_wire_bytes = wire_bytes;
        let (spread, wanted) = begin_message(&mut self.guides, arrival, wire_bytes);
        self.message_until = arrival + spread;
        Observation { wanted, begins: true, violates: wanted > 0 }
    }

    /// Its contracts, the message that is being counted, and its guide times relative to `now`:
    /// equal keys judge alike all that arrives from `now` on.
    pub(super) fn identify(&self, now: Instant, hasher: &mut impl Hasher) {
        // What can belong to a message that has ended counts for nothing any more.
        let open = self.message.filter(|_| now <= self.message_until);
        let bytes = if open.is_some() { self.message_wire_bytes } else { 0 };
        let left = open.map(|_| self.message_until.since(now).as_ns());
        (self.kind, open, bytes, left, self.guides.len()).hash(hasher);
        for guide in &self.guides {
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

    fn begin_message(&mut self, arrival: Instant) {
        let Self { period, jitter, .. } = *self;
        self.early = arrival < self.not_before;
        let earliest = arrival.saturating_sub(jitter);
        let base = if self.early { earliest } else { self.not_before.max(earliest) };
        self.not_before = base + period;
    }
}
