//! What is counted of a run.

use crate::explore::reactive::PacketName;
use crate::races::Record;
use std::collections::BTreeMap;
use tenuto_openflow::{AttendreMessage, Body, Experimenter};
use tenuto_units::Instant;

/// Notes and failures that are kept.
const LINES_MAX: usize = 100;

/// A flow: packets of one host to another that no entry knows when the first comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRow {
    /// The sender.
    pub from: String,
    /// The target.
    pub to: String,
    /// Packets sent.
    pub sent: u32,
    /// Packets that have arrived.
    pub received: u32,
    /// Replies sent.
    pub replies_sent: u32,
    /// Replies that have arrived.
    pub replies_received: u32,
    /// Packets or replies that have arrived more than once.
    pub duplicates: u32,
    /// Questions of switches about it.
    pub packet_ins: u32,
    /// Flow-mods in the answers.
    pub flow_mods: u32,
    /// Packet-outs in the answers.
    pub packet_outs: u32,
    /// When the first packet was sent.
    pub began: Instant,
    /// How long the first packet took; unknown if it has not arrived.
    pub setup_ns: Option<u64>,
    /// How long it took until the reply to it was there.
    pub round_trip_ns: Option<u64>,
}

impl FlowRow {
    /// Whether its first packet has arrived.
    pub const fn is_set_up(&self) -> bool {
        self.setup_ns.is_some()
    }

    /// Packets and replies that have not arrived.
    pub const fn lost(&self) -> u32 {
        self.sent.saturating_sub(self.received)
            + self.replies_sent.saturating_sub(self.replies_received)
    }
}

/// What a switch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchRow {
    /// Its name.
    pub switch: String,
    /// Questions.
    pub packet_ins: u64,
    /// Flow-mods that it was sent.
    pub flow_mods: u64,
    /// Packet-outs that it was sent.
    pub packet_outs: u64,
    /// Barriers that it was asked for.
    pub barriers: u64,
    /// Messages that it has refused.
    pub refused: u64,
    /// Frames that went no further, by reason.
    pub drops: BTreeMap<String, u64>,
    /// Packets that wait at the end.
    pub waiting: usize,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedRun {
    /// Flows in the order in which they begin.
    pub flows: Vec<FlowRow>,
    /// Switches as in the file.
    pub switches: Vec<SwitchRow>,
    /// What the application told, the first lines.
    pub notes: Vec<String>,
    /// How the application has failed, the first times.
    pub faults: Vec<String>,
    /// All failures.
    pub failures: u64,
    /// Length of the run.
    pub ended_ns: u64,
    /// What the controller has heard and told, if it was asked for.
    pub record: Vec<Record>,
}

impl AppliedRun {
    /// Whether every packet has arrived, once, and the application has not failed.
    pub fn is_delivered(&self) -> bool {
        self.failures == 0 && self.flows.iter().all(|flow| flow.lost() == 0 && flow.duplicates == 0)
    }

    /// Times of set-up in order, and what share of flows needs at most each.
    pub fn setup_times(&self) -> Vec<u64> {
        let mut times: Vec<u64> = self.flows.iter().filter_map(|flow| flow.setup_ns).collect();
        times.sort_unstable();
        times
    }

    /// Times until the first reply, in order.
    pub fn round_trips(&self) -> Vec<u64> {
        let mut times: Vec<u64> = self.flows.iter().filter_map(|it| it.round_trip_ns).collect();
        times.sort_unstable();
        times
    }

    pub(super) fn note(&mut self, lines: Vec<String>, fault: Option<String>) {
        let room = LINES_MAX.saturating_sub(self.notes.len());
        self.notes.extend(lines.into_iter().take(room));
        if let Some(fault) = fault {
            self.failures += 1;
            if self.faults.len() < LINES_MAX {
                self.faults.push(fault);
            }
        }
    }

    /// A message to a switch, in the answer about a packet.
    pub(super) fn told(&mut self, place: usize, body: &Body, about: Option<PacketName>) {
        let at = &mut self.switches[place];
        let (is_flow_mod, is_packet_out) = kind_of(body);
        at.flow_mods += u64::from(is_flow_mod);
        at.packet_outs += u64::from(is_packet_out);
        at.barriers += u64::from(matches!(body, Body::BarrierRequest));
        if let Some(flow) = about.and_then(|name| self.flows.get_mut(name.flow as usize)) {
            flow.flow_mods += u32::from(is_flow_mod);
            flow.packet_outs += u32::from(is_packet_out);
        }
    }
}

fn kind_of(body: &Body) -> (bool, bool) {
    use AttendreMessage as A;
    match body {
        Body::FlowMod(_) => (true, false),
        Body::PacketOut(_) => (false, true),
        Body::Experimenter(Experimenter::Attendre(A::SetFlowMod { .. })) => (true, false),
        Body::Experimenter(Experimenter::Attendre(A::SetPacketOut { .. })) => (false, true),
        _ => (false, false),
    }
}
