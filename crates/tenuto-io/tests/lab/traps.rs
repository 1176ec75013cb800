//! What Linux does to frames of a port, and what the port makes of it.

use crate::in_lab::{PATIENCE, fetch, in_lab, name, receive, veth, veth_ports};
use crate::ports::{frame, frames, send};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::process::Command;
use tenuto_io::links::{IpBatch, VethEnd};
use tenuto_io::{
    FRAME_BYTES_LIMIT, HostStack, Interest, LinkWatch, MonotonicClock, PacketPort, Pending,
    PollSet, Port, PortKind, PortOpener, PortSettings, PortWait, RingPort, WaitPolicy, XdpMode,
    XdpPort,
};
use tenuto_units::Span;

/// Long enough for the kernel to answer what it wants to answer.
const ANSWER_TIME: Span = Span::from_ms(50);

/// Whether the kernel has VLAN interfaces, of which `a.5` is then one.
fn makes_vlan_interface() -> bool {
    let arguments = "link add link a name a.5 type vlan id 5".split(' ');
    Command::new("ip").args(arguments).status().expect("iproute2").success()
}

/// A frame that asks for the hardware address of 10.0.0.2.
fn who_has() -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 1, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend([2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2]);
    frame.resize(60, 0);
    frame
}

#[test]
fn the_kernel_keeps_out_of_what_a_port_receives() {
    let test = "traps::the_kernel_keeps_out_of_what_a_port_receives";
    in_lab(test, || {
        veth("a", "b");
        IpBatch::new().address(&name("b"), [10, 0, 0, 2].into(), 24).run().expect("root");
        let mut a = PacketPort::open("a").expect("root");
        for kind in [PortKind::Packet, PortKind::PacketRing, PortKind::Xdp] {
            for host_stack in [HostStack::Share, HostStack::KeepOut] {
                let settings =
                    PortSettings { kind: Some(kind), host_stack, ..PortSettings::default() };
                let opened = PortOpener::new(settings, 1).open("b");
                let mut opened = match opened {
                    Ok(opened) => opened,
                    Err(error) => return println!("SKIPPED {test}, {kind}: {error}"),
                };
                let is_exclusive = opened.port.capabilities().exclusive;
                if host_stack == HostStack::KeepOut && !is_exclusive {
                    println!("SKIPPED {test}, {kind}: {:?}", opened.notes);
                    continue;
                }
                send(&mut a, &who_has());
                assert_eq!(frames(receive(&mut *opened.port, 1)), [who_has()], "{kind}");
                let until = MonotonicClock::now() + ANSWER_TIME;
                let mut answers = Vec::new();
                while MonotonicClock::now() < until {
                    fetch(&mut a, &mut answers);
                }
                assert_eq!(answers.is_empty(), is_exclusive, "{kind} {host_stack:?}: {answers:?}");
            }
        }
    });
}

#[test]
fn a_tag_that_the_sender_left_to_its_device_is_in_its_place() {
    in_lab("traps::a_tag_that_the_sender_left_to_its_device_is_in_its_place", || {
        veth("a", "b");
        if !makes_vlan_interface() {
            return println!("SKIPPED a_tag_that_the_sender_left: no VLAN interfaces here");
        }
        let mut batch = IpBatch::new();
        batch.up(&name("a.5")).address(&name("a.5"), [10, 0, 0, 1].into(), 24);
        batch.neighbour(&name("a.5"), [10, 0, 0, 2].into(), [2, 0, 0, 0, 0, 2]);
        batch.run().expect("root");
        let socket = UdpSocket::bind("10.0.0.1:7").expect("the address was set");
        let check = |port: &mut dyn Port| {
            socket.send_to(b"tenuto", "10.0.0.2:7").expect("the neighbour is known");
            let (_, frame) = receive(port, 1).remove(0);
            let kind = port.capabilities().kind;
            assert_eq!(frame[..6], [2, 0, 0, 0, 0, 2], "{kind}");
            assert_eq!(frame[12..18], [0x81, 0, 0, 5, 8, 0], "{kind}");
            assert_eq!(frame.len(), 14 + 4 + 20 + 8 + 6, "{kind}");
        };
        check(&mut PacketPort::open("b").expect("root"));
        check(&mut RingPort::open("b", 64).expect("root"));
        for mode in XdpMode::ALL {
            match XdpPort::open("b", &[mode], None) {
                Ok(mut port) => check(&mut port),
                Err(error) => println!("SKIPPED {}: {error}", mode.name()),
            }
        }
    });
}

/// A veth pair as the kernel makes it, offloads on, and a socket that speaks on `a`.
fn noisy_pair() -> UdpSocket {
    tenuto_io::links::disable_ipv6().expect("root");
    let end = |text| VethEnd { name: name(text), pid: None, mac: None };
    let mut batch = IpBatch::new();
    batch.veth_pair(&end("a"), &end("b")).up(&name("a")).up(&name("b"));
    batch.address(&name("a"), [10, 0, 0, 1].into(), 24);
    batch.neighbour(&name("a"), [10, 0, 0, 2].into(), [2, 0, 0, 0, 0, 2]);
    batch.run().expect("root");
    UdpSocket::bind("10.0.0.1:7").expect("the address was set")
}

#[test]
fn a_checksum_that_nobody_filled_in_is_told() {
    in_lab("traps::a_checksum_that_nobody_filled_in_is_told", || {
        let socket = noisy_pair();
        let mut packet = PacketPort::open("b").expect("root");
        let mut ring = RingPort::open("b", 64).expect("root");
        socket.send_to(b"tenuto", "10.0.0.2:7").expect("the neighbour is known");
        for port in [&mut packet as &mut dyn Port, &mut ring] {
            assert_eq!(receive(port, 1).len(), 1);
            assert_eq!(port.statistics().expect("readable").checksums_missing, 1);
        }
        // The ends of a port's own link are switched off, and then it is whole.
        tenuto_io::links::offloads_off(&name("a")).expect("root");
        socket.send_to(b"tenuto", "10.0.0.2:7").expect("the neighbour is known");
        assert_eq!(receive(&mut ring, 1).len(), 1);
        assert_eq!(ring.statistics().expect("readable").checksums_missing, 1);
    });
}

#[test]
fn what_the_sender_left_uncut_is_dropped_and_counted() {
    in_lab("traps::what_the_sender_left_uncut_is_dropped_and_counted", || {
        let _socket = noisy_pair();
        // TCP to a listener behind a second namespace would do; a jumbo MTU on both ends, of which
        // the ports know nothing, is the same to them.
        let mut packet = PacketPort::open("b").expect("root");
        let mut ring = RingPort::open("b", 64).expect("root");
        IpBatch::new().mtu(&name("a"), 65_535).mtu(&name("b"), 65_535).run().expect("root");
        let socket = UdpSocket::bind("10.0.0.1:8").expect("the address was set");
        for bytes in [1_472, 1_473, 1_990, 2_003, 9_000, 65_507] {
            socket.send_to(&vec![1; bytes], "10.0.0.2:7").expect("the neighbour is known");
        }
        for port in [&mut packet as &mut dyn Port, &mut ring] {
            let kind = port.capabilities().kind;
            assert_eq!(receive(port, 1).len(), 1, "{kind}: the largest that fits");
            assert_eq!(port.statistics().expect("readable").oversized, 5, "{kind}");
            assert_eq!(port.receive(10, &mut |_, _| ()).expect("up"), 0, "{kind}");
        }
        // The MTU is taken note of with the state of the link.
        packet.link().expect("readable");
        socket.send_to(&[1; 1_990], "10.0.0.2:7").expect("the neighbour is known");
        assert_eq!(receive(&mut packet, 1).len(), 1);
    });
}

/// However large the MTU, a port hands on no frame that lanes, bursts and stores have no room for.
#[test]
fn no_mtu_makes_a_port_carry_more_than_it_can() {
    in_lab("traps::no_mtu_makes_a_port_carry_more_than_it_can", || {
        let socket = noisy_pair();
        IpBatch::new().mtu(&name("a"), 9_000).mtu(&name("b"), 9_000).run().expect("root");
        let mut ports: Vec<Box<dyn Port>> = vec![
            Box::new(PacketPort::open("b").expect("root")),
            Box::new(RingPort::open("b", 64).expect("root")),
        ];
        // The ring has slots of 4 kB then.
        let least = FRAME_BYTES_LIMIT;
        for bytes in [least, least + 1, least + 4, 2_500, 3_900, 4_200, 9_014] {
            let headers = 42;
            socket
                .send_to(&vec![1; bytes - headers], "10.0.0.2:7")
                .expect("the neighbour is known");
        }
        for port in &mut ports {
            let kind = port.capabilities().kind;
            let lengths: Vec<usize> =
                frames(receive(&mut **port, 1)).iter().map(Vec::len).collect();
            assert_eq!(lengths, [FRAME_BYTES_LIMIT], "{kind}");
            assert_eq!(port.statistics().expect("readable").oversized, 6, "{kind}");
        }
    });
}

#[test]
fn the_ring_goes_round_many_times() {
    in_lab("traps::the_ring_goes_round_many_times", || {
        veth("a", "b");
        let mut a = PacketPort::open("a").expect("root");
        let mut b = RingPort::open("b", 1).expect("root");
        println!("{} slots", b.ring_frames());
        assert!(b.ring_frames() < 1_000, "so that it goes round here");
        for turn in 0..3_000_u16 {
            let sent = frame(60 + usize::from(turn % 1_400), turn.to_be_bytes()[1]);
            send(&mut a, &sent);
            assert!(frames(receive(&mut b, 1)) == [sent], "turn {turn}");
        }
    });
}

#[test]
fn a_packet_buffer_is_as_large_as_asked_for() {
    in_lab("traps::a_packet_buffer_is_as_large_as_asked_for", || {
        let (_a, b) = veth_ports();
        let bytes = b.receive_buffer_bytes().expect("readable");
        println!("receive buffer: {bytes} B");
        assert!(bytes >= 200_000, "some hundred frames at least, whatever the limit");
    });
}

#[test]
fn changes_to_links_are_news_to_a_sleeping_thread() {
    in_lab("traps::changes_to_links_are_news_to_a_sleeping_thread", || {
        // Off: an end that is switched on or off has its carrier told some time later, by itself.
        let end = |text| VethEnd { name: name(text), pid: None, mac: None };
        IpBatch::new().veth_pair(&end("a"), &end("b")).run().expect("root");
        let mut watch = LinkWatch::new().expect("a socket");
        let mut set = PollSet::new();
        let key = set.add(watch.as_raw_fd(), Interest::Read);
        assert!(!watch.take_news().expect("a socket"));
        for change in ["mtu", "mtu of the other", "delete"] {
            let mut batch = IpBatch::new();
            match change {
                "mtu" => batch.mtu(&name("a"), 1_400),
                "mtu of the other" => batch.mtu(&name("b"), 1_300),
                _ => batch.delete(&name("a")),
            };
            batch.run().expect("root");
            set.wait(Some(MonotonicClock::now() + PATIENCE)).expect("poll");
            assert!(set.readiness(key).readable, "{change}");
            assert!(watch.take_news().expect("a socket"), "{change}");
            assert!(!watch.take_news().expect("a socket"), "{change}: taken");
        }
    });
}

#[test]
fn a_sleeping_thread_does_not_spin_on_a_removed_interface() {
    in_lab("traps::a_sleeping_thread_does_not_spin_on_a_removed_interface", || {
        for kind in [PortKind::Packet, PortKind::PacketRing, PortKind::Tap] {
            if kind != PortKind::Tap {
                veth("a", "b");
            }
            let settings = PortSettings { kind: Some(kind), ..PortSettings::default() };
            let mut port = match PortOpener::new(settings, 1).open("a") {
                Ok(opened) => opened.port,
                Err(error) => return println!("SKIPPED {kind}: {error}"),
            };
            let mut set = PollSet::new();
            set.add(port.poll_fd().expect("pollable"), Interest::Read);
            let mut sleep = PortWait::new(WaitPolicy::Block);
            IpBatch::new().delete(&name("a")).run().expect("root");
            let mut turns = 0;
            let lost = loop {
                let until = Some(MonotonicClock::now() + PATIENCE);
                sleep
                    .wait(&mut set, until, &mut |look| Pending::of([&*port as &dyn Port], look))
                    .expect("poll");
                if let Err(lost) = port.receive(16, &mut |_, _| ()) {
                    break lost;
                }
                turns += 1;
            };
            assert!(turns < 100, "{kind}: {turns}");
            assert!(lost.to_string().contains("interface a was removed"), "{kind}: {lost}");
        }
    });
}
