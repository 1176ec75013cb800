//! Meters (OpenFlow 1.3.5, section 7.3.4.5).

use crate::constants::meter_band_type as band;
use crate::error::{BadRequest, ErrorCode, MeterModFailed};
use crate::wire::{Reader, Writer, closed_enum};

closed_enum! {
    /// What a meter-mod does (`enum ofp_meter_mod_command`).
    MeterModCommand: u16 {
        /// Add a meter (`OFPMC_ADD`).
        Add = 0 "ADD",
        /// Modify a meter (`OFPMC_MODIFY`).
        Modify = 1 "MOD",
        /// Delete a meter, or all of them (`OFPMC_DELETE`).
        Delete = 2 "DEL",
    }
}

/// What a meter does with the packets above a rate (`ofp_meter_band_header`).
///
/// Rates are in kbit/s or packets/s, burst sizes in kbit or packets, as the flags of the meter say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MeterBand {
    /// Drop them.
    Drop {
        /// The rate.
        rate: u32,
        /// The burst size.
        burst_size: u32,
    },
    /// Raise the drop precedence of their DSCP field.
    DscpRemark {
        /// The rate.
        rate: u32,
        /// The burst size.
        burst_size: u32,
        /// By how many steps.
        prec_level: u8,
    },
    /// As an experimenter defines.
    Experimenter {
        /// The rate.
        rate: u32,
        /// The burst size.
        burst_size: u32,
        /// The experimenter id.
        experimenter: u32,
        /// What follows.
        data: Vec<u8>,
    },
    /// Any other band.
    Unknown {
        /// Its type (`OFPMBT_*`).
        type_: u16,
        /// The rate.
        rate: u32,
        /// The burst size.
        burst_size: u32,
        /// What follows the burst size.
        data: Vec<u8>,
    },
}

impl MeterBand {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let len = usize::from(r.peek_u16(2)?);
        let mut body = r.part(len, BadRequest::BadLen.into())?;
        let type_ = body.u16()?;
        body.skip(2)?;
        let (rate, burst_size) = (body.u32()?, body.u32()?);
        let band = match type_ {
            band::DROP => {
                body.skip(4)?;
                Self::Drop { rate, burst_size }
            }
            band::DSCP_REMARK => {
                let prec_level = body.u8()?;
                body.skip(3)?;
                Self::DscpRemark { rate, burst_size, prec_level }
            }
            band::EXPERIMENTER => {
                let (experimenter, data) = (body.u32()?, body.rest().to_vec());
                Self::Experimenter { rate, burst_size, experimenter, data }
            }
            _ => Self::Unknown { type_, rate, burst_size, data: body.rest().to_vec() },
        };
        body.finish()?;
        Ok(band)
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let (type_, rate, burst_size) = self.header();
        w.tlv(type_, |w| {
            w.u32(rate);
            w.u32(burst_size);
            match self {
                Self::Drop { .. } => w.zeros(4),
                Self::DscpRemark { prec_level, .. } => {
                    w.u8(*prec_level);
                    w.zeros(3);
                }
                Self::Experimenter { experimenter, data, .. } => {
                    w.u32(*experimenter);
                    w.bytes(data);
                }
                Self::Unknown { data, .. } => w.bytes(data),
            }
        });
    }

    const fn header(&self) -> (u16, u32, u32) {
        match self {
            Self::Drop { rate, burst_size } => (band::DROP, *rate, *burst_size),
            Self::DscpRemark { rate, burst_size, .. } => (band::DSCP_REMARK, *rate, *burst_size),
            Self::Experimenter { rate, burst_size, .. } => (band::EXPERIMENTER, *rate, *burst_size),
            Self::Unknown { type_, rate, burst_size, .. } => (*type_, *rate, *burst_size),
        }
    }
}

/// A change of the meter table (`ofp_meter_mod`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MeterMod {
    /// What to do.
    pub command: MeterModCommand,
    /// [`meter_flag`](crate::constants::meter_flag)
    pub flags: u16,
    /// The meter.
    pub meter_id: u32,
    /// Its bands; none in deletion.
    pub bands: Vec<MeterBand>,
}

impl MeterMod {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (command, flags, meter_id) = (r.u16()?, r.u16()?, r.u32()?);
        let command = MeterModCommand::from_wire(command).ok_or(MeterModFailed::BadCommand)?;
        Ok(Self { command, flags, meter_id, bands: r.list(MeterBand::read)? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u16(self.command.to_wire());
        w.u16(self.flags);
        w.u32(self.meter_id);
        self.bands.iter().for_each(|band| band.write(w));
    }
}
