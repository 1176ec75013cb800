//! What a switch is made of; everything else it is told over OpenFlow.

use super::classifier::hash_key::HashKey;
use super::classifier::table::ClassifierKind;
use super::slices::guard::SliceConfig;
use crate::EgressConfig;
use std::collections::BTreeMap;
use tenuto_units::{Instant, Span};
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
    /// Where indexes put entries: a secret of this process wherever hosts are not trusted. It decides
    /// nothing else.
    pub hash_key: HashKey,
    /// Seed of nonces and of signal sequence numbers; grows from start to start, so that a
    /// restarted switch is not taken for a replay of itself.
    pub boot_seed: u64,
    /// Time after which a mode leader repeats itself and a joining switch asks again.
    pub mode_retry: Span,
    /// `None`: a switch of a planned network. It does what a deployment asks for, which is what
    /// the analysis knows, and refuses the rest of OpenFlow. `Some`: all of OpenFlow 1.3.
    pub general: Option<GeneralConfig>,
}

/// What a general switch is made of beyond a planned one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneralConfig {
    /// Bands of one meter.
    pub bands_max: u8,
    /// Frames that wait for the controller's word.
    pub buffers_max: u16,
    /// Control connections at once, auxiliary ones included.
    pub connections_max: u16,
    /// What it does while no controller is connected.
    pub fail_mode: FailMode,
    /// Packet-ins of one port in a second, with a burst of a tenth of that; `None` without limit.
    /// What is above is dropped before anything is made of it, and counted.
    pub packet_ins_per_s: Option<u32>,
    /// When it began: its ports and queues tell how long they have been there.
    pub began: Instant,
    /// Addresses that it remembers where it learns them (standalone, `OFPP_NORMAL`).
    pub learned_max: usize,
    /// What people call this data path.
    pub description: String,
    /// Names of ports by number; the others are called after their number.
    pub port_names: BTreeMap<u32, String>,
    /// Entries that one message touches before frames get a turn; the rest of them when
    /// [`Switch::work_on`](super::Switch::work_on) is called. `None`: all of them at once.
    pub entries_at_once: Option<u32>,
    /// Distinct masks over all tables and levels: what a look-up costs at worst, as each takes a probe.
    pub masks_max: usize,
    /// Actions over all entries, which is what memory they may take.
    pub actions_max: usize,
    /// Buckets of one group: a frame takes the time of them all.
    pub buckets_max: usize,
    /// Times that one frame is sent at most, by whatever groups, tables and lists of actions: a frame
    /// that asks for more goes no further, so that it cannot keep the others waiting. It is sent by
    /// every port once in any case.
    pub copies_max: u32,
    /// What a frame takes of the buffer of its port at least, bits on the wire: so that all buffers together
    /// hold no more frames than the store does.
    pub frame_bits_least: u32,
    /// Whether controllers may take tables out of the pipeline and put them back, by a request for
    /// table features (OpenFlow 1.3.5, section 7.3.5.5.1).
    pub tables_change: bool,
    /// What Attendre may keep, once a controller switches it on; `None`: it is not offered.
    pub attendre: Option<AttendreLimits>,
    /// Whether it is the virtual datapath of a slice; `None`: it has the whole switch.
    pub slice: Option<SliceConfig>,
}

/// What Attendre may keep in a switch: apart from the buffers of flows, and bounded (docs/theory/attendre.md,
/// "What it costs the others").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttendreLimits {
    /// Buffers at once.
    pub buffers_max: u16,
    /// Frames in one buffer.
    pub frames_each: u16,
    /// Frames in all of them. The frame store needs room for so many beside its others.
    pub frames_max: u16,
    /// Message sets that are open, and as many complete ones, that are remembered.
    pub sets_max: u16,
    /// How long a buffer waits for its set unless a controller says otherwise.
    pub timeout: Span,
}

impl Default for AttendreLimits {
    fn default() -> Self {
        Self {
            buffers_max: 64,
            frames_each: 32,
            frames_max: 256,
            sets_max: 1_024,
            timeout: Span::from_ms(500),
        }
    }
}

/// What a switch does while no controller is connected (OpenFlow 1.3.5, section 6.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FailMode {
    /// Its entries stay in force; what is for the controller is dropped.
    #[default]
    Secure,
    /// It forwards as a learning bridge; its entries come back into force with a controller.
    Standalone,
}

impl Default for GeneralConfig {
    fn default() -> Self {
        Self {
            bands_max: 8,
            buffers_max: 256,
            connections_max: 16,
            fail_mode: FailMode::Secure,
            packet_ins_per_s: None,
            began: Instant::ZERO,
            learned_max: 4_096,
            description: String::new(),
            port_names: BTreeMap::new(),
            entries_at_once: None,
            masks_max: 1_024,
            actions_max: 2_000_000,
            buckets_max: 256,
            copies_max: 512,
            frame_bits_least: 0,
            tables_change: true,
            attendre: Some(AttendreLimits::default()),
            slice: None,
        }
    }
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
