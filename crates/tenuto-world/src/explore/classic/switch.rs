//! The switch of the classic model: one table, buffers, and Attendre's wait entries as an option.

use super::key::{Keyed, Mixer, multiset};
use super::message::{Command, MessageSet, Order, PacketIn, Reason, Report, Sent};
use super::node::Queue;
use super::packet::Packet;
use super::properties::{Event, Property};
use super::rule::{Action, Actions, Match, Rule};
use super::setup::{BufferIds, Counting, Protocol};
use super::step::{Application, Step};
use super::transition::Enabled;

/// A packet that a switch stores, and where it came in.
#[derive(Clone, Copy, Debug)]
struct Stored {
    buffer: u8,
    packet: Packet,
    port: u8,
}

impl Keyed for Stored {
    fn key(&self, mixer: &mut Mixer) {
        mixer.word(u64::from(self.buffer) | u64::from(self.port) << 8);
        self.packet.key(mixer);
    }
}

/// Packets of these fields wait until a message set is complete ([Attendre] IV.C).
#[derive(Clone, Debug)]
struct WaitEntry {
    matching: Match,
    /// 0 until the first command of the set is there.
    version: u8,
    packets: Vec<Stored>,
}

impl Keyed for &WaitEntry {
    fn key(&self, mixer: &mut Mixer) {
        self.matching.key(mixer);
        self.packets.as_slice().key(mixer);
    }
}

/// Commands of a message set that were carried out.
#[derive(Clone, Copy, Debug)]
struct Progress {
    version: u8,
    done: u8,
    size: u8,
}

/// The state of a switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Switch {
    /// What it can do.
    pub(super) enabled: Vec<Enabled>,
    /// What waits at its ports.
    pub(super) queues: Vec<Queue>,
    /// Commands that wait.
    pub(super) commands: Vec<Command>,
    rules: Vec<Rule>,
    /// By buffer number.
    stored: Vec<Stored>,
    free: Vec<u8>,
    buffers: u8,
    waits: Vec<WaitEntry>,
    sets: Vec<Progress>,
}

impl Switch {
    /// With so many ports.
    pub(super) fn new(ports: usize) -> Self {
        Self { queues: vec![Queue::default(); ports], ..Self::default() }
    }

    /// Adds its part of the key.
    pub(super) fn key(&self, counting: Counting, mixer: &mut Mixer) {
        multiset(self.enabled.iter().copied(), mixer);
        for queue in &self.queues {
            queue.key(counting.has_queue_order, mixer);
        }
        self.rules.as_slice().key(mixer);
        self.stored.as_slice().key(mixer);
        if counting.has_commands {
            self.commands.as_slice().key(mixer);
        }
        multiset(self.waits.iter(), mixer);
        for set in self.sets.iter().filter(|set| set.done < set.size) {
            mixer.word(u64::from_le_bytes([set.version, set.done, set.size, 1, 0, 0, 0, 0]));
        }
    }

    /// Adds rules, and what is left in buffers.
    pub(super) fn outcome(&self, mixer: &mut Mixer) {
        self.rules.as_slice().key(mixer);
        multiset(self.stored().copied(), mixer);
    }

    /// Packets that no command has released, wherever they wait.
    pub(super) fn stored(&self) -> impl Iterator<Item = &Packet> {
        let waiting = self.waits.iter().flat_map(|wait| &wait.packets);
        self.stored.iter().chain(waiting).map(|stored| &stored.packet)
    }

    fn take_buffer_id(&mut self, ids: BufferIds) -> u8 {
        let place = match ids {
            BufferIds::LastFreed => self.free.len().checked_sub(1),
            BufferIds::FirstFreed => (!self.free.is_empty()).then_some(0),
            BufferIds::Lowest => (0..self.free.len()).min_by_key(|place| self.free[*place]),
            BufferIds::Fresh => None,
        };
        if let Some(place) = place {
            return self.free.remove(place);
        }
        self.buffers = self.buffers.saturating_add(1);
        self.buffers - 1
    }

    fn store(&mut self, packet: Packet, port: u8, ids: BufferIds) -> u8 {
        let buffer = self.take_buffer_id(ids);
        let place = self.stored.partition_point(|it| it.buffer < buffer);
        self.stored.insert(place, Stored { buffer, packet, port });
        buffer
    }

    fn release(&mut self, buffer: u8) {
        self.stored.retain(|it| it.buffer != buffer);
        self.free.push(buffer);
    }

    /// The rule of highest priority that matches, the first of equals.
    fn lookup(&self, packet: &Packet, port: u8) -> Option<usize> {
        let matching =
            (0..self.rules.len()).filter(|at| self.rules[*at].matching.matches(packet, port));
        matching.reduce(
            |best, at| {
                if self.rules[at].priority > self.rules[best].priority { at } else { best }
            },
        )
    }

    fn add(&mut self, rule: Rule, merges: bool) {
        if merges && self.rules.contains(&rule) {
            return;
        }
        let place = self.rules.partition_point(|it| !rule.precedes(it));
        self.rules.insert(place, rule);
    }

    fn wait_entry(&mut self, packet: &Packet, port: u8) -> Option<&mut WaitEntry> {
        self.waits.iter_mut().find(|wait| wait.matching.matches(packet, port))
    }

    fn await_commands(&mut self, packet: &Packet, port: u8, version: u8) {
        let matching = Match::of_packet_at(packet, port);
        self.waits.push(WaitEntry { matching, version, packets: vec![] });
    }

    fn is_complete(&self, version: u8) -> bool {
        self.sets.iter().any(|set| set.version == version && set.done == set.size)
    }

    /// Counts a command; whether its set is complete now.
    fn count(&mut self, set: MessageSet) -> bool {
        let MessageSet { version, size, .. } = set;
        let known = self.sets.iter().position(|it| it.version == version);
        let at = known.unwrap_or_else(|| {
            self.sets.push(Progress { version, done: 0, size });
            self.sets.len() - 1
        });
        self.sets[at].done += 1;
        self.sets[at].done == size
    }
}

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
