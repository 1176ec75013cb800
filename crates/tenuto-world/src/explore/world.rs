//! The explored world: switches, what is on the links, and what may still happen.

use super::frames::Interned;
use super::source::Source;
use super::ticked::{mode_words, ticked_config, ticked_plan};
use super::trace::Action;
use super::{Settings, TICK};
use crate::assemble;
use siphasher::sip128::{Hasher128, SipHasher24};
use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;
use tenuto_controller::compile;
use tenuto_dataplane::switch::{Switch, SwitchEvent};
use tenuto_dataplane::{DropReason, Effects, FrameId, TimerId};
use tenuto_model::{Plan, PortRole};
use tenuto_openflow::{Body, Experimenter, Message, ModesMessage};
use tenuto_units::{Instant, Span};

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
    /// A signal was refused for want of credit or buffer: the budgets are beyond the envelope.
    pub(super) signal_refused: bool,
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
        let modes = assemble::mode_settings(plan, 1);
        let mut switches = Vec::new();
        for deployment in &plan.switches {
            let config = assemble::switch_config(plan, deployment, [7; 16], 1);
            let mut switch = Switch::new(ticked_config(&config));
            switch.set_mutant(settings.mutant);
            install(&mut switch, &compile(deployment, &modes), frames)?;
            switches.push(switch);
        }
        if plan.network.modes.len() > 1 {
            let activate = ModesMessage::ModeActivate { generation: 1, epoch: 1, level: 0 };
            let body = Body::Experimenter(Experimenter::Modes(activate));
            for switch in &mut switches {
                install(switch, std::slice::from_ref(&body), frames)?;
            }
        }
        let links = links(plan);
        let mut sources = |flows: &[(String, u8)]| {
            flows.iter().map(|(flow, _)| Source::new(plan, flow, frames)).collect::<Result<_, _>>()
        };
        let excesses: Vec<Source> = sources(&settings.excesses)?;
        let arrivals: Vec<Source> = sources(&settings.frames)?;
        let world = World {
            tick: u64::from(settings.quiet_ticks) + 1,
            switches: switches.into_iter().map(Arc::new).collect(),
            channels: vec![VecDeque::new(); links.len()],
            excesses_left: settings.excesses.iter().map(|(_, n)| *n).collect(),
            arrivals_left: settings.frames.iter().map(|(_, n)| *n).collect(),
            losses_left: settings.lost_signals,
            signal_refused: false,
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
        };
        Ok((fixed, world))
    }
}

/// Sends messages to a switch as a controller does, and takes any error for a refusal.
fn install(switch: &mut Switch, bodies: &[Body], frames: &mut Interned) -> Result<(), String> {
    let mut fx = Effects::new();
    switch.connected(&mut fx);
    for (xid, body) in (1u32..).zip(bodies) {
        fx.control.clear();
        let bytes = Message { xid, body: body.clone() }.to_bytes();
        switch.control(Instant::ZERO, &bytes, frames, &mut fx);
        let mut framer = tenuto_openflow::Framer::new();
        let _ = framer.push(&fx.control);
        while let Some(Ok(answer)) = framer.next() {
            if let Body::Error(error) = answer.body {
                return Err(format!("a switch refuses its deployment: {error:?} to {body:?}"));
            }
        }
    }
    switch.disconnected();
    Ok(())
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
        let mut actions = Vec::new();
        let now = self.now();
        let mut overdue = false;
        for (place, switch) in self.switches.iter().enumerate() {
            let name = || fixed.names[place].clone();
            switch.for_each_deadline(|timer, at| {
                if at > now {
                    return;
                }
                overdue = true;
                match timer {
                    TimerId::PortReady(port) => actions.push(Action::Send { switch: name(), port }),
                    _ => actions.push(Action::Think { switch: name() }),
                }
            });
        }
        for (link, channel) in fixed.links.iter().zip(&self.channels) {
            let Some(&(_, sent)) = channel.front() else { continue };
            let age = self.tick - sent;
            overdue |= age >= fixed.delay_max;
            if age >= 1 {
                let (from, to) = (fixed.names[link.from].clone(), fixed.names[link.to].clone());
                if self.losses_left > 0 {
                    actions.push(Action::Lose { from: from.clone(), to: to.clone() });
                }
                actions.push(Action::Deliver { from, to });
            }
        }
        for (source, left) in fixed.excesses.iter().zip(&self.excesses_left) {
            if *left > 0 {
                actions.push(Action::Exceed { flow: source.flow.clone() });
            }
        }
        for (source, left) in fixed.arrivals.iter().zip(&self.arrivals_left) {
            if *left > 0 {
                actions.push(Action::Arrive { flow: source.flow.clone() });
            }
        }
        if !overdue {
            actions.push(Action::Tick);
        }
        actions
    }

    /// The state after an action; `None` if it is not possible here.
    pub(super) fn after(
        &self,
        action: &Action,
        fixed: &Fixed,
        frames: &mut Interned,
    ) -> Option<Self> {
        let mut next = self.clone();
        let now = next.now();
        let place = |name: &str| fixed.names.iter().position(|n| n == name);
        match action {
            Action::Tick => next.tick += 1,
            Action::Send { switch, port } => {
                let place = place(switch)?;
                next.act(place, fixed, frames, |switch, frames, fx| {
                    switch.fire(TimerId::PortReady(*port), now, frames, fx);
                });
            }
            Action::Think { switch } => {
                let place = place(switch)?;
                next.act(place, fixed, frames, |switch, frames, fx| {
                    switch.fire(TimerId::Mode, now, frames, fx);
                });
            }
            Action::Deliver { from, to } => {
                let index = fixed.link(place(from)?, place(to)?)?;
                let (frame, _) = next.channels[index].pop_front()?;
                let link = fixed.links[index];
                next.act(link.to, fixed, frames, |switch, frames, fx| {
                    switch.receive(now, now, link.to_port, frame, frames, fx);
                });
            }
            Action::Lose { from, to } => {
                let index = fixed.link(place(from)?, place(to)?)?;
                next.losses_left = next.losses_left.checked_sub(1)?;
                next.channels[index].pop_front()?;
            }
            Action::Exceed { flow } => {
                let index = fixed.excesses.iter().position(|s| s.flow == *flow)?;
                next.excesses_left[index] = next.excesses_left[index].checked_sub(1)?;
                next.enter(&fixed.excesses[index], 2, fixed, frames);
            }
            Action::Arrive { flow } => {
                let index = fixed.arrivals.iter().position(|s| s.flow == *flow)?;
                next.arrivals_left[index] = next.arrivals_left[index].checked_sub(1)?;
                next.enter(&fixed.arrivals[index], 1, fixed, frames);
            }
        }
        Some(next)
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

    /// Identity: equal fingerprints, equal behaviour from here on.
    pub(super) fn fingerprint(&self, frames: &Interned) -> u128 {
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
        hasher.finish128().as_u128()
    }

    /// `sw1 HI/HI@2` per switch.
    pub(super) fn modes(&self, fixed: &Fixed) -> Vec<String> {
        let line = |(switch, name): (&Arc<Switch>, &String)| mode_words(switch, name, &fixed.modes);
        self.switches.iter().zip(&fixed.names).map(line).collect()
    }
}

impl Fixed {
    fn link(&self, from: usize, to: usize) -> Option<usize> {
        self.links.iter().position(|l| l.from == from && l.to == to)
    }

    /// Number of directed links between switches.
    pub(super) fn links(&self) -> usize {
        self.links.len()
    }
}
