//! What a measurement shows: rows of settings, each with one observation per round.

use serde::{Deserialize, Serialize};

/// One window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// Messages or frames that were handled.
    pub messages: u64,
    /// Length of the window.
    pub ns: u64,
    /// Processor time of all of it: sender, control plane, and the kernel's thread that receives.
    pub cpu_ns: u64,
    /// Processor time of that last one alone.
    pub receive_cpu_ns: u64,
    /// Round trips that half, 99 % and 99.9 % of the messages do not exceed; 0 where none were measured.
    pub p50_ns: u64,
    /// See above.
    pub p99_ns: u64,
    /// See above.
    pub p999_ns: u64,
    /// Whether its threads ran under SCHED_FIFO.
    pub is_real_time: bool,
}

/// One setting, in every round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What was set.
    pub setting: String,
    /// A window per round.
    pub rounds: Vec<Observed>,
}

/// Settings whose windows took turns; ratios are those within a round, to the first row of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// What it is about, by the name that `only` takes.
    pub name: String,
    /// What was done, for people.
    pub title: String,
    /// Rows, in blocks with one load each; the first of each is what the others are held against.
    pub blocks: Vec<Vec<Row>>,
    /// What else is to be known.
    pub notes: Vec<String>,
}

/// A ratio in every round: the middle one, the least and the largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The middle one.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Observed {
    pub(super) fn of(
        messages: u64,
        ns: u64,
        [client_ns, server_ns, receive_cpu_ns]: [u64; 3],
        trips: &[u64],
        is_real_time: bool,
    ) -> Self {
        let at = |permille: usize| {
            let rank = (trips.len() * permille).div_ceil(1_000).max(1);
            trips.get(rank - 1).copied().unwrap_or(0)
        };
        Self {
            messages,
            ns,
            cpu_ns: client_ns + server_ns + receive_cpu_ns,
            receive_cpu_ns,
            p50_ns: at(500),
            p99_ns: at(990),
            p999_ns: at(999),
            is_real_time,
        }
    }

    /// Messages in a second.
    pub fn rate(&self) -> f64 {
        self.messages as f64 * 1e9 / self.ns.max(1) as f64
    }
}

impl Row {
    /// The middle one of a value in every round.
    pub fn median(&self, of: impl Fn(&Observed) -> f64) -> f64 {
        median(self.rounds.iter().map(of).collect())
    }

    /// Processor time of a message.
    pub fn cpu_ns_per_message(&self) -> f64 {
        self.median(|it| it.cpu_ns as f64 / it.messages.max(1) as f64)
    }

    /// Of a value, to that of another row in the same round.
    pub fn ratio(&self, to: &Self, of: impl Fn(&Observed) -> f64) -> Option<Ratio> {
        let pairs = self.rounds.iter().zip(&to.rounds);
        let ratios: Vec<f64> =
            pairs.map(|(own, other)| of(own) / of(other)).filter(|it| it.is_finite()).collect();
        let (min, max) =
            (ratios.iter().copied().reduce(f64::min)?, ratios.iter().copied().reduce(f64::max)?);
        Some(Ratio { median: median(ratios), min, max })
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[count / 2],
        count => f64::midpoint(values[count / 2 - 1], values[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(messages: &[u64]) -> Row {
        let of = |&messages: &u64| Observed::of(messages, 1_000_000_000, [1, 2, 3], &[7, 8], true);
        Row { setting: "x".into(), rounds: messages.iter().map(of).collect() }
    }

    #[test]
    fn ratios_are_those_within_a_round() {
        // Each round has a speed of its own; the ratio does not.
        let (plain, other) = (row(&[10, 100, 1_000]), row(&[20, 150, 2_000]));
        let ratio = other.ratio(&plain, Observed::rate).expect("three rounds");
        assert_eq!((ratio.median, ratio.min, ratio.max), (2.0, 1.5, 2.0));
        assert_eq!(plain.median(Observed::rate), 100.0);
        assert_eq!(row(&[]).ratio(&plain, Observed::rate), None);
        let one = &plain.rounds[0];
        assert_eq!((one.cpu_ns, one.p50_ns, one.p99_ns), (6, 7, 8));
    }
}
