//! The whole measurement, in its order.

use super::buffer::{Capacity, buffer_of, capacities};
use super::cells::{Design, cells_of};
use super::firmware::{Firmware, firmware};
use super::forwarding::{Cell, forwarding};
use super::masks::{Masks, masks};
use super::measured::{Measured, Room, Shape};
use super::messages::{MessageSample, messages};
use super::meters::{Meters, meters};
use super::model::{Found, is_faster_than_a_line, model_of, noisy_model_of};
use super::queues::{Queues, queues};
use super::rig::{ProfileError, Rig};
use super::session::Session;
use super::throughput::{Throughput, at_once, throughput};
use super::updates::{Update, updates};
use super::wiring::wire;
use crate::device::MessageCosts;
use tenuto_model::{Action, ControlShare, MatchType, Processor, Profile, Receive, Use};
use tenuto_openflow::Body;
use tenuto_units::Span;

/// Entries that are added at most to find how many there is room for.
const ENTRIES_MAX: u32 = 1_100;
/// A throughput is searched down to one frame in this time.
const SLOWEST: Span = Span::from_ms(10);

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
    /// How long the device is left without a controller before it is looked at.
    pub alone_for: Span,
    /// How often each change of the table is watched.
    pub updates: usize,
    /// When the measurement ends, whatever is missing; `None`: when it is done.
    pub time: Option<Span>,
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
            alone_for: Span::from_ms(50),
            updates: 3,
            time: None,
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
    let (is_exact, is_typical) = (rig.is_exact(), rig.is_typical());
    rig.progress("connecting", 0);
    let session = &mut Session::open(rig, settings.time)?;
    wire(session)?;
    session.rig().progress("room for entries", 1);
    let room = room(session)?;
    profile.entries_max = room.entries.min(profile.entries_max);
    session.rig().progress("room for frames", 5);
    let capacities = capacities(session, profile.entries_max)?;
    let tables = cells_of(settings.design, profile.entries_max.min(128), settings.seed);
    let cells = forwarding(session, &tables, capacities.as_deref(), settings.samples)?;
    let found = if is_exact {
        let at_once_ns = if is_faster_than_a_line(&cells) {
            at_once(session, profile.entries_max, varying_ns(&cells))?
        } else {
            None
        };
        model_of(&cells, at_once_ns)?
    } else {
        noisy_model_of(&cells)?
    };
    let mut notes = Vec::new();
    let wanted: usize = tables.iter().map(Vec::len).sum();
    let is_missing = |used: &Use| !cells.iter().any(|it| it.used == *used);
    let missing = tables.iter().flatten().filter(|it| is_missing(it)).copied().collect();
    if cells.len() < wanted {
        notes.push(format!("{} of {wanted} uses were not measured", wanted - cells.len()));
    }
    let mut stages = Stages { session, settings, notes, entries_max: profile.entries_max };
    let rest = stages.rest(&found)?;
    let notes = stages.notes;
    let stamps = session.rig().stamps();
    profile_of(&mut profile, settings, &found, &rest, capacities.as_deref(), is_typical);
    let shape = match profile.processor {
        Some(_) => Shape::SharedProcessor,
        None => Shape::PortByPort,
    };
    let shared = capacities.as_deref().filter(|_| found.processor.is_some());
    let is_buffer_explained = shared.and_then(buffer_of).is_none_or(|(_, is)| is);
    Ok(Measured {
        profile,
        like: settings.like.clone(),
        shape,
        room,
        missing,
        cells,
        is_buffer_explained,
        capacities,
        throughput: rest.throughput,
        masks: rest.masks,
        meters: rest.meters,
        queues: rest.queues,
        messages: rest.messages,
        message_samples: rest.message_samples,
        updates: rest.updates,
        firmware: rest.firmware,
        notes,
        stamps,
        samples: settings.samples,
        seed: settings.seed,
        residual_ns: found.residual_ns,
        above_mean: found.above_mean,
    })
}

/// What is measured behind the frames: each of it may be missing, and is told then.
#[derive(Default)]
struct Rest {
    throughput: Vec<Throughput>,
    masks: Option<Masks>,
    meters: Option<Meters>,
    queues: Option<Queues>,
    messages: Option<MessageCosts>,
    message_samples: Vec<MessageSample>,
    updates: Vec<Update>,
    firmware: Option<Firmware>,
}

struct Stages<'a, 'r, R: Rig> {
    session: &'a mut Session<'r, R>,
    settings: &'a Settings,
    notes: Vec<String>,
    entries_max: u32,
}

impl<R: Rig> Stages<'_, '_, R> {
    /// Whether there is time for it; told if not.
    fn begins(&mut self, what: &str, percent: u32) -> bool {
        let has_time = !self.session.is_out_of_time();
        if has_time {
            self.session.rig().progress(what, percent);
        } else {
            self.notes.push(format!("{what}: not measured, the time was over"));
        }
        has_time
    }

    fn rest(&mut self, found: &Found) -> Result<Rest, ProfileError> {
        let mut rest = Rest::default();
        let samples = self.settings.samples;
        let entries_max = self.entries_max;
        if self.begins("throughput", 60) {
            let processor = found.processor.as_ref();
            rest.throughput = throughput(self.session, processor, entries_max, SLOWEST)?;
        }
        if self.begins("masks", 65) {
            rest.masks = masks(self.session, entries_max, samples.min(40))?;
        }
        if self.begins("meters", 68) {
            rest.meters = Some(meters(self.session)?);
        }
        if self.begins("queues", 72) {
            rest.queues = Some(queues(self.session)?);
        }
        if self.begins("messages", 75) {
            match messages(self.session, entries_max, samples.min(40)) {
                Ok((costs, found, silent)) => {
                    (rest.messages, rest.message_samples) = (costs, found);
                    let told = silent.iter().map(|name| {
                        format!("messages: {name} takes too little to be told from a barrier alone")
                    });
                    self.notes.extend(told);
                }
                Err(ProfileError::Undetermined(what)) => {
                    self.notes.push(format!("messages: the samples do not determine {what}"));
                }
                Err(other) => return Err(other),
            }
        }
        if self.begins("changes of the table", 85) {
            rest.updates = updates(self.session, entries_max, self.settings.updates)?;
        }
        if self.begins("the firmware by itself", 92) {
            let echo = rest.message_samples.iter().find(|it| it.name == "echo");
            let echo_ns = echo.map_or(0.0, |it| it.took.mean_ns);
            let (listening, alone) = (self.settings.listening, self.settings.alone_for);
            rest.firmware = Some(firmware(self.session, echo_ns, listening, alone)?);
        }
        Ok(rest)
    }
}

/// What a plan reads.
fn profile_of(
    profile: &mut Profile,
    settings: &Settings,
    found: &Found,
    rest: &Rest,
    capacities: Option<&[Capacity]>,
    is_typical: bool,
) {
    settings.name.clone_into(&mut profile.name);
    (profile.latency_ns_min, profile.latency_ns_max) = found.latency_ns;
    let shared = capacities.filter(|_| found.processor.is_some());
    profile.receive_buffer = shared.and_then(buffer_of).map(|(buffer, _)| buffer);
    let own = rest.firmware.as_ref().and_then(|it| it.own_work);
    let control = own.map_or(ControlShare::NONE, |own| ControlShare {
        time_ps: own.time_ps,
        period_ps: own.period_ps,
    });
    // Whose turn it is, is not measured.
    let receive = profile.processor.as_ref().map_or(Receive::Fifo, |it| it.receive);
    profile.processor = found.processor.as_ref().map(|it| {
        let receive = if it.link.is_some() { Receive::Fifo } else { receive };
        Processor { control, is_typical, receive, ..it.clone() }
    });
    profile.is_typical = is_typical && profile.processor.is_none();
}

/// By how much traversals of one use differ at most, nanoseconds.
fn varying_ns(cells: &[Cell]) -> f64 {
    cells.iter().map(|it| it.traversal.most_ns - it.traversal.least_ns).fold(0.0, f64::max)
}

/// Entries that there is room for, up to a limit.
fn room<R: Rig>(session: &mut Session<'_, R>) -> Result<Room, ProfileError> {
    session.clear()?;
    let scene = session.scene(Use::worst(MatchType::TpDst, Action::Output, ENTRIES_MAX, 64));
    for place in 0..ENTRIES_MAX {
        session.tell(&[Body::FlowMod(scene.entry(place))]);
        match session.settle() {
            Ok(()) => {}
            Err(ProfileError::Refused(_)) => {
                session.wait(Span::from_ms(50))?;
                session.clear()?;
                return Ok(Room { entries: place.max(1), is_limit: true });
            }
            Err(other) => return Err(other),
        }
    }
    session.clear()?;
    Ok(Room { entries: ENTRIES_MAX, is_limit: false })
}
