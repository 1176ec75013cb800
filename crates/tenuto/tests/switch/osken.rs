//! Under a controller of others: os-ken, where `TENUTO_OSKEN_PYTHON` names a Python that has it.

use crate::lab::{Hosts, Switch, in_lab};
use crate::peer::CONTROLLER;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

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
        let (received, ms) = hosts.ping(1, 2, 50);
        println!("    ping under os-ken: {received} of 50, {ms} ms");
        assert!(received >= 49, "{received}");
        assert!(hosts.ping(3, 1, 10).0 >= 9);
        controller.kill().expect("it runs");
        controller.wait().expect("a child");
        assert_eq!(hosts.ping(1, 2, 10).0, 10, "what it has learned stays");
        switch.stop();
    });
}
