//! Packets of a controller: what their lists of actions do, and what is refused.

use support::general::{any, bench};
use support::{Bench, frame, output};
use tenuto_openflow::constants::{NO_BUFFER, port};
use tenuto_openflow::*;

use crate::support;

const TO_TABLES: Action = output(port::TABLE);

fn packet_out(actions: Vec<Action>) -> Body {
    let data = frame(1, 100);
    Body::PacketOut(PacketOut { buffer_id: NO_BUFFER, in_port: port::CONTROLLER, actions, data })
}

const fn source(last: u8) -> Action {
    Action::SetField(Oxm::EthSrc { value: [2, 0, 0, 0, 0, last], mask: None })
}

/// Port, last byte of the source, and length of what left.
fn left(bench: &mut Bench, actions: Vec<Action>) -> Vec<(u32, u8, usize)> {
    bench.install([packet_out(actions)]);
    let drained = bench.drain();
    let mut left: Vec<_> = drained.iter().map(|(port, it)| (*port, it[11], it.len())).collect();
    left.sort_unstable();
    left
}

/// A copy goes through the tables (section 5.11): what entries do to it is not done to what the
/// actions behind send.
#[test]
fn a_packet_out_goes_on_behind_the_tables() {
    let mut bench = bench();
    let changes = vec![source(7), Action::PushVlan(0x8100), output(3)];
    bench.install([Body::FlowMod(any(1, changes))]);
    assert_eq!(left(&mut bench, vec![source(5), TO_TABLES, output(4)]), [(3, 7, 104), (4, 5, 100)]);
    assert_eq!(
        left(&mut bench, vec![output(2), TO_TABLES, output(4)]),
        [(2, 9, 100), (3, 7, 104), (4, 9, 100)]
    );
    let behind = vec![TO_TABLES, source(6), output(4)];
    assert_eq!(left(&mut bench, behind), [(3, 7, 104), (4, 6, 100)]);
}

/// The entry that the copy meets drops it; the list goes on.
#[test]
fn what_tables_drop_is_still_sent_by_the_actions_behind() {
    let mut bench = bench();
    assert_eq!(left(&mut bench, vec![TO_TABLES, output(4)]), [(4, 9, 100)]);
    let expires = vec![Action::SetNwTtl(1), Action::DecNwTtl, output(3)];
    bench.install([Body::FlowMod(any(1, expires))]);
    assert_eq!(left(&mut bench, vec![TO_TABLES, output(4)]), [(4, 9, 100)]);
    assert!(bench.is_idle());
}

#[test]
fn actions_behind_the_tables_are_judged() {
    let mut bench = bench();
    bench.refused(packet_out(vec![TO_TABLES, output(99)]), BadAction::BadOutPort);
    bench.refused(packet_out(vec![TO_TABLES, Action::Group(1)]), BadAction::BadOutGroup);
    bench.refused(packet_out(vec![TO_TABLES, output(1), TO_TABLES]), BadAction::TooMany);
    assert!(bench.is_idle());
}

/// An advertisement has the address of its target only; one of the source is not there to be set.
#[test]
fn the_address_of_a_solicitation_is_not_set_in_an_advertisement() {
    let mut data = frame(1, 100)[..12].to_vec();
    data.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 58, 255]);
    data.extend([0xfe; 32]);
    data.extend([136, 0, 0, 0, 0, 0, 0, 0]);
    data.extend([0xfe; 16]);
    data.extend([2, 1, 1, 1, 1, 1, 1, 1]);
    let option = |oxm| {
        let mut bench = bench();
        let actions = vec![Action::SetField(oxm), output(2)];
        let in_port = port::CONTROLLER;
        let data = data.clone();
        bench.install([Body::PacketOut(PacketOut {
            buffer_id: NO_BUFFER,
            in_port,
            actions,
            data,
        })]);
        bench.drain()[0].1[78..].to_vec()
    };
    assert_eq!(option(Oxm::Ipv6NdSll([7; 6])), [2, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(option(Oxm::Ipv6NdTll([7; 6])), [2, 1, 7, 7, 7, 7, 7, 7]);
}

/// An IPv4 packet with 9 for a time to live in one of either version with 30.
fn tunnelled(v6: bool) -> Vec<u8> {
    let mut bytes = frame(1, 100)[..12].to_vec();
    match v6 {
        true => {
            bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 28, 4, 30]);
            bytes.extend([0xfe; 32]);
        }
        false => {
            bytes.extend([8, 0, 0x45, 0, 0, 48, 0, 0, 0, 0, 30, 4, 0x48, 0xcd]);
            bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        }
    }
    bytes.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 9, 17, 0x5d, 0xd4, 10, 0, 0, 3, 10, 0, 0, 4]);
    bytes.extend([0; 8]);
    bytes
}

/// From IP header to IP header as well (section 5.11, table 6), with the checksum of IPv4.
#[test]
fn times_to_live_are_copied_between_ip_headers() {
    let changed = |v6, action| {
        let mut bench = bench();
        let (in_port, data) = (port::CONTROLLER, tunnelled(v6));
        let actions = vec![action, output(2)];
        bench.install([Body::PacketOut(PacketOut {
            buffer_id: NO_BUFFER,
            in_port,
            actions,
            data,
        })]);
        let (_, left) = bench.drain().remove(0);
        let differ = tunnelled(v6).into_iter().zip(left).enumerate();
        differ.filter(|(_, (was, is))| was != is).map(|(at, (_, is))| (at, is)).collect::<Vec<_>>()
    };
    assert_eq!(changed(false, Action::CopyTtlIn), [(42, 30), (44, 0x48)]);
    assert_eq!(changed(false, Action::CopyTtlOut), [(22, 9), (24, 0x5d)]);
    assert_eq!(changed(true, Action::CopyTtlIn), [(62, 30), (64, 0x48)]);
    assert_eq!(changed(true, Action::CopyTtlOut), [(21, 9)]);
}
