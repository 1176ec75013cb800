//! Hosts: senders, repliers, TCP clients and servers.

use super::key::{Keyed, Mixer};
use super::node::Queue;
use super::packet::{Ip, Mac};
use super::setup::Role;
use super::transition::Enabled;

/// How far a client's connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    Closed,
    SynSent,
    Open,
    AwaitsAddress,
}

/// The state of a host.
#[derive(Clone, Debug)]
pub(super) struct Host {
    /// What it can do.
    pub(super) enabled: Vec<Enabled>,
    /// What waits at its port.
    pub(super) queue: Queue,
    pub(super) received: u8,
    pub(super) made: u8,
    pub(super) next: u8,
    pub(super) may_move: bool,
    pub(super) addresses: Vec<(Mac, Ip)>,
    /// A client's, by number.
    pub(super) connections: Vec<Connection>,
    pub(super) started: u8,
    pub(super) target: u8,
}

impl Host {
    /// At the start.
    pub(super) fn new(role: &Role) -> Self {
        let (enabled, may_move, started) = match role {
            Role::Sender { .. } => (vec![Enabled::SendPacket(1)], false, 0),
            Role::Replier { may_move } => (vec![], *may_move, 0),
            Role::Client { .. } => (vec![Enabled::StartConnection(0)], false, 1),
            Role::Server { .. } => (vec![], false, 0),
        };
        Self {
            enabled,
            queue: Queue::default(),
            received: 0,
            made: 0,
            next: 1,
            may_move,
            addresses: vec![],
            connections: vec![],
            started,
            target: 0,
        }
    }

    /// Adds its part of the key; learned addresses are omitted where the classic key omits them.
    pub(super) fn key(
        &self,
        role: &Role,
        has_queue_order: bool,
        has_learned: bool,
        mixer: &mut Mixer,
    ) {
        super::key::multiset(self.enabled.iter().copied(), mixer);
        self.queue.key(has_queue_order, mixer);
        match role {
            Role::Replier { .. } => mixer.word(self.may_move.into()),
            _ => mixer.word(u64::from(self.received)),
        }
        let states = self.connections.iter().fold(1_u64, |all, it| all << 2 | *it as u64);
        mixer.word(states);
        if has_learned {
            let words = self
                .addresses
                .iter()
                .map(|(mac, ip)| Word(u64::from(mac.0) << 8 | u64::from(ip.0)));
            super::key::multiset(words, mixer);
        }
    }

    pub(super) fn mac_of(&self, ip: Ip) -> Option<Mac> {
        self.addresses.iter().find(|(_, known)| *known == ip).map(|(mac, _)| *mac)
    }

    /// Notes who is who, as RFC 826 has it.
    pub(super) fn learn(&mut self, mac: Mac, ip: Ip, is_for_me: bool) {
        match self.addresses.iter_mut().find(|(known, _)| *known == mac) {
            Some(entry) => entry.1 = ip,
            None if is_for_me => self.addresses.push((mac, ip)),
            None => {}
        }
    }
}

#[derive(Clone, Copy)]
struct Word(u64);

impl Keyed for Word {
    fn key(&self, mixer: &mut Mixer) {
        mixer.word(self.0);
    }
}
