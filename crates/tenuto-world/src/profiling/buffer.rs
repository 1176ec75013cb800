//! How many frames wait before one is lost (\[Loko\] section 3.5).

use super::rig::{ProfileError, Rig, line_time};
use super::scene::Scene;
use super::session::Session;
use tenuto_model::{Action, BufferUnit, MatchType, ReceiveBuffer, Use};
use tenuto_units::Span;

/// Frames of one burst that are tried at most: a device that holds them all is said to have no limit found.
const BURST_MAX: u32 = 1_024;
const SIZES: [u32; 5] = [64, 306, 548, 1_032, 1_516];
const SLOT_BYTES: u64 = 20;

/// Frames of one size that were held at once without loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// The frame, FCS included.
    pub frame_bytes: u32,
    /// Frames, the one in service included.
    pub frames: u64,
}

/// Sends bursts at line rate into the slowest table that the device holds, until the first loss. `None`: the largest
/// burst was not enough.
///
/// What may have been served while the burst came in is taken off, so that the figure is never above what the device has.
///
/// # Errors
/// If the device does not do what it is told.
pub fn capacities<R: Rig>(
    session: &mut Session<'_, R>,
    entries_max: u32,
) -> Result<Option<Vec<Capacity>>, ProfileError> {
    let entries = entries_max.clamp(1, 128);
    let mut found = Vec::new();
    let slow = Scene::new(Use::worst(MatchType::FiveTuple, Action::Output, entries, 64));
    session.install(&slow)?;
    for frame_bytes in SIZES {
        let used = Use { frame_bytes, ..slow.used };
        let frame = Scene { used, ..slow }.frame();
        let Some((whole, served)) = largest_whole(session, &frame, frame_bytes)? else {
            return Ok(None);
        };
        found
            .push(Capacity { frame_bytes, frames: u64::from(whole).saturating_sub(served).max(1) });
    }
    Ok(Some(found))
}

/// The largest burst without loss, and frames of it that may have been served meanwhile.
fn largest_whole<R: Rig>(
    session: &mut Session<'_, R>,
    frame: &[u8],
    frame_bytes: u32,
) -> Result<Option<(u32, u64)>, ProfileError> {
    let rate = session.rig().rate_bps();
    let slot = line_time(rate, u64::from(frame_bytes) + SLOT_BYTES).as_ns();
    if burst(session, frame, BURST_MAX, slot)?.0 == BURST_MAX as usize {
        return Ok(None);
    }
    let (mut whole, mut lossy) = (0, BURST_MAX);
    while lossy - whole > 1 {
        let middle = whole.midpoint(lossy);
        let (through, _) = burst(session, frame, middle, slot)?;
        if through == middle as usize { whole = middle } else { lossy = middle }
    }
    let (_, gap) = burst(session, frame, whole.max(2), slot)?;
    let took = slot * u64::from(whole.saturating_sub(1));
    let served = took.checked_div(gap).unwrap_or(u64::from(whole));
    Ok(Some((whole, served)))
}

/// Sends a burst at line rate: how many came through, and the least gap between two of them, nanoseconds.
pub(super) fn burst<R: Rig>(
    session: &mut Session<'_, R>,
    frame: &[u8],
    count: u32,
    slot_ns: u64,
) -> Result<(usize, u64), ProfileError> {
    let start = session.rig().now();
    for nth in 0..count {
        let at = start + Span::from_ns(slot_ns * u64::from(nth));
        session.rig().frame(at, 1, frame);
    }
    let seen = session.frames(count as usize, Span::from_ms(20))?;
    let gaps = seen.windows(2).map(|pair| pair[1].0.since(pair[0].0).as_ns());
    Ok((seen.len(), gaps.min().unwrap_or(0)))
}

/// The buffer that explains what was found in the device's own unit; frames of any size where none does.
pub(super) fn buffer_of(found: &[Capacity]) -> Option<(ReceiveBuffer, bool)> {
    // Large cells first: where several explain the samples, the one that holds least of other sizes is believed.
    let cells = [1_024, 512, 256, 128, 64, 32].map(BufferUnit::Cells);
    let units = std::iter::once(BufferUnit::Frames).chain(cells);
    for unit in units {
        for has_place_in_service in [true, false] {
            let first = found.first()?;
            let waiting = first.frames - u64::from(has_place_in_service);
            let count = waiting * unit.of_frame(first.frame_bytes);
            let buffer = ReceiveBuffer { count, unit, is_per_port: false, has_place_in_service };
            if count > 0 && found.iter().all(|it| buffer.frames(it.frame_bytes) == it.frames) {
                return Some((buffer, true));
            }
        }
    }
    let count = found.iter().map(|it| it.frames).min()?;
    let unit = BufferUnit::Frames;
    Some((ReceiveBuffer { count, unit, is_per_port: false, has_place_in_service: false }, false))
}
