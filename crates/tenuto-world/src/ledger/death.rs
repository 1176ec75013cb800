//! What is gone beyond what is tolerated.

/// A node, a link or a program that is gone, or a host that misbehaves, beyond what is tolerated.
#[derive(Clone, Debug)]
pub(super) struct Death {
    pub(super) who: String,
    pub(super) what: String,
    /// Nanoseconds after traffic started.
    pub(super) at_ns: u64,
    /// When it was there again, later: until when what it left behind is under way; `None` if it never was.
    pub(super) until_ns: Option<u64>,
}

/// Mode signals that are lost over a link.
#[derive(Clone, Debug)]
pub(super) struct SignalLoss {
    /// The link, in words.
    pub(super) who: String,
    /// The switch that sends them.
    pub(super) switch: String,
    pub(super) frames: u32,
    /// From when on, nanoseconds after traffic started.
    pub(super) at_ns: u64,
}

impl Death {
    /// Whether something that was under way in that time may be its work.
    pub(super) fn explains(&self, from_ns: u64, to_ns: u64) -> bool {
        self.at_ns <= to_ns && self.until_ns.is_none_or(|until| from_ns <= until)
    }
}
