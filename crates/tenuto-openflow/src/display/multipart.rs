//! Multipart messages as text.

use super::flow::{Seconds, TableId, write_entry, write_filters, write_flow_flags, write_timeouts};
use super::syntax::{Instructions, Join, PortNo, Spaced};
use crate::constants::{group, meter, queue};
use crate::multipart::{
    FlowStats, FlowStatsRequest, MultipartReply, MultipartRequest, ReplyBody, RequestBody,
};
use std::fmt::{self, Display, Formatter};

/// An id, or the word for all of them if it is the given one.
struct All(u32, u32);

impl Display for All {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 == self.1 { f.write_str("ALL") } else { self.0.fmt(f) }
    }
}

impl Display for MultipartRequest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.body, if self.has_more() { " (more)" } else { "" })
    }
}

impl Display for RequestBody {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Desc => f.write_str("DESC"),
            Self::Flow(request) => write!(f, "FLOW {request}"),
            Self::Aggregate(request) => write!(f, "AGGREGATE {request}"),
            Self::Table => f.write_str("TABLE"),
            Self::PortStats { port_no } => write!(f, "PORT_STATS port={}", PortNo(*port_no)),
            Self::Queue { port_no, queue_id } => {
                write!(f, "QUEUE port={} queue={}", PortNo(*port_no), All(*queue_id, queue::ALL))
            }
            Self::Group { group_id } => write!(f, "GROUP group_id={}", All(*group_id, group::ALL)),
            Self::GroupDesc => f.write_str("GROUP_DESC"),
            Self::GroupFeatures => f.write_str("GROUP_FEATURES"),
            Self::Meter { meter_id } => write!(f, "METER meter={}", All(*meter_id, meter::ALL)),
            Self::MeterConfig { meter_id } => {
                write!(f, "METER_CONFIG meter={}", All(*meter_id, meter::ALL))
            }
            Self::MeterFeatures => f.write_str("METER_FEATURES"),
            Self::TableFeatures(list) => write!(f, "TABLE_FEATURES {} tables", list.len()),
            Self::PortDescription => f.write_str("PORT_DESC"),
            Self::Experimenter { experimenter, exp_type, data } => {
                write!(f, "EXPERIMENTER id=0x{experimenter:x} type={exp_type} {} bytes", data.len())
            }
            Self::Unknown { type_, data } => write!(f, "type={type_} {} bytes", data.len()),
        }
    }
}

impl Display for FlowStatsRequest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "table={}{}", TableId(self.table_id), Spaced(&self.match_))?;
        if self.cookie_mask != 0 {
            write!(f, " cookie=0x{:x}/0x{:x}", self.cookie, self.cookie_mask)?;
        }
        write_filters(f, self.out_port, self.out_group)
    }
}

impl Display for FlowStats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let duration = Seconds(self.duration_sec, self.duration_nsec);
        write!(f, "cookie=0x{:x}, duration={duration}, table={}, ", self.cookie, self.table_id)?;
        write!(f, "n_packets={}, n_bytes={}, ", self.packet_count, self.byte_count)?;
        write_timeouts(f, self.idle_timeout, self.hard_timeout)?;
        write_flow_flags(f, self.flags)?;
        write_entry(f, self.priority, &self.match_)?;
        write!(f, " actions={}", Instructions(&self.instructions))
    }
}

impl Display for MultipartReply {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.body, if self.has_more() { " (more)" } else { "" })
    }
}

impl Display for ReplyBody {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Desc(desc) => write!(
                f,
                "DESC mfr={} hw={} sw={} serial={} dp={}",
                desc.mfr_desc, desc.hw_desc, desc.sw_desc, desc.serial_num, desc.dp_desc
            ),
            Self::Flow(list) => write!(f, "FLOW [{}]", Join("; ", list.iter())),
            Self::Aggregate(sum) => write!(
                f,
                "AGGREGATE packet_count={} byte_count={} flow_count={}",
                sum.packet_count, sum.byte_count, sum.flow_count
            ),
            Self::Table(list) => write!(f, "TABLE {} tables", list.len()),
            Self::PortStats(list) => write!(f, "PORT_STATS {} ports", list.len()),
            Self::Queue(list) => write!(f, "QUEUE {} queues", list.len()),
            Self::Group(list) => write!(f, "GROUP {} groups", list.len()),
            Self::GroupDesc(list) => write!(f, "GROUP_DESC [{}]", Join("; ", list.iter())),
            Self::GroupFeatures(features) => {
                write!(f, "GROUP_FEATURES types=0x{:x}", features.types)
            }
            Self::Meter(list) => write!(f, "METER {} meters", list.len()),
            Self::MeterConfig(list) => write!(f, "METER_CONFIG [{}]", Join("; ", list.iter())),
            Self::MeterFeatures(features) => write!(
                f,
                "METER_FEATURES max_meter={} max_bands={} band_types=0x{:x} capabilities=0x{:x}",
                features.max_meter, features.max_bands, features.band_types, features.capabilities
            ),
            Self::TableFeatures(list) => write!(f, "TABLE_FEATURES {} tables", list.len()),
            Self::PortDescription(list) => write!(f, "PORT_DESC [{}]", Join("; ", list.iter())),
            Self::Experimenter { experimenter, exp_type, data } => {
                write!(f, "EXPERIMENTER id=0x{experimenter:x} type={exp_type} {} bytes", data.len())
            }
            Self::Unknown { type_, data } => write!(f, "type={type_} {} bytes", data.len()),
        }
    }
}
