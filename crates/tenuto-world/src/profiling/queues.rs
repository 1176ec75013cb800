//! Queues of a port: how many there are, and which is served before which.

use super::rig::{ProfileError, Rig, line_time};
use super::scene::Scene;
use super::session::Session;
use serde::Serialize;
use tenuto_model::{Action as Change, MatchType, Use};
use tenuto_openflow::constants::queue;
use tenuto_openflow::{
    Action, Body, FlowMod, Instruction, MultipartRequest, ReplyBody, RequestBody,
};
use tenuto_units::Span;

/// Copies of each frame, all by one port: so a port is sent more than it can forward, by one line alone.
const COPIES: u32 = 8;
/// Frames of each queue.
const FRAMES: u32 = 20;
const SLOT_BYTES: u64 = 20;
const FRAME_BYTES: u32 = 1_032;

/// Queues of the port by which frames leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Queues {
    /// Their numbers, as the device tells them.
    pub ids: Vec<u32>,
    /// Why it tells none, in its words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Which of the least and the largest number was served first when both were full; `None`: they never were, or
    /// neither was preferred.
    pub first: Option<u32>,
}

/// Asks for queues, and fills the outermost two.
///
/// # Errors
/// If the device does not do what it is told.
pub fn queues<R: Rig>(session: &mut Session<'_, R>) -> Result<Queues, ProfileError> {
    let port_no = session.port(1);
    let request = RequestBody::Queue { port_no, queue_id: queue::ALL };
    let request = Body::MultipartRequest(MultipartRequest::new(request));
    let ids = match session.ask_whole(request, "to a request for its queues") {
        Ok((_, _, Body::MultipartReply(reply))) => match reply.body {
            ReplyBody::Queue(list) => {
                let mut ids: Vec<u32> = list.iter().map(|it| it.queue_id).collect();
                ids.sort_unstable();
                ids.dedup();
                ids
            }
            _ => Vec::new(),
        },
        Ok(_) => Vec::new(),
        Err(ProfileError::Refused(why)) => {
            return Ok(Queues { ids: Vec::new(), refused: Some(why), first: None });
        }
        Err(other) => return Err(other),
    };
    let first = match (ids.first(), ids.last()) {
        (Some(&least), Some(&most)) if least < most => preferred(session, least, most)?,
        _ => None,
    };
    Ok(Queues { ids, refused: None, first })
}

/// Sends frames of both in turn, each many times over: those of one come out before those of the other that went in first.
fn preferred<R: Rig>(
    session: &mut Session<'_, R>,
    least: u32,
    most: u32,
) -> Result<Option<u32>, ProfileError> {
    let used = Use::worst(MatchType::TpDst, Change::Output, 2, FRAME_BYTES);
    let scene = Scene { copies: COPIES, ..session.scene(used) };
    session.clear()?;
    for (place, queue) in [(0, least), (1, most)] {
        session.tell(&[Body::FlowMod(by_queue(scene.entry(place), queue))]);
    }
    match session.settle() {
        Err(ProfileError::Refused(_)) => return Ok(None),
        other => other?,
    }
    session.begin();
    let slot = line_time(session.rig().rate_bps(), u64::from(FRAME_BYTES) + SLOT_BYTES);
    let start = session.rig().now();
    let mut of = Vec::new();
    for nth in 0..FRAMES * 2 {
        let place = nth % 2;
        let at = start + slot.times(u64::from(nth));
        let number = session.send_at(at, scene.port_in, &scene.frame_for(place));
        of.push((number, if place == 0 { least } else { most }));
    }
    let copies = (FRAMES * 2 * (COPIES + 1)) as usize;
    let seen = session.frames(copies, Span::from_ms(50))?;
    let queue_of = |number: u32| of.iter().find(|(it, _)| *it == number).map(|(_, queue)| *queue);
    // The place at which half of the copies of each had left: that of a preferred queue comes far before the other's.
    let middle = |queue: u32| {
        let places = seen.passed.iter().enumerate();
        let own: Vec<usize> = places
            .filter(|(_, it)| queue_of(it.number) == Some(queue))
            .map(|(place, _)| place)
            .collect();
        own.get(own.len() / 2).copied()
    };
    let apart = seen.passed.len() / 5;
    Ok(match (middle(least), middle(most)) {
        (Some(a), Some(b)) if a + apart < b => Some(least),
        (Some(a), Some(b)) if b + apart < a => Some(most),
        _ => None,
    })
}

fn by_queue(entry: FlowMod, queue: u32) -> FlowMod {
    let to_queue = |it: &Instruction| match it {
        Instruction::ApplyActions(actions) => {
            let mut list = vec![Action::SetQueue(queue)];
            list.extend(actions.iter().cloned());
            Instruction::ApplyActions(list)
        }
        other => other.clone(),
    };
    FlowMod { instructions: entry.instructions.iter().map(to_queue).collect(), ..entry }
}
