//! `tenuto bench loko`: the Zodiac FX, its allocations, and what Silo and QJump would promise.

use super::sheet::{Form, Sheet, rounded, show};
use super::switch_use::{self, SwitchUse};
use super::{allocations, loko_admission, loko_order};
use crate::failure::Failure;
use crate::outcome::Outcome;
use clap::{Args, ValueEnum};
use serde_json::Value;
use tenuto_model::{Action, BufferUnit, MatchType, Profile, Use};
use tenuto_planner::comparison::{qjump, silo};
use tenuto_planner::loko::{Allocation, SwitchModel, admit, ring};
use tenuto_units::Draws;

/// Entries and frame sizes of Table 1.
const ENTRIES: [u32; 9] = [1, 17, 33, 49, 65, 81, 97, 113, 128];
const ENTRIES_MAX: u32 = 128;
const FRAMES: [u32; 7] = [64, 306, 548, 790, 1032, 1274, 1516];
/// The evaluation of section 6.
const ENTRIES_USED: u32 = 17;
pub(super) const FRAME: u32 = 306;
pub(super) const RING: usize = 31;
const REQUESTS: usize = 100;
const SEED: u64 = 1;
const KIB: f64 = 1_024.0;
/// Table 2, fifth-rate: 2.32 KiB.
const PRINTED_BURST_BYTES: u64 = 2_376;

#[derive(Debug, Args)]
pub(crate) struct Loko {
    /// One part only; without it, all but fig20, allocations, accept and service
    part: Option<Part>,
    /// Runs per path length of fig20
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    #[command(flatten)]
    used: SwitchUse,
    #[command(flatten)]
    pub(super) form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Rate, burst and delay of two allocations
    Table2,
    /// The same over entries and frame sizes
    Fig14,
    /// Flows accepted around a ring of 31 switches
    Fig20,
    /// What Silo would promise; not valid for such switches
    Silo,
    /// What QJump would promise; not valid for such switches
    Qjump,
    /// Flows that a chosen allocation accepts more than full and k-th rate
    Allocations,
    /// Flows that exact and reserving admission holds beside every allocation
    Accept,
    /// Service curve, buffer and allocations of a profile for a stated use
    Service,
}

pub(super) fn run(args: &Loko) -> Result<Outcome, Failure> {
    let has = |part| args.part == Some(part);
    let is_short = |part| args.part.is_none() || has(part);
    let mut sheets = Vec::new();
    if is_short(Part::Table2) {
        sheets.push(table2());
    }
    if is_short(Part::Fig14) {
        sheets.extend(fig14());
    }
    if has(Part::Fig20) {
        sheets.extend(fig20(args.runs));
    }
    if is_short(Part::Silo) {
        sheets.push(silo());
    }
    if is_short(Part::Qjump) {
        sheets.push(qjump());
    }
    if has(Part::Allocations) {
        sheets.extend(allocations::sheets());
    }
    if has(Part::Accept) {
        sheets.extend(loko_admission::sheets());
        sheets.push(loko_order::sheet());
    }
    if has(Part::Service) {
        sheets.extend(switch_use::sheets(&args.used)?);
    }
    show("loko", Some(SEED), &sheets, &args.form)
}

fn zodiac() -> Profile {
    Profile::built_in("zodiac-fx").expect("it is built in")
}

/// The Zodiac FX for five-tuples, plain output, worst position and order.
pub(super) fn model(entries: u32, frame_bytes: u32) -> SwitchModel {
    let it = Use::worst(MatchType::FiveTuple, Action::Output, entries, frame_bytes);
    SwitchModel::of(&zodiac(), &it).expect("it has a processor and cells")
}

fn mbps(bps: u64) -> f64 {
    bps as f64 / 1e6
}

fn ms(ps: u64) -> f64 {
    ps as f64 / 1e9
}

fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

fn table2() -> Sheet {
    let model = model(ENTRIES_USED, FRAME);
    let mut sheet = Sheet::new(
        "Loko, Table 2: Zodiac FX, 17 entries, five-tuple, 306 B",
        &["quantity", "unit", "printed", "ours"],
    );
    let mut row = |name: &str, unit: &str, printed: f64, ours: f64, decimals| {
        sheet.push(vec![name.into(), unit.into(), printed.into(), rounded(ours, decimals)]);
    };
    row("R", "Mbit/s", 11.8, mbps(model.rate_bps), 2);
    row("T", "ms", 0.46, ms(model.latency_ps), 3);
    let full = self::model(ENTRIES_MAX, FRAME);
    row("R, 128 entries (section 4)", "Mbit/s", 1.88, mbps(full.rate_bps), 2);
    row("T, 128 entries (section 4)", "ms", 2.65, ms(full.latency_ps), 2);
    for (name, k, printed) in
        [("full-rate", 1, [11.8, 2.02, 1.86]), ("fifth-rate", 5, [2.37, 2.32, 2.07])]
    {
        let it = model.share(k).expect("feasible, as the tests say");
        row(&format!("{name} rate"), "Mbit/s", printed[0], mbps(it.rate_bps), 2);
        row(&format!("{name} burst"), "KiB", printed[1], it.burst_bytes as f64 / KIB, 2);
        row(&format!("{name} delay"), "ms", printed[2], ms(it.delay_ps), 2);
    }
    let fifth = model.rate_bps / 5;
    let slip = model.with(fifth, PRINTED_BURST_BYTES).map_or(0.0, |it| ms(it.delay_ps));
    sheet.note("sizes are printed in kB and meant in KiB");
    sheet.note(format!(
        "fifth-rate: b = B - r*T is 2.55 KiB, not 2.32; the printed delay goes with the printed \
         burst ({slip:.2} ms)"
    ));
    sheet
}

/// Frames that fit by the printed formula, which rounds up what fits.
fn printed_frames(frame_bytes: u32) -> u64 {
    let buffer = zodiac().receive_buffer.expect("it has cells");
    let BufferUnit::Cells(_) = buffer.unit else { return buffer.frames(frame_bytes) };
    1 + buffer.count.div_ceil(buffer.unit.of_frame(frame_bytes))
}

fn fig14() -> Vec<Sheet> {
    type Value14 = fn(&Allocation) -> Value;
    let values: [(&str, Value14); 3] = [
        ("delay, ms", |it| rounded(ms(it.delay_ps), 2)),
        ("burst, B", |it| it.burst_bytes.into()),
        ("rate, Mbit/s", |it| rounded(mbps(it.rate_bps), 2)),
    ];
    let columns: Vec<String> = ENTRIES.iter().map(|n| format!("n={n}")).collect();
    let columns: Vec<&str> =
        std::iter::once("frame B").chain(columns.iter().map(String::as_str)).collect();
    let mut sheets = Vec::new();
    for (name, k) in [("full-rate", 1), ("fifth-rate", 5)] {
        for (what, value) in values {
            let title = format!("Loko, Fig. 14: {name}, {what} (- where less than a frame fits)");
            let mut sheet = Sheet::new(title, &columns);
            for bytes in FRAMES {
                let cell = |&n: &u32| model(n, bytes).share(k).map_or(Value::Null, |a| value(&a));
                sheet.push(std::iter::once(bytes.into()).chain(ENTRIES.iter().map(cell)).collect());
            }
            sheets.push(sheet);
        }
    }
    sheets.push(rounding());
    sheets
}

/// Whole frames beside those of the printed formula, and what that leaves white in the figure.
fn rounding() -> Sheet {
    let mut sheet = Sheet::new(
        "Loko, section 3.5: frames that fit; the print rounds up",
        &["frame B", "printed formula", "whole frames", "full-rate white, printed", "white, whole"],
    );
    for bytes in FRAMES {
        let whole = model(1, bytes).buffer_bytes / u64::from(bytes);
        let white = |frames: u64| {
            let is_white = |n: &&u32| {
                let own = model(**n, bytes);
                SwitchModel { buffer_bytes: frames * u64::from(bytes), ..own }.share(1).is_none()
            };
            ENTRIES.iter().filter(is_white).count()
        };
        let printed = printed_frames(bytes);
        sheet.push(vec![
            bytes.into(),
            printed.into(),
            whole.into(),
            white(printed).into(),
            white(whole).into(),
        ]);
    }
    sheet.note("a frame that does not fit whole does not fit: 24 / 5 cells are 4 frames of 548 B");
    sheet
}

/// The value at a percentile of sorted values.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get(last * percent / 100).copied().unwrap_or(0.0)
}

fn fig20(runs: u32) -> Vec<Sheet> {
    let plain = model(ENTRIES_USED, FRAME);
    let own = plain.share(1).expect("feasible, as the tests say");
    let tenfold = plain.with_buffer(10).share(1).expect("more room than before");
    let printed = Allocation { delay_ps: own.delay_ps, ..tenfold };
    let mut sheets = vec![
        ring_sheet("Loko, Fig. 20a: ring of 31, full rate", &plain, own, runs),
        ring_sheet("Loko, Fig. 20b: buffer x 10, delay kept at Table 2's", &plain, printed, runs),
        ring_sheet("the same with the delay that such a buffer takes", &plain, tenfold, runs),
    ];
    sheets[0].note("printed: up to 49 % of the rate at a switch, and paths of about 5 hops");
    sheets[1].note(format!(
        "a full buffer of that size takes {:.1} ms: with the delay kept, the bound of {:.2} ms per \
         switch is not proved",
        ms(tenfold.delay_ps),
        ms(own.delay_ps)
    ));
    sheets
}

fn ring_sheet(title: &str, model: &SwitchModel, allocation: Allocation, runs: u32) -> Sheet {
    let mut sheet = Sheet::new(
        format!("{title}; {runs} runs of {REQUESTS} flows"),
        &[
            "hops",
            "rejected p1 %",
            "rejected p50 %",
            "rejected p99 %",
            "switch rate p50 %",
            "switch rate max %",
            "bottleneck burst p50 %",
            "bottleneck rate p50 %",
        ],
    );
    let allocations = [Some(allocation); RING];
    let mut draws = Draws::new(SEED);
    for hops in 0..RING {
        let (mut rejected, mut rates) = (Vec::new(), Vec::new());
        let (mut bursts, mut bottlenecks) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            let flows = ring(RING, hops, REQUESTS, FRAME, &mut draws);
            let it = admit(&allocations, &flows);
            rejected.push((REQUESTS - it.accepted) as f64 / REQUESTS as f64 * 100.0);
            rates.extend(it.rate_bps.iter().map(|&r| r as f64 / model.rate_bps as f64 * 100.0));
            let share = |used: &[u64], of: u64| {
                used.iter().copied().max().unwrap_or(0) as f64 / of.max(1) as f64 * 100.0
            };
            bursts.push(share(&it.burst_bytes, allocation.burst_bytes));
            bottlenecks.push(share(&it.rate_bps, allocation.rate_bps));
        }
        for values in [&mut rejected, &mut rates, &mut bursts, &mut bottlenecks] {
            values.sort_by(f64::total_cmp);
        }
        sheet.push(vec![
            hops.into(),
            rounded(percentile(&rejected, 1), 1),
            rounded(percentile(&rejected, 50), 1),
            rounded(percentile(&rejected, 99), 1),
            rounded(percentile(&rates, 50), 1),
            rounded(percentile(&rates, 100), 1),
            rounded(percentile(&bursts, 50), 1),
            rounded(percentile(&bottlenecks, 50), 1),
        ]);
    }
    sheet
}

fn silo() -> Sheet {
    let mut sheet = Sheet::new(
        "Loko, appendix A: Silo; NOT VALID FOR SUCH SWITCHES (section 2.3: 92 % of frames lost)",
        &["equation", "what", "unit", "printed", "ours"],
    );
    for (line_bps, host_bps, name, equations, printed) in [
        (100_000_000, 45_000_000, "Zodiac FX", [13, 14, 15, 16], [73.4, 146.9, 49.0, 57.5]),
        (1_000_000_000, 450_000_000, "Banana Pi R1", [17, 18, 19, 20], [7.34, 14.7, 4.90, 5.75]),
    ] {
        let port = silo::SiloPort { line_bps, buffer_bytes: 3 * u64::from(FRAME) };
        let flow = silo::SiloLoad { rate_bps: host_bps, burst_bits: u64::from(FRAME) * 8 };
        let two = silo::SiloLoad { rate_bps: 2 * host_bps, burst_bits: 2 * flow.burst_bits };
        let bound = |load| port.queue_bound_ps(load).unwrap_or(u64::MAX);
        let values = [
            ("queue capacity", port.queue_capacity_ps()),
            ("promised latency", silo::guarantee_ps(&[port, port])),
            ("queue bound between switches", bound(two)),
            ("queue bound towards hosts", bound(flow.behind(&port))),
        ];
        for (((what, ours), equation), printed) in values.into_iter().zip(equations).zip(printed) {
            let what = format!("{name}: {what}");
            sheet.push(vec![
                equation.into(),
                what.into(),
                "us".into(),
                printed.into(),
                rounded(us(ours), 2),
            ]);
        }
    }
    sheet.note(
        "Eq. 20 prints 45 Mbit/s; 5.75 us needs the 450 Mbit/s of the text (45 give 2.78 us)",
    );
    sheet
}

fn qjump() -> Sheet {
    let mut sheet = Sheet::new(
        "Loko, section 2.3: QJump, n = 4, P = 306 B; NOT VALID FOR SUCH SWITCHES",
        &["switch", "epsilon us", "epoch and promise us", "rate per host Mbit/s"],
    );
    let it = Use::worst(MatchType::FiveTuple, Action::Output, ENTRIES_USED, FRAME);
    let traversal = zodiac().processor.map_or(0, |p| p.service(&it).traversal_ps);
    for (name, line_bps, epsilon_ps) in [
        ("Banana Pi R1", 1_000_000_000, 4_000_000),
        ("Zodiac FX, epsilon as printed", 100_000_000, 257_000_000),
        ("Zodiac FX, epsilon = 2 p_FX", 100_000_000, 2 * traversal),
    ] {
        let epoch = qjump::epoch_ps(4, FRAME, line_bps, epsilon_ps);
        sheet.push(vec![
            name.into(),
            rounded(us(epsilon_ps), 1),
            rounded(us(epoch), 1),
            rounded(mbps(qjump::rate_bps(FRAME, epoch)), 2),
        ]);
    }
    sheet.note("the print says epsilon = 2 x p_FX = 257 us, but one p_FX is 257 us (section 6)");
    sheet
}
