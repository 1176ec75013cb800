//! Whether a controller is one of several, and whether it is the one that writes.

/// What a controller is among others. Generations grow with every change of who leads (OpenFlow 1.3.5, section 6.3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Leadership {
    /// There is no other: roles are not spoken of.
    #[default]
    Alone,
    /// Another one leads, by this generation as far as that is known. Switches are connected and held as slave; nothing is
    /// read or written.
    Follows {
        /// The generation; 0 where none is known.
        generation: u64,
    },
    /// This one leads: it is master of every switch that it installs.
    Leads {
        /// The generation.
        generation: u64,
    },
}

impl Leadership {
    /// Whether this controller writes to switches.
    pub const fn is_leading(self) -> bool {
        !matches!(self, Self::Follows { .. })
    }
}

/// A switch that is known and not installed from here: another controller's, or its role is not granted yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Standby {
    pub(crate) dpid: u64,
    /// The request for a role that waits for its answer.
    pub(crate) asked: Option<u32>,
}
