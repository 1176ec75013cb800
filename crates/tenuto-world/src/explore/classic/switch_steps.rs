//! What switches do: look packets up, carry commands out, let packets wait.

use super::application::Application;
use super::memory::Event;
use super::message::{MessageSet, Order, PacketIn, Reason, Report, Sent};
use super::packet::Packet;
use super::property::Property;
use super::rule::{Action, Actions, Match, Rule};
use super::setup::Protocol;
use super::step::Step;
use super::switch::{Stored, WaitEntry};
use super::transition::Enabled;

impl<A: Application> Step<'_, A> {
    /// A switch's transition; whether it is no longer enabled.
    pub(super) fn switch(&mut self, switch: usize, enabled: Enabled) -> bool {
        match enabled {
            Enabled::ProcessCommand => {
                self.process_command(switch, 0);
                self.switch_mut(switch).commands.is_empty()
            }
            Enabled::OvertakeCommand => self.overtake(switch),
            Enabled::DuplicatePacket(port) => self.duplicate(switch, port),
            _ => self.process_packets(switch),
        }
    }

    /// The first packet of every port is looked up, in one transition.
    fn process_packets(&mut self, switch: usize) -> bool {
        let mut has_more = false;
        for port in 0..self.switch_mut(switch).queues.len() {
            let queue = &mut self.switch_mut(switch).queues[port];
            let Some(packet) = queue.pop() else { continue };
            has_more |= !queue.is_empty();
            let port = u8::try_from(port).unwrap_or(u8::MAX);
            self.tell(&Event::Processed { switch, port, packet: &packet });
            self.take_in(switch, packet, port);
        }
        !has_more
    }

    /// Reads an Attendre command off a packet, then looks the packet up.
    fn take_in(&mut self, switch: usize, packet: Packet, port: u8) {
        if let Some(version) = packet.command {
            let state = self.switch_mut(switch);
            let bare = Packet { command: None, ..packet };
            if !state.is_complete(version) && state.wait_entry(&bare, port).is_none() {
                state.await_commands(&bare, port, version);
            }
            return self.look_up(switch, bare, port);
        }
        self.look_up(switch, packet, port);
    }

    /// A packet waits, follows a rule, or is asked about.
    fn look_up(&mut self, switch: usize, packet: Packet, port: u8) {
        let is_attendre = self.setup.protocol == Protocol::Attendre;
        if is_attendre && let Some(wait) = self.switch_mut(switch).wait_entry(&packet, port) {
            return wait.packets.push(Stored { buffer: 0, packet, port });
        }
        if self.follow_rule(switch, packet, port) {
            return;
        }
        if is_attendre {
            self.switch_mut(switch).await_commands(&packet, port, 0);
        }
        self.ask(switch, packet, port, Reason::NoMatch);
    }

    fn ask(&mut self, switch: usize, packet: Packet, port: u8, reason: Reason) {
        let ids = self.setup.counting.buffer_ids;
        let buffer = self.switch_mut(switch).store(packet, port, ids);
        self.report(switch, Report::PacketIn(PacketIn { buffer, packet, port, reason }));
    }

    /// Whether a rule matched. The first packet takes a rule's command along.
    fn follow_rule(&mut self, switch: usize, packet: Packet, port: u8) -> bool {
        let state = self.switch_mut(switch);
        let Some(at) = state.lookup(&packet, port) else { return false };
        let rule = state.rules[at];
        state.rules[at].encapsulates = None;
        let command = packet.command.or(rule.encapsulates);
        self.carry_out(switch, Packet { command, ..packet }, rule.actions, port);
        true
    }

    fn carry_out(&mut self, switch: usize, mut packet: Packet, actions: Actions, port: u8) {
        let before = packet;
        for action in actions.iter() {
            match action {
                Action::Output(out) => self.send_out(switch, packet, out.into()),
                Action::InPort => self.send_out(switch, packet, port.into()),
                Action::Flood => self.flood(switch, packet, port.into()),
                Action::Controller => self.ask(switch, packet, port, Reason::Action),
                Action::SetSource(mac) => packet.source = mac,
                Action::SetDestination(mac) => packet.destination = mac,
                Action::SetIpSource(ip) => packet.rewrite_ip(Some(ip), None),
                Action::SetIpDestination(ip) => packet.rewrite_ip(None, Some(ip)),
            }
        }
        if packet != before {
            self.tell(&Event::Rewritten { packet: &packet });
        }
    }

    fn flood(&mut self, switch: usize, packet: Packet, port: usize) {
        for out in (0..self.setup.switches[switch].peers.len()).filter(|out| *out != port) {
            self.send_out(switch, packet, out);
        }
    }

    fn send_out(&mut self, switch: usize, packet: Packet, port: usize) {
        if let Some(peer) = self.switch_peer(switch, port) {
            self.put(peer, packet);
        }
    }

    /// The second command goes first, unless a barrier is one of the two.
    fn overtake(&mut self, switch: usize) -> bool {
        let commands = &self.switch_mut(switch).commands;
        let is_free = commands.iter().take(2).all(|it| it.order != Order::Barrier);
        if is_free && commands.len() > 1 {
            self.process_command(switch, 1);
        }
        self.switch_mut(switch).commands.len() < 2
    }

    fn process_command(&mut self, switch: usize, place: usize) {
        let command = self.switch_mut(switch).commands.remove(place);
        let stored = match command.order {
            Order::Add { rule, buffer } => {
                self.add_rule(switch, rule, command.set);
                buffer.and_then(|buffer| self.release_by_rule(switch, buffer, command.set))
            }
            Order::Delete { matching, priority } => {
                self.delete(switch, &matching, priority);
                None
            }
            Order::PacketOut { sent, actions } => {
                self.send_packet_out(switch, sent, actions, command.set)
            }
            Order::Barrier => {
                self.report(switch, Report::BarrierReply);
                None
            }
        };
        if self.setup.protocol == Protocol::Attendre {
            self.complete(switch, command.set, stored);
        }
    }

    /// A command without a packet leaves what its first packet takes along in the rule.
    fn add_rule(&mut self, switch: usize, rule: Rule, set: MessageSet) {
        let merges = self.setup.counting.merges_rules;
        let encapsulates = set.has_command.then_some(set.version);
        self.switch_mut(switch).add(Rule { encapsulates, ..rule }, merges);
    }

    /// Looks the stored packet up, as the classic tool does, and frees the buffer.
    fn release_by_rule(&mut self, switch: usize, buffer: u8, set: MessageSet) -> Option<Stored> {
        let stored = self.stored(switch, buffer)?;
        let command = set.has_command.then_some(set.version);
        self.follow_rule(switch, Packet { command, ..stored.packet }, stored.port);
        self.switch_mut(switch).release(buffer);
        Some(stored)
    }

    fn stored(&mut self, switch: usize, buffer: u8) -> Option<Stored> {
        let stored = self.switch_mut(switch).stored.iter().find(|it| it.buffer == buffer).copied();
        if stored.is_none() {
            self.violate(Property::KnownBuffers, format!("no packet is in buffer {buffer}"));
        }
        stored
    }

    fn send_packet_out(
        &mut self,
        switch: usize,
        sent: Sent,
        actions: Actions,
        set: MessageSet,
    ) -> Option<Stored> {
        match sent {
            Sent::Buffer(buffer) => {
                let stored = self.stored(switch, buffer)?;
                let command = set.has_command.then_some(set.version);
                let packet = Packet { command, ..stored.packet };
                self.carry_out(switch, packet, actions, stored.port);
                self.switch_mut(switch).release(buffer);
                Some(stored)
            }
            Sent::Packet { packet, port } => {
                self.carry_out(switch, packet, actions, port);
                None
            }
        }
    }

    fn delete(&mut self, switch: usize, matching: &Match, priority: Option<u16>) {
        self.switch_mut(switch).rules.retain(|rule| {
            rule.matching != *matching || priority.is_some_and(|it| it != rule.priority)
        });
    }

    /// Counts a command. Where its set is complete, what waited is looked up again, in its order.
    fn complete(&mut self, switch: usize, set: MessageSet, stored: Option<Stored>) {
        let state = self.switch_mut(switch);
        if let Some(stored) = stored
            && let Some(wait) = state.wait_entry(&stored.packet, stored.port)
        {
            wait.version = set.version;
        }
        if set.size == 0 || !state.count(set) {
            return;
        }
        let (over, rest) = std::mem::take(&mut state.waits)
            .into_iter()
            .partition(|wait| wait.version == set.version);
        state.waits = rest;
        let over: Vec<WaitEntry> = over;
        for waited in over.into_iter().flat_map(|wait| wait.packets) {
            self.look_up(switch, waited.packet, waited.port);
        }
    }

    /// A copy of a port's first packet is appended to its queue, within the budget.
    fn duplicate(&mut self, switch: usize, port: u8) -> bool {
        self.spend_duplicate();
        let queue = &mut self.switch_mut(switch).queues[usize::from(port)];
        let Some(packet) = queue.first().copied() else { return true };
        queue.push(packet);
        !self.may_duplicate()
    }
}
