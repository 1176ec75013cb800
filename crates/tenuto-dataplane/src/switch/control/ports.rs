//! Ports, queues and tables as a controller configures them.

use super::Done;
use crate::switch::{Switch, SwitchEvent};
use crate::{Effects, Share};
use tenuto_openflow::constants::{OFP_MESSAGE_LEN_MAX, port, port_config, table};
use tenuto_openflow::{
    ErrorCode, PacketQueue, PortMod, PortModFailed, QueueConfig, QueueOpFailed, QueueShare,
    TableMod, TableModFailed,
};

/// Bits of a port's configuration that can be changed.
const PORT_BITS: u32 =
    port_config::PORT_DOWN | port_config::NO_RECV | port_config::NO_FWD | port_config::NO_PACKET_IN;
/// The bits of OpenFlow 1.2 that 1.3 keeps without meaning (`OFPTC_DEPRECATED_MASK`).
const TABLE_BITS: u32 = 3;

/// What fits a message, and what a queue takes there without and with our property.
const QUEUES_LEN_MAX: usize = OFP_MESSAGE_LEN_MAX - 16;
const QUEUE_LEN: usize = 16;
const PROPERTY_LEN: usize = 24;

impl Switch {
    pub(super) fn port_mod(&mut self, port_mod: &PortMod, fx: &mut Effects<SwitchEvent>) -> Done {
        let place = self.port_index.get(&port_mod.port_no).copied();
        let place = place.ok_or(PortModFailed::BadPort)?;
        if port_mod.hw_addr != self.port_address(place) {
            return Err(PortModFailed::BadHwAddr.into());
        }
        if port_mod.mask & !PORT_BITS != 0 {
            return Err(PortModFailed::BadConfig.into());
        }
        // It advertises nothing that could be changed.
        if port_mod.advertise != 0 {
            return Err(PortModFailed::BadAdvertise.into());
        }
        let config = &mut self.ports[place].config;
        let changed = *config & !port_mod.mask | port_mod.config & port_mod.mask;
        if changed != *config {
            *config = changed;
            self.forget_choices();
            self.tell_port(place, fx);
        }
        Ok(())
    }

    pub(super) fn table_mod(&self, table_mod: TableMod) -> Done {
        if table_mod.table_id != table::ALL && !self.has_table(table_mod.table_id) {
            return Err(TableModFailed::BadTable.into());
        }
        match table_mod.config & !TABLE_BITS {
            0 => Ok(()),
            _ => Err(TableModFailed::BadConfig.into()),
        }
    }

    /// No queue has a rate of its own. Where some share a level, each tells of its level and weight.
    pub(super) fn queue_config(&self, number: u32) -> Result<QueueConfig, ErrorCode> {
        if number != port::ANY && !self.port_index.contains_key(&number) {
            return Err(QueueOpFailed::BadPort.into());
        }
        let wanted = self.ports.iter().filter(|p| number == port::ANY || p.number == number);
        let queues: Vec<_> = wanted
            .flat_map(|state| {
                let port = state.number;
                let is_strict = state.egress.is_strict();
                (0..).zip(state.egress.shares()).map(move |(queue_id, Share { level, weight })| {
                    let share = QueueShare { queue: queue_id, level, weight };
                    let properties = if is_strict { vec![] } else { vec![share.property()] };
                    PacketQueue { queue_id, port, properties }
                })
            })
            .collect();
        let len = |queue: &PacketQueue| QUEUE_LEN + queue.properties.len() * PROPERTY_LEN;
        // This reply cannot be split: who has more asks port by port.
        match queues.iter().map(len).sum::<usize>() > QUEUES_LEN_MAX {
            true => Err(QueueOpFailed::Eperm.into()),
            false => Ok(QueueConfig { port: number, queues }),
        }
    }
}
