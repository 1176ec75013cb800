//! Entries that were made past the proxy, and those that were taken away past it: the switch is asked for all of them now
//! and then, and what is otherwise twice in a row is told.

use super::dispatcher::COOKIE;
use super::{EntryKey, ProxyEffects, ProxyEvent, SliceProxy, match_bytes};
use crate::switch::classifier::key::Pattern;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_openflow::constants::multipart_flag;
use tenuto_openflow::{
    Body, FlowStats, FlowStatsRequest, Match, MultipartReply, MultipartRequest, ReplyBody,
    RequestBody,
};

/// Foreign entries that are told one by one.
const TOLD_MAX: usize = 1_000;

/// What the audits have found.
#[derive(Debug, Default)]
pub(super) struct Audit {
    /// Whether an answer is to come.
    is_open: bool,
    /// Entries of the answer so far: how many by slice, and those of the first table.
    seen: BTreeMap<usize, usize>,
    dispatched: usize,
    suspects: BTreeMap<EntryKey, Match>,
    /// Those of the audit before.
    suspected: BTreeSet<EntryKey>,
    told: BTreeSet<EntryKey>,
    missing: BTreeMap<Option<usize>, usize>,
}

impl SliceProxy {
    /// Asks the switch for its entries, if it has answered the last time.
    pub fn audit(&mut self, out: &mut ProxyEffects) {
        if self.audit.is_open {
            return;
        }
        self.audit.is_open = true;
        self.audit.seen.clear();
        self.audit.dispatched = 0;
        let request = MultipartRequest::new(RequestBody::Flow(FlowStatsRequest::ALL));
        self.requests.own(Body::MultipartRequest(request), out);
    }

    pub(super) fn audit_reply(&mut self, reply: MultipartReply, out: &mut ProxyEffects) {
        let ReplyBody::Flow(entries) = reply.body else { return };
        if !self.audit.is_open {
            return;
        }
        for entry in entries {
            self.look_at(entry);
        }
        if reply.flags & multipart_flag::MORE == 0 {
            self.audit.is_open = false;
            self.end_audit(out);
        }
    }

    fn look_at(&mut self, entry: FlowStats) {
        let places = self.slices.iter().enumerate();
        let owner =
            places.filter_map(|(at, it)| Some((at, it.places.table_in(entry.table_id)?))).next();
        let is_known = match owner {
            None if entry.table_id == 0 => {
                let key = match_bytes(&entry.match_);
                let is_one = |it: &tenuto_openflow::FlowMod| {
                    it.priority == entry.priority && match_bytes(&it.match_) == key
                };
                entry.cookie == COOKIE && self.dispatch.iter().any(is_one)
            }
            None => false,
            Some((slice, table)) => {
                let tables = self.slices[slice].switch.tables();
                let pattern = Pattern::from_match(&entry.match_).ok();
                pattern.is_some_and(|pattern| {
                    let state = tables.get(0, table);
                    state.is_some_and(|it| it.table().find(&pattern, entry.priority).is_some())
                })
            }
        };
        match (is_known, owner) {
            (true, Some((slice, _))) => *self.audit.seen.entry(slice).or_default() += 1,
            (true, None) => self.audit.dispatched += 1,
            (false, _) if self.audit.suspects.len() < TOLD_MAX => {
                let key = (entry.table_id, entry.priority, match_bytes(&entry.match_));
                self.audit.suspects.insert(key, entry.match_);
            }
            (false, _) => {}
        }
    }

    fn end_audit(&mut self, out: &mut ProxyEffects) {
        let suspects = std::mem::take(&mut self.audit.suspects);
        let before = std::mem::take(&mut self.audit.suspected);
        for (key, match_) in &suspects {
            let (table, priority, _) = *key;
            let is_new = self.audit.told.len() < TOLD_MAX && !self.audit.told.contains(key);
            if before.contains(key) && is_new {
                self.audit.told.insert(key.clone());
                out.events.push(ProxyEvent::Foreign { table, priority, match_: match_.clone() });
            }
        }
        self.audit.suspected = suspects.into_keys().collect();
        let mut missing = BTreeMap::new();
        for (at, it) in self.slices.iter().enumerate() {
            let seen = self.audit.seen.get(&at).copied().unwrap_or(0);
            missing.insert(Some(at), it.switch.tables().entries().saturating_sub(seen));
        }
        missing.insert(None, self.dispatch.len().saturating_sub(self.audit.dispatched));
        for (&at, &entries) in missing.iter().filter(|(_, entries)| **entries > 0) {
            if self.audit.missing.get(&at) == Some(&entries) {
                let slice = at.map(|at| self.slices[at].name.clone());
                out.events.push(ProxyEvent::Missing { slice, entries });
            }
        }
        self.audit.missing = missing;
    }
}
