//! What one look-up costs at worst: a frame that no entry matches, so that every mask is asked.

use super::Spread;
use super::pipeline::timed;
use serde::Serialize;
use std::hint::black_box;
use tenuto_dataplane::switch::{
    Behaviour, ClassifierKind, Entry, HashKey, PacketKey, Pattern, Table,
};
use tenuto_openflow::{Match, Oxm};

const LOOK_UPS: u32 = 20_000;
const FACTOR: u32 = 0x9e37_79b1;

/// What a look-up that finds nothing cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LookUpCost {
    /// Distinct masks in the table.
    pub masks: u32,
    /// Masks that it probed.
    pub probes: u32,
    /// Processor time, nanoseconds.
    pub ns: Spread,
}

/// Looks up what is not there, in tables of so many entries spread over each number of masks.
pub fn worst_look_ups(
    entries: u32,
    masks: &[u32],
    repetitions: u32,
    progress: &mut dyn FnMut(&str),
) -> Vec<LookUpCost> {
    let mut tables = Vec::new();
    for &masks in masks {
        progress(&format!("look-ups: {entries} entries, {masks} masks"));
        tables.push((table(entries, masks), Vec::new()));
    }
    for _ in 0..repetitions {
        for (table, times) in &mut tables {
            times.push(timed(|| {
                for n in 0..LOOK_UPS {
                    black_box(table.look_up(&absent(n)));
                }
                u64::from(LOOK_UPS)
            }));
        }
    }
    let cost = |(&masks, (table, times)): (&u32, (Table, Vec<f64>))| LookUpCost {
        masks,
        probes: (0..1_000).map(|n| table.look_up(&absent(n)).1).max().unwrap_or(0),
        ns: Spread::of(times),
    };
    masks.iter().zip(tables).map(cost).collect()
}

/// Metadata under masks that differ above its lower half; the lowest bit of all entries is set.
fn table(entries: u32, masks: u32) -> Table {
    let mut table = Table::new(ClassifierKind::ByMask, HashKey::fixed());
    let entry = |n: u32| {
        let mask = u64::from(n % masks) << 32 | u64::from(u32::MAX);
        let value = u64::from(n.wrapping_mul(FACTOR) | 1) | u64::from(n) << 32;
        let matching = Match::from(vec![Oxm::Metadata { value: value & mask, mask: Some(mask) }]);
        Entry {
            pattern: Pattern::from_match(&matching).expect("metadata asks for nothing else"),
            precedence: 1,
            cookie: u64::from(n),
            flags: 0,
            idle_timeout: 0,
            hard_timeout: 0,
            behaviour: Behaviour::default(),
            version: None,
            matching,
            instructions: Vec::new(),
        }
    };
    table.set_entries((0..entries).map(entry).collect());
    table
}

/// A key that no entry matches: its lowest bit is not set.
fn absent(n: u32) -> PacketKey {
    let mut key = PacketKey::default();
    key.set_metadata(u64::from(n.wrapping_mul(FACTOR)) << 1, u64::MAX);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_asks_every_mask_once() {
        let costs = worst_look_ups(2_000, &[1, 16, 64], 1, &mut |_| ());
        let probes: Vec<u32> = costs.iter().map(|cost| cost.probes).collect();
        assert_eq!(probes, [1, 16, 64]);
        assert_eq!(table(2_000, 16).look_up(&absent(3)).0, None);
    }
}
