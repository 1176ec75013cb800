//! What a device does besides forwarding: its own work, when its barriers are true, and what it does alone.

use super::messages::ps_up;
use super::rig::{ProfileError, Rig};
use super::scene::Scene;
use super::session::Session;
use super::summary::Summary;
use crate::device::OwnWork;
use serde::Serialize;
use tenuto_model::{Action as Change, MatchType, Position, PriorityOrder, Use};
use tenuto_openflow::{Body, FlowMod, FlowModCommand, Match, Message};
use tenuto_units::{Instant, Span};

/// Found of the firmware.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Firmware {
    /// Work of its own, if any was seen.
    #[serde(skip)]
    pub own_work: Option<OwnWork>,
    /// From the answer to a barrier to the first frame that met the entry before it, nanoseconds; negative: before.
    pub barrier_to_effect_ns: i64,
    /// Every frame sent after the answer met the entry.
    pub is_barrier_true: bool,
    /// Entries stay in force without a controller.
    pub keeps_entries: bool,
    /// What no entry matches is forwarded without a controller.
    pub forwards_unknown: bool,
    /// How much longer an echo takes under data traffic, nanoseconds.
    pub echo_under_traffic_ns: f64,
}

/// Looks at all of that. `echo_ns` is what an echo takes alone.
///
/// # Errors
/// If the device does not do what it is told.
pub(super) fn firmware<R: Rig>(
    session: &mut Session<'_, R>,
    echo_ns: f64,
    listening: Span,
) -> Result<Firmware, ProfileError> {
    let own_work = own_work(session, echo_ns, listening)?;
    let (barrier_to_effect_ns, is_barrier_true) = barrier(session)?;
    let echo_under_traffic_ns = under_traffic(session)? - echo_ns;
    let (keeps_entries, forwards_unknown) = alone(session)?;
    Ok(Firmware {
        own_work,
        barrier_to_effect_ns,
        is_barrier_true,
        keeps_entries,
        forwards_unknown,
        echo_under_traffic_ns,
    })
}

/// Sends echo requests at a steady pace; those that take much longer found the firmware at work ([Loko] Fig. 6a).
///
/// The work is at most as long as the longest delay and one step, since a request comes at least so soon after its start.
fn own_work<R: Rig>(
    session: &mut Session<'_, R>,
    echo_ns: f64,
    listening: Span,
) -> Result<Option<OwnWork>, ProfileError> {
    session.clear()?;
    let step = Span::from_ns(250_000).max(Span::from_ns(ps_up(echo_ns) / 1_000 * 3));
    let count = listening.as_ns() / step.as_ns().max(1);
    let mut taken = Vec::new();
    for _ in 0..count {
        let sent = session.tell(&[Body::EchoRequest(Vec::new())]);
        taken.push(sent[0]);
        session.wait(step)?;
    }
    let mut delays: Vec<(Instant, f64)> = Vec::new();
    for (at, xid) in taken {
        let (answered, _) = session.answer_kept(xid)?;
        delays.push((at, answered.since(at).as_ns() as f64));
    }
    let all: Vec<f64> = delays.iter().map(|(_, it)| *it).collect();
    let Some(summary) = Summary::of(&all) else { return Ok(None) };
    let usual = summary.percentiles_ns[1];
    let above = usual + step.as_ns() as f64;
    let mut starts: Vec<Instant> = Vec::new();
    for (at, delay) in &delays {
        let is_new = starts.last().is_none_or(|last| at.since(*last) > step.times(100));
        if *delay > above && is_new {
            starts.push(*at);
        }
    }
    let periods = starts.windows(2).map(|pair| pair[1].since(pair[0]));
    let Some(period) = periods.min() else { return Ok(None) };
    let period_ps = period.saturating_sub(step).as_ns() * 1_000;
    let time_ps = ps_up(summary.most_ns - usual) + step.as_ns() * 1_000;
    Ok(Some(OwnWork { time_ps, period_ps }))
}

fn port_use(frame_bytes: u32) -> Use {
    Use {
        matching: MatchType::FiveTuple,
        action: Change::Output,
        entries: 17,
        position: Position::Last,
        order: PriorityOrder::Increasing,
        frame_bytes,
    }
}

/// A stream of frames meets an older entry until a newer one is in effect: when is that, beside the answer to the barrier?
fn barrier<R: Rig>(session: &mut Session<'_, R>) -> Result<(i64, bool), ProfileError> {
    let scene = Scene::new(port_use(64));
    let newer = scene.entry(16);
    let older = Scene { port_out: 3, ..scene };
    session.install(&older)?;
    let (start, step) = (session.rig().now(), Span::from_ms(2));
    let frame = scene.frame();
    let count = 40_u64;
    for nth in 0..count {
        session.rig().frame(start + step.times(nth), 1, &frame);
    }
    session.wait(step.times(10) + Span::from_us(300))?;
    let entry = FlowMod { priority: newer.priority + 1, ..newer };
    let sent = session.tell(&[Body::FlowMod(entry), Body::BarrierRequest]);
    let (answered, _) = session.answer(sent[1].1, "to a barrier behind an entry")?;
    session.wait(step.times(count))?;
    let seen = session.frames(usize::try_from(count).unwrap_or(0), Span::from_ms(20))?;
    let met = seen.iter().position(|(_, port, _)| *port == 2);
    let Some(first) = met else { return Ok((i64::MAX, false)) };
    // Frames leave in their order, so the place tells when it was sent.
    let sent_at = start + step.times(first as u64);
    let gap = i64::try_from(sent_at.as_ns()).unwrap_or(i64::MAX)
        - i64::try_from(answered.as_ns()).unwrap_or(i64::MAX);
    let is_true = seen
        .iter()
        .enumerate()
        .all(|(nth, (_, port, _))| *port == 2 || start + step.times(nth as u64) <= answered);
    Ok((gap, is_true))
}

/// The mean of echoes among frames, nanoseconds.
fn under_traffic<R: Rig>(session: &mut Session<'_, R>) -> Result<f64, ProfileError> {
    let scene = Scene::new(port_use(306));
    session.install(&scene)?;
    let body = Body::EchoRequest(Vec::new());
    let outside = Message::new(0, body.clone()).to_bytes().len();
    let outside = crate::device::message_frame_bytes(outside) + 8;
    let outside = super::rig::line_time(session.rig().rate_bps(), outside).as_ns() as f64;
    let frame = scene.frame();
    let (start, step) = (session.rig().now(), Span::from_us(400));
    for nth in 0..500 {
        session.rig().frame(start + step.times(nth), 1, &frame);
    }
    let mut sum = 0.0;
    for nth in 0..100_u64 {
        let (asked, answered) = session.ask(body.clone(), "to an echo request under traffic")?;
        sum += answered.since(asked).as_ns() as f64 - outside;
        session.wait(Span::from_us(100 + 7 * nth))?;
    }
    session.frames(500, Span::from_ms(20))?;
    Ok(sum / 100.0)
}

/// Whether entries stay, and whether the unknown is forwarded, while nobody is connected.
fn alone<R: Rig>(session: &mut Session<'_, R>) -> Result<(bool, bool), ProfileError> {
    let scene = Scene::new(port_use(64));
    session.install(&scene)?;
    session.rig().controller(false);
    session.wait(Span::from_ms(50))?;
    session.send(1, &scene.frame());
    let keeps = !session.frames(1, Span::from_ms(50))?.is_empty();
    session.send(1, &scene.frame_for(200));
    let unknown = !session.frames(1, Span::from_ms(50))?.is_empty();
    session.again()?;
    session.tell(&[Body::FlowMod(FlowMod {
        match_: Match::ANY,
        ..FlowMod::new(FlowModCommand::Delete, 0)
    })]);
    Ok((keeps, unknown))
}
