//! A processor that every port shares, and what a frame costs it.
//!
//! The cost function exists once: [`Processor::cost_ps`] is the envelope that the planner charges
//! and [`Processor::sample_ps`] what a simulated device takes, never more (docs/theory/analysis.md,
//! "A processor that the ports share").

use super::slice_control::SliceControl;
use serde::{Deserialize, Serialize};

/// Preamble and start of frame delimiter on a processor's link, bytes.
const PREAMBLE_BYTES: u64 = 8;
/// Interframe gap on a processor's link, bytes.
const GAP_BYTES: u64 = 12;
const PS_PER_S: u128 = 1_000_000_000_000;

/// One processor in front of all egress ports of a switch (\[Loko\] section 4).
///
/// A frame is received, waits for its turn by [`Receive`], is processed, and only then reaches its
/// egress queue. What is dropped was looked up before, and costs the same as what is forwarded
/// without an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processor {
    /// Per frame, picoseconds.
    pub base_ps: u64,
    /// Per byte of the frame (FCS included), picoseconds.
    pub per_byte_ps: u64,
    /// Per entry or mask that a frame is compared with.
    pub per_entry_ps: MatchCosts,
    /// What is compared.
    pub look_up: LookUp,
    /// What actions cost besides plain output.
    pub actions_ps: ActionCosts,
    /// Every output after the first, besides its bytes, picoseconds.
    pub per_output_ps: u64,
    /// How far below the envelope a frame can cost, percent of it.
    pub spread_percent: u32,
    /// The line between the ports and the processor, if all frames share one.
    pub link: Option<ProcessorLink>,
    /// Which frame is next.
    pub receive: Receive,
    /// What control messages may take of the processor.
    pub control: ControlShare,
    /// Tenants' slices of the switch, and what their control messages may take beside that.
    #[serde(default, skip_serializing_if = "SliceControl::is_empty")]
    pub slices: SliceControl,
    /// The costs were seen, but an operating system decides when: no worst case is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_typical: bool,
}

/// Cost of one comparison by what an entry matches on (\[Loko\] Table 1), picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchCosts {
    /// Port of entry.
    pub port: u64,
    /// Destination port of the transport.
    pub tp_dst: u64,
    /// Destination MAC address.
    pub dl_dst: u64,
    /// Destination IP address under a mask.
    pub masked_nw_dst: u64,
    /// IP addresses, protocol, ports.
    pub five_tuple: u64,
    /// Five-tuple, port of entry, type of service, MAC addresses.
    pub all: u64,
}

impl MatchCosts {
    /// The same for every kind of match.
    pub(crate) const fn uniform(ps: u64) -> Self {
        Self { port: ps, tp_dst: ps, dl_dst: ps, masked_nw_dst: ps, five_tuple: ps, all: ps }
    }

    /// The cost of one kind.
    pub const fn of(&self, matching: MatchType) -> u64 {
        match matching {
            MatchType::Port => self.port,
            MatchType::TpDst => self.tp_dst,
            MatchType::DlDst => self.dl_dst,
            MatchType::MaskedNwDst => self.masked_nw_dst,
            MatchType::FiveTuple => self.five_tuple,
            MatchType::All => self.all,
        }
    }

    /// The dearest kind.
    pub fn most(&self) -> u64 {
        MatchType::ALL.iter().map(|&kind| self.of(kind)).max().unwrap_or(0)
    }

    /// The cheapest kind.
    pub fn least(&self) -> u64 {
        MatchType::ALL.iter().map(|&kind| self.of(kind)).min().unwrap_or(0)
    }
}

/// What an entry matches on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchType {
    /// Port of entry.
    Port,
    /// Destination port of the transport.
    TpDst,
    /// Destination MAC address.
    DlDst,
    /// Destination IP address under a mask.
    MaskedNwDst,
    /// IP addresses, protocol, ports.
    FiveTuple,
    /// Everything that Table 1 names.
    All,
}

impl MatchType {
    /// Every kind, in the order of Table 1.
    pub const ALL: [Self; 6] =
        [Self::Port, Self::TpDst, Self::DlDst, Self::MaskedNwDst, Self::FiveTuple, Self::All];
}

/// What is done to a frame before its output (\[Loko\] Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Nothing.
    Output,
    /// VLAN id written.
    SetVlanId,
    /// VLAN priority written.
    SetVlanPcp,
    /// VLAN tag removed.
    StripVlan,
    /// Source MAC address written.
    SetDlSrc,
    /// Source IP address written.
    SetNwSrc,
    /// Type of service written.
    SetNwTos,
    /// Source port of the transport written.
    SetTpSrc,
}

impl Action {
    /// Every action, in the order of Table 1.
    pub const ALL: [Self; 8] = [
        Self::Output,
        Self::SetVlanId,
        Self::SetVlanPcp,
        Self::StripVlan,
        Self::SetDlSrc,
        Self::SetNwSrc,
        Self::SetNwTos,
        Self::SetTpSrc,
    ];
}

/// What an action costs besides plain output, picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionCosts {
    /// VLAN id written.
    pub set_vlan_id: u64,
    /// VLAN priority written.
    pub set_vlan_pcp: u64,
    /// VLAN tag removed.
    pub strip_vlan: u64,
    /// Source MAC address written.
    pub set_dl_src: u64,
    /// Source IP address written.
    pub set_nw_src: u64,
    /// Type of service written.
    pub set_nw_tos: u64,
    /// Source port of the transport written.
    pub set_tp_src: u64,
}

impl ActionCosts {
    /// The cost of one action besides plain output.
    pub const fn of(&self, action: Action) -> u64 {
        match action {
            Action::Output => 0,
            Action::SetVlanId => self.set_vlan_id,
            Action::SetVlanPcp => self.set_vlan_pcp,
            Action::StripVlan => self.strip_vlan,
            Action::SetDlSrc => self.set_dl_src,
            Action::SetNwSrc => self.set_nw_src,
            Action::SetNwTos => self.set_nw_tos,
            Action::SetTpSrc => self.set_tp_src,
        }
    }
}

/// What a frame is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LookUp {
    /// Every entry, one by one; planned at the most entries that the device may hold.
    Linear,
    /// One probe per distinct mask, so many at most.
    ByMask(u32),
}

/// The line between the ports and the processor, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorLink {
    /// Its rate, bit/s.
    pub rate_bps: u64,
    /// What every frame carries there besides itself, bytes.
    pub tag_bytes: u32,
}

impl ProcessorLink {
    /// How long a frame takes the link until the next may follow, picoseconds up.
    pub fn occupied_ps(&self, frame_bytes: u32) -> u64 {
        self.sending_ps(frame_bytes, PREAMBLE_BYTES + GAP_BYTES)
    }

    /// From the first bit of the preamble to the last bit of the frame, picoseconds up.
    pub fn passed_ps(&self, frame_bytes: u32) -> u64 {
        self.sending_ps(frame_bytes, PREAMBLE_BYTES)
    }

    fn sending_ps(&self, frame_bytes: u32, more: u64) -> u64 {
        let bits = (u128::from(frame_bytes) + u128::from(self.tag_bytes) + u128::from(more)) * 8;
        let ps = (bits * PS_PER_S).div_ceil(u128::from(self.rate_bps.max(1)));
        u64::try_from(ps).unwrap_or(u64::MAX)
    }
}

/// Which received frame the processor takes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Receive {
    /// The one whose last bit came first, whatever the port.
    Fifo,
    /// Ports in turn; a port is served until it has none left or so many frames are done.
    RoundRobin(u32),
}

/// Processor time that control messages may take: `time_ps` at once and per `period_ps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlShare {
    /// Processor time, picoseconds; 0 where control does not use the processor.
    pub time_ps: u64,
    /// In every window of this length, picoseconds; never 0.
    pub period_ps: u64,
}

impl ControlShare {
    /// Control takes nothing.
    pub const NONE: Self = Self { time_ps: 0, period_ps: 1_000_000_000_000 };
}

/// A use of a switch, in the dimensions of \[Loko\] Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// What the entries match on.
    pub matching: MatchType,
    /// What is done before the output.
    pub action: Action,
    /// Entries in the table.
    pub entries: u32,
    /// Whether the first or the last of them matches.
    pub position: Position,
    /// In which order priorities stand.
    pub order: PriorityOrder,
    /// The frame with FCS, bytes.
    pub frame_bytes: u32,
}

/// Which entry of the table matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The first one.
    First,
    /// The last one.
    Last,
}

/// How priorities stand in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityOrder {
    /// The least first: a later entry can always win.
    Increasing,
    /// The highest first: after a hit, none is compared any more.
    Decreasing,
}

impl Use {
    /// The worst position and order for a table of `entries`.
    pub const fn worst(
        matching: MatchType,
        action: Action,
        entries: u32,
        frame_bytes: u32,
    ) -> Self {
        let (position, order) = (Position::Last, PriorityOrder::Increasing);
        Self { matching, action, entries, position, order, frame_bytes }
    }

    /// Entries that are compared in full (\[Loko\] Fig. 10a: only decreasing priorities with the
    /// first entry hit spare the rest).
    pub const fn compared(&self) -> u32 {
        match (self.order, self.position) {
            (PriorityOrder::Decreasing, Position::First) if self.entries > 0 => 1,
            _ => self.entries,
        }
    }
}

/// A rate-latency service curve for frames of one size (\[Loko\] section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameService {
    /// R: what the switch can forward, bit/s down; frames with FCS, without preamble and gap.
    pub rate_bps: u64,
    /// From the last bit in to the first bit out of an idle switch, picoseconds up.
    pub traversal_ps: u64,
    /// T: the traversal and one frame at R, picoseconds up.
    pub latency_ps: u64,
}

impl Processor {
    /// What a processor is before anything is said of it: nothing costs anything.
    pub const FREE: Self = Self {
        base_ps: 0,
        per_byte_ps: 0,
        per_entry_ps: MatchCosts::uniform(0),
        look_up: LookUp::Linear,
        actions_ps: ActionCosts {
            set_vlan_id: 0,
            set_vlan_pcp: 0,
            strip_vlan: 0,
            set_dl_src: 0,
            set_nw_src: 0,
            set_nw_tos: 0,
            set_tp_src: 0,
        },
        per_output_ps: 0,
        spread_percent: 0,
        link: None,
        receive: Receive::Fifo,
        control: ControlShare::NONE,
        slices: SliceControl::NONE,
        is_typical: false,
    };

    /// p_CPU: the most that a frame takes of the processor itself, picoseconds.
    pub fn cpu_ps(&self, it: &Use) -> u64 {
        let compared = match self.look_up {
            LookUp::Linear => it.compared(),
            LookUp::ByMask(masks) => it.compared().min(masks),
        };
        let entry_ps = self.per_entry_ps.of(it.matching);
        self.base_ps
            .saturating_add(self.per_byte_ps.saturating_mul(u64::from(it.frame_bytes)))
            .saturating_add(entry_ps.saturating_mul(u64::from(compared)))
            .saturating_add(self.actions_ps.of(it.action))
    }

    /// The most that a frame keeps the next one waiting: the processor or its link, whichever is
    /// slower (Eq. 6), picoseconds.
    pub fn cost_ps(&self, it: &Use) -> u64 {
        self.cpu_ps(it).max(self.link_ps(it.frame_bytes))
    }

    /// What a frame of that use takes, for a draw in 0..=65535; never above [`Self::cost_ps`] and
    /// never below [`Self::least_ps`].
    pub fn sample_ps(&self, it: &Use, draw: u16) -> u64 {
        let most = self.cost_ps(it);
        let spread = u128::from(self.spread_of(most)) * u128::from(draw) / u128::from(u16::MAX);
        most - u64::try_from(spread).unwrap_or(most)
    }

    /// The least that any frame of at least 64 B takes with one entry compared, picoseconds.
    pub fn least_ps(&self) -> u64 {
        let kinds = MatchType::ALL.iter().map(|&kind| {
            let least = Use::worst(kind, Action::Output, 1, tenuto_units::FRAME_BYTES_MIN);
            self.sample_ps(&least, u16::MAX)
        });
        kinds.min().unwrap_or(0)
    }

    /// Service for frames of that use.
    pub fn service(&self, it: &Use) -> FrameService {
        let cost_ps = self.cost_ps(it).max(1);
        let bits = u128::from(it.frame_bytes) * 8 * PS_PER_S;
        let passed = self.link.map_or(0, |link| link.passed_ps(it.frame_bytes));
        let traversal_ps = self.cpu_ps(it).saturating_add(passed.saturating_mul(2));
        FrameService {
            rate_bps: u64::try_from(bits / u128::from(cost_ps)).unwrap_or(u64::MAX),
            traversal_ps,
            latency_ps: traversal_ps.saturating_add(cost_ps),
        }
    }

    /// The most that a frame costs in a plan whose switch may hold `entries_max` entries: any
    /// match, every entry compared, plain output to `outputs` ports; picoseconds.
    pub fn planned_ps(&self, frame_bytes: u32, entries_max: u32, outputs: u32) -> u64 {
        let copies = u64::from(outputs.saturating_sub(1));
        let copy_ps = self
            .per_output_ps
            .saturating_add(self.per_byte_ps.saturating_mul(u64::from(frame_bytes)))
            .max(self.link_ps(frame_bytes));
        self.any_ps(frame_bytes, entries_max).saturating_add(copies.saturating_mul(copy_ps))
    }

    /// What a frame takes of a simulated device's processor with `entries` entries, its line apart,
    /// for a draw in 0..=65535; never above [`Self::planned_ps`] for as many entries or more.
    pub fn simulated_ps(&self, frame_bytes: u32, entries: u32, draw: u16) -> u64 {
        let kinds = MatchType::ALL.iter();
        let cpu = |&kind| self.cpu_ps(&Use::worst(kind, Action::Output, entries, frame_bytes));
        let most = kinds.map(cpu).max().unwrap_or(0);
        let spread = u128::from(self.spread_of(most)) * u128::from(draw) / u128::from(u16::MAX);
        most - u64::try_from(spread).unwrap_or(most)
    }

    fn any_ps(&self, frame_bytes: u32, entries: u32) -> u64 {
        let kinds = MatchType::ALL.iter();
        let cost = |&kind| self.cost_ps(&Use::worst(kind, Action::Output, entries, frame_bytes));
        kinds.map(cost).max().unwrap_or(0)
    }

    fn link_ps(&self, frame_bytes: u32) -> u64 {
        self.link.map_or(0, |link| link.occupied_ps(frame_bytes))
    }

    fn spread_of(&self, most: u64) -> u64 {
        let spread = u128::from(most) * u128::from(self.spread_percent.min(100)) / 100;
        u64::try_from(spread).unwrap_or(most)
    }
}
