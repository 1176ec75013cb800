//! Route flow: entries on the whole way of a flow as soon as its first packet asks (\[Attendre\]
//! section III).

use super::answer::Answer;
use super::app::ReactiveApp;
use super::conversation::Conversation;
use super::entry::entry;
use super::packet::Packet;
use super::way::{Hop, install, rest_from};
use std::collections::BTreeMap;

/// Ways by destination, known beforehand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RouteFlow {
    ways: BTreeMap<[u8; 6], Vec<Vec<Hop>>>,
    /// Whether each conversation has entries of its own; else those of a pair of addresses share them.
    is_exact: bool,
}

impl RouteFlow {
    /// No ways yet: every packet is dropped.
    pub const fn new() -> Self {
        Self { ways: BTreeMap::new(), is_exact: false }
    }

    /// Adds a way to a destination; each is used from any switch on it.
    #[must_use]
    pub fn with_way(mut self, dst: [u8; 6], hops: Vec<Hop>) -> Self {
        self.ways.entry(dst).or_default().push(hops);
        self
    }
}

impl RouteFlow {
    /// Entries match whole conversations, such as one connection of TCP, instead of two addresses.
    #[must_use]
    pub fn with_conversations(self) -> Self {
        Self { is_exact: true, ..self }
    }
}

impl ReactiveApp for RouteFlow {
    /// A flow-mod to every switch from here on; that of this switch takes the packet along.
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        let ways = self.ways.get(&packet.dst).into_iter().flatten();
        if let Some(hops) = ways.filter_map(|hops| rest_from(hops, datapath)).next() {
            let match_ = match self.is_exact {
                true => Conversation::of(packet).matching(),
                false => packet.addresses(),
            };
            install(hops, &entry(match_, Vec::new()), packet, answer);
        }
    }
}
