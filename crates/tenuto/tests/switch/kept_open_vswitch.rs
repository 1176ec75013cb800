//! A vehicle of one mode, one of its switches an Open vSwitch: kept by the service, audited, repaired.

use crate::lab::{PATIENCE, has_program, in_lab, tenuto};
use crate::open_vswitch::{OpenVswitch, Running};
use crate::peer::CONTROLLER;
use crate::service::{Service, frame, take};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;
use tenuto_io::links::{IpBatch, LinkName, VethEnd, offloads_off};
use tenuto_io::{Interest, MonotonicClock, PacketPort, PollSet, Port};
use tenuto_units::Span;

/// Hosts have the addresses 10.0.0.1 to 10.0.0.4 in this order.
const NET: &str = "\
tenuto: 1
name: vehicle-of-one-mode
hosts: {s1: {}, d1: {}, s2: {}, d2: {}}
switches: {sw1: {profile: tenuto, dpid: 1}, sw2: {profile: open-vswitch, dpid: 2}, sw3: {profile: tenuto, dpid: 3}}
defaults: {link: {rate: 100 Mbit/s, length: 2 m}, flow: {match: five-tuple}}
links:
  - {ends: [s1, sw1]}
  - {ends: [s2, sw1]}
  - {ends: [sw1, sw2]}
  - {ends: [sw2, sw3]}
  - {ends: [sw3, d1]}
  - {ends: [sw2, d2]}
flows:
  LIDAR:  {source: s1, targets: [d1], payload: 100 B, period: 25 ms, priority: 0}
  CAM:    {source: s1, targets: [d1], message: 40 kB, period: 200 ms, priority: 1}
  STREAM: {source: s2, targets: [d2], message: 50 kB, period: 40 ms, priority: 2}
";
/// Both ends of every line, in the lab's own namespace.
const LINES: [(&str, &str); 6] =
    [("s1h", "s1"), ("s2h", "s2"), ("t1", "t2"), ("t3", "t4"), ("d1h", "d1"), ("d2h", "d2")];

fn lines() {
    let end = |text: &str| VethEnd {
        name: LinkName::new(text).expect("a good name"),
        pid: None,
        mac: None,
    };
    for (one, other) in LINES.map(|(one, other)| (end(one), end(other))) {
        let mut batch = IpBatch::new();
        let batch = batch.veth_pair(&one, &other).up(&one.name).up(&other.name);
        batch.run().expect("root of the lab");
        offloads_off(&one.name).expect("root of the lab");
        offloads_off(&other.name).expect("root of the lab");
    }
}

fn switch(name: &str, id: &str, ports: &[&str]) -> Running {
    let mut command = tenuto(&["switch", "--name", name, "--datapath-id", id]);
    command.args(["--meter-bytes", "wire", "--controller", CONTROLLER, "--backoff-max", "200ms"]);
    for port in ports {
        command.args(["--port", &format!("{port},rate=100Mbit/s")]);
    }
    Running(command.stdout(Stdio::null()).spawn().expect("the program"))
}

fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("switch-ovs-{test}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder for the test");
    std::fs::write(path.join("one.yaml"), NET).expect("a file for the test");
    path
}

/// The alarm of a kind at the switch of others.
fn alarm<'a>(alarms: &'a Value, kind: &str) -> Option<&'a Value> {
    alarms.as_array()?.iter().find(|it| it["kind"] == kind && it["place"] == "sw2")
}

fn is_raised(alarms: &Value, kind: &str) -> bool {
    alarm(alarms, kind).is_some_and(|it| it["is_raised"] == json!(true))
}

/// Waits until a message from `s1` reaches `d1` by way of all three.
fn reaches(number: u32) {
    let open = |name: &str| PacketPort::open(name).expect("root of the lab");
    let (mut from, mut to) = (open("s1h"), open("d1h"));
    let mut poll = PollSet::new();
    poll.add(to.poll_fd().expect("pollable"), Interest::Read);
    assert!(from.send(&frame(1, 20_000, number)).expect("it fits"));
    from.flush().expect("it is there");
    let (mut came, end) = (Vec::new(), Instant::now() + PATIENCE);
    while !came.contains(&(20_000, number)) {
        assert!(Instant::now() < end, "{came:?}");
        poll.wait(Some(MonotonicClock::now() + Span::from_ms(100))).expect("poll");
        take(&mut to, &mut came);
    }
}

#[test]
fn an_open_vswitch_is_kept_audited_and_repaired() {
    const TEST: &str = "kept_open_vswitch::an_open_vswitch_is_kept_audited_and_repaired";
    if has_program("ovs-vswitchd", TEST) {
        in_lab(TEST, keeps);
    }
}

fn keeps() {
    let folder = folder("kept");
    lines();
    let service = Service::start_with(&folder, "one.yaml", &[]);
    let _sw1 = switch("sw1", "1", &["s1", "s2", "t1"]);
    let other = OpenVswitch::start(&["t2", "t3", "d2"], Some(2));
    let _sw3 = switch("sw3", "3", &["t4", "d1"]);
    let status = service.until("/v1/status", |it| it["installed"] == json!(0));
    assert_eq!(status["modelled"], json!(true), "its times are typical: {status}");
    reaches(1);
    // What OpenFlow cannot configure is told, and is over once its own tool has done it.
    let told = service.until("/v1/alarms", |it| is_raised(it, "queues-missing"));
    let text = alarm(&told, "queues-missing").expect("it is raised")["text"].to_string();
    assert!(text.contains("port 3 to d2: no queue 0, 1, 2"), "{text}");
    assert!(!is_raised(&told, "switch-limits"), "{told}");
    for (port, queues) in [("t3", 2), ("d2", 3)] {
        let names: Vec<String> = (0..queues).map(|it| format!("queues:{it}=@q{it}")).collect();
        let make = |it: usize| vec!["--".to_owned(), format!("--id=@q{it}"), "create".to_owned()];
        let mut args = vec!["set", "port", port, "qos=@all", "--", "--id=@all", "create", "qos"];
        args.push("type=linux-htb");
        args.extend(names.iter().map(String::as_str));
        let made: Vec<Vec<String>> = (0..queues).map(make).collect();
        for one in &made {
            args.extend(one.iter().map(String::as_str));
            args.extend(["queue", "other-config:min-rate=1000000"]);
        }
        other.vsctl(&args);
    }
    service.until("/v1/alarms", |it| !is_raised(it, "queues-missing"));
    // A flow comes, and its entry is there.
    let flow = json!({"source": "s2", "targets": ["d2"], "payload": "100 B", "period": "50 ms", "priority": 1});
    let added =
        service.call("POST", "/v1/flows", &json!({"name": "MORE", "flow": flow}).to_string());
    let added = added.expect("an answer");
    assert!(added["state"] == "confirmed" || added["state"] == "certified", "{added}");
    // Somebody deletes an entry of a flow: told, and repaired.
    let lidar = ["cookie=0x1/-1"];
    let entries = |cookie: &str| other.ofctl("dump-flows", &[cookie]).matches("cookie=").count();
    assert_eq!((entries("cookie=0x1/-1"), entries("cookie=0x4/-1")), (1, 1));
    other.ofctl("del-flows", &lidar);
    service.until("/v1/alarms", |it| {
        alarm(it, "drift").is_some_and(|it| it["is_raised"] == json!(false))
    });
    assert_eq!(entries("cookie=0x1/-1"), 1);
    reaches(2);
    // It comes back from a restart of its own by itself.
    drop(other);
    service.until("/v1/alarms", |it| is_raised(it, "switch-gone"));
    let again = OpenVswitch::start(&["t2", "t3", "d2"], Some(2));
    service.until("/v1/alarms", |it| !is_raised(it, "switch-gone"));
    assert_eq!(again.ofctl("dump-flows", &["cookie=0x4/-1"]).matches("cookie=").count(), 1);
    reaches(3);
}

#[test]
fn flows_of_several_modes_through_an_open_vswitch_are_refused_by_name() {
    let folder = folder("modes");
    let several = NET
        .replace("hosts:", "modes: [LO, HI]\nmode_return: {quiet: 500 ms}\nhosts:")
        .replace("priority: 0", "level: HI, priority: 0")
        .replace("priority: 1", "level: HI, priority: 1")
        .replace("priority: 2", "level: LO, out_of_mode: drop, priority: 2");
    std::fs::write(folder.join("several.yaml"), several).expect("a file for the test");
    for verb in [&["plan", "several.yaml"][..], &["controller", "several.yaml", "--state", "none"]]
    {
        let output = tenuto(verb).current_dir(&folder).output().expect("the program");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("these switches cannot change them: sw2"), "{text}");
    }
}
