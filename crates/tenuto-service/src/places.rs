//! Places for peers, by address: one that takes many does not keep others out.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};

/// The part of an IPv6 address that names a network: whoever has one address of it has all (RFC 4291, section 2.5.4).
const IPV6_NETWORK: u128 = !0 << 64;

/// Places, so many in all and so many of each address.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    all_max: usize,
    of_one_max: usize,
    taken: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

/// A place that is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    of: Places,
    address: IpAddr,
}

impl Places {
    pub(crate) fn new(all_max: usize, of_one_max: usize) -> Self {
        Self { all_max, of_one_max, taken: Arc::default() }
    }

    /// A place, if there is one in all and for this address.
    pub(crate) fn take(&self, address: IpAddr) -> Option<Place> {
        let address = counted(address);
        let mut taken = self.taken.lock().expect("nobody panics with it");
        let own = taken.get(&address).copied().unwrap_or(0);
        if own >= self.of_one_max || taken.values().sum::<usize>() >= self.all_max {
            return None;
        }
        taken.insert(address, own + 1);
        Some(Place { of: self.clone(), address })
    }
}

/// The address that counts: of IPv6 the network, of IPv4 that came over IPv6 the IPv4 address.
fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(it) => IpAddr::V6(Ipv6Addr::from_bits(it.to_bits() & IPV6_NETWORK)),
        other => other,
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.of.taken.lock().expect("nobody panics with it");
        if let Entry::Occupied(mut own) = taken.entry(self.address) {
            *own.get_mut() -= 1;
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_of_one_address_do_not_keep_others_out() {
        let places = Places::new(64, 8);
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        let mut silent: Vec<_> = (0..100).filter_map(|_| places.take(address(1))).collect();
        assert_eq!(silent.len(), 8);
        let other = places.take(address(2));
        assert!(other.is_some(), "another address has places of its own");
        silent.pop();
        assert!(places.take(address(1)).is_some(), "a place that was given back");
        drop((silent, other));
        let all: Vec<_> = (0..=u8::MAX).filter_map(|last| places.take(address(last))).collect();
        assert_eq!(all.len(), 64);
        drop(all);
        assert!(places.taken.lock().expect("whole").is_empty(), "nothing is kept of who left");
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_and_ipv4_as_itself_however_it_came() {
        let places = Places::new(64, 1);
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let _one = places.take(address("2001:db8:0:1::1")).expect("the first");
        assert!(places.take(address("2001:db8:0:1:ffff::2")).is_none(), "of the same network");
        let _other = places.take(address("2001:db8:0:2::1")).expect("of another");
        let _plain = places.take(address("10.0.0.1")).expect("the first");
        assert!(places.take(address("::ffff:10.0.0.1")).is_none(), "the same address");
        assert!(places.take(address("::ffff:10.0.0.2")).is_some(), "another one");
    }
}
