//! The rates that go on from one queue, summed by the queue they come to.
//!
//! A delay raised by δ raises every burst behind it by rate × δ: with these sums that takes one
//! product per queue behind, however many flows there are.

use crate::network::PortId;

/// The rate that goes on to one queue of one port, over one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Onward {
    pub(crate) port: PortId,
    pub(crate) group: usize,
    pub(crate) queue: usize,
    /// Σ of rates, bit/s; never 0.
    pub(crate) rate_bps: i64,
}

/// Sums by port, group and queue, in that order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Behind(Vec<(u64, i64)>);

const GROUP_BITS: u32 = 16;
const QUEUE_BITS: u32 = 8;

impl Behind {
    /// Adds a rate, or takes it out again if it is negative.
    pub(crate) fn add(&mut self, port: PortId, group: usize, queue: usize, rate_bps: i64) {
        let place = (u64::from(port.0) << GROUP_BITS) | group as u64;
        let key = (place << QUEUE_BITS) | queue as u64;
        match self.0.binary_search_by_key(&key, |(key, _)| *key) {
            // A sum that comes to nothing stays: who went that way is likely to be followed.
            Ok(at) => self.0[at].1 += rate_bps,
            Err(at) => self.0.insert(at, (key, rate_bps)),
        }
    }

    /// Every queue that something goes on to.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Onward> {
        let low =
            |value: u64, bits: u32| usize::try_from(value & ((1 << bits) - 1)).expect("a few bits");
        let onward = move |(key, rate_bps): &(u64, i64)| Onward {
            port: PortId(u32::try_from(key >> (GROUP_BITS + QUEUE_BITS)).expect("as it was added")),
            group: low(key >> QUEUE_BITS, GROUP_BITS),
            queue: low(*key, QUEUE_BITS),
            rate_bps: *rate_bps,
        };
        self.0.iter().filter(|(_, rate_bps)| *rate_bps != 0).map(onward)
    }
}
