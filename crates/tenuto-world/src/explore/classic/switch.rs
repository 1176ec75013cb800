//! The switch of the classic model: one table, buffers, and Attendre's wait entries as an option.

use super::key::{Keyed, Mixer, multiset};
use super::message::{Command, MessageSet};
use super::node::Queue;
use super::packet::Packet;
use super::rule::{Match, Rule};
use super::setup::{BufferIds, Counting};
use super::transition::Enabled;

/// A packet that a switch stores, and where it came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub(super) buffer: u8,
    pub(super) packet: Packet,
    pub(super) port: u8,
}

impl Keyed for Stored {
    fn key(&self, mixer: &mut Mixer) {
        mixer.word(u64::from(self.buffer) | u64::from(self.port) << 8);
        self.packet.key(mixer);
    }
}

/// Packets of these fields wait until a message set is complete (\[Attendre\] IV.C).
#[derive(Clone, Debug)]
pub(super) struct WaitEntry {
    pub(super) matching: Match,
    /// 0 until the first command of the set is there.
    pub(super) version: u8,
    pub(super) packets: Vec<Stored>,
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
    pub(super) rules: Vec<Rule>,
    /// By buffer number.
    pub(super) stored: Vec<Stored>,
    pub(super) free: Vec<u8>,
    pub(super) buffers: u8,
    pub(super) waits: Vec<WaitEntry>,
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
    pub(super) fn stored(&self) -> impl Iterator<Item = &Packet> + Clone {
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

    pub(super) fn store(&mut self, packet: Packet, port: u8, ids: BufferIds) -> u8 {
        let buffer = self.take_buffer_id(ids);
        let place = self.stored.partition_point(|it| it.buffer < buffer);
        self.stored.insert(place, Stored { buffer, packet, port });
        buffer
    }

    pub(super) fn release(&mut self, buffer: u8) {
        self.stored.retain(|it| it.buffer != buffer);
        self.free.push(buffer);
    }

    /// The rule of highest priority that matches, the first of equals.
    pub(super) fn lookup(&self, packet: &Packet, port: u8) -> Option<usize> {
        let matching =
            (0..self.rules.len()).filter(|at| self.rules[*at].matching.matches(packet, port));
        matching.reduce(
            |best, at| {
                if self.rules[at].priority > self.rules[best].priority { at } else { best }
            },
        )
    }

    pub(super) fn add(&mut self, rule: Rule, merges: bool) {
        if merges && self.rules.contains(&rule) {
            return;
        }
        let place = self.rules.partition_point(|it| !rule.precedes(it));
        self.rules.insert(place, rule);
    }

    pub(super) fn wait_entry(&mut self, packet: &Packet, port: u8) -> Option<&mut WaitEntry> {
        self.waits.iter_mut().find(|wait| wait.matching.matches(packet, port))
    }

    pub(super) fn await_commands(&mut self, packet: &Packet, port: u8, version: u8) {
        let matching = Match::of_packet_at(packet, port);
        self.waits.push(WaitEntry { matching, version, packets: vec![] });
    }

    pub(super) fn is_complete(&self, version: u8) -> bool {
        self.sets.iter().any(|set| set.version == version && set.done == set.size)
    }

    /// Counts a command; whether its set is complete now.
    pub(super) fn count(&mut self, set: MessageSet) -> bool {
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
