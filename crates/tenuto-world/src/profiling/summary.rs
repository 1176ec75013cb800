//! Samples of one thing, as the box plots of \[Loko\] show them.

use serde::Serialize;

/// Of a normal distribution, 99.5 % lie within so many deviations of the mean.
const SIGMAS_99_5: f64 = 2.807;

/// What became of samples, nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// The least.
    pub least_ns: f64,
    /// 5, 50 and 95 %.
    pub percentiles_ns: [f64; 3],
    /// 25 and 75 %.
    pub quartiles_ns: [f64; 2],
    /// Their mean.
    pub mean_ns: f64,
    /// Their standard deviation.
    pub deviation_ns: f64,
    /// The most.
    pub most_ns: f64,
}

impl Summary {
    /// What one is usually like: the mean, or the median where stalls of the machine that measures are among the samples.
    pub const fn usual_ns(&self, is_exact: bool) -> f64 {
        if is_exact { self.mean_ns } else { self.percentiles_ns[1] }
    }

    /// The mean of all is within so much of that of the samples in 99.5 of 100 cases ([MC-SDN], section V), if they are
    /// independent, nanoseconds.
    pub fn mean_within_ns(&self) -> f64 {
        SIGMAS_99_5 * self.deviation_ns / (self.count.max(1) as f64).sqrt()
    }

    /// The same without the tails that a machine that measures may have added: mean, deviation and most are those of the
    /// samples between 5 and 95 %.
    pub(super) fn without_tails(&self) -> Self {
        let [low, median, high] = self.percentiles_ns;
        // Of a normal distribution 5 and 95 % are so far apart.
        const DEVIATIONS: f64 = 3.29;
        Self {
            mean_ns: median,
            deviation_ns: (high - low) / DEVIATIONS,
            most_ns: high,
            ..self.clone()
        }
    }

    /// Of samples in any order; `None` of none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let count = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / count;
        let variance = sorted.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
        let at = |percent: usize| sorted[(sorted.len() - 1) * percent / 100];
        Some(Self {
            count: sorted.len(),
            least_ns: least,
            percentiles_ns: [at(5), at(50), at(95)],
            quartiles_ns: [at(25), at(75)],
            mean_ns: mean,
            deviation_ns: variance.sqrt(),
            most_ns: most,
        })
    }
}
