//! Networks whose modes leave much behind.

use crate::support::network;
use tenuto_model::Network;

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
    network(&(text + tail))
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
        flow(
            "top",
            (0, 3),
            "level: C, message: 6 kB, period: {A: 20 ms, B: 8 ms, C: 2 ms}, priority: 1",
        ),
        flow(
            "tap",
            (1, 3),
            "level: C, frame: 1200 B, period: {A: 5 ms, B: 5 ms, C: 1 ms}, priority: 1",
        ),
        flow("mid", (0, 2), "level: B, message: 10 kB, period: {A: 8 ms, B: 4 ms}, priority: 0"),
        flow("low", (1, 3), "level: A, message: 30 kB, period: 10 ms, priority: 0"),
        flow("lot", (0, 3), "level: A, message: 10 kB, period: 6 ms, priority: 1"),
    ];
    row("A, B, C", 4, &flows, tail)
}

pub(crate) fn networks() -> Vec<(&'static str, Network)> {
    let babbling = "tolerates: {babbling_hosts: 1}\n";
    vec![
        ("one class", one_class("")),
        ("one class, hosts may babble", one_class(babbling)),
        ("three levels", three_levels("")),
        ("three levels, hosts may babble", three_levels(babbling)),
    ]
}
