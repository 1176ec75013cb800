//! A stored profile held against a device.

use super::forwarding::{Cell, Cost};
use super::measured::Measured;
use serde::Serialize;
use tenuto_model::{Profile, Use};

/// Something that a device does and its profile does not allow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Excess {
    /// What, in words.
    pub what: String,
    /// What was seen, in `unit`.
    pub seen: f64,
    /// What the profile states.
    pub stated: f64,
    /// The unit of both.
    pub unit: &'static str,
}

/// Where the device is worse than the profile says: later, slower, or with less room.
pub fn check(profile: &Profile, measured: &Measured) -> Vec<Excess> {
    let mut found: Vec<Excess> =
        measured.cells.iter().flat_map(|cell| of_cell(profile, cell)).collect();
    for capacity in measured.capacities.iter().flatten() {
        // Room that was not found is no claim about frames that wait for lines.
        let Some(buffer) = profile.receive_buffer else { continue };
        let stated = buffer.frames(capacity.frame_bytes);
        if stated > capacity.frames {
            found.push(Excess {
                what: format!("frames of {} B held at once", capacity.frame_bytes),
                seen: capacity.frames as f64,
                stated: stated as f64,
                unit: "frames",
            });
        }
    }
    found
}

fn of_cell(profile: &Profile, cell: &Cell) -> Vec<Excess> {
    let used = &cell.used;
    let service = profile.processor.as_ref().map(|it| it.service(used));
    let through = service.map_or(0.0, |it| it.traversal_ps as f64 / 1e3);
    let traversal = through + profile.latency_ns_max as f64;
    let cost = profile.processor.as_ref().map_or(0.0, |it| it.cost_ps(used) as f64 / 1e3);
    let mut rows = vec![(format!("traversal, {}", words(used)), cell.traversal.most_ns, traversal)];
    if let Cost::Busy(summary) = &cell.spacing {
        rows.push((format!("processor per frame, {}", words(used)), summary.mean_ns, cost));
    }
    let above = rows.into_iter().filter(|(_, seen, stated)| seen > stated);
    above.map(|(what, seen, stated)| Excess { what, seen, stated, unit: "ns" }).collect()
}

fn words(used: &Use) -> String {
    format!(
        "{:?} match, {:?}, {} entries, {:?} of {:?} priorities, {} B",
        used.matching, used.action, used.entries, used.position, used.order, used.frame_bytes
    )
}
