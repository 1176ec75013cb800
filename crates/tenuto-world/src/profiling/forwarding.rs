//! Processing of frames, alone and one directly behind the other (\[Loko\] sections 3.3 and 3.4).

use super::buffer::Capacity;
use super::rig::{ProfileError, Rig, line_time};
use super::scene::Scene;
use super::session::Session;
use super::summary::Summary;
use serde::Serialize;
use tenuto_model::{Action, Use};
use tenuto_units::Span;

/// Preamble, delimiter and gap.
const SLOT_BYTES: u64 = 20;
const PREAMBLE_BYTES: u64 = 8;
/// Frames directly behind each other, where no buffer limits them.
const BURST_MAX: u64 = 200;
/// Spacings that are averaged: latencies differ at both ends of a burst, so short bursts need more of them.
const SPACINGS: u32 = 1_200;
const BURSTS: std::ops::RangeInclusive<u32> = 6..=600;
/// A gap that is not longer than the line's own by this says nothing of the processor.
const LINE_BOUND: f64 = 1.02;

/// What frames of one use took.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The use.
    pub used: Use,
    /// From the last bit in to the first bit out of an idle device (Eq. 4).
    pub traversal: Summary,
    /// From one to the next of frames that wait for each other: the mean of each burst.
    pub spacing: Cost,
}

/// What a burst says of the processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Cost {
    /// Means of bursts, nanoseconds.
    Busy(Summary),
    /// The lines were slower than the processor.
    LineBound(Summary),
    /// The buffer holds no two frames.
    Unknown,
}

impl Cost {
    /// The mean cost of a frame, where the processor was what limited.
    pub const fn mean_ns(&self) -> Option<f64> {
        match self {
            Self::Busy(summary) => Some(summary.mean_ns),
            Self::LineBound(_) | Self::Unknown => None,
        }
    }
}

/// Measures every use of tables that stand together; `samples` alone, and bursts.
///
/// # Errors
/// If the device does not do what it is told.
pub fn forwarding<R: Rig>(
    session: &mut Session<'_, R>,
    tables: &[Vec<Use>],
    capacities: Option<&[Capacity]>,
    samples: usize,
) -> Result<Vec<Cell>, ProfileError> {
    let mut cells = Vec::new();
    for table in tables {
        let Some(first) = table.first() else { continue };
        match session.install(&Scene::new(*first)) {
            // What a device does not know is left out, and told by its absence.
            Err(ProfileError::Refused(_)) => continue,
            other => other?,
        }
        for used in table {
            let scene = Scene::new(*used);
            let traversal = alone(session, &scene, samples)?;
            let varying_ns = traversal.most_ns - traversal.least_ns;
            let spacing = together(session, &scene, capacities, varying_ns)?;
            cells.push(Cell { used: *used, traversal, spacing });
        }
    }
    Ok(cells)
}

fn alone<R: Rig>(
    session: &mut Session<'_, R>,
    scene: &Scene,
    samples: usize,
) -> Result<Summary, ProfileError> {
    let rate = session.rig().rate_bps();
    let frame = scene.frame();
    let own = line_time(rate, u64::from(scene.used.frame_bytes) + PREAMBLE_BYTES).as_ns();
    let mut found = Vec::with_capacity(samples);
    // The first one warms up what is cold.
    for nth in 0..=samples {
        let sent = session.send(scene.port_in, &frame);
        let seen = session.frames(1, Span::from_ms(100))?;
        let Some((at, ..)) = seen.first() else { continue };
        if nth > 0 {
            found.push(at.since(sent).as_ns() as f64 - own as f64);
        }
    }
    Summary::of(&found).ok_or_else(|| ProfileError::NothingForwarded(format!("{:?}", scene.used)))
}

fn together<R: Rig>(
    session: &mut Session<'_, R>,
    scene: &Scene,
    capacities: Option<&[Capacity]>,
    varying_ns: f64,
) -> Result<Cost, ProfileError> {
    let bytes = scene.used.frame_bytes;
    let held = capacities.map_or(BURST_MAX, |known| held(known, bytes));
    let count = u32::try_from(held.min(BURST_MAX)).unwrap_or(2);
    if count < 2 {
        return Ok(Cost::Unknown);
    }
    let slot = line_time(session.rig().rate_bps(), u64::from(bytes) + SLOT_BYTES);
    let frame = scene.frame();
    let bursts = (SPACINGS / (count - 1)).clamp(*BURSTS.start(), *BURSTS.end());
    let mut means = Vec::new();
    for _ in 0..bursts {
        let start = session.rig().now();
        for nth in 0..count {
            session.rig().frame(start + slot.times(u64::from(nth)), scene.port_in, &frame);
        }
        let seen = session.frames(count as usize, Span::from_ms(100))?;
        if let (Some(first), Some(last)) = (seen.first(), seen.last())
            && seen.len() == count as usize
        {
            means.push(last.0.since(first.0).as_ns() as f64 / f64::from(count - 1));
        }
    }
    let tag =
        if matches!(scene.used.action, Action::SetVlanId | Action::SetVlanPcp) { 4 } else { 0 };
    let out = line_time(session.rig().rate_bps(), u64::from(bytes) + SLOT_BYTES + tag);
    // Latencies that differ stretch a burst by no more than that.
    let line = (out.as_ns() as f64).mul_add(LINE_BOUND, varying_ns / f64::from(count - 1));
    Ok(match Summary::of(&means) {
        None => Cost::Unknown,
        Some(it) if it.mean_ns > line => Cost::Busy(it),
        Some(it) => Cost::LineBound(it),
    })
}

/// Frames of a size that surely fit, from those that were tried: those of the next larger one.
fn held(known: &[Capacity], bytes: u32) -> u64 {
    let larger = known.iter().filter(|it| it.frame_bytes >= bytes).map(|it| it.frames);
    larger.max().or_else(|| known.iter().map(|it| it.frames).min()).unwrap_or(1)
}
