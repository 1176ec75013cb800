//! What a device does besides forwarding: its own work, and what it does alone.

use super::listened::{Listened, found_at_work};
use super::messages::ps_up;
use super::rig::{ProfileError, Rig};
use super::session::Session;
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
    /// Echoes that took far longer, and followed no period: of the device, or of what measures it.
    pub stalls: u64,
    /// From one echo of the listening to the next: what times at work are exact to, nanoseconds.
    pub echo_step_ns: u64,
    /// Of what was listened to: when each echo was asked for, and what it took, nanoseconds.
    #[serde(skip)]
    pub echoes: Vec<(u64, f64)>,
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
    alone_for: Span,
) -> Result<Firmware, ProfileError> {
    let Listened { own_work, stalls, echo_step_ns, echoes } =
        own_work(session, echo_ns, listening)?;
    let echo_under_traffic_ns = under_traffic(session)? - echo_ns;
    let (keeps_entries, forwards_unknown) = alone(session, alone_for)?;
    Ok(Firmware {
        own_work,
        stalls,
        echo_step_ns,
        echoes,
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
) -> Result<Listened, ProfileError> {
    session.clear()?;
    let step = Span::from_ns(250_000).max(Span::from_ns(ps_up(echo_ns) / 1_000 * 3));
    let count = listening.as_ns() / step.as_ns().max(1);
    let mut taken = Vec::new();
    for _ in 0..count {
        let sent = session.tell(&[Body::EchoRequest(Vec::new())]);
        taken.extend(sent.first().copied());
        session.wait(step)?;
    }
    let mut delays: Vec<(Instant, f64)> = Vec::new();
    for (at, xid) in taken {
        let (answered, _) = session.answer_kept(xid)?;
        delays.push((at, answered.since(at).as_ns() as f64));
    }
    Ok(found_at_work(&delays, step, session.rig().stamps().is_exact))
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

/// The mean of echoes among frames, nanoseconds.
fn under_traffic<R: Rig>(session: &mut Session<'_, R>) -> Result<f64, ProfileError> {
    let scene = session.scene(port_use(306));
    session.install(&scene)?;
    let body = Body::EchoRequest(Vec::new());
    let bytes = Message::new(0, body.clone()).to_bytes().len();
    let (request, preamble) = session.rig().control_outside_ns(bytes);
    let outside = (request + preamble) as f64;
    let frame = scene.frame();
    let (start, step) = (session.rig().now(), Span::from_us(400));
    for nth in 0..500 {
        session.send_at(start + step.times(nth), scene.port_in, &frame);
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
fn alone<R: Rig>(session: &mut Session<'_, R>, time: Span) -> Result<(bool, bool), ProfileError> {
    let scene = session.scene(port_use(64));
    session.install(&scene)?;
    session.rig().controller(false)?;
    session.wait(time)?;
    session.send(scene.port_in, &scene.frame());
    let keeps = !session.frames(1, Span::from_ms(50))?.passed.is_empty();
    session.send(scene.port_in, &scene.frame_for(200));
    let unknown = !session.frames(1, Span::from_ms(50))?.passed.is_empty();
    session.again()?;
    session.tell(&[Body::FlowMod(FlowMod {
        match_: Match::ANY,
        ..FlowMod::new(FlowModCommand::Delete, 0)
    })]);
    Ok((keeps, unknown))
}
