//! What a switch is made of; everything else it is told over OpenFlow.

use super::table::ClassifierKind;
use crate::EgressConfig;
use tenuto_units::Span;
use tenuto_wire::{LinkKey, MacAddress};

/// What a switch is made of.
#[derive(Clone, Debug)]
pub struct SwitchConfig {
    /// OpenFlow datapath id.
    pub datapath_id: u64,
    /// Its ports.
    pub ports: Vec<PortConfig>,
    /// Flow tables.
    pub tables: u8,
    /// Entries over all tables and levels.
    pub entries_max: usize,
    /// Meters.
    pub meters_max: usize,
    /// Groups.
    pub groups_max: usize,
    /// Bytes that meters count beyond the frame as it lies in memory (without FCS): 4 with FCS,
    /// 24 for what the line carries.
    pub meter_extra_bytes: u32,
    /// How entries are looked up.
    pub classifier: ClassifierKind,
    /// Seed of nonces and of signal sequence numbers; grows from start to start, so that a
    /// restarted switch is not taken for a replay of itself.
    pub boot_seed: u64,
    /// Time after which a mode leader repeats itself and a joining switch asks again.
    pub mode_retry: Span,
}

/// One port.
#[derive(Clone, Debug)]
pub struct PortConfig {
    /// Port number.
    pub port: u32,
    /// What is attached.
    pub role: PortRole,
    /// Queues and pacing.
    pub egress: EgressConfig,
}

/// What is attached to a port.
#[derive(Clone, Debug)]
pub enum PortRole {
    /// A host: never trusted with mode signals.
    Host,
    /// Another switch, with the key that both ends of the link share.
    Trunk(LinkKey),
}

impl SwitchConfig {
    /// The source address of signals: locally administered, from the datapath id.
    pub const fn mac(&self) -> MacAddress {
        let id = self.datapath_id.to_be_bytes();
        MacAddress([0x02, 0x54, id[4], id[5], id[6], id[7]])
    }
}
