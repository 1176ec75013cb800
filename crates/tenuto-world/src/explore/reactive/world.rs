//! A state, and what can happen in it.

use super::super::frames::Interned;
use super::super::search::Explored;
use super::fixed::{Fixed, NOW, index};
use super::history::History;
use super::messages::{Flow, OnItsWay, flow_of, messages, packet_in};
use super::packets::{NOBODY, PacketKind, PacketName};
use super::properties::{Finding, Property, check_end, check_step};
use super::trace::{Action, Step};
use super::{Budgets, Protocol};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use tenuto_controller::reactive::{BarrierGate, Reaction, Reactive, ReactiveApp};
use tenuto_dataplane::switch::{Switch, SwitchEvent};
use tenuto_dataplane::{Effects, FrameId, Frames, TimerId};
use tenuto_openflow::{Body, Message};
use tenuto_units::Instant;
use tenuto_wire::CommandFrame;

/// A state.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) switches: Vec<Arc<Switch>>,
    /// Identity of each switch.
    digests: Vec<u128>,
    /// Per link: frames in order.
    pub(super) channels: Vec<VecDeque<FrameId>>,
    /// Per link: whether it is cut.
    pub(super) cut: Vec<bool>,
    /// Packets of its script that each host has sent.
    sent: Vec<u8>,
    /// Packets that each host has sent, replies and announcements too.
    pub(super) numbers: Vec<u8>,
    /// Hosts to which each host owes a reply.
    owed: Vec<VecDeque<u16>>,
    /// Where each host is, of its places.
    pub(super) places: Vec<u8>,
    /// Whether each host has got a packet that was for it.
    has_received: Vec<bool>,
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
    arrivals: Vec<bool>,
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
    fn actions(&self, fixed: &Fixed, frames: &Interned) -> (Vec<Action>, Vec<Action>) {
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

    /// The packet or message that an action is about to move, in words; none for the others.
    fn note(
        &self,
        action: &Action,
        next: &Self,
        fixed: &Fixed,
        frames: &Interned,
    ) -> Option<String> {
        let of_host = |host: &str| {
            let place = fixed.host(host)?;
            let to = match action {
                Action::Emit { .. } => {
                    fixed.hosts[place].script.get(usize::from(self.sent[place]))?
                }
                _ => self.owed[place].front()?,
            };
            let name =
                |to: u16| fixed.hosts.get(usize::from(to)).map_or("the service", |it| &it.name);
            Some(format!("packet {} for {}", next.numbers[place], name(*to)))
        };
        let told = |body: &Body| Message::new(0, body.clone()).to_string();
        Some(match action {
            Action::Emit { host } | Action::Reply { host } => of_host(host)?,
            Action::Deliver { from, to }
            | Action::Lose { from, to }
            | Action::Double { from, to } => {
                let frame = *self.channels[fixed.link(from, to)?].front()?;
                describe(frames.bytes(frame), fixed)
            }
            Action::Decide { switch } => {
                told(&self.to_controller[fixed.place(switch)?].front()?.body)
            }
            Action::Obey { switch, answer } => {
                let sent = &self.to_switch[fixed.place(switch)?];
                told(&sent.iter().find(|sent| sent.answer == *answer)?.body)
            }
            _ => return None,
        })
    }

    /// Between whom an action is.
    fn between(&self, action: &Action, fixed: &Fixed) -> Option<Vec<String>> {
        const CONTROLLER: &str = "controller";
        let both = |from: &str, to: &str| vec![from.to_owned(), to.to_owned()];
        Some(match action {
            Action::Emit { host } | Action::Reply { host } | Action::Move { host } => {
                let place = fixed.host(host)?;
                let is_moving = usize::from(matches!(action, Action::Move { .. }));
                let at = usize::from(self.places[place]) + is_moving;
                let (switch, _) = fixed.hosts[place].places.get(at)?;
                both(host, &fixed.switches[*switch].name)
            }
            Action::Deliver { from, to }
            | Action::Lose { from, to }
            | Action::Double { from, to }
            | Action::Cut { from, to } => {
                let link = &fixed.links[fixed.link(from, to)?];
                both(&fixed.switches[link.from].name, &fixed.switches[link.to].name)
            }
            Action::Decide { switch } => both(switch, CONTROLLER),
            Action::Obey { switch, .. } => both(CONTROLLER, switch),
            Action::HandOver { switch, .. }
            | Action::Expire { switch, .. }
            | Action::Fail { switch } => vec![switch.clone()],
            Action::Crash | Action::Timer { .. } => vec![CONTROLLER.to_owned()],
        })
    }

    /// A host sends the next packet of its script.
    fn emit(&mut self, host: &str, fixed: &Fixed, frames: &mut Interned) -> Option<()> {
        let place = fixed.host(host)?;
        let to = *fixed.hosts[place].script.get(usize::from(self.sent[place]))?;
        self.sent[place] += 1;
        self.send(place, to, PacketKind::Sent, fixed, frames)
    }

    fn reply(&mut self, host: &str, fixed: &Fixed, frames: &mut Interned) -> Option<()> {
        let place = fixed.host(host)?;
        let to = self.owed[place].pop_front()?;
        self.send(place, to, PacketKind::Reply, fixed, frames)
    }

    /// A host sends a packet, which is at its switch at once.
    pub(super) fn send(
        &mut self,
        place: usize,
        to: u16,
        kind: PacketKind,
        fixed: &Fixed,
        frames: &mut Interned,
    ) -> Option<()> {
        self.numbers[place] = self.numbers[place].checked_add(1)?;
        let made = fixed.packet(place, to, kind, self.numbers[place].into());
        let frame = made.store(frames).ok()?;
        let host = &fixed.hosts[place];
        let (switch, port) = *host.places.get(usize::from(self.places[place]))?;
        if kind != PacketKind::Announcement {
            self.remember_sent(made.name, fixed);
        }
        self.take_in(switch, port, frame, fixed, frames);
        Some(())
    }

    fn remember_sent(&mut self, name: PacketName, fixed: &Fixed) {
        let pair = (name.from, name.to);
        let has_moved = self.places.get(usize::from(name.to)).is_some_and(|place| *place > 0);
        let is_excused =
            has_moved && !self.history.heard.contains(&pair) || fixed.forbidden.contains(&pair);
        if fixed.looks_at(Property::NoBlackHoles) && name.to != NOBODY && !is_excused {
            self.history.demand(name);
        }
        let reached = |pair| self.history.reached.contains(&pair);
        if reached(pair) && reached((name.to, name.from)) {
            self.history.strict.insert(name);
        }
    }

    fn deliver(
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
    fn take_in(
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
    fn fire(
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

    /// The controller takes the first message of a switch; its answer is on its way at once.
    fn decide(&mut self, place: usize, fixed: &Fixed) -> Option<()> {
        let heard = self.to_controller[place].pop_front()?;
        self.look_at_question(place, &heard, fixed);
        self.answers += 1;
        let datapath = fixed.datapath(place);
        if matches!(*heard.body, Body::BarrierReply) {
            let released = self.gate.confirmed(datapath, heard.xid);
            for (datapath, xid, body) in released {
                self.on_its_way(datapath, xid, body, heard.flow, fixed);
            }
            return Some(());
        }
        let reaction = self.controller.receive(NOW, datapath, &heard.body);
        self.react(Some(datapath), reaction, flow_of(&heard.body), fixed);
        Some(())
    }

    /// What a question of a switch says about properties.
    fn look_at_question(&mut self, place: usize, heard: &OnItsWay, fixed: &Fixed) {
        let name = &fixed.switches[place].name;
        if let Body::Error(error) = &*heard.body {
            let text = format!("{name} refuses a message: {error}");
            self.findings.push((Property::Completes, text.clone()));
            self.findings.push((Property::NoRefusal, text));
        }
        let flow = flow_of(&heard.body).filter(|(_, dst)| dst[0] & 1 == 0);
        if let Some(flow) = flow.filter(|_| fixed.looks_at(Property::DirectPaths)) {
            let first = *self.history.asked.entry(flow).or_insert(place);
            if first != place {
                let before = &fixed.switches[first].name;
                let text = format!("{name} asks about what {before} has asked about before");
                self.findings.push((Property::DirectPaths, text));
            }
        }
    }

    /// What the application has caused is on its way; `asked_by` is the switch that it answers.
    pub(super) fn react(
        &mut self,
        asked_by: Option<u64>,
        reaction: Reaction,
        flow: Option<Flow>,
        fixed: &Fixed,
    ) {
        if let Some(fault) = reaction.fault {
            self.findings.push((Property::NoFailure, format!("the application fails: {fault}")));
        }
        let messages = match (fixed.protocol, asked_by) {
            (Protocol::OpenflowBarrier, Some(asked_by)) => {
                self.gate.admit(asked_by, reaction.messages)
            }
            _ => reaction.messages.into_iter().map(|(to, body)| (to, 0, body)).collect(),
        };
        for (datapath, xid, body) in messages {
            self.on_its_way(datapath, xid, body, flow, fixed);
        }
    }

    pub(super) fn on_its_way(
        &mut self,
        datapath: u64,
        xid: u32,
        body: Body,
        flow: Option<Flow>,
        fixed: &Fixed,
    ) {
        if let Some(place) = fixed.of_datapath(datapath) {
            let sent = OnItsWay::new(xid, body, self.answers, flow);
            self.to_switch[place].push_back(sent);
        }
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

    /// A frame leaves a switch by a port.
    fn leave(&mut self, place: usize, port: u32, frame: FrameId, fixed: &Fixed, frames: &Interned) {
        if let Some(link) = fixed.link_from(place, port) {
            if !self.cut[link] {
                self.channels[link].push_back(frame);
            }
            return;
        }
        let is_there = |host: &usize| {
            fixed.hosts[*host].places.get(usize::from(self.places[*host])) == Some(&(place, port))
        };
        let host = (0..fixed.hosts.len()).find(is_there);
        if let (Some(host), Some(name)) = (host, PacketName::of(frames.bytes(frame))) {
            self.arrive(host, name, fixed);
        }
    }

    fn arrive(&mut self, host: usize, name: PacketName, fixed: &Fixed) {
        let own = index(host);
        self.arrivals[host] = true;
        let at = || fixed.hosts[host].name.clone();
        if fixed.forbidden.contains(&(name.from, own)) {
            let text = format!("{} gets {}", at(), fixed.describe(name));
            self.findings.push((Property::Policy, text));
        }
        if name.kind == PacketKind::Announcement {
            if fixed.looks_at(Property::NoBlackHoles) {
                self.history.heard.insert((own, name.from));
            }
            return;
        }
        let keeps = |property| fixed.looks_at(property);
        use Property as P;
        if [P::NoDuplicate, P::InOrder, P::OneTarget, P::Completes].into_iter().any(keeps) {
            let got = &mut self.received[host];
            let place =
                if keeps(P::InOrder) { got.len() } else { got.partition_point(|it| *it <= name) };
            got.insert(place, name);
        }
        if name.to != own {
            return;
        }
        self.has_received[host] = fixed.hosts[host].places.len() > 1;
        self.history.arrived(name);
        if fixed.looks_at(P::StrictDirectPaths) {
            self.history.reached.insert((name.from, own));
        }
        if fixed.hosts[host].replies && name.kind == PacketKind::Sent {
            self.owed[host].push_back(name.from);
        }
    }

    /// A switch says something.
    fn hear(&mut self, place: usize, message: Message, fixed: &Fixed) {
        let Message { xid, body } = message;
        let name = || fixed.switches[place].name.clone();
        let flow = flow_of(&body);
        if flow.is_some_and(|flow| self.is_known(place, flow)) {
            let text = format!("{} asks although an answer is on its way", name());
            self.findings.push((Property::OnePacketIn, text));
        }
        let packet = packet_in(&body).and_then(|it| PacketName::of(&it.data));
        if let Some(packet) = packet.filter(|packet| self.history.strict.contains(packet)) {
            let text = format!("{} asks about {}", name(), fixed.describe(packet));
            self.findings.push((Property::StrictDirectPaths, text));
        }
        // Only a barrier reply is found again by its number.
        let xid = if matches!(body, Body::BarrierReply) { xid } else { 0 };
        self.to_controller[place].push_back(OnItsWay::new(xid, body, 0, None));
    }

    /// Whether a flow was asked about already, and the switch not yet told everything.
    fn is_known(&self, place: usize, flow: Flow) -> bool {
        self.to_controller[place].iter().any(|heard| flow_of(&heard.body) == Some(flow))
            || self.to_switch[place].iter().any(|sent| sent.flow == Some(flow))
    }

    /// Messages in both directions, and the order of answers among themselves.
    fn identify_messages(&self, hasher: &mut impl Hasher) {
        for (place, switch) in self.switches.iter().enumerate() {
            let (heard, told) = (&self.to_controller[place], &self.to_switch[place]);
            (heard.len(), told.len()).hash(hasher);
            heard.iter().for_each(|message| message.identify(switch, hasher));
            let mut answers: Vec<u32> = Vec::new();
            for message in told {
                let rank = answers.iter().position(|answer| *answer == message.answer);
                rank.hash(hasher);
                if rank.is_none() {
                    answers.push(message.answer);
                }
                message.identify(switch, hasher);
            }
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

impl Explored for World {
    type Fixed = Fixed;
    type Action = Action;
    type Step = Step;
    type Finding = Finding;

    fn fingerprint(&self, frames: &Interned) -> u128 {
        let mut hasher = SipHasher24::new();
        self.digests.hash(&mut hasher);
        for channel in &self.channels {
            channel.len().hash(&mut hasher);
            channel.iter().for_each(|&frame| frames.identity(frame).hash(&mut hasher));
        }
        (&self.cut, &self.sent, &self.numbers, &self.owed).hash(&mut hasher);
        (&self.places, &self.has_received, &self.received).hash(&mut hasher);
        self.identify_messages(&mut hasher);
        (&self.controller, &self.gate, &self.left, &self.history).hash(&mut hasher);
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
        next.arrivals.fill(false);
        match action {
            Action::Emit { host } => next.emit(host, fixed, frames)?,
            Action::Reply { host } => next.reply(host, fixed, frames)?,
            Action::Move { host } => next.move_host(host, fixed, frames)?,
            Action::HandOver { switch, port } => {
                next.fire(switch, TimerId::PortReady(*port), fixed, frames)?;
            }
            Action::Expire { switch, buffer } => {
                next.left.timeouts = next.left.timeouts.checked_sub(1)?;
                next.fire(switch, TimerId::Buffer(*buffer), fixed, frames)?;
            }
            Action::Deliver { from, to } => next.deliver(from, to, fixed, frames)?,
            Action::Lose { from, to } => next.lose(fixed.link(from, to)?, frames)?,
            Action::Double { from, to } => next.double(fixed.link(from, to)?, frames)?,
            Action::Cut { from, to } => next.cut(fixed.link(from, to)?, fixed, frames)?,
            Action::Decide { switch } => next.decide(fixed.place(switch)?, fixed)?,
            Action::Obey { switch, answer } => next.obey(switch, *answer, fixed, frames)?,
            Action::Fail { switch } => next.fail(fixed.place(switch)?, fixed, frames)?,
            Action::Crash => next.crash(fixed, frames)?,
            Action::Timer { name } => next.timer(name, fixed)?,
        }
        Some(next)
    }

    fn step(&self, action: &Action, next: &Self, fixed: &Fixed, frames: &Interned) -> Step {
        let note = self.note(action, next, fixed, frames).unwrap_or_default();
        let reached = (0..fixed.hosts.len()).filter(|host| next.arrivals[*host]);
        Step {
            action: action.clone(),
            note,
            between: self.between(action, fixed).unwrap_or_default(),
            reaches: reached.map(|host| fixed.hosts[host].name.clone()).collect(),
        }
    }

    fn check(&self, next: &Self, _: bool, fixed: &Fixed) -> Option<Finding> {
        check_step(next, fixed)
    }
}

/// A frame in words.
fn describe(bytes: &[u8], fixed: &Fixed) -> String {
    match (CommandFrame::parse(bytes), PacketName::of(bytes)) {
        (Ok(command), _) => command.repr().to_string(),
        (_, Some(name)) => fixed.describe(name),
        _ => "a frame".to_owned(),
    }
}
