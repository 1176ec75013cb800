//! A load balancer: each new client goes to the next replica of a service and stays there.

use super::answer::Answer;
use super::app::ReactiveApp;
use super::conversation::Conversation;
use super::entry::{deletion, entry, is_gone, output};
use super::packet::Packet;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_openflow::constants::flow_flag;
use tenuto_openflow::{Action, FlowMod, FlowRemoved, Match, Oxm, Port, PortStatus};

/// A server of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Replica {
    /// Its address.
    pub address: [u8; 6],
    /// The port of the switch that leads to it.
    pub port: u32,
}

/// One service at one switch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoadBalancer {
    service: [u8; 6],
    replicas: Vec<Replica>,
    /// Ports that are down.
    down: BTreeSet<u32>,
    next: usize,
    affinity: Option<Affinity>,
}

/// Which flow is at which replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Affinity {
    flows: BTreeMap<Conversation, Assigned>,
    flows_max: usize,
    idle_s: u16,
    cookie_last: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Assigned {
    replica: Replica,
    cookie: u64,
}

impl LoadBalancer {
    /// Packets to the address `service` go to the replicas in turn. Each packet-in gets the next replica:
    /// one packet-in for one flow is what Attendre makes true.
    pub const fn new(service: [u8; 6], replicas: Vec<Replica>) -> Self {
        Self { service, replicas, down: BTreeSet::new(), next: 0, affinity: None }
    }

    /// A flow stays with its replica however often it is asked about, as long as the replica is up and
    /// the flow is not silent for `idle_s`; replies come from the address of the service. Flows beyond
    /// `flows_max` are dropped.
    #[must_use]
    pub fn with_affinity(self, flows_max: usize, idle_s: u16) -> Self {
        let (flows, cookie_last) = (BTreeMap::new(), 0);
        Self { affinity: Some(Affinity { flows, flows_max, idle_s, cookie_last }), ..self }
    }

    /// The next replica that is up.
    fn turn(&mut self) -> Option<Replica> {
        for _ in 0..self.replicas.len() {
            let replica = self.replicas[self.next % self.replicas.len()];
            self.next = (self.next + 1) % self.replicas.len();
            if !self.down.contains(&replica.port) {
                return Some(replica);
            }
        }
        None
    }

    fn assigned(&mut self, flow: Conversation) -> Option<Assigned> {
        let known = self.affinity.as_ref().map(|it| (it.flows.get(&flow), it.flows.len()));
        match known {
            Some((Some(assigned), _)) => return Some(*assigned),
            Some((None, count)) if count >= self.affinity.as_ref()?.flows_max => return None,
            _ => {}
        }
        let replica = self.turn()?;
        let Some(affinity) = &mut self.affinity else {
            return Some(Assigned { replica, cookie: 0 });
        };
        affinity.cookie_last += 1;
        let assigned = Assigned { replica, cookie: affinity.cookie_last };
        affinity.flows.insert(flow, assigned);
        Some(assigned)
    }

    fn balance(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        let flow = Conversation::of(packet);
        let Some(Assigned { replica, cookie }) = self.assigned(flow) else { return };
        let address = Oxm::EthDst { value: replica.address, mask: None };
        let actions = vec![Action::SetField(address), output(replica.port)];
        let Some(affinity) = &self.affinity else {
            return answer.install(datapath, entry(packet.addresses(), actions), packet);
        };
        let service = Oxm::EthSrc { value: self.service, mask: None };
        let back = vec![Action::SetField(service), output(packet.in_port)];
        let replies = Match::from(
            [Oxm::InPort(replica.port)]
                .into_iter()
                .chain(replies(flow, replica).oxms)
                .collect::<Vec<_>>(),
        );
        answer.flow_mod(datapath, FlowMod { cookie, ..entry(replies, back) });
        let flags = if affinity.idle_s > 0 { flow_flag::SEND_FLOW_REM } else { 0 };
        let mut match_ = Match::from(vec![Oxm::InPort(packet.in_port)]);
        match_.oxms.extend(to_service(flow, self.service).oxms);
        let way =
            FlowMod { cookie, flags, idle_timeout: affinity.idle_s, ..entry(match_, actions) };
        answer.install(datapath, way, packet);
    }
}

/// Packets of the flow that are for the service: the flow may reach other stations, too.
fn to_service(flow: Conversation, service: [u8; 6]) -> Match {
    let mut match_ = flow.matching();
    if matches!(flow, Conversation::Flow(_)) {
        match_.oxms.push(Oxm::EthDst { value: service, mask: None });
    }
    match_
}

/// Packets with which a replica answers a flow.
fn replies(flow: Conversation, replica: Replica) -> Match {
    match flow.reversed() {
        Conversation::Stations { dst, eth_type, protocol, .. } => {
            Conversation::Stations { src: replica.address, dst, eth_type, protocol }.matching()
        }
        flow @ Conversation::Flow(_) => flow.matching(),
    }
}

impl ReactiveApp for LoadBalancer {
    fn switch_up(&mut self, _: u64, ports: &[Port], _: &mut Answer) {
        let modified = |port: &&Port| {
            is_gone(&PortStatus { reason: tenuto_openflow::PortReason::Modify, port: **port })
        };
        self.down = ports.iter().filter(modified).map(|port| port.port_no).collect();
        if let Some(affinity) = &mut self.affinity {
            affinity.flows.clear();
        }
    }

    /// A replica behind a port that is gone gets no flow; its flows go to others.
    fn port_status(&mut self, datapath: u64, status: &PortStatus, answer: &mut Answer) {
        let port = status.port.port_no;
        if !is_gone(status) {
            self.down.remove(&port);
        } else if self.replicas.iter().any(|replica| replica.port == port) {
            self.down.insert(port);
            answer.flow_mod(datapath, deletion(Match::ANY, Some(port)));
            if let Some(affinity) = &mut self.affinity {
                affinity.flows.retain(|_, assigned| assigned.replica.port != port);
            }
        }
    }

    /// An entry for the flow of a client, and one for what the replica answers.
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        if packet.dst == self.service {
            self.balance(datapath, packet, answer);
        }
    }

    /// A silent flow is forgotten.
    fn flow_removed(&mut self, datapath: u64, removed: &FlowRemoved, answer: &mut Answer) {
        let Some(affinity) = &mut self.affinity else { return };
        let before = affinity.flows.len();
        affinity.flows.retain(|_, assigned| assigned.cookie != removed.cookie);
        if affinity.flows.len() < before {
            let (cookie, cookie_mask) = (removed.cookie, u64::MAX);
            let back = FlowMod { cookie, cookie_mask, ..deletion(Match::ANY, None) };
            answer.flow_mod(datapath, back);
        }
    }
}
