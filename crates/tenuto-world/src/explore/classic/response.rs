//! Networks of the traffic engineering: a client, two servers, an always-on way and one on demand.

use super::apps::{Map, Place};
use super::packet::{Ip, Mac};
use super::setup::{HostSetup, Loads, Peer, Role, Setup, SwitchSetup};
use super::transition::Strategy;

const CLIENT: Ip = Ip(11);
const SERVERS: [Ip; 2] = [Ip(13), Ip(14)];
/// Ports of the client's and the servers' switch: the line on demand, the line always on.
const ON_DEMAND: u8 = 1;
const ALWAYS_ON: u8 = 2;

/// A client at the first switch, two servers at the last. The always-on way crosses `direct` switches
/// between them, the on-demand way `around`; the client opens so many connections.
///
/// With 0 and 1 these are the field's three switches.
pub fn response(direct: u8, around: u8, connections: u8) -> (Setup, Map) {
    let between = direct + around;
    let (client, server) = (3_u8, 4_u8);
    let node = |between: u8| 5 + between;
    let chain = |ids: Vec<u8>, port: u8| Chain { ids, port };
    let chains =
        [chain((0..around).collect(), ON_DEMAND), chain((around..between).collect(), ALWAYS_ON)];
    let mut switches = vec![
        SwitchSetup { name: "client's".into(), peers: vec![None; 4] },
        SwitchSetup { name: "servers'".into(), peers: vec![None; 5] },
    ];
    for at in 0..between {
        switches.push(SwitchSetup { name: format!("middle {}", at + 1), peers: vec![None; 3] });
    }
    for chain in &chains {
        chain.connect(&mut switches, client, server, node);
    }
    switches[0].peers[3] = Some(Peer { node: 0, port: 0 });
    switches[1].peers[3] = Some(Peer { node: 1, port: 0 });
    switches[1].peers[4] = Some(Peer { node: 2, port: 0 });
    let role = Role::Client { servers: SERVERS.to_vec(), connections };
    let hosts = vec![
        host("client", 0, role, Peer { node: client, port: 3 }),
        host(
            "first server",
            1,
            Role::Server { has_statistics: true },
            Peer { node: server, port: 3 },
        ),
        host(
            "second server",
            2,
            Role::Server { has_statistics: false },
            Peer { node: server, port: 4 },
        ),
    ];
    let map = map(&hosts, &chains, usize::from(between));
    let setup = Setup {
        loads: Loads::Found,
        strategy: Strategy::InstantStatistics,
        ..Setup::new(hosts, switches)
    };
    (setup, map)
}

/// Switches between the client's and the servers', and the port that leads to them at both.
struct Chain {
    ids: Vec<u8>,
    port: u8,
}

impl Chain {
    /// Port 1 of a switch in between leads to the client, port 2 to the servers.
    fn connect(
        &self,
        switches: &mut [SwitchSetup],
        client: u8,
        server: u8,
        node: impl Fn(u8) -> u8,
    ) {
        let ends = [Peer { node: client, port: self.port }, Peer { node: server, port: self.port }];
        let mut left = ends[0];
        for id in &self.ids {
            let here = Peer { node: node(*id), port: 1 };
            join(switches, left, here);
            left = Peer { port: 2, ..here };
        }
        join(switches, left, ends[1]);
    }
}

fn join(switches: &mut [SwitchSetup], a: Peer, b: Peer) {
    for (at, peer) in [(a, b), (b, a)] {
        switches[usize::from(at.node) - 3].peers[usize::from(at.port)] = Some(peer);
    }
}

fn host(name: &str, number: u8, role: Role, at: Peer) -> HostSetup {
    let ip = if number == 0 { CLIENT } else { SERVERS[usize::from(number) - 1] };
    HostSetup { name: name.into(), mac: Mac(number + 1), ip, role, at }
}

fn map(hosts: &[HostSetup], chains: &[Chain; 2], between: usize) -> Map {
    let places = hosts.iter().enumerate().map(|(number, host)| {
        let ports = |line: u8| -> Vec<u8> {
            let at_ends = if number == 0 { [3, line] } else { [line, 2 + number_of(number)] };
            let middle = if number == 0 { 1 } else { 2 };
            at_ends.into_iter().chain(std::iter::repeat_n(middle, between)).collect()
        };
        Place {
            mac: host.mac,
            ip: host.ip,
            always_on: ports(ALWAYS_ON),
            on_demand: ports(ON_DEMAND),
        }
    });
    let ways = |chain: &Chain| {
        let middle = chain.ids.iter().map(|id| 2 + usize::from(*id));
        let there: Vec<usize> = [0].into_iter().chain(middle).chain([1]).collect();
        let back: Vec<usize> = there.iter().rev().copied().collect();
        let local = vec![1];
        vec![
            vec![vec![], there.clone(), there],
            vec![back.clone(), vec![], local.clone()],
            vec![back, local, vec![]],
        ]
    };
    Map { hosts: places.collect(), always_on: ways(&chains[1]), on_demand: ways(&chains[0]) }
}

fn number_of(host: usize) -> u8 {
    u8::try_from(host).unwrap_or(u8::MAX)
}
