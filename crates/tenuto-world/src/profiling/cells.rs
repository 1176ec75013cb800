//! Which combinations of \[Loko\] Table 1 are measured.

use tenuto_model::{Action, MatchType, Position, PriorityOrder, Use};
use tenuto_units::Draws;

/// How much of Table 1 is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// What determines the model: every dimension at its ends and between.
    Spare,
    /// Every number of entries, kind of match and frame size, in the worst position and order.
    Full,
}

/// Table 1.
const ENTRIES: [u32; 9] = [1, 17, 33, 49, 65, 81, 97, 113, 128];
const FRAMES: [u32; 7] = [64, 306, 548, 790, 1_032, 1_274, 1_516];
/// What can be asked of any OpenFlow 1.3 switch with frames that have no tag.
const ACTIONS: [Action; 6] = [
    Action::SetVlanId,
    Action::SetVlanPcp,
    Action::SetDlSrc,
    Action::SetNwSrc,
    Action::SetNwTos,
    Action::SetTpSrc,
];

/// The combinations for a device of so many entries, in an order that the seed decides; what shares a table stands
/// together.
pub fn cells_of(design: Design, entries_max: u32, seed: u64) -> Vec<Vec<Use>> {
    let numbers: &[u32] = if design == Design::Full { &ENTRIES } else { &[1, 33, 128] };
    let mut numbers: Vec<u32> = numbers.iter().map(|n| (*n).min(entries_max.max(1))).collect();
    numbers.dedup();
    let sizes: &[u32] = if design == Design::Full { &FRAMES } else { &[64, 548, 1_516] };
    let of =
        |base: Use| sizes.iter().map(move |&frame_bytes| Use { frame_bytes, ..base }).collect();
    let mut tables: Vec<Vec<Use>> = Vec::new();
    for matching in MatchType::ALL {
        for &entries in &numbers {
            tables.push(of(Use::worst(matching, Action::Output, entries, 64)));
        }
    }
    let most = numbers.last().copied().unwrap_or(1);
    for (position, order) in [
        (Position::First, PriorityOrder::Decreasing),
        (Position::First, PriorityOrder::Increasing),
        (Position::Last, PriorityOrder::Decreasing),
    ] {
        let base = Use::worst(MatchType::FiveTuple, Action::Output, most, 64);
        tables.push(of(Use { position, order, ..base }));
    }
    for action in ACTIONS {
        tables.push(of(Use::worst(MatchType::FiveTuple, action, 1, 64)));
    }
    shuffle(&mut tables, &mut Draws::new(seed));
    tables
}

fn shuffle<T>(list: &mut [T], draws: &mut Draws) {
    for last in (1..list.len()).rev() {
        list.swap(last, draws.index(last + 1));
    }
}
