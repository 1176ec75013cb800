//! State identity: equal keys, equal behaviour from here on.
//!
//! Over tables (by content) and dynamic state (relative to now, saturated where more makes no
//! difference); never over statistics or caches. Behaviour from here on: for frames that arrive from
//! now on. Sequence numbers of signals are left out, as on a link in order, on which nobody forges,
//! they never decide; a world in which signals are played back must keep them itself.

use super::{Entry, Switch};
use crate::{FrameId, Queued};
use std::hash::{Hash, Hasher};
use tenuto_units::Instant;

impl Switch {
    /// Feeds everything that decides future behaviour into `hasher`; `content` gives the identity
    /// of a frame, which must not depend on where it happens to be stored.
    pub fn identify<H: Hasher>(
        &self,
        now: Instant,
        hasher: &mut H,
        content: impl Fn(FrameId) -> u64,
    ) {
        (self.level, self.admitted).hash(hasher);
        self.identify_tables(hasher);
        for (id, group) in &*self.groups {
            (id, group.type_, &group.buckets).hash(hasher);
        }
        // By id, not by place: a meter that came and went leaves no trace.
        for (id, state) in self.meters() {
            (id, state.flags, state.bands.len()).hash(hasher);
            for band in &*state.bands {
                (band.effect, band.meter.config(), band.meter.deficit(now)).hash(hasher);
            }
        }
        for (id, state) in self.monitors() {
            id.hash(hasher);
            state.monitor.identify(now, hasher);
        }
        for port in &self.ports {
            port.signal_credit.relative(now).hash(hasher);
            port.egress.deadline().map(|at| at.since(now)).hash(hasher);
            port.egress.remainder().hash(hasher);
            port.egress.for_each_frame(|queue, queued: &Queued| {
                (queue, content(queued.frame), queued.cookie).hash(hasher);
            });
        }
        (&self.connections, self.generation).hash(hasher);
        self.identify_general(now, hasher);
        if let Some(agent) = &self.agent {
            agent.identify(now, hasher);
        }
    }

    /// What only a general switch has: packets that wait, ages of entries with time-outs, ports.
    fn identify_general(&self, now: Instant, hasher: &mut impl Hasher) {
        let Some(general) = &self.general else { return };
        (general.flags, general.miss_send_len).hash(hasher);
        general.waiting.identify(now, hasher);
        general.bridge.identify(now, hasher);
        for port in &self.ports {
            (port.config, port.is_up).hash(hasher);
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

    fn identify_tables(&self, hasher: &mut impl Hasher) {
        for level in 0..self.tables.levels() {
            for table in 0..self.config.tables {
                let Some(state) = self.tables.get(level, table) else { continue };
                state.table().entries().len().hash(hasher);
                for Entry { pattern, precedence, cookie, behaviour, .. } in
                    state.table().entries().iter()
                {
                    (pattern, precedence, cookie, behaviour).hash(hasher);
                }
            }
        }
    }
}
