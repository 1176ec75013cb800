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
/// Frames directly behind each other, where no buffer limits them.
const BURST_MAX: u64 = 200;
/// Spacings that are averaged: latencies differ at both ends of a burst, so short bursts need more of them.
const SPACINGS: u32 = 1_200;
const BURSTS: std::ops::RangeInclusive<u32> = 6..=600;
/// Where stamps are not exact, enough of them for a median.
const BURSTS_NOISY: u32 = 15;
/// A gap that is not longer than the line's own by this says nothing of the processor.
const LINE_BOUND: f64 = 1.02;

/// What frames of one use took.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The use.
    pub used: Use,
    /// From the last bit in to the first bit out of an idle device (Eq. 4).
    pub traversal: Summary,
    /// Its samples, nanoseconds.
    pub samples_ns: Vec<f64>,
    /// From one to the next of frames that wait for each other: the mean of each burst.
    pub spacing: Cost,
}

impl Cell {
    /// Its samples without the tails that the machine that measures may have added; what limited a burst counts as the
    /// processor, since it was not seen to be quicker.
    pub(super) fn without_tails(&self) -> Self {
        let spacing = match &self.spacing {
            Cost::Busy(it) | Cost::LineBound(it) => Cost::Busy(it.without_tails()),
            Cost::Unknown => Cost::Unknown,
        };
        let traversal = self.traversal.without_tails();
        Self { used: self.used, traversal, samples_ns: Vec::new(), spacing }
    }

    /// What a burst was spaced by, whatever limited it, nanoseconds.
    pub(super) const fn spacing_ns(&self) -> Option<f64> {
        match &self.spacing {
            Cost::Busy(it) | Cost::LineBound(it) => Some(it.mean_ns),
            Cost::Unknown => None,
        }
    }
}

/// What a burst says of the processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Cost {
    /// Means of bursts, nanoseconds.
    Busy(Summary),
    /// The lines, or what sends over them, were slower than the processor: it takes no longer.
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
    for (nth, table) in tables.iter().enumerate() {
        if session.is_out_of_time() {
            break;
        }
        let percent = 10 + 50 * nth / tables.len().max(1);
        session.rig().progress("frames", u32::try_from(percent).unwrap_or(10));
        let Some(first) = table.first() else { continue };
        let first = session.scene(*first);
        match session.install(&first) {
            // What a device does not know is left out, and told by its absence.
            Err(ProfileError::Refused(_)) => continue,
            other => other?,
        }
        for used in table {
            let scene = session.scene(*used);
            let (traversal, samples_ns) = alone(session, &scene, samples)?;
            let varying_ns = match session.rig().stamps().is_exact {
                true => traversal.most_ns - traversal.least_ns,
                // The machine's own stalls would hide every processor.
                false => traversal.percentiles_ns[2] - traversal.percentiles_ns[0],
            };
            let spacing = together(session, &scene, capacities, varying_ns)?;
            cells.push(Cell { used: *used, traversal, samples_ns, spacing });
        }
    }
    Ok(cells)
}

fn alone<R: Rig>(
    session: &mut Session<'_, R>,
    scene: &Scene,
    samples: usize,
) -> Result<(Summary, Vec<f64>), ProfileError> {
    let frame = scene.frame();
    let own = session.rig().outside_ns(scene.used.frame_bytes);
    let mut found = Vec::with_capacity(samples);
    // The first one warms up what is cold.
    for nth in 0..=samples {
        session.send(scene.port_in, &frame);
        let seen = session.frames(1, Span::from_ms(100))?;
        let Some(passed) = seen.passed.first() else { continue };
        if nth > 0 {
            found.push((passed.took_ns() - own as f64).max(0.0));
        }
    }
    let summary = Summary::of(&found)
        .ok_or_else(|| ProfileError::NothingForwarded(format!("{:?}", scene.used)))?;
    Ok((summary, found))
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
    let is_exact = session.rig().stamps().is_exact;
    let least = if is_exact { *BURSTS.start() } else { BURSTS_NOISY };
    let bursts = (SPACINGS / (count - 1)).clamp(least, *BURSTS.end());
    let (mut means, mut sent) = (Vec::new(), Vec::new());
    for _ in 0..bursts {
        let start = session.rig().now();
        for nth in 0..count {
            session.send_at(start + slot.times(u64::from(nth)), scene.port_in, &frame);
        }
        let seen = session.frames(count as usize, Span::from_ms(100))?;
        if seen.passed.len() == count as usize {
            means.push(seen.passed_every_ns());
            sent.push(seen.sent_every_ns());
        }
    }
    let tag =
        if matches!(scene.used.action, Action::SetVlanId | Action::SetVlanPcp) { 4 } else { 0 };
    let out = line_time(session.rig().rate_bps(), u64::from(bytes) + SLOT_BYTES + tag);
    // Latencies that differ stretch a burst by no more than that.
    let varying = varying_ns / f64::from(count - 1);
    let line = (out.as_ns() as f64).mul_add(LINE_BOUND, varying);
    // A bench that sends more slowly than the line could says as little of the processor.
    let bench = Summary::of(&sent).map_or(0.0, |it| it.usual_ns(is_exact) * LINE_BOUND + varying);
    Ok(match Summary::of(&means) {
        None => Cost::Unknown,
        Some(it) if it.usual_ns(is_exact) > line.max(bench) => Cost::Busy(it),
        Some(it) => Cost::LineBound(it),
    })
}

/// Frames of a size that surely fit, from those that were tried: those of the next larger one.
fn held(known: &[Capacity], bytes: u32) -> u64 {
    let larger = known.iter().filter(|it| it.frame_bytes >= bytes).map(|it| it.frames);
    larger.max().or_else(|| known.iter().map(|it| it.frames).min()).unwrap_or(1)
}
