//! What switches say that they can hold, against what the plan has for them.
//!
//! Switches of others have limits of their own, and OpenFlow 1.3 tells of them: tables, meters, groups by multipart features,
//! queues by their configuration. It cannot configure queues: what is missing there is for the switch's own tool.

use std::collections::{BTreeMap, BTreeSet};
use tenuto_model::SwitchDeployment;
use tenuto_openflow::{QueueConfig, ReplyBody};

/// What one switch has told; what it has not told is not held against the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SwitchLimits {
    /// Entries that a table takes.
    entries: BTreeMap<u8, u32>,
    meters: Option<u32>,
    /// Groups of type *all*, the first of four.
    groups: Option<u32>,
    /// Queues by port, once they were told.
    queues: Option<BTreeMap<u32, BTreeSet<u32>>>,
}

impl SwitchLimits {
    /// Takes an answer, or a part of one; whether it was about limits.
    pub(crate) fn take(&mut self, body: &ReplyBody) -> bool {
        match body {
            ReplyBody::TableFeatures(tables) => {
                self.entries.extend(tables.iter().map(|it| (it.table_id, it.max_entries)));
            }
            ReplyBody::MeterFeatures(it) => self.meters = Some(it.max_meter),
            ReplyBody::GroupFeatures(it) => {
                self.groups = it.max_groups.first().copied();
            }
            _ => return false,
        }
        true
    }

    /// Takes the queues of all ports.
    pub(crate) fn take_queues(&mut self, config: &QueueConfig) {
        let queues = self.queues.get_or_insert_default();
        queues.clear();
        for queue in &config.queues {
            queues.entry(queue.port).or_default().insert(queue.queue_id);
        }
    }

    /// What the switch says that it cannot hold of this.
    pub(crate) fn too_small_for(&self, wanted: &SwitchDeployment) -> Vec<String> {
        let mut all = Vec::new();
        let mut hold = |what: String, wanted: usize, most: Option<u32>| {
            if let Some(most) = most.filter(|most| wanted as u64 > u64::from(*most)) {
                all.push(format!("{what}: the plan has {wanted}, the switch says {most} at most"));
            }
        };
        let tables: BTreeSet<u8> = wanted.entries.iter().map(|it| it.table).collect();
        for table in tables {
            let count = wanted.entries.iter().filter(|it| it.table == table).count();
            hold(format!("entries of table {table}"), count, self.entries.get(&table).copied());
        }
        hold("meters".to_owned(), wanted.meters.len(), self.meters);
        hold("groups".to_owned(), wanted.groups.len(), self.groups);
        all
    }

    /// The ports at which the plan tells classes apart and the switch has not the queues for it.
    pub(crate) fn without_queues(&self, wanted: &SwitchDeployment) -> Vec<String> {
        let Some(known) = &self.queues else { return Vec::new() };
        let several = wanted.ports.iter().filter(|port| port.queues > 1);
        let one = |port: &tenuto_model::PortDeployment| {
            let own = known.get(&port.port);
            let has = |queue: &u32| own.is_some_and(|own| own.contains(queue));
            let missing: Vec<String> = (0..u32::from(port.queues))
                .filter(|queue| !has(queue))
                .map(|queue| queue.to_string())
                .collect();
            (!missing.is_empty()).then(|| {
                format!("port {} to {}: no queue {}", port.port, port.peer, missing.join(", "))
            })
        };
        several.filter_map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_model::{PortDeployment, PortRole};
    use tenuto_openflow::{MeterFeatures, PacketQueue};

    fn wanted() -> SwitchDeployment {
        let port = |port, queues| PortDeployment {
            port,
            role: PortRole::Host,
            peer: format!("h{port}"),
            peer_port: 1,
            rate_bps: 100_000_000,
            queues,
            buffer_bytes: None,
        };
        let meter =
            |id| tenuto_model::MeterSpec { id, flow: None, rate_bps: 1_000, burst_bytes: 125 };
        SwitchDeployment {
            ports: vec![port(1, 1), port(2, 3)],
            meters: vec![meter(1), meter(2)],
            ..SwitchDeployment::default()
        }
    }

    #[test]
    fn what_a_switch_does_not_tell_is_not_held_against_the_plan() {
        let limits = SwitchLimits::default();
        assert_eq!(limits.too_small_for(&wanted()), Vec::<String>::new());
        assert_eq!(limits.without_queues(&wanted()), Vec::<String>::new());
    }

    #[test]
    fn fewer_meters_and_missing_queues_are_named() {
        let mut limits = SwitchLimits::default();
        let features = |max_meter| {
            ReplyBody::MeterFeatures(MeterFeatures {
                max_meter,
                band_types: 2,
                capabilities: 0,
                max_bands: 1,
                max_color: 0,
            })
        };
        assert!(limits.take(&features(1)) && !limits.take(&ReplyBody::PortStats(Vec::new())));
        let told = limits.too_small_for(&wanted());
        assert_eq!(told, ["meters: the plan has 2, the switch says 1 at most"]);
        limits.take(&features(2));
        assert_eq!(limits.too_small_for(&wanted()), Vec::<String>::new());
        let queue = |port, queue_id| PacketQueue { queue_id, port, properties: Vec::new() };
        limits.take_queues(&QueueConfig { port: u32::MAX, queues: vec![queue(2, 1)] });
        assert_eq!(limits.without_queues(&wanted()), ["port 2 to h2: no queue 0, 2"]);
        let queues = (0..3).map(|it| queue(2, it)).collect();
        limits.take_queues(&QueueConfig { port: u32::MAX, queues });
        assert_eq!(limits.without_queues(&wanted()), Vec::<String>::new());
    }
}
