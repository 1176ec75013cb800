//! The entries of one mask, found by one probe: a hash table that grows a segment at a time.
//!
//! The upper bits of a hash choose a segment by a directory, those right behind them a bucket in it
//! ([`Segment`]). A segment that is half full is divided by one more bit of the hash (extendible hashing,
//! [Fagin79]): an update moves one segment's values at most, however many entries there are, and look-ups
//! never search an old table beside a new one.
//!
//! What a probe and an update cost at worst depends neither on the values nor on the hash: [`REACH`](super::segment::REACH)
//! buckets and one search of an ordered map. That values hardly ever get there is the work of a hash with
//! a secret key ([`HashKey`]).

use super::ethernet_key::Words;
use super::hash_key::HashKey;
use super::index_work::{ChangeWork, Tally};
use super::key::{PacketKey, UsedWords};
use super::segment::{BUCKETS_MIN, Segment, Sought};
use std::collections::BTreeMap;

/// Bits of a hash that choose the segment; the directory has up to two to this places.
const DEPTH_MAX: u32 = 16;

/// The best entry for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct Found {
    pub(in crate::switch) slot: u32,
    pub(in crate::switch) precedence: u16,
}

impl Found {
    /// The precedence above the slot and one more.
    pub(in crate::switch) const fn word(self) -> u64 {
        (self.precedence as u64) << 33 | (self.slot as u64 + 1)
    }

    #[allow(clippy::cast_possible_truncation)] // of a word that was made above
    #[inline]
    const fn of(word: u64) -> Option<Self> {
        match word {
            0 => None,
            _ => Some(Self {
                slot: ((word & 0x1_ffff_ffff) - 1) as u32,
                precedence: (word >> 33) as u16,
            }),
        }
    }
}

/// From value under a mask to the best entry with it.
#[derive(Clone, Debug)]
#[repr(C)] // What a probe reads of it lies side by side.
pub(in crate::switch) struct MaskIndex {
    segments: Vec<Segment>,
    /// By the upper bits of a hash, the place of its segment.
    directory: Vec<u32>,
    /// How far to shift a hash for its place in the directory.
    shift: u32,
    used: UsedWords,
    mask: PacketKey,
    /// How many entries there are of each precedence.
    precedences: BTreeMap<u16, u32>,
}

impl MaskIndex {
    pub(in crate::switch) fn new(mask: PacketKey, hash_key: HashKey) -> Self {
        let used = UsedWords::of(&mask, hash_key);
        let segments = vec![Segment::new(&used, BUCKETS_MIN, 0)];
        // Two places, as a shift by all bits is none.
        let (directory, shift) = (vec![0; 2], u64::BITS - 1);
        Self { segments, directory, shift, used, mask, precedences: BTreeMap::new() }
    }

    pub(in crate::switch) const fn mask(&self) -> &PacketKey {
        &self.mask
    }

    /// The best precedence of its entries.
    pub(in crate::switch) fn precedence_max(&self) -> u16 {
        self.precedences.last_key_value().map_or(0, |(precedence, _)| *precedence)
    }

    pub(in crate::switch) fn is_empty(&self) -> bool {
        self.precedences.is_empty()
    }

    /// How many entries there are, those of equal values included.
    pub(in crate::switch) fn entries(&self) -> usize {
        self.precedences.values().map(|&count| count as usize).sum()
    }

    /// Whether there are entries of a precedence.
    pub(in crate::switch) fn has(&self, precedence: u16) -> bool {
        self.precedences.contains_key(&precedence)
    }

    /// Counts an entry in.
    pub(in crate::switch) fn count_in(&mut self, precedence: u16) {
        *self.precedences.entry(precedence).or_default() += 1;
    }

    /// Counts an entry out.
    pub(in crate::switch) fn count_out(&mut self, precedence: u16) {
        if let Some(count) = self.precedences.get_mut(&precedence) {
            *count -= 1;
            if *count == 0 {
                self.precedences.remove(&precedence);
            }
        }
    }

    /// What is there for a key under the mask.
    #[inline]
    pub(in crate::switch) fn find(&self, key: &impl Words) -> Option<Found> {
        match self.used.only(key) {
            Some(word) => Found::of(self.find_cell(word)),
            None => self.find_marked(key, &mut ()),
        }
    }

    /// The word that counts, of a key, if there is only one, as it is with virtual links.
    #[inline]
    pub(in crate::switch) fn only(&self, key: &impl Words) -> Option<u64> {
        self.used.only(key)
    }

    /// The slot that is there for that word alone.
    #[allow(clippy::cast_possible_truncation)] // the lower half of the word
    #[inline(always)]
    pub(in crate::switch) fn find_slot(&self, word: u64) -> Option<u32> {
        match self.find_cell(word) {
            0 => None,
            found => Some(((found & 0x1_ffff_ffff) - 1) as u32),
        }
    }

    /// The first word of its cell; 0 if there is none.
    #[inline(always)]
    fn find_cell(&self, word: u64) -> u64 {
        let hash = self.used.hash_word(word);
        let segment = &self.segments[self.place(hash)];
        match segment.find_at_home(hash, word) {
            0 if segment.goes_on(hash) => self.find_away(hash, word),
            found => found,
        }
    }

    #[cold]
    fn find_away(&self, hash: u64, word: u64) -> u64 {
        let sought = Sought { used: &self.used, hash, key: &OnlyWord(word) };
        self.segments[self.place(hash)].find(&sought, &mut ())
    }

    /// What is there for a key under the mask, where it is probably nothing: the bytes of hashes beside
    /// the values tell that, of which a line of cache has those of 32 values.
    #[inline]
    pub(in crate::switch) fn find_marked(
        &self,
        key: &impl Words,
        tally: &mut impl Tally,
    ) -> Option<Found> {
        let hash = self.used.hash(key);
        let segment = match self.segments.as_slice() {
            [only] => only,
            segments => &segments[self.place(hash)],
        };
        Found::of(segment.find(&Sought { used: &self.used, hash, key }, tally))
    }

    /// Puts an entry in the place of the one that this value has, or in a cell of its own.
    pub(in crate::switch) fn put(
        &mut self,
        value: &PacketKey,
        found: Found,
        work: &mut ChangeWork,
    ) {
        let hash = self.used.hash(value);
        let place = self.place(hash);
        let segment = &mut self.segments[place];
        let is_full = segment.put(&Sought { used: &self.used, hash, key: value }, found, work);
        if is_full && !self.divide(place, hash, work) {
            self.segments[place].grow(&self.used, work);
        }
    }

    /// Takes out the cell of a value.
    pub(in crate::switch) fn take(&mut self, value: &PacketKey, work: &mut ChangeWork) {
        let hash = self.used.hash(value);
        let place = self.place(hash);
        self.segments[place].take(&Sought { used: &self.used, hash, key: value }, work);
    }

    /// The best slot of each value.
    pub(in crate::switch) fn slots(&self) -> impl Iterator<Item = u32> {
        let found = self.segments.iter().flat_map(|segment| segment.all_found(&self.used));
        found.filter_map(|found| Some(Found::of(found)?.slot))
    }

    /// The segment of a hash.
    #[allow(clippy::cast_possible_truncation)] // a directory has few places
    #[inline(always)]
    fn place(&self, hash: u64) -> usize {
        self.directory[(hash >> self.shift) as usize] as usize
    }

    /// Divides a segment, that of a hash, by one more bit; `false` if it is not to be divided.
    fn divide(&mut self, place: usize, hash: u64, work: &mut ChangeWork) -> bool {
        let depth = self.segments[place].depth;
        let bits = u64::BITS - self.shift;
        let full = depth == bits && bits == DEPTH_MAX || !self.segments[place].is_to_be_divided();
        let Some(other) = u32::try_from(self.segments.len()).ok().filter(|_| !full) else {
            return false;
        };
        if depth == bits {
            self.directory = self.directory.iter().flat_map(|&place| [place, place]).collect();
            self.shift -= 1;
        }
        let [low, high] = self.segments[place].halves(&self.used, work);
        self.segments[place] = low;
        self.segments.push(high);
        // Of the places that its hashes share, the upper half.
        let half = 1 << (u64::BITS - self.shift - depth - 1);
        let first = hash.checked_shr(u64::BITS - depth).unwrap_or(0);
        #[allow(clippy::cast_possible_truncation)] // a directory has few places
        let first = first as usize * 2 * half;
        self.directory[first + half..first + 2 * half].fill(other);
        true
    }
}

/// A key of one word, wherever a mask looks for it.
struct OnlyWord(u64);

impl Words for OnlyWord {
    fn word(&self, _place: u8) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::classifier::hash_key::known::Inverse;
    use crate::switch::classifier::index_work::LookUpWork;
    use crate::switch::classifier::segment::{BUCKET, BUCKETS_MAX, REACH};

    fn key(word: u64) -> PacketKey {
        let mut key = PacketKey::default();
        key.set_metadata(word, u64::MAX);
        key
    }

    fn entry(slot: u32) -> Found {
        Found { slot, precedence: u16::MAX }
    }

    fn index() -> MaskIndex {
        MaskIndex::new(key(u64::MAX), HashKey::fixed())
    }

    /// Puts values one after the other, each into the slot of its number.
    fn put_all(index: &mut MaskIndex, values: &[u64]) -> ChangeWork {
        let mut work = ChangeWork::default();
        for (n, value) in (0..).zip(values) {
            index.put(&key(*value), entry(n), &mut work);
        }
        work
    }

    fn take_all(index: &mut MaskIndex, values: &[u64]) -> ChangeWork {
        let mut work = ChangeWork::default();
        values.iter().for_each(|value| index.take(&key(*value), &mut work));
        assert_eq!(index.slots().count(), 0);
        assert!(index.segments.iter().all(|segment| segment.is_sound(&index.used)));
        work
    }

    /// What finding each of these values costs at worst, and all together.
    fn look_ups(index: &MaskIndex, values: &[u64]) -> (LookUpWork, LookUpWork) {
        let (mut worst, mut all) = (LookUpWork::default(), LookUpWork::default());
        for (n, value) in (0..).zip(values) {
            let mut work = LookUpWork::default();
            assert_eq!(index.find_marked(&key(*value), &mut work), Some(entry(n)));
            assert_eq!(index.find(&key(*value)), Some(entry(n)));
            all.buckets += work.buckets;
            all.overflows += work.overflows;
            worst.buckets = worst.buckets.max(work.buckets);
            worst.overflows = worst.overflows.max(work.overflows);
        }
        (worst, all)
    }

    fn cells(index: &MaskIndex) -> usize {
        index.segments.iter().map(|segment| segment.buckets() * BUCKET).sum()
    }

    fn values(index: &MaskIndex) -> (usize, usize) {
        let all = index.segments.iter().map(Segment::values);
        all.fold((0, 0), |(sum, beside), (values, more)| (sum + values, beside + more))
    }

    #[test]
    fn what_was_put_is_found_until_it_is_taken() {
        let (mut index, mut work) = (index(), ChangeWork::default());
        // Many more values than cells at first.
        for n in 0..1_000_u32 {
            index.put(&key(u64::from(n)), entry(n), &mut work);
        }
        for n in (0..1_000).step_by(3) {
            index.take(&key(n), &mut work);
        }
        index.take(&key(3), &mut work);
        for n in 0..1_100_u32 {
            let expected = (n < 1_000 && n % 3 != 0).then_some(entry(n));
            assert_eq!(index.find(&key(u64::from(n))), expected);
        }
        index.put(&key(1), entry(u32::MAX), &mut work);
        assert_eq!((index.find(&key(1)), index.slots().count()), (Some(entry(u32::MAX)), 666));
    }

    #[test]
    fn many_values_stand_in_many_segments_none_of_them_large() {
        let (mut index, mut work) = (index(), ChangeWork::default());
        let mut worst = 0;
        for n in 0..20_000_u32 {
            index.put(&key(u64::from(n) << 16), entry(n), &mut work);
            worst = worst.max(index.segments.iter().map(Segment::buckets).max().unwrap_or(0));
            if n.is_power_of_two() {
                let found = (0..=n).map(|n| index.find(&key(u64::from(n) << 16)));
                assert!(found.eq((0..=n).map(|n| Some(entry(n)))), "up to {n}");
            }
        }
        assert_eq!(worst, BUCKETS_MAX);
        assert!(cells(&index) < 20_000 * 8, "{} cells", cells(&index));
        for segment in &index.segments {
            assert!(segment.values().0 * 2 <= segment.buckets() * BUCKET);
            assert!(segment.is_sound(&index.used));
        }
        let values: Vec<u64> = (0..20_000).map(|n| n << 16).collect();
        take_all(&mut index, &values);
    }

    /// Values of one word that count up, as addresses of virtual links and stations do.
    fn counting(values: u64) -> Vec<u64> {
        (0..values).map(|n| 0x0300 << 48 | n << 16).collect()
    }

    #[test]
    fn addresses_that_count_up_stand_where_they_belong_whatever_the_key() {
        for secret in 0..32 {
            for links in [100, 649, 2_000, 10_000] {
                let mut index = MaskIndex::new(key(u64::MAX), HashKey::new([secret; 16]));
                let addresses = counting(links);
                put_all(&mut index, &addresses);
                let (_, all) = look_ups(&index, &addresses);
                assert!(u64::from(all.overflows) * 1_000 <= links, "{all:?}");
                // One in thirty stands elsewhere where a random hash has filled half of the cells.
                let more = u64::from(all.buckets) - links;
                assert!(more * 100 <= links * 6 + 800, "{more} of {links}, secret {secret}");
            }
        }
    }

    /// Values that all had the same home under a hash with one public factor.
    fn colliding_in_public(values: u64) -> Vec<u64> {
        let factor: u64 = 0x9e37_9e37_79b9_7f4b;
        let inverse =
            (0..6).fold(1_u64, |x, _| x.wrapping_mul(2_u64.wrapping_sub(x.wrapping_mul(factor))));
        (1..=values).map(|n| n.wrapping_mul(inverse)).collect()
    }

    /// Values that all belong into one bucket under a key that is known.
    fn colliding_under(hash_key: &HashKey, values: u64) -> Vec<u64> {
        let inverse = Inverse::of(hash_key);
        (0..values).map(|n| inverse.word_near(0x5a5a << 48, n)).collect()
    }

    /// Values that have one segment divided as often as segments are, then fill all of its buckets.
    fn crowding_under(hash_key: &HashKey, values: u64) -> Vec<u64> {
        let hash = |n: u64| {
            let shared = u64::BITS - u32::try_from(n / 400).unwrap_or(0).min(DEPTH_MAX);
            let others = n.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ n << 43;
            let mask = 1_u64.checked_shl(shared).map_or(u64::MAX, |bit| bit - 1);
            0x5a5a << 48 & !mask | others & mask
        };
        let inverse = Inverse::of(hash_key);
        (0..values).map(|n| inverse.word_near(hash(n), n)).collect()
    }

    const MANY: u64 = 60_000;

    /// Computed values cost what random ones cost: a look-up and a deletion hardly more than one bucket, and
    /// one value in a hundred at most stands beside its buckets.
    fn costs_what_random_values_cost(hash_key: HashKey, computed: &[u64]) {
        let mut index = MaskIndex::new(key(u64::MAX), hash_key);
        let put = put_all(&mut index, computed);
        let few = MANY / 100;
        assert!(values(&index).1 as u64 <= few, "{:?}", values(&index));
        let (_, found) = look_ups(&index, computed);
        let taken = take_all(&mut index, computed);
        assert!(u64::from(found.buckets) * 10 <= MANY * 13, "{found:?}");
        assert!(taken.buckets * 10 <= MANY * 13 && taken.overflows <= few, "{taken:?}");
        assert!(put.moved <= 3 * MANY && put.buckets <= 6 * MANY, "{put:?}");
        assert!(put.overflows <= 4 * few, "{put:?}");
    }

    #[test]
    fn values_computed_for_a_public_hash_cost_what_others_cost() {
        for secret in 0..4 {
            let computed = colliding_in_public(MANY);
            costs_what_random_values_cost(HashKey::new([secret; 16]), &computed);
        }
    }

    #[test]
    fn values_computed_for_another_key_cost_what_others_cost() {
        let known = HashKey::fixed();
        for computed in [colliding_under(&known, MANY), crowding_under(&known, MANY)] {
            for secret in 0..4 {
                costs_what_random_values_cost(HashKey::new([secret; 16]), &computed);
            }
        }
    }

    #[test]
    fn even_values_computed_for_the_key_itself_have_a_worst_case() {
        let hash_key = HashKey::fixed();
        let reach = u32::try_from(REACH).expect("small");
        for computed in [colliding_under(&hash_key, MANY), crowding_under(&hash_key, MANY)] {
            let mut index = index();
            let put = put_all(&mut index, &computed);
            assert!(values(&index).1 > 50_000, "they are beside their buckets");
            assert!(index.segments.iter().all(|segment| segment.is_sound(&index.used)));
            let (worst, _) = look_ups(&index, &computed);
            assert_eq!((worst.buckets, worst.overflows), (reach, 1));
            let mut work = LookUpWork::default();
            let absent = Inverse::of(&hash_key).word_near(0x5a5a << 48, MANY);
            assert_eq!(index.find_marked(&key(absent), &mut work), None);
            assert!(work.buckets <= reach && work.overflows <= 1, "{work:?}");
            let taken = take_all(&mut index, &computed);
            let reach = u64::from(reach);
            assert!(taken.buckets <= reach * MANY && taken.overflows <= MANY, "{taken:?}");
            assert!(put.buckets <= 3 * reach * MANY && put.overflows <= 3 * MANY, "{put:?}");
            assert!(cells(&index) as u64 <= 8 * MANY, "{} cells", cells(&index));
        }
    }

    /// One more value touches one segment at most.
    #[test]
    fn no_single_change_moves_more_than_a_segment() {
        let hash_key = HashKey::fixed();
        let segment = (BUCKETS_MAX * BUCKET) as u64;
        for computed in
            [colliding_under(&hash_key, MANY), crowding_under(&hash_key, MANY), counting(MANY)]
        {
            let mut index = index();
            for (n, value) in (0..).zip(&computed) {
                let mut work = ChangeWork::default();
                index.put(&key(*value), entry(n), &mut work);
                // Those beside the buckets are half as many as there are cells, or nothing moves.
                assert!(work.moved <= segment * 3 / 2, "{work:?}");
                assert!(work.buckets <= (segment * 3 / 2 + 2) * REACH as u64, "{work:?}");
            }
        }
    }

    #[test]
    fn a_mask_of_nothing_has_one_value() {
        let (mut index, mut work) =
            (MaskIndex::new(PacketKey::default(), HashKey::fixed()), ChangeWork::default());
        assert_eq!(index.find(&key(7)), None);
        index.put(&PacketKey::default(), entry(4), &mut work);
        assert_eq!(index.find(&key(7)), Some(entry(4)));
        index.take(&PacketKey::default(), &mut work);
        assert_eq!(index.find(&key(7)), None);
    }

    mod twin {
        use super::*;
        use proptest::prelude::*;
        use std::sync::OnceLock;

        static INVERSE: OnceLock<Inverse> = OnceLock::new();

        /// Values of up to three words; few, or such that they belong into few buckets.
        fn value(n: u64, words: u8, collide: bool) -> PacketKey {
            let spread = |n: u64| match collide {
                true => {
                    INVERSE.get_or_init(|| Inverse::of(&HashKey::fixed())).word_near(0x77 << 56, n)
                }
                false => n,
            };
            let mut key = PacketKey::default();
            key.set_metadata(spread(n), u64::MAX);
            if words > 1 {
                key.put(crate::switch::classifier::key::field::TUNNEL_ID, spread(n / 3));
            }
            if words > 2 {
                key.put(crate::switch::classifier::key::field::IN_PORT, n % 7);
            }
            key
        }

        fn mask(words: u8) -> PacketKey {
            let mut mask = value(0, words, false);
            mask.set_metadata(u64::MAX, u64::MAX);
            if words > 1 {
                mask.put(crate::switch::classifier::key::field::TUNNEL_ID, u64::MAX);
            }
            if words > 2 {
                mask.put(crate::switch::classifier::key::field::IN_PORT, u64::MAX);
            }
            mask
        }

        proptest! {
            #[test]
            fn an_index_knows_what_a_map_knows(
                changes in prop::collection::vec((0_u64..900, any::<bool>()), 0..2_500),
                words in 1_u8..4,
                collide: bool,
            ) {
                let mut index = MaskIndex::new(mask(words), HashKey::fixed());
                let mut naive = BTreeMap::new();
                let mut work = ChangeWork::default();
                for (slot, (n, goes)) in (0..).zip(&changes) {
                    let value = value(*n, words, collide);
                    // Two of three come.
                    if *goes && n % 3 != 0 {
                        index.take(&value, &mut work);
                        naive.remove(n);
                    } else {
                        index.put(&value, entry(slot), &mut work);
                        naive.insert(*n, entry(slot));
                    }
                }
                for n in 0..900 {
                    let value = value(n, words, collide);
                    prop_assert_eq!(index.find(&value), naive.get(&n).copied());
                    prop_assert_eq!(index.find_marked(&value, &mut ()), naive.get(&n).copied());
                }
                let mut slots: Vec<u32> = index.slots().collect();
                let mut expected: Vec<u32> = naive.values().map(|found| found.slot).collect();
                slots.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(slots, expected);
                prop_assert!(index.segments.iter().all(|it| it.is_sound(&index.used)));
            }
        }
    }
}
