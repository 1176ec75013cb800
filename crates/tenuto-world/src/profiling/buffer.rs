//! How many frames wait before one is lost (\[Loko\] section 3.5).

use super::rig::{ProfileError, Rig, line_time};
use super::scene::Scene;
use super::session::{Exchange, Session};
use tenuto_model::{Action, BufferUnit, MatchType, ReceiveBuffer, Use};
use tenuto_units::{Instant, Span};

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
    let slow = session.scene(Use::worst(MatchType::FiveTuple, Action::Output, entries, 64));
    session.install(&slow)?;
    for frame_bytes in SIZES {
        let used = Use { frame_bytes, ..slow.used };
        let frame = Scene { used, ..slow }.frame();
        let port_in = slow.port_in;
        let Some((whole, served)) = largest_whole(session, (port_in, &frame), frame_bytes)? else {
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
    frame: (u32, &[u8]),
    frame_bytes: u32,
) -> Result<Option<(u32, u64)>, ProfileError> {
    let rate = session.rig().rate_bps();
    let slot = line_time(rate, u64::from(frame_bytes) + SLOT_BYTES);
    let is_whole = |it: &Exchange, count: u32| it.passed.len() == count as usize;
    if is_whole(&burst(session, frame, BURST_MAX, slot)?, BURST_MAX) {
        return Ok(None);
    }
    let (mut whole, mut lossy) = (0, BURST_MAX);
    while lossy - whole > 1 {
        let middle = whole.midpoint(lossy);
        let seen = burst(session, frame, middle, slot)?;
        if is_whole(&seen, middle) { whole = middle } else { lossy = middle }
    }
    let seen = burst(session, frame, whole.max(2), slot)?;
    let is_exact = session.rig().stamps().is_exact;
    Ok(Some((whole, if is_exact { may_be_served(&seen, whole, slot) } else { served(&seen) })))
}

/// What the quickest gap allows while the burst came in.
fn may_be_served(it: &Exchange, whole: u32, slot: Span) -> u64 {
    let gaps = it.passed.windows(2).map(|pair| pair[1].at.since(pair[0].at).as_ns());
    let took = slot.as_ns() * u64::from(whole.saturating_sub(1));
    took.checked_div(gaps.min().unwrap_or(0)).unwrap_or(u64::from(whole))
}

/// Frames that had left when the last one was sent: gaps say nothing where a device hands frames over in batches.
fn served(it: &Exchange) -> u64 {
    let last = it.sent.last().map_or(Instant::ZERO, |(_, at)| *at);
    it.passed.iter().filter(|passed| passed.at <= last).count() as u64
}

/// Sends a burst at line rate.
fn burst<R: Rig>(
    session: &mut Session<'_, R>,
    (port, frame): (u32, &[u8]),
    count: u32,
    slot: Span,
) -> Result<Exchange, ProfileError> {
    let start = session.rig().now();
    for nth in 0..count {
        session.send_at(start + slot.times(u64::from(nth)), port, frame);
    }
    session.frames(count as usize, Span::from_ms(20))
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
