//! What leaves states out without leaving behaviour out, each with a switch of its own.

/// Reductions of the search: docs/theory/exploration.md, "Reductions".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reductions {
    /// Numbers that nothing depends on make no difference: of packets that wait, of answers, of packets sent.
    pub numbers: bool,
    /// Packets that no property tells apart are one packet.
    pub packets: bool,
    /// Of steps that do not depend on each other, one order is tried.
    pub partial_order: bool,
    /// A state from which there is one way on is passed through, not kept.
    pub corridors: bool,
}

impl Reductions {
    /// All of them.
    pub const ALL: Self =
        Self { numbers: true, packets: true, partial_order: true, corridors: true };
    /// None of them.
    pub const NONE: Self =
        Self { numbers: false, packets: false, partial_order: false, corridors: false };
    /// Those that only say which states are one: every step is counted, and the first counterexample is a shortest.
    pub const SAME_STATES: Self = Self { partial_order: false, corridors: false, ..Self::ALL };
    /// Their names.
    pub const NAMES: [&'static str; 4] = ["numbers", "packets", "partial-order", "corridors"];

    /// Each with its name.
    pub const fn named(&self) -> [(&'static str, bool); 4] {
        let [numbers, packets, partial_order, corridors] = Self::NAMES;
        [
            (numbers, self.numbers),
            (packets, self.packets),
            (partial_order, self.partial_order),
            (corridors, self.corridors),
        ]
    }

    /// These with that of a name switched on; `None` if there is none of that name.
    #[must_use]
    pub fn with(self, name: &str) -> Option<Self> {
        Some(match name {
            "numbers" => Self { numbers: true, ..self },
            "packets" => Self { packets: true, ..self },
            "partial-order" => Self { partial_order: true, ..self },
            "corridors" => Self { corridors: true, ..self },
            _ => return None,
        })
    }

    /// Whether a counterexample may be longer than it need be.
    pub(super) const fn lengthen(&self) -> bool {
        self.partial_order || self.corridors
    }

    /// These without those that lengthen counterexamples.
    pub(super) const fn with_every_step(self) -> Self {
        Self { partial_order: false, corridors: false, ..self }
    }
}

impl Default for Reductions {
    fn default() -> Self {
        Self::ALL
    }
}
