//! A monitor: a learning switch that counts what its flows carry.

use super::answer::Answer;
use super::app::ReactiveApp;
use super::learning_switch::LearningSwitch;
use super::packet::Packet;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_openflow::{FlowStats, FlowStatsRequest, Match, Port, PortStatus, RequestBody};
use tenuto_units::Span;

const POLL: &str = "poll";

/// What an entry has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Carried {
    /// Packets.
    pub packets: u64,
    /// Bytes of those packets.
    pub bytes: u64,
}

/// Counts of each entry of each switch, by datapath id and the text of its match. An entry that has gone
/// keeps its last count, as long as there is room.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Monitor {
    forwarding: LearningSwitch,
    poll: Span,
    flows_max: usize,
    switches: BTreeSet<u64>,
    carried: BTreeMap<(u64, String), Carried>,
}

impl Monitor {
    /// Forwards by `forwarding`, asks every `poll`, and keeps `flows_max` entries apart.
    pub const fn new(forwarding: LearningSwitch, poll: Span, flows_max: usize) -> Self {
        Self { forwarding, poll, flows_max, switches: BTreeSet::new(), carried: BTreeMap::new() }
    }

    /// What each entry has carried when it was last read.
    pub fn carried(&self) -> impl Iterator<Item = (u64, &str, Carried)> {
        self.carried.iter().map(|((datapath, flow), carried)| (*datapath, flow.as_str(), *carried))
    }

    fn note(&mut self, datapath: u64, match_: &Match, carried: Carried) -> bool {
        let key = (datapath, match_.to_string());
        let has_room = self.carried.len() < self.flows_max || self.carried.contains_key(&key);
        has_room && self.carried.insert(key, carried) != Some(carried)
    }
}

impl ReactiveApp for Monitor {
    fn switch_up(&mut self, datapath: u64, ports: &[Port], answer: &mut Answer) {
        self.switches.insert(datapath);
        self.carried.retain(|(at, _), _| *at != datapath);
        answer.start_timer(POLL, self.poll);
        self.forwarding.switch_up(datapath, ports, answer);
    }

    fn switch_down(&mut self, datapath: u64, answer: &mut Answer) {
        self.switches.remove(&datapath);
        self.forwarding.switch_down(datapath, answer);
    }

    fn port_status(&mut self, datapath: u64, status: &PortStatus, answer: &mut Answer) {
        self.forwarding.port_status(datapath, status, answer);
    }

    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        self.forwarding.packet_in(datapath, packet, answer);
    }

    fn flow_stats(&mut self, datapath: u64, stats: &[FlowStats], answer: &mut Answer) {
        for one in stats {
            let now = Carried { packets: one.packet_count, bytes: one.byte_count };
            if self.note(datapath, &one.match_, now) {
                let (Carried { packets, bytes }, flow) = (now, &one.match_);
                answer.note(format!("{datapath}: {flow}: {packets} packets, {bytes} bytes"));
            }
        }
    }

    fn timer(&mut self, _: &str, answer: &mut Answer) {
        for &datapath in &self.switches {
            answer.ask(datapath, RequestBody::Flow(FlowStatsRequest::ALL));
        }
        answer.start_timer(POLL, self.poll);
    }
}
