//! Where addresses were seen: the learning bridge behind `OFPP_NORMAL` and standalone switches.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use tenuto_units::{Instant, Span};

/// An address that was not seen for so long is forgotten (IEEE 802.1Q, table 8-6).
const AGEING: Span = Span::from_s(300);

/// Ports by VLAN id and address.
#[derive(Clone, Debug)]
pub(super) struct Bridge {
    seen: BTreeMap<(u16, u64), (u32, Instant)>,
    max: usize,
}

impl Bridge {
    pub(super) const fn new(max: usize) -> Self {
        Self { seen: BTreeMap::new(), max }
    }

    /// Notes where an address is. Group addresses are nobody's, and when there is no room old ones
    /// go first; the address is not learned if there are none.
    pub(super) fn learn(&mut self, now: Instant, vlan: u16, address: u64, port: u32) {
        if is_group(address) {
            return;
        }
        if let Some(place) = self.seen.get_mut(&(vlan, address)) {
            *place = (port, now);
            return;
        }
        if self.seen.len() >= self.max {
            self.seen.retain(|_, (_, at)| now.since(*at) < AGEING);
        }
        if self.seen.len() < self.max {
            self.seen.insert((vlan, address), (port, now));
        }
    }

    /// What it knows, relative to `now`.
    pub(super) fn identify(&self, now: Instant, hasher: &mut impl Hasher) {
        for (place, (port, at)) in &self.seen {
            if now.since(*at) < AGEING {
                (place, port, now.since(*at)).hash(hasher);
            }
        }
    }

    /// The port that leads to an address, if it is known.
    pub(super) fn find(&self, now: Instant, vlan: u16, address: u64) -> Option<u32> {
        let (port, at) = self.seen.get(&(vlan, address))?;
        (now.since(*at) < AGEING).then_some(*port)
    }
}

const fn is_group(address: u64) -> bool {
    address >> 40 & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
