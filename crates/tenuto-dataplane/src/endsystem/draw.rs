//! Draws that follow from a seed: SplitMix64 (Steele, Lea, Flood 2014).

/// A sequence of draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Draw(u64);

impl Draw {
    /// The sequence of a flow under `seed`. Flows are far apart in the generator's sequence, so
    /// that they do not repeat one another's draws with a shift.
    pub(super) const fn of_flow(seed: u64, flow: u16) -> Self {
        let mut start = Self(seed);
        let seed = start.word();
        let mut apart = Self(seed ^ (flow as u64 + 1).rotate_left(32));
        Self(apart.word())
    }

    /// A whole number from 0 to `max`, both included.
    pub(super) fn up_to(&mut self, max: u64) -> u64 {
        if max == 0 {
            return 0;
        }
        let product = u128::from(self.word()) * (u128::from(max) + 1);
        u64::try_from(product >> 64).expect("a word times 2^64 at most, divided by 2^64")
    }

    const fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_reference() {
        // First outputs of the reference implementation for seed 1234567.
        let mut draw = Draw(1_234_567);
        assert_eq!(draw.word(), 6_457_827_717_110_365_317);
        assert_eq!(draw.word(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn draws_reach_both_ends_and_differ_between_flows() {
        let mut draw = Draw::of_flow(1, 0);
        let mut seen = [0; 4];
        for _ in 0..1_000 {
            seen[usize::try_from(draw.up_to(3)).expect("small")] += 1;
        }
        assert!(seen.iter().all(|&count| count > 200), "{seen:?}");
        assert_eq!(draw.up_to(0), 0);
        assert_ne!(Draw::of_flow(1, 0), Draw::of_flow(1, 1));
        assert_eq!(Draw::of_flow(1, 1), Draw::of_flow(1, 1));
        let _ = draw.up_to(u64::MAX);
    }
}
