//! The whole measurement, in its order.

use super::buffer::{buffer_of, capacities};
use super::cells::{Design, cells_of};
use super::firmware::firmware;
use super::forwarding::{Cell, forwarding};
use super::measured::{Measured, Shape};
use super::messages::messages;
use super::model::{is_faster_than_a_line, model_of};
use super::rig::{ProfileError, Rig};
use super::scene::Scene;
use super::session::Session;
use super::throughput::at_once;
use tenuto_model::{Action, ControlShare, MatchType, Processor, Profile, Receive, Use};
use tenuto_openflow::Body;
use tenuto_units::Span;

/// Entries that are added at most to find how many there is room for.
const ENTRIES_MAX: u32 = 1_100;

/// What is measured, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Name of the profile.
    pub name: String,
    /// Where the rest of it is taken from: a built-in profile.
    pub like: String,
    /// How much of Table 1.
    pub design: Design,
    /// Samples of each use; \[Loko\] takes 100.
    pub samples: usize,
    /// Order of the samples.
    pub seed: u64,
    /// How long the firmware's own work is listened for.
    pub listening: Span,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "measured".into(),
            like: "ideal".into(),
            design: Design::Spare,
            samples: 40,
            seed: 1,
            listening: Span::from_s(5),
        }
    }
}

/// Measures a device.
///
/// # Errors
/// If it does not answer, refuses, or its samples determine nothing.
pub fn profile<R: Rig>(rig: &mut R, settings: &Settings) -> Result<Measured, ProfileError> {
    let mut profile = Profile::built_in(&settings.like)
        .ok_or(ProfileError::Undetermined("the built-in profile that it is like"))?;
    let stamps = rig.stamps();
    let session = &mut Session::open(rig)?;
    profile.entries_max = room(session)?.min(profile.entries_max);
    let capacities = capacities(session, profile.entries_max)?;
    let tables = cells_of(settings.design, profile.entries_max.min(128), settings.seed);
    let cells = forwarding(session, &tables, capacities.as_deref(), settings.samples)?;
    let at_once_ns = if is_faster_than_a_line(&cells) {
        at_once(session, profile.entries_max, varying_ns(&cells))?
    } else {
        None
    };
    let found = model_of(&cells, at_once_ns)?;
    let (messages, message_samples) =
        messages(session, profile.entries_max, settings.samples.min(40))?;
    let echo = message_samples.iter().find(|it| it.name == "echo").map(|it| it.took.mean_ns);
    let firmware = firmware(session, echo.unwrap_or(0.0), settings.listening)?;
    settings.name.clone_into(&mut profile.name);
    (profile.latency_ns_min, profile.latency_ns_max) = found.latency_ns;
    let shared = capacities.as_deref().filter(|_| found.processor.is_some());
    let buffer = shared.and_then(buffer_of);
    profile.receive_buffer = buffer.map(|(buffer, _)| buffer);
    let own = firmware.own_work.map_or(ControlShare::NONE, |own| ControlShare {
        time_ps: own.time_ps,
        period_ps: own.period_ps,
    });
    let is_typical = !stamps.is_exact;
    // Whose turn it is, is not measured.
    let receive = profile.processor.as_ref().map_or(Receive::Fifo, |it| it.receive);
    profile.processor = found.processor.map(|it| {
        let receive = if it.link.is_some() { Receive::Fifo } else { receive };
        Processor { control: own, is_typical, receive, ..it }
    });
    let shape = match profile.processor {
        Some(_) => Shape::SharedProcessor,
        None => Shape::PortByPort,
    };
    Ok(Measured {
        profile,
        like: settings.like.clone(),
        shape,
        cells,
        is_buffer_explained: buffer.is_none_or(|(_, is_explained)| is_explained),
        capacities,
        messages,
        message_samples,
        firmware,
        stamps,
        samples: settings.samples,
        seed: settings.seed,
        residual_ns: found.residual_ns,
        above_mean: found.above_mean,
    })
}

/// By how much traversals of one use differ at most, nanoseconds.
fn varying_ns(cells: &[Cell]) -> f64 {
    cells.iter().map(|it| it.traversal.most_ns - it.traversal.least_ns).fold(0.0, f64::max)
}

/// Entries that there is room for, up to a limit.
fn room<R: Rig>(session: &mut Session<'_, R>) -> Result<u32, ProfileError> {
    session.clear()?;
    let scene = Scene::new(Use::worst(MatchType::TpDst, Action::Output, ENTRIES_MAX, 64));
    for place in 0..ENTRIES_MAX {
        session.tell(&[Body::FlowMod(scene.entry(place))]);
        match session.settle() {
            Ok(()) => {}
            Err(ProfileError::Refused(_)) => {
                session.wait(Span::from_ms(50))?;
                session.clear()?;
                return Ok(place.max(1));
            }
            Err(other) => return Err(other),
        }
    }
    session.clear()?;
    Ok(ENTRIES_MAX)
}
