//! What a device forwards without loss, by search, and what it forwards beyond (\[Loko\] section 3.4, Fig. 12).

use super::rig::{ProfileError, Rig, line_time};
use super::scene::Scene;
use super::session::Session;
use tenuto_model::{Action, MatchType, Use};
use tenuto_openflow::Body;
use tenuto_units::Span;

const SLOT_BYTES: u64 = 20;
const BITS_NS: f64 = 8e9;

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
        session.rig().frame(start + interval.times(u64::from(nth)), scene.port_in, &frame);
    }
    let sending = interval.times(u64::from(count));
    session.wait(sending)?;
    let seen = session.frames(count as usize, Span::from_ms(50))?;
    let bits = f64::from(scene.used.frame_bytes) * BITS_NS;
    let (Some(first), Some(last)) = (seen.first(), seen.last()) else { return Ok((0.0, 0.0, 0)) };
    let took = last.0.since(first.0).as_ns().max(1) as f64 / (seen.len().max(2) - 1) as f64;
    let lost = u64::from(count).saturating_sub(seen.len() as u64);
    Ok((bits / interval.as_ns().max(1) as f64, bits / took, lost))
}

/// The largest rate without loss of `count` frames, bit/s, to one nanosecond of the interval; between line rate and
/// `slowest`.
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
    while whole - lossy > 1 {
        let middle = lossy.midpoint(whole);
        let (_, _, lost) = output_rate(session, scene, Span::from_ns(middle), count)?;
        if lost == 0 { whole = middle } else { lossy = middle }
    }
    Ok(bits / whole as f64)
}

/// Frames of each port in the test of all ports together.
const TOGETHER: u32 = 8_000;
const PORTS: u32 = 4;

/// Sends the smallest frames into four ports at line rate at once, by the last entries of the largest table: what a frame
/// takes of a processor that all of them share, nanoseconds; `None` where every port keeps line rate.
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
    let entries = entries_max.clamp(PORTS, 128);
    let scene = Scene::new(Use::worst(MatchType::FiveTuple, Action::Output, entries, 64));
    session.clear()?;
    for place in 0..entries {
        let from = (place + PORTS - entries % PORTS) % PORTS;
        let port_out = (from + 1) % PORTS + 1;
        session.tell(&[Body::FlowMod(Scene { port_out, ..scene }.entry(place))]);
    }
    session.settle()?;
    let slot = line_time(session.rig().rate_bps(), 64 + SLOT_BYTES);
    let start = session.rig().now();
    for nth in 0..TOGETHER {
        for from in 0..PORTS {
            let frame = scene.frame_for(entries - PORTS + from);
            session.rig().frame(start + slot.times(u64::from(nth)), from + 1, &frame);
        }
        // Not all at once, so that a rig needs no room for all of them.
        if nth % 100 == 99 {
            let now = session.rig().now();
            session.wait((start + slot.times(u64::from(nth))).since(now))?;
        }
    }
    let seen = session.frames((TOGETHER * PORTS) as usize, Span::from_ms(50))?;
    let (Some(first), Some(last)) = (seen.first(), seen.last()) else { return Ok(None) };
    let took = last.0.since(first.0).as_ns() as f64 + varying_ns;
    let each = took / (seen.len().max(2) - 1) as f64;
    let line = slot.as_ns() as f64 / f64::from(PORTS) + varying_ns / (seen.len().max(2) - 1) as f64;
    Ok((each > line * 1.02).then_some(each))
}
