//! Meters: a token bucket for each band, judged by arrival (OpenFlow 1.3.5, section 5.7).
//!
//! A band applies to what its bucket does not hold; of several, the one with the highest rate.

use super::path_cache::cached_path::Record;
use super::path_cache::meter_monitor_store::{Lendable, NOT_LENT};
use super::tables::EntryCounter;
use super::token_bucket::{BURST_UNSTATED_PACKETS_MIN, Meter, UNITS, take};
use std::ops::{Deref, DerefMut};
use tenuto_openflow::constants::meter_flag;
use tenuto_openflow::{ExactDrop, MeterBand};
use tenuto_units::Instant;

/// The largest burst whose tokens fit 64 bits, 2.3 GB. What is earned beyond is cut off like what does
/// not fit the bucket, so no rate overflows.
pub(super) const BURST_BITS_MAX: u64 = u64::MAX / UNITS;
const BITS_PER_KBIT: u64 = 1_000;
/// Least burst of a band of bits that states none: two of the largest frames.
const BURST_UNSTATED_BITS_MIN: u64 = 2 * 1_542 * 8;

/// A [`Meter`] of bits, small enough for a cached path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    tokens: u64,
    refilled: Instant,
    limits: Limits,
}

/// Rate and burst of a bucket in one word: bit/s above [`Limits::BYTES_BITS`] bits of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits(u64);

impl Limits {
    /// Bursts up to 134 MB and rates up to 137 Gbit/s; the meters of others stay where they are.
    const BYTES_BITS: u32 = 27;
    const UNITS_PER_BYTE: u64 = 8 * UNITS;

    fn of(meter: &Meter) -> Option<Self> {
        let bytes = meter.depth / Self::UNITS_PER_BYTE;
        let is_whole = meter.depth.is_multiple_of(Self::UNITS_PER_BYTE);
        let fits =
            bytes >> Self::BYTES_BITS == 0 && meter.rate >> (u64::BITS - Self::BYTES_BITS) == 0;
        (is_whole && fits).then_some(Self(meter.rate << Self::BYTES_BITS | bytes))
    }

    #[inline(always)]
    const fn rate_and_depth(self) -> (u64, u64) {
        let bytes = self.0 & ((1 << Self::BYTES_BITS) - 1);
        (self.0 >> Self::BYTES_BITS, bytes * Self::UNITS_PER_BYTE)
    }
}

impl Bucket {
    /// One that holds nothing.
    pub(super) const NONE: Self = Self { tokens: 0, refilled: Instant::ZERO, limits: Limits(0) };

    /// As [`Meter::conforms`].
    #[inline(always)]
    pub(super) fn conforms(&mut self, arrival: Instant, bits: u64) -> bool {
        let cost = bits.saturating_mul(UNITS);
        let of = self.limits.rate_and_depth();
        take((&mut self.tokens, &mut self.refilled), of, arrival, cost)
    }
}

/// What a band does with what it applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BandEffect {
    /// Drop.
    Drop,
    /// Raise the drop precedence by so many steps.
    Remark(u8),
}

/// A band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BandState {
    /// The bucket.
    pub meter: Meter,
    /// What happens to what it does not hold.
    pub effect: BandEffect,
    /// What it was applied to.
    pub applied: EntryCounter,
}

/// Bands; one, as meters of flows have, lies beside the meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bands {
    /// One.
    One(BandState),
    /// None or several.
    Several(Vec<BandState>),
}

impl Deref for Bands {
    type Target = [BandState];

    fn deref(&self) -> &[BandState] {
        match self {
            Self::One(band) => std::slice::from_ref(band),
            Self::Several(bands) => bands,
        }
    }
}

impl DerefMut for Bands {
    fn deref_mut(&mut self) -> &mut [BandState] {
        match self {
            Self::One(band) => std::slice::from_mut(band),
            Self::Several(bands) => bands,
        }
    }
}

impl FromIterator<BandState> for Bands {
    fn from_iter<T: IntoIterator<Item = BandState>>(bands: T) -> Self {
        let bands: Vec<BandState> = bands.into_iter().collect();
        match bands.as_slice() {
            [band] => Self::One(*band),
            _ => Self::Several(bands),
        }
    }
}

/// What a meter is made of and what it has seen, in two lines of cache; a frame that its only band
/// passes touches the first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(128))]
pub struct MeterState {
    /// `OFPMF_*`, as they were sent.
    pub flags: u16,
    /// The path that its bucket is lent to; what passes there is not in `seen`.
    pub(super) lent: u32,
    /// Frames and bytes shown to it.
    pub seen: EntryCounter,
    /// The bands.
    pub bands: Bands,
    /// The bands as they were sent.
    pub sent: Box<[MeterBand]>,
    /// Frames and bytes that it dropped.
    pub dropped: EntryCounter,
    /// When it was added.
    pub since: Instant,
}

impl MeterState {
    /// A meter of bands that the control channel has checked; others do nothing.
    pub(super) fn new(flags: u16, sent: &[MeterBand], now: Instant) -> Self {
        let band = |band: &MeterBand| {
            if let Ok(Some(ExactDrop { rate_bps, burst_bytes })) = band.as_exact_drop() {
                let meter = Meter::new(rate_bps, burst_bytes.saturating_mul(8));
                let effect = BandEffect::Drop;
                return Some(BandState { meter, effect, applied: EntryCounter::default() });
            }
            let (rate, burst, effect) = match *band {
                MeterBand::Drop { rate, burst_size } => (rate, burst_size, BandEffect::Drop),
                MeterBand::DscpRemark { rate, burst_size, prec_level } => {
                    (rate, burst_size, BandEffect::Remark(prec_level))
                }
                _ => return None,
            };
            let is_stated = flags & meter_flag::BURST != 0 && burst > 0;
            let (each, least) = match flags & meter_flag::PKTPS {
                0 => (BITS_PER_KBIT, BURST_UNSTATED_BITS_MIN),
                _ => (1, BURST_UNSTATED_PACKETS_MIN),
            };
            let rate = u64::from(rate) * each;
            let meter = match is_stated {
                true => Meter::new(rate, u64::from(burst) * each),
                false => Meter::with_unstated_burst(rate, least),
            };
            Some(BandState { meter, effect, applied: EntryCounter::default() })
        };
        let bands = sent.iter().filter_map(band).collect();
        let (seen, dropped) = (EntryCounter::default(), EntryCounter::default());
        Self { flags, lent: NOT_LENT, sent: sent.into(), bands, seen, dropped, since: now }
    }

    /// Takes over the bands of another; those that were there keep their tokens.
    pub(super) fn reconfigure(&mut self, new: Self) {
        let mut bands = new.bands;
        for (band, old) in bands.iter_mut().zip(&*self.bands) {
            let mut meter = old.meter;
            meter.replace(band.meter);
            *band = BandState { meter, applied: old.applied, ..*band };
        }
        (self.flags, self.sent, self.bands) = (new.flags, new.sent, bands);
    }

    /// The earliest instant from `now` on at which none of its bands drops a frame.
    pub(super) fn ready_at(&self, now: Instant, bits: u64) -> Instant {
        let cost = self.cost(bits);
        let drops = self.bands.iter().filter(|band| band.effect == BandEffect::Drop);
        drops.map(|band| band.meter.ready_at(now, cost)).max().unwrap_or(now)
    }

    const fn cost(&self, bits: u64) -> u64 {
        match self.flags & meter_flag::PKTPS {
            0 => bits.saturating_mul(UNITS),
            _ => UNITS,
        }
    }

    /// Whether it does nothing to a frame but let it pass or not.
    pub(super) fn drops_only(&self) -> bool {
        self.bands.iter().all(|band| band.effect == BandEffect::Drop)
    }

    /// Its bucket, if that is all there is to it: one band that drops bits, of a usual size.
    pub(super) fn bucket(&self) -> Option<Bucket> {
        let Bands::One(BandState { meter, effect: BandEffect::Drop, .. }) = self.bands else {
            return None;
        };
        if self.flags & meter_flag::PKTPS != 0 {
            return None;
        }
        let Meter { tokens, refilled, .. } = meter;
        Limits::of(&meter).map(|limits| Bucket { tokens, refilled, limits })
    }

    /// Judges a frame: what is to be done with it, if anything.
    #[inline(always)]
    pub(super) fn judge(
        &mut self,
        arrival: Instant,
        bits: u64,
        frame_bytes: u32,
    ) -> Option<BandEffect> {
        self.seen.add(frame_bytes);
        let cost = self.cost(bits);
        // Of a frame that its only band passes there is nothing more to say.
        if let Bands::One(band) = &mut self.bands {
            return match band.meter.takes(arrival, cost) {
                true => None,
                false => Some(self.apply(0, frame_bytes)),
            };
        }
        let mut exceeded: Option<(u64, usize)> = None;
        for (place, band) in self.bands.iter_mut().enumerate() {
            let rate = band.meter.rate;
            if !band.meter.takes(arrival, cost) && exceeded.is_none_or(|(other, _)| other < rate) {
                exceeded = Some((rate, place));
            }
        }
        exceeded.map(|(_, place)| self.apply(place, frame_bytes))
    }

    /// Applies a band to a frame that it does not hold.
    #[cold]
    pub(super) fn apply(&mut self, place: usize, frame_bytes: u32) -> BandEffect {
        let band = &mut self.bands[place];
        band.applied.add(frame_bytes);
        let effect = band.effect;
        if effect == BandEffect::Drop {
            self.dropped.add(frame_bytes);
        }
        effect
    }
}

impl Lendable for MeterState {
    fn lent(&mut self) -> &mut u32 {
        &mut self.lent
    }

    fn lent_to(&self) -> u32 {
        self.lent
    }

    fn take_in(&mut self, record: &Record) {
        if let Bands::One(band) = &mut self.bands {
            let Bucket { tokens, refilled, .. } = record.path.bucket;
            (band.meter.tokens, band.meter.refilled) = (tokens, refilled);
        }
        self.seen.add_all(record.path.passed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_meter_is_two_lines_of_cache() {
        assert_eq!(size_of::<Option<MeterState>>(), 128);
    }

    #[test]
    fn it_passes_its_burst_and_then_its_rate() {
        // 8 kbit/s, 1 kbit: one 125-byte frame at once, then one each 125 ms.
        let mut meter = Meter::new(8_000, 1_000);
        assert!(meter.conforms(ms(0), 1_000));
        assert!(!meter.conforms(ms(124), 1_000));
        assert!(meter.conforms(ms(125), 1_000));
        assert!(!meter.conforms(ms(100), 1), "an earlier stamp earns nothing");
        assert!(meter.conforms(Instant::MAX, 1_000));
    }

    #[test]
    fn a_change_of_contract_grants_no_fresh_bucket() {
        let mut meter = Meter::new(1_000, 10_000);
        assert!(meter.conforms(Instant::ZERO, 10_000));
        meter.replace(Meter::new(1_000, 20_000));
        assert!(!meter.conforms(Instant::ZERO, 1));
    }

    #[test]
    fn of_several_bands_the_highest_exceeded_one_applies() {
        let bands = [
            MeterBand::DscpRemark { rate: 1, burst_size: 1, prec_level: 1 },
            MeterBand::Drop { rate: 2, burst_size: 3 },
        ];
        let flags = meter_flag::PKTPS | meter_flag::BURST;
        let mut meter = MeterState::new(flags, &bands, Instant::ZERO);
        let judged = [0; 5].map(|at| meter.judge(ms(at), 1_000_000, 100));
        let remark = Some(BandEffect::Remark(1));
        assert_eq!(judged, [None, remark, remark, Some(BandEffect::Drop), Some(BandEffect::Drop)]);
        assert_eq!(meter.judge(ms(500), 0, 100), remark, "half of the lower rate is not enough");
        assert_eq!(meter.judge(ms(1_000), 0, 100), None);
        let applied: Vec<u64> = meter.bands.iter().map(|band| band.applied.frames).collect();
        assert_eq!((applied, meter.seen.frames, meter.dropped.frames), (vec![3, 2], 7, 2));
    }

    #[test]
    fn a_burst_in_bytes_is_exact_to_the_byte() {
        let judged = |burst_bytes| {
            let bands = [ExactDrop { rate_bps: 8_000, burst_bytes }.into()];
            let mut meter = MeterState::new(meter_flag::KBPS, &bands, Instant::ZERO);
            // At 8 kbit/s a byte comes back in each millisecond.
            [(0, 1_519), (63, 64), (64, 64)]
                .map(|(at, bytes)| meter.judge(ms(at), u64::from(bytes) * 8, bytes).is_none())
        };
        assert_eq!(judged(1_519), [true, false, true]);
        assert_eq!(judged(1_518), [false, true, true], "one byte less holds no such frame");
        assert_eq!(
            judged(1_520),
            [true, true, false],
            "one byte more is there one millisecond sooner"
        );
    }

    #[test]
    fn a_burst_that_is_not_stated_is_a_tenth_of_a_second() {
        let bands = [MeterBand::Drop { rate: 1_000, burst_size: 0 }];
        let mut meter = MeterState::new(meter_flag::KBPS, &bands, Instant::ZERO);
        assert_eq!(meter.judge(ms(0), 100_000, 12_500), None);
        assert_eq!(meter.judge(ms(0), 1, 64), Some(BandEffect::Drop));
    }
}
