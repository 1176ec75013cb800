//! The instants until which flows that a raise ends are served, by port and class.

use num_bigint::BigInt;
use std::collections::BTreeMap;

/// Θ per port and class; absent where nothing ends, or nobody can say when.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    pub(crate) by_class: BTreeMap<(usize, u8), BigInt>,
    /// When the last switch swaps, picoseconds from the last trigger.
    pub(crate) swapped_ps: u128,
}

impl Ends {
    /// The Θ of a class at a port.
    pub(crate) fn get(&self, port: usize, class: u8) -> Option<&BigInt> {
        self.by_class.get(&(port, class))
    }

    /// W: the longest that a busy period may have lasted at the last trigger, where that is known.
    pub(crate) fn begun_before(&self, port: usize, class: u8) -> Option<BigInt> {
        Some(self.get(port, class)? - self.swapped_ps)
    }

    /// When the last switch swaps, picoseconds from the last trigger.
    pub(crate) fn swapped_ps(&self) -> u128 {
        self.swapped_ps
    }
}
