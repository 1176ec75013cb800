//! What happens before what.

use super::event::{EventKind, Run};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes that reachability may take.
const REACHABILITY_BYTES_MAX: usize = 1 << 29;
/// Edges at most: numbers that many share would make them quadratic.
const EDGES_MAX: usize = 4_000_000;
/// Events and edges that are walked over at most: a minute or so.
const STEPS_MAX: u64 = 20_000_000_000;

/// As large as it is on any machine.
pub(super) const fn product(one: usize, other: usize) -> u64 {
    (one as u64).saturating_mul(other as u64)
}

/// Edges between events, by their places in the run.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    after: Vec<BTreeSet<usize>>,
    before: Vec<BTreeSet<usize>>,
}

impl Order {
    /// # Errors
    /// In words, if there are too many edges.
    pub(super) fn of(run: &Run) -> Result<Self, String> {
        let count = run.events.len();
        let mut order =
            Self { after: vec![BTreeSet::new(); count], before: vec![BTreeSet::new(); count] };
        order.by_numbers(run, |event| (event.packet_in, &event.packets_out))?;
        order.by_numbers(run, |event| (event.message_in, &event.messages_out))?;
        order.by_barriers(run);
        Ok(order)
    }

    /// # Errors
    /// In words, if it would take too long to walk from so many events.
    pub(super) fn check_walks(&self, count: usize) -> Result<(), String> {
        let steps = product(count, self.edges() + self.after.len());
        match steps > STEPS_MAX {
            true => Err(format!("{count} accesses among {} events are too many", self.after.len())),
            false => Ok(()),
        }
    }

    pub(super) fn edges(&self) -> usize {
        self.after.iter().map(BTreeSet::len).sum()
    }

    pub(super) fn add(&mut self, first: usize, second: usize) {
        if first != second {
            self.after[first].insert(second);
            self.before[second].insert(first);
        }
    }

    /// Who sends a packet or message, then who takes it.
    fn by_numbers(
        &mut self,
        run: &Run,
        ends: impl Fn(&super::event::Event) -> (Option<u64>, &Vec<u64>),
    ) -> Result<(), String> {
        let mut edges = 0;
        let mut senders: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (place, event) in run.events.iter().enumerate() {
            for number in ends(event).1 {
                senders.entry(*number).or_default().push(place);
            }
        }
        let of = |number: &u64| senders.get(number).map_or(&[][..], Vec::as_slice);
        // Before they are made: they would take the memory.
        for number in run.events.iter().filter_map(|event| ends(event).0) {
            edges += of(&number).len();
            if edges > EDGES_MAX {
                return Err(format!("number {number} is sent and taken too often"));
            }
        }
        for (place, event) in run.events.iter().enumerate() {
            let senders = ends(event).0.map_or(&[][..], |number| of(&number));
            senders.iter().for_each(|sender| self.add(*sender, place));
        }
        Ok(())
    }

    /// Messages before a barrier, the barrier, messages behind it.
    fn by_barriers(&mut self, run: &Run) {
        let mut since: BTreeMap<Option<u64>, Vec<usize>> = BTreeMap::new();
        let mut last: BTreeMap<Option<u64>, usize> = BTreeMap::new();
        for (place, event) in run.events.iter().enumerate() {
            match event.kind {
                EventKind::Barrier => {
                    for before in since.remove(&event.datapath).into_iter().flatten() {
                        self.add(before, place);
                    }
                    last.insert(event.datapath, place);
                }
                EventKind::MessageHandled => {
                    since.entry(event.datapath).or_default().push(place);
                    if let Some(barrier) = last.get(&event.datapath) {
                        self.add(*barrier, place);
                    }
                }
                _ => {}
            }
        }
    }

    /// An event and all behind it.
    pub(super) fn from(&self, place: usize) -> Vec<bool> {
        closure(place, &self.after)
    }

    /// An event and all before it.
    pub(super) fn to(&self, place: usize) -> Vec<bool> {
        closure(place, &self.before)
    }
}

fn closure(place: usize, edges: &[BTreeSet<usize>]) -> Vec<bool> {
    let mut found = vec![false; edges.len()];
    found[place] = true;
    let mut waiting = vec![place];
    while let Some(at) = waiting.pop() {
        for &next in &edges[at] {
            if !std::mem::replace(&mut found[next], true) {
                waiting.push(next);
            }
        }
    }
    found
}

/// Which of some events are before each other, directly or not.
pub(super) struct Reach {
    /// Column of each event that matters.
    columns: BTreeMap<usize, usize>,
    words: usize,
    /// By column: columns that are reached.
    rows: Vec<u64>,
}

impl Reach {
    /// # Errors
    /// In words, if there are too many.
    pub(super) fn of(order: &Order, wanted: &BTreeSet<usize>) -> Result<Self, String> {
        let words = wanted.len().div_ceil(64).max(1);
        if words.saturating_mul(8).saturating_mul(wanted.len()) > REACHABILITY_BYTES_MAX {
            return Err(format!("{} events that touch tables are too many", wanted.len()));
        }
        order.check_walks(wanted.len())?;
        let columns: BTreeMap<usize, usize> =
            wanted.iter().enumerate().map(|(column, place)| (*place, column)).collect();
        let mut rows = vec![0; words * wanted.len()];
        for (row, place) in wanted.iter().enumerate() {
            let reached = order.from(*place);
            for (place, column) in columns.iter().filter(|(place, _)| reached[**place]) {
                debug_assert!(wanted.contains(place));
                rows[row * words + column / 64] |= 1 << (column % 64);
            }
        }
        Ok(Self { columns, words, rows })
    }

    /// Whether one of the two is before the other.
    pub(super) fn is_ordered(&self, one: usize, other: usize) -> bool {
        let (Some(&one), Some(&other)) = (self.columns.get(&one), self.columns.get(&other)) else {
            return false;
        };
        let has = |row: usize, column: usize| {
            self.rows[row * self.words + column / 64] >> (column % 64) & 1 == 1
        };
        has(one, other) || has(other, one)
    }
}
