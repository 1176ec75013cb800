//! The inequality of one queue in exact integers: delay and backlog at a strict-priority port.
//!
//! Times are nanoseconds, rates bit/s, and so rate × time is in 10⁻⁹ bit without any rounding:
//! sums of grown bursts stay exact, and what is added can be taken away again to the last digit.

/// 10⁻⁹ bit per bit.
pub(crate) const NBIT: i128 = 1_000_000_000;
/// Queues of a port at most.
pub const QUEUES_MAX: usize = 8;
/// Steps of the search for the least delay; each leaves a piece of a concave function behind.
const STEPS_MAX: u32 = 64;
/// A step shorter than this ends the search: the bound is then at most so much above the least.
const STEP_NS_MIN: i64 = 2;

/// The flows of one queue that come over one line, as a token bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// Grown bursts, 10⁻⁹ bit.
    pub(crate) burst_nbit: i128,
    /// Rates, bit/s.
    pub(crate) rate_bps: i64,
    /// The largest frame, bits.
    pub(crate) frame_bits: i64,
}

/// What reaches a port over one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// Rate of the line, bit/s; `None` for the flows that start here, which nothing shapes.
    pub(crate) line_bps: Option<i64>,
    /// C·(tick + j) and what was below the scheduler in front, 10⁻⁹ bit: frames are handed over at whole
    /// nanoseconds and the latency of a switch varies by j, so those that come within a window may have
    /// ended within so much more than it.
    pub(crate) early_nbit: i128,
    /// Per queue.
    pub(crate) sums: [Sum; QUEUES_MAX],
}

/// One group as seen from queue k for one candidate delay: min{a + s·t, b + C·t}.
#[derive(Clone, Copy)]
struct Shape {
    /// Buckets: K + H(d) at t = 0, and the slope of K + H.
    bucket_nbit: i128,
    bucket_bps: i64,
    /// The line, with the part of it that grows with the delay.
    line_nbit: i128,
    line_bps: i64,
    /// How fast each part rises with the delay.
    bucket_by_delay: i64,
    line_by_delay: i64,
}

impl Group {
    /// What a line may bring at once if the largest frame is so long, 10⁻⁹ bit; all if nothing shapes it.
    fn frame_nbit(&self, frame_bits: i64) -> i128 {
        self.line_bps.map_or(i128::MAX, |_| i128::from(frame_bits) * NBIT + self.early_nbit)
    }
}

impl Shape {
    /// K(t) + H(t+d) against Λ(t) + H(d) and Λ(t+d), Λ over the queues up to k together.
    fn of(group: &Group, queue: usize, delay_ns: i64) -> Option<Self> {
        let own = group.sums[queue];
        let (mut higher_nbit, mut higher_bps, mut frame_bits) = (0_i128, 0_i64, own.frame_bits);
        for sum in &group.sums[..queue] {
            higher_nbit += sum.burst_nbit;
            higher_bps += sum.rate_bps;
            frame_bits = frame_bits.max(sum.frame_bits);
        }
        if own.rate_bps + higher_bps == 0 {
            return None;
        }
        let higher_nbit = higher_nbit + times(higher_bps, delay_ns);
        let (line_nbit, line_bps, line_by_delay) = match group.line_bps {
            None => (i128::MAX, i64::MAX, 0),
            Some(line_bps) => {
                let frame = group.frame_nbit(frame_bits);
                let (buckets, line) = (higher_nbit, times(line_bps, delay_ns));
                if buckets <= line {
                    (frame + buckets, line_bps, higher_bps)
                } else {
                    (frame + line, line_bps, line_bps)
                }
            }
        };
        Some(Self {
            bucket_nbit: own.burst_nbit + higher_nbit,
            bucket_bps: own.rate_bps + higher_bps,
            line_nbit,
            line_bps,
            bucket_by_delay: higher_bps,
            line_by_delay,
        })
    }

    /// min{K, Λ} of the queue alone, for its backlog.
    fn alone(group: &Group, queue: usize) -> Option<Self> {
        let own = group.sums[queue];
        (own.rate_bps > 0).then(|| Self {
            bucket_nbit: own.burst_nbit,
            bucket_bps: own.rate_bps,
            line_nbit: group.frame_nbit(own.frame_bits),
            line_bps: group.line_bps.unwrap_or(i64::MAX),
            bucket_by_delay: 0,
            line_by_delay: 0,
        })
    }

    /// min{K + H, Λ} of the queues up to this one.
    fn up_to(group: &Group, queue: usize) -> Option<Self> {
        let sums = &group.sums[..=queue];
        let rate_bps: i64 = sums.iter().map(|sum| sum.rate_bps).sum();
        let frame_bits = sums.iter().map(|sum| sum.frame_bits).max().unwrap_or(0);
        (rate_bps > 0).then(|| Self {
            bucket_nbit: sums.iter().map(|sum| sum.burst_nbit).sum(),
            bucket_bps: rate_bps,
            line_nbit: group.frame_nbit(frame_bits),
            line_bps: group.line_bps.unwrap_or(i64::MAX),
            bucket_by_delay: 0,
            line_by_delay: 0,
        })
    }

    /// Where the bucket goes below the line, rounded up; zero if it always is.
    fn break_ns(&self) -> i64 {
        let over = self.bucket_nbit - self.line_nbit;
        if over <= 0 {
            return 0;
        }
        let under = i128::from(self.line_bps - self.bucket_bps);
        if under <= 0 { i64::MAX } else { to_ns(div_up(over, under)) }
    }

    /// The value at `t_ns`, and how fast it rises with the delay there.
    fn at(&self, t_ns: i64) -> (i128, i64) {
        let bucket = self.bucket_nbit + times(self.bucket_bps, t_ns);
        if self.line_nbit == i128::MAX {
            return (bucket, self.bucket_by_delay);
        }
        let line = self.line_nbit + times(self.line_bps, t_ns);
        if bucket <= line { (bucket, self.bucket_by_delay) } else { (line, self.line_by_delay) }
    }
}

/// One port as its queues see it: everything that an inequality needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Curves {
    /// Rate of the line, bit/s, less what signals take.
    pub(crate) rate_bps: i64,
    /// Bits that may be in the way: one frame of lower priority, what is below the scheduler, signals.
    pub(crate) blocking_bits: i64,
    /// Whether that is the latency of a service curve which counts whole frames (\[Loko\] section 4
    /// adds l/R for it): the frame that is being served is then part of it.
    pub(crate) counts_whole_frames: bool,
    /// A frame is handed over by so much after its end at most, ns.
    pub(crate) tick_ns: i64,
    /// One per line that leads here.
    pub(crate) groups: Vec<Group>,
}

/// Where the demand exceeds the service most.
#[derive(Clone, Copy)]
struct Peak {
    excess_nbit: i128,
    /// How fast the excess falls with the delay, bit/s.
    fall_bps: i64,
}

impl Curves {
    /// Rates of the queues up to `queue`, all lines together.
    pub(crate) fn rate_up_to(&self, queue: usize) -> i64 {
        self.groups.iter().flat_map(|g| &g.sums[..=queue]).map(|sum| sum.rate_bps).sum()
    }

    /// Whether no frame of `queue` waits longer than `delay_ns`.
    pub(crate) fn holds(&self, queue: usize, delay_ns: i64) -> bool {
        self.rate_up_to(queue) < self.rate_bps
            && self.peak(queue, delay_ns - self.tick_ns).excess_nbit <= 0
    }

    /// The least delay of `queue` up to a rounding of a few nanoseconds upwards, searched from
    /// `guess_ns`; `None` if the queues up to it bring more than the line carries.
    ///
    /// The excess is concave in the delay, so tangents reach the root from the right: every value
    /// on the way is itself a delay that holds.
    pub(crate) fn delay_ns(&self, queue: usize, guess_ns: i64) -> Option<i64> {
        if self.rate_up_to(queue) >= self.rate_bps {
            return None;
        }
        let mut known = (guess_ns - self.tick_ns).max(0);
        let mut is_held = false;
        for _ in 0..STEPS_MAX {
            let peak = self.peak(queue, known);
            if peak.excess_nbit <= 0 {
                is_held = true;
            }
            if peak.fall_bps <= 0 {
                // So early the excess still rises: from a delay that is long enough it falls.
                let enough = self.unshaped_ns(queue)?;
                if enough <= known {
                    return None;
                }
                known = enough;
                continue;
            }
            let fall = i128::from(peak.fall_bps);
            let next = if peak.excess_nbit > 0 {
                known + to_ns(div_up(peak.excess_nbit, fall)).max(1)
            } else {
                (known - to_ns(-peak.excess_nbit / fall)).max(0)
            };
            if is_held && known - next < STEP_NS_MIN {
                return Some(known + self.tick_ns);
            }
            if next >= DELAY_NS_MAX {
                return None;
            }
            known = next;
        }
        let found = known + self.tick_ns;
        (is_held || self.holds(queue, found)).then_some(found)
    }

    /// The delay that holds without any line: (S + ΣK + ΣH) / (C − rates above).
    fn unshaped_ns(&self, queue: usize) -> Option<i64> {
        let above = if queue == 0 { 0 } else { self.rate_up_to(queue - 1) };
        let sums = self.groups.iter().flat_map(|group| &group.sums[..=queue]);
        let bursts: i128 = sums.map(|sum| sum.burst_nbit).sum();
        let queued = i128::from(self.blocking_bits) * NBIT + bursts;
        let enough = to_ns(div_up(queued, i128::from(self.rate_bps - above)));
        (enough < DELAY_NS_MAX).then_some(enough)
    }

    /// The longest time for which the port never runs out of the flows' frames, ns rounded up.
    pub(crate) fn busy_ns(&self) -> i64 {
        let spare = self.rate_bps - self.rate_up_to(QUEUES_MAX - 1);
        if spare <= 0 {
            return i64::MAX;
        }
        let bursts: i128 = self.groups.iter().flat_map(|g| &g.sums).map(|sum| sum.burst_nbit).sum();
        let queued = i128::from(self.blocking_bits) * NBIT + bursts;
        let busy = i64::try_from(div_up(queued, i128::from(spare))).unwrap_or(i64::MAX);
        busy.saturating_add(self.tick_ns)
    }

    /// The most that waits in `queue`, bits rounded up, if each of its frames leaves within
    /// `delay_ns`. A frame counts until its last bit has left.
    ///
    /// Two bounds hold t after the start of a busy period: what came to the queue since (not
    /// longer ago than the delay), and what came to it and those before it less what was served.
    pub(crate) fn backlog_bits(&self, queue: usize, delay_ns: i64) -> i64 {
        let came = |t: i64| self.came(queue, t);
        let left = |t: i64| self.left(queue, t);
        // `came` rises; `left` rises to its peak and falls.
        let peak_ns = self.peak_ns(|| self.groups.iter().filter_map(|g| Shape::up_to(g, queue)));
        let peak_ns = peak_ns.min(delay_ns);
        let most = if came(peak_ns) >= left(peak_ns) {
            left(peak_ns)
        } else {
            // Invariant: at `low` less has come than is left; `high` is past the crossing.
            let (mut low, mut high) = (peak_ns, delay_ns);
            if came(high) > left(high) {
                while high - low > 1 {
                    let mid = low + (high - low) / 2;
                    if came(mid) <= left(mid) { low = mid } else { high = mid }
                }
            }
            came(high)
        };
        i64::try_from(div_up(most.max(0), NBIT)).unwrap_or(i64::MAX)
    }

    /// The most that can come to the queue itself in `t_ns`.
    pub(crate) fn came(&self, queue: usize, t_ns: i64) -> i128 {
        let alone = self.groups.iter().filter_map(|group| Shape::alone(group, queue));
        alone.map(|shape| shape.at(t_ns).0).sum()
    }

    /// What came in `t_ns` to the queues up to this one, less what was served, with the frame in
    /// the way and the one on the wire (for a service of whole frames there is none that is partly
    /// served); the service at a time rounded down.
    fn left(&self, queue: usize, t_ns: i64) -> i128 {
        let shapes = self.groups.iter().filter_map(|group| Shape::up_to(group, queue));
        let came: i128 = shapes.map(|shape| shape.at(t_ns).0).sum();
        let frames = self.groups.iter().map(|group| group.sums[queue].frame_bits);
        let served = if self.counts_whole_frames { 0 } else { frames.max().unwrap_or(0) };
        let held = self.blocking_bits + served;
        came + i128::from(held) * NBIT - times(self.rate_bps, (t_ns - 1 - self.tick_ns).max(0))
    }

    /// max over t of S + Σ min{…}(t) − C·(t + d), rounded up by a few bits at most.
    fn peak(&self, queue: usize, delay_ns: i64) -> Peak {
        let shapes = || self.groups.iter().filter_map(|g| Shape::of(g, queue, delay_ns));
        let at_ns = self.peak_ns(shapes);
        if at_ns >= DELAY_NS_MAX {
            return Peak { excess_nbit: i128::MAX, fall_bps: 0 };
        }
        let (mut sum, mut rise) = (i128::from(self.blocking_bits) * NBIT, 0_i64);
        for shape in shapes() {
            let (value, by_delay) = shape.at(at_ns);
            sum += value;
            rise += by_delay;
        }
        // The curves at the break rounded up, the service at the break rounded down.
        let served = times(self.rate_bps, (at_ns - 1).max(0) + delay_ns);
        Peak { excess_nbit: sum - served, fall_bps: self.rate_bps - rise }
    }

    /// The first break after which the sum no longer rises faster than the line serves.
    fn peak_ns<I: Iterator<Item = Shape>>(&self, shapes: impl Fn() -> I) -> i64 {
        let mut best = i64::MAX;
        let slope_after = |t: i64| -> i64 {
            let slope = |shape: Shape| match shape.break_ns() <= t {
                true => shape.bucket_bps,
                false => shape.line_bps,
            };
            shapes().map(slope).fold(0, i64::saturating_add)
        };
        if slope_after(0) <= self.rate_bps {
            return 0;
        }
        for shape in shapes() {
            let at = shape.break_ns();
            if at < best && slope_after(at) <= self.rate_bps {
                best = at;
            }
        }
        best
    }
}

/// Beyond this there is no bound worth the name.
pub(crate) const DELAY_NS_MAX: i64 = 10_000_000_000;

pub(crate) fn times(rate_bps: i64, ns: i64) -> i128 {
    i128::from(rate_bps) * i128::from(ns)
}

/// `a / b` rounded up, for a ≥ 0 and b > 0; by the processor's own division where it fits.
pub(crate) fn div_up(a: i128, b: i128) -> i128 {
    match (u64::try_from(a), u64::try_from(b)) {
        (Ok(a), Ok(b)) => i128::from(a.div_ceil(b)),
        _ => a.div_euclid(b) + i128::from(a.rem_euclid(b) != 0),
    }
}

fn to_ns(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX).min(DELAY_NS_MAX)
}
