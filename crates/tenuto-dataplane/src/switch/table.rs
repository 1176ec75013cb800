//! Flow tables: entries, and two classifiers that must agree.
//!
//! A look-up costs one probe per distinct mask, not per entry: entries of one mask share an index
//! from masked key to slot (tuple-space search, [Srinivasan99]). Masks are probed in order of the
//! highest entry precedence that they hold, so the search ends as soon as no later mask can win.
//! The linear twin compares entry after entry, as cheap switches do; tests hold the two equal.
//!
//! Entries stay in their slots, so that a change costs what it changes: one index, and the order of
//! the masks. The canonical order of entries is made when somebody asks for it. Entries are never
//! written by packets; counters live in side arrays by slot.

use super::chunks::Chunks;
use super::entry::Entry;
use super::key::{PacketKey, Pattern};
use super::mask_index::{Found, MaskIndex};
use std::cmp::Reverse;
use std::hash::Hasher;
use std::sync::OnceLock;

/// Which classifier a switch uses; a property of the device that it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ClassifierKind {
    /// One probe per distinct mask.
    #[default]
    ByMask,
    /// One comparison per entry, in order of precedence.
    Linear,
}

/// A multiplicative hash of whole words: deterministic, and quick for keys of a few words.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }

    fn write(&mut self, bytes: &[u8]) {
        // Arrays of words come as one run of bytes.
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, _length: usize) {}
}

/// One table at one level: entries in slots, and the indexes over them.
#[derive(Clone, Debug, Default)]
pub struct Table {
    slots: Chunks<Option<Box<Entry>>>,
    /// By slot, the next best entry of the same pattern; of a free one, the next free.
    next_best: Chunks<Option<u32>>,
    free: Option<u32>,
    entries: usize,
    /// Slots in canonical order, best precedence first, then by pattern; made when asked for.
    order: OnceLock<Vec<u32>>,
    /// Best precedence first, with the precedence beside it: it decides when a search ends.
    groups: Vec<(u16, MaskIndex)>,
    /// Bits that any mask lets count.
    asked: PacketKey,
    /// How often the masks or their order have changed.
    arrangements: u64,
    kind: ClassifierKind,
}

/// Tables are equal if their entries are: slots and indexes follow from how they came.
impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.entries().iter().eq(other.entries().iter())
    }
}

impl Eq for Table {}

/// The entries of a table in canonical order: equal contents, equal order, whatever the history.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a>(&'a Table);

impl<'a> Entries<'a> {
    /// How many.
    pub const fn len(self) -> usize {
        self.0.entries
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// One after the other.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a Entry> {
        self.with_slots().map(|(_, entry)| entry)
    }

    /// The same with their slots.
    pub fn with_slots(self) -> impl ExactSizeIterator<Item = (u32, &'a Entry)> {
        self.0.order().iter().map(move |&slot| (slot, self.0.entry(slot)))
    }
}

impl Table {
    /// An empty table.
    pub fn new(kind: ClassifierKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Its entries.
    pub const fn entries(&self) -> Entries<'_> {
        Entries(self)
    }

    /// The entry in a slot that a look-up gave.
    ///
    /// # Panics
    /// If there is none: slots are good until the table changes.
    pub fn entry(&self, slot: u32) -> &Entry {
        self.slots[slot].as_ref().expect("only slots in use are given out")
    }

    /// The entry in a slot, if there is one.
    pub(super) fn get(&self, slot: u32) -> Option<&Entry> {
        self.slots.get(slot)?.as_deref()
    }

    /// Changes an entry in its slot, but neither its pattern nor its precedence.
    pub(super) fn change(&mut self, slot: u32, change: impl FnOnce(&mut Entry)) {
        change(self.slots[slot].as_mut().expect("only slots in use are given out"));
    }

    /// One more than the largest slot.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Distinct masks: the most probes that a look-up can take.
    pub const fn masks(&self) -> usize {
        self.groups.len()
    }

    fn order(&self) -> &[u32] {
        self.order.get_or_init(|| self.sorted(self.in_use().collect()))
    }

    /// Slots that hold an entry.
    pub(super) fn in_use(&self) -> impl Iterator<Item = u32> {
        (0_u32..).zip(self.slots.iter()).filter(|(_, it)| it.is_some()).map(|(slot, _)| slot)
    }

    /// Slots in use in canonical order.
    pub(super) fn sorted(&self, mut slots: Vec<u32>) -> Vec<u32> {
        slots.sort_unstable_by(|&one, &other| self.rank(one).cmp(&self.rank(other)));
        slots
    }

    /// What the canonical order goes by.
    pub(super) fn rank(&self, slot: u32) -> (Reverse<u16>, &Pattern) {
        let entry = self.entry(slot);
        (Reverse(entry.precedence), &entry.pattern)
    }

    /// The slot of the best entry for a key, and how many probes it took.
    #[inline]
    pub fn look_up(&self, key: &PacketKey) -> (Option<u32>, u32) {
        match self.kind {
            ClassifierKind::ByMask => self.look_up_by_mask(key),
            ClassifierKind::Linear => self.look_up_linear(key),
        }
    }

    #[inline(always)]
    fn look_up_by_mask(&self, key: &PacketKey) -> (Option<u32>, u32) {
        let mut best: Option<(u16, &PacketKey, u32)> = None;
        let mut probes = 0;
        for (precedence_max, group) in &self.groups {
            if best.is_some_and(|(precedence, ..)| precedence > *precedence_max) {
                break;
            }
            probes += 1;
            let Some(Found { slot, precedence }) = group.find(key) else { continue };
            // Entries of one precedence that both match stand in the order of their patterns, and
            // these begin with the mask.
            let is_better = best.is_none_or(|(other, mask, _)| {
                precedence > other || precedence == other && group.mask() < mask
            });
            if is_better {
                best = Some((precedence, group.mask(), slot));
            }
        }
        (best.map(|(.., slot)| slot), probes)
    }

    fn look_up_linear(&self, key: &PacketKey) -> (Option<u32>, u32) {
        let order = self.order();
        let place = order.iter().position(|&slot| self.entry(slot).pattern.matches(key));
        let compared = place.map_or(order.len(), |place| place + 1);
        (place.map(|place| order[place]), u32::try_from(compared).unwrap_or(u32::MAX))
    }

    /// An empty table but for these entries.
    pub fn set_entries(&mut self, entries: Vec<Entry>) {
        *self = Self::new(self.kind);
        for entry in entries {
            self.insert(entry);
        }
    }

    /// Adds an entry that is not there yet, and gives its slot.
    pub(super) fn insert(&mut self, entry: Entry) -> u32 {
        let Pattern { mask, value } = entry.pattern;
        let precedence = entry.precedence;
        let known = self.group(&mask);
        let group = known.unwrap_or_else(|| {
            self.groups.push((0, MaskIndex::new(mask)));
            self.groups.len() - 1
        });
        let best = self.groups[group].1.find(&value).map(|found| found.slot);
        let before = self.chain(best).take_while(|&s| self.entry(s).precedence > precedence).last();
        let next_best = match before {
            Some(before) => self.next_best[before],
            None => best,
        };
        let slot = self.fill(entry, next_best);
        match before {
            Some(before) => self.next_best[before] = Some(slot),
            None => self.groups[group].1.put(&value, Found { slot, precedence }),
        }
        self.groups[group].1.count_in(precedence);
        self.order_groups(group, known.is_none());
        self.order.take();
        slot
    }

    /// Takes a slot for an entry.
    fn fill(&mut self, entry: Entry, next_best: Option<u32>) -> u32 {
        let entry = Some(Box::new(entry));
        self.entries += 1;
        if let Some(slot) = self.free {
            self.free = self.next_best[slot];
            (self.slots[slot], self.next_best[slot]) = (entry, next_best);
            return slot;
        }
        self.slots.push(entry);
        self.next_best.push(next_best);
        u32::try_from(self.slots.len() - 1).expect("tables have fewer entries")
    }

    /// Takes an entry out; its slot is free for another.
    pub(super) fn remove(&mut self, slot: u32) -> Entry {
        let entry = self.slots[slot].take().expect("only slots in use are given out");
        let group = self.group(&entry.pattern.mask).expect("every mask has its group");
        let value = &entry.pattern.value;
        let best = self.groups[group].1.find(value).map(|found| found.slot);
        let next = self.next_best[slot];
        let before = self.chain(best).take_while(|&other| other != slot).last();
        match (before, next) {
            (Some(before), _) => self.next_best[before] = next,
            (None, Some(next)) => {
                let precedence = self.entry(next).precedence;
                self.groups[group].1.put(value, Found { slot: next, precedence });
            }
            (None, None) => self.groups[group].1.take(value),
        }
        self.groups[group].1.count_out(entry.precedence);
        self.order_groups(group, false);
        self.next_best[slot] = self.free.replace(slot);
        self.entries -= 1;
        self.order.take();
        *entry
    }

    /// Slots of the entries of one pattern, best precedence first.
    fn chain(&self, best: Option<u32>) -> impl Iterator<Item = u32> {
        std::iter::successors(best, |&slot| self.next_best[slot])
    }

    fn group(&self, mask: &PacketKey) -> Option<usize> {
        self.groups.iter().position(|(_, group)| group.mask() == mask)
    }

    /// Puts a group that has changed where its best entry belongs, or away if it has none.
    fn order_groups(&mut self, changed: usize, is_new: bool) {
        let (precedence_max, group) = &mut self.groups[changed];
        if group.is_empty() {
            self.groups.remove(changed);
        } else if is_new || *precedence_max != group.precedence_max() {
            *precedence_max = group.precedence_max();
            self.groups.sort_by_key(|(best, group)| (Reverse(*best), *group.mask()));
        } else {
            return;
        }
        self.arrangements += 1;
        let masks = self.groups.iter().map(|(_, group)| group.mask());
        self.asked = masks.fold(PacketKey::default(), |all, mask| all.with(mask));
    }

    /// Whether entries of a pattern see alike all that the masks of this table tell apart: then
    /// every frame that matches the pattern has the same best entry here, after the same probes.
    pub(super) fn tells_nothing_beyond(&self, pattern: &Pattern) -> bool {
        self.kind == ClassifierKind::ByMask && self.asked.masked(&pattern.mask) == self.asked
    }

    /// How often the masks or their order have changed.
    pub(super) const fn arrangements(&self) -> u64 {
        self.arrangements
    }

    /// The masks of its entries.
    pub(super) fn each_mask(&self) -> impl Iterator<Item = &PacketKey> {
        self.groups.iter().map(|(_, group)| group.mask())
    }

    /// Slots of the entries of exactly this pattern.
    pub(super) fn of_pattern(&self, pattern: &Pattern) -> impl Iterator<Item = u32> {
        let group = self.group(&pattern.mask).map(|place| &self.groups[place].1);
        self.chain(group.and_then(|group| group.find(&pattern.value)).map(|found| found.slot))
    }

    /// The slot of the entry with exactly this pattern and precedence.
    pub fn find(&self, pattern: &Pattern, precedence: u16) -> Option<u32> {
        let best = self.groups[self.group(&pattern.mask)?].1.find(&pattern.value)?;
        self.chain(Some(best.slot)).find(|&slot| self.entry(slot).precedence == precedence)
    }

    /// Slots of the entries all of whose frames a pattern matches too. Masks that ask for less are
    /// not looked at, and of the pattern's own only its value.
    pub(super) fn within(&self, pattern: &Pattern) -> impl Iterator<Item = u32> {
        self.groups.iter().flat_map(move |(_, group)| {
            let is_own = *group.mask() == pattern.mask;
            let is_finer = !is_own && group.mask().masked(&pattern.mask) == pattern.mask;
            let own = is_own.then(|| group.find(&pattern.value)).flatten().map(|found| found.slot);
            let finer = is_finer.then(|| group.slots()).into_iter().flatten();
            let finer = finer.flat_map(|best| self.chain(Some(best)));
            let finer = finer.filter(|&slot| self.entry(slot).pattern.is_within(pattern));
            self.chain(own).chain(finer)
        })
    }

    /// The most entries that [`Table::within`] may have to look at.
    pub(super) fn count_within(&self, pattern: &Pattern) -> usize {
        let finer = self.groups.iter().filter(|(_, group)| {
            *group.mask() != pattern.mask && group.mask().masked(&pattern.mask) == pattern.mask
        });
        finer.map(|(_, group)| group.entries()).sum()
    }

    /// Whether some entry of this precedence, but of another pattern, matches some frame that the
    /// pattern matches.
    pub(super) fn overlaps(&self, pattern: &Pattern, precedence: u16) -> bool {
        self.slots.iter().flatten().any(|entry| {
            entry.precedence == precedence
                && entry.pattern != *pattern
                && entry.pattern.overlaps(pattern)
        })
    }
}
