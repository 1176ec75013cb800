//! A session of Open vSwitch's own tool with our switch.

use crate::lab::{Hosts, SWITCH, Switch, has, has_program, in_lab, said, tenuto};
use std::process::Command;

fn ofctl(args: &[&str]) -> String {
    let mut command = Command::new("ovs-ofctl");
    said(command.args(["-O", "OpenFlow13", args[0], SWITCH]).args(&args[1..]))
}

#[test]
fn ovs_ofctl_sets_and_reads_everything() {
    const TEST: &str = "ofctl::ovs_ofctl_sets_and_reads_everything";
    if !has_program("ovs-ofctl", TEST) {
        return;
    }
    in_lab(TEST, || {
        let hosts = Hosts::new(3);
        let switch = Switch::start(3, &[]);
        has(&ofctl(&["show"]), &["dpid:000000000000002a", "n_tables:64", "1(s1)", "3(s3)"]);
        assert_eq!(hosts.ping(1, 2, 3).0, 0, "fail-secure drops the unknown");

        ofctl(&[
            "add-meter",
            "meter=1,kbps,burst,stats,bands=type=drop,rate=100000,burst_size=1000",
        ]);
        ofctl(&["add-group", "group_id=7,type=all,bucket=output:2,bucket=output:3"]);
        ofctl(&[
            "add-flow",
            "cookie=0x5,table=0,priority=10,in_port=1,actions=meter:1,goto_table:1",
        ]);
        ofctl(&["add-flow", "table=1,priority=1,ip,nw_dst=10.0.0.2,actions=set_queue:1,output:2"]);
        ofctl(&["add-flow", "table=1,priority=1,arp,actions=group:7"]);
        ofctl(&["add-flow", "priority=10,in_port=2,actions=output:1"]);
        // The host waits for its next try to find an address, as the ones before were in vain.
        hosts.ping(1, 2, 3);
        let (received, ms) = hosts.ping(1, 2, 100);
        println!("    ping through two tables, a meter and a group: {received} of 100, {ms} ms");
        assert_eq!(received, 100);

        has(
            &ofctl(&["dump-flows"]),
            &["cookie=0x5", "priority=10,in_port=1", "meter:1,goto_table:1", "nw_dst=10.0.0.2"],
        );
        has(&ofctl(&["dump-groups"]), &["group_id=7,type=all"]);
        has(&ofctl(&["dump-group-stats"]), &["group_id=7", "bucket1:packet_count="]);
        has(&ofctl(&["dump-meters"]), &["meter=1 kbps burst stats", "rate=100000"]);
        has(&ofctl(&["meter-stats"]), &["meter:1", "flow_count:1"]);
        has(&ofctl(&["meter-features"]), &["max_meter:4096"]);
        has(&ofctl(&["dump-ports"]), &["port  1", "rx pkts=", "tx pkts="]);
        has(&ofctl(&["dump-ports-desc"]), &["2(s2)", "LIVE", "10GB-FD COPPER", "10000 Mbps now"]);
        let queues = ofctl(&["queue-stats"]);
        let line = queues.lines().find(|line| line.contains("port 2 queue 1:")).expect("a queue");
        let sent = line.split("pkts=").nth(1).and_then(|rest| rest.split(',').next());
        assert!(sent.and_then(|n| n.parse().ok()).is_some_and(|n: u32| n >= 103), "{line}");
        has(&ofctl(&["dump-aggregate"]), &["flow_count=4"]);
        has(&ofctl(&["dump-tables"]), &["table 0"]);
        has(&ofctl(&["dump-desc"]), &["DP Description: s1"]);
        ofctl(&["mod-flows", "priority=10,in_port=2,actions=drop"]);
        assert_eq!(hosts.ping(1, 2, 3).0, 0);
        ofctl(&["mod-flows", "priority=10,in_port=2,actions=output:1"]);
        ofctl(&["mod-port", "s2", "down"]);
        has(&ofctl(&["dump-ports-desc"]), &["PORT_DOWN"]);
        assert_eq!(hosts.ping(1, 2, 3).0, 0);
        ofctl(&["mod-port", "s2", "up"]);
        assert_eq!(hosts.ping(1, 2, 3).0, 3);
        ofctl(&["del-flows", "table=1,arp"]);
        ofctl(&["del-groups", "group_id=7"]);
        ofctl(&["del-meter", "meter=1"]);
        let left = ofctl(&["dump-flows"]);
        assert!(!left.contains("meter:1"), "an entry goes with its meter:\n{left}");
        ofctl(&["del-flows"]);
        has(&ofctl(&["dump-aggregate"]), &["flow_count=0"]);
        let said = switch.stop();
        assert!(said.contains("frames received"), "{said}");
    });
}

/// Ranges of ports as Open vSwitch's users write them: value and mask, an extension of OpenFlow.
#[test]
fn ovs_ofctl_masks_transport_ports() {
    const TEST: &str = "ofctl::ovs_ofctl_masks_transport_ports";
    if !has_program("ovs-ofctl", TEST) {
        return;
    }
    in_lab(TEST, || {
        let _hosts = Hosts::new(2);
        let switch = Switch::start(2, &[]);
        ofctl(&["add-flow", "priority=9,tcp,tp_dst=0x10/0xfff0,actions=output:1"]);
        ofctl(&["add-flow", "priority=8,udp6,tp_src=0x400/0xfc00,actions=output:2"]);
        ofctl(&["add-flow", "priority=7,sctp,tp_dst=80,actions=output:2"]);
        let known = ["priority=9,tcp,tp_dst=0x10/0xfff0", "priority=8,udp6,tp_src=0x400/0xfc00"];
        has(&ofctl(&["dump-flows"]), &known);
        let ours = said(&mut tenuto(&["dump", "flows", "--switch", SWITCH]));
        has(&ours, &["nw_proto=6,tcp_dst=0x10/0xfff0", "nw_proto=132,sctp_dst=80"]);
        // Only what lies within the mask is asked for.
        let one = ofctl(&["dump-flows", "tcp,tp_dst=0x18/0xfff8"]);
        assert!(!one.contains("priority=9"), "{one}");
        switch.stop();
    });
}
