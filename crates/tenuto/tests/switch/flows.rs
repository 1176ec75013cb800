//! What entries do to frames, and when.

use crate::lab::{Hosts, Switch, in_lab};
use crate::peer::{CONTROLLER, Peer, flow, listen, out, to_controller};
use std::time::Instant;
use tenuto_io::{Interest, MonotonicClock, PollSet, Port, PortKind, probe_port};
use tenuto_openflow::constants::{group, table};
use tenuto_openflow::{
    Action, Body, Bucket, ErrorCode, FlowMod, FlowModCommand, FlowModFailed, GroupMod,
    GroupModCommand, GroupModFailed, GroupType, MeterBand, MeterMod, MeterModCommand,
    MeterModFailed, Oxm,
};
use tenuto_units::Span;

/// Barriers of the test.
const BARRIERS: u32 = 3_000;
/// `eth_type` of the frames that are judged, and of those that keep the switch busy.
const JUDGED: u16 = 0x88b5;
const LOAD: u16 = 0x88b6;

fn frame(eth_type: u16, number: u32) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&eth_type.to_be_bytes());
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

/// Numbers of the judged frames that came.
fn judged(port: &mut impl Port, into: &mut Vec<u32>) {
    loop {
        let mut sink = |_, bytes: &[u8]| {
            if bytes[12..14] == JUDGED.to_be_bytes() {
                into.push(u32::from_be_bytes(*bytes[14..].first_chunk().expect("60 bytes")));
            }
        };
        if port.receive(64, &mut sink).expect("it is there") == 0 {
            return;
        }
    }
}

/// Thousands of changes of one entry: the frame sent at once after each barrier reply goes by the
/// new entry, while another port is flooded.
#[test]
fn a_barrier_reply_means_in_effect() {
    in_lab("flows::a_barrier_reply_means_in_effect", || barriers(&[]));
}

/// The same where other threads receive and send.
#[test]
fn a_barrier_reply_means_in_effect_for_every_thread() {
    in_lab("flows::a_barrier_reply_means_in_effect_for_every_thread", || {
        barriers(&["--io-threads", "2"]);
    });
}

fn barriers(threads: &[&str]) {
    let hosts = Hosts::new(4);
    let listener = listen();
    let switch = Switch::start(4, &[&["--controller", CONTROLLER], threads].concat());
    let mut peer = Peer::accept(&listener);
    let (mut sender, mut load) = (hosts.port(1), hosts.port(4));
    let mut receivers = [hosts.port(2), hosts.port(3)];
    let mut came = [Vec::new(), Vec::new()];
    peer.add(1, vec![Oxm::EthType(LOAD)], vec![out(2)]);
    let mut poll = PollSet::new();
    for port in &receivers {
        poll.add(port.poll_fd().expect("pollable"), Interest::Read);
    }
    let began = Instant::now();
    let mut loaded = 0_u64;
    for number in 0..BARRIERS {
        let port = 2 + number % 2;
        let matching = vec![Oxm::InPort(1), Oxm::EthType(JUDGED)];
        peer.send(flow(FlowModCommand::Add, 10, matching, vec![out(port)]));
        for extra in 0..8 {
            assert!(load.send(&frame(LOAD, extra)).expect("it fits"));
        }
        loaded += load.flush().expect("it is there").sent as u64;
        peer.barrier();
        assert!(sender.send(&frame(JUDGED, number)).expect("it fits"));
        assert_eq!(sender.flush().expect("it is there").sent, 1);
        // The next change waits until the frame is out: it might else overtake the frame on its
        // way into the switch, which no barrier forbids.
        let until = MonotonicClock::now() + Span::from_s(10);
        loop {
            receivers.iter_mut().zip(&mut came).for_each(|(port, into)| judged(port, into));
            let is_out = came.iter().map(Vec::len).sum::<usize>() > number as usize;
            if is_out || poll.wait(Some(until)).expect("poll") == 0 {
                break;
            }
        }
    }
    let took = began.elapsed();
    println!("    {BARRIERS} barriers in {took:?}, {loaded} frames of load");
    let expected = |rest: u32| (0..BARRIERS).filter(|n| n % 2 == rest).collect::<Vec<u32>>();
    assert!(came[0] == expected(0), "port 2: {} frames, or not the right", came[0].len());
    assert!(came[1] == expected(1), "port 3: {} frames, or not the right", came[1].len());
    switch.stop();
}

fn refused(peer: &mut Peer, body: Body) -> ErrorCode {
    let xid = peer.send(body);
    let message = peer.wait(|body| matches!(body, Body::Error(_)));
    assert_eq!(message.xid, xid);
    let Body::Error(error) = message.body else { unreachable!("waited for it") };
    error.error().expect("a code of the specification")
}

#[test]
fn masks_and_actions_are_as_many_as_it_is_told() {
    in_lab("flows::masks_and_actions_are_as_many_as_it_is_told", || {
        let _hosts = Hosts::new(2);
        let switch = Switch::start(2, &["--masks", "2", "--actions", "4"]);
        let mut peer = Peer::connect();
        let entry =
            |matching, outputs| flow(FlowModCommand::Add, 5, matching, vec![out(2); outputs]);
        let full = FlowModFailed::TableFull.into();
        peer.send(entry(vec![], 1));
        peer.send(entry(vec![Oxm::EthType(0x800)], 1));
        assert_eq!(refused(&mut peer, entry(vec![Oxm::InPort(1)], 1)), full);
        assert_eq!(refused(&mut peer, entry(vec![Oxm::EthType(0x806)], 3)), full);
        peer.send(entry(vec![Oxm::EthType(0x806)], 2));
        peer.barrier();
        assert_eq!(peer.heard, []);
        switch.stop();
    });
}

#[test]
fn what_is_full_says_so_and_goes_on() {
    in_lab("flows::what_is_full_says_so_and_goes_on", || {
        let hosts = Hosts::new(2);
        let switch = Switch::start(2, &["--entries", "100"]);
        let mut peer = Peer::connect();
        let entry = |port: u16| {
            let matching =
                vec![Oxm::EthType(0x800), Oxm::IpProto(6), Oxm::TcpDst { value: port, mask: None }];
            flow(FlowModCommand::Add, 5, matching, vec![out(2)])
        };
        for port in 0..100 {
            peer.send(entry(port));
        }
        peer.barrier();
        assert_eq!(peer.heard, []);
        assert_eq!(refused(&mut peer, entry(100)), FlowModFailed::TableFull.into());
        // What is there can be changed, and what is deleted makes room.
        peer.send(entry(7));
        peer.send(Body::FlowMod(FlowMod::new(FlowModCommand::Delete, table::ALL)));
        peer.send(entry(100));
        crate::peer::join_two(&mut peer);
        assert_eq!(peer.heard, []);
        assert_eq!(hosts.ping(1, 2, 3).0, 3);

        let meter = |meter_id| {
            Body::MeterMod(MeterMod {
                command: MeterModCommand::Add,
                flags: 1,
                meter_id,
                bands: vec![MeterBand::Drop { rate: 1, burst_size: 0 }],
            })
        };
        assert_eq!(refused(&mut peer, meter(4_097)), MeterModFailed::OutOfMeters.into());
        let group = |group_id| {
            Body::GroupMod(GroupMod {
                command: GroupModCommand::Add,
                type_: GroupType::All,
                group_id,
                buckets: Vec::new(),
            })
        };
        for id in 0..1_024 {
            peer.send(group(id));
        }
        peer.barrier();
        assert_eq!(refused(&mut peer, group(1_024)), GroupModFailed::OutOfGroups.into());
        let to_nowhere = flow(FlowModCommand::Add, 1, Vec::new(), vec![Action::SetQueue(9)]);
        peer.send(to_nowhere);
        peer.barrier();
        switch.stop();
    });
}

/// A link that goes down is told, and what watches it goes elsewhere.
#[test]
fn links_that_go_down_are_told() {
    in_lab("flows::links_that_go_down_are_told", || {
        let hosts = Hosts::new(2);
        let listener = listen();
        let mut switch = Switch::start(2, &["--controller", CONTROLLER]);
        let mut peer = Peer::accept(&listener);
        peer.barrier();
        for (is_up, said) in [(false, "link s2 is down"), (true, "link s2 is up")] {
            hosts.set_link(2, is_up);
            switch.wait_for(said);
            let message = peer.wait(|body| matches!(body, Body::PortStatus(_)));
            let Body::PortStatus(status) = message.body else { unreachable!("waited for it") };
            assert_eq!((status.port.port_no, status.port.state & 1 == 0), (2, is_up));
        }
        switch.stop();
    });
}

/// The frame that a dead link refuses is the last that goes there: the kernel itself tells of a lost
/// carrier up to a second later.
#[test]
fn a_fast_failover_costs_one_frame() {
    in_lab("flows::a_fast_failover_costs_one_frame", || {
        let hosts = Hosts::new(3);
        let listener = listen();
        let switch = Switch::start(3, &["--controller", CONTROLLER]);
        let mut peer = Peer::accept(&listener);
        let bucket = |port| Bucket {
            weight: 0,
            watch_port: port,
            watch_group: group::ANY,
            actions: vec![out(port)],
        };
        peer.send(Body::GroupMod(GroupMod {
            command: GroupModCommand::Add,
            type_: GroupType::FastFailover,
            group_id: 1,
            buckets: vec![bucket(2), bucket(3)],
        }));
        peer.add(5, vec![Oxm::EthType(JUDGED)], vec![Action::Group(1), to_controller()]);
        peer.barrier();
        let (mut from, mut spare) = (hosts.port(1), hosts.port(3));
        let mut poll = PollSet::new();
        poll.add(spare.poll_fd().expect("pollable"), Interest::Read);
        for _ in 0..3 {
            let mut came = Vec::new();
            hosts.set_link(2, false);
            for number in 0..20 {
                from.transmit(&[&frame(JUDGED, number)]).expect("it is there");
                // Its copy is written when all else has been done with it.
                peer.wait(|body| matches!(body, Body::PacketIn(_)));
            }
            let until = MonotonicClock::now() + Span::from_s(10);
            loop {
                judged(&mut spare, &mut came);
                if came.len() >= 19 || poll.wait(Some(until)).expect("poll") == 0 {
                    break;
                }
            }
            assert!(came.len() >= 19, "these came by the other port: {came:?}");
            hosts.set_link(2, true);
            let is_up =
                |body: &Body| matches!(body, Body::PortStatus(it) if it.port.state & 1 == 0);
            peer.wait(is_up);
        }
        switch.stop();
    });
}

/// An interface that is removed takes its port along, and one of its name puts it back.
#[test]
fn a_port_comes_back_with_its_interface() {
    in_lab("flows::a_port_comes_back_with_its_interface", || comes_back("0"));
}

/// The same where another thread serves the devices of all ports.
#[test]
fn a_port_of_a_thread_comes_back_with_its_interface() {
    in_lab("flows::a_port_of_a_thread_comes_back_with_its_interface", || comes_back("1"));
}

fn comes_back(io_threads: &str) {
    let mut hosts = Hosts::new(2);
    let listener = listen();
    let mut switch = Switch::start(2, &["--controller", CONTROLLER, "--io-threads", io_threads]);
    let mut peer = Peer::accept(&listener);
    crate::peer::join_two(&mut peer);
    for _ in 0..3 {
        assert_eq!(hosts.ping(1, 2, 3).0, 3);
        hosts.replace(2);
        switch.wait_for("port s2 is lost");
        switch.wait_for("port s2 is back");
        switch.wait_for("link s2 is up");
    }
    assert_eq!(hosts.ping(1, 2, 3).0, 3);
    switch.stop();
}

/// An interface that is back and refuses to be opened is told once for each reason, tried again, and in
/// service when it refuses no more.
#[test]
fn a_port_comes_back_when_its_interface_can_be_opened() {
    const TEST: &str = "flows::a_port_comes_back_when_its_interface_can_be_opened";
    in_lab(TEST, || {
        if let Err(error) = probe_port(PortKind::Xdp) {
            return println!("SKIPPED {TEST}: {error}");
        }
        let mut hosts = Hosts::new(2);
        let listener = listen();
        let ports = ["--port", "s1", "--port", "s2,kind=xdp"];
        let mut switch = Switch::start(0, &[&ports[..], &["--controller", CONTROLLER]].concat());
        let mut peer = Peer::accept(&listener);
        crate::peer::join_two(&mut peer);
        assert_eq!(hosts.ping(1, 2, 3).0, 3);
        // More than a port of this kind carries.
        hosts.replace_with_mtu(2, 9_000);
        switch.wait_for("port s2 is lost");
        switch.wait_for("port s2 is not back: interface s2: its MTU is 9000 B");
        hosts.set_mtu(2, 8_000);
        switch.wait_for("port s2 is not back: interface s2: its MTU is 8000 B");
        hosts.set_mtu(2, 1_500);
        switch.wait_for("port s2 is back");
        switch.wait_for("link s2 is up");
        let refusals = switch.told.iter().filter(|line| line.contains("is not back")).count();
        assert_eq!(refusals, 2, "{:?}", switch.told);
        assert_eq!(hosts.ping(1, 2, 3).0, 3);
        switch.stop();
    });
}
