//! Under a controller of others: os-ken, where `TENUTO_OSKEN_PYTHON` names a Python that has it.

use crate::lab::{Hosts, PATIENCE, Switch, in_lab};
use crate::peer::CONTROLLER;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

#[test]
fn an_os_ken_controller_learns_through_us() {
    const TEST: &str = "osken::an_os_ken_controller_learns_through_us";
    let python = std::env::var("TENUTO_OSKEN_PYTHON").ok().filter(|path| !path.is_empty());
    let Some(python) = python else {
        return println!("SKIPPED {TEST}: TENUTO_OSKEN_PYTHON names no Python that has os-ken");
    };
    in_lab(TEST, || {
        let hosts = Hosts::new(3);
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/switch");
        let mut controller = Command::new(&python)
            .arg("learning.py")
            .current_dir(folder)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONPATH", folder)
            .env("OSKEN_HUB_TYPE", "eventlet")
            .stdout(Stdio::piped())
            .spawn()
            .expect("TENUTO_OSKEN_PYTHON names a Python");
        let switch = Switch::start(3, &["--controller", CONTROLLER, "--backoff-max", "300ms"]);
        let stdout = BufReader::new(controller.stdout.take().expect("piped"));
        let said = stdout.lines().map_while(Result::ok).find(|line| line.starts_with("datapath"));
        assert_eq!(said.as_deref(), Some("datapath 42"));
        // It learns at its own pace, which other programs of the machine may slow down.
        let until = Instant::now() + PATIENCE;
        for (from, to) in [(1, 2), (3, 1)] {
            while !(0..3).all(|_| hosts.ping(from, to, 1).0 == 1) {
                assert!(Instant::now() < until, "{from} does not reach {to}");
            }
        }
        controller.kill().expect("it runs");
        controller.wait().expect("a child");
        for (from, to) in [(1, 2), (3, 1)] {
            assert_eq!(hosts.ping(from, to, 50).0, 50, "what it has learned stays");
        }
        switch.stop();
    });
}
