//! A load balancer: each new client goes to the next replica of a service and stays there.

use super::answer::Answer;
use super::app::ReactiveApp;
use super::entry::{entry, output};
use super::packet::Packet;
use tenuto_openflow::{Action, Oxm};

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
    next: usize,
}

impl LoadBalancer {
    /// Packets to the address `service` go to the replicas in turn.
    pub const fn new(service: [u8; 6], replicas: Vec<Replica>) -> Self {
        Self { service, replicas, next: 0 }
    }
}

impl ReactiveApp for LoadBalancer {
    /// A client that asks again gets the next replica: the application takes one packet-in for one flow, and
    /// that is what Attendre makes true.
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        if packet.dst != self.service || self.replicas.is_empty() {
            return;
        }
        let replica = self.replicas[self.next % self.replicas.len()];
        self.next = (self.next + 1) % self.replicas.len();
        let address = Oxm::EthDst { value: replica.address, mask: None };
        let actions = vec![Action::SetField(address), output(replica.port)];
        answer.install(datapath, entry(packet.addresses(), actions), packet);
    }
}
