//! What one frame costs a processor, and what it counts there.

use tenuto_calculus::{Bucket, UBIT_PER_BIT, div_up, ubits};
use tenuto_model::{BufferUnit, Contract, LookUp, MeterCounts, Processor, Profile, ReceiveBuffer};
use tenuto_units::{FRAME_BYTES_MAX, FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES};

/// 10⁻⁶ ns of processor time in a picosecond.
pub(crate) const FINE_PER_PS: i128 = 1_000;

/// What is counted of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Work,
    Frames,
    Units,
}

/// The cost function of one device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs<'a> {
    processor: &'a Processor,
    compared: u32,
    unit: BufferUnit,
}

/// A largest quotient of something counted (10⁻⁶) and bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerBit {
    over: i128,
    bits: i128,
}

impl PerBit {
    /// What a bucket of bits brings of it, rounded up.
    pub(crate) fn times(self, bits: Bucket) -> Bucket {
        let of = |ubit: i128| match ubit.checked_mul(self.over) {
            Some(product) => div_up(product, self.bits * UBIT_PER_BIT),
            None => i128::MAX,
        };
        Bucket { burst_ubit: of(bits.burst_ubit), rate_ubps: of(bits.rate_ubps) }
    }
}

impl<'a> Costs<'a> {
    pub(crate) fn new(processor: &'a Processor, profile: &Profile) -> Self {
        let compared = match processor.look_up {
            LookUp::Linear => profile.entries_max,
            LookUp::ByMask(masks) => profile.entries_max.min(masks),
        };
        let unit = profile.receive_buffer.map_or(BufferUnit::Frames, |buffer| buffer.unit);
        Self { processor, compared, unit }
    }

    /// cost(L, m), picoseconds.
    pub(crate) fn of(&self, frame_bytes: u32, outputs: u32) -> i128 {
        i128::from(self.processor.planned_ps(frame_bytes, self.compared, outputs))
    }

    /// What is counted of one frame, 10⁻⁶.
    pub(crate) fn counted(&self, what: Counted, frame_bytes: u32, outputs: u32) -> i128 {
        match what {
            Counted::Work => self.of(frame_bytes, outputs) * FINE_PER_PS,
            Counted::Frames => UBIT_PER_BIT,
            Counted::Units => ubits(self.unit.of_frame(frame_bytes)),
        }
    }

    /// The largest quotient over all frames of 64 to 1518 B.
    pub(crate) fn most_per_bit(&self, what: Counted, by: MeterCounts, outputs: u32) -> PerBit {
        let quotient = |bytes: u32| PerBit {
            over: self.counted(what, bytes, outputs),
            bits: i128::from(by.counted_bytes(bytes)) * 8,
        };
        let all = (FRAME_BYTES_MIN..=FRAME_BYTES_MAX).map(quotient);
        let larger = |a: PerBit, b: PerBit| if a.over * b.bits >= b.over * a.bits { a } else { b };
        all.reduce(larger).unwrap_or_else(|| quotient(FRAME_BYTES_MIN))
    }

    /// Work of all that a receive buffer can hold, with `more` on every frame, 10⁻⁶ ns up.
    pub(crate) fn most_stored(
        &self,
        buffer: ReceiveBuffer,
        outputs: u32,
        more: i128,
    ) -> Option<i128> {
        let (mut work, mut units) = (0, 1);
        for bytes in FRAME_BYTES_MIN..=FRAME_BYTES_MAX {
            let takes = self.counted(Counted::Work, bytes, outputs) + more;
            let fills = i128::from(buffer.unit.of_frame(bytes)).max(1);
            if takes * units > work * fills {
                (work, units) = (takes, fills);
            }
        }
        Some(div_up(work.checked_mul(i128::from(buffer.count))?, units))
    }

    /// What is counted of a largest message.
    pub(super) fn message(
        &self,
        what: Counted,
        contract: &Contract,
        as_stated: bool,
        outputs: u32,
    ) -> i128 {
        let (before, full, last) = frame_sizes(contract, as_stated);
        let each = |frame_bytes: u32| self.counted(what, frame_bytes, outputs);
        i128::from(before) * each(full) + each(last)
    }
}

/// The frames of a largest message: how many before the last, their bytes, those of the last.
pub(crate) fn frame_sizes(contract: &Contract, as_stated: bool) -> (u64, u32, u32) {
    let mix = contract.size.frames(as_stated);
    let before = u64::from(mix.frames - 1);
    let last_bits = mix.message_wire_bits - before * mix.frame_wire_bits_max;
    (before, frame_bytes(mix.frame_wire_bits_max), frame_bytes(last_bits))
}

/// The frame, padded, of so many bits on the wire.
pub(super) fn frame_bytes(wire_bits: u64) -> u32 {
    let bytes = u32::try_from(wire_bits / 8).unwrap_or(u32::MAX);
    bytes.saturating_sub(WIRE_OVERHEAD_BYTES).max(FRAME_BYTES_MIN)
}
