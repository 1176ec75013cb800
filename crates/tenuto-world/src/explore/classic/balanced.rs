//! The network of the load balancer: a client, two replicas, one switch.

use super::apps::{CLIENT_PORT, LoadBalancer, Replica, VIRTUAL_IP};
use super::packet::{Ip, Mac};
use super::setup::{HostSetup, Peer, Role, Setup, SwitchSetup};

const SWITCH: u8 = 3;

/// A client that opens so many connections to the virtual address; the policy may change at any moment.
pub fn balanced(connections: u8) -> (Setup, LoadBalancer) {
    let replicas = [0_u8, 1].map(|at| Replica { mac: Mac(2 + at), ip: Ip(21 + at), port: at });
    let client = Role::Client { servers: vec![VIRTUAL_IP], connections };
    let mut hosts = vec![host("client", Mac(1), Ip(1), client, CLIENT_PORT)];
    let names = ["first replica", "second replica"];
    hosts.extend(replicas.iter().zip(names).map(|(it, name)| {
        host(name, it.mac, it.ip, Role::Server { has_statistics: false }, it.port)
    }));
    let peers = [1_u8, 2, 0].map(|node| Some(Peer { node, port: 0 })).to_vec();
    let switch = SwitchSetup { name: "s1".into(), peers };
    let setup = Setup { callbacks: vec![0], ..Setup::new(hosts, vec![switch]) };
    (setup, LoadBalancer::new(replicas))
}

fn host(name: &str, mac: Mac, ip: Ip, role: Role, port: u8) -> HostSetup {
    HostSetup { name: name.into(), mac, ip, role, at: Peer { node: SWITCH, port } }
}
