//! MAC learning, switch by switch (\[Attendre\] section VI.B).

use super::answer::Answer;
use super::app::ReactiveApp;
use super::entry::{entry, output};
use super::packet::Packet;
use std::collections::BTreeMap;
use tenuto_openflow::constants::port;

/// Where addresses were seen, by switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LearningSwitch {
    seen: BTreeMap<(u64, [u8; 6]), u32>,
    /// Addresses that are remembered at most.
    addresses_max: usize,
}

impl LearningSwitch {
    /// Knows no address yet; packets to addresses beyond `addresses_max` are always flooded.
    pub const fn new(addresses_max: usize) -> Self {
        Self { seen: BTreeMap::new(), addresses_max }
    }
}

impl ReactiveApp for LearningSwitch {
    /// An entry to a known destination, or else every port but that of entry.
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        let is_known = self.seen.contains_key(&(datapath, packet.src));
        if is_known || self.seen.len() < self.addresses_max {
            self.seen.insert((datapath, packet.src), packet.in_port);
        }
        match self.seen.get(&(datapath, packet.dst)) {
            Some(&to) => {
                answer.install(datapath, entry(packet.addresses(), vec![output(to)]), packet);
            }
            None => answer.send(datapath, vec![output(port::FLOOD)], packet),
        }
    }
}
