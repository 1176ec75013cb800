//! What the service does with flows, through its interface, to switches over TCP that hold what they are told.

use super::super::sheet::{Sheet, rounded};
use super::running::{Folder, Running, free_address};
use crate::failure::Failure;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;
use tenuto_runtime::measure::{CoreSwitch, Spread};

/// Switches of the network that flows are added to.
pub(super) const SWITCHES: u32 = 5;
/// Single adds, and what-ifs.
const SINGLES: usize = 40;
/// Batches of 100 adds.
const BATCHES: usize = 10;
const BATCH: usize = 100;
/// Switches and entries of the restart.
const KEPT_SWITCHES: u32 = 9;
const KEPT_ENTRIES: u64 = 10_000;
/// Entries that a flow has over all of its switches here, at least.
const ENTRIES_OF_FLOW: usize = 6;

pub(super) const COLUMNS: [&str; 6] =
    ["what", "times", "median ms", "least ms", "most ms", "aim ms"];

/// A row of switches with two hosts each, and flows of a frame a second between hosts that are four switches apart.
pub(super) fn network(switches: u32, flows: usize) -> String {
    let mut text = String::from("tenuto: 1\nname: row\nhosts: {");
    let hosts = (1..=switches).map(|it| format!("a{it}: {{}}, b{it}: {{}}"));
    text.push_str(&hosts.collect::<Vec<_>>().join(", "));
    text.push_str("}\nswitches: {");
    let all = (1..=switches).map(|it| format!("sw{it}: {{profile: tenuto, dpid: {it}}}"));
    text.push_str(&all.collect::<Vec<_>>().join(", "));
    text.push_str("}\ndefaults: {link: {rate: 1 Gbit/s}}\nlinks:\n");
    for it in 1..=switches {
        let _ = writeln!(text, "  - {{ends: [a{it}, sw{it}]}}\n  - {{ends: [b{it}, sw{it}]}}");
        if it < switches {
            let _ = writeln!(text, "  - {{ends: [sw{it}, sw{}]}}", it + 1);
        }
    }
    text.push_str("flows:\n");
    for at in 0..flows {
        let _ = writeln!(text, "  B{at}: {}", flow(switches, at));
    }
    text
}

/// The fields of the `at`-th flow.
pub(super) fn flow(switches: u32, at: usize) -> Value {
    let count = switches as usize;
    let (from, way) = (at % count, 1 + at / count % 2);
    let to = (from + 4.min(count - 1)) % count;
    let (source, target) = if way == 1 { ("a", "b") } else { ("b", "a") };
    json!({
        "source": format!("{source}{}", from + 1), "targets": [format!("{target}{}", to + 1)],
        "message": "100 B", "period": "1 s", "priority": 2, "deadline": "500 ms",
    })
}

/// The table.
pub(super) fn sheet(program: &Path, progress: &mut dyn FnMut(&str)) -> Result<Sheet, Failure> {
    let mut sheet = Sheet::new("What the service does with flows", &COLUMNS);
    adds(program, &mut sheet, progress)?;
    restart(program, &mut sheet, progress)?;
    sheet.note(format!(
        "through REST over one connection, to {SWITCHES} switches (cores of ours over TCP, no frames); an add ends when every switch \
         has it, read back. Decision: `took_us` of the answers"
    ));
    sheet.note("wall-clock times: what else the machine does is in them");
    Ok(sheet)
}

fn adds(program: &Path, sheet: &mut Sheet, progress: &mut dyn FnMut(&str)) -> Result<(), Failure> {
    progress("adds through REST");
    let folder = Folder::new("adds", &network(SWITCHES, 10))?;
    let mut service = Running::start(program, &folder, free_address()?)?;
    let _switches = switches(SWITCHES, &service)?;
    service.until_installed()?;
    let body = |name: &str, at: usize| json!({"name": name, "flow": flow(SWITCHES, at)});
    let add =
        |name: &str, at: usize| json!({"action": "add", "name": name, "flow": flow(SWITCHES, at)});
    let (mut whole, mut deciding, mut what_ifs) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..SINGLES {
        let change = json!({"changes": [add("W", at)]});
        let began = Instant::now();
        expect(service.ask("POST", "/v1/what-if?advice=false", &change.to_string())?, 200)?;
        what_ifs.push(ms(began));
        let text = body(&format!("S{at}"), at).to_string();
        let began = Instant::now();
        let answer = expect(service.ask("POST", "/v1/flows?advice=false", &text)?, 201)?;
        whole.push(ms(began));
        if answer["state"] != "confirmed" {
            return Err(Failure::undecidable(format!("not confirmed: {answer}"), None));
        }
        deciding.push(answer["took_us"].as_f64().unwrap_or(f64::NAN) / 1e3);
    }
    let mut batches = Vec::new();
    for batch in 0..BATCHES {
        progress(&format!("batch {} of {BATCHES}", batch + 1));
        let one = |at: usize| add(&format!("N{batch}x{at}"), at);
        let changes = json!({"changes": (0..BATCH).map(one).collect::<Vec<_>>()});
        let began = Instant::now();
        expect(service.ask("POST", "/v1/batch?advice=false", &changes.to_string())?, 200)?;
        batches.push(ms(began));
    }
    let rate = BATCH as f64 * batches.len() as f64 / batches.iter().sum::<f64>() * 1e3;
    sheet.push(row("add, confirmed by 5 switches", whole, 5.0));
    sheet.push(row("of it deciding, 10 to 50 flows in place", deciding, 0.1));
    sheet.push(row("what-if", what_ifs, 1.0));
    sheet.push(row("100 adds in a batch, confirmed", batches, 100.0));
    sheet
        .note(format!("in batches: {rate:.0} adds a second, confirmed by 5 switches (aim: 1,000)"));
    Ok(())
}

/// The service is killed while it keeps many entries; until it has read all of them and says so.
fn restart(
    program: &Path,
    sheet: &mut Sheet,
    progress: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    progress("a network of 10,000 entries");
    let flows = usize::try_from(KEPT_ENTRIES).unwrap_or(0).div_ceil(ENTRIES_OF_FLOW);
    let folder = Folder::new("restart", &network(KEPT_SWITCHES, flows))?;
    let began = Instant::now();
    let mut service = Running::start(program, &folder, free_address()?)?;
    let first = ms(began);
    let switches = switches(KEPT_SWITCHES, &service)?;
    let began = Instant::now();
    service.until_installed()?;
    let installed = ms(began);
    let (_, rows) = service.ask("GET", "/v1/switches", "")?;
    let entries =
        rows.as_array().into_iter().flatten().filter_map(|it| it["entries"].as_u64()).sum::<u64>();
    let openflow = service.openflow;
    let (mut starts, mut reconciled) = (Vec::new(), Vec::new());
    for turn in 1..=3 {
        progress(&format!("restart {turn} of 3"));
        service.kill();
        let began = Instant::now();
        service = Running::start(program, &folder, openflow)?;
        starts.push(ms(began));
        let began = Instant::now();
        service.until_installed()?;
        reconciled.push(ms(began));
    }
    drop(switches);
    sheet.push(row(&format!("first installation of {entries} entries"), vec![installed], f64::NAN));
    sheet.push(row("first start: planned and listening", vec![first], f64::NAN));
    sheet.push(row("restart after kill -9: planned and listening", starts, f64::NAN));
    sheet.push(row(
        &format!("and then {entries} entries of 9 switches read and found right"),
        reconciled,
        2_000.0,
    ));
    if entries < KEPT_ENTRIES {
        sheet.note(format!(
            "the network has {entries} entries, fewer than the {KEPT_ENTRIES} that were meant"
        ));
    }
    Ok(())
}

fn switches(count: u32, service: &Running) -> Result<Vec<CoreSwitch>, Failure> {
    let start = |dpid: u32| CoreSwitch::start(dpid.into(), service.openflow);
    let all: std::io::Result<Vec<_>> = (1..=count).map(start).collect();
    all.map_err(|error| Failure::undecidable(error.to_string(), None))
}

pub(super) fn expect((status, answer): (u16, Value), wanted: u16) -> Result<Value, Failure> {
    if status == wanted {
        return Ok(answer);
    }
    Err(Failure::undecidable(format!("the service answers {status}: {answer}"), None))
}

pub(super) fn ms(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

pub(super) fn row(what: &str, times: Vec<f64>, aim_ms: f64) -> Vec<Value> {
    let count = times.len();
    let spread = Spread::of(times);
    let aim = if aim_ms.is_finite() { rounded(aim_ms, 2) } else { Value::Null };
    let mut row = vec![what.into(), count.into()];
    row.extend([spread.median, spread.min, spread.max].map(|it| rounded(it, 3)));
    row.push(aim);
    row
}
