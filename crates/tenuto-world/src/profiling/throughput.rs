//! What a device forwards without loss, by search, and what it forwards beyond (\[Loko\] section 3.4, Fig. 12).

use super::rig::{ProfileError, Rig, line_time};
use super::scene::Scene;
use super::session::Session;
use serde::Serialize;
use tenuto_model::{Action, MatchType, Processor, Use};
use tenuto_openflow::Body;
use tenuto_units::Span;

const SLOT_BYTES: u64 = 20;
const BITS_NS: f64 = 8e9;
/// A search among stalls is no finer than this part.
const NOISY_PART: u64 = 50;

/// Sends so many frames at an interval: bit/s that went in and that came out (frames with FCS), and frames lost.
///
/// # Errors
/// If an answer cannot be read.
pub fn output_rate<R: Rig>(
    session: &mut Session<'_, R>,
    scene: &Scene,
    interval: Span,
    count: u32,
) -> Result<(f64, f64, u64), ProfileError> {
    let start = session.rig().now();
    let frame = scene.frame();
    for nth in 0..count {
        session.send_at(start + interval.times(u64::from(nth)), scene.port_in, &frame);
    }
    let sending = interval.times(u64::from(count));
    session.wait(sending)?;
    let seen = session.frames(count as usize, Span::from_ms(50))?;
    let bits = f64::from(scene.used.frame_bytes) * BITS_NS;
    if seen.passed.is_empty() {
        return Ok((0.0, 0.0, u64::from(count)));
    }
    let lost = u64::from(count).saturating_sub(seen.passed.len() as u64);
    // What a bench could not send that quickly was not offered.
    let interval = seen.sent_every_ns().max(interval.as_ns().max(1) as f64);
    Ok((bits / interval, bits / seen.passed_every_ns().max(1.0), lost))
}

/// The largest rate without loss of `count` frames, bit/s (0: even the slowest lost some), between line rate and `slowest`: to one nanosecond of the
/// interval, or to a fiftieth of it where stamps are not exact.
///
/// # Errors
/// If an answer cannot be read.
pub fn search_rate<R: Rig>(
    session: &mut Session<'_, R>,
    scene: &Scene,
    slowest: Span,
    count: u32,
) -> Result<f64, ProfileError> {
    let rate = session.rig().rate_bps();
    let line = line_time(rate, u64::from(scene.used.frame_bytes) + SLOT_BYTES).as_ns();
    session.install(scene)?;
    let bits = f64::from(scene.used.frame_bytes) * BITS_NS;
    let (mut lossy, mut whole) = (line - 1, slowest.as_ns().max(line));
    let (mut offered, _, lost) = output_rate(session, scene, Span::from_ns(whole), count)?;
    if lost > 0 {
        return Ok(0.0);
    }
    let part = if session.rig().stamps().is_exact { u64::MAX } else { NOISY_PART };
    while whole - lossy > (whole / part).max(1) {
        let middle = lossy.midpoint(whole);
        let (rate, _, lost) = output_rate(session, scene, Span::from_ns(middle), count)?;
        if lost == 0 {
            (whole, offered) = (middle, rate);
        } else {
            lossy = middle;
        }
    }
    Ok(if part == u64::MAX { bits / whole as f64 } else { offered })
}

/// Frames of one try.
const TRY: u32 = 400;
/// Uses whose throughput is searched: entries and sizes of frames.
const SEARCHED: [(u32, u32); 4] = [(1, 64), (17, 64), (33, 548), (1, 1_516)];

/// What a use gets through, by both ways of \[Loko\] section 3.4.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// Entries of the table, five-tuple, the last one used.
    pub entries: u32,
    /// Frames, FCS included.
    pub frame_bytes: u32,
    /// By Eq. 6 from what a frame takes, bit/s of frames with FCS; `None`: the model has no processor.
    pub computed_bps: Option<f64>,
    /// The largest rate at which 400 frames were lost none of, bit/s of frames with FCS.
    pub searched_bps: f64,
}

/// Searches the throughput of some uses.
///
/// # Errors
/// If the device does not do what it is told.
pub(super) fn throughput<R: Rig>(
    session: &mut Session<'_, R>,
    processor: Option<&Processor>,
    entries_max: u32,
    slowest: Span,
) -> Result<Vec<Throughput>, ProfileError> {
    let mut found = Vec::new();
    for (entries, frame_bytes) in SEARCHED {
        if session.is_out_of_time() || entries > entries_max {
            break;
        }
        let used = Use::worst(MatchType::FiveTuple, Action::Output, entries, frame_bytes);
        let scene = session.scene(used);
        // Far slower than what a frame takes, nothing is lost.
        let own = processor.map_or(slowest, |it| Span::from_ns(it.cost_ps(&used) / 1_000 * 8));
        let slowest = own.clamp(Span::from_us(50), slowest);
        let searched_bps = search_rate(session, &scene, slowest, TRY)?;
        let line = session.rig().rate_bps() as f64 * f64::from(frame_bytes)
            / (f64::from(frame_bytes) + SLOT_BYTES as f64);
        let computed_bps = processor.map(|it| {
            let own = f64::from(frame_bytes) * 8e12 / it.cost_ps(&used).max(1) as f64;
            own.min(line)
        });
        found.push(Throughput { entries, frame_bytes, computed_bps, searched_bps });
    }
    Ok(found)
}

/// Frames of each port in the test of all ports together.
const TOGETHER: u32 = 8_000;
const PORTS_MAX: u32 = 4;

/// Sends the smallest frames into up to four ports at line rate at once, by the last entries of the largest table: what a
/// frame takes of a processor that all of them share, nanoseconds; `None` where every port keeps what is sent.
///
/// `varying_ns` is by how much latencies differ: the first frame may have been quick and the last one slow, or the reverse.
///
/// # Errors
/// If the device does not do what it is told.
pub(super) fn at_once<R: Rig>(
    session: &mut Session<'_, R>,
    entries_max: u32,
    varying_ns: f64,
) -> Result<Option<f64>, ProfileError> {
    let ports = u32::try_from(session.ports().len()).unwrap_or(PORTS_MAX).min(PORTS_MAX);
    let port = |session: &Session<'_, R>, from: u32| session.port(from as usize);
    let entries = entries_max.clamp(ports, 128);
    let scene = session.scene(Use::worst(MatchType::FiveTuple, Action::Output, entries, 64));
    session.clear()?;
    for place in 0..entries {
        let from = (place + ports - entries % ports) % ports;
        let port_out = port(session, (from + 1) % ports);
        session.tell(&[Body::FlowMod(Scene { port_out, ..scene }.entry(place))]);
    }
    session.settle()?;
    let slot = line_time(session.rig().rate_bps(), 64 + SLOT_BYTES);
    let start = session.rig().now();
    for nth in 0..TOGETHER {
        for from in 0..ports {
            let frame = scene.frame_for(entries - ports + from);
            let into = port(session, from);
            session.send_at(start + slot.times(u64::from(nth)), into, &frame);
        }
        // Not all at once, so that a rig needs no room for all of them.
        if nth % 100 == 99 {
            let now = session.rig().now();
            session.wait((start + slot.times(u64::from(nth))).since(now))?;
        }
    }
    let seen = session.frames((TOGETHER * ports) as usize, Span::from_ms(50))?;
    if seen.passed.is_empty() {
        return Ok(None);
    }
    let varying = varying_ns / (seen.passed.len().max(2) - 1) as f64;
    let each = seen.passed_every_ns() + varying;
    let line = slot.as_ns() as f64 / f64::from(ports);
    let sent = if session.rig().stamps().is_exact { line } else { seen.sent_every_ns().max(line) };
    Ok((each > (sent + varying) * 1.02).then_some(each))
}
