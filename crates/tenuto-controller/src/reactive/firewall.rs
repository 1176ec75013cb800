//! A firewall with a memory: who inside speaks to somebody outside may be answered.

use super::answer::Answer;
use super::app::ReactiveApp;
use super::entry::{entry, output};
use super::packet::{Packet, between};
use std::collections::BTreeSet;

/// One switch between an inside and an outside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Firewall {
    inside: u32,
    outside: u32,
    /// Pairs (source, destination) of frames that came from inside.
    opened: BTreeSet<([u8; 6], [u8; 6])>,
    opened_max: usize,
}

impl Firewall {
    /// Between two ports; at most `opened_max` pairs may speak.
    pub const fn new(inside: u32, outside: u32, opened_max: usize) -> Self {
        Self { inside, outside, opened: BTreeSet::new(), opened_max }
    }
}

impl ReactiveApp for Firewall {
    /// From inside: an entry for each direction, that for answers first. From outside: only
    /// answers; anything else is dropped, with an empty answer.
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        let Packet { src, dst, in_port, .. } = *packet;
        if in_port == self.inside {
            if self.opened.len() < self.opened_max {
                self.opened.insert((src, dst));
            }
            if self.opened.contains(&(src, dst)) {
                answer.flow_mod(datapath, entry(between(dst, src), vec![output(self.inside)]));
                let out = entry(packet.addresses(), vec![output(self.outside)]);
                answer.install(datapath, out, packet);
            }
        } else if in_port == self.outside && self.opened.contains(&(dst, src)) {
            let back = entry(packet.addresses(), vec![output(self.inside)]);
            answer.install(datapath, back, packet);
        }
    }
}
