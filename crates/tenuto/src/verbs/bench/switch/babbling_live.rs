//! Fig. 9 of Deterministic OpenFlow live: the victim's delay on veth pairs beside its certified bound
//! and what this machine adds to it.

use super::babbling::read_own;
use crate::failure::Failure;
use crate::planning;
use crate::verbs::bench::sheet::{Sheet, rounded};
use serde_json::Value;
use tenuto_model::Network;
use tenuto_runtime::measure::{
    BABBLE_FRAME_BYTES, BabblePoint, LINE_BPS, LiveOrder, LiveReport, LiveTask, METER_KBIT,
    VICTIM_FRAME_BYTES, VICTIM_PPS,
};
use tenuto_runtime::{HostService, allowances};

/// Who may babble has the jitter that makes its contract as wide as its meter: k frames of 12,144
/// bits in 8 ms each, less the 0.564 ms by which the bucket of 13,000 bits is above one frame.
const NETWORK: &str = "tenuto: 1
name: babbling-live
defaults: {link: {rate: 100 Mbit/s, length: 2 m}, flow: {match: five-tuple}}
hosts: [victim, idiot, sink]
switches: {w1: {profile: tenuto}}
controllers: {c1: {manages: all}}
tolerates: {babbling_hosts: 1}
links:
  - {ends: [victim, w1]}
  - {ends: [sink, w1]}
  - {ends: [idiot, w1]}
flows:
  suffers: {source: victim, targets: [sink], message: 100 B, period: 2 ms, priority: 0}
  fails: {source: idiot, targets: [sink], message: 1460 B, period: 8 ms, jitter: 600 us, priority: 0}
";

/// Of the table of rates.
const COLUMNS: [&str; 10] = [
    "sent of line %",
    "metered p50 us",
    "metered p99 us",
    "metered max us",
    "metered lost",
    "bound us",
    "host share us",
    "unmetered p50 us",
    "unmetered max us",
    "unmetered lost",
];

/// The table; it judges nothing, as a stall of the host is no fault of the switch.
pub(super) fn sheet(
    repetitions: u32,
    window_ms: u64,
    progress: &mut dyn FnMut(&str),
) -> Result<Sheet, Failure> {
    let mut sheet = Sheet::new(
        "Deterministic OpenFlow, Fig. 9, live: delay beside an end system that sends up to line rate",
        &COLUMNS,
    );
    let order = LiveOrder { task: LiveTask::Babbling, repetitions, window_ms };
    let report = match super::live::measured(order, progress)? {
        Ok(report) => report,
        Err(why) => {
            sheet.note(format!("SKIPPED: {why}"));
            return Ok(sheet);
        }
    };
    let (bound_us, share_us) = promised(report.stall_ns.unwrap_or(0))?;
    let is_metered = |it: &&BabblePoint| it.is_policed;
    let mut beyond = (0, 0);
    for with in report.babbling.iter().filter(is_metered) {
        let without =
            report.babbling.iter().find(|it| !it.is_policed && it.percent == with.percent);
        let [_, _, max] = with.delays_us;
        beyond.0 += u32::from(max.max > bound_us + share_us);
        beyond.1 += u32::from(max.max > bound_us);
        sheet.push(row(with, without, (bound_us, share_us)));
    }
    tell(&report, beyond, &mut sheet);
    Ok(sheet)
}

fn row(
    metered: &BabblePoint,
    unmetered: Option<&BabblePoint>,
    (bound_us, share_us): (f64, f64),
) -> Vec<Value> {
    let [p50, p99, max] = metered.delays_us;
    let mut row = vec![
        metered.percent.into(),
        rounded(p50.median, 1),
        rounded(p99.median, 1),
        rounded(max.max, 1),
        metered.lost.0.into(),
        rounded(bound_us, 1),
        rounded(share_us, 1),
    ];
    row.extend(match unmetered {
        Some(it) => vec![
            rounded(it.delays_us[0].median, 1),
            rounded(it.delays_us[2].max, 1),
            it.lost.0.into(),
        ],
        None => vec![Value::Null; 3],
    });
    row
}

fn tell(report: &LiveReport, (above, above_bound): (u32, u32), sheet: &mut Sheet) {
    let points = report.babbling.iter().filter(|it| it.is_policed).count();
    let (rate, burst) = METER_KBIT;
    sheet.note(format!(
        "veth pairs, {} Mbit/s paced at the port that both leave by: {VICTIM_PPS} frames of \
         {VICTIM_FRAME_BYTES} B per second beside frames of {BABBLE_FRAME_BYTES} B, metered at \
         {rate} kbit/s with a burst of {burst} kbit or not at all; max is that of all windows",
        LINE_BPS / 1_000_000
    ));
    sheet.note(format!(
        "metered, {above_bound} of {points} largest delays are above the bound alone, {above} above \
         bound and host share; what is above both is noise of the host until the same happens in \
         virtual time (--only babbling)"
    ));
    sheet.note(
        "the bound is certified for the network of this table; the host share is what the bound \
         grows by if every element may be late by 1.5 times the longest stall that a thread of the \
         same priority saw between the windows",
    );
    report.notes.iter().for_each(|note| sheet.note(note.clone()));
}

/// The victim's certified bound, and what is added to it for a machine with such stalls; both in
/// microseconds.
fn promised(stall_ns: u64) -> Result<(f64, f64), Failure> {
    let network = read_own(NETWORK)?;
    let options = planning::usual_options(&network);
    let planned = planning::planned(&network, &options)?;
    let row = planned.plan.flows.iter().find(|row| row.flow == "suffers");
    let bound_ps = row.and_then(|row| row.delay_bound_ps);
    let bound_ps = bound_ps.ok_or_else(|| Failure::undecidable("babbling: no bound", None))?;
    let service = HostService::stated(stall_ns + stall_ns / 2);
    let planner = |network: &Network| tenuto_planner::plan(network, &options);
    let all = allowances(&planned.plan, &service, &planner);
    let of_victim = all.host_ns.iter().filter(|((flow, ..), _)| *flow == 0);
    let share_ns = of_victim.map(|(_, ns)| *ns).max().unwrap_or(0);
    Ok((bound_ps as f64 / 1e6, share_ns as f64 / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_victim_is_promised_something_and_a_slow_host_adds_to_it() {
        let (bound, share) = promised(100_000).expect("it is ours");
        // A frame of 1538 B and one of 166 B on the line, twice stored and forwarded.
        assert!((136.0..400.0).contains(&bound), "{bound}");
        let (same, more) = promised(1_000_000).expect("it is ours");
        assert_eq!(bound.to_bits(), same.to_bits());
        assert!(share > 300.0 && more > share, "{share} {more}");
    }

    /// What the live meter lets pass is within the contract that the bound counts.
    #[test]
    fn the_contract_is_as_wide_as_the_meter() {
        let (rate_kbps, burst_kbit) = METER_KBIT;
        let frame_bits = (BABBLE_FRAME_BYTES * 8) as f64;
        for frames in 1..1_000 {
            let least_ms = (f64::from(frames) * frame_bits - f64::from(burst_kbit) * 1e3)
                / f64::from(rate_kbps);
            // Least time from the first to the last frame, by the contract: 8 ms each, 0.6 ms early.
            let allowed_ms = f64::from(frames - 1) * 8.0 - 0.6;
            assert!(least_ms.max(0.0) >= allowed_ms, "{frames}: {least_ms} {allowed_ms}");
        }
    }
}
