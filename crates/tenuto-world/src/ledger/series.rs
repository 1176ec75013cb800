//! Bounded records of what happened when: few enough to keep, and never hiding the largest.

use super::document::{DelayBucket, DelayPoint, FramesAt};

/// Delay points of one row; a figure is not wider.
pub(super) const DELAY_POINTS_MAX: usize = 2_000;
/// Delay points of a whole run document.
pub(super) const DELAY_POINTS_TOTAL: usize = 200_000;
/// Stretches of time in which dropped frames are counted apart.
const STRETCHES_MAX: usize = 512;
/// Length of the first stretches, nanoseconds; it doubles whenever they do not suffice.
const STRETCH_NS_MIN: u64 = 1_000_000;
/// Buckets per doubling of the delay.
const BUCKETS_PER_OCTAVE: u64 = 8;

/// At most `limit` points, in order of time: of each run of neighbours the one of largest delay.
pub(super) fn thin_out(points: &[DelayPoint], limit: usize) -> Vec<DelayPoint> {
    if points.len() <= limit {
        return points.to_vec();
    }
    let per_run = points.len().div_ceil(limit.max(1));
    points
        .chunks(per_run)
        .filter_map(|run| run.iter().max_by_key(|p| p.delay_ns).copied())
        .collect()
}

/// How the delays are spread: buckets of an eighth of a doubling, empty ones left out.
pub(super) fn histogram(sorted_ns: &[u64]) -> Vec<DelayBucket> {
    let mut buckets: Vec<DelayBucket> = Vec::new();
    for &delay in sorted_ns {
        let to_ns = bucket_end(delay);
        match buckets.last_mut() {
            Some(last) if last.to_ns == to_ns => last.messages += 1,
            _ => buckets.push(DelayBucket { to_ns, messages: 1 }),
        }
    }
    buckets
}

/// The largest delay that shares a bucket with this one.
const fn bucket_end(delay_ns: u64) -> u64 {
    if delay_ns < BUCKETS_PER_OCTAVE {
        return delay_ns;
    }
    let octave = 1 << delay_ns.ilog2();
    let width = octave / BUCKETS_PER_OCTAVE;
    octave + (delay_ns - octave) / width * width + (width - 1)
}

/// Frames counted per stretch of time, whatever the run's length.
#[derive(Clone, Debug, Default)]
pub(super) struct FramesOverTime {
    pub(super) total: u64,
    doublings: u32,
    counts: Vec<u64>,
}

impl FramesOverTime {
    pub(super) fn add(&mut self, at_ns: u64, frames: u64) {
        self.total += frames;
        while at_ns / self.stretch_ns() >= STRETCHES_MAX as u64 {
            self.counts = self.counts.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.doublings += 1;
        }
        let place = usize::try_from(at_ns / self.stretch_ns()).unwrap_or(0);
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += frames;
    }

    /// Length of every stretch, nanoseconds.
    pub(super) const fn stretch_ns(&self) -> u64 {
        STRETCH_NS_MIN.saturating_mul(1u64 << if self.doublings < 44 { self.doublings } else { 44 })
    }

    /// The stretches in which there were frames, by their beginning.
    pub(super) fn rows(&self) -> Vec<FramesAt> {
        let stretch = self.stretch_ns();
        let row = |(from_ns, &frames): (u64, &u64)| FramesAt { from_ns, frames };
        let starts = (0u64..).map(|n| n.saturating_mul(stretch));
        starts.zip(&self.counts).filter(|(_, frames)| **frames > 0).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_out_keeps_the_largest() {
        let points: Vec<DelayPoint> = (0..10_001)
            .map(|n| DelayPoint { at_ns: n, delay_ns: if n == 7_777 { 99 } else { n % 7 } })
            .collect();
        let kept = thin_out(&points, 2_000);
        assert!(kept.len() <= 2_000);
        assert!(kept.contains(&points[7_777]));
        assert!(kept.is_sorted_by_key(|p| p.at_ns));
    }

    #[test]
    fn buckets_hold_every_delay_once_and_end_at_or_above_it() {
        let delays = [0, 1, 7, 8, 9, 15, 16, 17, 18, 1_000, 1_001, u64::MAX];
        let buckets = histogram(&delays);
        assert_eq!(buckets.iter().map(|b| b.messages).sum::<u64>(), 12);
        assert!(delays.iter().all(|&d| bucket_end(d) >= d && bucket_end(d) - d <= d / 8));
        assert!(buckets.is_sorted_by_key(|b| b.to_ns));
    }

    #[test]
    fn stretches_double_and_lose_nothing() {
        let mut frames = FramesOverTime::default();
        for second in 0..3_600 {
            frames.add(second * 1_000_000_000, 2);
        }
        let rows = frames.rows();
        assert!(rows.len() <= STRETCHES_MAX);
        assert_eq!(rows.iter().map(|r| r.frames).sum::<u64>(), 7_200);
        // 512 stretches of 1 ms doubled 13 times, 8.192 s, cover an hour.
        assert_eq!(frames.stretch_ns(), 8_192_000_000);
        frames.add(u64::MAX, 1);
        assert_eq!(frames.total, 7_201);
    }
}
