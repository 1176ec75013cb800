//! `tenuto profile --live`: our own switch and an Open vSwitch on a bench of interfaces, and what comes of it.

use crate::lab::{has, has_program, in_lab, run, tenuto};
use crate::open_vswitch::{OpenVswitch, Running};
use crate::peer::CONTROLLER;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tenuto_io::links::{IpBatch, LinkName, VethEnd, disable_ipv6, offloads_off};

/// The bench has `b1` and `b2`, the device `p1` and `p2`.
const LINES: [(&str, &str); 2] = [("b1", "p1"), ("b2", "p2")];
const NET: &str = "tenuto: 1\nhosts: [h1, h2]\nswitches: {s: {profile: ./mine.yaml}}\nlinks:\n  \
    - {ends: [h1, s], rate: 100 Mbit/s}\n  - {ends: [h2, s], rate: 100 Mbit/s}\nflows:\n  \
    f: {source: h1, targets: [h2], frame: 306 B, period: 1 s}\n";

fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("profiled-{test}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder for the test");
    path
}

fn lines() {
    disable_ipv6().expect("root of the lab");
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

/// Our switch with ports of a kind; it calls its controller.
fn ours(kind: &str) -> Running {
    let mut command = tenuto(&["switch", "--datapath-id", "7", "--controller", CONTROLLER]);
    command.args(["--backoff-max", "200ms"]);
    for port in ["p1", "p2"] {
        command.args(["--port", &format!("{port},kind={kind}")]);
    }
    Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program"))
}

/// Measures in `folder`; whether it is done, and what it said.
fn profile(folder: &Path, more: &[&str]) -> (Option<i32>, String) {
    let mut command =
        tenuto(&["profile", "--live", "--ports", "b1,b2", "--listen", "127.0.0.1:6653"]);
    command.args(["--samples", "5", "--time", "90s"]).args(more).current_dir(folder);
    let output = command.output().expect("the program");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout);
    (output.status.code(), if said.is_empty() { text(&output.stderr) } else { said })
}

/// What holds of every device: its profile is of typical times, a plan over it is modelled, and a document tells all.
fn measured_and_planned(folder: &Path) -> Value {
    let (code, said) = profile(folder, &["-o", "mine.yaml", "--report", "page.html"]);
    assert_eq!(code, Some(0), "{said}");
    let parts = ["stamps of the kernel, both ways", "barriers are true", "this machine by itself"];
    has(&said, &parts);
    let yaml = std::fs::read_to_string(folder.join("mine.yaml")).expect("the profile");
    has(&yaml, &["typical: true", "exact: false", "host: {frames:", "changes:", "p95:"]);
    let page = std::fs::read_to_string(folder.join("page.html")).expect("the page");
    assert!(page.matches("<svg").count() >= 6, "{} figures", page.matches("<svg").count());
    std::fs::write(folder.join("net.yaml"), NET).expect("a file for the test");
    let (_, said) = run(tenuto(&["plan", "net.yaml"]).current_dir(folder));
    has(&said, &["MODELLED: 1 of 1 bounds", "nothing is guaranteed"]);
    // Held against what nobody could keep, and what everybody does.
    let held = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("a file for the test");
        let (code, said) = profile(folder, &["--check", name, "--json"]);
        let told: Value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"));
        (code, told)
    };
    let quick = "tenuto_profile: 1\nname: quick\nlike: ideal\nlatency: 1 ns\nentries: 1\n";
    let (code, told) = held("quick.yaml", quick);
    assert_eq!((code, &told["verdict"]), (Some(1), &"exceeded".into()), "{told}");
    let (code, told) = held(
        "slow.yaml",
        "tenuto_profile: 1\nname: slow\nlike: zodiac-fx\nlatency: {min: 0 s, max: 90 s}\nentries: 1\n\
         receive_buffer: unlimited\nprocessor: {base: 90000 ms, link: none, control: none, typical: true}\n",
    );
    let rows = told["rows"].as_array().unwrap_or_else(|| panic!("{told}"));
    assert!(rows.iter().all(|it| it["verdict"] != "exceeded"), "{code:?} {told}");
    let is_silent = |it: &Value| it["verdict"] == "not-observed";
    assert_eq!(code, Some(if rows.iter().any(is_silent) { 3 } else { 0 }), "{told}");
    assert!(rows.iter().all(|it| !it["seen"].is_null() || is_silent(it)));
    assert!(rows.iter().any(|it| it["verdict"] == "kept"));
    told
}

#[test]
fn our_own_switch_is_measured_over_real_interfaces() {
    const TEST: &str = "profiled::our_own_switch_is_measured_over_real_interfaces";
    in_lab(TEST, || {
        lines();
        let folder = folder("ours");
        let _switch = ours("packet-ring");
        let told = measured_and_planned(&folder);
        // A reply means in effect.
        assert_eq!(told["is_barrier_true"], true, "{}", told["changes"]);
        assert_eq!(told["world"], "live");
        assert_eq!(told["meters_refused"], Value::Null, "{told}");
    });
}

#[test]
fn our_own_switch_with_xdp_ports_is_measured() {
    const TEST: &str = "profiled::our_own_switch_with_xdp_ports_is_measured";
    in_lab(TEST, || {
        lines();
        let folder = folder("xdp");
        let _switch = ours("xdp");
        let (code, said) = profile(&folder, &["--json", "--datapath-id", "0x7"]);
        if said.contains("none did in 60 s") {
            return println!("SKIPPED {TEST}: no such ports here");
        }
        assert_eq!(code, Some(0), "{said}");
        let told: Value = serde_json::from_str(&said).expect("a document");
        assert_eq!(
            (&told["verdict"], &told["is_barrier_true"]),
            (&"measured".into(), &true.into())
        );
    });
}

#[test]
fn an_open_vswitch_is_measured_over_real_interfaces() {
    const TEST: &str = "profiled::an_open_vswitch_is_measured_over_real_interfaces";
    if !has_program("ovs-vswitchd", TEST) {
        return;
    }
    in_lab(TEST, || {
        lines();
        let folder = folder("ovs");
        let _other = OpenVswitch::start(&["p1", "p2"], Some(7));
        let told = measured_and_planned(&folder);
        // What it told of its changes was watched, whatever came of it.
        let changes = told["changes"].as_array().expect("changes");
        assert!(changes.is_empty() || told["is_barrier_true"].is_boolean(), "{told}");
    });
}

#[test]
fn what_is_wrong_with_a_bench_is_told() {
    const TEST: &str = "profiled::what_is_wrong_with_a_bench_is_told";
    in_lab(TEST, || {
        lines();
        let folder = folder("wrong");
        let (code, said) = profile(&folder, &["--connect", "127.0.0.1:9"]);
        assert_eq!(code, Some(2), "{said}");
        let refused = |args: &[&str], part: &str| {
            let (is_done, said) = run(tenuto(&["profile", "--live"]).args(args));
            assert!(!is_done && said.contains(part), "{args:?}: {said}");
        };
        refused(&["--ports", "b1"], "--ports has one interface");
        refused(&["--ports", "b1,b1"], "--ports names b1 twice");
        refused(&["--ports", "b1,none"], "interface none");
        refused(&["--ports", "b1,b2", "--connect", "127.0.0.1:9"], "the switch at tcp:127.0.0.1:9");
        refused(&["--ports", "b1,b2", "--stamps", "device"], "no clock in common");
        refused(&["--ports", "b1,b2", "--listen", "192.0.2.1:6653"], "192.0.2.1");
        refused(&[], "--ports");
        // A switch that is not wired to the bench.
        let mut command = tenuto(&["switch", "--controller", CONTROLLER, "--backoff-max", "200ms"]);
        let far = ("far1", "far2");
        let end = |text: &str| VethEnd {
            name: LinkName::new(text).expect("a good name"),
            pid: None,
            mac: None,
        };
        let (one, other) = (end(far.0), end(far.1));
        IpBatch::new()
            .veth_pair(&one, &other)
            .up(&one.name)
            .up(&other.name)
            .run()
            .expect("root of the lab");
        command.args(["--port", far.0]).stdout(Stdio::null()).stderr(Stdio::null());
        let _far = Running(command.spawn().expect("the program"));
        let (code, said) = profile(&folder, &[]);
        assert_eq!(code, Some(3), "{said}");
        has(&said, &["interface b1 sees nothing that the device sends by its ports (1)"]);
    });
}
