//! Processing of control messages (\[Loko\] section 3.2).

use super::fit::least_squares;
use super::rig::{ProfileError, Rig};
use super::scene::Scene;
use super::session::Session;
use super::summary::Summary;
use crate::device::MessageCosts;
use tenuto_model::{Action as Change, MatchType, Use};
use tenuto_openflow::{
    Action, Body, FlowMod, FlowModCommand, FlowStatsRequest, Instruction, Match, Message,
    MultipartRequest, Oxm, RequestBody,
};
use tenuto_units::{Instant, Span};

/// Of n samples, a later draw of a uniform spread lies above the largest one by more than this part of their range,
/// divided by n, once in 400 times.
const GUARD: f64 = 6.0;
const ACTIONS: [usize; 3] = [0, 1, 4];
const TABLES: [u32; 3] = [1, 33, 100];

/// What one kind of message took with a table.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageSample {
    /// Which.
    pub name: &'static str,
    /// Entries in the table.
    pub entries: u32,
    /// Actions of the message.
    pub actions: usize,
    /// Entries that it found.
    pub found: u32,
    /// What it took.
    pub took: Summary,
    /// Samples for which the barrier came too late to tell (Eq. 3).
    pub invalid: usize,
}

impl MessageSample {
    fn without_tails(&self) -> Self {
        Self { took: self.took.without_tails(), ..self.clone() }
    }

    /// The most, and what a later draw may lie above.
    fn most_ns(&self) -> f64 {
        let guard = GUARD / self.took.count.max(1) as f64;
        (self.took.most_ns - self.took.least_ns).mul_add(guard.min(1.0), self.took.most_ns)
    }
}

/// Costs if any were found, their samples, and the kinds of messages that have none.
pub(super) type MessagesFound = (Option<MessageCosts>, Vec<MessageSample>, Vec<&'static str>);

/// Measures every kind of message over tables of several sizes, and gives the costs that cover them: none if some kind has
/// no sample that says anything (Eq. 3), and which kinds have none.
///
/// # Errors
/// If the device does not answer, or refuses what every OpenFlow 1.3 switch does.
pub fn messages<R: Rig>(
    session: &mut Session<'_, R>,
    entries_max: u32,
    samples: usize,
) -> Result<MessagesFound, ProfileError> {
    session.clear()?;
    let mut found = vec![
        with_reply(session, "echo", 0, &Body::EchoRequest(Vec::new()), samples)?,
        with_reply(session, "barrier", 0, &Body::BarrierRequest, samples)?,
        with_reply(session, "features", 0, &Body::FeaturesRequest, samples)?,
    ];
    let barrier_ns = found[1].took.least_ns;
    let mut silent = Vec::new();
    let mut take = |found: &mut Vec<MessageSample>, sample: Result<MessageSample, ProfileError>| {
        match sample {
            Ok(sample) => found.push(sample),
            Err(ProfileError::Undetermined(name)) => silent.push(name),
            Err(other) => return Err(other),
        }
        Ok(())
    };
    for actions in ACTIONS {
        take(&mut found, additions(session, actions, barrier_ns, samples))?;
    }
    for entries in TABLES {
        let entries = entries.min(entries_max.saturating_sub(2).max(1));
        let used = Use::worst(MatchType::TpDst, Change::Output, entries, 64);
        let scene = session.scene(used);
        session.install(&scene)?;
        let all =
            Body::MultipartRequest(MultipartRequest::new(RequestBody::Flow(FlowStatsRequest::ALL)));
        found.push(with_reply(session, "statistics", entries, &all, samples)?);
        for change in Changes::ALL {
            take(&mut found, changes(session, &scene, change, barrier_ns, samples))?;
        }
    }
    silent.dedup();
    let judged = match session.rig().is_exact() {
        true => found.clone(),
        false => found.iter().map(MessageSample::without_tails).collect(),
    };
    let costs = if silent.is_empty() { Some(costs_of(&judged)?) } else { None };
    Ok((costs, found, silent))
}

fn with_reply<R: Rig>(
    session: &mut Session<'_, R>,
    name: &'static str,
    entries: u32,
    body: &Body,
    samples: usize,
) -> Result<MessageSample, ProfileError> {
    let outside = request_ns(session, body) + preamble_ns(session);
    let mut took = Vec::new();
    for _ in 0..samples {
        let (asked, answered) = session.ask(body.clone(), name)?;
        took.push(answered.since(asked).as_ns() as f64 - outside);
        session.wait(Span::from_us(500))?;
    }
    let took = Summary::of(&took).ok_or(ProfileError::Undetermined(name))?;
    Ok(MessageSample { name, entries, actions: 0, found: 0, took, invalid: 0 })
}

/// Eq. 1's t_req of a message, nanoseconds.
fn request_ns<R: Rig>(session: &mut Session<'_, R>, body: &Body) -> f64 {
    let bytes = Message::new(0, body.clone()).to_bytes().len();
    session.rig().control_outside_ns(bytes).0 as f64
}

fn preamble_ns<R: Rig>(session: &mut Session<'_, R>) -> f64 {
    session.rig().control_outside_ns(0).1 as f64
}

/// One message without reply, a barrier directly behind it: what it took by Eq. 2; `None` where Eq. 3 does not hold.
fn without_reply<R: Rig>(
    session: &mut Session<'_, R>,
    body: &Body,
    barrier_ns: f64,
) -> Result<Option<f64>, ProfileError> {
    let preamble = preamble_ns(session);
    let request = request_ns(session, body);
    let barrier_request = request_ns(session, &Body::BarrierRequest);
    let sent: Vec<(Instant, u32)> = session.tell(&[body.clone(), Body::BarrierRequest]);
    let [(first, _), (second, xid)] = sent[..] else { return Ok(None) };
    let (answered, _) = session.answer(xid, "to a barrier behind a message")?;
    let to_second = second.since(first).as_ns() as f64;
    let to_answer = answered.since(first).as_ns() as f64;
    let is_valid = to_second + barrier_request < to_answer - barrier_ns - preamble;
    session.wait(Span::from_us(500))?;
    Ok(is_valid.then_some(to_answer - request - barrier_ns - preamble))
}

fn sample_of(
    name: &'static str,
    (entries, actions, found): (u32, usize, u32),
    took: &[Option<f64>],
) -> Result<MessageSample, ProfileError> {
    let valid: Vec<f64> = took.iter().copied().flatten().collect();
    let invalid = took.len() - valid.len();
    let took = Summary::of(&valid).ok_or(ProfileError::Undetermined(name))?;
    Ok(MessageSample { name, entries, actions, found, took, invalid })
}

fn additions<R: Rig>(
    session: &mut Session<'_, R>,
    actions: usize,
    barrier_ns: f64,
    samples: usize,
) -> Result<MessageSample, ProfileError> {
    let list = vec![Action::Output { port: session.port(1), max_len: 0 }; actions];
    let mut took = Vec::new();
    for nth in 0..samples {
        if nth % 16 == 0 {
            session.clear()?;
        }
        let used = Use::worst(MatchType::TpDst, Change::Output, 17, 64);
        let place = u32::try_from(nth % 16).unwrap_or(0);
        let instructions = vec![Instruction::ApplyActions(list.clone())];
        let entry = FlowMod { instructions, ..session.scene(used).entry(place) };
        took.push(without_reply(session, &Body::FlowMod(entry), barrier_ns)?);
    }
    sample_of("add", (0, actions, 0), &took)
}

/// A command that modifies or deletes, and what it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changes {
    ModifyAll,
    ModifyNone,
    ModifyOneStrictly,
    ModifyNoneStrictly,
    DeleteNone,
    DeleteNoneStrictly,
    DeleteOneStrictly,
    /// Last, since it leaves nothing.
    DeleteAll,
}

impl Changes {
    const ALL: [Self; 8] = [
        Self::ModifyAll,
        Self::ModifyNone,
        Self::ModifyOneStrictly,
        Self::ModifyNoneStrictly,
        Self::DeleteNone,
        Self::DeleteNoneStrictly,
        Self::DeleteOneStrictly,
        Self::DeleteAll,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::ModifyAll => "modify-all",
            Self::ModifyNone => "modify-none",
            Self::ModifyOneStrictly => "modify-one-strict",
            Self::ModifyNoneStrictly => "modify-none-strict",
            Self::DeleteNone => "delete-none",
            Self::DeleteNoneStrictly => "delete-none-strict",
            Self::DeleteOneStrictly => "delete-one-strict",
            Self::DeleteAll => "delete-all",
        }
    }

    const fn command(self) -> FlowModCommand {
        match self {
            Self::ModifyAll | Self::ModifyNone => FlowModCommand::Modify,
            Self::ModifyOneStrictly | Self::ModifyNoneStrictly => FlowModCommand::ModifyStrict,
            Self::DeleteNone | Self::DeleteAll => FlowModCommand::Delete,
            Self::DeleteNoneStrictly | Self::DeleteOneStrictly => FlowModCommand::DeleteStrict,
        }
    }

    const fn found(self, entries: u32) -> u32 {
        match self {
            Self::ModifyAll | Self::DeleteAll => entries,
            Self::ModifyOneStrictly | Self::DeleteOneStrictly => 1,
            _ => 0,
        }
    }

    fn message(self, scene: &Scene) -> FlowMod {
        let last = scene.entry(scene.used.entries.saturating_sub(1));
        let match_ = match self {
            Self::ModifyAll | Self::DeleteAll => Match::ANY,
            Self::ModifyOneStrictly | Self::DeleteOneStrictly => last.match_.clone(),
            _ => Match::from(vec![Oxm::EthDst { value: [2, 9, 9, 9, 9, 9], mask: None }]),
        };
        let is_delete =
            matches!(self.command(), FlowModCommand::Delete | FlowModCommand::DeleteStrict);
        let instructions = if is_delete { Vec::new() } else { last.instructions.clone() };
        FlowMod { command: self.command(), match_, instructions, ..last }
    }
}

fn changes<R: Rig>(
    session: &mut Session<'_, R>,
    scene: &Scene,
    change: Changes,
    barrier_ns: f64,
    samples: usize,
) -> Result<MessageSample, ProfileError> {
    let entries = scene.used.entries;
    let body = Body::FlowMod(change.message(scene));
    let mut took = Vec::new();
    for _ in 0..samples.min(12) {
        match change {
            Changes::DeleteAll => session.install(scene)?,
            Changes::DeleteOneStrictly => {
                session.tell(&[Body::FlowMod(scene.entry(entries.saturating_sub(1)))]);
                session.settle()?;
            }
            _ => {}
        }
        took.push(without_reply(session, &body, barrier_ns)?);
    }
    let actions = usize::from(change == Changes::ModifyAll || change == Changes::ModifyOneStrictly);
    sample_of(change.name(), (entries, actions, change.found(entries)), &took)
}

/// Costs that cover every sample: a line through the maxima of each kind, lifted above the one that lies highest.
fn costs_of(found: &[MessageSample]) -> Result<MessageCosts, ProfileError> {
    let one = |name: &str| {
        let rows = found.iter().filter(|it| it.name == name);
        ps_up(rows.map(MessageSample::most_ns).fold(0.0, f64::max))
    };
    let (add_ps, action_ps) = line(found, &["add"], |it| it.actions as f64)?;
    let action_ns = action_ps as f64 / 1e3;
    let (loose_ps, loose_entry_ps) = line(found, &["modify-none", "delete-none"], by_entries)?;
    let (strict_ps, strict_entry_ps) =
        line(found, &["modify-none-strict", "delete-none-strict"], by_entries)?;
    let change_ps = loose_ps.max(strict_ps);
    let (statistics_ps, statistics_entry_ps) = line(found, &["statistics"], by_entries)?;
    // What is found costs what the line above leaves of it.
    let each = |name: &str, entry_ps: u64, action_ns: f64| {
        let rows = found.iter().filter(|it| it.name == name && it.found > 0);
        let rest = rows.map(|it| {
            let compared = (change_ps as f64 + entry_ps as f64 * f64::from(it.entries)) / 1e3;
            (it.most_ns() - compared) / f64::from(it.found) - action_ns
        });
        rest.fold(0.0, f64::max)
    };
    let deleted = each("delete-all", loose_entry_ps, 0.0).max(each(
        "delete-one-strict",
        strict_entry_ps,
        0.0,
    ));
    let modified = each("modify-all", loose_entry_ps, action_ns).max(each(
        "modify-one-strict",
        strict_entry_ps,
        action_ns,
    ));
    Ok(MessageCosts {
        echo_ps: one("echo"),
        barrier_ps: one("barrier"),
        other_ps: one("features"),
        packet_out_ps: 0,
        packet_in_ps: 0,
        add_ps,
        action_ps,
        change_ps,
        strict_entry_ps,
        loose_entry_ps,
        modified_ps: ps_up(modified),
        deleted_ps: ps_up(deleted),
        statistics_ps,
        statistics_entry_ps,
    })
}

fn by_entries(it: &MessageSample) -> f64 {
    f64::from(it.entries)
}

/// Base and slope, picoseconds, of a line above the maxima of samples.
fn line(
    found: &[MessageSample],
    names: &[&'static str],
    of: impl Fn(&MessageSample) -> f64,
) -> Result<(u64, u64), ProfileError> {
    let rows: Vec<&MessageSample> = found.iter().filter(|it| names.contains(&it.name)).collect();
    let x: Vec<Vec<f64>> = rows.iter().map(|it| vec![1.0, of(it)]).collect();
    let y: Vec<f64> = rows.iter().map(|it| it.most_ns()).collect();
    let fit = least_squares(&x, &y).ok_or(ProfileError::Undetermined("costs of messages"))?;
    let slope = fit[1].max(0.0);
    let base = x.iter().zip(&y).map(|(x, y)| y - slope * x[1]).fold(0.0, f64::max);
    Ok((ps_up(base), ps_up(slope)))
}

/// Nanoseconds as whole picoseconds, up.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a cost is finite and not negative
pub(super) fn ps_up(ns: f64) -> u64 {
    (ns.max(0.0) * 1e3).ceil() as u64
}
