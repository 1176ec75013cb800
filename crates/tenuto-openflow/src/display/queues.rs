//! Queues, table-mods and asynchronous configuration as text.

use super::flow::TableId;
use super::syntax::{Join, PortNo};
use crate::async_config::AsyncConfig;
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
