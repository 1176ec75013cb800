//! Draws that follow from a seed: `SplitMix64` (Steele, Lea, Flood 2014).

/// A sequence of draws. Who knows the seed knows them all: nothing for secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Draws(u64);

impl Draws {
    /// The sequence of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A whole number below `limit`; 0 for a limit of 0. Small numbers are more likely by a
    /// `limit`/2⁶⁴ at most.
    pub const fn below(&mut self, limit: u64) -> u64 {
        let word = self.word();
        if limit == 0 { 0 } else { word % limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_reference() {
        // First outputs of the reference implementation for seed 1234567.
        let mut draws = Draws::new(1_234_567);
        assert_eq!(draws.word(), 6_457_827_717_110_365_317);
        assert_eq!(draws.word(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_stay_below_their_limit_and_reach_it() {
        let mut draws = Draws::new(1);
        let mut seen = [0; 4];
        for _ in 0..1_000 {
            seen[usize::try_from(draws.below(4)).expect("small")] += 1;
        }
        assert!(seen.iter().all(|&count| count > 200), "{seen:?}");
        assert_eq!(draws.below(0), 0);
    }
}
