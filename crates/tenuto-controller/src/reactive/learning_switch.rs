//! MAC learning, switch by switch (\[Attendre\] section VI.B).

use super::answer::Answer;
use super::app::ReactiveApp;
use super::entry::{deletion, entry, is_gone, output};
use super::packet::{Packet, to_address};
use super::spanning_tree::SpanningTree;
use std::collections::BTreeMap;
use tenuto_openflow::constants::port;
use tenuto_openflow::{Action, FlowMod, Match, Port, PortStatus};

/// With room for no more addresses than this, what one switch learns may keep another from learning.
const SHARED_BELOW: usize = 1_000;

/// Where addresses were seen, by switch.
///
/// A host that moves is learned anew as soon as a packet of it enters elsewhere: entries are for a port of
/// entry, so that such a packet is asked about, and entries to its old place are deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LearningSwitch {
    seen: BTreeMap<(u64, [u8; 6]), u32>,
    /// Addresses that are remembered at most.
    addresses_max: usize,
    /// Seconds without a packet after which an entry goes; 0 for never.
    idle_s: u16,
    tree: SpanningTree,
}

impl LearningSwitch {
    /// Knows no address yet; packets to addresses beyond `addresses_max` are always flooded.
    pub const fn new(addresses_max: usize) -> Self {
        Self { seen: BTreeMap::new(), addresses_max, idle_s: 0, tree: SpanningTree::new() }
    }

    /// Entries go after so many seconds without a packet.
    #[must_use]
    pub fn with_idle_s(self, idle_s: u16) -> Self {
        Self { idle_s, ..self }
    }

    /// Packets are taken from and flooded to ports of the tree alone, in networks with loops.
    #[must_use]
    pub fn with_tree(self, tree: SpanningTree) -> Self {
        Self { tree, ..self }
    }

    fn learn(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        // A group of stations is nowhere.
        if packet.src[0] & 1 == 1 {
            return;
        }
        let key = (datapath, packet.src);
        if !self.seen.contains_key(&key) && self.seen.len() >= self.addresses_max {
            return;
        }
        let before = self.seen.insert(key, packet.in_port);
        if let Some(old) = before.filter(|&old| old != packet.in_port) {
            answer.flow_mod(datapath, deletion(to_address(packet.src), Some(old)));
        }
    }

    fn flood(&self, datapath: u64, in_port: u32) -> Vec<Action> {
        match self.tree.ports(datapath) {
            Some(ports) => ports.filter(|&port| port != in_port).map(output).collect(),
            None => vec![output(port::FLOOD)],
        }
    }
}

impl ReactiveApp for LearningSwitch {
    /// What an earlier connection of the switch has taught is not in its tables any more.
    fn switch_up(&mut self, datapath: u64, _: &[Port], _: &mut Answer) {
        self.seen.retain(|(at, _), _| *at != datapath);
    }

    /// Hosts behind a port that is gone are nowhere.
    fn port_status(&mut self, datapath: u64, status: &PortStatus, answer: &mut Answer) {
        if is_gone(status) {
            let gone = status.port.port_no;
            self.seen.retain(|(at, _), port| (*at, *port) != (datapath, gone));
            answer.flow_mod(datapath, deletion(Match::ANY, Some(gone)));
        }
    }

    /// Addresses are learned switch by switch, while there is room for those of all.
    fn is_by_switch(&self) -> bool {
        self.addresses_max.saturating_sub(self.seen.len()) > SHARED_BELOW
    }

    /// An entry to a known destination, or else every port but that of entry.
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        if !self.tree.carries(datapath, packet.in_port) {
            return answer.discard(datapath, packet);
        }
        self.learn(datapath, packet, answer);
        match self.seen.get(&(datapath, packet.dst)) {
            // It is on the side from where the packet came.
            Some(&to) if to == packet.in_port => answer.discard(datapath, packet),
            Some(&to) => {
                let way = entry(packet.addresses_at_port(), vec![output(to)]);
                let way = FlowMod { idle_timeout: self.idle_s, ..way };
                answer.install(datapath, way, packet);
            }
            None => {
                let ports = self.flood(datapath, packet.in_port);
                match ports.is_empty() {
                    true => answer.discard(datapath, packet),
                    false => answer.send(datapath, ports, packet),
                }
            }
        }
    }
}
