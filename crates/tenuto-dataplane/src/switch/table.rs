//! Flow tables: entries, and two classifiers that must agree.
//!
//! A look-up costs one probe per distinct mask, not per entry: entries of one mask share a hash
//! map from masked key to slots (tuple-space search, [Srinivasan99]). Masks are probed in order
//! of the highest entry precedence that they hold, so the search ends as soon as no later mask can
//! win. The linear twin compares entry after entry, as cheap switches do; tests hold the two equal.
//!
//! Entries stay in their slots, so that a change costs what it changes: one map, and the order of
//! the masks. Entries are never written by packets; counters live in side arrays by slot.

use super::entry::Entry;
use super::key::{PacketKey, Pattern, UsedWords};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

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

type Slots = HashMap<u64, Vec<u32>, BuildHasherDefault<WordHasher>>;

/// The entries of one mask.
#[derive(Clone, Debug)]
struct MaskGroup {
    mask: PacketKey,
    used: UsedWords,
    /// How many entries there are of each precedence.
    precedences: BTreeMap<u16, u32>,
    /// Slots by the hash of their value, best precedence first. Equal values share a list, and so
    /// do different values of one hash: the look-up compares.
    slots: Slots,
}

impl MaskGroup {
    fn precedence_max(&self) -> u16 {
        self.precedences.last_key_value().map_or(0, |(precedence, _)| *precedence)
    }
}

/// One table at one level: entries in slots, and the index over them.
#[derive(Clone, Debug, Default)]
pub struct Table {
    slots: Vec<Option<Entry>>,
    free: Vec<u32>,
    /// Slots in canonical order: best precedence first, then by pattern.
    order: Vec<u32>,
    /// Best precedence first, with the precedence beside it: it decides when a search ends.
    groups: Vec<(u16, MaskGroup)>,
    kind: ClassifierKind,
}

/// Tables are equal if their entries are: slots and index follow from how they came.
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
        self.0.order.len()
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0.order.is_empty()
    }

    /// One after the other.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a Entry> {
        self.with_slots().map(|(_, entry)| entry)
    }

    /// The same with their slots.
    pub fn with_slots(self) -> impl ExactSizeIterator<Item = (u32, &'a Entry)> {
        self.0.order.iter().map(move |&slot| (slot, self.0.entry(slot)))
    }
}

impl Table {
    /// An empty table.
    pub const fn new(kind: ClassifierKind) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), order: Vec::new(), groups: Vec::new(), kind }
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
        self.slots[slot as usize].as_ref().expect("only slots in use are given out")
    }

    /// The entry in a slot, if there is one.
    pub(super) fn get(&self, slot: u32) -> Option<&Entry> {
        self.slots.get(slot as usize)?.as_ref()
    }

    pub(super) fn entry_mut(&mut self, slot: u32) -> &mut Entry {
        self.slots[slot as usize].as_mut().expect("only slots in use are given out")
    }

    /// One more than the largest slot.
    pub(super) const fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Distinct masks: the most probes that a look-up can take.
    pub const fn masks(&self) -> usize {
        self.groups.len()
    }

    /// The slot of the best entry for a key, and how many probes it took.
    pub fn look_up(&self, key: &PacketKey) -> (Option<u32>, u32) {
        match self.kind {
            ClassifierKind::ByMask => self.look_up_by_mask(key),
            ClassifierKind::Linear => self.look_up_linear(key),
        }
    }

    fn look_up_by_mask(&self, key: &PacketKey) -> (Option<u32>, u32) {
        let mut best: Option<(u16, Pattern, u32)> = None;
        let mut probes = 0;
        for (precedence_max, group) in &self.groups {
            if best.is_some_and(|(precedence, ..)| precedence > *precedence_max) {
                break;
            }
            probes += 1;
            let Some(slots) = group.slots.get(&group.used.hash(key, &group.mask)) else { continue };
            let entries = slots.iter().map(|&slot| (slot, self.entry(slot)));
            let found = entries.into_iter().find(|(_, e)| group.used.equal(key, &e.pattern));
            if let Some((slot, Entry { precedence, pattern, .. })) = found {
                // Entries of one precedence that both match stand in the order of their patterns.
                let better = best.is_none_or(|(p, other, _)| {
                    (Reverse(*precedence), pattern) < (Reverse(p), &other)
                });
                if better {
                    best = Some((*precedence, *pattern, slot));
                }
            }
        }
        (best.map(|(.., slot)| slot), probes)
    }

    fn look_up_linear(&self, key: &PacketKey) -> (Option<u32>, u32) {
        let place = self.entries().iter().position(|entry| entry.pattern.matches(key));
        let compared = place.map_or(self.order.len(), |place| place + 1);
        let found = place.map(|place| self.order[place]);
        (found, u32::try_from(compared).unwrap_or(u32::MAX))
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
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("tables have fewer entries")
        });
        let place = self.place(&entry.pattern, entry.precedence);
        self.order.insert(place.unwrap_or_else(|place| place), slot);
        let mask = entry.pattern.mask;
        let group = match self.groups.iter().position(|(_, group)| group.mask == mask) {
            Some(place) => place,
            None => {
                let used = UsedWords::of(&mask);
                let (precedences, slots) = (BTreeMap::new(), Slots::default());
                self.groups.push((0, MaskGroup { mask, used, precedences, slots }));
                self.groups.len() - 1
            }
        };
        let precedence = entry.precedence;
        let group = &mut self.groups[group].1;
        *group.precedences.entry(precedence).or_default() += 1;
        let hash = group.used.hash(&entry.pattern.value, &mask);
        let list = group.slots.entry(hash).or_default();
        let before = |&other: &u32| {
            self.slots[other as usize].as_ref().is_some_and(|e| e.precedence >= precedence)
        };
        let at = list.partition_point(before);
        list.insert(at, slot);
        self.slots[slot as usize] = Some(entry);
        self.order_groups(mask);
        slot
    }

    /// Takes an entry out; its slot is free for another.
    pub(super) fn remove(&mut self, slot: u32) -> Entry {
        let entry = self.slots[slot as usize].take().expect("only slots in use are given out");
        let place = self.order_place(&entry);
        self.order.remove(place);
        let group = self.groups.iter().position(|(_, g)| g.mask == entry.pattern.mask);
        let group = group.expect("every entry is in the group of its mask");
        let MaskGroup { precedences, slots, used, mask } = &mut self.groups[group].1;
        let hash = used.hash(&entry.pattern.value, mask);
        if let Some(list) = slots.get_mut(&hash) {
            list.retain(|&other| other != slot);
            if list.is_empty() {
                slots.remove(&hash);
            }
        }
        if let Some(count) = precedences.get_mut(&entry.precedence) {
            *count -= 1;
            if *count == 0 {
                precedences.remove(&entry.precedence);
            }
        }
        if precedences.is_empty() {
            self.groups.remove(group);
        }
        self.free.push(slot);
        self.order_groups(entry.pattern.mask);
        entry
    }

    /// Where an entry that was just taken out of its slot stands in the order.
    fn order_place(&self, entry: &Entry) -> usize {
        let rank = entry.rank();
        let before = |&slot: &u32| {
            // The empty slot is its own.
            self.slots[slot as usize].as_ref().is_some_and(|other| other.rank() < rank)
        };
        self.order.partition_point(before)
    }

    /// Puts the group of this mask where its best entry belongs.
    fn order_groups(&mut self, mask: PacketKey) {
        let changed = self.groups.iter_mut().find(|(_, group)| group.mask == mask);
        let Some((precedence_max, group)) = changed else { return };
        let is_new = group.precedences.values().sum::<u32>() == 1;
        if is_new || *precedence_max != group.precedence_max() {
            *precedence_max = group.precedence_max();
            self.groups.sort_by_key(|(best, group)| (Reverse(*best), group.mask));
        }
    }

    fn place(&self, pattern: &Pattern, precedence: u16) -> Result<usize, usize> {
        let rank = (Reverse(precedence), *pattern);
        self.order.binary_search_by_key(&rank, |&slot| self.entry(slot).rank())
    }

    /// The slot of the entry with exactly this pattern and precedence.
    pub fn find(&self, pattern: &Pattern, precedence: u16) -> Option<u32> {
        self.place(pattern, precedence).ok().map(|place| self.order[place])
    }
}
