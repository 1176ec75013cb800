//! The independent checker accepts what the planner claims, and nothing that was tampered with.

#![allow(clippy::disallowed_methods, reason = "tests read files")]

use crate::support;

use std::path::PathBuf;
use support::{accepted, quick};
use tenuto_model::{
    EntrySpec, MemorySources, Network, OtherTraffic, OutputSpec, Plan, PortRow, Receive,
};
use tenuto_planner::{Options, WholePaths, plan};

struct Folder(PathBuf);

impl tenuto_model::Sources for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
    }
}

fn network(file: &str) -> Network {
    let folder = Folder(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../networks"));
    match tenuto_model::read_network(&folder, file) {
        Ok((network, _)) => network,
        Err(problems) => panic!("{problems}"),
    }
}

fn certified(file: &str) -> Plan {
    accepted(plan(&network(file), &quick()))
}

#[test]
fn every_shipped_network_is_certified() {
    for file in ["line.yaml", "vehicle.yaml", "avionics.yaml", "a380-switch.yaml", "cell.yaml"] {
        assert!(certified(file).feasible, "{file}");
    }
}

/// The trunk carries flows of the lower mode only, and signals in any: its row in the higher mode is of those.
#[test]
fn a_backlog_of_signals_alone_is_checked() {
    let network = support::network(
        "tenuto: 1
name: signals
modes: [LO, HI]
hosts: [a, b, c]
switches: {sw1: {profile: tenuto}, sw2: {profile: tenuto}}
links:
  - {ends: [a, sw1], rate: 100 Mbit/s}
  - {ends: [b, sw1], rate: 100 Mbit/s}
  - {ends: [sw1, sw2], rate: 100 Mbit/s}
  - {ends: [sw2, c], rate: 100 Mbit/s}
flows:
  high: {source: a, targets: [b], level: HI, message: 1 kB, period: {LO: 20 ms, HI: 5 ms}}
  low: {source: a, targets: [c], level: LO, message: 4 kB, period: 20 ms}
",
    );
    let mut plan = accepted(plan(&network, &quick()));
    let is_trunk_in_high = |row: &&mut PortRow| {
        row.port.node == "sw1" && row.port.port == 3 && row.mode.label(&network.modes) == "HI"
    };
    let row = plan.port_rows.iter_mut().find(is_trunk_in_high).expect("the trunk has a row in HI");
    assert!(row.backlog_bound_bits.is_some_and(|bits| bits > 816), "{row:?}");
    row.backlog_bound_bits = row.backlog_bound_bits.map(|bits| bits - 1_000);
    plan.seal();
    let findings = tenuto_certify::certify(&plan.to_json()).expect_err("signals wait there, too");
    assert!(findings.iter().all(|it| it.to_string().contains("sw1")), "{findings:?}");
}

#[test]
fn a_return_from_above_a_flow_has_the_deadline_of_the_mode_below() {
    // Of HI>LO only the deadline in LO counts for a flow that has no place in HI.
    let network = support::network(
        "tenuto: 1
name: levels
modes: [LO, MID, HI]
hosts: [a, b]
switches: {sw1: {profile: tenuto}}
links: [{ends: [a, sw1], rate: 100 Mbit/s}, {ends: [b, sw1], rate: 100 Mbit/s}]
flows:
  h: {source: a, targets: [b], level: HI, frame: 64 B, period: 10 ms}
  m: {source: a, targets: [b], level: MID, frame: 64 B, period: {LO: 30 ms, MID: 10 ms}}
",
    );
    let plan = accepted(plan(&network, &quick()));
    assert!(plan.feasible, "{:?}", plan.refusals);
    let deadline = |mode: &str| {
        let of = |row: &&tenuto_model::FlowBound| {
            row.flow == "m" && row.mode.label(&network.modes) == mode
        };
        plan.flows.iter().find(of).map(|row| row.deadline_ns)
    };
    assert_eq!(deadline("HI>LO"), Some(30_000_000));
    assert_eq!(deadline("MID>LO"), Some(10_000_000));
    assert_eq!(deadline("HI>MID"), Some(10_000_000));
}

#[test]
fn a_signal_that_is_being_sent_stands_in_the_buffer_too() {
    let network = support::network(
        "tenuto: 1
name: small
modes: [LO, HI]
hosts: [a, b]
profiles: {p: {like: tenuto, latency: {min: 20 us, max: 20 us}}}
switches: {s1: {profile: p}, s2: {profile: p}}
links:
  - {ends: [a, s1], rate: 100 Mbit/s, length: 5 m}
  - {ends: [s1, s2], rate: 100 Mbit/s, length: 5 m}
  - {ends: [s2, b], rate: 100 Mbit/s, length: 5 m}
flows:
  f: {source: a, targets: [b], level: HI, frame: 64 B, period: 7 us, jitter: 3 us, deadline: 1 s}
tolerates: {babbling_hosts: 0, lost_signals: 0}
",
    );
    let plan = accepted(plan(&network, &quick()));
    let trunk = |row: &&PortRow| row.port.node == "s1" && row.port.port == 2;
    let backlogs = plan.port_rows.iter().filter(trunk).filter_map(|row| row.backlog_bound_bits);
    // Frames come back to back and eight signals at once: when the fifth has nearly left, seven frames
    // and four signals are there.
    assert!(backlogs.min() >= Some(7 * 672 + 4 * 816), "{:?}", plan.port_rows);
}

#[test]
fn a_faster_trunk_makes_no_bound_of_the_vehicle_larger() {
    let mut network = certified("vehicle.yaml").network;
    // On a faster line 84 B take less than asking queued frames at a raise, which would count.
    network.profiles.values_mut().for_each(|it| it.purge_frame_ns_max = 100);
    let usual = plan(&network, &quick());
    let is_host = |name: &str| usual.network.hosts.iter().any(|host| host.name == name);
    let links = usual.network.links.iter().enumerate();
    let trunks: Vec<usize> = links
        .filter(|(_, link)| !is_host(&link.a.node) && !is_host(&link.b.node))
        .map(|(index, _)| index)
        .collect();
    for faster in [&trunks[..], &trunks[..1], &trunks[1..]] {
        let mut network = usual.network.clone();
        faster.iter().for_each(|&link| network.links[link].rate_bps = 1_000_000_000);
        let plan = plan(&network, &quick());
        tenuto_certify::certify(&plan.to_json()).unwrap_or_else(|f| panic!("{f:?}"));
        assert!(plan.feasible, "{:?}", plan.refusals);
        for (row, before) in plan.flows.iter().zip(&usual.flows) {
            assert!(row.delay_bound_ps <= before.delay_bound_ps, "{row:?}");
        }
    }
}

#[test]
fn a_refused_network_is_certified_for_what_it_claims() {
    assert!(!certified("vehicle-as-printed.yaml").feasible);
}

#[test]
fn a_network_that_is_given_up_is_certified_for_what_it_claims() {
    // Mode changes take so much of these processors that nothing settles; buffers of each kind.
    for buffer in
        ["", "receive_buffer: {frames: 100, per: port}\n", "receive_buffer: {frames: 40}\n"]
    {
        let profile = format!(
            "tenuto_profile: 1\nname: slow\nlike: tenuto\nprocessor:\n  base: 100 us\n  receive: \
             fifo\n{buffer}"
        );
        let car = std::fs::read_to_string(
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../networks/vehicle.yaml"),
        );
        let car = car.expect("an example").replace("profile: tenuto", "profile: ./slow.yaml");
        let sources =
            MemorySources::new().with("car.yaml", car.as_str()).with("slow.yaml", profile.as_str());
        let read = tenuto_model::read_network(&sources, "car.yaml");
        let plan = plan(&read.unwrap_or_else(|problems| panic!("{problems}")).0, &quick());
        assert!(!plan.feasible && plan.processor_rows.is_empty() && !plan.port_rows.is_empty());
        if let Err(findings) = tenuto_certify::certify(&plan.to_json()) {
            panic!("{buffer}: {}", findings[0]);
        }
    }
}

/// A network that carries other traffic in its lowest class.
fn open_network(file: &str) -> Network {
    let other = OtherTraffic::Carry { priority: 7, rate_bps: 1_000_000, frame_bytes_max: 1_518 };
    Network { other_traffic: other, ..network(file) }
}

#[test]
fn other_traffic_is_carried_below_every_flow() {
    for file in ["vehicle.yaml", "avionics-live.yaml"] {
        let plan = plan(&open_network(file), &Options::default());
        assert!(plan.feasible, "{file}: {:?}", plan.refusals);
        tenuto_certify::certify(&plan.to_json()).unwrap_or_else(|f| panic!("{file}: {f:?}"));
    }
}

/// A frame of other traffic may be on the line when flows come: what comes meanwhile is in the buffer, with the
/// frame that is sent then.
#[test]
fn buffers_count_the_frame_of_other_traffic_in_the_way() {
    let alone = plan(&network("line.yaml"), &Options::default());
    let mut carried = plan(&open_network("line.yaml"), &Options::default());
    let bits = |row: &PortRow| row.backlog_bound_bits.expect("bounded");
    for (with, without) in carried.port_rows.iter().zip(&alone.port_rows) {
        assert_eq!(with.port, without.port);
        assert!(bits(with) >= bits(without) + 1_538 * 8, "{:?}", with.port);
    }
    for row in &mut carried.port_rows {
        row.backlog_bound_bits = Some(bits(row) - 1_538 * 8);
    }
    carried.seal();
    let findings = tenuto_certify::certify(&carried.to_json()).expect_err("without the frame");
    let found = findings.iter().filter(|it| it.rule == "backlog").count();
    assert_eq!(found, carried.port_rows.len(), "{findings:?}");
}

#[test]
fn other_traffic_cannot_pass_for_a_flow() {
    let tampered = |change: fn(&mut EntrySpec) -> bool| {
        let mut plan = plan(&open_network("vehicle.yaml"), &Options::default());
        for switch in &mut plan.switches {
            switch.entries.retain_mut(change);
        }
        plan.seal();
        tenuto_certify::certify(&plan.to_json()).expect_err("tampered")
    };
    // Without what drops pretenders, a frame of another host looks like a flow behind the meter.
    tampered(|entry| entry.precedence != 50);
    // Unmetered, or in the queue of a flow.
    tampered(|entry| {
        entry.meter = entry.meter.filter(|_| entry.flow.is_some());
        true
    });
    tampered(|entry| {
        if let Some(OutputSpec::Port(output)) = &mut entry.output {
            output.queue = 0;
        }
        true
    });
}

#[test]
fn whole_paths_are_proved_and_never_believed() {
    let options = Options { whole_paths: Some(WholePaths::default()), ..Options::default() };
    for file in ["line.yaml", "vehicle.yaml", "avionics-live.yaml", "cell.yaml"] {
        let mut plan = plan(&network(file), &options);
        let sums = tenuto_planner::plan(&network(file), &Options::default());
        tenuto_certify::certify(&plan.to_json()).unwrap_or_else(|f| panic!("{file}: {f:?}"));
        let mut tightened = 0;
        for (row, sum) in plan.flows.iter().zip(&sums.flows) {
            assert!(row.delay_bound_ps <= sum.delay_bound_ps, "{file}: {row:?}");
            tightened += usize::from(row.delay_bound_ps < sum.delay_bound_ps);
            if !file.starts_with("avionics") {
                let [whole, sum] = [row, sum].map(|it| it.delay_bound_ps.map(|ps| ps / 1_000));
                let mode = row.mode.label(&plan.network.modes);
                println!("{file}: {} {mode}: {whole:?} of {sum:?} ns", row.flow);
            }
        }
        assert!(tightened > 0, "{file}: nothing is tighter");
        // A little less than what was proved is not proved.
        for copy in plan.flows.iter_mut().flat_map(|row| &mut row.copies) {
            if copy.proof.is_some() {
                copy.delay_bound_ps = copy.delay_bound_ps.map(|ps| ps - ps / 50);
            }
        }
        plan.seal();
        tenuto_certify::certify(&plan.to_json()).expect_err("claims less than is proved");
    }
}

/// Proofs whose root is a processor: those are named behind the ports of all links.
fn over_processors(plan: &mut Plan) -> impl Iterator<Item = &mut serde_json::Value> {
    let ports = u64::try_from(2 * plan.network.links.len()).expect("few");
    let copies = plan.flows.iter_mut().flat_map(|row| &mut row.copies);
    let proofs = copies.filter_map(|copy| copy.proof.as_mut().map(|proof| &mut proof.linear));
    proofs.filter(move |linear| linear["nodes"][0]["server"].as_u64() >= Some(ports))
}

/// What the checker says of the plan of the cell, changed and sealed again.
fn said_of_the_cell(change: impl Fn(&mut Plan)) -> Vec<String> {
    let options = Options { whole_paths: Some(WholePaths::default()), ..Options::default() };
    let mut plan = plan(&network("cell.yaml"), &options);
    assert_eq!(over_processors(&mut plan).count(), 9, "every path of the cell is over processors");
    change(&mut plan);
    plan.seal();
    let findings = tenuto_certify::certify(&plan.to_json()).err().unwrap_or_default();
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn paths_over_processors_are_paths_only_where_all_is_served_in_order() {
    assert!(said_of_the_cell(|_| {}).is_empty());
    let is_told = |change: &dyn Fn(&mut Plan), why: &str| {
        let said = said_of_the_cell(change);
        let is_told = |line: &String| line.starts_with("linear proof") && line.contains(why);
        assert!(said.iter().any(is_told), "{why}: {said:#?}");
    };
    is_told(
        &|plan| {
            for profile in plan.network.profiles.values_mut() {
                profile.processor.as_mut().expect("one").receive = Receive::RoundRobin(1);
            }
        },
        "in turn",
    );
    is_told(
        &|plan| {
            for profile in plan.network.profiles.values_mut() {
                profile.processor.as_mut().expect("one").link = None;
            }
        },
        "keep no order",
    );
    is_told(&|plan| plan.network.tolerates.babbling_hosts = 1, "trusted sources");
    is_told(&|plan| plan.processors.clear(), "without a claim");
    // Nodes that are quicker than what is known of their servers.
    for (member, why) in [("delay_ps", "its delay exceeds"), ("busy_ps", "it may be busy over")] {
        let quicker = |plan: &mut Plan| {
            for linear in over_processors(plan) {
                let told = linear["nodes"][0][member].as_u64().expect("a time");
                linear["nodes"][0][member] = (told / 2).into();
            }
        };
        is_told(&quicker, why);
    }
    // A switch that is slower than the one that the proofs are of.
    let slower = said_of_the_cell(|plan| {
        for profile in plan.network.profiles.values_mut() {
            profile.processor.as_mut().expect("one").base_ps += 20_000_000;
        }
    });
    assert!(slower.iter().any(|line| line.contains("bound of a copy")), "{slower:#?}");
}

/// Switches in a circle, every flow most of the way round: what one hands on, the next depends on.
fn circle(switches: usize) -> String {
    let names = |of: &str| -> Vec<String> { (0..switches).map(|i| format!("{of}{i}")).collect() };
    let list = |names: &[String], what: &str| -> String {
        names.iter().map(|name| format!("{name}: {what}")).collect::<Vec<_>>().join(", ")
    };
    let (hosts, nodes) = (names("h"), names("sw"));
    let mut text = format!(
        "tenuto: 1\nname: circle\nhosts: {{{}}}\nswitches: {{{}}}\n\
         defaults: {{link: {{rate: 10 Mbit/s}}}}\nlinks:\n",
        list(&hosts, "{}"),
        list(&nodes, "{profile: ideal}"),
    );
    for i in 0..switches {
        text += &format!("  - {{ends: [h{i}, sw{i}]}}\n");
        text += &format!("  - {{ends: [sw{i}, sw{}]}}\n", (i + 1) % switches);
    }
    text += "flows:\n";
    for i in 0..switches {
        let route: Vec<&str> =
            (0..switches - 1).map(|k| nodes[(i + k) % switches].as_str()).collect();
        text += &format!(
            "  f{i}: {{source: h{i}, targets: {{h{}: {{route: [{}]}}}}, frame: 500 B, \
             period: 3 ms, deadline: 90 ms, priority: 0}}\n",
            (i + switches - 2) % switches,
            route.join(", "),
        );
    }
    text
}

#[test]
fn whole_paths_are_proved_where_ports_depend_on_each_other_in_a_circle() {
    let network = support::network(&circle(5));
    let options = Options { whole_paths: Some(WholePaths::default()), ..Options::default() };
    let (whole, sums) = (plan(&network, &options), plan(&network, &Options::default()));
    tenuto_certify::certify(&whole.to_json()).unwrap_or_else(|f| panic!("{f:?}"));
    for (row, sum) in whole.flows.iter().zip(&sums.flows) {
        assert!(row.delay_bound_ps < sum.delay_bound_ps, "{row:?}");
    }
}
