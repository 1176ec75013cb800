//! What properties remember of the past; nothing that no property asks for is kept.

use super::messages::Flow;
use super::packets::PacketName;
use std::collections::{BTreeMap, BTreeSet};

/// What has happened, as far as a property looks at it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct History {
    /// `no-loops`: switches and ports at which a packet was.
    pub(super) visited: BTreeSet<(PacketName, usize, u32)>,
    /// `no-loops`: packets that a link has doubled; they are let be.
    pub(super) doubled: BTreeSet<PacketName>,
    /// `no-black-holes`: packets that have to arrive.
    pub(super) due: Vec<PacketName>,
    /// `no-black-holes`: pairs of hosts of which the first has heard where the second is now.
    pub(super) heard: BTreeSet<(u16, u16)>,
    /// `direct-paths`: the switch that asked first.
    pub(super) asked: BTreeMap<Flow, usize>,
    /// `strict-direct-paths`: pairs of hosts between which a packet has arrived.
    pub(super) reached: BTreeSet<(u16, u16)>,
    /// `strict-direct-paths`: packets that were sent after both directions had been received.
    pub(super) strict: BTreeSet<PacketName>,
    /// `no-forgotten-packets`: whether the controller has started anew, which forgets packets.
    pub(super) is_excused: bool,
}

impl History {
    /// A packet that had to arrive did; of several equal ones, one.
    pub(super) fn arrived(&mut self, name: PacketName) {
        if let Some(place) = self.due.iter().position(|due| *due == name) {
            self.due.remove(place);
        }
    }

    /// A packet has to arrive. Kept in order, so that states with the same packets are one.
    pub(super) fn demand(&mut self, name: PacketName) {
        let place = self.due.partition_point(|due| *due <= name);
        self.due.insert(place, name);
    }
}
