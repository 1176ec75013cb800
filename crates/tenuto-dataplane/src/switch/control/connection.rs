//! Control connections: several at once, their roles and what they want to hear (OpenFlow 1.3.5,
//! sections 6.3.4, 6.3.5 and 7.3.10).

use tenuto_openflow::{AsyncConfig, ControllerRole, Framer};

/// A control connection; the first one has number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u16);

impl ConnectionId {
    /// The first connection, whose bytes are [`Effects::control`](crate::Effects::control).
    pub const FIRST: Self = Self(0);
}

/// No more connections, or one of this number is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionRefused;

/// The state of one connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::switch) struct Connection {
    pub(in crate::switch) id: ConnectionId,
    pub(in crate::switch) framer: Framer,
    pub(in crate::switch) role: ControllerRole,
    pub(in crate::switch) wants: AsyncConfig,
    /// Whether this controller answers packet-ins with message sets (Attendre).
    pub(in crate::switch) uses_attendre: bool,
    /// The main connection and the number of this auxiliary one (section 6.3.5).
    pub(in crate::switch) auxiliary: Option<(ConnectionId, u8)>,
    /// Whether it was made to the switch, as tools do: it is no controller whose loss counts, and
    /// hears what it did not ask for only once it has set what it wants to hear.
    pub(in crate::switch) is_service: bool,
    pub(in crate::switch) listens: bool,
}

/// Kinds of asynchronous messages that a controller can choose among.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) enum Asynchronous {
    PacketIn,
    PortStatus,
    FlowRemoved,
}

impl Connection {
    pub(super) fn new(id: ConnectionId, auxiliary: Option<(ConnectionId, u8)>) -> Self {
        let (role, wants) = (ControllerRole::Equal, AsyncConfig::default());
        let framer = Framer::default();
        let (is_service, listens, uses_attendre) = (false, true, false);
        Self { id, framer, role, wants, auxiliary, is_service, listens, uses_attendre }
    }

    pub(in crate::switch) const fn is_slave(&self) -> bool {
        matches!(self.role, ControllerRole::Slave)
    }

    /// Whether it wants messages of this kind and reason.
    pub(in crate::switch) fn wants(&self, kind: Asynchronous, reason: u8) -> bool {
        let masks = match kind {
            Asynchronous::PacketIn => self.wants.packet_in_mask,
            Asynchronous::PortStatus => self.wants.port_status_mask,
            Asynchronous::FlowRemoved => self.wants.flow_removed_mask,
        };
        let mask = masks[usize::from(self.is_slave())];
        let hears = self.listens && self.auxiliary.is_none();
        hears && 1_u32.checked_shl(reason.into()).is_some_and(|b| mask & b != 0)
    }
}
