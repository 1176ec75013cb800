//! A band of our own: it drops, and its burst is stated in bytes, where OpenFlow states kbit.

use crate::experimenter::EXPERIMENTER_ID;
use crate::meters::MeterBand;

/// The subtype of our band.
const EXACT_DROP: [u8; 2] = [0, 1];

impl MeterBand {
    /// A band that drops what a bucket of exactly `burst_bytes` does not hold, which fills at
    /// `rate_kbps`, in kbit/s.
    pub fn exact_drop(rate_kbps: u32, burst_bytes: u32) -> Self {
        let burst_kbit = (u64::from(burst_bytes) * 8).div_ceil(1_000);
        Self::Experimenter {
            rate: rate_kbps,
            burst_size: u32::try_from(burst_kbit).unwrap_or(u32::MAX),
            experimenter: EXPERIMENTER_ID,
            data: [&EXACT_DROP[..], &[0; 2], &burst_bytes.to_be_bytes()].concat(),
        }
    }

    /// Rate in kbit/s and burst in bytes of a band that [`MeterBand::exact_drop`] describes; `None` of
    /// all others.
    pub fn as_exact_drop(&self) -> Option<(u32, u32)> {
        match self {
            Self::Experimenter { rate, experimenter: EXPERIMENTER_ID, data, .. } => {
                let data: &[u8; 8] = data.as_slice().try_into().ok()?;
                let [high, low, _, _, burst @ ..] = *data;
                ([high, low] == EXACT_DROP).then_some((*rate, u32::from_be_bytes(burst)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, Message, MeterMod, MeterModCommand};

    #[test]
    fn it_is_an_experimenter_band_of_24_bytes() {
        let band = MeterBand::exact_drop(5_000, 1_519);
        let (command, bands) = (MeterModCommand::Add, vec![band.clone()]);
        let body = Body::MeterMod(MeterMod { command, flags: 5, meter_id: 7, bands });
        let bytes = Message::new(1, body.clone()).to_bytes();
        let wanted = [
            [0xff, 0xff, 0, 24, 0, 0, 0x13, 0x88],
            [0, 0, 0, 13, 0x54, 0x45, 0x4e, 0x55],
            [0, 1, 0, 0, 0, 0, 0x05, 0xef],
        ];
        assert_eq!(bytes[16..], *wanted.as_flattened());
        assert_eq!(Message::parse(&bytes).map(|message| message.body), Ok(body));
        assert_eq!(band.as_exact_drop(), Some((5_000, 1_519)));
    }

    #[test]
    fn others_are_none() {
        let of = |experimenter, data: &[u8]| {
            let data = data.to_vec();
            MeterBand::Experimenter { rate: 1, burst_size: 1, experimenter, data }.as_exact_drop()
        };
        assert_eq!(of(EXPERIMENTER_ID, &[0, 1, 0, 0, 0, 0, 0, 9]), Some((1, 9)));
        assert_eq!(of(EXPERIMENTER_ID, &[0, 2, 0, 0, 0, 0, 0, 9]), None);
        assert_eq!(of(EXPERIMENTER_ID, &[0, 1, 0, 0, 0, 0, 9]), None);
        assert_eq!(of(7, &[0, 1, 0, 0, 0, 0, 0, 9]), None);
        assert_eq!(MeterBand::Drop { rate: 1, burst_size: 1 }.as_exact_drop(), None);
    }
}
