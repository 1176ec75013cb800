//! Small networks that together have every kind of content that a plan can carry.

use crate::support::{network, quick};
use tenuto_model::{ForwardingModel, Plan};
use tenuto_planner::{Curves, Options, Priorities, WholePaths, plan};

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) plan: Plan,
    pub(crate) options: Options,
    /// How many places are tried per field and change.
    pub(crate) each_max: usize,
}

/// Two switches with two hosts each; `flows` and `more` are lines of the description.
fn pair(profile: &str, flows: &str, more: &str) -> String {
    format!(
        "tenuto: 1\nname: pair\nhosts: [a, b, c, d]\nswitches: {{s1: {{profile: p}}, s2: {{profile: \
         p}}}}\nprofiles: {{p: {{{profile}}}}}\nlinks:\n  - {{ends: [a, s1], rate: 100 Mbit/s}}\n  \
         - {{ends: [b, s1], rate: 100 Mbit/s}}\n  - {{ends: [s2, c], rate: 100 Mbit/s}}\n  \
         - {{ends: [s2, d], rate: 100 Mbit/s}}\n  - {{ends: [s1, s2], rate: 100 Mbit/s}}\n\
         flows:\n{flows}{more}"
    )
}

const PLAIN: &str = "like: tenuto, buffer_per_port: 64 kB";
const FLOWS: &str = "
  many: {source: a, targets: [c, d], frame: 500 B, period: 2 ms, jitter: 0.2 ms, priority: 0}
  cut: {source: b, targets: [c], message: 4 kB, period: 8 ms, priority: 1}
  back: {source: c, targets: [a], frame: 200 B, frame_min: 100 B, period: 3 ms, priority: 0}
";
const MODES: &str = "
  up: {source: a, targets: [c, d], level: T2, frame: 400 B, period: {T0: 20 ms, T1: 10 ms, T2: 5 ms}, deadline: 20 ms, priority: 0}
  mid: {source: b, targets: [c], level: T1, message: 3 kB, period: {T0: 40 ms, T1: 20 ms}, deadline: 20 ms, priority: 1}
  low: {source: b, targets: [d], level: T0, frame: 1000 B, period: 10 ms, deadline: 20 ms, priority: 2}
  back: {source: c, targets: [a], level: T2, frame: 200 B, period: 8 ms, deadline: 20 ms, priority: 0}
";
const SHARED: &str = "like: zodiac-fx, entries: 24, meters: 64";
const SLOW: &str = "
  many: {source: a, targets: [c, d], frame: 300 B, period: 20 ms, jitter: 0.2 ms}
  own: {source: b, targets: [c], message: 200 B, period: 30 ms}
  back: {source: c, targets: [a], frame: 200 B, frame_min: 100 B, period: 25 ms}
";

/// Switches in a circle, every flow most of the way round.
fn circle() -> String {
    let mut text = "tenuto: 1\nname: circle\nhosts: [h0, h1, h2, h3]\nswitches: {w0: {profile: \
                    ideal}, w1: {profile: ideal}, w2: {profile: ideal}, w3: {profile: ideal}}\n\
                    defaults: {link: {rate: 10 Mbit/s}}\nlinks:\n"
        .to_owned();
    for i in 0..4 {
        text += &format!("  - {{ends: [h{i}, w{i}]}}\n  - {{ends: [w{i}, w{}]}}\n", (i + 1) % 4);
    }
    text += "flows:\n";
    for i in 0..4 {
        let (j, k) = ((i + 1) % 4, (i + 2) % 4);
        text += &format!(
            "  f{i}: {{source: h{i}, targets: {{h{k}: {{route: [w{i}, w{j}, w{k}]}}}}, frame: 500 B, \
             period: 3 ms, deadline: 90 ms, priority: 0}}\n"
        );
    }
    text
}

/// Two networks with a switch each.
const CABIN: &str = "
tenuto: 1
name: cabin
networks: [A, B]
hosts: [x, y, z]
switches: {sa: {network: A, profile: afdx}, sb: {network: B, profile: afdx}}
defaults: {link: {rate: 100 Mbit/s}, flow: {copies: [A, B], skew_max: 5 ms, match: vl}}
links:
  - {ends: [x, sa]}
  - {ends: [x, sb]}
  - {ends: [y, sa]}
  - {ends: [y, sb]}
  - {ends: [z, sa]}
  - {ends: [z, sb]}
flows:
  v1: {source: x, targets: [y, z], vl: 1, frame: 300 B, bag: 4 ms, priority: 0}
  v2: {source: y, targets: [z], vl: 2, frame: 600 B, bag: 8 ms, priority: 1}
tolerates: {babbling_hosts: 1}
";

/// Three switches in a ring, any link of which may be lost.
const RING: &str = "
tenuto: 1
name: ring
hosts: [a, b, c]
switches: {w1: {profile: tenuto}, w2: {profile: tenuto}, w3: {profile: tenuto}}
defaults: {link: {rate: 100 Mbit/s}}
links:
  - {ends: [a, w1]}
  - {ends: [b, w2]}
  - {ends: [c, w3]}
  - {ends: [w1, w2]}
  - {ends: [w2, w3]}
  - {ends: [w3, w1]}
flows:
  one: {source: a, targets: [b, c], frame: 700 B, period: 2 ms, priority: 0}
  two: {source: c, targets: [b], frame: 900 B, period: 3 ms, priority: 1}
tolerates: {links_lost: 1}
";

/// Every kind of content.
pub(crate) fn cases() -> Vec<Case> {
    let usual = quick();
    let curves = Options { curves: Curves::Staircases, ..usual };
    let paths = Options { whole_paths: Some(WholePaths::default()), ..usual };
    let fluid = Options { model: ForwardingModel::Fluid, ..usual };
    let audsley = Options { priorities: Priorities::Audsley, ..usual };
    let modal = "modes: [T0, T1, T2]\n";
    // Two levels are enough where three were tried.
    let two = MODES.replace(", T2: 5 ms", "").replace("level: T2", "level: T1");
    let dual = "modes: [T0, T1]\n";
    let babbling = "tolerates: {babbling_hosts: 1, lost_signals: 1}\n";
    let trusted = "tolerates: {babbling_hosts: 0, lost_signals: 1}\n";
    let carry = "other_traffic: {priority: 6, rate: 1 Mbit/s, frame: 1518 B}\n";
    let processor = "like: tenuto, processor: {base: 12 us, receive: {round_robin: 4}, \
                     slices: {budgets: {red: {messages: 20 /s, packet_ins: 9 /s, bytes: 2 kB/s}}}}, \
                     receive_buffer: {frames: 4000, per: port}";
    let overload = FLOWS.replace("period: 8 ms", "period: 0.345 ms");
    let all = [
        ("lines and buckets", pair(PLAIN, FLOWS, ""), usual),
        ("circle", circle(), usual),
        ("whole paths", circle(), paths),
        ("staircases", pair(PLAIN, FLOWS, ""), curves),
        ("modes, babbling hosts", pair(PLAIN, MODES, &format!("{modal}{babbling}")), usual),
        ("modes, trusted hosts", pair(PLAIN, &two, &format!("{dual}{trusted}")), usual),
        ("shared processor", pair(SHARED, SLOW, ""), usual),
        ("shared processor, modes", pair(processor, &two, &format!("{dual}{trusted}")), usual),
        ("two networks", CABIN.to_owned(), usual),
        ("lost links", RING.to_owned(), usual),
        ("fluid", pair(PLAIN, FLOWS, ""), fluid),
        ("Audsley's priorities", pair(PLAIN, FLOWS, ""), audsley),
        ("other traffic", pair(PLAIN, FLOWS, &format!("{carry}{babbling}")), usual),
        ("overload", pair(PLAIN, &overload, ""), usual),
    ];
    let case = |(name, text, options): (&'static str, String, Options)| Case {
        name,
        plan: plan(&network(&text), &options),
        options,
        // Most fields are in every plan: one place of each is enough in the others.
        each_max: if name != "lines and buckets" { 1 } else { 2 },
    };
    all.into_iter().map(case).collect()
}
