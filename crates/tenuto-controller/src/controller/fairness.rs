//! Limits on how many connections of a controller one peer may hold.
//!
//! A peer that reaches its address can connect and say nothing, or nonsense, until the handshake has taken
//! too long. So one address holds a few places and no more, and those of managed switches, whose
//! addresses are known, are not among the ones that others share.

use super::{ConnId, Controller};
use crate::events::NoPlace;
use core::net::IpAddr;

impl Controller {
    /// Why a connection is not taken, if it is not.
    pub(super) fn no_place(&self, conn: ConnId, source: Option<IpAddr>) -> Option<NoPlace> {
        if self.channels.contains_key(&conn) {
            return Some(NoPlace::NumberInUse);
        }
        let switches = self.switches_at(source);
        let each = self.limits.connections_per_source;
        let most = each.saturating_mul(switches.max(1));
        if source.is_some() && self.held(|other| other == source) >= most {
            return Some(NoPlace::SourceFull { most });
        }
        let most = self.limits.connections_max;
        let is_full = || self.held(|other| self.switches_at(other) == 0) >= most;
        (switches == 0 && is_full()).then_some(NoPlace::Full { most })
    }

    /// Managed switches that are known to be at an address.
    fn switches_at(&self, source: Option<IpAddr>) -> usize {
        self.sources.values().filter(|known| Some(**known) == source).count()
    }

    /// Connections from addresses that `chosen` picks.
    fn held(&self, chosen: impl Fn(Option<IpAddr>) -> bool) -> usize {
        self.channels.values().filter(|channel| chosen(channel.source)).count()
    }
}
