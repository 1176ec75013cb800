//! What a switch that cannot start says.

use crate::lab::{Hosts, LISTEN, SWITCH, Switch, has, in_lab, run, tenuto};

#[track_caller]
fn refused(args: &[&str], parts: &[&str]) {
    let (is_done, text) = run(&mut tenuto(&[&["switch"], args].concat()));
    assert!(!is_done, "{args:?}: {text}");
    has(&text, parts);
}

#[test]
fn flags_that_say_nothing_sensible_are_told() {
    refused(&[], &["--port eth1"]);
    refused(&["--port", "eth1,rate=fast"], &["fast"]);
    refused(&["--port", "eth1,colour=red"], &["colour", "number, rate"]);
    refused(&["--port", "eth1,kind=dpdk"], &["dpdk", "packet-ring"]);
    refused(&["--port", "eth1", "--controller", "10.0.0.1"], &["tcp:HOST"]);
    refused(&["--port", "eth1", "--controller", "ptcp:1"], &["--listen"]);
    refused(&["--port", "eth1", "--listen", "tcp:1"], &["ptcp:"]);
    refused(&["--port", "eth1", "--port", "eth1"], &["named twice"]);
    refused(&["--port", "eth1", "--tap", "eth2=x.pcap"], &["no port is called `eth2`"]);
    refused(&["--port", "eth1", "--tls-ca", "x.pem"], &["--tls-cert"]);
    refused(&["--port", "eth1", "--masks", "0"], &["--masks", "from 1 to 100000"]);
    refused(&["--port", "eth1", "--actions", "many"], &["--actions", "from 1 to 100000000"]);
    refused(&["no-such-file.yaml"], &["no-such-file.yaml"]);
}

#[test]
fn a_switch_that_nobody_can_tell_anything_says_so() {
    refused(&["--port", "no-such"], &["nothing will be forwarded", "--fail-mode standalone"]);
    for told in [["--fail-mode", "standalone"], ["--listen", LISTEN], ["--controller", SWITCH]] {
        let (_, text) = run(&mut tenuto(&[&["switch", "--port", "no-such"], &told[..]].concat()));
        assert!(!text.contains("nothing will be forwarded"), "{told:?}: {text}");
    }
}

#[test]
fn what_the_machine_refuses_is_named() {
    in_lab("errors::what_the_machine_refuses_is_named", || {
        let _hosts = Hosts::new(2);
        refused(&["--port", "no-such"], &["no-such", "ip link"]);
        refused(&["--port", "s1", "--controller", "tls:h"], &["--tls-cert"]);
        let _switch = Switch::start(1, &[]);
        refused(&["--port", "s1"], &["s1", "in use by another tenuto switch"]);
        refused(&["--port", "s2", "--listen", "ptcp:6634"], &["6634", "another program listens"]);
    });
}

/// A service manager starts the next one as soon as it has told the last one to end.
#[test]
fn a_switch_may_take_the_place_of_one_that_is_ending() {
    in_lab("errors::a_switch_may_take_the_place_of_one_that_is_ending", || {
        let hosts = Hosts::new(2);
        let first = Switch::start(2, &[]);
        let begin = std::thread::spawn(|| Switch::start(2, &["--fail-mode", "standalone"]));
        first.stop();
        let second = begin.join().expect("it is not refused");
        assert_eq!(hosts.ping(1, 2, 3).0, 3);
        second.stop();
    });
}

#[test]
fn a_file_describes_a_switch_and_flags_override_it() {
    in_lab("errors::a_file_describes_a_switch_and_flags_override_it", || {
        let _hosts = Hosts::new(2);
        let folder = std::env::temp_dir().join(format!("tenuto-switch-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let file = folder.join("switch.yaml");
        let text = "tenuto_switch: 1\nname: edge\nports:\n  - s1\n  - {interface: s2, rate: 10 \
                    Mbit/s, number: 9}\nlisten: [\"ptcp:1\"]\n";
        std::fs::write(&file, text).expect("written");
        let path = file.to_str().expect("UTF-8");
        let mut switch = Switch::start(0, &[path, "--tables", "3"]);
        assert!(switch.told.iter().any(|line| line.contains("2 ports")), "{:?}", switch.told);
        let (_, shown) = run(&mut tenuto(&["dump", "ports", "--switch", "tcp:127.0.0.1:6634"]));
        assert!(shown.contains("9(s2)") && shown.contains("curr_speed:10000kbps"), "{shown}");
        assert!(switch.told.pop().is_some());
        switch.stop();
        std::fs::write(&file, "tenuto_switch: 1\nportz: [s1]\n").expect("written");
        refused(&[path], &["portz", "did you mean", "switch.yaml"]);
    });
}
