//! What another mask costs: devices that look frames up by hashing pay for masks, not for entries.

use super::fit::least_squares;
use super::rig::{ProfileError, Rig};
use super::scene::Scene;
use super::session::Session;
use super::summary::Summary;
use serde::Serialize;
use tenuto_model::{Action, MatchType, Use};
use tenuto_openflow::{Body, FlowMod, Match, Oxm};
use tenuto_units::Span;

/// How many different masks the entries of a table have.
const MASKS: [u32; 4] = [1, 8, 16, 32];
const IPV4: u16 = 0x0800;

/// A table of so many masks, one entry each, the frame matching the one of the least priority.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MaskSample {
    /// Masks, and entries.
    pub masks: u32,
    /// What a frame took alone.
    pub traversal: Summary,
}

/// What masks were seen to cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Masks {
    /// Samples by number of masks.
    pub samples: Vec<MaskSample>,
    /// The slope of the usual traversal, nanoseconds of each mask.
    pub per_mask_ns: f64,
}

/// Measures tables of different masks; `None` where the device takes none of them.
///
/// # Errors
/// If the device does not do what it is told.
pub fn masks<R: Rig>(
    session: &mut Session<'_, R>,
    entries_max: u32,
    samples: usize,
) -> Result<Option<Masks>, ProfileError> {
    let is_exact = session.rig().stamps().is_exact;
    let mut found = Vec::new();
    for masks in MASKS.into_iter().filter(|it| *it <= entries_max) {
        match sample(session, masks, samples) {
            Ok(Some(traversal)) => found.push(MaskSample { masks, traversal }),
            Ok(None) | Err(ProfileError::Refused(_)) => {}
            Err(other) => return Err(other),
        }
    }
    let rows: Vec<Vec<f64>> = found.iter().map(|it| vec![1.0, f64::from(it.masks)]).collect();
    let usual: Vec<f64> = found.iter().map(|it| it.traversal.usual_ns(is_exact)).collect();
    if found.len() < 2 {
        return Ok(None);
    }
    let slope = least_squares(&rows, &usual).map_or(0.0, |fit| fit[1]);
    Ok(Some(Masks { samples: found, per_mask_ns: slope.max(0.0) }))
}

fn sample<R: Rig>(
    session: &mut Session<'_, R>,
    masks: u32,
    samples: usize,
) -> Result<Option<Summary>, ProfileError> {
    let used = Use::worst(MatchType::MaskedNwDst, Action::Output, masks, 64);
    let scene = session.scene(used);
    session.clear()?;
    for place in 0..masks {
        session.tell(&[Body::FlowMod(entry(&scene, place))]);
    }
    session.settle()?;
    let (frame, outside) = (scene.frame(), session.rig().outside_ns(64) as f64);
    let mut took = Vec::new();
    // The first one warms up what is cold.
    for nth in 0..=samples {
        session.send(scene.port_in, &frame);
        let seen = session.frames(1, Span::from_ms(100))?;
        took.extend(seen.passed.first().filter(|_| nth > 0).map(|it| it.took_ns() - outside));
    }
    Ok(Summary::of(&took))
}

/// An entry with a mask of its own; only the one of the last place, of the least priority, matches the scene's frame.
fn entry(scene: &Scene, place: u32) -> FlowMod {
    let last = scene.used.entries.saturating_sub(1);
    let template = scene.entry(last);
    // Of the source's last 16 bits, other ones matter in each entry.
    let [high, low] = u16::try_from(place + 1).unwrap_or(u16::MAX).to_be_bytes();
    // No frame has this first byte.
    let first = if place == last { 10 } else { 11 };
    let mask = [255, 0, high, low];
    let value = [first, 0, 0, 1 & low];
    FlowMod {
        priority: 2_000 - u16::try_from(place).unwrap_or(0),
        match_: Match::from(vec![Oxm::EthType(IPV4), Oxm::Ipv4Src { value, mask: Some(mask) }]),
        ..template
    }
}
