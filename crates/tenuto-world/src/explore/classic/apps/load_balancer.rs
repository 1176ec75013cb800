//! A load balancer: clients of a virtual address are shared among two replicas; the policy may change
//! while connections are open.

use crate::explore::classic::{
    Action, Actions, Answers, Application, Ip, Mac, Match, Mixer, Name, PRIORITY_DEFAULT, Packet,
    PacketId, PacketIn, Payload, Prefix, Rule,
};

/// The virtual IPv4 address.
pub const VIRTUAL_IP: Ip = Ip(5);
/// The virtual MAC address.
pub const VIRTUAL_MAC: Mac = Mac(9);
/// Half of all clients.
const CLIENTS_MASK: u8 = 0x80;
/// Above the rules of a policy: packets of clients whose policy has changed are asked about.
const PRIORITY_CHANGED: u16 = PRIORITY_DEFAULT + 1;
/// Above both: clients that have a replica.
const PRIORITY_CLIENT: u16 = PRIORITY_DEFAULT + 2;

/// A replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Its MAC address.
    pub mac: Mac,
    /// Its IPv4 address.
    pub ip: Ip,
    /// Its port.
    pub port: u8,
}

/// The application, for one switch.
#[derive(Clone, Debug)]
pub struct LoadBalancer {
    replicas: [Replica; 2],
    /// Where clients without a replica are sent.
    policy: usize,
    /// Rules of the policy before, by prefix.
    installed: Vec<Prefix>,
    clients: Vec<(Ip, usize)>,
    made: u8,
}

impl LoadBalancer {
    /// The first replica has all clients.
    pub const fn new(replicas: [Replica; 2]) -> Self {
        Self { replicas, policy: 0, installed: Vec::new(), clients: Vec::new(), made: 0 }
    }

    /// Whether the policy has changed.
    pub const fn has_changed(&self) -> bool {
        self.policy > 0
    }

    /// Forgets which client has which replica, as when their connections are closed.
    pub fn forget_clients(&mut self) {
        self.clients.clear();
    }

    /// Answers for the virtual address, and discards the question.
    fn answer(&mut self, switch: usize, asked: &PacketIn, asker: Ip, answers: &mut Answers) {
        let id = PacketId { node: u8::MAX, count: self.made };
        self.made = self.made.saturating_add(1);
        let payload = Payload::Arp { is_reply: true, sender: VIRTUAL_IP, target: asker };
        let reply = Packet {
            name: Name::ArpReply,
            source: VIRTUAL_MAC,
            destination: asked.packet.source,
            payload,
            is_settled: false,
            id,
            command: None,
        };
        answers.send(switch, reply, asked.port, Actions::new(&[Action::InPort]));
        answers.packet_out(switch, asked, Actions::default());
    }

    fn to_replica(&self, number: usize) -> Actions {
        let Replica { mac, ip, port } = self.replicas[number];
        Actions::new(&[
            Action::SetDestination(mac),
            Action::SetIpDestination(ip),
            Action::Output(port),
        ])
    }

    /// A client keeps its replica; a new one gets that of the policy.
    fn balance(&mut self, switch: usize, asked: &PacketIn, client: Ip, answers: &mut Answers) {
        let known = self.clients.iter().find(|(ip, _)| *ip == client).map(|(_, replica)| *replica);
        let is_new = asked.packet.name == Name::TcpSyn;
        let replica = known.unwrap_or(if is_new { self.policy } else { 0 });
        if known.is_none() {
            self.clients.push((client, replica));
        }
        let prefix = Prefix { value: client.0 & CLIENTS_MASK, mask: CLIENTS_MASK };
        let rule = if self.has_changed() {
            let matching = Match::of_packet_at(&asked.packet, asked.port);
            Rule { priority: PRIORITY_CLIENT, ..Rule::new(matching, self.to_replica(replica)) }
        } else {
            self.installed.push(prefix);
            Rule::new(clients_of(prefix), self.to_replica(replica))
        };
        answers.add_and_release(switch, rule, asked);
    }

    /// Packets of replicas come from the virtual address.
    fn back(switch: usize, asked: &PacketIn, client_port: u8, answers: &mut Answers) {
        let matching = Match::of_packet_at(&asked.packet, asked.port);
        let actions = Actions::new(&[
            Action::SetSource(VIRTUAL_MAC),
            Action::SetIpSource(VIRTUAL_IP),
            Action::Output(client_port),
        ]);
        answers.add_and_release(switch, Rule::new(matching, actions), asked);
    }
}

/// What clients of a prefix send to the virtual address.
fn clients_of(prefix: Prefix) -> Match {
    Match { ip_source: Some(prefix), ip_destination: Some(VIRTUAL_IP), ..Match::default() }
}

/// The port that clients hang at.
pub const CLIENT_PORT: u8 = 2;

impl Application for LoadBalancer {
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers) {
        match asked.packet.payload {
            Payload::Arp { is_reply: false, sender, target } if target == VIRTUAL_IP => {
                self.answer(switch, asked, sender, answers);
            }
            Payload::Tcp { source, destination, .. } if destination == VIRTUAL_IP => {
                self.balance(switch, asked, source, answers);
            }
            Payload::Tcp { .. } => Self::back(switch, asked, CLIENT_PORT, answers),
            _ => answers.packet_out(switch, asked, Actions::default()),
        }
    }

    /// New clients go to the other replica. What is sent by the old rules is asked about first, so that
    /// no packet finds no rule.
    fn callback(&mut self, _number: u8, answers: &mut Answers) {
        self.policy = 1;
        for prefix in &self.installed {
            let asks = Rule::new(clients_of(*prefix), Actions::new(&[Action::Controller]));
            answers.add(0, Rule { priority: PRIORITY_CHANGED, ..asks });
        }
        for prefix in std::mem::take(&mut self.installed) {
            answers.delete_of_priority(0, clients_of(prefix), PRIORITY_DEFAULT);
        }
    }

    fn key(&self, _has_learned: bool, mixer: &mut Mixer) {
        mixer.word(self.policy as u64 | (self.installed.len() as u64) << 8);
        for (ip, replica) in &self.clients {
            mixer.word(u64::from(ip.0) | (*replica as u64) << 8);
        }
    }
}
