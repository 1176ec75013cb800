//! The explored world: switches, what is on the links, and what may still happen.

use super::deployed::Deployed;
use super::explored::Explored;
use super::frames::Interned;
use super::properties::{Finding, check_end, check_step};
use super::source::Source;
use super::ticked::{RETRY_TICKS, mode_words, ticked_plan};
use super::trace::{Action, Step};
use super::{Settings, TICK};
use crate::assemble::SIGNAL_DWELL_NS;
use siphasher::sip128::{Hasher128, SipHasher24};
use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;
use tenuto_dataplane::switch::{Switch, SwitchEvent, repeat_period};
use tenuto_dataplane::{DropReason, Effects, FrameId, TimerId};
use tenuto_model::{Plan, PortRole};
use tenuto_units::{Instant, Span};

/// Of the activation that everything begins with.
const EPOCH_FIRST: u64 = 1;

/// A link in one direction between two switches.
#[derive(Clone, Copy, Debug)]
struct Link {
    from: usize,
    from_port: u32,
    to: usize,
    to_port: u32,
}

/// What never changes while exploring.
#[derive(Debug)]
pub(super) struct Fixed {
    pub(super) names: Vec<String>,
    pub(super) modes: Vec<String>,
    links: Vec<Link>,
    excesses: Vec<Source>,
    arrivals: Vec<Source>,
    delay_max: u64,
    pub(super) quiet: Span,
    deployed: Deployed,
    losses: u8,
    losses_tolerated: u8,
    crashes: u8,
    /// Ticks in which switches agree again after a loss, a crash or an excess.
    pub(super) heal_ticks_max: u64,
}

/// A state.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) tick: u64,
    pub(super) switches: Vec<Arc<Switch>>,
    /// Per link: frames in order, each with the tick at which it was sent.
    channels: Vec<VecDeque<(FrameId, u64)>>,
    excesses_left: Vec<u8>,
    arrivals_left: Vec<u8>,
    losses_left: u8,
    crashes_left: u8,
    /// How often each switch has started.
    starts: Vec<u8>,
    /// Ticks since the last loss, crash or excess in which the switches have not agreed.
    pub(super) apart_ticks: u64,
    /// A signal was refused for want of credit or buffer: the budgets are beyond the envelope.
    pub(super) signal_refused: bool,
    /// A raise came sooner after a return than a plan's quiet window lets it, so that signals may leave their envelope.
    pub(super) has_flapped: bool,
    /// Out-of-mode frames committed after the swap, if any: (switch, cookie).
    pub(super) late_commit: Option<(usize, u64)>,
}

impl Fixed {
    /// The start state of a plan: everything installed over OpenFlow, the start mode in force.
    ///
    /// # Errors
    /// In words, if a budget names a flow that does not fit, or a switch refuses its deployment.
    pub(super) fn new(
        plan: &Plan,
        settings: &Settings,
        frames: &mut Interned,
    ) -> Result<(Self, World), String> {
        let plan = &ticked_plan(plan, settings);
        let deployed = Deployed::new(plan, settings, [7; 16]);
        let switches = deployed.activated(frames)?;
        let links = links(plan);
        let mut sources = |flows: &[(String, u8)]| {
            flows.iter().map(|(flow, _)| Source::new(plan, flow, frames)).collect::<Result<_, _>>()
        };
        let excesses: Vec<Source> = sources(&settings.excesses)?;
        let arrivals: Vec<Source> = sources(&settings.frames)?;
        let world = World {
            tick: u64::from(settings.quiet_ticks) + 1,
            starts: vec![1; switches.len()],
            switches,
            channels: vec![VecDeque::new(); links.len()],
            excesses_left: settings.excesses.iter().map(|(_, n)| *n).collect(),
            arrivals_left: settings.frames.iter().map(|(_, n)| *n).collect(),
            losses_left: settings.lost_signals,
            crashes_left: settings.crashes,
            apart_ticks: 0,
            signal_refused: false,
            has_flapped: false,
            late_commit: None,
        };
        let fixed = Self {
            names: plan.switches.iter().map(|d| d.switch.clone()).collect(),
            modes: plan.network.modes.clone(),
            links,
            excesses,
            arrivals,
            delay_max: u64::from(settings.delay_ticks_max.max(1)),
            quiet: Span::from_ns(plan.quiet_ns.unwrap_or(0)),
            losses: settings.lost_signals,
            losses_tolerated: settings.signal_copies.max(1) - 1,
            crashes: settings.crashes,
            heal_ticks_max: heal_ticks_max(plan.switches.len(), settings),
            deployed,
        };
        Ok((fixed, world))
    }
}

/// Ticks in which all switches are to agree again (docs/theory/modes.md, "Healing"): a member waits
/// for its leader through all its repeats, and then what is repeated spreads from switch to switch.
fn heal_ticks_max(switches: usize, settings: &Settings) -> u64 {
    let switches = u64::try_from(switches).unwrap_or(u64::MAX);
    let hop = repeat_period(Span::from_ns(TICK.as_ns() * RETRY_TICKS)).as_ns() / TICK.as_ns()
        + 2 * u64::from(settings.delay_ticks_max.max(1));
    (2 * 8 + 2) * RETRY_TICKS + switches * hop
}

fn links(plan: &Plan) -> Vec<Link> {
    let place = |name: &str| plan.switches.iter().position(|d| d.switch == name);
    let mut links = Vec::new();
    for (from, deployment) in plan.switches.iter().enumerate() {
        for port in deployment.ports.iter().filter(|p| p.role == PortRole::Trunk) {
            if let Some(to) = place(&port.peer) {
                links.push(Link { from, from_port: port.port, to, to_port: port.peer_port });
            }
        }
    }
    links
}

impl World {
    fn now(&self) -> Instant {
        Instant::from_ns(self.tick * TICK.as_ns())
    }

    /// Everything that can happen now. Time passes only when nothing is overdue.
    pub(super) fn actions(&self, fixed: &Fixed) -> Vec<Action> {
        let mut actions = self.due(fixed);
        let is_due = !actions.is_empty();
        self.add_links(fixed, &mut actions);
        let left = |sources: &[Source], left: &[u8], action: fn(String) -> Action| {
            let left = sources.iter().zip(left).filter(|(_, left)| **left > 0);
            left.map(|(source, _)| action(source.flow.clone())).collect::<Vec<_>>()
        };
        actions.extend(left(&fixed.excesses, &self.excesses_left, |flow| Action::Exceed { flow }));
        actions.extend(left(&fixed.arrivals, &self.arrivals_left, |flow| Action::Arrive { flow }));
        if self.crashes_left > 0 {
            let crash = |switch: &String| Action::Crash { switch: switch.clone() };
            actions.extend(fixed.names.iter().map(crash));
        }
        let is_old = |sent: u64| self.tick - sent >= fixed.delay_max;
        let mut fronts = self.channels.iter().filter_map(VecDeque::front);
        if !is_due && !fronts.any(|&(_, sent)| is_old(sent)) {
            actions.push(Action::Tick);
        }
        actions
    }

    /// What the switches' timers are due for.
    fn due(&self, fixed: &Fixed) -> Vec<Action> {
        let (mut actions, now) = (Vec::new(), self.now());
        for (switch, name) in self.switches.iter().zip(&fixed.names) {
            switch.for_each_deadline(|timer, at| match timer {
                _ if at > now => {}
                TimerId::PortReady(port) => {
                    actions.push(Action::Send { switch: name.clone(), port });
                }
                _ => actions.push(Action::Think { switch: name.clone() }),
            });
        }
        actions
    }

    /// The first frame of each link may arrive from the tick after it was sent, or be lost.
    fn add_links(&self, fixed: &Fixed, actions: &mut Vec<Action>) {
        for (link, channel) in fixed.links.iter().zip(&self.channels) {
            if channel.front().is_none_or(|&(_, sent)| sent >= self.tick) {
                continue;
            }
            let (from, to) = (fixed.names[link.from].clone(), fixed.names[link.to].clone());
            if self.losses_left > 0 {
                actions.push(Action::Lose { from: from.clone(), to: to.clone() });
            }
            actions.push(Action::Deliver { from, to });
        }
    }

    /// Calls a switch whose time has come.
    fn fire(
        &mut self,
        switch: &str,
        timer: TimerId,
        fixed: &Fixed,
        frames: &mut Interned,
    ) -> Option<()> {
        let now = self.now();
        self.act(fixed.place(switch)?, fixed, frames, |switch, frames, fx| {
            switch.fire(timer, now, frames, fx);
        });
        Some(())
    }

    fn deliver(
        &mut self,
        from: &str,
        to: &str,
        fixed: &Fixed,
        frames: &mut Interned,
    ) -> Option<()> {
        let (index, now) = (fixed.link(from, to)?, self.now());
        let (frame, _) = self.channels[index].pop_front()?;
        let link = fixed.links[index];
        self.act(link.to, fixed, frames, |switch, frames, fx| {
            switch.receive(now, now, link.to_port, frame, frames, fx);
        });
        Some(())
    }

    fn lose(&mut self, from: &str, to: &str, fixed: &Fixed) -> Option<()> {
        let index = fixed.link(from, to)?;
        self.losses_left = self.losses_left.checked_sub(1)?;
        self.apart_ticks = 0;
        self.channels[index].pop_front().map(|_| ())
    }

    /// A switch starts again; what is on its links stays there.
    fn crash(&mut self, switch: &str, fixed: &Fixed, frames: &mut Interned) -> Option<()> {
        let place = fixed.place(switch)?;
        self.crashes_left = self.crashes_left.checked_sub(1)?;
        self.apart_ticks = 0;
        self.starts[place] += 1;
        let starts = self.starts[place];
        let fresh = fixed.deployed.started(place, starts, self.now(), frames).ok()?;
        self.switches[place] = Arc::new(fresh);
        Some(())
    }

    /// Whether no more was lost than the network tolerates: then a raise needs no repeats.
    pub(super) fn is_within_tolerance(&self, fixed: &Fixed) -> bool {
        fixed.losses - self.losses_left <= fixed.losses_tolerated
            && self.crashes_left == fixed.crashes
    }

    /// Whether a switch has forgotten what it saw.
    pub(super) fn has_restarted(&self, place: usize) -> bool {
        self.starts[place] > 1
    }

    /// Another tick; the time apart goes on only while the switches differ.
    fn pass(&mut self) {
        self.tick += 1;
        self.apart_ticks = if self.is_agreed() { 0 } else { self.apart_ticks + 1 };
    }

    fn is_agreed(&self) -> bool {
        let mut modes = self.switches.iter().map(|switch| (switch.mode(), switch.has_joined()));
        let first = modes.next();
        let owes = |switch: &Arc<Switch>| switch.agent().is_some_and(|agent| !agent.owes_nothing());
        modes.all(|mode| Some(mode) == first) && !self.switches.iter().any(owes)
    }

    /// Two messages at once: more than any start contract allows.
    fn exceed(&mut self, flow: &str, fixed: &Fixed, frames: &mut Interned) -> Option<()> {
        let index = fixed.excesses.iter().position(|s| s.flow == *flow)?;
        self.excesses_left[index] = self.excesses_left[index].checked_sub(1)?;
        self.apart_ticks = 0;
        let has_returned = |it: &Arc<Switch>| it.mode().0 == 0 && it.mode().2 > EPOCH_FIRST;
        let is_short = fixed.quiet < Span::from_ns(SIGNAL_DWELL_NS);
        self.has_flapped |= is_short && self.switches.iter().any(has_returned);
        self.enter(&fixed.excesses[index], 2, fixed, frames);
        Some(())
    }

    fn arrive(&mut self, flow: &str, fixed: &Fixed, frames: &mut Interned) -> Option<()> {
        let index = fixed.arrivals.iter().position(|s| s.flow == *flow)?;
        self.arrivals_left[index] = self.arrivals_left[index].checked_sub(1)?;
        self.enter(&fixed.arrivals[index], 1, fixed, frames);
        Some(())
    }

    fn enter(&mut self, source: &Source, messages: usize, fixed: &Fixed, frames: &mut Interned) {
        let now = self.now();
        for &frame in source.frames.iter().take(messages) {
            self.act(source.switch, fixed, frames, |switch, frames, fx| {
                switch.receive(now, now, source.port, frame, frames, fx);
            });
        }
    }

    /// Calls on one switch, copied on write, and takes what it causes.
    fn act(
        &mut self,
        place: usize,
        fixed: &Fixed,
        frames: &mut Interned,
        call: impl FnOnce(&mut Switch, &mut Interned, &mut Effects<SwitchEvent>),
    ) {
        let before = self.committed(place);
        let mut fx = Effects::new();
        let switch = Arc::make_mut(&mut self.switches[place]);
        call(switch, frames, &mut fx);
        for sent in fx.transmits {
            let link = fixed.links.iter().position(|l| l.from == place && l.from_port == sent.port);
            if let Some(link) = link {
                self.channels[link].push_back((sent.frame, self.tick));
            }
        }
        let refused = |d: &tenuto_dataplane::Dropped| {
            d.cookie == 0 && matches!(d.reason, DropReason::BufferFull | DropReason::SignalRejected)
        };
        self.signal_refused |= fx.drops.iter().any(refused);
        self.check_commits(place, &before, fixed);
    }

    fn committed(&self, place: usize) -> Vec<Option<u64>> {
        self.switches[place].ports().map(|(_, _, egress)| egress.committed_cookie()).collect()
    }

    /// Theory, swap: after its swap a switch commits no out-of-mode frame to any port.
    fn check_commits(&mut self, place: usize, before: &[Option<u64>], fixed: &Fixed) {
        let level = self.switches[place].mode().0;
        let after = self.committed(place);
        for (old, new) in before.iter().zip(after) {
            let Some(cookie) = new.filter(|_| new != *old) else { continue };
            let source = fixed.arrivals.iter().find(|s| s.cookie == cookie);
            if source.is_some_and(|s| s.level < level) {
                self.late_commit = Some((place, cookie));
            }
        }
    }

    /// Whether nothing is on a link or in a queue.
    pub(super) fn is_silent(&self) -> bool {
        let idle = |s: &Arc<Switch>| s.ports().all(|(_, _, egress)| egress.deadline().is_none());
        self.channels.iter().all(VecDeque::is_empty) && self.switches.iter().all(idle)
    }

    /// `sw1 HI/HI@2` per switch.
    pub(super) fn modes(&self, fixed: &Fixed) -> Vec<String> {
        let line = |(switch, name): (&Arc<Switch>, &String)| mode_words(switch, name, &fixed.modes);
        self.switches.iter().zip(&fixed.names).map(line).collect()
    }
}

impl Explored for World {
    type Fixed = Fixed;
    type Action = Action;
    type Step = Step;
    type Finding = Finding;

    fn fingerprint(&self, _: &Fixed, frames: &Interned) -> u128 {
        let mut hasher = SipHasher24::new();
        let now = self.now();
        for switch in &self.switches {
            switch.identify(now, &mut hasher, |frame| frames.identity(frame));
        }
        for channel in &self.channels {
            channel.len().hash(&mut hasher);
            for &(frame, sent) in channel {
                (frames.identity(frame), self.tick - sent).hash(&mut hasher);
            }
        }
        (&self.excesses_left, &self.arrivals_left, self.losses_left).hash(&mut hasher);
        (self.crashes_left, &self.starts, self.apart_ticks, self.has_flapped).hash(&mut hasher);
        hasher.finish128().as_u128()
    }

    fn possible(&self, fixed: &Fixed, _: &Interned) -> Result<Vec<Action>, Finding> {
        Ok(self.actions(fixed))
    }

    fn after(&self, action: &Action, fixed: &Fixed, frames: &mut Interned) -> Option<Self> {
        let mut next = self.clone();
        match action {
            Action::Tick => next.pass(),
            Action::Crash { switch } => next.crash(switch, fixed, frames)?,
            Action::Send { switch, port } => {
                next.fire(switch, TimerId::PortReady(*port), fixed, frames)?;
            }
            Action::Think { switch } => next.fire(switch, TimerId::Mode, fixed, frames)?,
            Action::Deliver { from, to } => next.deliver(from, to, fixed, frames)?,
            Action::Lose { from, to } => next.lose(from, to, fixed)?,
            Action::Exceed { flow } => next.exceed(flow, fixed, frames)?,
            Action::Arrive { flow } => next.arrive(flow, fixed, frames)?,
        }
        Some(next)
    }

    fn step(&self, action: &Action, next: &Self, fixed: &Fixed, _: &Interned) -> Step {
        Step { action: action.clone(), tick: self.tick, modes: next.modes(fixed) }
    }

    fn check(&self, next: &Self, is_end: bool, fixed: &Fixed) -> Option<Finding> {
        check_step(self, next, fixed).or_else(|| is_end.then(|| check_end(next, fixed)).flatten())
    }
}

impl Fixed {
    fn place(&self, switch: &str) -> Option<usize> {
        self.names.iter().position(|name| name == switch)
    }

    fn link(&self, from: &str, to: &str) -> Option<usize> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        self.links.iter().position(|l| l.from == from && l.to == to)
    }
}
