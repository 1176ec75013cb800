//! Random networks: lines, stars, rings and trees with mixed rates, classes, modes and contracts.

use std::fmt::Write;
use tenuto_units::Draws;

const MODES: [&str; 3] = ["LO", "MID", "HI"];
const RATES: [&str; 6] =
    ["100 Mbit/s", "100 Mbit/s", "100 Mbit/s", "1 Gbit/s", "10 Mbit/s", "10 Gbit/s"];

/// A network file, and what it is drawn from.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// As it could lie in `networks/`.
    pub text: String,
}

/// The network of a seed.
pub fn network(seed: u64) -> Drawn {
    let mut draws = Draws::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(17));
    let draws = &mut draws;
    let modes = draws.one_of(&[1, 1, 2, 2, 2, 3]);
    let switches = 1 + draws.index(4);
    let hosts = 3 + draws.index(5);
    let mut text = format!("tenuto: 1\nname: drawn-{seed}\n");
    line(&mut text, format_args!("modes: [{}]", MODES[..modes].join(", ")));
    line(&mut text, format_args!("hosts: [{}]", names("h", hosts)));
    line(&mut text, format_args!("profiles: {{p: {}}}", profile(modes > 1, draws)));
    let of = |at: usize| format!("sw{at}: {{profile: p}}");
    let all: Vec<String> = (0..switches).map(of).collect();
    line(&mut text, format_args!("switches: {{{}}}", all.join(", ")));
    let slowest_mbps = links(&mut text, hosts, switches, draws);
    text.push_str("flows:\n");
    let flows = 3 + draws.index(10);
    let style = Style::draw(slowest_mbps, draws);
    for at in 0..flows {
        flow(&mut text, at, (hosts, modes), &style, draws);
    }
    let babbling = draws.below(2);
    let lost = if modes > 1 { draws.below(2) } else { 0 };
    line(
        &mut text,
        format_args!("tolerates: {{babbling_hosts: {babbling}, lost_signals: {lost}}}"),
    );
    Drawn { text }
}

/// What the flows of one network have in common.
struct Style {
    largest_message: u32,
    jitters: bool,
    classes: u64,
    /// Flows that meet at few hosts rather than anywhere.
    sinks: usize,
    period_us: (u64, u64),
    slowest_mbps: u64,
}

impl Style {
    fn draw(slowest_mbps: u64, draws: &mut Draws) -> Self {
        Self {
            slowest_mbps,
            largest_message: draws.one_of(&[1_460, 4_000, 15_000, 40_000]),
            jitters: draws.below(2) == 0,
            classes: 1 + draws.below(4),
            sinks: 1 + draws.index(4),
            period_us: draws.one_of(&[(500, 5_000), (2_000, 20_000), (10_000, 100_000)]),
        }
    }
}

fn profile(modes: bool, draws: &mut Draws) -> String {
    let latency_us = draws.one_of(&[0, 0, 3, 20]);
    let least_us = draws.below(latency_us + 1);
    let below = draws.one_of(&[0, 0, 0, 3_000]);
    let ppm = draws.one_of(&[0, 0, 200]);
    let counts = draws.one_of(&["wire", "frame", "l2-without-fcs"]);
    format!(
        "{{like: ideal, modes: {modes}, latency: {{min: {least_us} us, max: {latency_us} us}}, \
         below_scheduler: {below} B, clock_tolerance: {ppm} ppm, meter_counts: {counts}}}"
    )
}

/// Gives the slowest rate that is drawn from, Mbit/s.
fn links(text: &mut String, hosts: usize, switches: usize, draws: &mut Draws) -> u64 {
    let rates = 1 + draws.index(3);
    let rates: Vec<&str> = (0..rates).map(|_| draws.one_of(&RATES)).collect();
    text.push_str("links:\n");
    let mut link = |a: String, b: String, draws: &mut Draws| {
        let rate = rates[draws.index(rates.len())];
        let length = draws.one_of(&[1, 5, 100]);
        line(text, format_args!("  - {{ends: [{a}, {b}], rate: {rate}, length: {length} m}}"));
    };
    let is_tree = draws.below(2) == 0;
    for at in 1..switches {
        let before = if is_tree { draws.index(at) } else { at - 1 };
        link(format!("sw{before}"), format!("sw{at}"), draws);
    }
    if switches > 2 && !is_tree && draws.below(2) == 0 {
        link(format!("sw{}", switches - 1), "sw0".into(), draws);
    }
    for at in 0..hosts {
        let switch = draws.index(switches);
        link(format!("h{at}"), format!("sw{switch}"), draws);
    }
    let is_slow = |rate: &str| rates.contains(&rate);
    if is_slow("10 Mbit/s") {
        10
    } else if is_slow("100 Mbit/s") {
        100
    } else {
        1_000
    }
}

fn flow(
    text: &mut String,
    at: usize,
    (hosts, modes): (usize, usize),
    style: &Style,
    draws: &mut Draws,
) {
    let source = draws.index(hosts);
    let count = draws.one_of(&[1, 1, 1, 2, 3]);
    let mut targets: Vec<usize> = Vec::new();
    for _ in 0..count {
        let sink = draws.index(style.sinks.min(hosts));
        let target = if draws.below(4) == 0 { draws.index(hosts) } else { sink };
        if target != source && !targets.contains(&target) {
            targets.push(target);
        }
    }
    if targets.is_empty() {
        targets.push((source + 1) % hosts);
    }
    let targets: Vec<String> = targets.iter().map(|it| format!("h{it}")).collect();
    let level = draws.index(modes);
    let contracts = contracts(level, style, draws);
    let class = draws.below(style.classes);
    line(
        text,
        format_args!(
            "  f{at}: {{source: h{source}, targets: [{}], level: {}, {contracts}, deadline: 2 s, priority: {class}}}",
            targets.join(", "),
            MODES[level],
        ),
    );
}

/// Size, period and jitter by mode: what a mode allows every higher mode allows.
fn contracts(level: usize, style: &Style, draws: &mut Draws) -> String {
    let (kind, mut bytes, most) = match draws.below(3) {
        0 => ("frame", 64 + draws.below(1_455), 1_518),
        1 => ("payload", 18 + draws.below(1_455), 1_472),
        _ => {
            let most = u64::from(style.largest_message);
            ("message", 16 + draws.below(most), 2 * most)
        }
    };
    let (least_us, most_us) = style.period_us;
    // No shorter than some times what the slowest link takes.
    let taken_us = (most + 100) * 8 / style.slowest_mbps;
    let floor_us = taken_us * (1 + draws.below(4)) + 1;
    let mut period_us = (least_us + draws.below(most_us - least_us)).max(floor_us * 3);
    let mut jitter_us = if style.jitters { draws.below(period_us / 3) } else { 0 };
    let (mut sizes, mut periods, mut jitters) = (Vec::new(), Vec::new(), Vec::new());
    for mode in MODES.iter().take(level + 1) {
        sizes.push(format!("{mode}: {bytes} B"));
        periods.push(format!("{mode}: {period_us} us"));
        jitters.push(format!("{mode}: {jitter_us} us"));
        match draws.below(4) {
            0 => bytes = (bytes + draws.below(bytes * 3 + 1)).min(most),
            1 => period_us = (period_us / (1 + draws.below(8))).max(jitter_us + 1).max(floor_us),
            2 if style.jitters => jitter_us += draws.below((period_us - jitter_us) / 2),
            _ => {}
        }
    }
    let map = |of: Vec<String>| format!("{{{}}}", of.join(", "));
    let jitters = if style.jitters { format!(", jitter: {}", map(jitters)) } else { String::new() };
    format!("{kind}: {}, period: {}{jitters}", map(sizes), map(periods))
}

fn names(prefix: &str, count: usize) -> String {
    let all: Vec<String> = (0..count).map(|at| format!("{prefix}{at}")).collect();
    all.join(", ")
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(text, "{arguments}").expect("writing to a string");
}
