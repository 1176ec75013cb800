//! Delays of very many answers, in buckets whose width is at most 1/64 of what is in them.

const STEPS_LOG2: u32 = 6;
const STEPS: usize = 1 << STEPS_LOG2;

/// How many delays there were of each size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    buckets: Vec<u64>,
    count: u64,
}

impl Delays {
    /// Counts one, in nanoseconds.
    pub fn push(&mut self, ns: u64) {
        let bucket = bucket(ns);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
    }

    /// How many there are.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The least that so many of a thousand do not exceed, rounded up to the end of its bucket, ns; 0 without any.
    pub fn at_permille(&self, permille: u64) -> u64 {
        let rank = (self.count * permille).div_ceil(1_000).max(1);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return last_of(bucket);
            }
        }
        0
    }
}

fn bucket(ns: u64) -> usize {
    let small = usize::try_from(ns).unwrap_or(usize::MAX);
    if small < 2 * STEPS {
        return small;
    }
    let shift = ns.ilog2() - STEPS_LOG2;
    let step = usize::try_from(ns >> shift).unwrap_or(STEPS) - STEPS;
    (shift as usize + 1) * STEPS + step
}

/// The greatest that falls into a bucket.
const fn last_of(bucket: usize) -> u64 {
    if bucket < 2 * STEPS {
        return bucket as u64;
    }
    let shift = bucket / STEPS - 1;
    let first = ((bucket % STEPS + STEPS) as u64) << shift;
    first + (1 << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_units::Draws;

    #[test]
    fn percentiles_are_those_of_the_sorted_delays_within_a_bucket() {
        let mut draws = Draws::new(5);
        let mut all: Vec<u64> =
            (0..10_000).map(|_| draws.word() >> (20 + draws.below(40))).collect();
        let mut delays = Delays::default();
        all.iter().for_each(|&ns| delays.push(ns));
        all.sort_unstable();
        for permille in [1, 500, 990, 999, 1_000] {
            let exact = all[(all.len() * permille).div_ceil(1_000) - 1];
            let told = delays.at_permille(permille as u64);
            assert!(told >= exact && told - exact <= exact / 64, "{permille}: {exact} {told}");
        }
        assert_eq!((delays.count(), Delays::default().at_permille(500)), (10_000, 0));
    }

    #[test]
    fn buckets_follow_each_other_without_gaps() {
        for ns in 0..100_000_u64 {
            let own = bucket(ns);
            assert!(last_of(own) >= ns && (own == 0 || last_of(own - 1) < ns), "{ns}");
        }
        assert!(last_of(bucket(u64::MAX >> 1)) >= u64::MAX >> 1);
    }
}
