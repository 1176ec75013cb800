//! What a frame costs a device whose ports share a processor: rebuilt from the profile's figures.

use crate::description::packets::Packets;
use crate::description::read::{BufferUnit, LookUp, MeterCounts, Processor, Profile};
use tenuto_units::{FRAME_BYTES_MAX, FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES};

const PS_PER_S: u128 = 1_000_000_000_000;

/// The cost function of one device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device<'a> {
    pub(crate) processor: &'a Processor,
    entry_most: u64,
    entry_least: u64,
    compared: u64,
    unit: BufferUnit,
}

/// What is counted of frames: the names and the weights of theory, "Demand".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Processor time, picoseconds; so much more for every frame.
    Work(u64),
    /// Units of the receive buffer.
    Units,
}

/// A quotient of weight and bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerBit {
    pub(crate) weight: u64,
    pub(crate) bits: u64,
}

impl<'a> Device<'a> {
    /// `None` for a profile whose ports are served by themselves.
    pub(crate) fn of(profile: &'a Profile) -> Option<Self> {
        let processor = profile.processor.as_ref()?;
        let per = processor.per_entry_ps;
        let costs = [per.port, per.tp_dst, per.dl_dst, per.masked_nw_dst, per.five_tuple, per.all];
        let entries = u64::from(profile.entries_max);
        Some(Self {
            processor,
            entry_most: costs.into_iter().max().unwrap_or(0),
            entry_least: costs.into_iter().min().unwrap_or(0),
            compared: match processor.look_up {
                LookUp::Linear => entries,
                LookUp::ByMask(masks) => entries.min(masks.into()),
            },
            unit: profile.receive_buffer.map_or(BufferUnit::Frames, |buffer| buffer.unit),
        })
    }

    /// Whether every sum of what it states stays far from the end of 64 bits.
    pub(crate) fn is_of_this_world(&self) -> bool {
        const SECOND_PS: u64 = 1_000_000_000_000;
        let p = self.processor;
        let times = [p.base_ps, p.per_byte_ps, p.per_output_ps, self.entry_most, p.control.time_ps];
        times.iter().all(|ps| *ps <= SECOND_PS)
            && self.entry_most.saturating_mul(self.compared) <= 1_000 * SECOND_PS
            && p.control.period_ps > 0
            && p.spread_percent < 100
            && p.link.is_none_or(|link| link.rate_bps > 0 && link.tag_bytes <= FRAME_BYTES_MAX)
            && !matches!(p.receive, crate::description::read::Receive::RoundRobin(0))
            && self.cost_ps(FRAME_BYTES_MIN, 1) > 0
    }

    /// link(L), picoseconds up.
    pub(crate) fn link_ps(&self, frame_bytes: u32) -> u64 {
        self.processor.link.map_or(0, |link| {
            let bytes = u128::from(frame_bytes)
                + u128::from(link.tag_bytes)
                + u128::from(WIRE_OVERHEAD_BYTES);
            let ps = (bytes * 8 * PS_PER_S).div_ceil(u128::from(link.rate_bps.max(1)));
            u64::try_from(ps).unwrap_or(u64::MAX)
        })
    }

    fn look_up_ps(&self, frame_bytes: u32, entry_ps: u64, compared: u64) -> u64 {
        let p = self.processor;
        let bytes = p.per_byte_ps.saturating_mul(frame_bytes.into());
        let compared = entry_ps.saturating_mul(compared);
        p.base_ps.saturating_add(bytes).saturating_add(compared).max(self.link_ps(frame_bytes))
    }

    /// cost(L, m), picoseconds.
    pub(crate) fn cost_ps(&self, frame_bytes: u32, outputs: u32) -> u64 {
        let p = self.processor;
        let bytes = p.per_byte_ps.saturating_mul(frame_bytes.into());
        let copy = p.per_output_ps.saturating_add(bytes).max(self.link_ps(frame_bytes));
        let copies = copy.saturating_mul(u64::from(outputs.max(1)) - 1);
        self.look_up_ps(frame_bytes, self.entry_most, self.compared).saturating_add(copies)
    }

    /// cost⁻, picoseconds.
    pub(crate) fn least_ps(&self) -> u64 {
        let most = self.look_up_ps(FRAME_BYTES_MIN, self.entry_least, 1);
        let spread = u128::from(most) * u128::from(self.processor.spread_percent) / 100;
        most.saturating_sub(u64::try_from(spread).unwrap_or(most))
    }

    /// u(L).
    pub(crate) fn units(&self, frame_bytes: u32) -> u64 {
        match self.unit {
            BufferUnit::Cells(bytes) => u64::from(frame_bytes.div_ceil(bytes.max(1))),
            BufferUnit::Frames => 1,
            BufferUnit::Bytes => frame_bytes.into(),
        }
    }

    pub(crate) const fn unit_name(&self) -> &'static str {
        match self.unit {
            BufferUnit::Cells(_) => "cells",
            BufferUnit::Frames => "frames",
            BufferUnit::Bytes => "B",
        }
    }

    fn weight(&self, what: Weight, frame_bytes: u32, outputs: u32) -> u64 {
        match what {
            Weight::Work(more) => self.cost_ps(frame_bytes, outputs).saturating_add(more),
            Weight::Units => self.units(frame_bytes),
        }
    }

    /// The weight of a largest message.
    pub(crate) fn message(&self, what: Weight, packets: Packets, outputs: u32) -> u64 {
        let of = |bytes: u32| self.weight(what, bytes.max(FRAME_BYTES_MIN), outputs);
        packets
            .each()
            .fold(0, |sum: u64, (count, bytes)| sum.saturating_add(of(bytes).saturating_mul(count)))
    }

    /// The largest weight per bit over all frames of 64 to 1518 B.
    pub(crate) fn most_per_bit(&self, what: Weight, by: MeterCounts, outputs: u32) -> PerBit {
        let mut most = PerBit { weight: 0, bits: 1 };
        for bytes in FRAME_BYTES_MIN..=FRAME_BYTES_MAX {
            let counted = match by {
                MeterCounts::L2WithoutFcs => bytes - 4,
                MeterCounts::Frame => bytes,
                MeterCounts::Wire => bytes + WIRE_OVERHEAD_BYTES,
            };
            let next =
                PerBit { weight: self.weight(what, bytes, outputs), bits: u64::from(counted) * 8 };
            let products = (
                u128::from(next.weight) * u128::from(most.bits),
                u128::from(most.weight) * u128::from(next.bits),
            );
            if products.0 > products.1 {
                most = next;
            }
        }
        most
    }
}
