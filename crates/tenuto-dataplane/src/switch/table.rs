//! Flow tables: entries, and two classifiers that must agree.
//!
//! A look-up costs one probe per distinct mask, not per entry: entries of one mask share a hash
//! map from masked key to slot. Masks are probed in order of the highest entry precedence that
//! they hold, so the search ends as soon as no later mask can win. The linear twin compares entry
//! after entry, as cheap switches do; tests hold the two equal.
//!
//! Entries are never written by packets; counters live in side arrays by slot.

use super::key::{PacketKey, Pattern};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// What the pipeline does with a frame that matches an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Behaviour {
    /// Meter asked first.
    pub meter: Option<u32>,
    /// Actions executed at once, in order.
    pub apply: Vec<ActionStep>,
    /// Whether the action set is cleared.
    pub clear: bool,
    /// Actions put into the action set.
    pub write: Vec<ActionStep>,
    /// Metadata written: value and mask.
    pub metadata: Option<(u64, u64)>,
    /// Next table.
    pub goto: Option<u8>,
}

/// One action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActionStep {
    /// The queue for later outputs.
    SetQueue(u32),
    /// Send through a port.
    Output(u32),
    /// Send to every bucket of a group.
    Group(u32),
    /// Show the frame to a monitor.
    Monitor(u32),
}

/// A flow entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What it matches.
    pub pattern: Pattern,
    /// Higher wins.
    pub precedence: u16,
    /// Names the flow.
    pub cookie: u64,
    /// `OFPFF_*` flags, kept for read-back.
    pub flags: u16,
    /// What happens.
    pub behaviour: Behaviour,
    /// The match as it was sent, for read-back.
    pub matching: tenuto_openflow::Match,
    /// The instructions as they were sent, for read-back.
    pub instructions: Vec<tenuto_openflow::Instruction>,
}

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

#[derive(Clone, Debug)]
struct MaskGroup {
    mask: PacketKey,
    precedence_max: u16,
    /// Slots of entries with that masked value, best precedence first.
    slots: HashMap<PacketKey, Vec<u32>, BuildHasherDefault<WordHasher>>,
}

/// One table at one level: entries in slots, and the index over them.
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: Vec<Entry>,
    groups: Vec<MaskGroup>,
    kind: ClassifierKind,
}

/// Tables are equal if their entries are: the index follows from them.
impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for Table {}

impl Table {
    /// An empty table.
    pub const fn new(kind: ClassifierKind) -> Self {
        Self { entries: Vec::new(), groups: Vec::new(), kind }
    }

    /// Entries by slot; best precedence first, then by pattern, so that equal contents are equal
    /// tables whatever the order of installation.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The slot of the best entry for a key, and how many probes it took.
    pub fn look_up(&self, key: &PacketKey) -> (Option<u32>, u32) {
        match self.kind {
            ClassifierKind::ByMask => self.look_up_by_mask(key),
            ClassifierKind::Linear => self.look_up_linear(key),
        }
    }

    fn look_up_by_mask(&self, key: &PacketKey) -> (Option<u32>, u32) {
        let mut best: Option<u32> = None;
        let mut probes = 0;
        for group in &self.groups {
            // Slots are in order of precedence, so a smaller slot wins.
            if best.is_some_and(|b| self.entries[b as usize].precedence > group.precedence_max) {
                break;
            }
            probes += 1;
            if let Some(&slot) = group.slots.get(&key.masked(&group.mask)).and_then(|s| s.first()) {
                best = Some(best.map_or(slot, |b| b.min(slot)));
            }
        }
        (best, probes)
    }

    fn look_up_linear(&self, key: &PacketKey) -> (Option<u32>, u32) {
        let found = self.entries.iter().position(|entry| entry.pattern.matches(key));
        let compared = found.map_or(self.entries.len(), |place| place + 1);
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        (found.map(small), small(compared))
    }

    /// The entries for changing; the index is stale until [`Table::set_entries`].
    pub(super) const fn entries_mut(&mut self) -> &mut Vec<Entry> {
        &mut self.entries
    }

    /// Takes entries in canonical order (best precedence first, then by pattern) and builds the
    /// index over them.
    pub fn set_entries(&mut self, entries: Vec<Entry>) {
        self.entries = entries;
        self.rebuild();
    }

    fn rebuild(&mut self) {
        self.groups.clear();
        for (slot, entry) in (0u32..).zip(&self.entries) {
            let place = match self.groups.iter().position(|g| g.mask == entry.pattern.mask) {
                Some(place) => place,
                None => {
                    self.groups.push(MaskGroup {
                        mask: entry.pattern.mask,
                        precedence_max: entry.precedence,
                        slots: HashMap::default(),
                    });
                    self.groups.len() - 1
                }
            };
            self.groups[place].slots.entry(entry.pattern.value).or_default().push(slot);
        }
    }

    /// The slot of the entry with exactly this pattern and precedence.
    pub fn find(&self, pattern: &Pattern, precedence: u16) -> Option<usize> {
        self.entries.iter().position(|e| e.precedence == precedence && e.pattern == *pattern)
    }
}
