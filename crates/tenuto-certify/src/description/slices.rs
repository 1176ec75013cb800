//! Processor time of tenants' slices, rebuilt from their budgets (docs/theory/analysis.md, "Slices").

use crate::description::read::{SliceBudget, SliceControl};

/// What a bucket of bytes holds at least: the longest message.
const LONGEST: u128 = 65_535;
/// What answers to one message may have beyond the bucket that they are taken from.
const ANSWERS: u128 = 131_072;
/// Slices of a switch at most, as the switch has it.
const SLICES_MAX: usize = 64;

/// At once, and in a second, picoseconds.
pub(crate) fn slice_work(slices: &SliceControl) -> (u128, u128) {
    let message = u128::from(slices.message_ps);
    let byte = u128::from(slices.byte_ps);
    let (mut at_once, mut in_second) = (0, 0);
    for it in &slices.budgets {
        for rate in [it.messages, it.packet_ins] {
            let tenth = u128::from(rate).div_ceil(10);
            at_once += tenth.max(1) * message;
            in_second += u128::from(rate) * message;
        }
        let tenth = u128::from(it.bytes).div_ceil(10);
        // Messages with their answers in one bucket, packet-ins in another.
        at_once += (tenth.max(LONGEST) * 2 + ANSWERS) * byte;
        in_second += u128::from(it.bytes) * 2 * byte;
    }
    (at_once, in_second)
}

/// Whether budgets are those of slices that a switch can have, with sums that stay in 128 bits.
pub(crate) fn are_slices(slices: &SliceControl) -> bool {
    const SECOND_PS: u64 = 1_000_000_000_000;
    let has_rates = |it: &SliceBudget| {
        it.messages > 0 && it.packet_ins > 0 && (1..=10_000_000_000).contains(&it.bytes)
    };
    let is_named = |at: usize| {
        let name = &slices.budgets[at].name;
        !name.is_empty() && slices.budgets[..at].iter().all(|before| before.name != *name)
    };
    slices.budgets.len() <= SLICES_MAX
        && slices.message_ps <= SECOND_PS
        && slices.byte_ps <= SECOND_PS
        && slices.budgets.iter().all(has_rates)
        && (0..slices.budgets.len()).all(is_named)
}
