//! Random small networks, as text: what a user could have written.

use std::fmt::Write as _;
use tenuto_model::{BufferUnit, Network, Processor, Profile, Receive, ReceiveBuffer};
use tenuto_units::Draws;

/// The same seed makes the same network.
pub(crate) struct Draw(Draws);

impl Draw {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(Draws::new(seed))
    }

    pub(crate) const fn word(&mut self) -> u64 {
        self.0.word()
    }

    /// 0..limit.
    pub(crate) const fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit)
    }

    /// first..=last.
    pub(crate) const fn within(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    pub(crate) const fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn of<T: Copy>(&mut self, list: &[T]) -> T {
        self.0.one_of(list)
    }
}

/// The wiring of one network: pairs of switches, and for a ring the only way round.
struct Shape {
    switches: usize,
    trunks: Vec<(usize, usize)>,
    one_way: bool,
}

fn shape(draw: &mut Draw) -> Shape {
    let n = usize::try_from(draw.within(1, 5)).expect("small");
    let line = |n: usize| (1..n).map(|i| (i - 1, i)).collect::<Vec<_>>();
    match draw.below(5) {
        0 => Shape { switches: n, trunks: line(n), one_way: false },
        1 => Shape { switches: n, trunks: (1..n).map(|i| (0, i)).collect(), one_way: false },
        2 => {
            let n = n.max(3);
            let mut trunks = line(n);
            trunks.push((n - 1, 0));
            Shape { switches: n, trunks, one_way: draw.chance(60) }
        }
        3 => Shape {
            switches: n,
            trunks: (1..n).map(|i| ((i - 1) / 2, i)).collect(),
            one_way: false,
        },
        _ => {
            let n = n.max(3);
            let mut trunks = line(n);
            for a in 0..n {
                for b in a + 2..n {
                    if draw.chance(40) {
                        trunks.push((a, b));
                    }
                }
            }
            Shape { switches: n, trunks, one_way: false }
        }
    }
}

/// The text of the network of that seed, asking for `load` percent of what lines carry.
pub(crate) fn text(seed: u64, load: u64) -> String {
    let mut draw = Draw::new(seed);
    let draw = &mut draw;
    let shape = shape(draw);
    let modes = draw.of(&[1_usize, 1, 2, 2, 3]);
    // The two networks of a pair raise each by itself.
    let is_double = draw.chance(25) && modes == 1;
    let mut out = String::from("tenuto: 1\n");
    let names = ["LO", "MID", "HI"];
    let names = match modes {
        2 => vec![names[0], names[2]],
        _ => names[..modes].to_vec(),
    };
    let _ = writeln!(out, "name: campaign-{seed}");
    if modes > 1 {
        let _ = writeln!(out, "modes: [{}]", names.join(", "));
    }
    let nets: &[&str] = if is_double { &["a", "b"] } else { &["s"] };
    if is_double {
        out.push_str("networks: [A, B]\n");
    }
    let rate = draw.of(&[10_u64, 100, 100, 100, 1_000]);
    let length = draw.within(1, 300);
    let queues = switches(draw, &mut out, &shape, nets, is_double, modes > 1);
    let hosts = draw.within(2, 7);
    let list: Vec<String> = (0..hosts).map(|h| format!("h{h}")).collect();
    let _ = writeln!(out, "hosts: [{}]", list.join(", "));
    out.push_str("controllers: {c1: {manages: all, channel: out-of-band, when_lost: secure}}\n");
    let _ =
        writeln!(out, "defaults: {{link: {{rate: {rate} Mbit/s, length: {length} m}}}}\nlinks:");
    let at: Vec<usize> = (0..hosts).map(|_| place(draw, shape.switches)).collect();
    for net in nets {
        for (a, b) in &shape.trunks {
            let _ = writeln!(out, "  - {{ends: [{net}{a}, {net}{b}]}}");
        }
        for (h, s) in at.iter().enumerate() {
            let slow = if draw.chance(10) {
                format!(", rate: {} Mbit/s", rate / 2)
            } else {
                String::new()
            };
            let _ = writeln!(out, "  - {{ends: [h{h}, {net}{s}]{slow}}}");
        }
    }
    let all = All { at, names, rate, load, queues, is_double, shape };
    all.flows(draw, &mut out);
    let (babbling, lost) = (draw.below(2), draw.below(2));
    let _ = writeln!(
        out,
        "tolerates: {{babbling_hosts: {babbling}, lost_signals: {lost}, controller_loss: true}}"
    );
    out
}

fn place(draw: &mut Draw, switches: usize) -> usize {
    usize::try_from(draw.below(switches as u64)).expect("small")
}

/// Writes switches and their profiles; the number of queues that all of them have.
fn switches(
    draw: &mut Draw,
    out: &mut String,
    shape: &Shape,
    nets: &[&str],
    is_double: bool,
    is_modal: bool,
) -> u64 {
    let known: &[&str] =
        if is_modal { &["tenuto", "odd"] } else { &["tenuto", "afdx", "ideal", "hp-e3800", "odd"] };
    let (least, more) = (draw.within(0, 30), draw.of(&[0, 5, 50, 300]));
    let counts = draw.of(&["wire", "frame", "l2-without-fcs"]);
    let steps = (draw.of(&[1, 8, 64, 1_000]), draw.of(&[1, 8, 100]));
    let _ = writeln!(
        out,
        "profiles:\n  odd: {{like: tenuto, latency: {{min: {least} us, max: {} us}}, meter_counts: {counts}, \
         meter_rate_step: {} kbit/s, meter_burst_step: {} kbit, below_scheduler: {} B, swap: {} us, \
         purge_per_frame: {} ns, clock_tolerance: {} ppm}}",
        least + more,
        steps.0,
        steps.1,
        draw.of(&[0, 0, 1_518, 5_000]),
        draw.of(&[0, 50, 1_000]),
        draw.of(&[0, 200, 2_000]),
        draw.of(&[0, 200, 1_000]),
    );
    out.push_str("switches:\n");
    let mut queues = 8;
    let mixed = draw.chance(30);
    let mut profile = draw.of(known);
    for net in nets {
        for s in 0..shape.switches {
            if mixed {
                profile = draw.of(known);
            }
            if profile == "afdx" {
                queues = 2;
            }
            let of = if is_double {
                format!(", network: {}", net.to_uppercase())
            } else {
                String::new()
            };
            let _ = writeln!(out, "  {net}{s}: {{profile: {profile}{of}}}");
        }
    }
    queues
}

struct All<'a> {
    at: Vec<usize>,
    names: Vec<&'a str>,
    /// Mbit/s.
    rate: u64,
    /// Percent.
    load: u64,
    queues: u64,
    is_double: bool,
    shape: Shape,
}

impl All<'_> {
    fn flows(&self, draw: &mut Draw, out: &mut String) {
        let count = draw.within(2, 9);
        out.push_str("flows:\n");
        for flow in 0..count {
            self.flow(draw, out, flow, count);
        }
    }

    fn flow(&self, draw: &mut Draw, out: &mut String, flow: u64, count: u64) {
        let hosts = self.at.len();
        let source = place(draw, hosts);
        let mut targets = vec![(source + 1 + place(draw, hosts - 1)) % hosts];
        if draw.chance(25) {
            let other = (source + 1 + place(draw, hosts - 1)) % hosts;
            if other != targets[0] {
                targets.push(other);
            }
        }
        let level = place(draw, self.names.len());
        let is_vl = draw.chance(25);
        let _ = write!(out, "  F{flow}: {{source: h{source}, targets: {{");
        let ways: Vec<String> =
            targets.iter().map(|t| format!("h{t}: {}", self.way(source, *t))).collect();
        let _ = write!(out, "{}}}", ways.join(", "));
        if self.names.len() > 1 {
            let _ = write!(out, ", level: {}", self.names[level]);
        }
        if is_vl {
            let _ = write!(out, ", vl: {}", flow + 1);
        }
        if self.is_double {
            out.push_str(", copies: [A, B], skew_max: 900 ms");
        }
        self.contract(draw, out, level, is_vl, count);
        out.push_str("}\n");
    }

    /// Round a ring the long way if need be, else whatever is shortest.
    fn way(&self, source: usize, target: usize) -> String {
        if !self.shape.one_way || self.is_double {
            return "{}".into();
        }
        let n = self.shape.switches;
        let (mut here, last) = (self.at[source], self.at[target]);
        let mut route = vec![format!("s{here}")];
        while here != last {
            here = (here + 1) % n;
            route.push(format!("s{here}"));
        }
        format!("{{route: [{}]}}", route.join(", "))
    }

    fn contract(&self, draw: &mut Draw, out: &mut String, level: usize, is_vl: bool, count: u64) {
        let base_us = if is_vl {
            draw.of(&[1_u64, 2, 4, 8, 16, 32]) * 1_000
        } else {
            draw.within(1_000, 40_000)
        };
        // A share of the line that leaves the whole at about `load` percent.
        let share = self.load * draw.within(20, 180) / count;
        let bytes = self.rate * base_us / 8 * share / 10_000;
        let kind =
            if is_vl { "frame" } else { draw.of(&["message", "message", "payload", "frame"]) };
        let (least, most) = match kind {
            "message" => (16, 60_000),
            "payload" => (18, 1_472),
            _ => (64, 1_518),
        };
        let bytes = bytes.clamp(least, most);
        let varies = level > 0 && draw.chance(70);
        let smaller = draw.chance(30);
        let per = |values: Vec<String>| -> String {
            if values.windows(2).all(|pair| pair[0] == pair[1]) {
                return values[0].clone();
            }
            let pairs = self.names.iter().zip(&values).map(|(n, v)| format!("{n}: {v}"));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        };
        let periods: Vec<u64> = (0..=level)
            .map(|mode| {
                let slower = if varies { 1 << (level - mode) } else { 1 };
                base_us * if is_vl { slower.min(4) } else { slower * 3 / 2 }.max(1)
            })
            .collect();
        let sizes: Vec<u64> = (0..=level)
            .map(
                |mode| {
                    if varies && smaller && mode < level { (bytes / 2).max(least) } else { bytes }
                },
            )
            .collect();
        let key = if is_vl { "bag" } else { "period" };
        let written = periods.iter().map(|us| format!("{us} us")).collect();
        let _ = write!(out, ", {key}: {}", per(written));
        let _ = write!(out, ", {kind}: {}", per(sizes.iter().map(|b| format!("{b} B")).collect()));
        if draw.chance(40) {
            let jitter = base_us / draw.within(2, 20);
            let _ = write!(out, ", jitter: {jitter} us");
        }
        if draw.chance(80) {
            let _ = write!(out, ", priority: {}", draw.below(self.queues));
        }
        out.push_str(", deadline: 900 ms");
    }
}

/// Lets the ports of every kind of switch share a processor, of one kind or another.
pub(crate) fn share_processors(network: &mut Network, seed: u64) {
    let mut draw = Draw::new(seed ^ 0x5ed5);
    let known = Profile::built_in("open-vswitch").expect("built in").processor;
    let known = known.expect("its ports share one");
    for profile in network.profiles.values_mut() {
        let receive = draw.of(&[0_u32, 1, 4, 16]);
        profile.processor = Some(Processor {
            base_ps: draw.within(500, 12_000) * 1_000,
            per_byte_ps: draw.below(20) * 1_000,
            per_output_ps: draw.below(4_000) * 1_000,
            spread_percent: draw.of(&[0, 20, 80]),
            receive: if receive == 0 { Receive::Fifo } else { Receive::RoundRobin(receive) },
            is_typical: false,
            ..known.clone()
        });
        profile.receive_buffer = draw.chance(50).then(|| ReceiveBuffer {
            count: draw.within(200, 4_000),
            unit: BufferUnit::Frames,
            is_per_port: draw.chance(70),
            has_place_in_service: draw.chance(50),
        });
    }
}
