//! REsPoNse: always-on ways while the load is low, on-demand ways while it is not (\[Attendre\]
//! section VI.C).

use super::answer::Answer;
use super::app::ReactiveApp;
use super::entry::entry;
use super::packet::Packet;
use super::way::{Hop, install, rest_from};
use std::collections::{BTreeMap, BTreeSet};
use tenuto_openflow::{FlowMod, Port, PortStats, RequestBody};
use tenuto_units::Span;

const POLL: &str = "poll";

/// When a port counts as loaded. The gap between the rates keeps ways from changing to and fro.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoadLimits {
    /// From this rate on a port is loaded, bit/s.
    pub loaded_from_bps: u64,
    /// From this rate down it is not any more, bit/s.
    pub free_until_bps: u64,
    /// How often switches are asked.
    pub poll: Span,
}

/// The two ways to a destination from one place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ways {
    always_on: Vec<Hop>,
    on_demand: Vec<Hop>,
}

/// Counters of a port when it was last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Reading {
    alive_ns: u64,
    sent_bytes: u64,
}

/// Chooses a way for each new flow by the port statistics of the always-on way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TrafficEngineering {
    limits: LoadLimits,
    idle_s: u16,
    ways: BTreeMap<[u8; 6], Vec<Ways>>,
    readings: BTreeMap<Hop, Reading>,
    loaded: BTreeSet<Hop>,
}

impl TrafficEngineering {
    /// No ways yet: every packet is dropped. Entries go after `idle_s` without a packet, so that
    /// flows are placed anew; 0 for never.
    pub const fn new(limits: LoadLimits, idle_s: u16) -> Self {
        Self {
            limits,
            idle_s,
            ways: BTreeMap::new(),
            readings: BTreeMap::new(),
            loaded: BTreeSet::new(),
        }
    }

    /// Adds ways to a destination, used from any switch on them.
    #[must_use]
    pub fn with_ways(mut self, dst: [u8; 6], always_on: Vec<Hop>, on_demand: Vec<Hop>) -> Self {
        self.ways.entry(dst).or_default().push(Ways { always_on, on_demand });
        self
    }

    /// Ports of always-on ways that are loaded.
    pub fn loaded(&self) -> impl Iterator<Item = &Hop> {
        self.loaded.iter()
    }

    fn is_watched(&self, hop: Hop) -> bool {
        self.ways.values().flatten().any(|ways| ways.always_on.contains(&hop))
    }

    fn chosen(&self, datapath: u64, dst: [u8; 6]) -> Option<&[Hop]> {
        self.ways.get(&dst)?.iter().find_map(|ways| {
            let always_on = rest_from(&ways.always_on, datapath);
            let on_demand = rest_from(&ways.on_demand, datapath);
            let is_free = |hops: &&[Hop]| !hops.iter().any(|hop| self.loaded.contains(hop));
            // A switch that is on one of them only has no choice.
            always_on.filter(is_free).or(on_demand).or(always_on)
        })
    }

    fn read(&mut self, hop: Hop, stats: &PortStats) {
        let alive_ns =
            u64::from(stats.duration_sec) * 1_000_000_000 + u64::from(stats.duration_nsec);
        let new = Reading { alive_ns, sent_bytes: stats.tx_bytes };
        let Some(old) = self.readings.insert(hop, new) else { return };
        // By the clock of the switch: a reply that comes late changes nothing. Counters of a port that
        // was made anew begin again.
        let (Some(ns @ 1..), Some(bytes)) =
            (new.alive_ns.checked_sub(old.alive_ns), new.sent_bytes.checked_sub(old.sent_bytes))
        else {
            return;
        };
        let bps = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(ns);
        if bps >= u128::from(self.limits.loaded_from_bps) {
            self.loaded.insert(hop);
        } else if bps <= u128::from(self.limits.free_until_bps) {
            self.loaded.remove(&hop);
        }
    }
}

impl ReactiveApp for TrafficEngineering {
    fn switch_up(&mut self, datapath: u64, _: &[Port], answer: &mut Answer) {
        self.readings.retain(|hop, _| hop.datapath != datapath);
        self.loaded.retain(|hop| hop.datapath != datapath);
        answer.start_timer(POLL, self.limits.poll);
    }

    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        if let Some(hops) = self.chosen(datapath, packet.dst) {
            let way = entry(packet.addresses(), Vec::new());
            install(hops, &FlowMod { idle_timeout: self.idle_s, ..way }, packet, answer);
        }
    }

    fn port_stats(&mut self, datapath: u64, stats: &[PortStats], answer: &mut Answer) {
        for one in stats {
            let hop = Hop { datapath, port: one.port_no };
            if !self.is_watched(hop) {
                continue;
            }
            let before = self.loaded.contains(&hop);
            self.read(hop, one);
            match (before, self.loaded.contains(&hop)) {
                (false, true) => answer.note(format!("port {} of {datapath} is loaded", hop.port)),
                (true, false) => answer.note(format!("port {} of {datapath} is free", hop.port)),
                _ => {}
            }
        }
    }

    fn timer(&mut self, _: &str, answer: &mut Answer) {
        let watched: BTreeSet<Hop> =
            self.ways.values().flatten().flat_map(|ways| ways.always_on.iter().copied()).collect();
        for Hop { datapath, port } in watched {
            answer.ask(datapath, RequestBody::PortStats { port_no: port });
        }
        answer.start_timer(POLL, self.limits.poll);
    }
}
