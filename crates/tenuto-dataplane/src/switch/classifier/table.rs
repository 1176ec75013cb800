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

use super::ethernet_key::{EthernetKey, Words};
use super::hash_key::HashKey;
use super::index_work::{ChangeWork, LookUpWork};
use super::key::{PacketKey, Pattern};
use super::mask_index::{Found, MaskIndex};
use super::priority_chains::{CHAIN_INDEXED_MIN, PriorityChains};
use crate::switch::tables::chunks::Chunks;
use crate::switch::tables::entry::Entry;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::Hasher;
use std::sync::OnceLock;

/// Masks that are compared one by one, and in which a look-up reads the values at once; more have an index,
/// and look-ups read first what tells that a value is not there.
const FEW_MASKS: usize = 8;

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
#[derive(Clone, Debug)]
pub struct Table {
    slots: Chunks<Option<Box<Entry>>>,
    /// By slot, the next best entry of the same pattern; of a free one, the next free.
    next_best: Chunks<Option<u32>>,
    free: Option<u32>,
    entries: usize,
    /// Slots in canonical order, best precedence first, then by pattern; made when asked for.
    order: OnceLock<Vec<u32>>,
    /// Best precedence first, with the precedence beside it: it decides when a search ends.
    groups: Vec<(u16, Box<MaskIndex>)>,
    /// The best precedence of each mask, which tells its place among the groups.
    by_mask: BTreeMap<PacketKey, u16>,
    chains: PriorityChains,
    /// Bits that any mask lets count.
    asked: PacketKey,
    /// Whether none of these bits is outside of the Ethernet header.
    asks_ethernet: bool,
    /// How often the masks or their order have changed.
    arrangements: u64,
    kind: ClassifierKind,
    hash_key: HashKey,
    /// What changes have cost in the indexes.
    work: ChangeWork,
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
    /// An empty table. The key says where its indexes put entries, and nothing else.
    pub fn new(kind: ClassifierKind, hash_key: HashKey) -> Self {
        Self {
            slots: Chunks::new(),
            next_best: Chunks::new(),
            free: None,
            entries: 0,
            order: OnceLock::new(),
            groups: Vec::new(),
            by_mask: BTreeMap::new(),
            chains: PriorityChains::default(),
            asked: PacketKey::default(),
            asks_ethernet: false,
            arrangements: 0,
            kind,
            hash_key,
            work: ChangeWork::default(),
        }
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
    pub(in crate::switch) fn get(&self, slot: u32) -> Option<&Entry> {
        self.slots.get(slot)?.as_deref()
    }

    /// Changes an entry in its slot, but neither its pattern nor its precedence.
    pub(in crate::switch) fn change(&mut self, slot: u32, change: impl FnOnce(&mut Entry)) {
        change(self.slots[slot].as_mut().expect("only slots in use are given out"));
    }

    /// One more than the largest slot.
    pub(in crate::switch) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Distinct masks: the most probes that a look-up can take.
    pub const fn masks(&self) -> usize {
        self.groups.len()
    }

    fn order(&self) -> &[u32] {
        self.order.get_or_init(|| self.sorted(self.in_use().collect()))
    }

    /// All entries, in the order of their slots.
    pub(in crate::switch) fn each(&self) -> impl Iterator<Item = &Entry> {
        self.slots.iter().flatten().map(|entry| &**entry)
    }

    /// Whether some entry has this mask.
    pub(in crate::switch) fn knows(&self, mask: &PacketKey) -> bool {
        self.group(mask).is_some()
    }

    /// Slots that hold an entry.
    pub(in crate::switch) fn in_use(&self) -> impl Iterator<Item = u32> {
        (0_u32..).zip(self.slots.iter()).filter(|(_, it)| it.is_some()).map(|(slot, _)| slot)
    }

    /// Slots in use in canonical order.
    pub(in crate::switch) fn sorted(&self, mut slots: Vec<u32>) -> Vec<u32> {
        slots.sort_unstable_by(|&one, &other| self.rank(one).cmp(&self.rank(other)));
        slots
    }

    /// What the canonical order goes by.
    pub(in crate::switch) fn rank(&self, slot: u32) -> (Reverse<u16>, &Pattern) {
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

    /// Whether a look-up by mask needs nothing but the Ethernet header.
    #[inline]
    pub(in crate::switch) const fn asks_ethernet(&self) -> bool {
        self.asks_ethernet
    }

    /// The same for the header of a frame; only for tables that ask for no more.
    #[inline(always)]
    pub(in crate::switch) fn look_up_ethernet(&self, key: &EthernetKey) -> (Option<u32>, u32) {
        debug_assert!(self.asks_ethernet, "the key says too little");
        match self.groups.as_slice() {
            // As it is with virtual links.
            [(_, group)] if let Some(word) = group.only(key) => (group.find_slot(word), 1),
            _ => self.look_up_ethernet_masks(key),
        }
    }

    #[inline(never)]
    fn look_up_ethernet_masks(&self, key: &EthernetKey) -> (Option<u32>, u32) {
        self.look_up_by_mask(key)
    }

    #[inline(always)]
    fn look_up_by_mask(&self, key: &impl Words) -> (Option<u32>, u32) {
        match self.groups.len() <= FEW_MASKS {
            true => self.search(|group| group.find(key)),
            false => self.look_up_many_masks(key),
        }
    }

    /// Of many masks, most have no entry for a key.
    #[inline(never)]
    fn look_up_many_masks(&self, key: &impl Words) -> (Option<u32>, u32) {
        self.search(|group| group.find_marked(key, &mut ()))
    }

    /// What a look-up by mask of a key reads: the masks that it probes, and in each at most eight buckets
    /// of four entries and once an ordered map.
    pub fn look_up_work(&self, key: &PacketKey) -> LookUpWork {
        let mut work = LookUpWork::default();
        let (_, masks) = self.search(|group| group.find_marked(key, &mut work));
        LookUpWork { masks, ..work }
    }

    /// What changes have cost in the indexes so far.
    pub const fn change_work(&self) -> ChangeWork {
        self.work
    }

    /// The slot of the best of what `find` finds in each mask, and how many masks that took.
    #[inline(always)]
    fn search(&self, mut find: impl FnMut(&MaskIndex) -> Option<Found>) -> (Option<u32>, u32) {
        let mut best: Option<(u16, &PacketKey, u32)> = None;
        let mut probes = 0;
        for (precedence_max, group) in &self.groups {
            if best.is_some_and(|(precedence, ..)| precedence > *precedence_max) {
                break;
            }
            probes += 1;
            let Some(Found { slot, precedence }) = find(group) else { continue };
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
        *self = Self::new(self.kind, self.hash_key.clone());
        for entry in entries {
            self.insert(entry);
        }
    }

    /// Adds an entry that is not there yet, and gives its slot.
    pub(in crate::switch) fn insert(&mut self, entry: Entry) -> u32 {
        let Pattern { mask, value } = entry.pattern;
        let precedence = entry.precedence;
        let known = self.group(&mask);
        let group = known.unwrap_or_else(|| {
            let index = MaskIndex::new(mask, self.hash_key.clone());
            self.groups.push((0, Box::new(index)));
            self.groups.len() - 1
        });
        let pattern = entry.pattern;
        let best = self.groups[group].1.find_marked(&value, &mut self.work);
        let best = best.map(|found| found.slot);
        self.notice_chain(&pattern, best);
        let before = self.last_better(&pattern, precedence, best);
        let next_best = match before {
            Some(before) => self.next_best[before],
            None => best,
        };
        let slot = self.fill(entry, next_best);
        match before {
            Some(before) => self.next_best[before] = Some(slot),
            None => {
                self.groups[group].1.put(&value, Found { slot, precedence }, &mut self.work);
            }
        }
        if best.is_some() {
            self.chains.join(&pattern, precedence, slot);
        }
        self.groups[group].1.count_in(precedence);
        self.order_groups(group, known.is_none());
        self.order.take();
        slot
    }

    /// The last entry of a pattern that is better than a precedence, in the chain that begins with `best`.
    fn last_better(&self, pattern: &Pattern, precedence: u16, best: Option<u32>) -> Option<u32> {
        let walked =
            || self.chain(best).take_while(|&s| self.entry(s).precedence > precedence).last();
        best.and_then(|_| self.chains.before(pattern, precedence).unwrap_or_else(walked))
    }

    /// Keeps the entries of a pattern in order, once there are many.
    fn notice_chain(&mut self, pattern: &Pattern, best: Option<u32>) {
        if self.chain(best).nth(CHAIN_INDEXED_MIN).is_some() && self.chains.count(pattern).is_none()
        {
            let all: Vec<(u16, u32)> =
                self.chain(best).map(|slot| (self.entry(slot).precedence, slot)).collect();
            self.chains.form(*pattern, all.into_iter());
        }
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
    pub(in crate::switch) fn remove(&mut self, slot: u32) -> Entry {
        let Entry { pattern, precedence, .. } = *self.entry(slot);
        let group = self.group(&pattern.mask).expect("every mask has its group");
        let value = &pattern.value;
        let best = self.groups[group].1.find_marked(value, &mut self.work);
        let best = best.map(|found| found.slot);
        let next = self.next_best[slot];
        let before = self.last_better(&pattern, precedence, best);
        let entry = self.slots[slot].take().expect("only slots in use are given out");
        self.chains.leave(&pattern, precedence);
        match (before, next) {
            (Some(before), _) => self.next_best[before] = next,
            (None, Some(next)) => {
                let precedence = self.entry(next).precedence;
                let found = Found { slot: next, precedence };
                self.groups[group].1.put(value, found, &mut self.work);
            }
            (None, None) => self.groups[group].1.take(value, &mut self.work),
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
        if self.groups.len() <= FEW_MASKS {
            return self.groups.iter().position(|(_, group)| group.mask() == mask);
        }
        let best = *self.by_mask.get(mask)?;
        self.groups
            .binary_search_by(|(other, group)| {
                (Reverse(*other), group.mask()).cmp(&(Reverse(best), mask))
            })
            .ok()
    }

    /// Puts a group that has changed where its best entry belongs, or away if it has none.
    fn order_groups(&mut self, changed: usize, is_new: bool) {
        let (before, group) = &self.groups[changed];
        let (precedence_max, is_gone) = (group.precedence_max(), group.is_empty());
        if !is_new && !is_gone && *before == precedence_max {
            return;
        }
        let (_, group) = self.groups.remove(changed);
        self.arrangements += 1;
        let mask = *group.mask();
        if is_gone {
            self.by_mask.remove(&mask);
            self.forget_asked();
        } else {
            let place = self.groups.partition_point(|(best, other)| {
                (Reverse(*best), other.mask()) < (Reverse(precedence_max), &mask)
            });
            self.groups.insert(place, (precedence_max, group));
            self.by_mask.insert(mask, precedence_max);
            self.asked = self.asked.with(&mask);
        }
        self.asks_ethernet = self.is_by_mask() && EthernetKey::answers(&self.asked);
    }

    /// Looks again for what is asked, as a mask is gone: mostly the first of the others ask for as much.
    fn forget_asked(&mut self) {
        let before = std::mem::take(&mut self.asked);
        for (_, group) in &self.groups {
            self.asked = self.asked.with(group.mask());
            if self.asked == before {
                return;
            }
        }
    }

    /// Whether look-ups go mask by mask.
    pub(in crate::switch) fn is_by_mask(&self) -> bool {
        self.kind == ClassifierKind::ByMask
    }

    /// Whether entries of a pattern see alike all that the masks of this table tell apart: then
    /// every frame that matches the pattern has the same best entry here, after the same probes.
    pub(in crate::switch) fn tells_nothing_beyond(&self, pattern: &Pattern) -> bool {
        self.is_by_mask() && self.asked.masked(&pattern.mask) == self.asked
    }

    /// How often the masks or their order have changed.
    pub(in crate::switch) const fn arrangements(&self) -> u64 {
        self.arrangements
    }

    /// The masks of its entries.
    pub(in crate::switch) fn each_mask(&self) -> impl Iterator<Item = &PacketKey> {
        self.groups.iter().map(|(_, group)| group.mask())
    }

    /// Whether there are very many entries of exactly this pattern.
    pub(in crate::switch) fn is_chained(&self, pattern: &Pattern) -> bool {
        self.chains.count(pattern).is_some()
    }

    /// Slots of the entries of exactly this pattern.
    pub(in crate::switch) fn of_pattern(&self, pattern: &Pattern) -> impl Iterator<Item = u32> {
        let group = self.group(&pattern.mask).map(|place| &self.groups[place].1);
        self.chain(group.and_then(|group| group.find(&pattern.value)).map(|found| found.slot))
    }

    /// The slot of the entry with exactly this pattern and precedence.
    pub fn find(&self, pattern: &Pattern, precedence: u16) -> Option<u32> {
        let best = self.groups[self.group(&pattern.mask)?].1.find(&pattern.value)?;
        if let Some(found) = self.chains.find(pattern, precedence) {
            return found;
        }
        self.chain(Some(best.slot)).find(|&slot| self.entry(slot).precedence == precedence)
    }

    /// Slots of the entries all of whose frames a pattern matches too. Masks that ask for less are
    /// not looked at, and of the pattern's own only its value.
    pub(in crate::switch) fn within(&self, pattern: &Pattern) -> impl Iterator<Item = u32> {
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
    pub(in crate::switch) fn count_within(&self, pattern: &Pattern) -> usize {
        let finer = self.groups.iter().filter(|(_, group)| {
            *group.mask() != pattern.mask && group.mask().masked(&pattern.mask) == pattern.mask
        });
        let own = self.chains.count(pattern).unwrap_or(0);
        finer.map(|(_, group)| group.entries()).sum::<usize>() + own
    }

    /// Whether some entry of this precedence, but of another pattern, matches some frame that the
    /// pattern matches.
    pub(in crate::switch) fn overlaps(&self, pattern: &Pattern, precedence: u16) -> bool {
        self.rivals(pattern, precedence).any(|group| {
            if is_coarser(group, pattern) {
                let coarser =
                    Pattern { mask: *group.mask(), value: pattern.value.masked(group.mask()) };
                return self.find(&coarser, precedence).is_some();
            }
            let slots = group.slots().flat_map(|best| self.chain(Some(best)));
            slots.into_iter().any(|slot| self.overlaps_at(slot, pattern, precedence))
        })
    }

    /// Whether the entry of a slot is of this precedence, but of another pattern, and matches some
    /// frame that the pattern matches.
    pub(in crate::switch) fn overlaps_at(
        &self,
        slot: u32,
        pattern: &Pattern,
        precedence: u16,
    ) -> bool {
        self.get(slot).is_some_and(|entry| {
            entry.precedence == precedence
                && entry.pattern != *pattern
                && entry.pattern.overlaps(pattern)
        })
    }

    /// Entries that have to be compared one by one to tell whether any overlaps.
    pub(in crate::switch) fn count_rivals(&self, pattern: &Pattern, precedence: u16) -> usize {
        let compared = self.rivals(pattern, precedence).filter(|it| !is_coarser(it, pattern));
        compared.map(MaskIndex::entries).sum()
    }

    /// Entries of other masks, among them some of this precedence.
    fn rivals(&self, pattern: &Pattern, precedence: u16) -> impl Iterator<Item = &MaskIndex> {
        let best = self.groups.iter().take_while(move |(best, _)| *best >= precedence);
        let others = best.map(|(_, group)| &**group);
        others.filter(move |group| group.has(precedence) && *group.mask() != pattern.mask)
    }
}

/// Whether entries of a group ask for nothing that the pattern leaves open: one of them at most has
/// its value.
fn is_coarser(group: &MaskIndex, pattern: &Pattern) -> bool {
    pattern.mask.masked(group.mask()) == *group.mask()
}
