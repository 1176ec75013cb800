//! Where addresses were seen: the learning bridge behind `OFPP_NORMAL` and standalone switches.
//!
//! Addresses are kept in the order in which they were last seen, in a list whose ends are known: the
//! oldest one makes room for a new one if it is old enough. So a frame costs one search of an ordered map
//! and the change of a few neighbours, however many addresses there are and whoever made them up.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use tenuto_units::{Instant, Span};

/// An address that was not seen for so long is forgotten (IEEE 802.1Q, table 8-6).
const AGEING: Span = Span::from_s(300);

/// VLAN id and address.
type Station = (u16, u64);

/// No place.
const NONE: u32 = u32::MAX;

/// A station in the order of time.
#[derive(Clone, Debug)]
struct Seen {
    station: Station,
    port: u32,
    at: Instant,
    /// The places of those seen just before and after it.
    older: u32,
    newer: u32,
}

/// Ports by VLAN id and address.
#[derive(Clone, Debug)]
pub(in crate::switch) struct Bridge {
    /// By station, its place.
    places: BTreeMap<Station, u32>,
    seen: Vec<Seen>,
    oldest: u32,
    newest: u32,
    max: usize,
}

impl Bridge {
    pub(in crate::switch) const fn new(max: usize) -> Self {
        Self { places: BTreeMap::new(), seen: Vec::new(), oldest: NONE, newest: NONE, max }
    }

    /// Notes where an address is. Group addresses are nobody's. If there is no room the oldest one goes;
    /// if that is not old enough to be forgotten, the address is not learned: addresses that somebody makes
    /// up do not drive out others that are in use.
    pub(in crate::switch) fn learn(&mut self, now: Instant, vlan: u16, address: u64, port: u32) {
        if is_group(address) {
            return;
        }
        let station = (vlan, address);
        if let Some(&place) = self.places.get(&station) {
            let seen = &mut self.seen[place as usize];
            (seen.port, seen.at) = (port, now);
            if place != self.newest {
                self.unlink(place);
                self.link_newest(place);
            }
            return;
        }
        if let Some(place) = self.free_place(now) {
            let seen = Seen { station, port, at: now, older: NONE, newer: NONE };
            match self.seen.get_mut(place as usize) {
                Some(old) => *old = seen,
                None => self.seen.push(seen),
            }
            self.places.insert(station, place);
            self.link_newest(place);
        }
    }

    /// A place for one more station: a new one, or that of the oldest if it is forgotten.
    fn free_place(&mut self, now: Instant) -> Option<u32> {
        if self.seen.len() < self.max {
            return u32::try_from(self.seen.len()).ok().filter(|place| *place != NONE);
        }
        let oldest = self.oldest;
        let Seen { station, at, .. } = *self.seen.get(oldest as usize)?;
        if now.since(at) < AGEING {
            return None;
        }
        self.unlink(oldest);
        self.places.remove(&station);
        Some(oldest)
    }

    fn unlink(&mut self, place: u32) {
        let Seen { older, newer, .. } = self.seen[place as usize];
        match self.seen.get_mut(older as usize) {
            Some(before) => before.newer = newer,
            None => self.oldest = newer,
        }
        match self.seen.get_mut(newer as usize) {
            Some(after) => after.older = older,
            None => self.newest = older,
        }
    }

    fn link_newest(&mut self, place: u32) {
        let before = self.newest;
        self.newest = place;
        match self.seen.get_mut(before as usize) {
            Some(before) => before.newer = place,
            None => self.oldest = place,
        }
        let seen = &mut self.seen[place as usize];
        (seen.older, seen.newer) = (before, NONE);
    }

    /// What it knows, relative to `now`.
    pub(in crate::switch) fn identify(&self, now: Instant, hasher: &mut impl Hasher) {
        for (station, &place) in &self.places {
            let Seen { port, at, .. } = self.seen[place as usize];
            if now.since(at) < AGEING {
                (station, port, now.since(at)).hash(hasher);
            }
        }
    }

    /// The port that leads to an address, if it is known.
    pub(in crate::switch) fn find(&self, now: Instant, vlan: u16, address: u64) -> Option<u32> {
        let Seen { port, at, .. } = self.seen[*self.places.get(&(vlan, address))? as usize];
        (now.since(at) < AGEING).then_some(port)
    }
}

const fn is_group(address: u64) -> bool {
    address >> 40 & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_learned_moved_and_forgotten() {
        let mut bridge = Bridge::new(2);
        let at = |s| Instant::ZERO + Span::from_s(s);
        bridge.learn(at(0), 1, 5, 1);
        assert_eq!((bridge.find(at(1), 1, 5), bridge.find(at(1), 2, 5)), (Some(1), None));
        bridge.learn(at(10), 1, 5, 2);
        assert_eq!(bridge.find(at(309), 1, 5), Some(2));
        assert_eq!(bridge.find(at(310), 1, 5), None);
        bridge.learn(at(20), 1, 6, 3);
        bridge.learn(at(30), 1, 7, 3);
        assert_eq!(bridge.find(at(30), 1, 7), None, "there is room for two");
        bridge.learn(at(315), 1, 7, 3);
        assert_eq!(bridge.find(at(315), 1, 7), Some(3), "an old one has gone");
        bridge.learn(at(315), 1, 0x0300_0000_0001, 3);
        assert_eq!(bridge.find(at(315), 1, 0x0300_0000_0001), None, "group address");
    }

    /// The stations in the order of time, and whether both directions of the list say the same.
    fn in_order(bridge: &Bridge) -> Option<Vec<u32>> {
        let walk = |first: u32, next: fn(&Seen) -> u32| {
            let all =
                std::iter::successors(Some(first), |at| bridge.seen.get(*at as usize).map(next));
            all.take_while(|at| *at != NONE).collect::<Vec<u32>>()
        };
        let mut backwards = walk(bridge.newest, |seen| seen.older);
        backwards.reverse();
        Some(backwards).filter(|order| *order == walk(bridge.oldest, |seen| seen.newer))
    }

    /// A bridge that is full looks at one address to find out whether there is room, not at all of
    /// them.
    #[test]
    fn when_it_is_full_one_address_at_most_makes_room() {
        let at = |s| Instant::ZERO + Span::from_s(s);
        let mut bridge = Bridge::new(1_000);
        (0..1_000).for_each(|address| bridge.learn(at(0), 1, address, 1));
        bridge.learn(at(350), 1, 5_000, 2);
        assert_eq!((bridge.places.len(), bridge.find(at(350), 1, 5_000)), (1_000, Some(2)));
        assert_eq!(
            bridge.seen[0].station,
            (1, 5_000),
            "in place of the oldest, and nothing else moved"
        );
        let others = (1..).zip(&bridge.seen[1..]);
        assert!(others.into_iter().all(|(n, seen)| (seen.station, seen.at) == ((1, n), at(0))));
    }

    proptest! {
        #[test]
        fn it_knows_what_a_bridge_that_looks_at_everything_knows(
            frames in prop::collection::vec((0_u64..12, 0_u64..120, 1_u32..4), 0..200),
        ) {
            let (mut bridge, mut naive) = (Bridge::new(6), BTreeMap::<u64, (u32, Instant)>::new());
            let mut now = Instant::ZERO;
            for (address, seconds, port) in frames {
                now += Span::from_s(seconds);
                bridge.learn(now, 1, address, port);
                if naive.len() >= 6 && !naive.contains_key(&address) {
                    naive.retain(|_, (_, at)| now.since(*at) < AGEING);
                }
                if naive.len() < 6 || naive.contains_key(&address) {
                    naive.insert(address, (port, now));
                }
                for address in 0..12 {
                    let known = naive.get(&address).filter(|(_, at)| now.since(*at) < AGEING);
                    prop_assert_eq!(bridge.find(now, 1, address), known.map(|(port, _)| *port));
                }
                let order = in_order(&bridge).expect("both directions agree");
                prop_assert_eq!(order.len(), bridge.places.len());
                let times: Vec<Instant> =
                    order.iter().map(|place| bridge.seen[*place as usize].at).collect();
                prop_assert!(times.is_sorted());
            }
        }
    }
}
