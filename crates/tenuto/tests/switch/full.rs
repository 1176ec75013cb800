//! Ports whose devices are slower than what is sent to them.

use crate::lab::{Hosts, PATIENCE, Switch, in_lab};
use crate::peer::{Peer, out};
use std::time::Instant;
use tenuto_io::links::IpBatch;
use tenuto_io::{Port, TapPort};
use tenuto_openflow::{Action, Oxm};

/// Rounds, each of some frames of the lowest priority and one of the highest.
const ROUNDS: u32 = 400;
const FLOOD_AT_ONCE: u32 = 8;
/// Frames that leave in each round.
const TAKEN_AT_ONCE: usize = 2;
/// Frames that wait in the device.
const DEVICE_FRAMES: u32 = 16;

fn frame(number: u32) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1]);
    (frame[12], frame[13]) = (0x88, 0xb5);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

/// Takes some frames out of the device: numbers of victims, and how many others.
fn take(device: &mut TapPort, most: usize, victims: &mut Vec<u32>, others: &mut u32) {
    let mut sink = |_, bytes: &[u8]| {
        let number = bytes[14..].first_chunk().map(|it| u32::from_be_bytes(*it));
        match number.expect("60 bytes") {
            0 => *others += 1,
            number => victims.push(number),
        }
    };
    device.receive(most, &mut sink).expect("it is there");
}

/// A device that takes two frames of nine, and holds a few: all that is sent leaves in the end, as it finds
/// room in the buffer of its port, and nobody loses a frame in the device.
fn slow_device(kind: &str, threads: &[&str]) {
    let hosts = Hosts::new(2);
    let mut device = TapPort::open("slow").expect("root of the lab");
    let queue = format!("link set dev slow txqueuelen {DEVICE_FRAMES}");
    IpBatch::new().add(queue).run().expect("root of the lab");
    let port = format!("slow,kind={kind},queues=8");
    let switch = Switch::start(2, &[&["--port", &port], threads].concat());
    let mut peer = Peer::connect();
    for (in_port, queue) in [(1, 0), (2, 7)] {
        peer.add(1, vec![Oxm::InPort(in_port)], vec![Action::SetQueue(queue), out(3)]);
    }
    peer.barrier();
    let (mut sender, mut flooder) = (hosts.port(1), hosts.port(2));
    let (mut victims, mut others) = (Vec::new(), 0);
    for number in 1..=ROUNDS {
        for _ in 0..FLOOD_AT_ONCE {
            flooder.transmit(&[&frame(0)]).expect("it is there");
        }
        sender.transmit(&[&frame(number)]).expect("it is there");
        take(&mut device, TAKEN_AT_ONCE, &mut victims, &mut others);
    }
    let until = Instant::now() + PATIENCE;
    while (victims.len() as u64) < u64::from(ROUNDS) || others < ROUNDS * FLOOD_AT_ONCE {
        if Instant::now() > until {
            break;
        }
        take(&mut device, 1, &mut victims, &mut others);
    }
    println!("{kind} {threads:?}: {} victims, {others} others", victims.len());
    assert!(victims.iter().copied().eq(1..=ROUNDS), "{kind}: {} victims", victims.len());
    assert_eq!(others, ROUNDS * FLOOD_AT_ONCE, "{kind}");
    println!("{}", switch.stop());
}

#[test]
fn a_slow_device_keeps_the_order_of_its_queues() {
    in_lab("full::a_slow_device_keeps_the_order_of_its_queues", || {
        slow_device("packet-ring", &[]);
    });
}

#[test]
fn a_slow_device_without_rings_keeps_the_order_of_its_queues() {
    in_lab("full::a_slow_device_without_rings_keeps_the_order_of_its_queues", || {
        slow_device("packet", &[]);
    });
}

#[test]
fn a_slow_device_on_xdp_keeps_the_order_of_its_queues() {
    in_lab("full::a_slow_device_on_xdp_keeps_the_order_of_its_queues", || {
        slow_device("xdp", &[]);
    });
}

#[test]
fn a_slow_device_of_another_thread_keeps_the_order_of_its_queues() {
    in_lab("full::a_slow_device_of_another_thread_keeps_the_order_of_its_queues", || {
        slow_device("packet-ring", &["--io-threads", "1"]);
    });
}
