//! `tenuto dump`, `tenuto trace` and captures, beside a running switch.

use crate::lab::{Hosts, SWITCH, Switch, has, in_lab, run, said, tenuto};
use crate::peer::{Peer, join_two, out};
use tenuto_openflow::{
    Action, Body, Experimenter, FlowMod, FlowModCommand, Instruction, Match, ModeConfig,
    ModesMessage, Oxm, QueueShare, QueuesMessage,
};

fn asked(args: &[&str]) -> String {
    said(&mut tenuto(args))
}

#[test]
fn a_frame_is_explained_without_being_counted() {
    in_lab("tools::a_frame_is_explained_without_being_counted", || {
        let _hosts = Hosts::new(2);
        let switch = Switch::start(2, &[]);
        let mut peer = Peer::connect();
        join_two(&mut peer);
        let flows = asked(&["dump", "flows", "--switch", SWITCH]);
        assert!(flows.contains("n_packets=0") && flows.contains("in_port=1 actions=output:2"));
        let traced = asked(&["trace", "--switch", SWITCH, "in_port=1,ipv4_dst=10.0.0.9,udp_dst=7"]);
        has(
            &traced,
            &["table 0", "in_port=1 actions=output:2", "out by port 2 (s2)", "as it came"],
        );
        let again = asked(&["dump", "flows", "--switch", SWITCH]);
        assert!(again.contains("n_packets=0"), "{again}");
        // The same from a file, with the switch gone.
        let file = std::env::temp_dir().join(format!("tenuto-dump-{}", std::process::id()));
        let path = file.to_str().expect("UTF-8");
        asked(&["dump", "all", "--switch", SWITCH, "-o", path]);
        switch.stop();
        let packet = "in_port=1,ipv4_dst=10.0.0.9,udp_dst=7";
        assert_eq!(asked(&["trace", "--dump", path, packet]), traced);
        let hex = ["--frame", "0200000000020200000000018100000508004500", "--port", "2"];
        let other = asked(&[&["trace", "--dump", path][..], &hex].concat());
        assert!(other.contains("vlan_vid=5") && other.contains("out by port 1"), "{other}");
        assert!(asked(&["dump", "flows", "--dump", path]).contains("priority=10,in_port=2"));
        let _ = std::fs::remove_file(&file);
    });
}

#[test]
fn entries_of_other_modes_and_shares_of_queues_are_shown() {
    in_lab("tools::entries_of_other_modes_and_shares_of_queues_are_shown", || {
        let _hosts = Hosts::new(2);
        let _switch = Switch::start(2, &[]);
        let mut peer = Peer::connect();
        let plain = asked(&["dump", "flows", "--switch", SWITCH]);
        assert!(!plain.contains("mode"), "without modes nothing is said of them: {plain}");
        let modes = |message| Body::Experimenter(Experimenter::Modes(message));
        peer.send(modes(ModesMessage::ModeConfig(ModeConfig {
            generation: 3,
            levels: 2,
            quiet_ns: 1_000_000_000,
            signal_copies: 1,
            dwell_ns: 0,
            members: vec![0x2a],
        })));
        peer.send(modes(ModesMessage::ModeActivate { generation: 3, epoch: 1, level: 0 }));
        let entry = |actions: Vec<Action>| FlowMod {
            cookie: 1,
            match_: Match::from(vec![Oxm::InPort(1)]),
            instructions: vec![Instruction::ApplyActions(actions)],
            ..FlowMod::new(FlowModCommand::Add, 2)
        };
        peer.send(Body::FlowMod(entry(vec![Action::SetQueue(1), out(2)])));
        let flow_mod = entry(vec![out(2)]);
        peer.send(modes(ModesMessage::ShadowFlowMod { level: 1, flow_mod }));
        let share = |queue, weight| QueueShare { queue, level: 1, weight };
        let shares = vec![share(1, 3), share(2, 1)];
        let queue_mod = QueuesMessage::QueueMod { port: 2, shares };
        peer.send(Body::Experimenter(Experimenter::Queues(queue_mod)));
        peer.barrier();
        let flows = asked(&["dump", "flows", "--switch", SWITCH]);
        has(
            &flows,
            &[
                "# in force: mode level 0, admitted level 0, epoch 1",
                "actions=set_queue:1,output:2 # mode level 0",
                "# mode level 1: cookie=0x1",
            ],
        );
        let queues = asked(&["dump", "queues", "--switch", SWITCH]);
        assert!(queues.contains("level 1 weight 3, waiting 0 frames"), "{queues}");
        let document = asked(&["dump", "queues", "--json", "--switch", SWITCH]);
        assert!(document.contains("\"weight\": 3"), "{document}");
    });
}

#[test]
fn what_passes_a_port_is_captured() {
    const TEST: &str = "tools::what_passes_a_port_is_captured";
    in_lab(TEST, || {
        let hosts = Hosts::new(2);
        let file = std::env::temp_dir().join(format!("tenuto-tap-{}.pcap", std::process::id()));
        let path = file.to_str().expect("UTF-8");
        let tap = format!("s2={path},bytes=1MB,only=tx");
        let switch = Switch::start(2, &["--fail-mode", "standalone", "--tap", &tap]);
        assert_eq!(hosts.ping(1, 2, 5).0, 5);
        switch.stop();
        let bytes = std::fs::read(&file).expect("written");
        assert_eq!(bytes[..4], 0xa1b2_3c4d_u32.to_ne_bytes(), "nanoseconds");
        // An ARP request and five pings at least went out there.
        let traced = asked(&["trace", "--help"]);
        assert!(traced.contains("--pcap"));
        assert!(bytes.len() >= 24 + 6 * (16 + 42), "{} bytes", bytes.len());
        let _ = std::fs::remove_file(&file);
    });
}

#[test]
fn a_plan_is_explained_offline() {
    let network = concat!(env!("CARGO_MANIFEST_DIR"), "/../../networks/vehicle.yaml");
    let at = |port: u32, host: u32, to: u32, flow: u32| {
        format!("in_port={port},udp,nw_src=10.0.0.{host},nw_dst=10.0.0.{to},tp_dst={flow}")
    };
    let camera = asked(&["trace", network, "--at", "sw1", &at(1, 1, 3, 20_001)]);
    has(
        &camera,
        &["flow CAM", "monitor:1", "meter 2: it passes", "out by port 3 (to sw2), queue 1"],
    );
    let stream = at(2, 2, 4, 20_002);
    let stream = asked(&["trace", network, "--at", "sw1", "--mode", "HI", &stream]);
    has(&stream, &["flow STREAM", "mode HI", "its flow has no place in this mode"]);
    let (is_done, text) = run(&mut tenuto(&["trace", network, "in_port=1"]));
    assert!(!is_done && text.contains("switches: sw1"), "{text}");
}

/// As the kernel has it: of a veth pair 10 Gbit/s; of a port with a rate, that.
#[test]
fn ports_tell_the_speed_of_their_links() {
    in_lab("tools::ports_tell_the_speed_of_their_links", || {
        let _hosts = Hosts::new(2);
        let switch = Switch::start(1, &["--port", "s2,rate=100Mbit/s"]);
        let dump = said(&mut tenuto(&["dump", "ports", "--switch", SWITCH]));
        let line = |name: &str| dump.lines().find(|line| line.contains(name)).expect("a port");
        has(line("1(s1)"), &["curr_speed:10000000kbps"]);
        has(line("2(s2)"), &["curr_speed:100000kbps"]);
        switch.stop();
    });
}

/// What a switch without controllers does with a frame is told, though its tables say otherwise.
#[test]
fn a_trace_knows_of_a_standalone_switch() {
    in_lab("tools::a_trace_knows_of_a_standalone_switch", || {
        let _hosts = Hosts::new(3);
        let switch = Switch::start(3, &["--fail-mode", "standalone"]);
        let packet = "in_port=1,eth_dst=02:00:00:00:00:09,eth_type=0x88b5";
        let text = said(&mut tenuto(&["trace", "--switch", SWITCH, packet]));
        has(&text, &["(standalone)", "out by port 2", "out by port 3", "2 copies leave"]);
        assert!(!text.contains("table 0"), "{text}");
        switch.stop();
    });
}
