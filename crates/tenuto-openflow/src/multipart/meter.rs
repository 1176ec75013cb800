//! Meters and their statistics (OpenFlow 1.3.5, sections 7.3.5.11 to 7.3.5.13).

use crate::error::{BadRequest, ErrorCode};
use crate::meters::MeterBand;
use crate::wire::{Reader, Writer};

/// Statistics of a meter (`ofp_meter_stats`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MeterStats {
    /// The meter.
    pub meter_id: u32,
    /// How many entries use it.
    pub flow_count: u32,
    /// Packets it saw.
    pub packet_in_count: u64,
    /// Bytes it saw.
    pub byte_in_count: u64,
    /// How long it has been there: seconds.
    pub duration_sec: u32,
    /// How long it has been there: nanoseconds beyond the seconds.
    pub duration_nsec: u32,
    /// Its bands, in order.
    pub bands: Vec<BandStats>,
}

/// Statistics of a band (`ofp_meter_band_stats`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BandStats {
    /// Packets it was applied to.
    pub packet_band_count: u64,
    /// Bytes it was applied to.
    pub byte_band_count: u64,
}

impl BandStats {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        Ok(Self { packet_band_count: r.u64()?, byte_band_count: r.u64()? })
    }
}

impl MeterStats {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let len = usize::from(r.peek_u16(4)?);
        let mut r = r.part(len, BadRequest::BadLen.into())?;
        let meter_id = r.u32()?;
        r.skip(8)?;
        Ok(Self {
            meter_id,
            flow_count: r.u32()?,
            packet_in_count: r.u64()?,
            byte_in_count: r.u64()?,
            duration_sec: r.u32()?,
            duration_nsec: r.u32()?,
            bands: r.list(BandStats::read)?,
        })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let start = w.position();
        w.u32(self.meter_id);
        w.zeros(8);
        w.u32(self.flow_count);
        w.u64(self.packet_in_count);
        w.u64(self.byte_in_count);
        w.u32(self.duration_sec);
        w.u32(self.duration_nsec);
        for band in &self.bands {
            w.u64(band.packet_band_count);
            w.u64(band.byte_band_count);
        }
        w.set_len(start + 4, start);
    }
}

/// A meter as it is (`ofp_meter_config`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MeterConfig {
    /// [`meter_flag`](crate::constants::meter_flag)
    pub flags: u16,
    /// The meter.
    pub meter_id: u32,
    /// Its bands.
    pub bands: Vec<MeterBand>,
}

impl MeterConfig {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let len = usize::from(r.peek_u16(0)?);
        let mut r = r.part(len, BadRequest::BadLen.into())?;
        r.skip(2)?;
        Ok(Self { flags: r.u16()?, meter_id: r.u32()?, bands: r.list(MeterBand::read)? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let start = w.position();
        w.zeros(2);
        w.u16(self.flags);
        w.u32(self.meter_id);
        self.bands.iter().for_each(|band| band.write(w));
        w.set_len(start, start);
    }
}

/// What meters a switch can have (`ofp_meter_features`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MeterFeatures {
    /// How many meters.
    pub max_meter: u32,
    /// Bit *n* set: band type *n* is supported.
    pub band_types: u32,
    /// [`meter_flag`](crate::constants::meter_flag)
    pub capabilities: u32,
    /// How many bands in a meter.
    pub max_bands: u8,
    /// The largest colour value.
    pub max_color: u8,
}

impl MeterFeatures {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (max_meter, band_types, capabilities) = (r.u32()?, r.u32()?, r.u32()?);
        let (max_bands, max_color) = (r.u8()?, r.u8()?);
        r.skip(2)?;
        Ok(Self { max_meter, band_types, capabilities, max_bands, max_color })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u32(self.max_meter);
        w.u32(self.band_types);
        w.u32(self.capabilities);
        w.u8(self.max_bands);
        w.u8(self.max_color);
        w.zeros(2);
    }
}
