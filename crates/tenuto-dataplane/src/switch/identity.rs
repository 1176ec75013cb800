//! State identity: equal keys, equal behaviour from here on.
//!
//! Over tables (by content) and dynamic state (relative to now, saturated where more makes no
//! difference); never over statistics or caches.

use super::{Switch, table::Entry};
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
        for meter in &self.meters {
            meter.as_ref().map(|m| (m.meter.config(), m.meter.deficit(now))).hash(hasher);
        }
        for monitor in &self.monitors {
            monitor.is_some().hash(hasher);
            if let Some(state) = monitor {
                state.monitor.current().hash(hasher);
                state.monitor.guide_times(now).for_each(|guide| guide.hash(hasher));
            }
        }
        for port in &self.ports {
            port.signal_credit.relative(now).hash(hasher);
            port.egress.deadline().map(|at| at.since(now)).hash(hasher);
            port.egress.for_each_frame(|queue, queued: &Queued| {
                (queue, content(queued.frame), queued.cookie).hash(hasher);
            });
        }
        if let Some(agent) = &self.agent {
            agent.identify(now, hasher);
        }
    }

    fn identify_tables(&self, hasher: &mut impl Hasher) {
        for level in 0..self.tables.levels() {
            for table in 0..self.config.tables {
                let Some(state) = self.tables.get(level, table) else { continue };
                state.table().entries().len().hash(hasher);
                for Entry { pattern, precedence, cookie, behaviour, .. } in state.table().entries()
                {
                    (pattern, precedence, cookie, behaviour).hash(hasher);
                }
            }
        }
    }
}
