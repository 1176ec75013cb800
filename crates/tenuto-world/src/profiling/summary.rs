//! Samples of one thing, as the box plots of \[Loko\] show them.

use serde::Serialize;

/// What became of samples, nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// The least.
    pub least_ns: f64,
    /// 5, 50 and 95 %.
    pub percentiles_ns: [f64; 3],
    /// Their mean.
    pub mean_ns: f64,
    /// Their standard deviation.
    pub deviation_ns: f64,
    /// The most.
    pub most_ns: f64,
}

impl Summary {
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
            mean_ns: mean,
            deviation_ns: variance.sqrt(),
            most_ns: most,
        })
    }
}
