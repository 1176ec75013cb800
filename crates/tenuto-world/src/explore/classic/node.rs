//! What hosts and switches have in common: a queue of packets per port.

use super::key::{Keyed, Mixer};
use super::packet::Packet;

/// Packets that wait at a port, the first first.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue(Vec<Packet>);

impl Queue {
    /// Appends a packet.
    pub(super) fn push(&mut self, packet: Packet) {
        self.0.push(packet);
    }

    /// Takes the first.
    pub(super) fn pop(&mut self) -> Option<Packet> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    /// The first.
    pub(super) fn first(&self) -> Option<&Packet> {
        self.0.first()
    }

    /// Whether none waits.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the packets, sorted by name unless the order counts: the classic key loses it.
    pub(super) fn key(&self, has_order: bool, mixer: &mut Mixer) {
        if has_order || self.0.len() < 2 {
            return self.0.as_slice().key(mixer);
        }
        let mut sorted = self.0.clone();
        sorted.sort_by_key(|packet| packet.name);
        sorted.as_slice().key(mixer);
    }
}
