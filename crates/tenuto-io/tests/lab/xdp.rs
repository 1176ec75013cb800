//! AF_XDP: memory that ports share, and where it ends.

use crate::in_lab::{fetch, in_lab, name, receive, veth};
use crate::ports::{frame, frames, send};
use std::io;
use std::process::Command;
use tenuto_io::links::IpBatch;
use tenuto_io::{MonotonicClock, PacketPort, Port, XdpMemory, XdpMode, XdpPort};

const COPY: [XdpMode; 2] = [XdpMode::NativeCopy, XdpMode::Generic];

/// A port, or `None` after saying why there is none.
fn xdp(test: &str, link: &str, memory: &std::sync::Arc<XdpMemory>) -> Option<XdpPort> {
    match XdpPort::open(link, &XdpMode::ALL, Some(memory)) {
        Ok(port) => Some(port),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            println!("SKIPPED {test}: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn frames_pass_from_port_to_port_in_shared_memory() {
    let test = "xdp::frames_pass_from_port_to_port_in_shared_memory";
    in_lab(test, || {
        veth("a", "b");
        veth("c", "d");
        let memory = XdpMemory::new(2).expect("10 MB");
        let (mut a, mut d) =
            (PacketPort::open("a").expect("root"), PacketPort::open("d").expect("root"));
        // Opened anew in between: what a closed port had is free again.
        for round in 0..3 {
            let Some(mut b) = xdp(test, "b", &memory) else { return };
            let Some(mut c) = xdp(test, "c", &memory) else { return };
            println!("{}, {}", b.mode().name(), c.mode().name());
            assert!(b.shares_memory_with(&c), "round {round}");
            let long = frame(1_514, 3);
            for turn in 0..400_u16 {
                let bytes = 60 + usize::from(turn);
                let tag = turn.to_be_bytes()[1];
                for sent in [&frame(bytes, tag), &long] {
                    assert!(a.send(sent).expect("a good frame"));
                }
                assert_eq!(a.flush().expect("up").sent, 2);
                let mut passed = 0;
                let deadline = MonotonicClock::now() + crate::in_lab::PATIENCE;
                while passed < 2 {
                    passed += b
                        .receive(32, &mut |_, frame| assert!(c.send(frame).expect("fits")))
                        .expect("up");
                    assert!(MonotonicClock::now() < deadline);
                }
                assert_eq!(c.flush().expect("up").sent, 2);
                let arrived = frames(receive(&mut d, 2));
                assert!(arrived == [frame(bytes, tag), long.clone()], "turn {turn}");
            }
        }
    });
}

#[test]
fn one_frame_goes_out_of_several_ports() {
    let test = "xdp::one_frame_goes_out_of_several_ports";
    in_lab(test, || {
        veth("a", "b");
        veth("c", "d");
        let memory = XdpMemory::new(2).expect("10 MB");
        let (mut a, mut d) =
            (PacketPort::open("a").expect("root"), PacketPort::open("d").expect("root"));
        let Some(mut b) = xdp(test, "b", &memory) else { return };
        let Some(mut c) = xdp(test, "c", &memory) else { return };
        // More often than there are chunks: none is lost on the way.
        for turn in 0..6_000_u16 {
            let sent = frame(80, turn.to_be_bytes()[1]);
            send(&mut a, &sent);
            let mut kept = Vec::new();
            while kept.is_empty() {
                b.receive(1, &mut |_, frame| {
                    assert!(c.send(frame).expect("fits") && c.send(frame).expect("fits"));
                    kept = frame.to_vec();
                })
                .expect("up");
            }
            // And back to where it came from, from memory of another owner.
            assert!(b.send(&kept).expect("fits"));
            assert_eq!((c.flush().expect("up").sent, b.flush().expect("up").sent), (2, 1));
            assert_eq!(frames(receive(&mut d, 2)), [sent.clone(), sent.clone()]);
            assert_eq!(frames(receive(&mut a, 1)), [sent]);
        }
    });
}

#[test]
fn memory_without_room_is_not_shared() {
    let test = "xdp::memory_without_room_is_not_shared";
    in_lab(test, || {
        veth("a", "b");
        let memory = XdpMemory::new(1).expect("5 MB");
        let Some(mut a) = xdp(test, "a", &memory) else { return };
        let mut b = XdpPort::open("b", &COPY, Some(&memory)).expect("memory of its own");
        assert!(!a.shares_memory_with(&b));
        assert_eq!(send(&mut a, &frame(60, 5)).sent, 1);
        assert_eq!(frames(receive(&mut b, 1)), [frame(60, 5)]);
    });
}

#[test]
fn what_stands_in_the_way_is_told() {
    let test = "xdp::what_stands_in_the_way_is_told";
    in_lab(test, || {
        veth("a", "b");
        let memory = XdpMemory::new(1).expect("5 MB");
        let Some(first) = xdp(test, "a", &memory) else { return };
        let refusal = |modes: &[XdpMode]| match XdpPort::open("a", modes, None) {
            Ok(_) => panic!("the hook is taken"),
            Err(error) => error.to_string(),
        };
        let told = refusal(&XdpMode::ALL);
        assert!(told.contains("another program has this hook"), "{told}");
        drop(first);
        IpBatch::new().mtu(&name("a"), 3_000).run().expect("root");
        let told = refusal(&XdpMode::ALL);
        assert!(told.contains("3000 B") && told.contains("ip link set dev a mtu 1770"), "{told}");
        IpBatch::new().mtu(&name("a"), 1_500).run().expect("root");
        let mut port = XdpPort::open("a", &COPY, None).expect("free again");
        fetch(&mut port, &mut Vec::new());
        assert!(XdpPort::open("nowhere", &COPY, None).is_err());
    });
}

#[test]
fn what_a_veth_lacks_for_zero_copy_is_told_and_a_copy_is_made() {
    let test = "xdp::what_a_veth_lacks_for_zero_copy_is_told_and_a_copy_is_made";
    in_lab(test, || {
        veth("a", "b");
        let memory = XdpMemory::new(2).expect("10 MB");
        let Some(mut a) = xdp(test, "a", &memory) else { return };
        let told = a.refusals().join("; ");
        assert!(told.contains("a: bind the AF_XDP socket: native zero-copy:"), "{told}");
        assert!(told.contains("its driver has no zero-copy"), "{told}");
        assert_eq!((a.mode(), a.capabilities().zero_copy), (XdpMode::NativeCopy, false));
        // What was tried in vain is in nobody's way, neither here nor at the next port.
        let only = XdpPort::open("b", &[XdpMode::NativeZeroCopy], Some(&memory));
        let told = only.err().expect("no zero-copy").to_string();
        assert!(told.contains("its driver has no zero-copy"), "{told}");
        let mut b = XdpPort::open("b", &COPY, Some(&memory)).expect("free again");
        assert!(b.refusals().is_empty() && a.shares_memory_with(&b));
        assert_eq!(send(&mut a, &frame(60, 5)).sent, 1);
        assert_eq!(frames(receive(&mut b, 1)), [frame(60, 5)]);
    });
}

/// Cards drop what is addressed to others before any program sees it; of veth it shows only in the count.
#[test]
fn an_interface_passes_on_what_is_addressed_to_others() {
    let test = "xdp::an_interface_passes_on_what_is_addressed_to_others";
    in_lab(test, || {
        veth("a", "b");
        let memory = XdpMemory::new(1).expect("5 MB");
        let promiscuity = || {
            let shown = Command::new("ip").args(["-d", "link", "show", "dev", "a"]).output();
            let shown = String::from_utf8(shown.expect("as for the links").stdout).expect("text");
            let mut words = shown.split_whitespace().skip_while(|word| *word != "promiscuity");
            words.nth(1).and_then(|count| count.parse::<u32>().ok()).expect("a count")
        };
        assert_eq!(promiscuity(), 0);
        let Some(port) = xdp(test, "a", &memory) else { return };
        assert_eq!(promiscuity(), 1);
        drop(port);
        assert_eq!(promiscuity(), 0);
    });
}

/// Frames that nobody fetches hold no more chunks than a port's share: the port beside it goes on.
#[test]
fn a_port_takes_no_more_than_its_share_of_the_memory() {
    let test = "xdp::a_port_takes_no_more_than_its_share_of_the_memory";
    in_lab(test, || {
        veth("a", "b");
        let memory = XdpMemory::new(2).expect("10 MB");
        let mut a = PacketPort::open("a").expect("root");
        let Some(mut b) = xdp(test, "b", &memory) else { return };
        assert!(memory.has_room());
        for _ in 0..200 {
            for number in 0..32 {
                assert!(a.send(&frame(60, number)).expect("a good frame"));
            }
            a.flush().expect("up");
            // One in: what it leaves behind waits in the receive ring, beside a full fill ring.
            b.receive(1, &mut |_, _| ()).expect("up");
            assert!(memory.has_room(), "for a port that is opened later");
        }
    });
}
