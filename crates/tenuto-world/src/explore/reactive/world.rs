//! A state, and what can happen in it.

use super::super::frames::Interned;
use super::super::search::Explored;
use super::properties::{Finding, Property, check_end, check_step};
use super::scenario::{App, Fixed, NOW, bodies, packet_of};
use super::trace::{Action, Step};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;
use tenuto_controller::reactive::{Packet, Reactive};
use tenuto_dataplane::switch::{Switch, SwitchEvent};
use tenuto_dataplane::{Effects, FrameId, Frames, TimerId};
use tenuto_openflow::{AttendreMessage, Body, Experimenter, Message, PacketIn};
use tenuto_units::Instant;
use tenuto_wire::CommandFrame;

/// Source and destination.
pub(super) type Flow = ([u8; 6], [u8; 6]);

/// A message on its way to a switch.
#[derive(Clone, Debug, Hash)]
pub(super) struct Sent {
    /// The answer that it is a part of.
    pub(super) answer: u32,
    /// The flow that the answer is about.
    flow: Option<Flow>,
    pub(super) body: Body,
}

/// A state.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) switches: Vec<Arc<Switch>>,
    /// Per link: frames in order.
    pub(super) channels: Vec<VecDeque<FrameId>>,
    /// Packets that each host has sent.
    pub(super) sent: Vec<u8>,
    /// Packets that each host got, in order: sender and number.
    pub(super) received: Vec<Vec<(u8, u8)>>,
    pub(super) to_controller: Vec<VecDeque<Body>>,
    pub(super) to_switch: Vec<VecDeque<Sent>>,
    pub(super) controller: Reactive<App>,
    /// Answers given so far.
    pub(super) answers: u32,
    pub(super) timeouts_left: u8,
    pub(super) losses_left: u8,
    /// What the last step did wrong.
    pub(super) findings: Vec<Finding>,
}

/// The packet-in in a message, numbered or not.
fn packet_in(body: &Body) -> Option<&PacketIn> {
    match body {
        Body::PacketIn(packet_in) => Some(packet_in),
        Body::Experimenter(Experimenter::Attendre(AttendreMessage::PacketIn {
            packet_in, ..
        })) => Some(packet_in),
        _ => None,
    }
}

fn flow_of(body: &Body) -> Option<Flow> {
    Packet::of(packet_in(body)?).map(|packet| (packet.src, packet.dst))
}

impl World {
    /// Everything that can happen now: what must in the end, and what may.
    pub(super) fn actions(&self, fixed: &Fixed, frames: &Interned) -> (Vec<Action>, Vec<Action>) {
        let (mut must, mut may) = (Vec::new(), Vec::new());
        for (host, at) in fixed.hosts.iter().enumerate() {
            let due = if at.replies { self.received[host].len() } else { at.packets.len() };
            if usize::from(self.sent[host]) < due.min(at.packets.len()) {
                must.push(Action::Emit { host: at.name.into() });
            }
        }
        for (place, switch) in self.switches.iter().enumerate() {
            let name = || fixed.names[place].clone();
            switch.for_each_deadline(|timer, _| match timer {
                TimerId::PortReady(port) => must.push(Action::HandOver { switch: name(), port }),
                TimerId::Buffer(buffer) if self.timeouts_left > 0 => {
                    may.push(Action::Expire { switch: name(), buffer });
                }
                _ => {}
            });
            if !self.to_controller[place].is_empty() {
                must.push(Action::Decide { switch: name() });
            }
            let mut answers = Vec::new();
            for Sent { answer, .. } in &self.to_switch[place] {
                if !answers.contains(answer) && (answers.is_empty() || fixed.settings.threads) {
                    answers.push(*answer);
                    must.push(Action::Obey { switch: name(), answer: *answer });
                }
            }
        }
        for (link, channel) in fixed.links.iter().zip(&self.channels) {
            let Some(&first) = channel.front() else { continue };
            let (from, to) = (fixed.names[link.from].clone(), fixed.names[link.to].clone());
            if self.losses_left > 0 && CommandFrame::parse(frames.bytes(first)).is_ok() {
                may.push(Action::Lose { from: from.clone(), to: to.clone() });
            }
            must.push(Action::Deliver { from, to });
        }
        (must, may)
    }

    /// The packet or message that an action is about to move, in words; none for the others.
    fn note(&self, action: &Action, fixed: &Fixed, frames: &Interned) -> Option<String> {
        let frame = match action {
            Action::Emit { host } => self.next_packet(host, fixed)?.1,
            Action::Deliver { from, to } => *self.channels[fixed.link(from, to)?].front()?,
            Action::Decide { switch } => {
                let body = self.to_controller[fixed.place(switch)?].front()?;
                return Some(Message::new(0, body.clone()).to_string());
            }
            Action::Obey { switch, answer } => {
                let sent = &self.to_switch[fixed.place(switch)?];
                let first = sent.iter().find(|sent| sent.answer == *answer)?;
                return Some(Message::new(0, first.body.clone()).to_string());
            }
            Action::HandOver { .. } | Action::Expire { .. } | Action::Lose { .. } => return None,
        };
        Some(describe(frames.bytes(frame)))
    }

    /// The packet that a host sends next, and the host's place.
    fn next_packet(&self, host: &str, fixed: &Fixed) -> Option<(usize, FrameId)> {
        let place = fixed.hosts.iter().position(|h| h.name == host)?;
        let packet = fixed.hosts[place].packets.get(usize::from(self.sent[place]))?;
        Some((place, *packet))
    }

    fn emit(&mut self, host: &str, fixed: &Fixed, frames: &mut Interned) -> Option<()> {
        let (place, frame) = self.next_packet(host, fixed)?;
        let at = &fixed.hosts[place];
        self.sent[place] += 1;
        self.act(at.switch, fixed, frames, |switch, frames, fx| {
            switch.receive(NOW, NOW, at.port, frame, frames, fx);
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
        let index = fixed.link(from, to)?;
        let frame = self.channels[index].pop_front()?;
        let link = fixed.links[index];
        self.act(link.to, fixed, frames, |switch, frames, fx| {
            switch.receive(NOW, NOW, link.to_port, frame, frames, fx);
        });
        Some(())
    }

    /// Fires an armed timer at its own time.
    fn fire(
        &mut self,
        switch: &str,
        timer: TimerId,
        fixed: &Fixed,
        frames: &mut Interned,
    ) -> Option<()> {
        let place = fixed.place(switch)?;
        let at = self.deadline(place, timer)?;
        self.act(place, fixed, frames, |switch, frames, fx| switch.fire(timer, at, frames, fx));
        Some(())
    }

    fn deadline(&self, place: usize, wanted: TimerId) -> Option<Instant> {
        let mut found = None;
        self.switches[place].for_each_deadline(|timer, at| {
            if timer == wanted {
                found = Some(at);
            }
        });
        found
    }

    /// The controller takes the first message of a switch; its answer is on its way at once.
    fn decide(&mut self, place: usize, fixed: &Fixed) -> Option<()> {
        let body = self.to_controller[place].pop_front()?;
        if let Body::Error(error) = &body {
            let text = format!("{} refuses a message: {error}", fixed.names[place]);
            self.findings.push((Property::Completes, text));
        }
        self.answers += 1;
        let (answer, flow) = (self.answers, flow_of(&body));
        for (datapath, body) in self.controller.message(place as u64 + 1, &body) {
            let target = usize::try_from(datapath).unwrap_or(usize::MAX).wrapping_sub(1);
            if let Some(queue) = self.to_switch.get_mut(target) {
                queue.push_back(Sent { answer, flow, body });
            }
        }
        Some(())
    }

    fn obey(
        &mut self,
        switch: &str,
        answer: u32,
        fixed: &Fixed,
        frames: &mut Interned,
    ) -> Option<()> {
        let place = fixed.place(switch)?;
        let queue = &mut self.to_switch[place];
        let index = queue.iter().position(|sent| sent.answer == answer)?;
        let bytes = Message::new(0, queue.remove(index)?.body).to_bytes();
        self.act(place, fixed, frames, |switch, frames, fx| {
            switch.control(NOW, &bytes, frames, fx);
        });
        Some(())
    }

    /// Calls on one switch, copied on write, and takes what it causes.
    fn act(
        &mut self,
        place: usize,
        fixed: &Fixed,
        frames: &mut Interned,
        call: impl FnOnce(&mut Switch, &mut Interned, &mut Effects<SwitchEvent>),
    ) {
        let mut fx = Effects::new();
        call(Arc::make_mut(&mut self.switches[place]), frames, &mut fx);
        for sent in &fx.transmits {
            match fixed.host_at(place, sent.port) {
                Some(host) => self.received[host].extend(packet_of(frames.bytes(sent.frame))),
                None => {
                    let mut links = fixed.links.iter();
                    let leaves =
                        |l: &super::scenario::Link| (l.from, l.from_port) == (place, sent.port);
                    if let Some(link) = links.position(leaves) {
                        self.channels[link].push_back(sent.frame);
                    }
                }
            }
        }
        for drop in &fx.drops {
            let text = format!("{} drops a frame: {:?}", fixed.names[place], drop.reason);
            self.findings.push((Property::NoDrop, text));
        }
        for body in bodies(&fx.control) {
            if let Some(flow) = flow_of(&body)
                && self.is_known(place, flow)
            {
                let text = format!("{} asks although an answer is on its way", fixed.names[place]);
                self.findings.push((Property::OnePacketIn, text));
            }
            self.to_controller[place].push_back(body);
        }
    }

    /// Whether a flow was asked about already, and the switch not yet told everything.
    fn is_known(&self, place: usize, flow: Flow) -> bool {
        self.to_controller[place].iter().any(|body| flow_of(body) == Some(flow))
            || self.to_switch[place].iter().any(|sent| sent.flow == Some(flow))
    }
}

impl Explored for World {
    type Fixed = Fixed;
    type Action = Action;
    type Step = Step;
    type Finding = Finding;

    fn fingerprint(&self, frames: &Interned) -> u128 {
        let mut hasher = SipHasher24::new();
        for switch in &self.switches {
            switch.identify_untimed(&mut hasher, |frame| frames.identity(frame));
        }
        for channel in &self.channels {
            channel.len().hash(&mut hasher);
            channel.iter().for_each(|&frame| frames.identity(frame).hash(&mut hasher));
        }
        (&self.sent, &self.received, &self.to_controller, &self.to_switch).hash(&mut hasher);
        (&self.controller, self.timeouts_left, self.losses_left).hash(&mut hasher);
        hasher.finish128().as_u128()
    }

    fn possible(&self, fixed: &Fixed, frames: &Interned) -> Result<Vec<Action>, Finding> {
        let (must, may) = self.actions(fixed, frames);
        let end = must.is_empty().then(|| check_end(self, fixed)).flatten();
        end.map_or_else(|| Ok(must.into_iter().chain(may).collect()), Err)
    }

    fn after(&self, action: &Action, fixed: &Fixed, frames: &mut Interned) -> Option<Self> {
        let mut next = self.clone();
        next.findings.clear();
        match action {
            Action::Emit { host } => next.emit(host, fixed, frames)?,
            Action::HandOver { switch, port } => {
                next.fire(switch, TimerId::PortReady(*port), fixed, frames)?;
            }
            Action::Expire { switch, buffer } => {
                next.timeouts_left = next.timeouts_left.checked_sub(1)?;
                next.fire(switch, TimerId::Buffer(*buffer), fixed, frames)?;
            }
            Action::Deliver { from, to } => next.deliver(from, to, fixed, frames)?,
            Action::Lose { from, to } => {
                next.losses_left = next.losses_left.checked_sub(1)?;
                next.channels[fixed.link(from, to)?].pop_front()?;
            }
            Action::Decide { switch } => next.decide(fixed.place(switch)?, fixed)?,
            Action::Obey { switch, answer } => next.obey(switch, *answer, fixed, frames)?,
        }
        Some(next)
    }

    fn step(&self, action: &Action, _: &Self, fixed: &Fixed, frames: &Interned) -> Step {
        let note = self.note(action, fixed, frames).unwrap_or_default();
        Step { action: action.clone(), note }
    }

    fn check(&self, next: &Self, _: bool, fixed: &Fixed) -> Option<Finding> {
        check_step(next, fixed)
    }
}

/// A frame in words.
fn describe(bytes: &[u8]) -> String {
    match (CommandFrame::parse(bytes), packet_of(bytes)) {
        (Ok(command), _) => command.repr().to_string(),
        (_, Some((from, number))) => format!("packet {number} of h{}", from + 1),
        _ => "a frame".to_owned(),
    }
}
