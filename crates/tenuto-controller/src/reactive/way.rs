//! Ways through a network, and their entries.

use super::answer::Answer;
use super::entry::{entry, output};
use super::packet::Packet;
use tenuto_openflow::{FlowMod, Match};

/// A switch on a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hop {
    /// The switch.
    pub datapath: u64,
    /// The port by which the way leaves it.
    pub port: u32,
}

/// The rest of a way from a switch on.
pub(super) fn rest_from(hops: &[Hop], datapath: u64) -> Option<&[Hop]> {
    let place = hops.iter().position(|hop| hop.datapath == datapath)?;
    Some(&hops[place..])
}

/// A flow-mod to every switch of a way; that of the first switch takes the packet along.
pub(super) fn install(hops: &[Hop], way: &FlowMod, packet: &Packet<'_>, answer: &mut Answer) {
    for (place, hop) in hops.iter().enumerate() {
        let instructions = entry(Match::ANY, vec![output(hop.port)]).instructions;
        let way = FlowMod { instructions, ..way.clone() };
        match place {
            0 => answer.install(hop.datapath, way, packet),
            _ => answer.flow_mod(hop.datapath, way),
        }
    }
    for pair in hops.windows(2) {
        answer.lead(pair[0].datapath, pair[0].port, pair[1].datapath);
    }
}
