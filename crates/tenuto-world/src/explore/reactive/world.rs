//! A state, and what can happen in it.

use super::super::frames::Interned;
use super::fixed::{Fixed, NOW};
use super::history::History;
use super::messages::{OnItsWay, messages};
use super::packets::PacketName;
use super::property::{Finding, Property};
use super::setup::Budgets;
use super::trace::Action;
use siphasher::sip128::{Hasher128, SipHasher24};
use std::collections::VecDeque;
use std::sync::Arc;
use tenuto_controller::reactive::{BarrierGate, Reactive, ReactiveApp};
use tenuto_dataplane::switch::{Switch, SwitchEvent};
use tenuto_dataplane::{Effects, FrameId, Frames, TimerId};
use tenuto_units::Instant;
use tenuto_wire::CommandFrame;

/// A state.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) switches: Vec<Arc<Switch>>,
    /// Identity of each switch.
    pub(super) digests: Vec<u128>,
    /// Per link: frames in order.
    pub(super) channels: Vec<VecDeque<FrameId>>,
    /// Per link: whether it is cut.
    pub(super) cut: Vec<bool>,
    /// Packets of its script that each host has sent.
    pub(super) sent: Vec<u8>,
    /// Packets that each host has sent, replies and announcements too.
    pub(super) numbers: Vec<u8>,
    /// Hosts to which each host owes a reply.
    pub(super) owed: Vec<VecDeque<u16>>,
    /// Where each host is, of its places.
    pub(super) places: Vec<u8>,
    /// Whether each host has got a packet that was for it.
    pub(super) has_received: Vec<bool>,
    /// Packets that each host got, in order, if a property looks at them.
    pub(super) received: Vec<Vec<PacketName>>,
    pub(super) to_controller: Vec<VecDeque<OnItsWay>>,
    pub(super) to_switch: Vec<VecDeque<OnItsWay>>,
    pub(super) controller: Reactive<Box<dyn ReactiveApp>>,
    pub(super) gate: BarrierGate,
    /// Starts of the controller so far.
    pub(super) generation: u64,
    /// Answers given so far.
    pub(super) answers: u32,
    pub(super) left: Budgets,
    pub(super) history: History,
    /// Hosts that got a packet in the last step.
    pub(super) arrivals: Vec<bool>,
    /// What the last step did wrong.
    pub(super) findings: Vec<Finding>,
}

/// What a call on a switch is given.
type Fx = Effects<SwitchEvent>;

impl World {
    /// Switches that are connected, with what the application tells them then; packets still to be sent.
    ///
    /// # Errors
    /// In words, if the start itself is wrong.
    pub(super) fn start(fixed: &Fixed, frames: &mut Interned) -> Result<Self, String> {
        let count = fixed.switches.len();
        let hosts = fixed.hosts.len();
        let mut world = Self {
            switches: Vec::new(),
            digests: vec![0; count],
            channels: vec![VecDeque::new(); fixed.links.len()],
            cut: vec![false; fixed.links.len()],
            sent: vec![0; hosts],
            numbers: vec![0; hosts],
            owed: vec![VecDeque::new(); hosts],
            places: vec![0; hosts],
            has_received: vec![false; hosts],
            received: vec![Vec::new(); hosts],
            to_controller: vec![VecDeque::new(); count],
            to_switch: vec![VecDeque::new(); count],
            controller: Reactive::new(fixed.app.clone(), 1),
            gate: BarrierGate::new(),
            generation: 1,
            answers: 0,
            left: fixed.budgets,
            history: History::default(),
            arrivals: vec![false; hosts],
            findings: Vec::new(),
        };
        for place in 0..count {
            world.switches.push(Arc::new(fixed.new_switch(place)));
        }
        for place in 0..count {
            world.join(place, fixed, frames);
        }
        match world.findings.first() {
            None => Ok(world),
            Some((_, text)) => Err(format!("before the first packet: {text}")),
        }
    }

    /// Everything that can happen now: what must in the end, and what may.
    pub(super) fn actions(&self, fixed: &Fixed, frames: &Interned) -> (Vec<Action>, Vec<Action>) {
        let (mut must, mut may) = (Vec::new(), Vec::new());
        self.host_actions(fixed, &mut must, &mut may);
        for place in 0..self.switches.len() {
            self.switch_actions(place, fixed, &mut must, &mut may);
        }
        for (place, link) in fixed.links.iter().enumerate() {
            let (from, to) = (link.ends.0.clone(), link.ends.1.clone());
            if let Some(&first) = self.channels[place].front() {
                let is_command = CommandFrame::parse(frames.bytes(first)).is_ok();
                let left = if is_command { self.left.lost_commands } else { self.left.losses };
                if left > 0 {
                    may.push(Action::Lose { from: from.clone(), to: to.clone() });
                }
                if self.left.duplicates > 0 && !is_command {
                    may.push(Action::Double { from: from.clone(), to: to.clone() });
                }
                must.push(Action::Deliver { from: from.clone(), to: to.clone() });
            }
            if self.left.link_failures > 0 && link.from < link.to && !self.cut[place] {
                may.push(Action::Cut { from, to });
            }
        }
        if self.left.controller_crashes > 0 {
            may.push(Action::Crash);
        }
        if self.left.timers > 0 {
            self.controller
                .for_each_deadline(|name, _| may.push(Action::Timer { name: name.to_owned() }));
        }
        (must, may)
    }

    fn host_actions(&self, fixed: &Fixed, must: &mut Vec<Action>, may: &mut Vec<Action>) {
        for (place, at) in fixed.hosts.iter().enumerate() {
            if usize::from(self.sent[place]) < at.script.len() {
                must.push(Action::Emit { host: at.name.clone() });
            }
            if !self.owed[place].is_empty() {
                must.push(Action::Reply { host: at.name.clone() });
            }
            let has_left = usize::from(self.places[place]) + 1 < at.places.len();
            if has_left && self.has_received[place] {
                may.push(Action::Move { host: at.name.clone() });
            }
        }
    }

    fn switch_actions(
        &self,
        place: usize,
        fixed: &Fixed,
        must: &mut Vec<Action>,
        may: &mut Vec<Action>,
    ) {
        let name = || fixed.switches[place].name.clone();
        self.switches[place].for_each_deadline(|timer, _| match timer {
            TimerId::PortReady(port) => must.push(Action::HandOver { switch: name(), port }),
            TimerId::Buffer(buffer) if self.left.timeouts > 0 => {
                may.push(Action::Expire { switch: name(), buffer });
            }
            _ => {}
        });
        if !self.to_controller[place].is_empty() {
            must.push(Action::Decide { switch: name() });
        }
        let mut answers = Vec::new();
        for OnItsWay { answer, .. } in &self.to_switch[place] {
            if !answers.contains(answer) && (answers.is_empty() || fixed.threads) {
                answers.push(*answer);
                must.push(Action::Obey { switch: name(), answer: *answer });
            }
        }
        if self.left.switch_failures > 0 {
            may.push(Action::Fail { switch: name() });
        }
    }

    pub(super) fn deliver(
        &mut self,
        from: &str,
        to: &str,
        fixed: &Fixed,
        frames: &mut Interned,
    ) -> Option<()> {
        let place = fixed.link(from, to)?;
        let frame = self.channels[place].pop_front()?;
        let link = &fixed.links[place];
        self.take_in(link.to, link.to_port, frame, fixed, frames);
        Some(())
    }

    /// A frame comes to a port of a switch.
    pub(super) fn take_in(
        &mut self,
        place: usize,
        port: u32,
        frame: FrameId,
        fixed: &Fixed,
        frames: &mut Interned,
    ) {
        if fixed.looks_at(Property::NoLoops)
            && let Some(name) = PacketName::of(frames.bytes(frame))
            && !self.history.doubled.contains(&name)
            && !self.history.visited.insert((name, place, port))
        {
            let at = &fixed.switches[place].name;
            let text = format!("{} comes to port {port} of {at} again", fixed.describe(name));
            self.findings.push((Property::NoLoops, text));
        }
        self.act(place, fixed, frames, |switch, frames, fx| {
            switch.receive(NOW, NOW, port, frame, frames, fx);
        });
    }

    /// Fires an armed timer at its own time.
    pub(super) fn fire(
        &mut self,
        switch: &str,
        timer: TimerId,
        fixed: &Fixed,
        frames: &mut Interned,
    ) -> Option<()> {
        let place = fixed.place(switch)?;
        let at = deadline(&self.switches[place], |it| it == timer)?.1;
        self.act(place, fixed, frames, |switch, frames, fx| switch.fire(timer, at, frames, fx));
        Some(())
    }

    pub(super) fn obey(
        &mut self,
        switch: &str,
        answer: u32,
        fixed: &Fixed,
        frames: &mut Interned,
    ) -> Option<()> {
        let place = fixed.place(switch)?;
        let queue = &mut self.to_switch[place];
        let at = queue.iter().position(|sent| sent.answer == answer)?;
        let bytes = queue.remove(at)?.bytes();
        self.act(place, fixed, frames, |switch, frames, fx| {
            switch.control(NOW, &bytes, frames, fx);
        });
        Some(())
    }

    /// Calls on one switch, copied on write, and takes what it causes.
    pub(super) fn act(
        &mut self,
        place: usize,
        fixed: &Fixed,
        frames: &mut Interned,
        call: impl FnOnce(&mut Switch, &mut Interned, &mut Fx),
    ) {
        let mut fx = Effects::new();
        let switch = Arc::make_mut(&mut self.switches[place]);
        call(switch, frames, &mut fx);
        let is_port = |timer| matches!(timer, TimerId::PortReady(_));
        while !fixed.ports_wait
            && let Some((timer, at)) = deadline(switch, is_port)
        {
            switch.fire(timer, at, frames, &mut fx);
        }
        let mut hasher = SipHasher24::new();
        switch.identify_untimed(&mut hasher, |frame| frames.identity(frame));
        self.digests[place] = hasher.finish128().as_u128();
        for sent in &fx.transmits {
            self.leave(place, sent.port, sent.frame, fixed, frames);
        }
        for drop in &fx.drops {
            let text = format!("{} drops a frame: {:?}", fixed.switches[place].name, drop.reason);
            self.findings.push((Property::NoDrop, text));
        }
        for message in messages(&fx.control) {
            self.hear(place, message, fixed);
        }
    }
}

/// The first armed timer of a switch that is wanted.
fn deadline(switch: &Switch, wanted: impl Fn(TimerId) -> bool) -> Option<(TimerId, Instant)> {
    let mut found: Option<(TimerId, Instant)> = None;
    switch.for_each_deadline(|timer, at| {
        if wanted(timer) && found.is_none_or(|(_, first)| at < first) {
            found = Some((timer, at));
        }
    });
    found
}
