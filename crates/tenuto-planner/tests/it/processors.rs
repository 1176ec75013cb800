//! Switches whose ports share a processor: planned, refused, and checked by the other crate.

use crate::support;

use support::{accepted, network, quick};
use tenuto_model::{Network, Plan};
use tenuto_planner::plan;

const CELL: &str = "
profiles:
  cell:
    like: zodiac-fx
    entries: 24
    meters: 64
";

/// A line of two switches with two hosts each; every host sends to its opposite (\[Loko\] section 6).
fn opposite(profile: &str, period: &str, more: &str) -> Network {
    let mut text = String::from(
        "tenuto: 1\nhosts: [h1, h2, h3, h4]\nswitches: {s1: {profile: cell}, s2: {profile: cell}}\n\
         links:\n  - {ends: [h1, s1], rate: 100 Mbit/s}\n  - {ends: [h2, s1], rate: 100 Mbit/s}\n  \
         - {ends: [h3, s2], rate: 100 Mbit/s}\n  - {ends: [h4, s2], rate: 100 Mbit/s}\n  \
         - {ends: [s1, s2], rate: 100 Mbit/s}\nflows:\n",
    );
    for (from, to) in [("h1", "h3"), ("h2", "h4"), ("h3", "h1"), ("h4", "h2")] {
        text += &format!(
            "  {from}{to}: {{source: {from}, targets: [{to}], frame: 306 B, frame_min: 306 B, \
             period: {period}, deadline: 20 ms}}\n"
        );
    }
    network(&(text + profile + more))
}

fn planned(network: &Network) -> Plan {
    plan(network, &quick())
}

/// Plans, and lets the checker rebuild everything.
fn certified(network: &Network) -> Plan {
    accepted(planned(network))
}

fn refused(plan: &Plan, resource: &str) -> tenuto_model::Refusal {
    let found = plan.refusals.iter().find(|refusal| refusal.resource == resource);
    found.unwrap_or_else(|| panic!("{:?}", plan.refusals)).clone()
}

#[test]
fn four_flows_over_two_cheap_switches_are_promised() {
    let plan = certified(&opposite(CELL, "10 ms", ""));
    assert!(plan.feasible, "{:?}", plan.refusals);
    assert_eq!(plan.processors.len(), 6, "three ports of each switch are entered");
    // Four frames of one processor, one after the other, at both switches, and what is beside: a
    // frame costs 32 + 8 + 24·12.5 = 340 us there, and every other flow comes from both sides.
    for row in &plan.flows {
        let bound = row.delay_bound_ps.expect("bounded");
        assert!((2_700_000_000..4_500_000_000).contains(&bound), "{row:?}");
    }
    for row in &plan.processor_rows {
        assert!(row.backlog_bound <= Some(24) && row.unit == "cells", "{row:?}");
        assert!((130_000..150_000).contains(&row.load_ppm), "{row:?}");
    }
}

#[test]
fn discipline_and_control_are_certified_too() {
    for receive in ["receive: {round_robin: 1}", "receive: {round_robin: 8}", "receive: fifo"] {
        for control in ["control: none", "control: {time: 2.3 ms, per: 100 ms}"] {
            let profile = format!("{CELL}    processor: {{link: none, {receive}, {control}}}\n");
            let plan = certified(&opposite(&profile, "10 ms", ""));
            let buffer = plan.refusals.iter().all(|refusal| refusal.resource == "buffer");
            assert!(buffer, "{receive} {control}: {:?}", plan.refusals);
        }
    }
}

#[test]
fn control_messages_delay_everybody_by_their_share() {
    let with = |control: &str| {
        let profile = format!("{CELL}    processor: {{control: {control}}}\n");
        certified(&opposite(&profile, "20 ms", ""))
    };
    let (free, busy) = (with("none"), with("{time: 1 ms, per: 100 ms}"));
    for (a, b) in free.processors.iter().zip(&busy.processors) {
        assert!(b.delay_ps >= a.delay_ps + 1_000_000_000, "{a:?} {b:?}");
    }
}

/// Budgets of slices are certified with every order of service, wait for nobody, and are told.
#[test]
fn slices_delay_everybody_by_what_their_budgets_let_through() {
    const BUDGETS: &str = "slices: {message: 50 us, byte: 8 ns, budgets: {red: {messages: 100 /s, \
        packet_ins: 40 /s, bytes: 10 kB/s}, blue: {messages: 1 /s, packet_ins: 1 /s, bytes: 1 B/s}}}";
    for receive in ["receive: {round_robin: 1}", "receive: {round_robin: 8}", "receive: fifo"] {
        let with = |more: &str| {
            let profile = format!("{CELL}    processor: {{link: none, {receive}{more}}}\n");
            certified(&opposite(&profile, "50 ms", ""))
        };
        let (free, shared) = (with(""), with(&format!(", {BUDGETS}")));
        // 10 + 4 messages and 1 + 1 at once, and twice the longest message and an answer of each.
        let burst_ps = 16 * 50_000_000 + 2 * (2 * 65_535 + 131_072) * 8_000;
        assert_eq!(free.processors.len(), shared.processors.len());
        for (a, b) in free.processors.iter().zip(&shared.processors) {
            assert!(b.delay_ps >= a.delay_ps + burst_ps, "{receive}: {a:?} {b:?}");
        }
        for (a, b) in free.processor_rows.iter().zip(&shared.processor_rows) {
            // 142 messages of 50 us and 20,002 bytes of 8 ns; both are rounded up.
            assert!((7_260..=7_261).contains(&(b.load_ppm - a.load_ppm)), "{a:?} {b:?}");
        }
        let told = shared.assumptions.iter().filter(|it| it.name == "slice");
        let told: Vec<&str> = told.map(|it| it.text.as_str()).collect();
        assert!(told.len() == 2 && told[0].contains("slice red to 100 messages/s"), "{told:?}");
    }
    // Red takes 952.16 ms of a second by itself, and four frames of 340 us in 10 ms another 136 ms.
    let much = BUDGETS.replace("100 /s", "19000 /s");
    let plan = certified(&opposite(&format!("{CELL}    processor: {{{much}}}\n"), "10 ms", ""));
    let refusal = refused(&plan, "processor");
    assert!(refusal.because.contains("slice red 95.3 %"), "{refusal:?}");
}

/// The delay behind one queue, computed by hand: two flows that come from their hosts, and nothing else.
#[test]
fn the_delay_beside_a_slice_is_the_one_by_hand() {
    const BUDGET: &str = "slices: {message: 50 us, byte: 8 ns, budgets: {red: {messages: 100 /s, \
        packet_ins: 40 /s, bytes: 1 MB/s}}}";
    let profile =
        format!("{CELL}    processor: {{link: none, receive: fifo, control: none, {BUDGET}}}\n");
    let mut network = opposite(&profile, "50 ms", "");
    network.flows.truncate(2);
    let plan = certified(&network);
    // At once: two frames of 32 + 306·0.026 + 24·12.5 us; 10 + 4 messages of 50 us; a tenth of a megabyte both ways
    // and the answers to a message, 8 ns each.
    let at_once_ns = 2 * 339_956 + 14 * 50_000 + (200_000 + 131_072) * 8;
    // In a second: 140 messages and 2 MB, 7 + 16 ms. So 977 ms of each are left.
    let by_hand_ps = at_once_ns * 1_000_000 / 977;
    for row in plan.processors.iter().filter(|row| row.entry.node == "s1") {
        // The hosts' own ports let a frame become 26 us old, in which 0.2 us of work are promised.
        let more = row.delay_ps.checked_sub(by_hand_ps).expect("no less than by hand");
        assert!(more < 1_000_000, "{row:?}, by hand {by_hand_ps} ps");
    }
    assert!(plan.processors.iter().any(|row| row.entry.node == "s1"));
}

#[test]
fn a_full_receive_buffer_names_its_frames() {
    // Three frames more per flow at once than the nine places that there are.
    let network = opposite(CELL, "10 ms", "defaults: {flow: {jitter: 9.9 ms}}\n");
    let mut network = network;
    for flow in &mut network.flows {
        for contract in &mut flow.contracts {
            contract.size = tenuto_model::Size::MessageBytes(900);
            contract.frame_bytes_min = None;
        }
    }
    let plan = certified(&network);
    assert!(!plan.feasible);
    let refusal = refused(&plan, "buffer");
    assert_eq!((refusal.place.as_str(), refusal.unit.as_str()), ("s1", "frames"));
    // 958 B take 8 cells: three whole frames and the one in service.
    assert_eq!(refusal.available, Some(4));
    assert!(refusal.needed > refusal.available, "{refusal:?}");
    assert!(refusal.because.contains("rate is not the problem"), "{refusal:?}");
}

#[test]
fn more_work_than_one_processor_does_has_no_bound() {
    // 340 us per frame, four flows at each switch: below 1.36 ms nothing is left.
    let plan = certified(&opposite(CELL, "1.3 ms", ""));
    let refusal = refused(&plan, "processor");
    assert!(refusal.needed > Some(1_000_000) && refusal.available == Some(1_000_000));
    assert!(plan.flows.iter().all(|row| row.delay_bound_ps.is_none()));
    assert!(certified(&opposite(CELL, "5 ms", "")).flows[0].delay_bound_ps.is_some());
}

#[test]
fn one_queue_cannot_protect_from_a_babbling_host() {
    let babbling = "tolerates: {babbling_hosts: 1}\n";
    let plan = certified(&opposite(CELL, "10 ms", babbling));
    let refusal = refused(&plan, "processor");
    assert!(refusal.because.contains("not protected against a babbling host at h1 > s1"));
    assert!(plan.flows.iter().all(|row| row.delay_bound_ps.is_none()));
    // Neither can a buffer that all share, whatever the turns.
    let turns = "    processor: {link: none, receive: {round_robin: 1}}\n";
    let plan = certified(&opposite(&format!("{CELL}{turns}"), "10 ms", babbling));
    assert!(refused(&plan, "processor").because.contains("fill the buffer of all ports"));
    // Turns and a buffer for every port do, for flows that can wait for what it holds.
    let own = "    receive_buffer: {frames: 64, per: port}\n";
    let mut network = opposite(&format!("{CELL}{turns}{own}"), "100 ms", babbling);
    let targets = network.flows.iter_mut().flat_map(|flow| &mut flow.targets);
    targets.for_each(|target| target.deadline_ns.fill(200_000_000));
    let plan = certified(&network);
    assert!(plan.feasible, "{:?}", plan.refusals);
}

#[test]
fn turns_that_are_too_long_protect_nobody() {
    // What a meter lets through may be frames of 64 B: 1200 per second and flow, each of which may
    // wait for a frame of both hosts, 0.7 ms together.
    let profile = format!(
        "{CELL}    processor: {{link: none, receive: {{round_robin: 64}}}}\n    receive_buffer: \
         {{frames: 64, per: port}}\n"
    );
    let plan = certified(&opposite(&profile, "4 ms", "tolerates: {babbling_hosts: 1}\n"));
    let refusal = refused(&plan, "processor");
    assert!(refusal.because.contains("turns leave the other ports too little"), "{refusal:?}");
}

#[test]
fn turns_hold_a_flood_to_its_burst() {
    // 1.8 us per frame: a victim waits for one burst of every port that floods. With one such port
    // that is 16 us for 8 frames and 59 us for 32; here two hosts may.
    for burst in [8, 32] {
        let profile = format!(
            "profiles:\n  cell: {{like: ideal, processor: {{base: 1.8 us, receive: {{round_robin: {burst}}}}}, receive_buffer: {{frames: 64, per: port}}}}\n"
        );
        let network = network(&format!(
            "tenuto: 1\nhosts: [h1, h2, h3]\nswitches: {{s1: {{profile: cell}}}}\nlinks:\n  \
             - {{ends: [h1, s1], rate: 1 Gbit/s}}\n  - {{ends: [h2, s1], rate: 1 Gbit/s}}\n  \
             - {{ends: [h3, s1], rate: 1 Gbit/s}}\nflows:\n  v: {{source: h1, targets: [h3], \
             frame: 64 B, period: 1 ms}}\ntolerates: {{babbling_hosts: 1}}\n{profile}"
        ));
        let plan = certified(&network);
        let claim = &plan.processors[0];
        let us = claim.delay_ps as f64 / 1e6;
        let expected = 1.8 * (2.0 * f64::from(burst) + 1.0);
        assert!((us - expected).abs() < 0.01, "{us} {expected}");
    }
}

/// Two hosts over a switch of such a profile to a third.
fn star(profile: &str, rate: &str) -> Network {
    network(&format!(
        "tenuto: 1\nhosts: [bad, good, sink]\nswitches: {{s: {{profile: p}}}}\nlinks:\n  \
         - {{ends: [bad, s], rate: {rate}}}\n  - {{ends: [good, s], rate: {rate}}}\n  \
         - {{ends: [sink, s], rate: {rate}}}\nflows:\n  \
         stowed: {{source: bad, targets: [sink], frame: 306 B, period: 2 ms, deadline: 900 ms, priority: 0}}\n  \
         victim: {{source: good, targets: [sink], frame: 306 B, period: 4 ms, deadline: 900 ms, priority: 0}}\n\
         tolerates: {{babbling_hosts: 1}}\nprofiles:\n  p: {{like: ideal, processor: {{base: 20 us, \
         receive: {{round_robin: 4}}}}, {profile}}}\n"
    ))
}

fn bound_of(plan: &Plan, flow: &str) -> u64 {
    let row = plan.flows.iter().find(|row| row.flow == flow).expect("a row");
    row.delay_bound_ps.expect("bounded")
}

#[test]
fn what_a_host_heaps_up_before_its_meter_is_bounded_by_its_buffer_or_its_line() {
    // Nothing bounds what waits in its queue: no flow that meets it later has a bound.
    let plan = certified(&star("receive_buffer: unlimited", "100 Mbit/s"));
    let refusal = refused(&plan, "processor");
    assert!(refusal.because.contains("not protected against a babbling host at bad > s"));
    assert!(refusal.because.contains("goes on together"), "{refusal:?}");
    assert!(plan.flows.iter().all(|row| row.delay_bound_ps.is_none()));
    // A buffer of its own does, by what it holds.
    let of = |frames: u64| {
        let buffer = format!("receive_buffer: {{frames: {frames}, per: port}}");
        let plan = certified(&star(&buffer, "100 Mbit/s"));
        assert!(plan.feasible, "{:?}", plan.refusals);
        plan
    };
    let (few, many) = (of(10), of(300));
    assert_eq!(few.processors, many.processors, "who keeps its contracts waits as long");
    // 290 frames more of 60 us each: in 17.4 ms come eight or nine of 26 us.
    let more_us = (bound_of(&many, "victim") - bound_of(&few, "victim")) / 1_000_000;
    assert!((200..400).contains(&more_us), "{more_us}");
    // So does a line that brings no more than the processor does: 64 B in 67 us.
    let plan = certified(&star("receive_buffer: unlimited", "10 Mbit/s"));
    assert!(plan.feasible, "{:?}", plan.refusals);
}

#[test]
fn a_plan_that_leaves_out_what_waits_before_the_meter_is_rejected() {
    let of = |frames: u64, network: Network| {
        let mut network = network;
        let buffer = &mut network.profiles.get_mut("p").expect("it is there").receive_buffer;
        buffer.as_mut().expect("stated").count = frames;
        network
    };
    let steady = || star("receive_buffer: {frames: 10, per: port}", "100 Mbit/s");
    let with_modes = || modal(TURNS_ALONE, "tolerates: {babbling_hosts: 1}\n");
    for (name, network, few, many) in
        [("steady", steady(), 10, 300), ("modes", with_modes(), 600, 2_400)]
    {
        // The smaller buffer's bursts behind the larger buffer.
        let mut bad = certified(&of(few, network.clone()));
        assert!(bad.feasible, "{name}: {:?}", bad.refusals);
        let good = certified(&of(many, network));
        bad.network = good.network;
        for row in &mut bad.processor_rows {
            row.buffer_limit = Some(many);
        }
        bad.seal();
        let findings = tenuto_certify::certify(&bad.to_json()).expect_err("too little");
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(lines.iter().any(|line| line.contains("x >= F(x)")), "{name}: {lines:#?}");
    }
}

#[test]
fn a_device_that_knows_no_modes_is_refused_where_there_are_several() {
    let mut network = opposite(CELL, "10 ms", "");
    network.modes.push("HI".into());
    let plan = planned(&network);
    assert!(refused(&plan, "modes").because.contains("knows no modes"), "{:?}", plan.refusals);
}

/// Three switches in a line that know modes: a flow that may send more, one that ends, one that stays.
fn modal(processor: &str, more: &str) -> Network {
    network(&format!(
        "tenuto: 1\nmodes: [LO, HI]\nhosts: [h1, h2, h3]\nswitches: {{s1: {{profile: p}}, s2: \
         {{profile: p}}, s3: {{profile: p}}}}\nlinks:\n  - {{ends: [h1, s1], rate: 100 Mbit/s}}\n  \
         - {{ends: [h2, s2], rate: 100 Mbit/s}}\n  - {{ends: [h3, s3], rate: 100 Mbit/s}}\n  \
         - {{ends: [s1, s2], rate: 100 Mbit/s}}\n  - {{ends: [s2, s3], rate: 100 Mbit/s}}\n\
         flows:\n  rises: {{source: h1, targets: [h3], level: HI, frame: 900 B, period: {{LO: 20 ms, \
         HI: 5 ms}}, deadline: 200 ms, priority: 0}}\n  ends: {{source: h2, targets: [h3], level: LO, \
         message: 8 kB, period: 10 ms, deadline: 200 ms, priority: 1}}\n  stays: {{source: h3, targets: \
         [h1], level: HI, frame: 400 B, period: 8 ms, deadline: 200 ms, priority: 0}}\n{more}profiles:\n  \
         p: {{like: tenuto, processor: {processor}}}\n"
    ))
}

const QUEUE: &str = "{base: 12 us, receive: fifo}";
const TURNS: &str = "{base: 12 us, receive: {round_robin: 4}}";
const TURNS_ALONE: &str =
    "{base: 12 us, receive: {round_robin: 4}}, receive_buffer: {frames: 1000, per: port}";

#[test]
fn shared_processors_are_planned_in_every_mode_and_change() {
    for (processor, more) in [
        (QUEUE, ""),
        (TURNS, ""),
        ("{base: 8 us, link: {rate: 200 Mbit/s, tag: 1 B}, receive: fifo}", ""),
        (TURNS_ALONE, "tolerates: {babbling_hosts: 1}\n"),
    ] {
        let plan = certified(&modal(processor, more));
        assert!(plan.feasible, "{processor}: {:?}", plan.refusals);
        // Seven entries, in LO, HI and the raise.
        assert_eq!(plan.processors.len(), 3 * 7, "{processor}");
        let load = |mode| {
            let mut rows = plan.processor_rows.iter();
            rows.find(|r| r.switch == "s3" && r.mode == mode).expect("a row").load_ppm
        };
        use tenuto_model::Transition::{Raise, Steady};
        if more.is_empty() {
            assert!(load(Steady(1)) < load(Steady(0)), "what ends makes no work at s3");
        }
        assert!(load(Raise { from: 0, to: 1 }) >= load(Steady(0)));
        let returning = plan.mode_changes.last().expect("a return");
        assert!(returning.settled_ps.is_some() && !returning.rounds.is_empty());
    }
}

#[test]
fn what_processors_are_said_to_purge_and_to_be_busy_for_is_put_in() {
    for (processor, more) in [(QUEUE, ""), (TURNS_ALONE, "tolerates: {babbling_hosts: 1}\n")] {
        let plan = certified(&modal(processor, more));
        let with = |change: &dyn Fn(&mut Plan)| {
            let mut changed = plan.clone();
            change(&mut changed);
            changed.seal();
            let findings = tenuto_certify::certify(&changed.to_json()).err().unwrap_or_default();
            findings.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(plan.witnesses.purges.len(), 3, "one of each switch");
        for at in 0..3 {
            let less = with(&|plan| plan.witnesses.purges[at].purge_ps /= 2);
            assert!(less.iter().any(|it| it.contains("purged in")), "{less:?}");
            // Claims of processors are checked with what is stated.
            let more = with(&|plan| plan.witnesses.purges[at].purge_ps *= 1_000);
            assert!(
                more.iter().any(|it| it.contains("a processor that the ports share")),
                "{more:?}"
            );
        }
        assert!(!with(&|plan| plan.witnesses.purges.clear()).is_empty());
        for at in 0..plan.witnesses.processors_busy.len() {
            let less = with(&|plan| plan.witnesses.processors_busy[at].busy_ps /= 3);
            assert!(less.iter().any(|it| it.starts_with("busy period")), "{less:?}");
        }
        assert!(!with(&|plan| plan.witnesses.processors_busy.clear()).is_empty());
    }
}

#[test]
fn a_mode_change_waits_for_processors() {
    let term = |plan: &Plan, name: &str| {
        let raise = &plan.mode_changes[0];
        raise.terms.iter().find(|t| t.name == name).expect("a term").bound_ps
    };
    let slow = certified(&modal(QUEUE, ""));
    let mut network = modal(QUEUE, "");
    network.profiles.get_mut("p").expect("it is there").processor = None;
    let fast = certified(&network);
    let at_one = slow.processors.iter().map(|claim| claim.delay_ps).min().expect("claims");
    // The starter and two hops.
    assert!(term(&slow, "D_arrange") > term(&fast, "D_arrange") + 3 * at_one);
    let mut bad = slow.clone();
    let arrange = term(&fast, "D_arrange");
    bad.mode_changes[0].terms[0].bound_ps = arrange;
    bad.seal();
    assert!(tenuto_certify::certify(&bad.to_json()).is_err());
}

#[test]
fn a_monitor_expects_what_the_processors_before_it_add() {
    let mut network = modal(QUEUE, "");
    let rises = network.flows.iter_mut().find(|flow| flow.name == "rises").expect("it is there");
    rises.monitor_at = vec!["s1".into(), "s3".into()];
    let shared = certified(&network);
    network.profiles.get_mut("p").expect("it is there").processor = None;
    let own = certified(&network);
    let jitter_ns = |plan: &Plan, at: &str| {
        let switch = plan.switches.iter().find(|it| it.switch == at).expect("deployed");
        switch.monitors.iter().find(|it| it.flow == "rises").expect("watched").contracts[0]
            .jitter_ns
    };
    let more = |plan: &Plan| jitter_ns(plan, "s3") - jitter_ns(plan, "s1");
    // At s1 and at s2 a frame may wait for one of another port at least; what s3 does comes later.
    assert!(more(&shared) >= more(&own) + 2 * 12_000, "{} {}", more(&shared), more(&own));
    let mut bad = shared.clone();
    for switch in bad.switches.iter_mut().filter(|it| it.switch == "s3") {
        switch.monitors[0].contracts[0].jitter_ns -= 12_000;
    }
    bad.seal();
    assert!(tenuto_certify::certify(&bad.to_json()).is_err());
}

#[test]
fn signals_that_find_no_place_in_a_receive_buffer_are_refused() {
    let plan = certified(&modal(&format!("{QUEUE}, receive_buffer: {{frames: 12}}"), ""));
    let refusal = refused(&plan, "buffer");
    assert_eq!(refusal.unit, "frames");
}

#[test]
fn no_claim_of_a_mode_can_be_made_smaller() {
    for processor in [QUEUE, TURNS] {
        let good = certified(&modal(processor, ""));
        let rejected = |tamper: &dyn Fn(&mut Plan)| {
            let mut bad = good.clone();
            tamper(&mut bad);
            bad.seal();
            tenuto_certify::certify(&bad.to_json()).is_err()
        };
        for index in 0..good.processors.len() {
            // The planner takes a little more than a change needs.
            let less = |plan: &mut Plan| {
                plan.processors[index].delay_ps -= plan.processors[index].delay_ps / 5
            };
            assert!(rejected(&less), "{processor}: {:?}", good.processors[index]);
        }
        for index in 0..good.processor_rows.len() {
            assert!(rejected(&|plan| plan.processor_rows[index].load_ppm /= 2));
        }
        assert!(rejected(&|plan| drop(plan.processors.remove(0))));
        assert!(rejected(&|plan| plan.mode_changes[1].rounds.clear()));
        let quick = |plan: &mut Plan| plan.mode_changes[1].settled_ps = Some(1_000_000);
        assert!(rejected(&quick));
    }
}

#[test]
fn no_claim_can_be_made_smaller() {
    let turns = format!("{CELL}    processor: {{link: none, receive: {{round_robin: 2}}}}\n");
    for profile in [CELL, turns.as_str()] {
        let network = opposite(profile, "10 ms", "");
        let receive = network.profiles["cell"].processor.as_ref().map(|p| p.receive);
        let good = certified(&network);
        for index in 0..good.processors.len() {
            let mut bad = good.clone();
            bad.processors[index].delay_ps -= 1 + bad.processors[index].delay_ps / 1_000_000;
            bad.seal();
            assert!(tenuto_certify::certify(&bad.to_json()).is_err(), "{receive:?} {index}");
        }
        let mut bad = good.clone();
        bad.processors.remove(0);
        bad.seal();
        assert!(tenuto_certify::certify(&bad.to_json()).is_err());
        for index in 0..good.processor_rows.len() {
            let tampers: [fn(&mut tenuto_model::ProcessorRow); 4] = [
                |row| row.load_ppm -= 100,
                |row| row.backlog_bound = row.backlog_bound.map(|units| units - 1),
                |row| row.buffer_limit = Some(1_000),
                |row| row.unit = "frames".into(),
            ];
            for (number, tamper) in tampers.iter().enumerate() {
                let mut bad = good.clone();
                tamper(&mut bad.processor_rows[index]);
                bad.seal();
                let accepted = tenuto_certify::certify(&bad.to_json()).is_ok();
                assert!(!accepted, "{receive:?} row {index}, tamper {number}");
            }
        }
        for row in &good.flows {
            let mut bad = good.clone();
            let own = bad.flows.iter_mut().find(|r| r.flow == row.flow).expect("it is there");
            own.delay_bound_ps = own.delay_bound_ps.map(|ps| ps - 1_000_000);
            bad.seal();
            assert!(tenuto_certify::certify(&bad.to_json()).is_err());
        }
    }
}
