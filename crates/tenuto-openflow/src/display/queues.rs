//! Queues, table-mods and asynchronous configuration as text.

use super::flow::TableId;
use super::syntax::{Join, PortNo};
use crate::EXPERIMENTER_ID;
use crate::async_config::AsyncConfig;
use crate::queue_messages::{DelayRange, QueueDetail, QueueShare, QueuesMessage};
use crate::queues::{PacketQueue, QueueConfig, QueueProperty};
use crate::session::TableMod;
use crate::wire::Hex;
use std::fmt::{self, Display, Formatter};

impl Display for TableMod {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "table_id={} config=0x{:x}", TableId(self.table_id), self.config)
    }
}

impl Display for QueueConfig {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "port={} [{}]", PortNo(self.port), Join("; ", self.queues.iter()))
    }
}

impl Display for PacketQueue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "queue={}", self.queue_id)?;
        self.properties.iter().try_for_each(|property| write!(f, " {property}"))
    }
}

impl Display for QueueProperty {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::MinRate(rate) => write!(f, "min_rate={rate}"),
            Self::MaxRate(rate) => write!(f, "max_rate={rate}"),
            Self::Experimenter { experimenter: EXPERIMENTER_ID, data: ours } if ours.len() == 8 => {
                write!(f, "level={} weight={}", ours[0], ours[1])
            }
            Self::Experimenter { experimenter, data } => {
                write!(f, "experimenter[id=0x{experimenter:08x},{}]", Hex(data))
            }
            Self::Unknown { property, data } => {
                write!(f, "property[type={property},{}]", Hex(data))
            }
        }
    }
}

impl Display for AsyncConfig {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (role, place) in [("master", 0), ("slave", 1)] {
            let (before, packet_in) =
                (if place == 0 { "" } else { " " }, self.packet_in_mask[place]);
            write!(f, "{before}{role}: packet_in=0x{packet_in:x}")?;
            write!(f, " port_status=0x{:x}", self.port_status_mask[place])?;
            write!(f, " flow_removed=0x{:x}", self.flow_removed_mask[place])?;
        }
        Ok(())
    }
}

impl Display for QueuesMessage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::QueueMod { port, shares } => {
                write!(f, "QUEUE_MOD port={} [{}]", PortNo(*port), Join("; ", shares.iter()))
            }
            Self::DetailRequest { port, queue } => {
                write!(f, "QUEUE_DETAIL_REQUEST port={} queue={queue}", PortNo(*port))
            }
            Self::DetailReply { more, queues } => {
                let more = if *more { " (more)" } else { "" };
                write!(f, "QUEUE_DETAIL_REPLY [{}]{more}", Join("; ", queues.iter()))
            }
        }
    }
}

impl Display for QueueShare {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "queue={} level={} weight={}", self.queue, self.level, self.weight)
    }
}

impl Display for QueueDetail {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "port={} {}", PortNo(self.port), self.share)?;
        write!(f, " waiting={}/{} frames", self.frames, self.frames_max)?;
        write!(f, " {}/{} wire_bytes", self.wire_bytes, self.wire_bytes_max)?;
        write!(f, " delay_ns_max={}", self.delay_ns_max)?;
        match self.delays.is_empty() {
            true => Ok(()),
            false => write!(f, " delays_ns={}", Join(",", self.delays.iter())),
        }
    }
}

impl Display for DelayRange {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}:{}", self.from_ns, self.below_ns, self.frames)
    }
}
