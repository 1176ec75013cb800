//! The run: events in their order, each with an effect on one switch, the controller or a host.

use super::RunSettings;
use super::counts::{AppliedRun, SwitchRow};
use super::traffic::{Due, drawn, made};
use crate::explore::reactive::{
    NOBODY, PacketKind, PacketName, Protocol, Topology, messages, packet_in,
};
use crate::races::Record;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use tenuto_controller::reactive::{BarrierGate, Reaction, Reactive, ReactiveApp};
use tenuto_dataplane::switch::{Switch, SwitchEvent};
use tenuto_dataplane::{Effects, FrameId, FramePool, Frames};
use tenuto_model::Network;
use tenuto_openflow::{AttendreConfig, Body, Message};
use tenuto_units::{Instant, Rate, Span};

/// Frames on their way and in switches at once; one more is a failure of the run.
const FRAMES_MAX: usize = 262_144;
/// Events of a run at most: a packet that circles would never end it.
const EVENTS_MAX: u64 = 50_000_000;
/// FCS, preamble, start of frame and gap between frames.
const WIRE_BYTES: u64 = 24;

enum Event {
    Send(PacketName),
    AtSwitch { place: usize, port: u32, frame: FrameId },
    AtHost { host: usize, frame: FrameId },
    AtController { place: usize, message: Box<Message> },
    Decide { place: usize, message: Box<Message> },
    AtAgent { place: usize, message: Box<Message> },
    Obey { place: usize, bytes: Vec<u8> },
}

/// The run as far as it has come.
struct Run<'a> {
    settings: &'a RunSettings,
    topology: Topology,
    switches: Vec<Switch>,
    frames: FramePool,
    controller: Reactive<Box<dyn ReactiveApp>>,
    gate: BarrierGate,
    /// Packets that questions were about, for what is told once barriers are confirmed.
    about: BTreeMap<u64, VecDeque<PacketName>>,
    events: BTreeMap<(Instant, u64), Event>,
    next: u64,
    /// When each host, the controller and each agent are free again.
    host_free: Vec<Instant>,
    controller_free: Instant,
    agent_free: Vec<Instant>,
    /// Packets that have arrived.
    arrived: BTreeSet<PacketName>,
    found: AppliedRun,
}

/// Runs an application on a network.
///
/// # Errors
/// In words, if the settings do not fit the network, or more is on its way than a run holds.
pub fn run(
    network: &Network,
    app: Box<dyn ReactiveApp>,
    settings: &RunSettings,
) -> Result<AppliedRun, String> {
    let topology = Topology::of(network, &[])?;
    let (flows, packets) = drawn(&topology, settings)?;
    for name in &settings.replies {
        topology.host(name)?;
    }
    let switch = |at: &crate::explore::reactive::SwitchAt| Switch::new(Arc::clone(&at.config));
    let row = |at: &crate::explore::reactive::SwitchAt| SwitchRow {
        switch: at.name.clone(),
        ..SwitchRow::default()
    };
    let mut run = Run {
        settings,
        switches: topology.switches.iter().map(switch).collect(),
        frames: FramePool::new(FRAMES_MAX),
        controller: Reactive::new(app, 1),
        gate: BarrierGate::new(),
        about: BTreeMap::new(),
        events: BTreeMap::new(),
        next: 0,
        host_free: vec![Instant::ZERO; topology.hosts.len()],
        controller_free: Instant::ZERO,
        agent_free: vec![Instant::ZERO; topology.switches.len()],
        arrived: BTreeSet::new(),
        found: AppliedRun {
            switches: topology.switches.iter().map(row).collect(),
            flows,
            ..AppliedRun::default()
        },
        topology,
    };
    run.connect();
    let last = packets.iter().map(|due| due.at).max().unwrap_or(Instant::ZERO);
    for Due { at, name } in packets {
        run.schedule(at, Event::Send(name));
    }
    run.play(last + settings.settle)?;
    Ok(run.found)
}

impl Run<'_> {
    fn schedule(&mut self, at: Instant, event: Event) {
        self.events.insert((at, self.next), event);
        self.next += 1;
    }

    /// Every switch connects at the beginning.
    fn connect(&mut self) {
        let config = AttendreConfig { is_on: true, meter_id: 0, timeout_ns: 0 };
        let attendre = (self.settings.protocol == Protocol::Attendre).then_some(config);
        for place in 0..self.switches.len() {
            let mut fx = Effects::new();
            self.switches[place].connected(&mut fx);
            let datapath = self.topology.switches[place].config.datapath_id;
            for body in self.controller.connected(datapath, attendre) {
                self.tell(Instant::ZERO, datapath, 0, body, None);
            }
        }
    }

    fn play(&mut self, end: Instant) -> Result<(), String> {
        for _ in 0..EVENTS_MAX {
            let event = self.events.keys().next().map(|(at, _)| *at);
            let of_switch = (0..self.switches.len())
                .filter_map(|place| Some((self.switches[place].next_deadline()?.1, place)))
                .min();
            let of_app = self.controller.next_deadline().map(|(name, at)| (at, name.to_owned()));
            let first = [event, of_switch.map(|it| it.0), of_app.as_ref().map(|it| it.0)];
            let first = first.into_iter().flatten().min();
            let Some(now) = first.filter(|now| *now <= end) else {
                return self.close(end);
            };
            if let Some((_, place)) = of_switch.filter(|(at, _)| *at == now) {
                self.act(now, place, |switch, frames, fx| switch.fire_due(now, frames, fx));
            } else if let Some((_, name)) = of_app.filter(|(at, _)| *at == now) {
                let reaction = self.controller.fire(&name, now);
                self.react(now, None, reaction, None, None);
            } else if let Some((_, event)) = self.events.pop_first() {
                self.happen(now, event)?;
            }
        }
        Err(format!("{EVENTS_MAX} events and no end: packets may circle"))
    }

    fn close(&mut self, end: Instant) -> Result<(), String> {
        self.found.ended_ns = end.as_ns();
        for (row, switch) in self.found.switches.iter_mut().zip(&self.switches) {
            row.waiting = switch.packets_kept() + switch.buffered().1;
        }
        Ok(())
    }

    fn happen(&mut self, now: Instant, event: Event) -> Result<(), String> {
        match event {
            Event::Send(name) => self.send(now, name)?,
            Event::AtSwitch { place, port, frame } => {
                self.act(now, place, |switch, frames, fx| {
                    switch.receive(now, now, port, frame, frames, fx);
                });
            }
            Event::AtHost { host, frame } => {
                let name = PacketName::of(self.frames.bytes(frame));
                self.frames.release(frame);
                if let Some(name) = name {
                    self.arrive(now, host, name)?;
                }
            }
            Event::AtController { place, message } => {
                self.controller_free = self.controller_free.max(now) + self.settings.think;
                self.schedule(self.controller_free, Event::Decide { place, message });
            }
            Event::Decide { place, message } => self.decide(now, place, &message),
            Event::AtAgent { place, message } => {
                self.agent_free[place] = self.agent_free[place].max(now) + self.settings.command;
                let bytes = message.to_bytes();
                self.schedule(self.agent_free[place], Event::Obey { place, bytes });
            }
            Event::Obey { place, bytes } => {
                self.act(now, place, |switch, frames, fx| {
                    switch.control(now, &bytes, frames, fx);
                });
            }
        }
        Ok(())
    }

    /// A host sends a packet as soon as its line is free.
    fn send(&mut self, now: Instant, name: PacketName) -> Result<(), String> {
        let host = usize::from(name.from);
        let Some(&(place, port)) = self.topology.hosts[host].places.first() else { return Ok(()) };
        let made = made(name, &self.topology, self.settings);
        let frame = made.store(&mut self.frames)?;
        let bytes = self.frames.bytes(frame).len();
        let (rate, propagation_ns) = self.topology.lines[&(place, port)];
        let sent = self.host_free[host].max(now) + wire_time(bytes, rate);
        self.host_free[host] = sent;
        if let Some(flow) = self.found.flows.get_mut(name.flow as usize) {
            match name.kind {
                PacketKind::Reply => flow.replies_sent += 1,
                _ => flow.sent += 1,
            }
        }
        let at = sent + Span::from_ns(propagation_ns);
        self.schedule(at, Event::AtSwitch { place, port, frame });
        Ok(())
    }

    fn arrive(&mut self, now: Instant, host: usize, name: PacketName) -> Result<(), String> {
        let is_service = name.to == NOBODY && usize::from(name.from) != host;
        if usize::from(name.to) != host && !is_service {
            return Ok(());
        }
        let is_first = self.arrived.insert(name);
        let Some(flow) = self.found.flows.get_mut(name.flow as usize) else { return Ok(()) };
        if !is_first {
            flow.duplicates += 1;
            return Ok(());
        }
        if name.kind == PacketKind::Reply {
            flow.replies_received += 1;
            if name.number == 0 {
                flow.round_trip_ns = Some(now.since(flow.began).as_ns());
            }
            return Ok(());
        }
        flow.received += 1;
        if name.number == 0 {
            flow.setup_ns = Some(now.since(flow.began).as_ns());
        }
        if self.settings.replies.contains(&self.topology.hosts[host].name) {
            let from = u16::try_from(host).unwrap_or(NOBODY);
            let reply = PacketName { from, to: name.from, kind: PacketKind::Reply, ..name };
            return self.send(now, reply);
        }
        Ok(())
    }

    fn decide(&mut self, now: Instant, place: usize, message: &Message) {
        let datapath = self.topology.switches[place].config.datapath_id;
        let heard = self.note(now, datapath, true, None, &message.body);
        if matches!(message.body, Body::Error(_)) {
            self.found.switches[place].refused += 1;
        }
        if matches!(message.body, Body::BarrierReply) {
            for (datapath, xid, body) in self.gate.confirmed(datapath, message.xid) {
                let about = self.about.get_mut(&datapath).and_then(VecDeque::pop_front);
                self.note(now, datapath, false, heard, &body);
                self.tell(now, datapath, xid, body, about);
            }
            return;
        }
        let about = packet_in(&message.body).and_then(|it| PacketName::of(&it.data));
        if packet_in(&message.body).is_some() {
            self.found.switches[place].packet_ins += 1;
        }
        if let Some(flow) = about.and_then(|name| self.found.flows.get_mut(name.flow as usize)) {
            flow.packet_ins += 1;
        }
        let reaction = self.controller.receive(now, datapath, &message.body);
        self.react(now, Some(datapath), reaction, about, heard);
    }

    /// Keeps a message of the controller, if that is asked for; its place.
    fn note(
        &mut self,
        now: Instant,
        datapath: u64,
        is_heard: bool,
        because: Option<u64>,
        body: &Body,
    ) -> Option<u64> {
        let place = self.found.record.len() as u64;
        self.settings.has_record.then(|| {
            let record = Record::new(now.as_ns(), datapath, is_heard, because, body);
            self.found.record.push(record);
            place
        })
    }

    fn react(
        &mut self,
        now: Instant,
        asked_by: Option<u64>,
        reaction: Reaction,
        about: Option<PacketName>,
        because: Option<u64>,
    ) {
        let Reaction { messages, notes, fault } = reaction;
        self.found.note(notes, fault);
        let messages = match (self.settings.protocol, asked_by) {
            (Protocol::OpenflowBarrier, Some(asked_by)) => self.admit(asked_by, messages, about),
            _ => messages.into_iter().map(|(to, body)| (to, 0, body)).collect(),
        };
        for (datapath, xid, body) in messages {
            self.note(now, datapath, false, because, &body);
            self.tell(now, datapath, xid, body, about);
        }
    }

    /// What waits for barriers is about the same packet when it is told.
    fn admit(
        &mut self,
        asked_by: u64,
        messages: Vec<(u64, Body)>,
        about: Option<PacketName>,
    ) -> Vec<(u64, u32, Body)> {
        let own = messages.iter().filter(|(to, _)| *to == asked_by).count();
        let now = self.gate.admit(asked_by, messages);
        let is_held = !now.iter().any(|(to, _, _)| *to == asked_by);
        if let (Some(name), true) = (about, is_held) {
            self.about.entry(asked_by).or_default().extend(std::iter::repeat_n(name, own));
        }
        now
    }

    fn tell(
        &mut self,
        now: Instant,
        datapath: u64,
        xid: u32,
        body: Body,
        about: Option<PacketName>,
    ) {
        let switches = &self.topology.switches;
        let found = switches.iter().position(|it| it.config.datapath_id == datapath);
        let Some(place) = found else { return };
        self.found.told(place, &body, about);
        let message = Box::new(Message::new(xid, body));
        self.schedule(now + self.settings.control_delay, Event::AtAgent { place, message });
    }

    /// Calls on one switch and schedules what it causes.
    fn act(
        &mut self,
        now: Instant,
        place: usize,
        call: impl FnOnce(&mut Switch, &mut FramePool, &mut Effects<SwitchEvent>),
    ) {
        let mut fx = Effects::new();
        call(&mut self.switches[place], &mut self.frames, &mut fx);
        for sent in &fx.transmits {
            self.leave(place, sent.port, sent.departure, sent.frame);
        }
        for drop in &fx.drops {
            let reason = format!("{:?}", drop.reason);
            *self.found.switches[place].drops.entry(reason).or_default() += 1;
        }
        for message in messages(&fx.control) {
            let message = Box::new(message);
            let at = now + self.settings.control_delay;
            self.schedule(at, Event::AtController { place, message });
        }
    }

    fn leave(&mut self, place: usize, port: u32, departure: Instant, frame: FrameId) {
        let line = self.topology.lines.get(&(place, port));
        let at = departure + Span::from_ns(line.map_or(0, |line| line.1));
        let link = self.topology.links.iter().find(|l| (l.from, l.from_port) == (place, port));
        if let Some(link) = link {
            let (place, port) = (link.to, link.to_port);
            return self.schedule(at, Event::AtSwitch { place, port, frame });
        }
        let is_there =
            |host: &crate::explore::reactive::Host| host.places.first() == Some(&(place, port));
        match self.topology.hosts.iter().position(is_there) {
            Some(host) => self.schedule(at, Event::AtHost { host, frame }),
            None => self.frames.release(frame),
        }
    }
}

fn wire_time(bytes: usize, rate: Rate) -> Span {
    let bits = (bytes as u128 + u128::from(WIRE_BYTES)) * 8;
    let ns = (bits * 1_000_000_000).div_ceil(rate.as_bps().into());
    Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}
