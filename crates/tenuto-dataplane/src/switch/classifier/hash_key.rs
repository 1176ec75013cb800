//! The key that decides where entries stand in the indexes of a flow table.
//!
//! Hosts choose addresses and ports, so hosts choose what flow tables are filled with. A hash that
//! everybody knows lets them choose values that all belong in one place. This one depends on a secret,
//! and is a universal family [Carter79]: whatever two values somebody chose without the secret, few
//! secrets put both into one place.
//!
//! - *One word* (a mask of virtual links): `x * low + (x >> 28) * high` modulo 2^64, both factors odd.
//!   Whatever `low` is, two values that differ from bit 28 on have the same upper `l` bits for at most
//!   `2 / 2^l + 2^-28` of all `high` [Dietzfelbinger97]: twice as often as random values.
//!   The sixteen bits in front of bit 28 and those below are taken by `low` alone, so that the numbers of
//!   stations and virtual links, which count up from bit 16 on, stand as far apart as they can. That takes a
//!   `low` that no simple fraction comes near to ([`spreads`]), which one in some twenty is: values
//!   that differ below bit 28 only, of which an address has 4,096, collide at most twenty times as often
//!   as that, and mostly much less often.
//! - *Several words*: the upper half of `sum + by_word[0] * x[0] + by_word[1] * x[1] + ...` modulo
//!   2^128 is the same for two distinct rows of words with `1 / 2^64` [Thorup15]; `(y ^ y >> 32) * last` then
//!   gives distinct `y` the same upper `l` bits for at most `2 / 2^l` of all odd `last`.
//!
//! What collides all the same has a bounded cost (`segment.rs`).
//!
//! Cost: two multiplications side by side for one word; two for each of several words, side by side, and
//! one more.

use super::key::WORDS;
use siphasher::sip128::SipHasher24;
use std::fmt;
use std::sync::Arc;

/// Bytes of the secret.
const SECRET_BYTES: usize = 16;

/// What decides where entries stand in the indexes of flow tables. Whoever knows it can choose entries
/// that stand in each other's way, so `Debug` does not show it.
#[derive(Clone)]
pub struct HashKey(Arc<Factors>);

/// What the words of a value are multiplied by.
pub(in crate::switch) struct Factors {
    one: WordFactors,
    last: u64,
    sum: u128,
    by_word: [u128; WORDS],
}

/// What a single word is multiplied by; both are odd.
#[derive(Clone, Copy)]
pub(in crate::switch) struct WordFactors {
    low: u64,
    high: u64,
}

/// From here on the bits of a word have a factor of their own.
const HIGH: u32 = 28;
/// Where the numbers of stations and virtual links begin.
const NUMBERS: u32 = 16;

/// Whether numbers that count up lie evenly in all places once they are multiplied: the fraction of the
/// range that each is further than the one before has small partial quotients, as the golden ratio has, as
/// far as they matter for so many numbers.
fn spreads(factor: u64) -> bool {
    const QUOTIENT_MAX: u128 = 4;
    let (mut whole, mut part) = (1_u128 << 64, u128::from(factor << NUMBERS));
    let (mut before, mut denominator) = (0, 1);
    while part != 0 && denominator < 1 << (HIGH - NUMBERS) {
        let quotient = whole / part;
        if quotient > QUOTIENT_MAX {
            return false;
        }
        (whole, part) = (part, whole % part);
        (before, denominator) = (denominator, quotient * denominator + before);
    }
    part != 0
}

impl HashKey {
    /// The key of a secret, which must come from a source of good randomness where hosts are not
    /// trusted. SipHash-2-4, a pseudorandom function, makes the factors from it.
    pub fn new(secret: [u8; SECRET_BYTES]) -> Self {
        let factor = |number: u32| {
            let hash = SipHasher24::new_with_key(&secret).hash(&number.to_le_bytes());
            u128::from_le_bytes(hash.as_bytes())
        };
        #[allow(clippy::cast_possible_truncation)] // half of it
        let odd = |number| factor(number) as u64 | 1;
        // Numbers that are used for nothing else; the limit is there to have one.
        let mut lows = (1_000..100_000).map(odd);
        let low = lows.find(|&low| spreads(low)).unwrap_or(1);
        let one = WordFactors { low, high: odd(0) };
        let by_word = std::array::from_fn(|place| factor(u32::try_from(place + 3).unwrap_or(0)));
        Self(Arc::new(Factors { one, last: odd(1), sum: factor(2), by_word }))
    }

    /// A key that is the same in every run, for worlds whose runs must repeat: anybody can compute what
    /// collides under it.
    pub fn fixed() -> Self {
        Self::new(*b"same every run..")
    }

    pub(in crate::switch) fn one(&self) -> WordFactors {
        self.0.one
    }

    /// The hash of words, given with their places in a key.
    #[allow(clippy::cast_possible_truncation)] // the upper half
    pub(in crate::switch) fn of_words(&self, words: impl Iterator<Item = (u8, u64)>) -> u64 {
        let Factors { last, sum, by_word, .. } = &*self.0;
        let add = |sum: u128, (place, word): (u8, u64)| {
            let factor = by_word[usize::from(place) % WORDS];
            sum.wrapping_add(factor.wrapping_mul(u128::from(word)))
        };
        let upper = (words.fold(*sum, add) >> 64) as u64;
        (upper ^ upper >> 32).wrapping_mul(*last)
    }
}

impl WordFactors {
    /// The hash of a single word.
    #[inline(always)]
    pub(in crate::switch) const fn of(self, word: u64) -> u64 {
        let high = (word >> HIGH).wrapping_mul(self.high);
        word.wrapping_mul(self.low).wrapping_add(high)
    }
}

impl fmt::Debug for WordFactors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WordFactors(..)")
    }
}

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey(..)")
    }
}

/// What somebody who knows a key can compute.
#[cfg(test)]
pub(in crate::switch) mod known {
    use super::{HIGH, HashKey, WordFactors};

    /// Words by their hashes.
    pub(in crate::switch) struct Inverse {
        factors: WordFactors,
        /// Products of the lowest bits, in ascending order, with these bits.
        lows: Vec<(u64, u64)>,
    }

    impl Inverse {
        pub(in crate::switch) fn of(key: &HashKey) -> Self {
            let factors = key.one();
            let mut lows: Vec<(u64, u64)> =
                (0..1 << 20).map(|low: u64| (low.wrapping_mul(factors.low), low)).collect();
            lows.sort_unstable();
            Self { factors, lows }
        }

        /// A word whose hash is this one or a little more; another for each number.
        pub(in crate::switch) fn word_near(&self, hash: u64, number: u64) -> u64 {
            let high = number << HIGH;
            let missing = hash.wrapping_sub(self.factors.of(high));
            let at = self.lows.partition_point(|(product, _)| *product < missing);
            high | self.lows[at % self.lows.len()].1
        }
    }

    #[test]
    fn words_of_a_hash_can_be_found_by_those_who_know_the_key() {
        let key = HashKey::fixed();
        let inverse = Inverse::of(&key);
        for number in 0..1_000 {
            let hash = 0x5a5a << 48;
            let found = key.one().of(inverse.word_near(hash, number));
            assert!(found.wrapping_sub(hash) < 1 << 48, "{found:x}");
        }
    }
}
