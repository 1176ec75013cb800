//! Which ports of a device the bench is wired to: found by frames that the device sends by each of its ports.

use super::rig::{ProfileError, Rig};
use super::scene::Scene;
use super::session::Session;
use tenuto_model::{Action as Change, MatchType, Use};
use tenuto_openflow::{Body, MultipartRequest, ReplyBody, RequestBody};
use tenuto_units::Span;

/// The largest number of a port that is not reserved (`OFPP_MAX`).
const PORT_MAX: u32 = 0xffff_ff00;
/// Ports of one device that are asked, at most.
const PORTS_MAX: usize = 1_024;
const TRIES: u32 = 5;
const EACH_TRY: Span = Span::from_ms(200);

/// Finds them, if the rig does not know them.
pub(super) fn wire<R: Rig>(session: &mut Session<'_, R>) -> Result<(), ProfileError> {
    let ends = session.rig().unwired();
    if ends.is_empty() {
        return Ok(());
    }
    let ports = ports_of(session)?;
    let mut found: Vec<Option<u32>> = vec![None; ends.len()];
    let frame = Scene::new(Use::worst(MatchType::TpDst, Change::Output, 1, 64)).frame();
    for _ in 0..TRIES {
        session.begin();
        let told: Vec<(u32, u32)> =
            ports.iter().map(|port| (session.send_out(*port, &frame), *port)).collect();
        session.wait(EACH_TRY)?;
        for (number, place) in session.seen() {
            let port = told.iter().find(|(it, _)| *it == number).map(|(_, port)| *port);
            if let Some(end) = usize::try_from(place).ok().and_then(|it| found.get_mut(it)) {
                *end = end.or(port);
            }
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    session.begin();
    let numbers: Option<Vec<u32>> = found.iter().copied().collect();
    let Some(numbers) = numbers else {
        let missing = ends.iter().zip(&found).find(|(_, port)| port.is_none());
        let name = missing.map_or("one", |(name, _)| name.as_str());
        let told: Vec<String> = ports.iter().map(ToString::to_string).collect();
        let why = format!(
            "interface {name} sees nothing that the device sends by its ports ({}): is it wired to one of them, and up?",
            told.join(", ")
        );
        return Err(ProfileError::Broken(why));
    };
    session.rig().wire(&numbers);
    session.learn_ports();
    Ok(())
}

/// Numbers of the device's own ports.
fn ports_of<R: Rig>(session: &mut Session<'_, R>) -> Result<Vec<u32>, ProfileError> {
    let request = Body::MultipartRequest(MultipartRequest::new(RequestBody::PortDescription));
    let sent = session.tell(&[request]);
    let xid = sent.first().map_or(0, |(_, xid)| *xid);
    let mut ports: Vec<u32> = Vec::new();
    loop {
        let Body::MultipartReply(reply) = session.answer_next(xid)? else {
            return Err(ProfileError::Unreadable("no description of its ports".into()));
        };
        let has_more = reply.has_more();
        if let ReplyBody::PortDescription(list) = reply.body {
            ports.extend(list.iter().map(|it| it.port_no).filter(|it| *it <= PORT_MAX));
        }
        if ports.len() > PORTS_MAX {
            return Err(ProfileError::Unreadable("ports without end".into()));
        }
        if !has_more {
            return Ok(ports);
        }
    }
}
