//! Networks to explore: lines of switches with a host at each end.

use super::packet::{Ip, Mac};
use super::setup::{HostSetup, Peer, Role, Setup, Spare, SwitchSetup};

/// The MAC address of the first host of a line.
pub const FIRST_MAC: Mac = Mac(1);
/// The MAC address of the last host of a line.
pub const LAST_MAC: Mac = Mac(2);

/// A sender, so many switches, a replier, who may move to a spare port.
pub fn line(switches: u8, packets: u8, may_move: bool) -> Setup {
    let sender = Role::Sender { to: LAST_MAC, packets, is_sequential: false };
    let first = host("h1", FIRST_MAC, sender, Peer { node: 2, port: 0 });
    let last = Peer { node: 1 + switches, port: 1 };
    let second = host("h2", LAST_MAC, Role::Replier { may_move }, last);
    let switches = (0..switches).map(|at| {
        let before =
            if at == 0 { Peer { node: 0, port: 0 } } else { Peer { node: 1 + at, port: 1 } };
        let is_last = at + 1 == switches;
        let behind =
            if is_last { Peer { node: 1, port: 0 } } else { Peer { node: 3 + at, port: 0 } };
        let mut peers = vec![Some(before), Some(behind)];
        if is_last {
            peers.push(None);
        }
        SwitchSetup { name: format!("s{}", at + 1), peers }
    });
    let spare = may_move.then_some(Spare { host: 1, port: 2 });
    Setup { spare, ..Setup::new(vec![first, second], switches.collect()) }
}

fn host(name: &str, mac: Mac, role: Role, at: Peer) -> HostSetup {
    HostSetup { name: name.into(), mac, ip: Ip(mac.0), role, at }
}
