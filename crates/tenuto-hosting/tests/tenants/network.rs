//! Virtual NICs: what gets through them, and what does not.

use crate::attackers::FLOOD_FRAMES;
use crate::stage::{Hosted, attacker, eventually, in_lab};
use std::io::Read;
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;
use tenuto_io::links::{LinkChanger, LinkName};
use tenuto_io::namespaces::within_netns;
use tenuto_io::{DEVICE_RING_FRAMES, MonotonicClock, POLICER_DEPTH_NS};
use tenuto_units::Instant;

pub(crate) fn switches_reach_the_controller() {
    in_lab("network::switches_reach_the_controller", || {
        let nic = ", address: 10.99.1.2/30, control: [6653]";
        let hosted = Hosted::start(&attacker("blue", "listen, \"10.99.1.2:6653\"", nic), &["blue"]);
        hosted.log_with("blue", "listening");
        let address = hosted.tenant("blue").control[0].parse().expect("an address");
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(30));
        let mut text = String::new();
        stream.expect("it listens").read_to_string(&mut text).expect("a word");
        assert_eq!(text, "hello");
        let blue = hosted.tenant("blue");
        assert!(blue.frames_sent > Some(2) && blue.frames_received > Some(2), "{blue:?}");
    });
}

pub(crate) fn each_receive_path_is_had_or_told() {
    in_lab("network::each_receive_path_is_had_or_told", || {
        for path in ["inline", "threaded", "cpumap", "{path: cpumap, ring: 64, priority: nice 5}"] {
            let nic = format!(", address: 10.99.1.2/30, control: [6653], receive: {path}");
            let listen = attacker("blue", "listen, \"10.99.1.2:6653\"", &nic);
            let hosted = Hosted::start(&listen, &["blue"]);
            hosted.log_with("blue", "listening");
            let address = hosted.tenant("blue").control[0].parse().expect("an address");
            let stream = TcpStream::connect_timeout(&address, Duration::from_secs(30));
            let mut text = String::new();
            stream.expect("it listens").read_to_string(&mut text).expect("a word");
            assert_eq!(text, "hello", "{path}");
            let blue = hosted.tenant("blue");
            let had = blue.receive.as_deref().expect("it has a virtual NIC");
            let told = blue.missing.iter().find(|lack| lack.what.contains("receive path"));
            println!("    {path}: {had}, ring {:?}, told {told:?}", blue.receive_ring_frames);
            let is_told = told.is_some_and(|lack| lack.what.contains("inline instead"));
            assert_eq!(path.contains(had), !is_told, "{blue:?}");
            let ring = match had {
                "inline" => None,
                "threaded" => Some(DEVICE_RING_FRAMES),
                _ if path.contains("64") => Some(64),
                _ => Some(512),
            };
            assert_eq!(blue.receive_ring_frames, ring, "{blue:?}");
        }
    });
}

/// A controller of somebody else, if it is installed.
const CONTROLLER: &str = "/usr/bin/ovs-testcontroller";

pub(crate) fn controllers_of_others_say_hello() {
    const TEST: &str = "network::controllers_of_others_say_hello";
    if !std::path::Path::new(CONTROLLER).exists() {
        return println!("SKIPPED {TEST}: {CONTROLLER} is not installed");
    }
    in_lab(TEST, || {
        let tenant = |name: &str, last: u8, path: &str| {
            format!(
                "  {name}: {{program: [{CONTROLLER}, \"--unixctl=none\", \"ptcp:6653\"], address: 10.99.{last}.2/30, \
                 control: [6653], memory: 64 MB, processes: 16, restart: never, receive: {path}}}\n"
            )
        };
        let tenants = tenant("blue", 1, "inline") + &tenant("red", 2, "threaded");
        let began = MonotonicClock::now();
        let hosted = Hosted::start(&tenants, &["blue", "red"]);
        for name in ["blue", "red"] {
            let address = hosted.tenant(name).control[0].parse().expect("an address");
            let mut stream = None;
            eventually(|| {
                stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).ok();
                stream.is_some()
            });
            let mut head = [0; 8];
            stream.expect("it listens").read_exact(&mut head).expect("it greets first");
            // OFPT_HELLO of whatever version, and as long as it says (OpenFlow 1.3.5, 7.1.1).
            let length = u16::from_be_bytes([head[2], head[3]]);
            assert!(head[0] >= 1 && head[1] == 0 && length >= 8, "{name}: {head:?}");
            let ms = MonotonicClock::now().since(began).as_ns() as f64 / 1e6;
            println!("    {name}: hello of version {}, {ms:.0} ms after the first start", head[0]);
        }
    });
}

pub(crate) fn another_tenant_is_not_reached() {
    in_lab("network::another_tenant_is_not_reached", || {
        // A machine that passes frames on between its interfaces, as one with containers does.
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("root of the lab");
        let tenants =
            attacker(
                "blue",
                "listen, \"10.99.1.2:6653\"",
                ", address: 10.99.1.2/30, control: [6653]",
            ) + &attacker("red", "connect, \"10.99.1.2:6653\"", ", address: 10.99.2.2/30");
        let hosted = Hosted::start(&tenants, &["blue", "red"]);
        let log = hosted.log_with("red", "answer");
        assert!(log.contains("Err") && !log.contains("hello"), "{log}");
    });
}

pub(crate) fn a_spoofed_source_is_dropped() {
    in_lab("network::a_spoofed_source_is_dropped", || {
        let sink = UdpSocket::bind("0.0.0.0:9999").expect("a port of the lab");
        sink.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
        let nic = ", address: 10.99.1.2/30";
        let hosted = Hosted::start(
            &attacker("blue", "send, \"10.99.1.2:5001\", \"10.99.1.1:9999\"", nic),
            &["blue"],
        );
        let mut byte = [0; 8];
        let (_, from) = sink.recv_from(&mut byte).expect("its own source gets through");
        assert_eq!(from.to_string(), "10.99.1.2:5001");
        // What no tenant can do, as it has no right over its interface: another address.
        let pid = hosted.tenant("blue").pid.expect("it runs");
        let spoof = || -> std::io::Result<()> {
            let eth0 = LinkName::new("eth0").expect("a good name");
            LinkChanger::new()?.add_address(&eth0, [10, 66, 6, 6].into(), 32)?;
            let socket = UdpSocket::bind("10.66.6.6:5001")?;
            for _ in 0..5 {
                socket.send_to(b"spoofed", "10.99.1.1:9999")?;
            }
            UdpSocket::bind("10.99.1.2:5002")?.send_to(b"last", "10.99.1.1:9999").map(drop)
        };
        within_netns(pid, spoof).expect("root of the lab").expect("its interface");
        let (length, from) = sink.recv_from(&mut byte).expect("the last one");
        assert_eq!((&byte[..length], from.to_string().as_str()), (&b"last"[..], "10.99.1.2:5002"));
    });
}

/// Frames in a second that a flood may have, said in frames and in bits: 384 B are 3,408 bits with the
/// headers of UDP, IP and Ethernet.
const RATE: u64 = 1_000;
const LIMITS: [&str; 2] = ["packets: 1000 /s", "bits: 3.408 Mbit/s"];

pub(crate) fn a_flood_ends_at_its_rate() {
    in_lab("network::a_flood_ends_at_its_rate", || {
        let _sink = UdpSocket::bind("0.0.0.0:9999").expect("a port of the lab");
        LIMITS.iter().for_each(|limit| flood_under(limit));
    });
}

/// The bucket's own promise: the rate over the time that there was, and the depth at once.
fn frames_max(began: Instant) -> u64 {
    let ns = MonotonicClock::now().since(began).as_ns() + POLICER_DEPTH_NS;
    ns * RATE / 1_000_000_000 + 2
}

fn flood_under(limit: &str) {
    let nic = format!(", address: 10.99.1.2/30, rate: {{{limit}}}");
    let began = MonotonicClock::now();
    let flood = attacker("blue", "flood, \"10.99.1.1:9999\"", &nic);
    let hosted = Hosted::start(&flood, &["blue"]);
    hosted.log_with("blue", "flooded");
    let blue = hosted.tenant("blue");
    if let Some(lack) = blue.missing.iter().find(|lack| lack.why.contains("no policer")) {
        return println!("SKIPPED network::a_flood_ends_at_its_rate: {}", lack.why);
    }
    // What the host's end received is counted before the policer.
    let (sent, policed) = (blue.frames_sent.unwrap_or(0), blue.frames_policed.unwrap_or(0));
    // Few wait for the neighbour's address, and are given up if that takes long.
    assert!(sent >= FLOOD_FRAMES / 2 && policed > 0, "{blue:?}");
    assert!(sent - policed <= frames_max(began) + ANSWERED, "{limit}: {blue:?}");
    // The other way, where it is dropped before it crosses.
    let began = MonotonicClock::now();
    let received = blue.frames_received.unwrap_or(0);
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    for _ in 0..FLOOD_FRAMES {
        // Some kernels tell a sender of the drop.
        let _ = socket.send_to(&[0; 384], "10.99.1.2:7");
    }
    let blue = hosted.tenant("blue");
    let passed = blue.frames_received.unwrap_or(0) - received;
    assert!(passed <= frames_max(began) + ANSWERED, "{limit}: {passed} frames: {blue:?}");
    assert!(blue.frames_policed > Some(policed), "{blue:?}");
}

/// Small frames beside the flood, of which more pass by their bits: questions for addresses.
const ANSWERED: u64 = 16;
