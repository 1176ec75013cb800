//! When a change of the table is in effect, by the answer to a barrier and by frames on the data path.

use super::rig::{ProfileError, Rig};
use super::scene::Scene;
use super::session::{Exchange, Session};
use serde::Serialize;
use tenuto_model::{Action, MatchType, Use};
use tenuto_openflow::{Body, FlowMod, FlowModCommand};
use tenuto_units::{Instant, Span};

/// Entries of the table.
const ENTRIES: u32 = 17;
/// Frames before the change.
const BEFORE: u64 = 10;
/// Frames are sent this often at most.
const STEP_MIN: Span = Span::from_us(200);
/// Whoever has not begun to forward by then, never does.
const PATIENCE: Span = Span::from_s(2);
/// Frames that are handed to the rig at once.
const CHUNK: u64 = 25;

/// A change of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// An entry that forwards comes above one that does not.
    Add,
    /// An entry that forwards nothing forwards.
    Modify,
    /// An entry that forwards nothing goes, and the one below it forwards.
    Delete,
}

impl Change {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Add, Self::Modify, Self::Delete];

    /// How files name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Modify => "modify",
            Self::Delete => "delete",
        }
    }
}

/// One change, watched from both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Update {
    /// What changed.
    pub change: Change,
    /// From telling it to the answer of the barrier directly behind it, nanoseconds.
    pub answered_ns: u64,
    /// From telling it to the first frame, by the time at which it was sent, that met it; `None`: none did within 2 s.
    pub effect_ns: Option<u64>,
    /// From one frame to the next: what `effect_ns` is exact to, nanoseconds.
    pub step_ns: u64,
    /// Frames that were sent after the answer, and before any met the change.
    pub missed: u64,
}

impl Update {
    /// From the answer to the first frame that met it, nanoseconds; negative: it was in effect before.
    pub fn gap_ns(&self) -> Option<i64> {
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        self.effect_ns.map(|effect| signed(effect).saturating_sub(signed(self.answered_ns)))
    }

    /// Whether the answer promised no more than was in effect.
    pub const fn is_true(&self) -> bool {
        self.effect_ns.is_some() && self.missed == 0
    }
}

/// Makes every change so many times.
///
/// # Errors
/// If the device does not do what it is told.
pub fn updates<R: Rig>(
    session: &mut Session<'_, R>,
    entries_max: u32,
    rounds: usize,
) -> Result<Vec<Update>, ProfileError> {
    let entries = ENTRIES.min(entries_max.saturating_sub(1)).max(1);
    let scene = session.scene(Use::worst(MatchType::FiveTuple, Action::Output, entries, 64));
    let step = pace(session, &scene)?;
    let mut found = Vec::new();
    for _ in 0..rounds {
        for change in Change::ALL {
            if session.is_out_of_time() {
                return Ok(found);
            }
            found.push(update(session, &scene, change, step)?);
        }
    }
    Ok(found)
}

/// As often as the device serves a frame alone, twice over.
fn pace<R: Rig>(session: &mut Session<'_, R>, scene: &Scene) -> Result<Span, ProfileError> {
    session.install(scene)?;
    let mut most = Span::from_ns(0);
    for _ in 0..5 {
        session.send(scene.port_in, &scene.frame());
        let seen = session.frames(1, Span::from_ms(100))?;
        let took = seen.passed.first().map_or(0, |it| it.at.since(it.sent).as_ns());
        most = most.max(Span::from_ns(took));
    }
    Ok(most.times(2).clamp(STEP_MIN, Span::from_ms(20)))
}

fn update<R: Rig>(
    session: &mut Session<'_, R>,
    scene: &Scene,
    change: Change,
    step: Span,
) -> Result<Update, ProfileError> {
    let place = scene.used.entries.saturating_sub(1);
    let forwards = scene.entry(place);
    let above = FlowMod { priority: forwards.priority + 1, ..forwards.clone() };
    let silent = |it: &FlowMod| FlowMod { instructions: Vec::new(), ..it.clone() };
    session.install(scene)?;
    let as_strict = |it: FlowMod, command| FlowMod { command, ..it };
    let told = match change {
        Change::Add => {
            let old = as_strict(silent(&forwards), FlowModCommand::ModifyStrict);
            session.tell(&[Body::FlowMod(old)]);
            above
        }
        Change::Modify => {
            session.tell(&[Body::FlowMod(silent(&above))]);
            as_strict(above, FlowModCommand::ModifyStrict)
        }
        Change::Delete => {
            session.tell(&[Body::FlowMod(silent(&above))]);
            as_strict(silent(&above), FlowModCommand::DeleteStrict)
        }
    };
    session.settle()?;
    // A device that answers too soon is not yet to be blamed for what was told before.
    session.wait(step.times(BEFORE).max(Span::from_ms(5)))?;
    watched(session, scene, (change, told), step)
}

/// Streams frames, and tells the change among them.
fn watched<R: Rig>(
    session: &mut Session<'_, R>,
    scene: &Scene,
    (change, told): (Change, FlowMod),
    step: Span,
) -> Result<Update, ProfileError> {
    session.begin();
    let frame = scene.frame();
    let start = session.rig().now();
    let mut next = start;
    let mut stream = |session: &mut Session<'_, R>, count: u64| {
        for _ in 0..count {
            session.send_at(next, scene.port_in, &frame);
            next += step;
        }
    };
    stream(session, BEFORE + CHUNK);
    session.wait(step.times(BEFORE) + Span::from_ns(step.as_ns() / 7))?;
    let sent = session.tell(&[Body::FlowMod(told), Body::BarrierRequest]);
    let [(at, _), (_, xid)] = sent[..] else { return Err(ProfileError::Silent("to a change")) };
    let (answered, _) = session.answer(xid, "to a barrier behind a change")?;
    let end = answered + PATIENCE;
    // Until a frame that was sent after the answer has come through, or none ever does.
    while session.rig().now() < end && !session.has_passed_since(answered) {
        stream(session, CHUNK);
        session.wait(step.times(CHUNK))?;
    }
    let seen = session.frames(usize::MAX, Span::from_ms(20))?;
    Ok(judged(change, &seen, (at, answered), step))
}

fn judged(
    change: Change,
    seen: &Exchange,
    (at, answered): (Instant, Instant),
    step: Span,
) -> Update {
    let met = seen.passed.iter().map(|it| it.number).min();
    let sent_at = |number: u32| seen.sent.iter().find(|(it, _)| *it == number).map(|(_, at)| *at);
    let first = met.and_then(sent_at);
    let missed = seen
        .sent
        .iter()
        .filter(|(number, sent)| *sent > answered && met.is_none_or(|met| *number < met));
    Update {
        change,
        answered_ns: answered.since(at).as_ns(),
        effect_ns: first.map(|first| first.since(at).as_ns()),
        step_ns: step.as_ns(),
        missed: missed.count() as u64,
    }
}
