//! Controllers that die, come back, send nonsense, or do not read.

use crate::lab::{Hosts, Switch, in_lab};
use crate::peer::{CONTROLLER, Peer, join_two, listen, out, to_controller};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tenuto_io::links::IpBatch;
use tenuto_io::{MonotonicClock, PollSet, Port};
use tenuto_openflow::{Body, ControllerRole, Oxm, Role};
use tenuto_units::{Draws, Span};

#[test]
fn a_secure_switch_keeps_its_entries_and_finds_its_controller_again() {
    const TEST: &str =
        "controllers::a_secure_switch_keeps_its_entries_and_finds_its_controller_again";
    in_lab(TEST, || {
        let hosts = Hosts::new(2);
        let mut switch = Switch::start(2, &["--controller", CONTROLLER, "--backoff-max", "300ms"]);
        switch.wait_for("not reached: tcp:127.0.0.1:6653");
        assert_eq!(hosts.ping(1, 2, 3).0, 0, "nothing is known");
        let listener = listen();
        let mut peer = Peer::accept(&listener);
        join_two(&mut peer);
        assert_eq!(hosts.ping(1, 2, 3).0, 3);
        drop(peer);
        switch.wait_for("lost: tcp:127.0.0.1:6653");
        assert_eq!(hosts.ping(1, 2, 3).0, 3, "entries stay");
        let mut peer = Peer::accept(&listener);
        peer.barrier();
        switch.stop();
    });
}

#[test]
fn a_standalone_switch_learns_until_a_controller_is_there() {
    const TEST: &str = "controllers::a_standalone_switch_learns_until_a_controller_is_there";
    in_lab(TEST, || {
        let hosts = Hosts::new(3);
        let more =
            ["--controller", CONTROLLER, "--backoff-max", "300ms", "--fail-mode", "standalone"];
        let mut switch = Switch::start(3, &more);
        let (received, ms) = hosts.ping(1, 3, 50);
        println!("    ping through a learning switch: {received} of 50, {ms} ms");
        assert_eq!(received, 50);
        // A tool is no controller: the switch goes on learning.
        let mut tool = Peer::connect();
        tool.barrier();
        assert_eq!(hosts.ping(1, 2, 3).0, 3);
        let listener = listen();
        let mut peer = Peer::accept(&listener);
        peer.barrier();
        assert_eq!(hosts.ping(1, 2, 3).0, 0, "now its entries count, and there are none");
        drop((peer, listener));
        switch.wait_for("lost: tcp:127.0.0.1:6653");
        assert_eq!(hosts.ping(1, 2, 3).0, 3);
        switch.stop();
    });
}

/// Several controllers, one of them master; and one with auxiliary connections.
#[test]
fn roles_and_auxiliary_connections() {
    in_lab("controllers::roles_and_auxiliary_connections", || {
        let _hosts = Hosts::new(2);
        let listener = listen();
        let more = format!("{CONTROLLER},auxiliary=2");
        let switch = Switch::start(2, &["--controller", &more]);
        let mut main = Peer::accept(&listener);
        let mut numbers = Vec::new();
        let mut others: Vec<Peer> = (0..2).map(|_| Peer::accept(&listener)).collect();
        for peer in others.iter_mut().chain([&mut main]) {
            peer.send(Body::FeaturesRequest);
            let message = peer.wait(|body| matches!(body, Body::FeaturesReply(_)));
            let Body::FeaturesReply(features) = message.body else { unreachable!("waited") };
            assert_eq!(features.datapath_id, 0x2a);
            numbers.push(features.auxiliary_id);
        }
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2]);

        // Another one becomes master: what the first one wants to change is refused.
        let mut second = Peer::connect();
        let role = Role { role: ControllerRole::Master, generation_id: 1 };
        main.send(Body::RoleRequest(role));
        main.wait(|body| matches!(body, Body::RoleReply(_)));
        second.send(Body::RoleRequest(Role { generation_id: 2, ..role }));
        second.wait(|body| matches!(body, Body::RoleReply(_)));
        main.add(1, Vec::new(), vec![out(1)]);
        main.wait(|body| matches!(body, Body::Error(_)));
        second.add(1, Vec::new(), vec![out(1)]);
        second.barrier();
        assert_eq!(second.heard, []);
        // With the main connection the auxiliary ones go.
        drop(main);
        for mut peer in others {
            while peer.listen() {}
        }
        switch.stop();
    });
}

#[test]
fn nonsense_ends_a_connection_and_nothing_else() {
    const TEST: &str = "controllers::nonsense_ends_a_connection_and_nothing_else";
    in_lab(TEST, || {
        let hosts = Hosts::new(2);
        let listener = listen();
        let switch = Switch::start(2, &["--controller", CONTROLLER]);
        let mut peer = Peer::accept(&listener);
        join_two(&mut peer);
        let mut draws = Draws::new(1);
        let mut random = || draws.word().to_be_bytes();
        for round in 0..60 {
            let mut stream = TcpStream::connect("127.0.0.1:6634").expect("it listens");
            stream.set_read_timeout(Some(Duration::from_millis(200))).expect("TCP");
            let mut bytes: Vec<u8> = (0..200).flat_map(|_| random()).collect();
            if round % 2 == 0 {
                // Whole messages of every type with nonsense in them, behind a hello.
                let mut messages = vec![4, 0, 0, 8, 0, 0, 0, 0];
                for body in bytes.chunks(40) {
                    let length = u8::try_from(body.len() + 8).expect("48 bytes");
                    messages.extend([4, random()[0] % 32, 0, length, 0, 0, 0, 1]);
                    messages.extend(body);
                }
                bytes = messages;
            }
            if round % 3 == 0 {
                bytes.truncate(bytes.len() - 5);
            }
            let _ = stream.write_all(&bytes);
            let _ = stream.read(&mut [0; 1_000]);
        }
        assert_eq!(hosts.ping(1, 2, 10).0, 10);
        peer.barrier();
        let mut tool = Peer::connect();
        tool.barrier();
        switch.stop();
    });
}

/// Every place for connections from outside is taken, and more are tried: the controller has one of
/// its own.
#[test]
fn nobody_takes_the_place_of_a_controller() {
    in_lab("controllers::nobody_takes_the_place_of_a_controller", || {
        let _hosts = Hosts::new(2);
        let more = ["--controller", CONTROLLER, "--backoff-max", "300ms", "--listen", EVERYWHERE];
        let mut switch = Switch::start(2, &more);
        // Whoever connects to an address of its own machine comes from it.
        own_addresses(5);
        let each = |host: usize| (0..16).map(move |_| Peer::connect_to(&own_address(host)));
        let mut tools: Vec<Peer> = (1..=4).flat_map(each).collect();
        for _ in 0..30 {
            let mut one_more = TcpStream::connect(own_address(5)).expect("it listens");
            assert_eq!(one_more.read(&mut [0; 8]).unwrap_or(0), 0, "it is closed");
        }
        switch.wait_for("64 are connected to the switch");
        // Each of them could fill a log: some are told, then their number.
        switch.wait_for("more connections that were made to the switch");
        let told = switch.told.iter().filter(|line| line.contains("64 are connected")).count();
        assert!(told <= 20, "{told} lines");
        let listener = listen();
        let mut peer = Peer::accept(&listener);
        peer.barrier();
        tools.last_mut().expect("64").barrier();
        switch.stop();
    });
}

/// One address holds all the places that it may, silent ones among them: others have theirs.
#[test]
fn one_address_does_not_keep_others_out() {
    in_lab("controllers::one_address_does_not_keep_others_out", || {
        let _hosts = Hosts::new(2);
        let mut switch = Switch::start(2, &["--listen", EVERYWHERE]);
        own_addresses(2);
        let held: Vec<TcpStream> =
            (0..16).map(|_| TcpStream::connect(own_address(1)).expect("it listens")).collect();
        let mut one_more = TcpStream::connect(own_address(1)).expect("it listens");
        assert_eq!(one_more.read(&mut [0; 8]).unwrap_or(0), 0, "it is closed");
        switch.wait_for("16 are connected from 10.9.0.1, which is the most");
        Peer::connect_to(&own_address(2)).barrier();
        // A place that is given back is there again.
        drop(held);
        let until = Instant::now() + crate::lab::PATIENCE;
        let mut hello = [0; 8];
        loop {
            let mut again = TcpStream::connect(own_address(1)).expect("it listens");
            if again.read(&mut hello).is_ok_and(|count| count > 0) {
                break;
            }
            assert!(Instant::now() < until, "no place is free");
        }
        switch.stop();
    });
}

/// Where a switch of tests listens at every address.
const EVERYWHERE: &str = "ptcp:0.0.0.0:6635";

/// Address `host` of this machine, to be connected to.
fn own_address(host: usize) -> String {
    format!("10.9.0.{host}:6635")
}

/// Gives this machine so many addresses.
fn own_addresses(count: usize) {
    let mut batch = IpBatch::new();
    for host in 1..=count {
        batch.add(format!("address add 10.9.0.{host}/32 dev lo"));
    }
    batch.run().expect("root of the lab");
}

/// There are no descriptors left when the controller is lost: the switch goes on, and connects when
/// there are some.
#[test]
fn a_switch_without_descriptors_goes_on() {
    in_lab("controllers::a_switch_without_descriptors_goes_on", || {
        let _hosts = Hosts::new(2);
        let listener = listen();
        let more = ["--controller", CONTROLLER, "--backoff-max", "300ms"];
        let mut switch = Switch::start_with_descriptors(32, 2, &more);
        let mut peer = Peer::accept(&listener);
        peer.barrier();
        // The kernel connects them; those for which there are no descriptors wait.
        let connect = |_| TcpStream::connect("127.0.0.1:6634").expect("it listens");
        let tools: Vec<TcpStream> = (0..40).map(connect).collect();
        peer.barrier();
        drop(peer);
        switch.wait_for("not reached: tcp:127.0.0.1:6653: Too many open files");
        drop(tools);
        let mut peer = Peer::accept(&listener);
        peer.barrier();
        switch.stop();
    });
}

/// A flood for a controller that does not read: others are served, memory stays, loss is counted.
#[test]
fn a_flood_of_packet_ins_harms_nobody() {
    const TEST: &str = "controllers::a_flood_of_packet_ins_harms_nobody";
    in_lab(TEST, || {
        let hosts = Hosts::new(3);
        let listener = listen();
        let more = ["--controller", CONTROLLER, "--probe", "60s", "--packet-in-rate", "0"];
        let switch = Switch::start(3, &more);
        let mut peer = Peer::accept(&listener);
        peer.add(20, vec![Oxm::InPort(3)], vec![to_controller()]);
        join_two(&mut peer);
        let before = switch.memory_kb();
        let mut flooder = hosts.port(3);
        let frame = [[2; 12].as_slice(), &[0x88, 0xb5], &[7; 1_000]].concat();
        let began = Instant::now();
        let mut sent = 0;
        let mut pings = Vec::new();
        while began.elapsed() < Duration::from_secs(4) {
            for _ in 0..2_000 {
                for _ in 0..32 {
                    assert!(flooder.send(&frame).expect("it fits"));
                }
                sent += flooder.flush().expect("it is there").sent;
                let pause = MonotonicClock::now() + Span::from_us(300);
                PollSet::new().wait(Some(pause)).expect("poll");
                if began.elapsed() > Duration::from_secs(1 + pings.len() as u64) {
                    break;
                }
            }
            pings.push(hosts.ping(1, 2, 10).0);
        }
        let grown = switch.memory_kb().saturating_sub(before);
        println!("    {sent} frames for the controller; pings answered {pings:?}; +{grown} kB");
        assert!(pings.iter().all(|received| *received >= 9), "{pings:?}");
        assert!(grown < 60_000, "{grown} kB for a controller that does not read");
        // It begins to read: what waited comes, and then answers as usual.
        peer.barrier();
        let said = switch.stop();
        let unread = said.split(", ").last().and_then(|part| part.split(' ').next());
        let unread: u64 = unread.and_then(|n| n.parse().ok()).expect("counted");
        assert!(unread > 0, "{said}");
    });
}

/// With a limit per port the flood is cut before anything is made of it, and another port's
/// packets are told as if there were none.
#[test]
fn packet_ins_are_limited_port_by_port() {
    in_lab("controllers::packet_ins_are_limited_port_by_port", || {
        let hosts = Hosts::new(2);
        let listener = listen();
        let more = ["--controller", CONTROLLER, "--packet-in-rate", "100"];
        let switch = Switch::start(2, &more);
        let mut peer = Peer::accept(&listener);
        peer.add(1, Vec::new(), vec![to_controller()]);
        peer.barrier();
        let (mut flooder, mut other) = (hosts.port(1), hosts.port(2));
        let frame = [[2; 12].as_slice(), &[0x88, 0xb5], &[7; 46]].concat();
        for _ in 0..100 {
            for _ in 0..32 {
                assert!(flooder.send(&frame).expect("it fits"));
            }
            flooder.flush().expect("it is there");
        }
        assert!(other.send(&frame).expect("it fits"));
        other.flush().expect("it is there");
        let from = |wanted: u32| {
            move |body: &Body| match body {
                Body::PacketIn(it) => it.match_.oxms.contains(&Oxm::InPort(wanted)),
                _ => false,
            }
        };
        peer.wait(from(2));
        peer.barrier();
        let flood = peer.heard.iter().filter(|message| from(1)(&message.body)).count();
        println!("    {flood} packet-ins of 3200 frames at 100/s");
        // A burst of a tenth of a second, and what a slow machine takes for the rest.
        assert!((10..1_000).contains(&flood), "{flood}");
        let said = switch.stop();
        assert!(!said.contains(" 0 packet-ins over their rate"), "{said}");
    });
}
