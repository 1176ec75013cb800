//! `tenuto bench attendre-verify`: what verification costs with OpenFlow, barriers and Attendre
//! (\[Attendre\] Tables II and III, Fig. 8), counted as the classic tool counts.

use super::attendre_figures;
use super::sheet::{Form, Sheet, rounded, show};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output;
use serde_json::Value;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;
use tenuto_world::explore::classic::apps::{MacLearning, Redundant, RouteFlow, TrafficEngineering};
use tenuto_world::explore::classic::lines::line;
use tenuto_world::explore::classic::response::response;
use tenuto_world::explore::classic::{Count, Loads, Protocol, Setup, explore};
use tenuto_world::explore::compared::Case;
use tenuto_world::explore::reactive::Reductions;

/// Flags of the bench.
#[derive(Debug, clap::Args)]
pub(crate) struct AttendreVerify {
    #[command(flatten)]
    pub(super) form: Form,
    /// Also the larger cases, among them those that the paper cut off
    #[arg(long)]
    all: bool,
    /// One application instead of all three
    #[arg(long, value_name = "APP")]
    only: Option<Part>,
    /// How many states our own exploration visits beside the classic tool's, instead
    #[arg(long, conflicts_with_all = ["only", "figures"])]
    native: bool,
    /// Draw the interleavings of its Figs. 2 and 3 into a folder instead, as SVG
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["all", "only", "json"])]
    pub(super) figures: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// MAC learning, Table II
    Learning,
    /// Traffic engineering, Table III
    Engineering,
    /// Route flow, Fig. 8
    RouteFlow,
}

/// Counts of cases that grow one after another, by protocol.
#[derive(Default)]
struct Series([Vec<u64>; 3]);

impl Series {
    /// A count, or an estimate from the last growth, or that there are more.
    fn shown(&mut self, protocol: usize, count: &Count) -> Value {
        let counts = &mut self.0[protocol];
        if count.is_exhaustive {
            counts.push(count.transitions);
            return count.transitions.into();
        }
        let [.., before, last] = counts.as_slice() else {
            return format!("> {}", count.transitions).into();
        };
        let estimate = (*last as f64 * (*last as f64 / *before as f64)).round();
        format!("> {}, estimated {estimate:.2e}", count.transitions).into()
    }
}

/// Most transitions of one case; above, its count is estimated from the growth before.
const TRANSITIONS_MAX: u64 = 30_000_000;
const COLUMNS: [&str; 11] = [
    "case",
    "printed OF",
    "known OF",
    "ours OF",
    "ours OF-B",
    "printed A",
    "known A",
    "ours A",
    "printed A/OF",
    "ours A/OF",
    "seconds",
];

/// What others counted of a case: the paper, and the classic tool where it was run for this project.
#[derive(Clone, Copy, Default)]
struct Known {
    printed: [Option<u64>; 2],
    calibrated: [Option<u64>; 2],
}

const fn known(printed: [u64; 2], calibrated: [u64; 2]) -> Known {
    const fn some(value: u64) -> Option<u64> {
        if value == 0 { None } else { Some(value) }
    }
    Known {
        printed: [some(printed[0]), some(printed[1])],
        calibrated: [some(calibrated[0]), some(calibrated[1])],
    }
}

pub(super) fn run(args: &AttendreVerify) -> Result<Outcome, Failure> {
    if let Some(folder) = &args.figures {
        output::say(&attendre_figures::write(folder)?.join("\n"))?;
        return Ok(Outcome::Good);
    }
    if args.native {
        return show("attendre-verify", None, &[native_states(args.all)?], &args.form);
    }
    let has = |part| args.only.is_none_or(|only| only == part);
    let sheets = thread::scope(|scope| {
        let others = scope.spawn(|| {
            let mut sheets = Vec::new();
            if has(Part::Engineering) {
                sheets.push(table_iii(args.all));
            }
            if has(Part::RouteFlow) {
                sheets.extend(figure_8(args.all));
            }
            sheets
        });
        let mut sheets = Vec::new();
        if has(Part::Learning) {
            sheets.push(table_ii(args.all));
        }
        sheets.extend(others.join().unwrap_or_default());
        sheets
    });
    show("attendre-verify", None, &sheets, &args.form)
}

/// States of the classic tool, of our exploration, and of that with each further reduction.
fn native_states(all: bool) -> Result<Sheet, Failure> {
    let steps = [
        Reductions::NONE,
        Reductions::SAME_STATES,
        Reductions { corridors: false, ..Reductions::ALL },
        Reductions::ALL,
    ];
    let columns = [
        "case",
        "classic",
        "native",
        "alike is one",
        "partial order",
        "kept",
        "classic/kept",
        "seconds",
    ];
    let mut sheet = Sheet::new("States of plain OpenFlow, counted both ways", &columns);
    for case in Case::shipped(all) {
        let (before, classic) = (Instant::now(), case.classic());
        let mut row = vec![case.name().into(), classic.unique_states.into()];
        let mut last = 0;
        for reductions in steps {
            let found = case.native(reductions).map_err(|why| Failure::input(why, None, None))?;
            last = found.states;
            row.push(match found.is_exhaustive {
                true => found.states.into(),
                false => format!("> {}", found.states).into(),
            });
        }
        row.push(rounded(classic.unique_states as f64 / last as f64, 1));
        row.push(rounded(before.elapsed().as_secs_f64(), 2));
        sheet.push(row);
    }
    sheet.note("alike is one: numbers and packets that nothing depends on make no difference");
    sheet.note("kept: states from which there is one way on are passed through");
    Ok(sheet)
}

/// Counts of one case under the three protocols.
fn case(
    sheet: &mut Sheet,
    series: &mut Series,
    name: &str,
    known: Known,
    count: &dyn Fn(Protocol) -> Count,
) {
    let before = Instant::now();
    let [plain, barriers, attendre] = Protocol::ALL.map(count);
    let ratio = |of: Option<u64>, to: Option<u64>| match (of, to) {
        (Some(of), Some(to)) if to > 0 => rounded(of as f64 / to as f64, 3),
        _ => Value::Null,
    };
    let whole = |it: &Count| it.is_exhaustive.then_some(it.transitions);
    let [printed, calibrated] = [known.printed, known.calibrated];
    sheet.push(vec![
        name.into(),
        printed[0].into(),
        calibrated[0].into(),
        series.shown(0, &plain),
        series.shown(1, &barriers),
        printed[1].into(),
        calibrated[1].into(),
        series.shown(2, &attendre),
        ratio(printed[1], printed[0]),
        ratio(whole(&attendre), whole(&plain)),
        rounded(before.elapsed().as_secs_f64(), 2),
    ]);
}

fn table_ii(all: bool) -> Sheet {
    let mut sheet = Sheet::new(
        "Attendre, Table II: transitions of MAC learning; the replier may move",
        &COLUMNS,
    );
    let cases = [
        (1, 1, known([74, 74], [77, 77])),
        (1, 2, known([2_100, 1_800], [2_261, 1_884])),
        (1, 3, known([36_100, 16_500], [41_840, 17_238])),
        (1, 4, known([527_000, 101_000], [0, 0])),
        (2, 1, known([188, 188], [200, 200])),
        (2, 2, known([11_000, 9_200], [13_104, 10_004])),
        (2, 3, known([335_000, 133_000], [0, 0])),
    ];
    let more = [(1, 5), (2, 4), (3, 1), (3, 2), (3, 3)];
    let more = more.map(|(switches, packets)| (switches, packets, Known::default()));
    let all_cases = cases.iter().chain(more.iter().filter(|_| all));
    let mut sorted: Vec<(u8, u8, Known)> = all_cases.copied().collect();
    sorted.sort_by_key(|(switches, packets, _)| (*switches, *packets));
    for of_switches in sorted.chunk_by(|a, b| a.0 == b.0) {
        let mut series = Series::default();
        for (switches, packets, known) in of_switches {
            learning(&mut sheet, &mut series, *switches, *packets, *known);
        }
    }
    sheet.note("known: the classic tool's release 0.8, run for this project; the authors used an older one");
    sheet
}

fn learning(sheet: &mut Sheet, series: &mut Series, switches: u8, packets: u8, known: Known) {
    let setup = Setup { transitions_max: TRANSITIONS_MAX, ..line(switches, packets, true) };
    case(sheet, series, &format!("{switches} switches, {packets} packets"), known, &|protocol| {
        explore(&setup.clone().with_protocol(protocol), MacLearning::default())
    });
}

fn table_iii(all: bool) -> Sheet {
    let mut sheet = Sheet::new(
        "Attendre, Table III: transitions of traffic engineering, statistics at once",
        &COLUMNS,
    );
    let given = || Loads::Given(vec![0, 600, 1_100]);
    let rows = [
        (0, 1, 1, known([2_900, 2_100], [2_366, 0])),
        (0, 1, 2, known([38_000, 27_100], [31_346, 0])),
        (1, 2, 1, known([47_100, 8_300], [0, 0])),
        (1, 2, 2, known([642_000, 110_000], [0, 0])),
    ];
    for (direct, around, flows, known) in rows {
        if flows == 2 && direct == 1 && !all {
            continue;
        }
        let hops = format!("{}/{} hops, {flows} flows", direct + 2, around + 2);
        let shape = (direct, around, flows);
        let printed = Known { printed: known.printed, ..Known::default() };
        engineering(&mut sheet, &format!("{hops}, loads found"), shape, Loads::Found, printed);
        engineering(&mut sheet, &format!("{hops}, 3 loads given"), shape, given(), known);
    }
    sheet.note("loads found: one value per way through the application's comparisons, in each of its states");
    sheet.note(
        "Attendre: every switch of the way is announced; the paper's application gained less",
    );
    sheet
}

fn engineering(sheet: &mut Sheet, name: &str, shape: (u8, u8, u8), loads: Loads, known: Known) {
    let (direct, around, flows) = shape;
    let (setup, map) = response(direct, around, flows);
    let setup = Setup { loads, transitions_max: TRANSITIONS_MAX, ..setup };
    case(sheet, &mut Series::default(), name, known, &|protocol| {
        explore(&setup.clone().with_protocol(protocol), TrafficEngineering::as_released(&map))
    });
}

fn figure_8(all: bool) -> Vec<Sheet> {
    let mut one = Sheet::new("Attendre, Fig. 8: route flow, one packet over n switches", &COLUMNS);
    let calibrated = [[10, 10], [30, 22], [84, 54], [220, 134], [548, 326], [1_316, 774]];
    let mut series = Series::default();
    for switches in 1..=8_u8 {
        let counted = calibrated.get(usize::from(switches) - 1).copied().unwrap_or_default();
        routing(&mut one, &mut series, switches, 1, known([0, 0], counted));
    }
    one.note("printed: at eight switches Attendre saves about half");
    let mut two = Sheet::new("Attendre, Fig. 8: route flow, two packets over n switches", &COLUMNS);
    let calibrated = [[186, 83], [1_412, 203], [8_115, 521], [0, 1_331], [0, 3_333]];
    let mut series = Series::default();
    for switches in 1..=if all { 8 } else { 5_u8 } {
        let counted = calibrated.get(usize::from(switches) - 1).copied().unwrap_or_default();
        routing(&mut two, &mut series, switches, 2, known([0, 0], counted));
    }
    two.note("printed: at six switches Attendre saves about a factor of 200");
    let mut many = Sheet::new("Attendre, Fig. 8: route flow, k packets over one switch", &COLUMNS);
    let calibrated = [[10, 10], [186, 83], [2_421, 408], [0, 1_601], [0, 5_494]];
    let mut series = Series::default();
    for packets in 1..=if all { 7 } else { 5_u8 } {
        let counted = calibrated.get(usize::from(packets) - 1).copied().unwrap_or_default();
        routing(&mut many, &mut series, 1, packets, known([0, 0], counted));
    }
    many.note("printed: at five packets Attendre saves at least a factor of 20");
    vec![one, two, many]
}

fn routing(sheet: &mut Sheet, series: &mut Series, switches: u8, packets: u8, known: Known) {
    let setup = Setup { transitions_max: TRANSITIONS_MAX, ..line(switches, packets, false) };
    case(sheet, series, &format!("{switches} switches, {packets} packets"), known, &|protocol| {
        let application = RouteFlow::new(switches.into(), Redundant::Mixed);
        explore(&setup.clone().with_protocol(protocol), application)
    });
}
