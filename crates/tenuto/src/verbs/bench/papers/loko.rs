//! \[Loko\] Figs. 3, 15, 17, 18 and 19: two switches whose ports share a processor, two hosts at each, on virtual devices.

use super::figure::{Figure, Printed};
use super::plot::{Boxed, Boxes};
use crate::verbs::bench::sheet::{Sheet, rounded};
use serde_json::Value;
use tenuto_model::{Action, MatchType, Profile, Use};
use tenuto_planner::loko::SwitchModel;
use tenuto_units::Span;
use tenuto_world::device::DeviceModel;
use tenuto_world::profiling::{TwoSwitches, TwoSwitchesSeen};

const ENTRIES: u32 = 17;
const FRAME_BYTES: u32 = 306;
const FRAME_BITS: f64 = 306.0 * 8.0;
/// Rates of Fig. 17(a) that the text names, and some between them.
const FIFTH_RATES: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 11.0];
const BURSTS: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
const FULL_RATES: [f64; 8] = [0.9, 0.95, 1.0, 1.05, 1.15, 1.25, 1.35, 1.45];
const CONTROL_PER_S: [u64; 7] = [0, 150, 300, 450, 600, 750, 900];
/// Control messages per second in the allocation of Fig. 19(b).
const MODELLED_PER_S: f64 = 750.0;
/// Of the full rate, in Figs. 18(b) and 19.
const BELOW_FULL: f64 = 0.95;

/// How long each case is played.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length {
    /// Runs of each case.
    pub(super) runs: u64,
    /// Length of a run.
    pub(super) each: Span,
}

/// All figures.
pub(super) fn figures(length: Length, progress: &mut dyn FnMut(&str)) -> Vec<Figure> {
    progress("Loko, Figs. 3 and 15");
    let mut figures = vec![others(length)];
    for it in [FIFTH_BY_RATE, FIFTH_BY_BURST, FULL_BY_RATE, FULL_BY_BURST, CONTROL, MODELLED] {
        progress(&format!("Loko, {}", it.name));
        figures.push(it.figure(length));
    }
    figures
}

fn zodiac() -> SwitchModel {
    let profile = Profile::built_in("zodiac-fx").expect("it is built in");
    let used = Use::worst(MatchType::FiveTuple, Action::Output, ENTRIES, FRAME_BYTES);
    SwitchModel::of(&profile, &used).expect("it has a processor and cells")
}

/// The evaluation with one part of the rate allocated.
fn case(part: u64, length: Length) -> TwoSwitches {
    let share = zodiac().share(part).expect("feasible for 306 B and 17 entries");
    TwoSwitches {
        model: DeviceModel::built_in("zodiac-fx-loop").expect("it is built in"),
        rate_bps: share.rate_bps as f64,
        burst_bytes: share.burst_bytes as f64,
        delay_ns: share.delay_ps / 1_000,
        first_times: if part == 1 { 0.0 } else { 2.0 },
        rate_times: 1.0,
        burst_times: 1.0,
        control_modelled_per_s: 0.0,
        control_per_s: 0,
        duration: length.each,
        seed: 1,
    }
}

/// What all runs of a case showed together; quantiles are those of the run with the largest delay.
fn played(case: &TwoSwitches, runs: u64) -> TwoSwitchesSeen {
    let mut all = TwoSwitchesSeen::default();
    for seed in 1..=runs.max(1) {
        let seen = TwoSwitches { seed, ..case.clone() }.run();
        (all.sent, all.lost, all.late) =
            (all.sent + seen.sent, all.lost + seen.lost, all.late + seen.late);
        if seen.delay_ns_max >= all.delay_ns_max {
            (all.delay_ns_max, all.delay_ns_median, all.quantiles_ns) =
                (seen.delay_ns_max, seen.delay_ns_median, seen.quantiles_ns);
        }
    }
    all
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64 * 100.0
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// One figure of section 6.1.
struct Sweep {
    name: &'static str,
    along: &'static str,
    part: u64,
    at: &'static [f64],
    set: fn(&mut TwoSwitches, f64),
    printed: fn(&[Point]) -> Vec<Printed>,
}

/// One value of the parameter.
struct Point {
    at: f64,
    seen: TwoSwitchesSeen,
}

impl Point {
    fn lost(&self) -> f64 {
        percent(self.seen.lost, self.seen.sent)
    }
}

const FIFTH_BY_RATE: Sweep = Sweep {
    name: "Fig. 17(a)",
    along: "m_r",
    part: 5,
    at: &FIFTH_RATES,
    set: |case, at| case.rate_times = at,
    printed: |points| {
        vec![
            respected(points, 1.0),
            Printed::value("losses start at m_r", 5.0, first_lossy(points)),
            Printed::value("lost at m_r = 11, percent", 60.0, lost_at(points, 11.0)),
        ]
    },
};

const FIFTH_BY_BURST: Sweep = Sweep {
    name: "Fig. 17(b)",
    along: "m_b",
    part: 5,
    at: &BURSTS,
    set: |case, at| case.burst_times = at,
    printed: |points| {
        vec![
            respected(points, 1.0),
            Printed::value("losses start at m_b", 4.0, first_lossy(points)),
        ]
    },
};

const FULL_BY_RATE: Sweep = Sweep {
    name: "Fig. 18(a)",
    along: "m_r",
    part: 1,
    at: &FULL_RATES,
    set: |case, at| case.rate_times = at,
    printed: |points| {
        vec![
            respected(points, BELOW_FULL),
            Printed::value("losses start at m_r", 1.0, first_lossy(points)),
            Printed::value("late from m_r", 1.45, first_late(points)),
        ]
    },
};

const FULL_BY_BURST: Sweep = Sweep {
    name: "Fig. 18(b)",
    along: "m_b",
    part: 1,
    at: &BURSTS,
    set: |case, at| (case.rate_times, case.burst_times) = (BELOW_FULL, at),
    printed: |points| {
        vec![
            respected(points, 1.0),
            Printed::value("losses start at m_b", 3.0, first_lossy(points)),
            Printed::value("late from m_b", 7.0, first_late(points)),
        ]
    },
};

const CONTROL: Sweep = Sweep {
    name: "Fig. 19(a)",
    along: "c_pps",
    part: 1,
    at: &[0.0, 150.0, 300.0, 450.0, 600.0, 750.0, 900.0],
    set: |case, at| (case.rate_times, case.control_per_s) = (BELOW_FULL, per_s(at)),
    printed: |points| {
        vec![
            respected(points, 0.0),
            Printed::value("losses start at c_pps", 450.0, first_lossy(points)),
        ]
    },
};

const MODELLED: Sweep = Sweep {
    name: "Fig. 19(b)",
    along: "c_pps, 750 modelled",
    part: 1,
    at: &[0.0, 150.0, 300.0, 450.0, 600.0, 750.0, 900.0],
    set: |case, at| {
        (case.rate_times, case.control_per_s) = (BELOW_FULL, per_s(at));
        case.control_modelled_per_s = MODELLED_PER_S;
    },
    printed: |points| {
        let mut below = points.iter().filter(|it| it.at < MODELLED_PER_S);
        vec![Printed::claim(
            "no losses below the modelled 750 messages per second",
            below.all(|it| it.seen.lost == 0),
        )]
    },
};

/// The parameter of Fig. 19 as a count.
fn per_s(at: f64) -> u64 {
    CONTROL_PER_S.into_iter().find(|it| (*it as f64 - at).abs() < 0.5).unwrap_or(0)
}

fn respected(points: &[Point], at: f64) -> Printed {
    let point = points.iter().find(|it| (it.at - at).abs() < 1e-9);
    let is_clean =
        point.is_some_and(|it| it.seen.lost == 0 && it.seen.late == 0 && it.seen.sent > 0);
    Printed::claim(format!("no loss and no violation at {at}"), is_clean)
}

/// The least value at which frames are lost; NaN where none is.
fn first_lossy(points: &[Point]) -> f64 {
    points.iter().find(|it| it.seen.lost > 0).map_or(f64::NAN, |it| it.at)
}

fn first_late(points: &[Point]) -> f64 {
    points.iter().find(|it| it.seen.late > 0).map_or(f64::NAN, |it| it.at)
}

fn lost_at(points: &[Point], at: f64) -> f64 {
    points.iter().find(|it| (it.at - at).abs() < 1e-9).map_or(f64::NAN, Point::lost)
}

impl Sweep {
    fn figure(&self, length: Length) -> Figure {
        let case = case(self.part, length);
        let points: Vec<Point> = self
            .at
            .iter()
            .map(|&at| {
                let mut case = case.clone();
                (self.set)(&mut case, at);
                Point { at, seen: played(&case, length.runs) }
            })
            .collect();
        let promise = ms(2 * case.delay_ns);
        let title = format!("Loko, {}: delays of two flows over two switches", self.name);
        let mut values = Sheet::new(
            title,
            &[
                self.along,
                "sent",
                "lost percent",
                "late",
                "median ms",
                "99 % ms",
                "largest ms",
                "promised ms",
            ],
        );
        for point in &points {
            let seen = &point.seen;
            let at = |place: usize| {
                seen.quantiles_ns.map_or(Value::Null, |it| rounded(ms(it[place]), 3))
            };
            values.push(vec![
                point.at.into(),
                seen.sent.into(),
                rounded(point.lost(), 2),
                seen.late.into(),
                at(3),
                at(5),
                at(6),
                rounded(promise, 3),
            ]);
        }
        values.note(format!(
            "{} runs of {} s per value; the paper has 30 of 10 s",
            length.runs,
            length.each.as_ns() as f64 / 1e9
        ));
        let boxes: Vec<Boxed> = points.iter().map(boxed).collect();
        let title =
            format!("{}: {}", self.name, if self.part == 1 { "full-rate" } else { "fifth-rate" });
        let picture = Boxes {
            title: &title,
            along: self.along,
            of: "delay, ms",
            boxes: &boxes,
            promise: Some(promise),
        };
        Figure {
            paper: "Loko",
            name: self.name,
            world: "two virtual Zodiac FX with the rest of their loop (zodiac-fx-loop: 5 us behind each frame, assumed)".into(),
            svg: Some(picture.svg()),
            printed: (self.printed)(&points),
            values,
        }
    }
}

fn boxed(point: &Point) -> Boxed {
    Boxed {
        label: point.at.to_string(),
        quantiles: point.seen.quantiles_ns.map(|it| it.map(ms)),
        lost_percent: Some(point.lost()),
    }
}

/// What another system would allow each of the four hosts, and promise.
struct Other {
    name: &'static str,
    device: &'static str,
    line_bps: u64,
    host_bps: f64,
    promise_ns: f64,
    /// Lost and late, percent; as printed.
    printed: [f64; 2],
}

fn qjump(line_bps: f64, epsilon_s: f64) -> (f64, f64) {
    let epoch = 2.0 * 4.0 * FRAME_BITS / line_bps + epsilon_s;
    (FRAME_BITS / epoch, epoch * 1e9)
}

/// Fig. 3 and, with Loko beside them, Fig. 15.
fn others(length: Length) -> Figure {
    let (zodiac_bps, zodiac_ns) = qjump(100e6, 257e-6);
    let (banana_bps, banana_ns) = qjump(1e9, 4e-6);
    let silo = |device, line_bps, host_bps, promise_ns, printed| Other {
        name: "Silo",
        device,
        line_bps,
        host_bps,
        promise_ns,
        printed,
    };
    let others = [
        silo("zodiac-fx-loop", 100_000_000, 45e6, 146_900.0, [92.4, 7.6]),
        silo("banana-pi-r1", 1_000_000_000, 450e6, 14_700.0, [87.5, 12.5]),
        Other {
            name: "QJump",
            device: "zodiac-fx-loop",
            line_bps: 100_000_000,
            host_bps: zodiac_bps,
            promise_ns: zodiac_ns,
            printed: [6.5, 49.9],
        },
        Other {
            name: "QJump",
            device: "banana-pi-r1",
            line_bps: 1_000_000_000,
            host_bps: banana_bps,
            promise_ns: banana_ns,
            printed: [36.3, 63.7],
        },
    ];
    let mut values = Sheet::new(
        "Loko, Figs. 3 and 15: what other systems would allow, and what comes of it",
        &[
            "system",
            "device",
            "each host mbps",
            "promised us",
            "sent",
            "lost percent",
            "late percent",
            "median us",
            "largest us",
        ],
    );
    let (mut printed, mut boxes) = (Vec::new(), Vec::new());
    for it in &others {
        let seen = it.played();
        let (lost, late) = (percent(seen.lost, seen.sent), percent(seen.late, seen.sent));
        row(&mut values, it.name, it.device, it.host_bps, it.promise_ns, &seen);
        let on = format!("{} on {}", it.name, it.device);
        printed.push(Printed::value(format!("{on}: lost, percent"), it.printed[0], lost));
        printed.push(Printed::value(format!("{on}: late, percent"), it.printed[1], late));
        printed.push(Printed::claim(format!("{on} fails"), seen.lost + seen.late > 0));
        if it.line_bps == 100_000_000 {
            boxes.push(Boxed {
                label: it.name.into(),
                quantiles: seen.quantiles_ns.map(|it| it.map(ms)),
                lost_percent: Some(lost),
            });
        }
    }
    for (name, part, times) in [("Loko, full-rate", 1, BELOW_FULL), ("Loko, fifth-rate", 5, 1.0)] {
        let mut case = case(part, length);
        case.rate_times = times;
        let seen = played(&case, length.runs);
        let promise_ns = 2.0 * case.delay_ns as f64;
        row(&mut values, name, "zodiac-fx-loop", case.second_rate_bps() * times, promise_ns, &seen);
        printed.push(Printed::claim(
            format!("{name} loses nothing and is never late"),
            seen.lost + seen.late == 0,
        ));
        boxes.push(Boxed {
            label: name.into(),
            quantiles: seen.quantiles_ns.map(|it| it.map(ms)),
            lost_percent: Some(percent(seen.lost, seen.sent)),
        });
    }
    values.note("Loko's row has the rate of each second host; full-rate at 0.95, as in Fig. 18(a)");
    values.note("QJump on the Zodiac FX: four hosts of 5.4 Mbit/s are 21.6 through each switch, which forwards 11.8; that only 6.5 % are lost, as printed, does not fit");
    values.note("banana-pi-r1 is assumed: the paper prints its throughput for one frame size only");
    let picture = Boxes {
        title: "Fig. 15 on the Zodiac FX",
        along: "system",
        of: "delay, ms",
        boxes: &boxes,
        promise: None,
    };
    Figure {
        paper: "Loko",
        name: "Figs. 3 and 15",
        world: "two virtual devices of each kind, 306 B, 17 entries; no plan: Silo and QJump would allow it, Tenuto refuses it".into(),
        svg: Some(picture.svg()),
        values,
        printed,
    }
}

fn row(
    values: &mut Sheet,
    name: &str,
    device: &str,
    host_bps: f64,
    promise_ns: f64,
    seen: &TwoSwitchesSeen,
) {
    let us = |place: usize| {
        seen.quantiles_ns.map_or(Value::Null, |it| rounded(it[place] as f64 / 1e3, 1))
    };
    values.push(vec![
        name.into(),
        device.into(),
        rounded(host_bps / 1e6, 3),
        rounded(promise_ns / 1e3, 1),
        seen.sent.into(),
        rounded(percent(seen.lost, seen.sent), 2),
        rounded(percent(seen.late, seen.sent), 2),
        us(3),
        us(6),
    ]);
}

impl Other {
    /// Some 40,000 frames: four hosts at the same rate, a frame at a time.
    fn played(&self) -> TwoSwitchesSeen {
        const FRAMES: f64 = 40_000.0;
        let model = DeviceModel {
            rate_bps: self.line_bps,
            ..DeviceModel::built_in(self.device).expect("it is built in")
        };
        let arrived_bytes = self.host_bps / 8e9 * (self.promise_ns / 2.0) * 2.0;
        let seconds = FRAMES * FRAME_BITS / (4.0 * self.host_bps);
        let case = TwoSwitches {
            model,
            rate_bps: 4.0 * self.host_bps,
            burst_bytes: 4.0f64.mul_add(f64::from(FRAME_BYTES), arrived_bytes),
            delay_ns: whole(self.promise_ns / 2.0),
            first_times: 1.0,
            rate_times: 1.0,
            burst_times: 1.0,
            control_modelled_per_s: 0.0,
            control_per_s: 0,
            duration: Span::from_ns(whole(seconds * 1e9)),
            seed: 1,
        };
        case.run()
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // finite, and not negative
fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}
