//! Reactive applications, live: for our switch and for Open vSwitch.

use crate::lab::{Hosts, PATIENCE, Switch, has_program, in_lab, tenuto};
use crate::open_vswitch::{OpenVswitch, Running};
use crate::peer::CONTROLLER;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;
use tenuto_io::links::{IpBatch, LinkName, VethEnd, offloads_off};
use tenuto_io::signals::Signal;

/// A running application.
struct App {
    child: Child,
    lines: Receiver<String>,
}

impl App {
    /// Starts one, and waits until switches may connect.
    fn start(args: &[&str]) -> Self {
        let mut command = tenuto(args);
        command.args(["--listen", CONTROLLER]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                println!("    app: {line}");
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        let app = Self { child, lines };
        app.wait_for("listening at tcp:127.0.0.1:6653");
        app
    }

    fn wait_for(&self, part: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            if line.unwrap_or_else(|_| panic!("it never said `{part}`")).contains(part) {
                return;
            }
        }
    }

    /// Ends it; it has made no mistake.
    fn stop(mut self) -> String {
        Signal::Terminate.send(self.child.id()).expect("it runs");
        let mut text = String::new();
        let mut stdout = self.child.stdout.take().expect("piped");
        stdout.read_to_string(&mut text).expect("text");
        let status = self.child.wait().expect("a child");
        assert!(status.success() && text.contains(" 0 faults"), "{status}: {text}");
        text
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hosts reach each other, however long the first packets take; what is installed stays.
fn reach(hosts: &Hosts, pairs: &[(usize, usize)]) {
    let until = Instant::now() + PATIENCE;
    for &(from, to) in pairs {
        while hosts.ping(from, to, 1).0 != 1 {
            assert!(Instant::now() < until, "{from} does not reach {to}");
        }
        assert_eq!(hosts.ping(from, to, 20).0, 20, "{from} to {to}");
    }
}

fn learns(args: &[&str]) {
    let hosts = Hosts::new(3);
    let app = App::start(args);
    let switch = Switch::start(3, &["--controller", CONTROLLER, "--backoff-max", "300ms"]);
    app.wait_for("switch 0x2a is up");
    reach(&hosts, &[(1, 2), (3, 1)]);
    app.stop();
    switch.stop();
}

#[test]
fn a_learning_switch_runs_by_name() {
    in_lab("applications::a_learning_switch_runs_by_name", || learns(&["app", "learning-switch"]));
}

#[test]
fn a_learning_switch_runs_with_attendre() {
    in_lab("applications::a_learning_switch_runs_with_attendre", || {
        learns(&["controller", "--app", "learning-switch", "--attendre"]);
    });
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/examples/learning_switch.py")
}

#[test]
fn a_learning_switch_in_python_runs() {
    const TEST: &str = "applications::a_learning_switch_in_python_runs";
    if has_program("python3", TEST) {
        let example = example();
        in_lab(TEST, || learns(&["app", example.to_str().expect("text"), "--check-determinism"]));
    }
}

#[test]
fn what_is_no_application_is_told() {
    for (args, part) in [
        (&["app", "learning"][..], "no application is called `learning`"),
        (&["app", "missing.py"], "missing.py"),
        (&["app", "firewall", "--set", "inner=3"], "no setting `inner`"),
        (&["app", "firewall", "--listen", "here"], "127.0.0.1:6653"),
        (&["controller"], "NET"),
    ] {
        let output = tenuto(args).output().expect("the program");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(part), "{args:?}: {text}");
    }
}

/// One application, two switches with a link between them.
#[test]
fn two_switches_learn() {
    in_lab("applications::two_switches_learn", || {
        let hosts = Hosts::new(2);
        let end = |text: &str| VethEnd {
            name: LinkName::new(text).expect("a good name"),
            pid: None,
            mac: None,
        };
        let (a, b) = (end("t1"), end("t2"));
        let mut batch = IpBatch::new();
        batch.veth_pair(&a, &b).up(&a.name).up(&b.name).run().expect("root of the lab");
        for end in [&a, &b] {
            offloads_off(&end.name).expect("root of the lab");
        }
        let app = App::start(&["app", "learning-switch"]);
        let mut switches: Vec<Running> = ["1", "2"]
            .map(|id| {
                let mut command =
                    tenuto(&["switch", "--datapath-id", id, "--controller", CONTROLLER]);
                command.args(["--port", &format!("s{id}"), "--port", &format!("t{id}")]);
                Running(command.stdout(Stdio::null()).spawn().expect("the program"))
            })
            .into();
        app.wait_for("is up");
        app.wait_for("is up");
        reach(&hosts, &[(1, 2), (2, 1)]);
        switches.clear();
        app.wait_for("is down");
        app.stop();
    });
}

fn open_vswitch_learns(app: &str) {
    let hosts = Hosts::new(3);
    let app = App::start(&["app", app]);
    let switch = OpenVswitch::start(&["s1", "s2", "s3"], None);
    app.wait_for("is up");
    reach(&hosts, &[(1, 2), (3, 1)]);
    drop(switch);
    app.stop();
}

#[test]
fn open_vswitch_is_taught() {
    const TEST: &str = "applications::open_vswitch_is_taught";
    if has_program("ovs-vswitchd", TEST) {
        in_lab(TEST, || open_vswitch_learns("learning-switch"));
    }
}

#[test]
fn open_vswitch_is_taught_in_python() {
    const TEST: &str = "applications::open_vswitch_is_taught_in_python";
    if has_program("ovs-vswitchd", TEST) && has_program("python3", TEST) {
        let example = example();
        in_lab(TEST, || open_vswitch_learns(example.to_str().expect("text")));
    }
}
