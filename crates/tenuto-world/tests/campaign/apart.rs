//! Two copies over one network, without a common switch or at least without a common link.

use crate::network::Draw;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use tenuto_model::{
    Event, EventAction, Link, Network, Offsets, Plan, Route, Scenario, Sizes, Traffic,
};

const MS: u64 = 1_000_000;

/// Switches around one that nobody can avoid, hosts with two links each.
pub(crate) fn text(seed: u64) -> String {
    let mut draw = Draw::new(seed ^ 0xa9a7);
    let draw = &mut draw;
    let mut out = format!("tenuto: 1\nname: apart-{seed}\n");
    let is_modal = draw.chance(35);
    if is_modal {
        out.push_str("modes: [LO, HI]\n");
    }
    // 2.5 Gbit/s: bits that take no whole nanosecond.
    let rate = draw.of(&[100_u64, 100, 1_000, 2_500]);
    let profile = draw.of(&["tenuto", "odd"]);
    let _ = writeln!(
        out,
        "profiles: {{odd: {{like: tenuto, latency: {{min: 1 us, max: {} us}}, meter_counts: {}}}}}",
        draw.within(1, 60),
        draw.of(&["wire", "frame"]),
    );
    let sides = draw.within(1, 2);
    let mut trunks = Vec::new();
    let mut switches = vec!["m".to_owned()];
    // On either side two ways to the middle, or two links of each host straight to it.
    for side in ["l", "r"].iter().take(usize::try_from(sides).expect("few")) {
        for n in 0..2 {
            switches.push(format!("{side}{n}"));
            trunks.push((format!("{side}{n}"), "m".to_owned()));
        }
        if draw.chance(40) {
            trunks.push((format!("{side}0"), format!("{side}1")));
        }
    }
    let list: Vec<String> =
        switches.iter().map(|s| format!("{s}: {{profile: {profile}}}")).collect();
    let _ = writeln!(out, "switches: {{{}}}", list.join(", "));
    let hosts = draw.within(3, 5);
    let names: Vec<String> = (0..hosts).map(|h| format!("h{h}")).collect();
    let _ = writeln!(out, "hosts: [{}]", names.join(", "));
    let _ = writeln!(out, "defaults: {{link: {{rate: {rate} Mbit/s}}}}\nlinks:");
    for (a, b) in trunks {
        let _ = writeln!(out, "  - {{ends: [{a}, {b}]}}");
    }
    for (n, host) in names.iter().enumerate() {
        let ends = match (n % 2 == 0, sides) {
            (true, _) => ["l0", "l1"],
            (false, 2) => ["r0", "r1"],
            (false, _) => ["m", "m"],
        };
        for end in ends {
            let _ = writeln!(out, "  - {{ends: [{host}, {end}]}}");
        }
    }
    out.push_str("flows:\n");
    for flow in 0..draw.within(names.len() as u64, 7) {
        let source = usize::try_from(flow).expect("few") % names.len();
        let far = |step: u64| (source + usize::try_from(step).expect("few")) % names.len();
        let mut targets = vec![names[far(draw.within(1, hosts - 1))].clone()];
        let other = names[far(draw.within(1, hosts - 1))].clone();
        if draw.chance(30) && !targets.contains(&other) {
            targets.push(other);
        }
        let size = match draw.below(3) {
            0 => format!("message: {} B", draw.within(16, 9_000)),
            1 => format!("payload: {} B", draw.within(18, 1_472)),
            _ => format!("frame: {} B", draw.of(&[64, 67, 128, 1_518])),
        };
        let period = draw.within(2, 20);
        let level = is_modal && draw.chance(60);
        let period = match level {
            true => format!("{{LO: {} ms, HI: {period} ms}}", period + draw.below(9)),
            false => format!("{period} ms"),
        };
        let _ = writeln!(
            out,
            "  f{flow}: {{source: {}, targets: [{}], {size}, period: {period}, deadline: 900 ms, \
             copies: link-disjoint, priority: {}{}}}",
            names[source],
            targets.join(", "),
            draw.below(3),
            if level { ", level: HI" } else { "" },
        );
    }
    let _ = writeln!(out, "tolerates: {{babbling_hosts: {}}}", draw.below(2));
    out
}

/// Whether two copies of a flow cross a switch.
pub(crate) fn meet(plan: &Plan) -> bool {
    let nodes = |route: &Route| {
        let ports = route.paths.iter().flat_map(|path| path.ports.iter().skip(1));
        ports.map(|port| port.node.clone()).collect::<Vec<_>>()
    };
    plan.routes.iter().enumerate().any(|(n, route)| {
        let others = plan.routes[n + 1..].iter().filter(|other| other.flow == route.flow);
        others.map(nodes).any(|other| nodes(route).iter().any(|node| other.contains(node)))
    })
}

/// A run in which a link of some copy is cut.
pub(crate) fn cut(network: &Network, seed: u64) -> Scenario {
    let mut draw = Draw::new(seed ^ 0xc07);
    // A cut is between two nodes, whatever joins them.
    let joins = |a: &Link, b: &Link| {
        let ends = |link: &Link| BTreeSet::from([link.a.node.clone(), link.b.node.clone()]);
        ends(a) == ends(b)
    };
    let is_only = |link: &&Link| network.links.iter().filter(|it| joins(it, link)).count() == 1;
    let links: Vec<&Link> = network.links.iter().filter(is_only).collect();
    let link = draw.of(&links);
    let traffic = Traffic { offsets: Offsets::Random, sizes: Sizes::Largest };
    let mut run = Scenario { traffic, ..Scenario::plain(200 * MS, seed) };
    let ends = [link.a.node.clone(), link.b.node.clone()];
    run.events.push(Event {
        at_ns: draw.within(20, 80) * MS,
        action: EventAction::CutLink { ends },
        note: None,
    });
    run
}
