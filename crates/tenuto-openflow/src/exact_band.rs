//! A band of our own: it drops, and states rate and burst in bit/s and bytes, where OpenFlow states
//! kbit/s and kbit.

use crate::constants::EXPERIMENTER_ID;
use crate::error::{BadRequest, ErrorCode, MeterModFailed};
use crate::meters::MeterBand;

/// The subtype of our band.
const EXACT_DROP: [u8; 2] = [0, 1];
/// Subtype, padding, rate and burst.
const DATA_BYTES: usize = 24;
const BITS_PER_KBIT: u64 = 1_000;
const BYTES_PER_KBIT: u64 = 125;

/// What our band states: it drops what a bucket of exactly so many bytes does not hold, which fills
/// at exactly that rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExactDrop {
    /// Rate, bit/s of what the switch counts.
    pub rate_bps: u64,
    /// Burst, bytes of what the switch counts.
    pub burst_bytes: u64,
}

impl ExactDrop {
    /// Rate and burst of the header of the band, for tools that know no more: in kbit/s and kbit, up.
    fn header(self) -> (u32, u32) {
        let narrow = |kilo: u64| u32::try_from(kilo).unwrap_or(u32::MAX);
        let rate = narrow(self.rate_bps.div_ceil(BITS_PER_KBIT));
        (rate, narrow(self.burst_bytes.div_ceil(BYTES_PER_KBIT)))
    }

    fn read(data: &[u8]) -> Result<Self, ErrorCode> {
        let data: &[u8; DATA_BYTES] = data.try_into().map_err(|_| BadRequest::BadLen)?;
        let [_, rate, burst] = *data.as_chunks::<8>().0 else {
            return Err(BadRequest::BadLen.into());
        };
        Ok(Self { rate_bps: u64::from_be_bytes(rate), burst_bytes: u64::from_be_bytes(burst) })
    }
}

impl From<ExactDrop> for MeterBand {
    fn from(exact: ExactDrop) -> Self {
        let (rate, burst_size) = exact.header();
        let (rate_bps, burst_bytes) =
            (exact.rate_bps.to_be_bytes(), exact.burst_bytes.to_be_bytes());
        let data = [&EXACT_DROP[..], &[0; 6], &rate_bps, &burst_bytes].concat();
        Self::Experimenter { rate, burst_size, experimenter: EXPERIMENTER_ID, data }
    }
}

impl MeterBand {
    /// What a band of ours states; `None` of all others.
    ///
    /// # Errors
    /// `OFPBRC_BAD_LEN` if it is of another length; `OFPMMFC_BAD_RATE` or `OFPMMFC_BAD_BURST` if its header
    /// does not say the same, rounded up to kbit/s and kbit.
    pub fn as_exact_drop(&self) -> Result<Option<ExactDrop>, ErrorCode> {
        let Self::Experimenter { rate, burst_size, experimenter: EXPERIMENTER_ID, data } = self
        else {
            return Ok(None);
        };
        if !data.starts_with(&EXACT_DROP) {
            return Ok(None);
        }
        let exact = ExactDrop::read(data)?;
        match exact.header() {
            (same, _) if same != *rate => Err(MeterModFailed::BadRate.into()),
            (_, same) if same != *burst_size => Err(MeterModFailed::BadBurst.into()),
            _ => Ok(Some(exact)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, Message, MeterMod, MeterModCommand};

    /// Something done to rate, burst, experimenter and data of a band.
    type Change<'a> = &'a dyn Fn(&mut u32, &mut u32, &mut u32, &mut Vec<u8>);

    const EXACT: ExactDrop = ExactDrop { rate_bps: 4_999_001, burst_bytes: 1_519 };

    #[test]
    fn it_is_an_experimenter_band_of_40_bytes() {
        let band = MeterBand::from(EXACT);
        let (command, bands) = (MeterModCommand::Add, vec![band.clone()]);
        let body = Body::MeterMod(MeterMod { command, flags: 5, meter_id: 7, bands });
        let bytes = Message::new(1, body.clone()).to_bytes();
        let wanted = [
            [0xff, 0xff, 0, 40, 0, 0, 0x13, 0x88],
            [0, 0, 0, 13, 0x54, 0x45, 0x4e, 0x55],
            [0, 1, 0, 0, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 0x4c, 0x47, 0x59],
            [0, 0, 0, 0, 0, 0, 0x05, 0xef],
        ];
        assert_eq!(bytes[16..], *wanted.as_flattened());
        assert_eq!(Message::parse(&bytes).map(|message| message.body), Ok(body));
        assert_eq!(band.as_exact_drop(), Ok(Some(EXACT)));
    }

    #[test]
    fn every_value_comes_back() {
        for value in [0, 1, 124, 125, 126, 999, 1_000, 1_001, u64::from(u32::MAX) * 1_000, u64::MAX]
        {
            for exact in
                [ExactDrop { rate_bps: value, ..EXACT }, ExactDrop { burst_bytes: value, ..EXACT }]
            {
                assert_eq!(MeterBand::from(exact).as_exact_drop(), Ok(Some(exact)));
            }
        }
    }

    #[test]
    fn others_are_none_and_malformed_ones_have_their_code() {
        let sent = |change: Change<'_>| {
            let mut band = MeterBand::from(EXACT);
            if let MeterBand::Experimenter { rate, burst_size, experimenter, data } = &mut band {
                change(rate, burst_size, experimenter, data);
            }
            band.as_exact_drop()
        };
        assert_eq!(sent(&|_, _, _, _| ()), Ok(Some(EXACT)));
        assert_eq!(sent(&|_, _, _, data| data[5] = 1), Ok(Some(EXACT)), "padding");
        assert_eq!(sent(&|_, _, experimenter, _| *experimenter = 7), Ok(None));
        assert_eq!(sent(&|_, _, _, data| data[1] = 2), Ok(None), "another subtype");
        assert_eq!(sent(&|_, _, _, data| data.clear()), Ok(None), "no subtype");
        let bad_len = Err(BadRequest::BadLen.into());
        assert_eq!(sent(&|_, _, _, data| data.truncate(16)), bad_len);
        assert_eq!(sent(&|_, _, _, data| data.extend([0; 8])), bad_len);
        assert_eq!(sent(&|rate, _, _, _| *rate -= 1), Err(MeterModFailed::BadRate.into()));
        assert_eq!(sent(&|_, burst, _, _| *burst += 1), Err(MeterModFailed::BadBurst.into()));
        assert_eq!(MeterBand::Drop { rate: 1, burst_size: 1 }.as_exact_drop(), Ok(None));
    }
}
