//! What an end system draws: a sequence for each flow.

use tenuto_units::Draws;

/// A sequence of draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Draw(Draws);

impl Draw {
    /// The sequence of a flow under `seed`. Flows are far apart in the generator's sequence, so
    /// that they do not repeat one another's draws with a shift.
    pub(super) const fn of_flow(seed: u64, flow: u16) -> Self {
        let seed = Draws::new(seed).word();
        let apart = Draws::new(seed ^ (flow as u64 + 1).rotate_left(32)).word();
        Self(Draws::new(apart))
    }

    /// A whole number from 0 to `max`, both included.
    pub(super) fn up_to(&mut self, max: u64) -> u64 {
        if max == 0 {
            return 0;
        }
        let product = u128::from(self.0.word()) * (u128::from(max) + 1);
        u64::try_from(product >> 64).expect("a word times 2^64 at most, divided by 2^64")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
