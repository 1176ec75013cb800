//! What ports count, and what they leave behind.

use crate::lab::{Hosts, Switch, in_lab, run, tenuto};
use crate::peer::{Peer, join_two};
use std::process::Command;
use tenuto_io::Port;
use tenuto_io::links::{IpBatch, LinkName, offloads_on};
use tenuto_openflow::{Body, MultipartReply, MultipartRequest, PortStats, ReplyBody, RequestBody};

/// More than any ring or buffer holds.
const FLOOD: u64 = 12_000;

fn counters(peer: &mut Peer, port_no: u32) -> PortStats {
    let body = RequestBody::PortStats { port_no };
    peer.send(Body::MultipartRequest(MultipartRequest { flags: 0, body }));
    let answer = peer.wait(|body| matches!(body, Body::MultipartReply(_)));
    match answer.body {
        Body::MultipartReply(MultipartReply { body: ReplyBody::PortStats(ports), .. }) => ports[0],
        other => panic!("{other:?}"),
    }
}

/// A switch that stands still loses frames in its device, and others are too long for it: all of them are in
/// one of its counters.
fn floods(more: &[&str]) {
    let hosts = Hosts::new(2);
    for host in [1, 2] {
        hosts.set_mtu(host, 4_000);
    }
    let mut switch = Switch::start(2, more);
    switch.wait_for("its MTU is 4000 B; frames of more than 1518 B are dropped");
    let mut peer = Peer::connect();
    join_two(&mut peer);
    let mut from = hosts.port(1);
    let mut sent = 0;
    for bytes in [1_519, 1_600, 2_000] {
        sent += from.transmit(&[&vec![2; bytes][..]]).expect("up").sent as u64;
    }
    let is_long_sent = sent > 0;
    peer.barrier();
    switch.signal("STOP");
    let frame = [2_u8; 60];
    for _ in 0..FLOOD / 30 {
        sent += from.transmit(&[&frame[..]; 30]).expect("up").sent as u64;
    }
    switch.signal("CONT");
    let until = std::time::Instant::now() + crate::lab::PATIENCE;
    let it = loop {
        let it = counters(&mut peer, 1);
        let all = it.rx_packets + it.rx_dropped + it.rx_errors;
        if all >= sent || std::time::Instant::now() > until {
            break it;
        }
    };
    println!("{more:?}: {sent} sent, {it:?}");
    assert_eq!(it.rx_packets + it.rx_dropped + it.rx_errors, sent, "{it:?}");
    assert!(it.rx_dropped > 0, "there was no room for all: {it:?}");
    assert!(!is_long_sent || it.rx_errors > 0, "{it:?}");
    // What waits for the device, or is not yet told of a thread, is counted soon.
    let out = loop {
        let out = counters(&mut peer, 2);
        if out.tx_packets + out.tx_dropped >= it.rx_packets || std::time::Instant::now() > until {
            break out;
        }
    };
    assert_eq!(out.tx_packets + out.tx_dropped, it.rx_packets, "{out:?}");
    switch.stop();
}

#[test]
fn every_frame_is_in_one_counter_of_a_ring() {
    in_lab("counts::every_frame_is_in_one_counter_of_a_ring", || floods(&[]));
}

#[test]
fn every_frame_is_in_one_counter_of_a_thread() {
    let threads = ["--io-threads", "1"];
    in_lab("counts::every_frame_is_in_one_counter_of_a_thread", || floods(&threads));
}

#[test]
fn offloads_come_back_at_the_end() {
    in_lab("counts::offloads_come_back_at_the_end", || {
        let mut batch = IpBatch::new();
        batch.add("link add name s1 type veth peer name far").run().expect("root of the lab");
        let link = LinkName::new("s1").expect("a good name");
        let on = || offloads_on(&link).expect("there is one");
        let before = on();
        assert!(before.contains(&"tx") && before.contains(&"gso"), "{before:?}");
        for threads in ["0", "1"] {
            let switch = Switch::start(1, &["--io-threads", threads]);
            assert_eq!(on(), [""; 0], "they are off while it runs");
            switch.stop();
            assert_eq!(on(), before, "--io-threads {threads}");
        }
    });
}

/// Takes as many places as there are and sends a byte now and then on each.
const TRICKLE: &str = "\
trap '' PIPE
all=()
for i in $(seq 64); do exec {one}<>/dev/tcp/127.0.0.1/6634 && all+=($one); done
for i in $(seq 60); do sleep 0.5; for one in \"${all[@]}\"; do printf '\\4' >&$one; done; done 2>/dev/null
";

/// A user whose 64 connections never say anything whole does not keep the tools of others out, and loses them;
/// ten in a second are told of one by one. That it takes 5 s is a test of its own, with a clock as input.
#[test]
fn a_user_that_trickles_does_not_keep_tools_out() {
    const TEST: &str = "counts::a_user_that_trickles_does_not_keep_tools_out";
    in_lab(TEST, || {
        let _hosts = Hosts::new(2);
        let mut switch = Switch::start(2, &[]);
        let mut other = Command::new("setpriv");
        other.args(["--reuid=12345", "--clear-groups", "bash", "-c", TRICKLE]);
        let Ok(mut other) = other.spawn() else {
            return println!("SKIPPED {TEST}: there is no setpriv");
        };
        let until = std::time::Instant::now() + crate::lab::PATIENCE;
        while switch.told.iter().all(|line| !line.contains("16 of user 12345 are connected")) {
            if other.try_wait().expect("a child").is_some() {
                return println!("SKIPPED {TEST}: no other user here");
            }
            assert!(std::time::Instant::now() < until, "{:?}", switch.told);
            switch.wait_for("lost: tcp:127.0.0.1");
        }
        let (is_done, text) = run(&mut tenuto(&["dump", "ports", "--switch", crate::lab::SWITCH]));
        assert!(is_done && text.contains("1(s1)"), "{text}");
        switch.wait_for("no message came in 5 s");
        assert!(other.try_wait().expect("a child").is_none(), "it still trickles");
        other.kill().expect("a child");
        other.wait().expect("a child");
        switch.stop();
    });
}
