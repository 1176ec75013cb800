//! What goes wrong within a budget, and hosts that move.

use super::super::frames::Interned;
use super::fixed::{Fixed, NOW, index};
use super::messages::messages;
use super::packets::{NOBODY, PacketKind, PacketName};
use super::property::Property;
use super::setup::Protocol;
use super::world::World;
use std::sync::Arc;
use tenuto_controller::reactive::{BarrierGate, Reactive};
use tenuto_dataplane::switch::Switch;
use tenuto_dataplane::{Effects, Frames};
use tenuto_openflow::{AttendreConfig, Body, Message};
use tenuto_wire::CommandFrame;

/// Messages that a switch and the controller exchange at most when they connect.
const JOINING_MAX: usize = 256;

impl Fixed {
    pub(super) fn new_switch(&self, place: usize) -> Switch {
        let mut switch = Switch::new(Arc::clone(&self.switches[place].config));
        switch.set_attendre_mutant(self.mutant);
        switch
    }
}

impl World {
    /// A switch connects; what it and the application tell each other then takes no time.
    pub(super) fn join(&mut self, place: usize, fixed: &Fixed, frames: &mut Interned) {
        self.act(place, fixed, frames, |switch, _, fx| {
            switch.connected(fx);
            fx.clear();
        });
        // Short against the second that a switch keeps a packet for the controller: however often a
        // timer fires, time stands still for that.
        let config = AttendreConfig { is_on: true, meter_id: 0, timeout_ns: 1_000_000 };
        let attendre = (fixed.protocol == Protocol::Attendre).then_some(config);
        let datapath = fixed.datapath(place);
        let bodies = self.controller.connected(datapath, attendre);
        let mut waiting: Vec<(u64, Body)> = bodies.into_iter().map(|it| (datapath, it)).collect();
        for _ in 0..JOINING_MAX {
            if waiting.is_empty() {
                return;
            }
            for (to, body) in std::mem::take(&mut waiting) {
                let Some(target) = fixed.of_datapath(to) else { continue };
                for said in self.say(target, &body, fixed, frames) {
                    let reaction = self.controller.receive(NOW, to, &said);
                    if let Body::Error(error) = &said {
                        let name = &fixed.switches[target].name;
                        let text = format!("{name} refuses a message: {error}");
                        self.findings.push((Property::NoRefusal, text));
                    }
                    if let Some(fault) = &reaction.fault {
                        let text = format!("the application fails: {fault}");
                        self.findings.push((Property::NoFailure, text));
                    }
                    waiting.extend(reaction.messages);
                }
            }
        }
    }

    /// Tells a switch something, and takes its replies at once.
    fn say(
        &mut self,
        place: usize,
        body: &Body,
        fixed: &Fixed,
        frames: &mut Interned,
    ) -> Vec<Body> {
        let bytes = Message::new(0, body.clone()).to_bytes();
        let mut replies = Vec::new();
        self.act(place, fixed, frames, |switch, frames, fx| {
            let mut own = Effects::new();
            switch.control(NOW, &bytes, frames, &mut own);
            replies = messages(&own.control).into_iter().map(|message| message.body).collect();
            fx.transmits.append(&mut own.transmits);
        });
        replies
    }

    /// A host is elsewhere, and tells all others.
    pub(super) fn move_host(
        &mut self,
        host: &str,
        fixed: &Fixed,
        frames: &mut Interned,
    ) -> Option<()> {
        let place = fixed.host(host)?;
        self.places[place] = self.places[place].checked_add(1)?;
        // What is on its way to its old place is excused.
        self.history.due.retain(|name| name.to != index(place));
        self.send(place, NOBODY, PacketKind::Announcement, fixed, frames)
    }

    /// The first frame on a link is lost.
    pub(super) fn lose(&mut self, link: usize, frames: &Interned) -> Option<()> {
        let frame = self.channels[link].pop_front()?;
        let is_command = CommandFrame::parse(frames.bytes(frame)).is_ok();
        let left = if is_command { &mut self.left.lost_commands } else { &mut self.left.losses };
        *left = left.checked_sub(1)?;
        if let Some(name) = PacketName::of(frames.bytes(frame)) {
            self.history.arrived(name);
        }
        Some(())
    }

    /// The first frame on a link comes twice.
    pub(super) fn double(&mut self, link: usize, frames: &Interned) -> Option<()> {
        self.left.duplicates = self.left.duplicates.checked_sub(1)?;
        let frame = *self.channels[link].front()?;
        self.channels[link].push_front(frame);
        if let Some(name) = PacketName::of(frames.bytes(frame)) {
            self.history.doubled.insert(name);
        }
        Some(())
    }

    /// A link is cut for good: frames on it are lost, and both ends tell the controller.
    pub(super) fn cut(&mut self, link: usize, fixed: &Fixed, frames: &mut Interned) -> Option<()> {
        self.left.link_failures = self.left.link_failures.checked_sub(1)?;
        let there = &fixed.links[link];
        let back = fixed.link_from(there.to, there.to_port)?;
        self.history.due.clear();
        for place in [link, back] {
            self.cut[place] = true;
            self.channels[place].clear();
            let end = &fixed.links[place];
            self.act(end.from, fixed, frames, |switch, _, fx| {
                switch.set_link(end.from_port, false, fx);
            });
        }
        Some(())
    }

    /// A switch starts again with empty tables, and connects.
    pub(super) fn fail(
        &mut self,
        place: usize,
        fixed: &Fixed,
        frames: &mut Interned,
    ) -> Option<()> {
        self.left.switch_failures = self.left.switch_failures.checked_sub(1)?;
        self.history.due.clear();
        self.to_controller[place].clear();
        self.to_switch[place].clear();
        self.switches[place] = Arc::new(fixed.new_switch(place));
        let datapath = fixed.datapath(place);
        self.answers += 1;
        for (datapath, xid, body) in self.gate.forget(datapath) {
            self.on_its_way(datapath, xid, body, None, fixed);
        }
        let reaction = self.controller.switch_down(NOW, datapath);
        self.react(None, reaction, None, fixed);
        // What was for the switch that is gone is lost.
        self.to_switch[place].clear();
        self.join(place, fixed, frames);
        for (link, at) in fixed.links.iter().enumerate() {
            if at.from == place && self.cut[link] {
                self.act(place, fixed, frames, |switch, _, fx| {
                    switch.set_link(at.from_port, false, fx);
                });
            }
        }
        Some(())
    }

    /// The controller starts again; every switch connects anew, and what was on its way is lost.
    pub(super) fn crash(&mut self, fixed: &Fixed, frames: &mut Interned) -> Option<()> {
        self.left.controller_crashes = self.left.controller_crashes.checked_sub(1)?;
        self.history.due.clear();
        self.history.is_excused = true;
        self.generation += 1;
        self.controller = Reactive::new(fixed.app.clone(), self.generation);
        self.gate = BarrierGate::new();
        self.to_controller.iter_mut().for_each(std::collections::VecDeque::clear);
        self.to_switch.iter_mut().for_each(std::collections::VecDeque::clear);
        for place in 0..fixed.switches.len() {
            self.join(place, fixed, frames);
        }
        Some(())
    }

    /// A timer of the application is due.
    pub(super) fn timer(&mut self, name: &str, fixed: &Fixed) -> Option<()> {
        self.left.timers = self.left.timers.checked_sub(1)?;
        self.answers += 1;
        let reaction = self.controller.fire(name, NOW);
        self.react(None, reaction, None, fixed);
        Some(())
    }
}
