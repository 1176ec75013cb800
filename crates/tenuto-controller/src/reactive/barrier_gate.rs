//! OpenFlow with barriers: the switch that asked is told last (\[Attendre\] section III.C).

use std::collections::{BTreeMap, BTreeSet};
use tenuto_openflow::Body;

/// Messages with the switch and the transaction that they are for.
type Addressed = Vec<(u64, u32, Body)>;

/// What a switch that asked is told once every other switch of the answer has confirmed its part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Held {
    asked_by: u64,
    /// Barriers that are not confirmed yet.
    waits: BTreeSet<(u64, u32)>,
    messages: Vec<Body>,
}

/// Answers that wait for barriers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BarrierGate {
    /// By the transaction of their barriers, which no other answer that waits has.
    held: BTreeMap<u32, Held>,
}

impl BarrierGate {
    /// Nothing waits.
    pub const fn new() -> Self {
        Self { held: BTreeMap::new() }
    }

    /// What of an answer is sent now: all of it if it is for one switch, otherwise what other switches are
    /// told, each with a barrier behind it. Transactions that matter are not 0.
    pub fn admit(&mut self, asked_by: u64, messages: Vec<(u64, Body)>) -> Addressed {
        let others: BTreeSet<u64> =
            messages.iter().map(|(to, _)| *to).filter(|to| *to != asked_by).collect();
        let (own, mut now): (Vec<_>, Addressed) = messages.into_iter().fold(
            (Vec::new(), Vec::new()),
            |(mut own, mut now), (to, body)| {
                match to == asked_by && !others.is_empty() {
                    true => own.push(body),
                    false => now.push((to, 0, body)),
                }
                (own, now)
            },
        );
        if own.is_empty() {
            return now;
        }
        // The least that is free: a state without anything that waits is one state.
        let xid = (1..).find(|xid| !self.held.contains_key(xid)).unwrap_or(u32::MAX);
        now.extend(others.iter().map(|to| (*to, xid, Body::BarrierRequest)));
        let waits = others.into_iter().map(|to| (to, xid)).collect();
        self.held.insert(xid, Held { asked_by, waits, messages: own });
        now
    }

    /// A switch has confirmed a barrier; what may be sent because of it.
    pub fn confirmed(&mut self, datapath: u64, xid: u32) -> Addressed {
        let Some(held) = self.held.get_mut(&xid) else { return Vec::new() };
        held.waits.remove(&(datapath, xid));
        self.release(xid)
    }

    /// A switch is gone: it confirms nothing more, and what was for it is lost.
    pub fn forget(&mut self, datapath: u64) -> Addressed {
        self.held.retain(|_, held| held.asked_by != datapath);
        for held in self.held.values_mut() {
            held.waits.retain(|(at, _)| *at != datapath);
        }
        let waiting: Vec<u32> = self.held.keys().copied().collect();
        waiting.into_iter().flat_map(|xid| self.release(xid)).collect()
    }

    fn release(&mut self, xid: u32) -> Addressed {
        if self.held.get(&xid).is_none_or(|held| !held.waits.is_empty()) {
            return Vec::new();
        }
        let held = self.held.remove(&xid);
        let told = |held: Held| {
            let to = held.asked_by;
            held.messages.into_iter().map(move |body| (to, 0, body)).collect()
        };
        held.map_or_else(Vec::new, told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(of: &[u64]) -> Vec<(u64, Body)> {
        of.iter().map(|to| (*to, Body::BarrierReply)).collect()
    }

    #[test]
    fn an_answer_for_one_switch_waits_for_nothing() {
        let mut gate = BarrierGate::new();
        assert_eq!(gate.admit(1, bodies(&[1, 1])).len(), 2);
        assert_eq!(gate.admit(1, bodies(&[2])), [(2, 0, Body::BarrierReply)]);
        assert_eq!(gate, BarrierGate::new());
    }

    #[test]
    fn the_switch_that_asked_is_told_when_the_last_has_confirmed() {
        let mut gate = BarrierGate::new();
        let now = gate.admit(1, bodies(&[1, 2, 3]));
        let barriers: Vec<(u64, u32)> = now
            .iter()
            .filter(|(_, _, body)| *body == Body::BarrierRequest)
            .map(|(to, xid, _)| (*to, *xid))
            .collect();
        assert_eq!(barriers, [(2, 1), (3, 1)]);
        assert!(now.iter().all(|(to, _, _)| *to != 1));
        assert_eq!(gate.confirmed(2, 1), []);
        assert_eq!(gate.confirmed(2, 9), [], "nobody has asked for that one");
        assert_eq!(gate.confirmed(3, 1), [(1, 0, Body::BarrierReply)]);
        assert_eq!(gate, BarrierGate::new());
    }

    #[test]
    fn what_waits_for_a_switch_that_is_gone_goes() {
        let mut gate = BarrierGate::new();
        gate.admit(1, bodies(&[1, 2]));
        gate.admit(2, bodies(&[1, 2]));
        assert_eq!(gate.forget(2), [(1, 0, Body::BarrierReply)]);
        assert_eq!(gate, BarrierGate::new());
    }
}
