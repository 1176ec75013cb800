//! Links between nodes, each in a network namespace of its own.

use crate::in_lab::{in_lab, name, receive, veth_ports};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use tenuto_io::links::{IpBatch, IpError, LinkName, offloads_off, offloads_on};
use tenuto_io::namespaces::{spawn_in_netns_of, spawn_in_new_netns, within_netns};
use tenuto_io::{HostStack, MonotonicClock, PacketPort, Port, PortKind, PortOpener, PortSettings};

/// A process that lives in a network namespace of its own until it is dropped.
struct Node(Child);

impl Node {
    fn start() -> Self {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped());
        Self(spawn_in_new_netns(command).expect("root of the lab"))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("a child");
    }
}

#[test]
fn twenty_links_between_nodes() {
    in_lab("links::twenty_links_between_nodes", || {
        let start = MonotonicClock::now();
        let nodes: Vec<_> = (0..20).map(|_| Node::start()).collect();
        println!("20 nodes: {}", MonotonicClock::now().since(start));

        let start = MonotonicClock::now();
        let mut pairs = IpBatch::new();
        for (i, node) in nodes.iter().enumerate() {
            let next = &nodes[(i + 1) % nodes.len()];
            pairs.veth_between((&name("right"), node.pid()), (&name("left"), next.pid()));
        }
        pairs.run().expect("root of the lab");
        println!("20 veth pairs, 40 ends in 20 namespaces: {}", MonotonicClock::now().since(start));

        let start = MonotonicClock::now();
        for node in &nodes {
            let work = || ["left", "right"].map(|end| offloads_off(&name(end)));
            let done = within_netns(node.pid(), work).expect("a child");
            assert!(done.iter().all(Result::is_ok), "{done:?}");
        }
        println!("offloads of 40 ends off: {}", MonotonicClock::now().since(start));

        let start = MonotonicClock::now();
        let mut up = IpBatch::new();
        up.up(&name("lo")).up(&name("left")).up(&name("right"));
        nodes.iter().for_each(|node| up.run_in(node.pid()).expect("root of the lab"));
        println!("20 calls of ip to set them up: {}", MonotonicClock::now().since(start));

        let open = |node: &Node, end| {
            let port = within_netns(node.pid(), || PacketPort::open(end));
            port.expect("a child").expect("the link was made")
        };
        let (mut right, mut left) = (open(&nodes[19], "right"), open(&nodes[0], "left"));
        let frame = [&[0xff; 12][..], &[0x88, 0xb5], &[1; 46]].concat();
        assert!(right.send(&frame).expect("a good frame"));
        assert_eq!(right.flush().expect("up").sent, 1);
        let received = receive(&mut left, 1);
        assert!(received.iter().any(|(_, bytes)| *bytes == frame));
    });
}

#[test]
fn checksums_are_filled_in_without_offloads() {
    in_lab("links::checksums_are_filled_in_without_offloads", || {
        let (_a, mut b) = veth_ports();
        let mut batch = IpBatch::new();
        batch.address(&name("a"), [10, 0, 0, 1].into(), 24);
        batch.neighbour(&name("a"), [10, 0, 0, 2].into(), [2, 0, 0, 0, 0, 2]);
        batch.run().expect("root of the lab");
        let socket = UdpSocket::bind("10.0.0.1:7").expect("the address was set");
        socket.send_to(b"tenuto..", "10.0.0.2:7").expect("the neighbour is known");
        let (_, frame) = receive(&mut b, 1).remove(0);
        assert_eq!(frame[..6], [2, 0, 0, 0, 0, 2]);
        // Addresses (8 B), then the datagram (16 B), protocol and length of the pseudo header.
        let words = frame[26..50].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
        let sum: u32 = words.sum::<u32>() + 17 + 16;
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "a valid checksum");
    });
}

#[test]
fn a_refused_command_is_named() {
    in_lab("links::a_refused_command_is_named", || {
        let mut batch = IpBatch::new();
        batch.up(&name("lo")).mtu(&name("missing"), 1_500).up(&name("lo"));
        match batch.run().expect_err("no such interface") {
            IpError::Refused { command, stderr } => {
                assert_eq!(command, "link set dev missing mtu 1500");
                assert!(stderr.contains("Cannot find device"), "{stderr}");
            }
            other => panic!("unexpected: {other}"),
        }
        assert!(LinkName::new("missing; reboot").is_err());
        assert!(batch.run_in(u32::MAX).is_err(), "no such process");
        let node = Node::start();
        IpBatch::new().bridge(&name("br")).run_in(node.pid()).expect("root of the lab");
        let mut show = Command::new("ip");
        show.args(["link", "show", "br"]).stdout(Stdio::null());
        let mut show = spawn_in_netns_of(show, node.pid()).expect("root of the lab");
        assert!(show.wait().expect("a child").success());
        assert!(PacketPort::open("br").is_err(), "it is in the node's namespace only");
    });
}

#[test]
fn offloads_are_off_while_a_port_is_open() {
    in_lab("links::offloads_are_off_while_a_port_is_open", || {
        let mut batch = IpBatch::new();
        batch.add("link add name a type veth peer name b").run().expect("root of the lab");
        let link = name("a");
        let on = || offloads_on(&link).expect("there is one");
        let before = on();
        assert!(before.contains(&"tx"), "{before:?}");
        for kind in [PortKind::Packet, PortKind::PacketRing] {
            let settings = PortSettings {
                kind: Some(kind),
                host_stack: HostStack::Share,
                ..Default::default()
            };
            let opened = PortOpener::new(settings, 1).open("a").expect("root of the lab");
            assert_eq!(on(), [""; 0], "{kind}");
            drop(opened);
            assert_eq!(on(), before, "{kind}");
        }
        // Opened again before the earlier port is closed, whichever is closed first.
        for is_first_closed_first in [true, false] {
            let open = || {
                let settings = PortSettings {
                    kind: Some(PortKind::Packet),
                    host_stack: HostStack::Share,
                    ..Default::default()
                };
                PortOpener::new(settings, 1).open("a").expect("root of the lab")
            };
            let (first, second) = (open(), open());
            let (gone, left) =
                if is_first_closed_first { (first, second) } else { (second, first) };
            drop(gone);
            assert_eq!(on(), [""; 0], "a port is still open");
            drop(left);
            assert_eq!(on(), before, "first closed first: {is_first_closed_first}");
        }
        // Those that were off before stay so.
        offloads_off(&link).expect("root of the lab");
        drop(PortOpener::new(PortSettings::default(), 1).open("a").expect("root of the lab"));
        assert_eq!(on(), [""; 0]);
    });
}
