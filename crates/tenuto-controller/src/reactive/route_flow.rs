//! Route flow: entries on the whole way of a flow as soon as its first packet asks (\[Attendre\]
//! section III).

use super::answer::Answer;
use super::app::ReactiveApp;
use super::entry::{entry, output};
use super::packet::Packet;
use std::collections::BTreeMap;

/// A switch on a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// The switch.
    pub datapath: u64,
    /// The port by which the way leaves it.
    pub port: u32,
}

/// Ways by destination, known beforehand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RouteFlow {
    ways: BTreeMap<[u8; 6], Vec<Vec<Hop>>>,
}

impl RouteFlow {
    /// No ways yet: every packet is dropped.
    pub const fn new() -> Self {
        Self { ways: BTreeMap::new() }
    }

    /// Adds a way to a destination; each is used from any switch on it.
    #[must_use]
    pub fn with_way(mut self, dst: [u8; 6], hops: Vec<Hop>) -> Self {
        self.ways.entry(dst).or_default().push(hops);
        self
    }

    fn from(&self, datapath: u64, dst: [u8; 6]) -> Option<&[Hop]> {
        self.ways.get(&dst)?.iter().find_map(|hops| {
            let place = hops.iter().position(|hop| hop.datapath == datapath)?;
            Some(&hops[place..])
        })
    }
}

impl ReactiveApp for RouteFlow {
    /// A flow-mod to every switch from here on; that of this switch takes the packet along.
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        let Some(hops) = self.from(datapath, packet.dst) else { return };
        for hop in hops {
            let flow_mod = entry(packet.addresses(), vec![output(hop.port)]);
            match hop.datapath == datapath {
                true => answer.install(datapath, flow_mod, packet),
                false => answer.flow_mod(hop.datapath, flow_mod),
            }
        }
        for way in hops.windows(2) {
            answer.lead(way[0].datapath, way[0].port, way[1].datapath);
        }
    }
}
