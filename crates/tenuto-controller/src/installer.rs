//! Brings one switch to what is wanted, and proves it by reading back.
//!
//! ```text
//!  start ─► survey ─ equal to what is wanted ─────────────────────────► installed (adopted)
//!             │ anything else
//!             ▼
//!           clear ─► meters, groups, monitors, settings ─► entries ─► read back ─► installed
//!                                                              ▲           │ differs, refused
//!  update ── the differences only, in steps ───────────────────┘           ▼
//!                                                                        failed
//! ```
//!
//! By [`Approach::Change`] nothing is cleared: what was found is changed by its differences, so that what
//! both have forwards on. An audit is a survey of an installed switch.
//!
//! A barrier stands behind every step, and within a step behind [`InstallLimits::unconfirmed_max`]
//! commands. The survey keeps a switch that only lost its control channel forwarding: clearing it
//! would break accepted flows. Clearing may be refused in part (no meter table, nothing there);
//! whether it was enough is judged by the read-back. Refusals of everything else fail the
//! installation, after the barrier, so that all of them are told.

use crate::compile::ours;
use crate::difference::{Difference, command_name, differences};
use crate::outcome::{
    InstallEvent, InstallFailure, InstallKind, error_name, is_unknown_experimenter,
};
use crate::read_back::{ReadBack, ReadError};
use crate::renamed::monitor_of;
use crate::session::{Refusal, Session};
use crate::tables::{SwitchTables, delete_monitor};
use crate::target::Target;
use std::collections::VecDeque;
use tenuto_openflow::constants::{group, meter, table};
use tenuto_openflow::{
    Body, Experimenter, FlowMod, FlowModCommand, GroupMod, GroupModCommand, GroupType, Message,
    MeterMod, MeterModCommand, ModeStatus, ModesMessage,
};
use tenuto_units::{Instant, Span};

/// Refusals told one by one; further ones are only counted.
const REFUSALS_TOLD_MAX: usize = 256;

/// How a switch that holds something else is brought to what is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Approach {
    /// It is cleared first: nothing is trusted that was there.
    #[default]
    Clear,
    /// The differences alone are changed, new before old: flows that both have are forwarded at every
    /// moment. Ids of meters and groups are those that the switch has them under.
    Change,
}

/// Limits of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InstallLimits {
    /// Messages sent per turn: with `turn` the control envelope that the plan charges the switch's
    /// processor with.
    pub messages_per_turn: usize,
    /// Least time between turns.
    pub turn: Span,
    /// Commands sent ahead of a barrier reply.
    pub unconfirmed_max: usize,
    /// Time for the answer to a barrier or a part of a reading.
    pub reply_timeout: Span,
    /// Entries, groups, meters, monitors and messages that a reading may take.
    pub items_max: usize,
    /// What is done with a switch that holds something else.
    pub approach: Approach,
}

impl Default for InstallLimits {
    fn default() -> Self {
        Self {
            messages_per_turn: 64,
            turn: Span::from_ms(10),
            unconfirmed_max: 256,
            reply_timeout: Span::from_s(10),
            items_max: 1 << 20,
            approach: Approach::Clear,
        }
    }
}

/// The timers of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstallTimer {
    /// The next turn may send.
    Turn,
    /// The switch did not answer in time.
    Reply,
}

/// A list of commands with a barrier behind it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Step {
    /// Refusals are no failure.
    is_lenient: bool,
    commands: VecDeque<Body>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Surveying(Box<ReadBack>),
    Commanding {
        kind: InstallKind,
        steps: VecDeque<Step>,
        /// Commands sent since the last barrier.
        unconfirmed: usize,
        barrier: Option<u32>,
    },
    Verifying(InstallKind, Box<ReadBack>),
    Installed,
    Failed,
}

/// Desired against confirmed state of one switch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Installer {
    limits: InstallLimits,
    target: Target,
    phase: Phase,
    events: VecDeque<InstallEvent>,
    refusals: usize,
    turn_ends: Instant,
    turn_sent: usize,
    waits_for_turn: bool,
    reply_by: Option<Instant>,
    /// What the switch has besides stays there for now.
    keeps_old: bool,
    /// The survey under way is of an installed switch.
    is_audit: bool,
    /// The contracts of monitors were said in this session: no switch tells them.
    knows_monitors: bool,
}

impl Installer {
    /// An installer that has nothing to do yet.
    pub(crate) const fn new(target: Target, limits: InstallLimits) -> Self {
        Self {
            limits,
            target,
            phase: Phase::Idle,
            events: VecDeque::new(),
            refusals: 0,
            turn_ends: Instant::ZERO,
            turn_sent: 0,
            waits_for_turn: false,
            reply_by: None,
            keeps_old: false,
            is_audit: false,
            knows_monitors: false,
        }
    }

    /// Begins on a switch of which nothing is known.
    pub(crate) fn start(&mut self) {
        self.refusals = 0;
        self.reply_by = None;
        (self.is_audit, self.knows_monitors) = (false, false);
        match self.target.clashes() {
            0 => self.phase = Phase::Surveying(Box::new(self.reading())),
            clashes => self.fail(InstallFailure::Ambiguous { clashes }),
        }
    }

    /// Wants something else. On an installed switch only the differences are sent, and the result
    /// is the same as that of a fresh installation; in any other state all begins anew.
    pub(crate) fn update(&mut self, target: Target) {
        let old = std::mem::replace(&mut self.target, target);
        match self.phase {
            Phase::Idle => {}
            Phase::Installed if self.target.clashes() == 0 => {
                if self.limits.approach == Approach::Change {
                    self.target.tables = self.target.tables.renamed(&old.tables);
                }
                self.command(InstallKind::Updated, steps(&old.tables, &self.target.tables));
            }
            _ => self.start(),
        }
    }

    /// Wants something else, by differences; with `keeps_old` what the switch has besides stays until the next
    /// call. What it has already is not read again.
    pub(crate) fn change_to(&mut self, target: Target, keeps_old: bool) {
        let is_audit = self.is_audit && matches!(self.phase, Phase::Surveying(_));
        let is_known = self.phase == Phase::Installed || is_audit;
        let old = std::mem::replace(&mut self.target, target);
        self.keeps_old = keeps_old;
        if !is_known || self.target.clashes() > 0 {
            return self.start();
        }
        (self.is_audit, self.reply_by) = (false, None);
        self.take_over(&old.tables);
        let steps = steps(&old.tables, &self.target.tables);
        if steps.is_empty() {
            return self.installed(InstallKind::Updated, None);
        }
        self.command(InstallKind::Updated, steps);
    }

    /// What is wanted under the ids that the switch has, and with what stays there for now.
    fn take_over(&mut self, held: &SwitchTables) {
        self.target.tables = self.target.tables.renamed(held);
        if self.keeps_old {
            self.target.tables = std::mem::take(&mut self.target.tables).with(held);
        }
    }

    /// The flow that a monitor watches, by the id that the switch has it under.
    pub(crate) fn flow_of_monitor(&self, id: u32) -> Option<&str> {
        let mut entries = self.target.tables.entries.values();
        let entry = entries.find(|it| monitor_of(&it.instructions) == Some(id))?;
        self.target.names.get(&entry.cookie).map(String::as_str)
    }

    /// Looks again at what the switch holds, if it is installed; begins anew if that had failed.
    pub(crate) fn audit(&mut self) {
        match self.phase {
            Phase::Installed => {
                self.refusals = 0;
                self.is_audit = true;
                self.phase = Phase::Surveying(Box::new(self.reading()));
            }
            Phase::Failed => self.start(),
            _ => {}
        }
    }

    /// Sends what may be sent now.
    pub(crate) fn advance(&mut self, now: Instant, session: &mut Session) {
        while self.advance_once(now, session) {}
    }

    /// Takes a message if it is an answer to this installation, or gives it back.
    pub(crate) fn on_message(&mut self, now: Instant, message: Message) -> Option<Message> {
        if let Phase::Commanding { barrier, .. } = &self.phase
            && message.body == Body::BarrierReply
            && *barrier == Some(message.xid)
        {
            self.confirm();
            return None;
        }
        let (Phase::Surveying(read) | Phase::Verifying(_, read)) = &mut self.phase else {
            return Some(message);
        };
        if !read.waits_for(message.xid) {
            return Some(message);
        }
        match read.take(message.body) {
            Ok(()) => self.reply_by = Some(now + self.limits.reply_timeout),
            Err(ReadError::WrongKind) => self.fail(InstallFailure::WrongReply),
            Err(ReadError::TooMany) => self.fail(InstallFailure::TooMany),
        }
        None
    }

    /// Takes a refusal; `false` if it is not about this installation.
    pub(crate) fn on_refused(&mut self, refusal: &Refusal) -> bool {
        let lacks_modes = self.target.needs_modes()
            && is_unknown_experimenter(&refusal.error)
            && asks_for_modes(refusal);
        match &mut self.phase {
            Phase::Surveying(read) | Phase::Verifying(_, read) if read.waits_for(refusal.xid) => {
                if lacks_modes {
                    self.fail(InstallFailure::ModesUnsupported);
                } else {
                    read.refuse();
                }
                true
            }
            Phase::Commanding { steps, barrier, .. } if is_of_installation(refusal, *barrier) => {
                let is_lenient = steps.front().is_some_and(|step| step.is_lenient);
                if lacks_modes {
                    self.fail(InstallFailure::ModesUnsupported);
                } else if !is_lenient {
                    self.note_refusal(refusal);
                }
                true
            }
            _ => false,
        }
    }

    /// Names every running timer and when it is due.
    pub(crate) fn for_each_deadline(&self, mut visit: impl FnMut(InstallTimer, Instant)) {
        if self.waits_for_turn {
            visit(InstallTimer::Turn, self.turn_ends);
        }
        if let Some(at) = self.reply_by {
            visit(InstallTimer::Reply, at);
        }
    }

    /// A timer is due; [`Installer::advance`] is to follow.
    pub(crate) fn fire(&mut self, timer: InstallTimer, now: Instant) {
        match timer {
            InstallTimer::Turn => self.begin_turn(now),
            InstallTimer::Reply => {
                let to = match &self.phase {
                    Phase::Surveying(_) => "reading what the switch holds",
                    Phase::Verifying(..) => "reading back what was installed",
                    _ => "barrier",
                };
                self.fail(InstallFailure::NoReply { to: to.into() });
            }
        }
    }

    /// The next thing that happened.
    pub(crate) fn next_event(&mut self) -> Option<InstallEvent> {
        self.events.pop_front()
    }

    /// A command by the name under which this installation tells of it.
    pub(crate) fn name_of(&self, command: &Body) -> String {
        command_name(command, &self.target.names)
    }

    fn reading(&self) -> ReadBack {
        ReadBack::new(self.target.levels, self.limits.items_max)
    }

    /// One message or change of phase; `false` when there is nothing to do but wait.
    fn advance_once(&mut self, now: Instant, session: &mut Session) -> bool {
        match &self.phase {
            Phase::Idle | Phase::Installed | Phase::Failed => false,
            Phase::Surveying(read) | Phase::Verifying(_, read) if read.is_done() => {
                self.judge();
                true
            }
            Phase::Surveying(read) | Phase::Verifying(_, read) => {
                let Some(request) = read.next_request().cloned() else { return false };
                let Some(xid) = self.send(now, session, request) else { return false };
                if let Phase::Surveying(read) | Phase::Verifying(_, read) = &mut self.phase {
                    read.sent(xid);
                }
                self.reply_by = Some(now + self.limits.reply_timeout);
                true
            }
            Phase::Commanding { barrier: Some(_), .. } => false,
            Phase::Commanding { steps, unconfirmed, .. } => {
                let is_full = *unconfirmed >= self.limits.unconfirmed_max.max(1);
                let next = steps.front().and_then(|step| step.commands.front());
                match next.filter(|_| !is_full).cloned() {
                    Some(command) => self.send_command(now, session, command),
                    None => self.send_barrier(now, session),
                }
            }
        }
    }

    fn send_command(&mut self, now: Instant, session: &mut Session, command: Body) -> bool {
        if self.send(now, session, command).is_none() {
            return false;
        }
        if let Phase::Commanding { steps, unconfirmed, .. } = &mut self.phase {
            *unconfirmed += 1;
            steps.front_mut().and_then(|step| step.commands.pop_front());
        }
        true
    }

    fn send_barrier(&mut self, now: Instant, session: &mut Session) -> bool {
        let Some(xid) = self.send(now, session, Body::BarrierRequest) else { return false };
        if let Phase::Commanding { barrier, .. } = &mut self.phase {
            *barrier = Some(xid);
        }
        self.reply_by = Some(now + self.limits.reply_timeout);
        true
    }

    /// Sends if this turn still may, else waits for the next.
    fn send(&mut self, now: Instant, session: &mut Session, body: Body) -> Option<u32> {
        if now >= self.turn_ends {
            self.begin_turn(now);
        }
        self.waits_for_turn = self.turn_sent >= self.limits.messages_per_turn.max(1);
        if self.waits_for_turn {
            return None;
        }
        let xid = session.send(body)?;
        self.turn_sent += 1;
        Some(xid)
    }

    fn begin_turn(&mut self, now: Instant) {
        self.turn_sent = 0;
        self.turn_ends = now + self.limits.turn;
        self.waits_for_turn = false;
    }

    /// The switch has carried out everything before the barrier.
    fn confirm(&mut self) {
        self.reply_by = None;
        if self.refusals > 0 {
            return self.fail(InstallFailure::Refused { commands: self.refusals });
        }
        let reading = self.reading();
        let Phase::Commanding { kind, steps, unconfirmed, barrier } = &mut self.phase else {
            return;
        };
        *barrier = None;
        *unconfirmed = 0;
        if steps.front().is_some_and(|step| step.commands.is_empty()) {
            steps.pop_front();
        }
        let (is_over, kind) = (steps.is_empty(), *kind);
        match is_over {
            // It is read back with the step that ends the change.
            true if self.keeps_old => self.installed(kind, None),
            true => self.phase = Phase::Verifying(kind, Box::new(reading)),
            false => {}
        }
    }

    /// A reading is complete.
    fn judge(&mut self) {
        self.reply_by = None;
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Surveying(read) => {
                let has_generation =
                    read.status.is_some_and(|status| status.generation == self.target.generation);
                let is_current = !self.target.needs_modes() || has_generation;
                let changes = self.limits.approach == Approach::Change;
                if changes {
                    self.take_over(&read.found);
                }
                if is_current && self.differences(&read.found).is_empty() {
                    self.adopt(changes, read.status);
                } else if self.limits.approach == Approach::Change {
                    self.change(&read.found);
                } else {
                    let steps = self.fresh_steps(&read.found);
                    self.command(InstallKind::Fresh, steps);
                }
            }
            Phase::Verifying(kind, read) => {
                let list = self.differences(&read.found);
                if list.is_empty() {
                    self.installed(kind, read.status);
                } else {
                    let fields = list.len();
                    self.events.push_back(InstallEvent::Differs(list));
                    self.fail(InstallFailure::Differs { fields });
                }
            }
            phase => self.phase = phase,
        }
    }

    /// Changes what was found by its differences, and tells them unless the switch was empty.
    fn change(&mut self, found: &SwitchTables) {
        let is_empty = found.entries.is_empty() && found.meters.is_empty();
        let differences = self.differences(found);
        if !is_empty && !differences.is_empty() {
            self.events.push_back(InstallEvent::Differs(differences));
        }
        let kind = if is_empty { InstallKind::Fresh } else { InstallKind::Repaired };
        self.command(kind, steps(found, &self.target.tables));
    }

    /// The switch has what it shall have, as far as it tells. Contracts of monitors are said again where they may
    /// be those of a change that a killed controller left half done.
    fn adopt(&mut self, by_differences: bool, status: Option<ModeStatus>) {
        let again = self.target.tables.monitors_again();
        if again.is_empty() || !by_differences || self.knows_monitors {
            return self.installed(InstallKind::Adopted, status);
        }
        let step = Step { is_lenient: false, commands: again.into() };
        self.command(InstallKind::Adopted, VecDeque::from([step]));
    }

    fn differences(&self, found: &SwitchTables) -> Vec<Difference> {
        differences(&self.target.tables, found, &self.target.names)
    }

    fn installed(&mut self, kind: InstallKind, status: Option<ModeStatus>) {
        self.phase = Phase::Installed;
        (self.is_audit, self.knows_monitors) = (false, true);
        self.events.push_back(InstallEvent::Installed { kind, status });
    }

    fn command(&mut self, kind: InstallKind, steps: VecDeque<Step>) {
        self.refusals = 0;
        self.phase = Phase::Commanding { kind, steps, unconfirmed: 0, barrier: None };
    }

    fn fresh_steps(&self, found: &SwitchTables) -> VecDeque<Step> {
        let is_entry = |body: &Body| {
            let shadow =
                |message: &ModesMessage| matches!(message, ModesMessage::ShadowFlowMod { .. });
            match body {
                Body::Experimenter(Experimenter::Modes(message)) => shadow(message),
                other => matches!(other, Body::FlowMod(_)),
            }
        };
        let (entries, objects) = self.target.commands.iter().cloned().partition(is_entry);
        let strict = |commands| Step { is_lenient: false, commands };
        let clear = Step { is_lenient: true, commands: self.clearing(found).into() };
        let steps = [clear, strict(objects), strict(entries)];
        steps.into_iter().filter(|step| !step.commands.is_empty()).collect()
    }

    /// Deletes what is there: entries first, which lets go of groups and meters.
    fn clearing(&self, found: &SwitchTables) -> Vec<Body> {
        let flows = FlowMod::new(FlowModCommand::Delete, table::ALL);
        let shadow = (1..self.target.levels.unwrap_or(1))
            .map(|level| ours(ModesMessage::ShadowFlowMod { level, flow_mod: flows.clone() }));
        let mut commands = vec![Body::FlowMod(flows.clone())];
        commands.extend(shadow);
        if !found.groups.is_empty() {
            let (command, type_) = (GroupModCommand::Delete, GroupType::All);
            let group_id = group::ALL;
            commands.push(Body::GroupMod(GroupMod { command, type_, group_id, buckets: vec![] }));
        }
        if !found.meters.is_empty() {
            let (command, meter_id) = (MeterModCommand::Delete, meter::ALL);
            commands.push(Body::MeterMod(MeterMod { command, flags: 0, meter_id, bands: vec![] }));
        }
        commands.extend(found.monitors.keys().map(|id| delete_monitor(*id)));
        commands
    }

    fn note_refusal(&mut self, refusal: &Refusal) {
        self.refusals += 1;
        if self.refusals <= REFUSALS_TOLD_MAX {
            let command = refusal.command.as_ref();
            let command = command.map_or_else(|| "an older command".into(), |c| self.name_of(c));
            let error = error_name(&refusal.error);
            self.events.push_back(InstallEvent::Refused { command, error });
        }
    }

    fn fail(&mut self, failure: InstallFailure) {
        self.phase = Phase::Failed;
        self.reply_by = None;
        self.waits_for_turn = false;
        self.events.push_back(InstallEvent::Failed(failure));
    }
}

/// The commands from one to the other, a barrier behind each step.
fn steps(held: &SwitchTables, wanted: &SwitchTables) -> VecDeque<Step> {
    let steps = held.steps_to(wanted).into_iter().filter(|step| !step.is_empty());
    steps.map(|step| Step { is_lenient: false, commands: step.into() }).collect()
}

/// Whether a command is one of ours, or an entry (which may have our monitor action).
const fn asks_for_modes(refusal: &Refusal) -> bool {
    matches!(refusal.command, Some(Body::Experimenter(_) | Body::FlowMod(_)))
}

/// Whether a refusal answers a command that this installation sent, or may have.
const fn is_of_installation(refusal: &Refusal, barrier: Option<u32>) -> bool {
    match &refusal.command {
        Some(Body::BarrierRequest) => match barrier {
            Some(xid) => xid == refusal.xid,
            None => false,
        },
        Some(Body::Experimenter(Experimenter::Modes(message))) => matches!(
            message,
            ModesMessage::ShadowFlowMod { .. }
                | ModesMessage::MonitorMod(_)
                | ModesMessage::ModeConfig(_)
        ),
        Some(Body::FlowMod(_) | Body::GroupMod(_) | Body::MeterMod(_)) | None => true,
        Some(_) => false,
    }
}
