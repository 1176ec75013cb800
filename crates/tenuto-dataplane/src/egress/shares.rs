//! Queues that share a level: deficit round robin by bytes on the wire (Shreedhar and Varghese,
//! 1996) inside it, strict priority between levels.
//!
//! At its turn a queue is granted its quantum and sends while that lasts; what is left of it waits
//! for the next turn, unless the queue runs empty. The least weight of a level has a quantum of the
//! largest frame, so that every turn of a queue with frames sends one. Nothing is allocated but when
//! shares are set.

use std::collections::BTreeMap;

/// The largest frame, with preamble and gap.
const FRAME_BITS_MAX: u64 = 1_542 * 8;

/// Where a queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    /// A lower level is served first, strictly.
    pub level: u8,
    /// Weight among the queues of the same level, from 1.
    pub weight: u8,
}

/// A queue of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Member {
    queue: u8,
    quantum_bits: u64,
    deficit_bits: u64,
}

/// The queues of one level, in the order of their turns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Level {
    members: Vec<Member>,
    turn: usize,
    /// Whether the queue whose turn it is has been granted its quantum.
    is_granted: bool,
}

/// Where all queues of a port stand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shares {
    of_queues: Vec<Share>,
    levels: Vec<Level>,
}

impl Shares {
    /// Each queue alone in the level of its own number.
    pub(super) fn strict(queues: u8) -> Self {
        Self::new((0..queues).map(|level| Share { level, weight: 1 }).collect())
    }

    /// One share per queue, weights from 1.
    pub(super) fn new(of_queues: Vec<Share>) -> Self {
        let mut by_level: BTreeMap<u8, Vec<(u8, u64)>> = BTreeMap::new();
        for (queue, share) in (0..).zip(&of_queues) {
            let weight = u64::from(share.weight.max(1));
            by_level.entry(share.level).or_default().push((queue, weight));
        }
        let level = |queues: Vec<(u8, u64)>| {
            let least = queues.iter().map(|(_, weight)| *weight).min().unwrap_or(1);
            let unit = FRAME_BITS_MAX.div_ceil(least);
            let member =
                |(queue, weight)| Member { queue, quantum_bits: weight * unit, deficit_bits: 0 };
            Level { members: queues.into_iter().map(member).collect(), turn: 0, is_granted: false }
        };
        Self { of_queues, levels: by_level.into_values().map(level).collect() }
    }

    /// Where each queue stands.
    pub(super) fn of_queues(&self) -> &[Share] {
        &self.of_queues
    }

    /// Whether no level has two queues.
    pub(super) fn are_strict(&self) -> bool {
        self.levels.iter().all(|level| level.members.len() == 1)
            && self.of_queues.windows(2).all(|pair| pair[0].level < pair[1].level)
    }

    /// The queue that sends next; `head` gives the first frame of a queue in bits on the wire, and
    /// whether it is its last.
    pub(super) fn next(&mut self, head: impl Fn(u8) -> Option<(u64, bool)>) -> Option<u8> {
        self.levels.iter_mut().find_map(|level| level.next(&head))
    }
}

impl Level {
    fn next(&mut self, head: impl Fn(u8) -> Option<(u64, bool)>) -> Option<u8> {
        if let [only] = &self.members[..] {
            return head(only.queue).map(|_| only.queue);
        }
        if self.members.iter().all(|member| head(member.queue).is_none()) {
            return None;
        }
        // Some queue has a frame, and its grant is worth the largest: this ends within a round.
        loop {
            let member = &mut self.members[self.turn];
            match head(member.queue) {
                None => member.deficit_bits = 0,
                Some((bits, is_last)) => {
                    if !self.is_granted {
                        member.deficit_bits += member.quantum_bits;
                        self.is_granted = true;
                    }
                    if let Some(left) = member.deficit_bits.checked_sub(bits) {
                        member.deficit_bits = if is_last { 0 } else { left };
                        return Some(member.queue);
                    }
                }
            }
            self.turn = (self.turn + 1) % self.members.len();
            self.is_granted = false;
        }
    }
}
