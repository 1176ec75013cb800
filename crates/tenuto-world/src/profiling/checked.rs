//! A stored profile held against a device, claim by claim.

use super::buffer::Capacity;
use super::forwarding::{Cell, Cost};
use super::measured::Measured;
use super::names::{action_name, kind_name};
use serde::Serialize;
use tenuto_model::{Profile, Use};

/// Frames of one burst that were tried at most without a loss.
const BURST_TRIED: u64 = 1_024;

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowVerdict {
    /// It was looked at, and the device does no worse.
    Kept,
    /// The device does worse.
    Exceeded,
    /// The lines of the bench are slower than what is claimed of the processor: nothing quicker was seen, nor slower.
    LineBound,
    /// Nothing was observed.
    NotObserved,
}

impl RowVerdict {
    /// How tables and documents name it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Exceeded => "exceeded",
            Self::LineBound => "line-bound",
            Self::NotObserved => "not-observed",
        }
    }
}

/// A claim of a profile, and what was seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckRow {
    /// What, in words.
    pub what: String,
    /// What was seen, in `unit`; `None`: nothing.
    pub seen: Option<f64>,
    /// What the profile states; `None`: no limit.
    pub stated: Option<f64>,
    /// The unit of both.
    pub unit: &'static str,
    /// What became of it.
    pub verdict: RowVerdict,
}

impl CheckRow {
    /// A claim that nothing is above `stated`.
    fn at_most(what: String, seen: f64, stated: f64, unit: &'static str) -> Self {
        let verdict = if seen > stated { RowVerdict::Exceeded } else { RowVerdict::Kept };
        Self { what, seen: Some(seen), stated: Some(stated), unit, verdict }
    }
}

/// Every claim of a profile that a measurement looks at: those of frames, of room, and of the firmware's own work.
pub fn check(profile: &Profile, measured: &Measured) -> Vec<CheckRow> {
    let mut rows: Vec<CheckRow> =
        measured.cells.iter().flat_map(|cell| of_cell(profile, cell)).collect();
    rows.extend(measured.missing.iter().map(|used| CheckRow {
        what: format!("traversal, {}", words(used)),
        seen: None,
        stated: Some(traversal_ns(profile, used)),
        unit: "ns",
        verdict: RowVerdict::NotObserved,
    }));
    rows.push(of_entries(profile, measured));
    rows.extend(of_buffer(profile, measured.capacities.as_deref()));
    rows.extend(of_own_work(profile, measured));
    rows
}

fn traversal_ns(profile: &Profile, used: &Use) -> f64 {
    let service = profile.processor.as_ref().map(|it| it.service(used));
    let through = service.map_or(0.0, |it| it.traversal_ps as f64 / 1e3);
    through + profile.latency_ns_max as f64
}

fn of_cell(profile: &Profile, cell: &Cell) -> Vec<CheckRow> {
    let used = &cell.used;
    let traversal = traversal_ns(profile, used);
    let most = cell.traversal.most_ns;
    let cost = profile.processor.as_ref().map(|it| it.cost_ps(used) as f64 / 1e3);
    vec![
        CheckRow::at_most(format!("traversal, {}", words(used)), most, traversal, "ns"),
        of_spacing(format!("processor per frame, {}", words(used)), &cell.spacing, cost),
    ]
}

fn of_spacing(what: String, spacing: &Cost, stated: Option<f64>) -> CheckRow {
    let unit = "ns";
    match (spacing, stated) {
        (Cost::Busy(it), _) => CheckRow::at_most(what, it.mean_ns, stated.unwrap_or(0.0), unit),
        // It takes no longer than that.
        (Cost::LineBound(it), Some(cost)) if it.mean_ns <= cost => {
            CheckRow::at_most(what, it.mean_ns, cost, unit)
        }
        (Cost::LineBound(it), _) => {
            // Without a processor the claim is that ports keep their lines.
            let verdict = if stated.is_none() { RowVerdict::Kept } else { RowVerdict::LineBound };
            CheckRow { what, seen: Some(it.mean_ns), stated, unit, verdict }
        }
        (Cost::Unknown, _) => {
            CheckRow { what, seen: None, stated, unit, verdict: RowVerdict::NotObserved }
        }
    }
}

fn of_entries(profile: &Profile, measured: &Measured) -> CheckRow {
    let (stated, room) = (f64::from(profile.entries_max), measured.room);
    let seen = f64::from(room.entries);
    let verdict = match (seen >= stated, room.is_limit) {
        (true, _) => RowVerdict::Kept,
        (false, true) => RowVerdict::Exceeded,
        // All that were tried found room, and more are claimed.
        (false, false) => RowVerdict::NotObserved,
    };
    let what = "room for entries".into();
    CheckRow { what, seen: Some(seen), stated: Some(stated), unit: "entries", verdict }
}

fn of_buffer(profile: &Profile, capacities: Option<&[Capacity]>) -> Vec<CheckRow> {
    // Room that was not found is no claim about frames that wait for lines.
    let Some(buffer) = profile.receive_buffer else { return Vec::new() };
    let row = |bytes: u32, seen: u64, is_limit: bool| {
        let stated = buffer.frames(bytes);
        let verdict = match (seen >= stated, is_limit) {
            (true, _) => RowVerdict::Kept,
            (false, true) => RowVerdict::Exceeded,
            (false, false) => RowVerdict::NotObserved,
        };
        CheckRow {
            what: format!("frames of {bytes} B held at once"),
            seen: Some(seen as f64),
            stated: Some(stated as f64),
            unit: "frames",
            verdict,
        }
    };
    match capacities {
        Some(found) => found.iter().map(|it| row(it.frame_bytes, it.frames, true)).collect(),
        None => vec![row(64, BURST_TRIED, false)],
    }
}

fn of_own_work(profile: &Profile, measured: &Measured) -> Option<CheckRow> {
    let control = profile.processor.as_ref()?.control;
    let what = "work of its own at a time".into();
    let stated = control.time_ps as f64 / 1e3;
    let found = measured.firmware.as_ref().and_then(|it| it.own_work);
    Some(match (found, &measured.firmware) {
        (Some(own), Some(firmware)) => {
            // A model adds a step of the echoes to the time, and takes one off the period: what was seen for certain is
            // a step less, and two steps longer.
            let step_ps = firmware.echo_step_ns * 1_000;
            let seen = own.time_ps.saturating_sub(step_ps) as f64 / 1e3;
            let row = CheckRow::at_most(what, seen, stated, "ns");
            let is_oftener = own.period_ps + 2 * step_ps < control.period_ps;
            let verdict = if is_oftener { RowVerdict::Exceeded } else { row.verdict };
            CheckRow { verdict, ..row }
        }
        (_, Some(_)) if control.time_ps == 0 => CheckRow::at_most(what, 0.0, stated, "ns"),
        _ => CheckRow {
            what,
            seen: None,
            stated: Some(stated),
            unit: "ns",
            verdict: RowVerdict::NotObserved,
        },
    })
}

fn words(used: &Use) -> String {
    format!(
        "{} match, {}, {} entries, {:?} of {:?} priorities, {} B",
        kind_name(used.matching),
        action_name(used.action),
        used.entries,
        used.position,
        used.order,
        used.frame_bytes
    )
}
