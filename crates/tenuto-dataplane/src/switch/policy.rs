//! What of OpenFlow 1.3 a switch takes on, and how much of it: chosen once, when the switch is made.
//!
//! A *planned* switch does what a deployment asks for, which is what the analysis knows. Anything else
//! could take a guarantee away, and is refused. A *general* switch does all of OpenFlow 1.3, within
//! limits. Whatever the two do differently by rule is a question that is answered here; the state
//! that only a general switch has is [`General`](super::general::General).

use super::config::{FailMode, GeneralConfig};
use tenuto_openflow::constants::{capability, flow_flag};
use tenuto_openflow::{GroupType, Match, Oxm};
use tenuto_units::Instant;

/// Actions of one list, and over all buckets of one group; and buckets. With these limits whatever
/// is accepted can be read back in one message.
pub(super) const ACTIONS_MAX: usize = 1_000;
/// Actions that a general switch carries out for one frame; a frame that asks for more goes no
/// further, so that it cannot keep the others waiting. A planned switch knows its entries.
const ACTIONS_PER_FRAME_MAX: u32 = 1 << 16;

/// Flags of a flow-mod that every switch acts on, or may leave aside (it counts all the same).
const FLOW_FLAGS: u16 = flow_flag::CHECK_OVERLAP
    | flow_flag::RESET_COUNTS
    | flow_flag::NO_PKT_COUNTS
    | flow_flag::NO_BYT_COUNTS;

/// What every switch is able to do (OpenFlow 1.3.5, section 7.3.1).
const CAPABILITIES: u32 = capability::FLOW_STATS | capability::PORT_STATS | capability::GROUP_STATS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Planned,
    General,
}

/// What a switch takes on. Limits that a planned switch does not have are as large as they can be: what it
/// holds is limited by its deployment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    kind: Kind,
    /// Control connections at once.
    pub(super) connections_max: u16,
    /// Frames that wait for the controller's word.
    pub(super) buffers_max: u16,
    /// Buckets of one group.
    pub(super) buckets_max: usize,
    /// Bands of one meter.
    pub(super) bands_max: u8,
    /// Distinct masks over all tables and levels.
    pub(super) masks_max: usize,
    /// Actions over all entries.
    pub(super) actions_max: usize,
    /// Actions that are carried out on one frame.
    pub(super) actions_per_frame_max: u32,
    /// Times that one frame is sent; once by every port in any case.
    pub(super) copies_max: u32,
    /// Entries that one message touches before frames get a turn; `None`: all of them at once.
    pub(super) entries_at_once: Option<u32>,
    /// What it does while no controller is connected.
    pub(super) fail_mode: FailMode,
    /// Whether controllers may take tables out of the pipeline.
    pub(super) may_change_tables: bool,
    /// When its ports and queues came, if it has a clock to show.
    pub(super) began: Option<Instant>,
    /// Its capabilities, as OpenFlow numbers them.
    pub(super) capabilities: u32,
    /// Flags that a flow-mod may have.
    pub(super) flow_flags: u16,
}

impl Policy {
    /// That of a switch with a general configuration, or of a planned one without.
    pub(super) fn new(general: Option<&GeneralConfig>, ports: usize) -> Self {
        general.map_or(Self::PLANNED, |config| Self::general(config, ports))
    }

    const PLANNED: Self = Self {
        kind: Kind::Planned,
        connections_max: 1,
        buffers_max: 0,
        buckets_max: ACTIONS_MAX,
        bands_max: 1,
        masks_max: usize::MAX,
        actions_max: usize::MAX,
        actions_per_frame_max: u32::MAX,
        copies_max: u32::MAX,
        entries_at_once: None,
        fail_mode: FailMode::Secure,
        may_change_tables: false,
        began: None,
        capabilities: CAPABILITIES,
        flow_flags: FLOW_FLAGS,
    };

    fn general(config: &GeneralConfig, ports: usize) -> Self {
        Self {
            kind: Kind::General,
            connections_max: config.connections_max,
            buffers_max: config.buffers_max,
            buckets_max: config.buckets_max.min(ACTIONS_MAX),
            bands_max: config.bands_max,
            masks_max: config.masks_max,
            actions_max: config.actions_max,
            actions_per_frame_max: ACTIONS_PER_FRAME_MAX,
            copies_max: config.copies_max.max(u32::try_from(ports).unwrap_or(u32::MAX)),
            entries_at_once: config.entries_at_once,
            fail_mode: config.fail_mode,
            may_change_tables: config.tables_change,
            began: Some(config.began),
            capabilities: CAPABILITIES | capability::TABLE_STATS | capability::QUEUE_STATS,
            flow_flags: FLOW_FLAGS | flow_flag::SEND_FLOW_REM,
        }
    }

    /// Whether it answers messages that no deployment needs, and carries out actions that change frames
    /// or send them to reserved ports.
    pub(super) const fn is_general(&self) -> bool {
        matches!(self.kind, Kind::General)
    }

    /// Whether an entry may match these fields. A planned switch reads the port, metadata, Ethernet, VLAN, IPv4,
    /// TCP and UDP from a frame: an entry for other fields would never match.
    pub(super) fn takes_match(&self, matching: &Match) -> bool {
        let is_read = |oxm: &Oxm| matches!(oxm.number(), Some(0 | 2..=16));
        self.is_general() || matching.oxms.iter().all(is_read)
    }

    /// Whether entries may go by themselves: in a planned network a guarantee would go with them.
    pub(super) const fn takes_timeouts(&self) -> bool {
        self.is_general()
    }

    /// Whether groups of a type are known. The analysis knows no choice between buckets.
    pub(super) const fn takes_group(&self, type_: GroupType) -> bool {
        match type_ {
            GroupType::All | GroupType::Indirect => true,
            GroupType::Select | GroupType::FastFailover => self.is_general(),
            GroupType::Unknown(_) => false,
        }
    }

    /// Whether a group may lead to another.
    pub(super) const fn takes_chains(&self) -> bool {
        self.is_general()
    }

    /// Whether queues may be served otherwise than by strict priority, which is what the analysis knows.
    pub(super) const fn takes_queue_shares(&self) -> bool {
        self.is_general()
    }

    /// Whether the packet-ins of all controllers have a meter (`OFPM_CONTROLLER`). A planned switch makes none.
    pub(super) const fn has_controller_meter(&self) -> bool {
        self.is_general()
    }

    /// Whether controllers have roles. A planned switch has one controller, which may be whatever it says.
    pub(super) const fn has_roles(&self) -> bool {
        self.is_general()
    }

    /// Whether frames are read as deep as OpenFlow has fields; else as deep as deployments ask for.
    pub(super) const fn reads_all_layers(&self) -> bool {
        self.is_general()
    }

    /// Whether each port has an address of its own; else all have that of the switch.
    pub(super) const fn has_port_addresses(&self) -> bool {
        self.is_general()
    }

    /// Whether durations are shown. A planned switch has no clock to show: what it reads back is what it was
    /// told.
    pub(super) const fn shows_ages(&self) -> bool {
        self.is_general()
    }
}
