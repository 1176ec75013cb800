//! Bounds of whole paths in raises: below the sums of hops, and found again by the checker.

use tenuto_model::{MemorySources, Network, Plan, Transition, read_network};
use tenuto_planner::{Options, WholePaths, plan};

fn read(text: &str) -> Network {
    let sources = MemorySources::new().with("n.yaml", text);
    match read_network(&sources, "n.yaml") {
        Ok((network, _)) => network,
        Err(problems) => panic!("{problems}"),
    }
}

/// Switches in a row, a host at each; `flows` are lines of the file.
fn row(modes: &str, switches: usize, flows: &[String], tail: &str) -> Network {
    let names = |of: &str, what: &str| -> String {
        (0..switches).map(|i| format!("{of}{i}: {what}")).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "tenuto: 1\nname: row\nmodes: [{modes}]\nhosts: {{{}}}\nswitches: {{{}}}\n\
         defaults: {{link: {{rate: 100 Mbit/s}}}}\nlinks:\n",
        names("h", "{}"),
        names("sw", "{profile: tenuto}"),
    );
    for i in 0..switches {
        text += &format!("  - {{ends: [h{i}, sw{i}]}}\n");
        if i > 0 {
            text += &format!("  - {{ends: [sw{}, sw{i}]}}\n", i - 1);
        }
    }
    text += "flows:\n";
    flows.iter().for_each(|flow| text += &format!("  {flow}\n"));
    read(&(text + tail))
}

/// All in one class: two flows of HI over the whole row, and flows of LO that join on the way.
fn one_class(tail: &str) -> Network {
    let mut flows: Vec<String> = vec![
        "a: {source: h0, targets: [h4], level: HI, frame: 1000 B, period: {LO: 4 ms, HI: 1 ms}, \
         deadline: 20 ms, priority: 0}"
            .into(),
        "b: {source: h1, targets: [h4], level: HI, frame: 600 B, period: 2 ms, deadline: 20 ms, \
         priority: 0}"
            .into(),
    ];
    flows.extend((0..3).map(|i| {
        format!(
            "l{i}: {{source: h{i}, targets: [h{}], level: LO, message: 4 kB, period: 3 ms, \
             deadline: 20 ms, priority: 0}}",
            i + 2
        )
    }));
    row("LO, HI", 5, &flows, tail)
}

/// Three classes and levels; what is above ends first, and the load of all would be too much.
fn three_levels(tail: &str) -> Network {
    let flow = |name: &str, at: (usize, usize), rest: &str| {
        format!("{name}: {{source: h{}, targets: [h{}], deadline: 200 ms, {rest}}}", at.0, at.1)
    };
    let flows = [
        flow("top", (0, 3), "level: C, message: 6 kB, period: {A: 20 ms, B: 8 ms, C: 2 ms}, priority: 1"),
        flow("tap", (1, 3), "level: C, frame: 1200 B, period: {A: 5 ms, B: 5 ms, C: 1 ms}, priority: 1"),
        flow("mid", (0, 2), "level: B, message: 10 kB, period: {A: 8 ms, B: 4 ms}, priority: 0"),
        flow("low", (1, 3), "level: A, message: 30 kB, period: 10 ms, priority: 0"),
        flow("lot", (0, 3), "level: A, message: 10 kB, period: 6 ms, priority: 1"),
    ];
    row("A, B, C", 4, &flows, tail)
}

fn networks() -> Vec<(&'static str, Network)> {
    let babbling = "tolerates: {babbling_hosts: 1}\n";
    vec![
        ("one class", one_class("")),
        ("one class, hosts may babble", one_class(babbling)),
        ("three levels", three_levels("")),
        ("three levels, hosts may babble", three_levels(babbling)),
    ]
}

fn planned(network: &Network, whole_paths: Option<WholePaths>) -> Plan {
    let plan = plan(network, &Options { whole_paths, would_fit: false, ..Options::default() });
    tenuto_certify::certify(&plan.to_json()).unwrap_or_else(|f| {
        let lines: Vec<String> = f.iter().take(5).map(ToString::to_string).collect();
        panic!("{} findings:\n{}", f.len(), lines.join("\n"))
    });
    plan
}

const fn is_raise(mode: Transition) -> bool {
    matches!(mode, Transition::Raise { .. })
}

#[test]
fn raises_have_bounds_of_whole_paths() {
    for (name, network) in networks() {
        let thorough = WholePaths { is_thorough: true, ..WholePaths::default() };
        let (whole, sums) = (planned(&network, Some(thorough)), planned(&network, None));
        let mut lower = 0;
        for (row, sum) in whole.flows.iter().zip(&sums.flows) {
            assert!(row.delay_bound_ps <= sum.delay_bound_ps, "{name}: {row:?}");
            println!(
                "{name}: {} {} {} {:?} {:?}",
                row.flow,
                row.mode.label(&network.modes),
                row.method,
                row.delay_bound_ps.map(|ps| ps / 1_000),
                sum.delay_bound_ps.map(|ps| ps / 1_000),
            );
            lower += usize::from(is_raise(row.mode) && row.delay_bound_ps < sum.delay_bound_ps);
        }
        assert!(lower > 0, "{name}: no raise is tighter");
    }
}
