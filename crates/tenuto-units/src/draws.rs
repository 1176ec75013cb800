//! Draws that follow from a seed: `SplitMix64` (Steele, Lea, Flood 2014), and xorshift (Marsaglia
//! 2003) where lists of requests drawn with it are known by their seeds.

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

    /// A place in a list of so many, 0 in an empty one.
    pub fn index(&mut self, len: usize) -> usize {
        place(self.below(len as u64))
    }

    /// One of a list that is not empty.
    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.index(list.len())]
    }
}

/// Another sequence of draws (xorshift64, shifts 13, 7, 17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Xorshift(u64);

impl Xorshift {
    /// The sequence of a seed, whose lowest bit does not count: from 0 all draws would be 0.
    pub const fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A whole number below `limit`; 0 for a limit of 0.
    pub const fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        if limit == 0 { 0 } else { (self.0 >> 11) % limit }
    }

    /// A place in a list of so many, 0 in an empty one.
    pub fn index(&mut self, len: usize) -> usize {
        place(self.below(len as u64))
    }

    /// One of a list that is not empty.
    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.index(list.len())]
    }
}

/// A number drawn below a length is again a length.
fn place(drawn: u64) -> usize {
    usize::try_from(drawn).expect("below a length")
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
    fn xorshift_goes_on_as_its_shifts_say() {
        // From 1: 0x2001 after the first shift, 0x2041 after the second.
        let mut draws = Xorshift::new(0);
        let state: u64 = 0x2041 ^ (0x2041 << 17);
        assert_eq!(draws.below(u64::MAX), state >> 11);
        assert_eq!(Xorshift::new(6), Xorshift::new(7));
        assert!(draws.one_of(&[3, 4]) >= 3 && draws.below(0) == 0 && draws.index(0) == 0);
    }

    #[test]
    fn numbers_stay_below_their_limit_and_reach_it() {
        let mut draws = Draws::new(1);
        let mut seen = [0; 4];
        for _ in 0..1_000 {
            seen[draws.one_of(&[3, 2, 1, 0])] += 1;
        }
        assert!(seen.iter().all(|&count| count > 200), "{seen:?}");
        assert_eq!((draws.below(0), draws.index(0)), (0, 0));
    }
}
