//! State identity: equal keys, equal behaviour from here on.
//!
//! Over tables (by content) and dynamic state (relative to now, saturated where more makes no
//! difference); never over statistics or caches. Behaviour from here on: for frames that arrive from
//! now on. Sequence numbers of signals are left out, as on a link in order, on which nobody forges,
//! they never decide; a world in which signals are played back must keep them itself. So are those of
//! Attendre commands.

use super::{Entry, Switch};
use crate::{FrameId, Queued};
use std::hash::{Hash, Hasher};
use tenuto_units::Instant;

/// Against what instants are told: deadlines by how far off they are, ages by how long ago.
#[derive(Clone, Copy)]
struct Clock {
    for_deadlines: Instant,
    for_ages: Instant,
    /// Whether time stands still: then any armed timer may fire, and only that it is armed counts.
    is_frozen: bool,
}

impl Switch {
    /// Feeds everything that decides future behaviour into `hasher`; `content` gives the identity
    /// of a frame, which must not depend on where it happens to be stored.
    pub fn identify<H: Hasher>(
        &self,
        now: Instant,
        hasher: &mut H,
        content: impl Fn(FrameId) -> u64,
    ) {
        let clock = Clock { for_deadlines: now, for_ages: now, is_frozen: false };
        self.identify_by(clock, hasher, content);
    }

    /// The same where time stands still (`untimed`: docs/theory/attendre.md,
    /// "What is explored"): any armed timer may fire, buckets
    /// are full, and how long anything takes or has lasted makes no difference. Nor do the numbers of packets
    /// that wait for a controller: a world with messages on their way that name such a packet keeps its
    /// [`kept_rank`](Self::kept_rank) in place of its number.
    pub fn identify_untimed<H: Hasher>(&self, hasher: &mut H, content: impl Fn(FrameId) -> u64) {
        let (for_deadlines, for_ages) = (Instant::MAX, Instant::ZERO);
        self.identify_by(Clock { for_deadlines, for_ages, is_frozen: true }, hasher, content);
    }

    /// Packets that wait for a controller's word on them.
    pub fn packets_kept(&self) -> usize {
        self.general.as_ref().map_or(0, |general| general.waiting.count())
    }

    /// Where the packet of that number stands among those that wait, in the order of their contents;
    /// `None` if it does not wait.
    pub fn kept_rank(&self, buffer_id: u32) -> Option<usize> {
        self.general.as_ref()?.waiting.rank(buffer_id)
    }

    /// What [`identify_untimed`](Self::identify_untimed) leaves out: under which numbers packets wait, and which is next.
    pub fn identify_kept_numbers<H: Hasher>(&self, now: Instant, hasher: &mut H) {
        if let Some(general) = &self.general {
            general.waiting.identify(now, hasher);
        }
    }

    fn identify_by<H: Hasher>(
        &self,
        clock: Clock,
        hasher: &mut H,
        content: impl Fn(FrameId) -> u64,
    ) {
        let Clock { for_deadlines: now, for_ages, is_frozen } = clock;
        (self.level, self.admitted).hash(hasher);
        self.identify_tables(hasher);
        for (id, group) in self.groups.iter() {
            (id, group.type_, &group.buckets).hash(hasher);
        }
        // By id, not by place: a meter that came and went leaves no trace.
        for (id, state) in self.meters() {
            (id, state.flags, state.bands.len()).hash(hasher);
            for band in &*state.bands {
                (band.effect, band.meter.enforced(), band.meter.deficit(now)).hash(hasher);
            }
        }
        for (id, state) in self.monitors() {
            id.hash(hasher);
            state.identify(now, hasher);
        }
        for port in &self.ports {
            port.signal_credit.relative(now).hash(hasher);
            port.egress.deadline().map(|at| at.since(now)).hash(hasher);
            port.egress.room().hash(hasher);
            if !is_frozen {
                port.egress.remainder().hash(hasher);
            }
            port.egress.for_each_frame(|queue, queued: &Queued| {
                (queue, content(queued.frame), queued.cookie).hash(hasher);
            });
        }
        (&self.connections, self.generation).hash(hasher);
        self.identify_general(for_ages, is_frozen, hasher);
        self.identify_attendre(clock, hasher, &content);
        if let Some(agent) = &self.agent {
            agent.identify(for_ages, hasher);
        }
    }

    /// What only a general switch has: packets that wait, ages of entries with time-outs, ports.
    fn identify_general(&self, now: Instant, is_frozen: bool, hasher: &mut impl Hasher) {
        let Some(general) = &self.general else { return };
        (general.flags, general.miss_send_len, general.withdrawn).hash(hasher);
        match is_frozen {
            true => general.waiting.identify_unnumbered(hasher),
            false => general.waiting.identify(now, hasher),
        }
        general.bridge.identify(now, hasher);
        for limit in &general.packet_in_limits {
            limit.deficit(now).hash(hasher);
        }
        for port in &self.ports {
            (port.config, port.is_up).hash(hasher);
            port.egress.identify_shares(hasher);
        }
        for level in 0..self.tables.levels() {
            for table in 0..self.config.tables {
                let Some(state) = self.tables.get(level, table) else { continue };
                let entries = state.table().entries().with_slots();
                for (slot, entry) in entries.filter(|(_, e)| e.idle_timeout | e.hard_timeout != 0) {
                    let age = state.age(slot);
                    let idle = (entry.idle_timeout != 0).then(|| now.since(age.used));
                    let hard = (entry.hard_timeout != 0).then(|| now.since(age.since));
                    (level, table, idle, hard).hash(hasher);
                }
            }
        }
    }

    /// Buffers in canonical order, message sets, and the packet-ins that are counted.
    fn identify_attendre(
        &self,
        clock: Clock,
        hasher: &mut impl Hasher,
        content: impl Fn(FrameId) -> u64,
    ) {
        let Some(attendre) = self.attendre() else { return };
        (attendre.sets(), attendre.next_number(), attendre.meter, attendre.timeout).hash(hasher);
        for (table, entry, buffer) in attendre.in_order() {
            (table, entry.precedence, entry.pattern).hash(hasher);
            (buffer.version, buffer.messages, buffer.number).hash(hasher);
            (buffer.phase, buffer.until.since(clock.for_deadlines)).hash(hasher);
            (buffer.frames.len(), buffer.firsts).hash(hasher);
            for held in &buffer.frames {
                held.identify(content(held.frame), hasher);
            }
        }
    }

    fn identify_tables(&self, hasher: &mut impl Hasher) {
        for level in 0..self.tables.levels() {
            for table in 0..self.config.tables {
                let Some(state) = self.tables.get(level, table) else { continue };
                state.table().entries().len().hash(hasher);
                for (slot, entry) in state.table().entries().with_slots() {
                    let Entry { pattern, precedence, cookie, behaviour, version, .. } = entry;
                    (pattern, precedence, cookie, behaviour).hash(hasher);
                    (version, state.is_spent(slot)).hash(hasher);
                }
            }
        }
    }
}
