//! Every way of waiting, on every kind of port.

use crate::lab::{Hosts, PATIENCE, Switch, in_lab};
use crate::peer::{Peer, join_two};
use tenuto_io::links::{IpBatch, LinkName};
use tenuto_io::{Interest, MonotonicClock, PacketPort, PollSet, Port, PortKind, probe_port};
use tenuto_units::Span;

const KINDS: [PortKind; 4] = [PortKind::PacketRing, PortKind::Packet, PortKind::Xdp, PortKind::Tap];
const WAITS: [&[&str]; 6] = [
    &["--wait", "spin"],
    &["--wait", "adaptive"],
    &["--wait", "block"],
    // Whatever of this is not allowed is told, and frames pass all the same.
    &["--wait", "spin", "--processor", "0", "--fifo", "1", "--lock-memory"],
    // One thread for both ports, and one for each; nobody is woken for ever if a ring is missed.
    &["--wait", "block", "--io-threads", "1"],
    &["--wait", "adaptive", "--io-threads", "2", "--io-processors", "0"],
];
/// Of an EtherType for experiments.
const FRAME: [u8; 60] = {
    let mut frame = [7; 60];
    (frame[0], frame[12], frame[13]) = (2, 0x88, 0xb5);
    frame
};

/// Sends at one port, several times if need be, until the other one hears it.
fn cross(from: &mut dyn Port, to: &mut dyn Port) -> bool {
    let mut set = PollSet::new();
    set.add(to.poll_fd().expect("pollable"), Interest::Read);
    let patience = Span::from_ns(u64::try_from(PATIENCE.as_nanos()).expect("seconds"));
    let end = MonotonicClock::now() + patience;
    while MonotonicClock::now() < end {
        from.send(&FRAME).expect("a good frame");
        from.flush().expect("it is there");
        set.wait(Some(MonotonicClock::now() + Span::from_ms(100))).expect("poll");
        let mut is_heard = false;
        to.receive(64, &mut |_, frame| is_heard |= frame == FRAME).expect("it is there");
        if is_heard {
            return true;
        }
    }
    false
}

#[test]
fn frames_and_control_pass_however_it_waits() {
    const TEST: &str = "waits::frames_and_control_pass_however_it_waits";
    in_lab(TEST, || {
        let hosts = Hosts::new(2);
        for kind in KINDS {
            if let Err(error) = probe_port(kind) {
                println!("SKIPPED {TEST}, {kind}: {error}");
                continue;
            }
            for wait in WAITS {
                let prefix = if kind == PortKind::Tap { "t" } else { "s" };
                let ports = [1, 2].map(|n| format!("{prefix}{n},kind={kind}"));
                let more = ["--port", &ports[0], "--port", &ports[1]];
                let switch = Switch::start(0, &[&more[..], wait].concat());
                join_two(&mut Peer::connect());
                let mut ends = [1, 2].map(|n| match kind {
                    PortKind::Tap => {
                        let name = LinkName::new(&format!("t{n}")).expect("a good name");
                        IpBatch::new().up(&name).run().expect("the switch made it");
                        PacketPort::open(name.as_str()).expect("root of the lab")
                    }
                    _ => hosts.port(n),
                });
                let [first, second] = &mut ends;
                assert!(cross(first, second), "{kind} {wait:?}: there");
                assert!(cross(second, first), "{kind} {wait:?}: back");
                switch.stop();
            }
        }
    });
}
