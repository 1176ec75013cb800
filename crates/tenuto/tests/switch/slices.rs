//! Slices of one switch: hosts of one do not reach those of the other, and controllers of others work in theirs.

use crate::lab::{Hosts, PATIENCE, SWITCH, Switch, has, has_program, in_lab, said, tenuto};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Two slices with a port in common: hosts 1, 2 and 4 stand at ports of `a`, hosts 4 to 6 at ports of `b`. Each is
/// told by its addresses; host 4 is one of `b`.
const SLICES: &str = "tenuto_slices: 1\nslices:\n  \
    a: {datapath_id: 0x101, ports: [s1, s2, s4], addresses: [10.0.0.0/30], listen: [\"ptcp:6701\"], MODE_A}\n  \
    b: {datapath_id: 0x102, ports: [s4, s5, s6], addresses: [10.0.0.4/30], listen: [\"ptcp:6702\"], MODE_B}\n";

struct File(PathBuf);

impl File {
    fn new(test: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tenuto-{test}-{}.yaml", std::process::id()));
        std::fs::write(&path, text).expect("a folder for temporary files");
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn start(file: &File) -> Switch {
    let ports: Vec<String> = (1..=6).map(|n| format!("s{n},rate=100Mbit/s")).collect();
    let mut args: Vec<&str> = ports.iter().flat_map(|port| ["--port", port.as_str()]).collect();
    args.extend(["--backoff-max", "300ms", "--slices", file.path()]);
    Switch::start(0, &args)
}

fn asked(args: &[&str]) -> String {
    said(&mut tenuto(args))
}

/// A program that is ended with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn reach(hosts: &Hosts, from: usize, to: usize) {
    let until = Instant::now() + PATIENCE;
    while hosts.ping(from, to, 3).0 < 3 {
        assert!(Instant::now() < until, "{from} does not reach {to}");
    }
}

#[test]
fn hosts_of_two_slices_share_a_port_and_do_not_meet() {
    in_lab("slices::hosts_of_two_slices_share_a_port_and_do_not_meet", || {
        let hosts = Hosts::new(6);
        let text = SLICES.replace("MODE_A", "fail_mode: standalone");
        let file = File::new("slices", &text.replace("MODE_B", "fail_mode: standalone"));
        let mut switch = start(&file);
        switch.wait_for("slice b is up: datapath 0x102");
        reach(&hosts, 1, 2);
        reach(&hosts, 5, 6);
        reach(&hosts, 4, 5);
        assert_eq!(hosts.ping(1, 4, 3).0, 0, "port s4 is one of a, host 4 is not");
        assert_eq!(hosts.ping(1, 5, 3).0, 0);
        let slices = asked(&["dump", "slices", "--switch", SWITCH]);
        has(
            &slices,
            &["a dpid=0x0000000000000101 ports=1,2,4", "b dpid=0x0000000000000102 ports=4,5,6"],
        );
        let own = asked(&["dump", "ports", "--switch", "tcp:127.0.0.1:6701"]);
        assert!(own.contains("(s2)") && !own.contains("(s5)"), "{own}");
        assert_eq!(
            asked(&["dump", "slices", "--switch", "tcp:127.0.0.1:6702"]),
            " # no slices: the switch is not shared, or does not tell\n",
            "no tenant is told"
        );
        switch.stop();
    });
}

/// Controllers that know nothing of slices, each in its own: os-ken's learning switch in one, that of Open vSwitch in
/// the other.
#[test]
fn controllers_of_others_work_in_their_slices() {
    const TEST: &str = "slices::controllers_of_others_work_in_their_slices";
    let python = std::env::var("TENUTO_OSKEN_PYTHON").ok().filter(|path| !path.is_empty());
    let has_ovs = has_program("ovs-testcontroller", TEST);
    if python.is_none() {
        println!("SKIPPED {TEST}: TENUTO_OSKEN_PYTHON names no Python that has os-ken");
    }
    let (Some(python), true) = (python, has_ovs) else { return };
    in_lab(TEST, || {
        let hosts = Hosts::new(6);
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/switch");
        let _osken = Program(
            Command::new(&python)
                .arg("learning.py")
                .current_dir(folder)
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .env("PYTHONPATH", folder)
                .env("OSKEN_HUB_TYPE", "eventlet")
                .stdout(Stdio::null())
                .spawn()
                .expect("TENUTO_OSKEN_PYTHON names a Python"),
        );
        let _ovs = Program(
            Command::new("ovs-testcontroller")
                .args(["ptcp:6655", "--unixctl=none"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("it was probed"),
        );
        let controller = |at: &str| format!("controllers: [\"{at}\"]");
        let text = SLICES.replace("MODE_A", &controller(crate::peer::CONTROLLER));
        let file = File::new("tenants", &text.replace("MODE_B", &controller("tcp:127.0.0.1:6655")));
        let switch = start(&file);
        reach(&hosts, 1, 2);
        reach(&hosts, 5, 6);
        reach(&hosts, 4, 5);
        assert_eq!((hosts.ping(1, 4, 3).0, hosts.ping(2, 5, 3).0), (0, 0));
        switch.stop();
    });
}

#[test]
fn slices_that_cannot_be_are_refused_by_name() {
    in_lab("slices::slices_that_cannot_be_are_refused_by_name", || {
        let _hosts = Hosts::new(2);
        let refused = |slices: &str, port: &str| {
            let file = File::new("refused", &format!("tenuto_slices: 1\nslices:\n{slices}"));
            let args = ["switch", "--port", port, "--port", "s2", "--slices", file.path()];
            let output = tenuto(&args).output().expect("the program");
            assert_eq!(output.status.code(), Some(2));
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        let two = |a: &str, b: &str| {
            format!("  a: {{datapath_id: 1, {a}}}\n  b: {{datapath_id: 2, {b}}}\n")
        };
        let paced = "s1,rate=10Mbit/s";
        let overlap = refused(&two("ports: [s1]", "ports: [s1], vlans: [7]"), paced);
        assert!(overlap.contains("slices a and b would both own some frames"), "{overlap}");
        let unpaced = refused(&two("ports: [s1], vlans: [6]", "ports: [s1], vlans: [7]"), "s1");
        assert!(unpaced.contains("slices share port s1: it needs a rate"), "{unpaced}");
        let shares = "ports: {s1: 6 Mbit/s}, vlans: ";
        let more = refused(&two(&format!("{shares}[6]"), &format!("{shares}[7]")), paced);
        assert!(more.contains("slices have 12000000 bit/s of port s1"), "{more}");
        let absent = refused("  a: {datapath_id: 1, ports: [s9]}\n", paced);
        assert!(absent.contains("slice a: no port is called `s9`"), "{absent}");
    });
}
