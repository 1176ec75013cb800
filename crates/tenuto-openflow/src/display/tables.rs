//! Groups and meters as text.

use super::syntax::{Actions, Join, PortNo};
use crate::constants::{group, meter, meter_flag, port};
use crate::exact_band::ExactDrop;
use crate::groups::{Bucket, GroupMod};
use crate::meters::{MeterBand, MeterMod};
use crate::multipart::{GroupDescription, MeterConfig};
use std::fmt::{self, Display, Formatter};

impl Display for Bucket {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("bucket=")?;
        if self.weight != 0 {
            write!(f, "weight:{},", self.weight)?;
        }
        if self.watch_port != port::ANY {
            write!(f, "watch_port:{},", PortNo(self.watch_port))?;
        }
        if self.watch_group != group::ANY {
            write!(f, "watch_group:{},", self.watch_group)?;
        }
        write!(f, "actions={}", Actions(&self.actions))
    }
}

impl Display for GroupMod {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} group_id=", self.command)?;
        match self.group_id {
            group::ALL => f.write_str("ALL")?,
            id => write!(f, "{id}")?,
        }
        write!(f, ",type={}", self.type_)?;
        self.buckets.iter().try_for_each(|bucket| write!(f, ",{bucket}"))
    }
}

impl Display for GroupDescription {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "group_id={},type={}", self.group_id, self.type_)?;
        self.buckets.iter().try_for_each(|bucket| write!(f, ",{bucket}"))
    }
}

impl Display for MeterBand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drop { rate, burst_size } => {
                write!(f, "type=drop rate={rate} burst_size={burst_size}")
            }
            Self::DscpRemark { rate, burst_size, prec_level } => write!(
                f,
                "type=dscp_remark rate={rate} burst_size={burst_size} prec_level={prec_level}"
            ),
            Self::Experimenter { rate, burst_size, experimenter, .. } => {
                write!(
                    f,
                    "type=experimenter rate={rate} burst_size={burst_size} experimenter=0x{experimenter:x}"
                )?;
                match self.as_exact_drop() {
                    Ok(Some(exact)) => {
                        let ExactDrop { rate_bps, burst_bytes } = exact;
                        write!(f, " rate_bps={rate_bps} burst_bytes={burst_bytes}")
                    }
                    _ => Ok(()),
                }
            }
            Self::Unknown { type_, rate, burst_size, .. } => {
                write!(f, "type={type_} rate={rate} burst_size={burst_size}")
            }
        }
    }
}

/// A meter as `ovs-ofctl` writes it.
fn write_meter(
    f: &mut Formatter<'_>,
    meter_id: u32,
    flags: u16,
    bands: &[MeterBand],
) -> fmt::Result {
    const NAMES: [(u16, &str); 4] = [
        (meter_flag::KBPS, "kbps"),
        (meter_flag::PKTPS, "pktps"),
        (meter_flag::BURST, "burst"),
        (meter_flag::STATS, "stats"),
    ];
    match meter_id {
        meter::ALL => f.write_str("meter=all")?,
        meter::CONTROLLER => f.write_str("meter=controller")?,
        meter::SLOWPATH => f.write_str("meter=slowpath")?,
        id => write!(f, "meter={id}")?,
    }
    for (flag, name) in NAMES {
        if flags & flag != 0 {
            write!(f, " {name}")?;
        }
    }
    if !bands.is_empty() {
        write!(f, " bands={}", Join(" ", bands.iter()))?;
    }
    Ok(())
}

impl Display for MeterMod {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.command)?;
        write_meter(f, self.meter_id, self.flags, &self.bands)
    }
}

impl Display for MeterConfig {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_meter(f, self.meter_id, self.flags, &self.bands)
    }
}
