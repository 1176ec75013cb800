//! The switch: pipeline, meters, monitors, shadow tables, mode agent and OpenFlow channel.
//!
//! Life of a frame: [`Switch::receive`] reads its key, runs the tables (watch, admit, forward),
//! asks monitors and meters by its arrival stamp, and queues a handle per output;
//! [`Switch::fire`] hands frames over as their slots end. A violation changes the mode inside the
//! very call that sees it, so the violating frame itself already goes by the new tables.

mod actions;
mod attendre;
mod classifier;
mod config;
mod control;
mod events;
mod general;
mod identity;
mod meter;
mod mode;
mod monitor;
mod outputs;
mod path_cache;
mod pipeline;
mod policy;
mod port;
mod slices;
mod tables;
mod token_bucket;
mod trace;

pub use actions::packet::{BehindExtensions, Edit, FieldValue};
pub use attendre::AttendreMutant;
pub use classifier::hash_key::HashKey;
pub use classifier::index_work::{ChangeWork, LookUpWork};
pub use classifier::key::{PacketKey, Pattern};
pub use classifier::table::{ClassifierKind, Entries, Table, WordHasher};
pub use config::{AttendreLimits, FailMode, GeneralConfig, PortConfig, PortRole, SwitchConfig};
pub use control::connection::{ConnectionId, ConnectionRefused};
pub use events::SwitchEvent;
pub use meter::{BandEffect, BandState, Bands, MeterState};
pub use mode::{
    LEVELS_MAX, MEMBERS_MAX, ModeAction, ModeAgent, ModeConfig, Mutant, PURGE_STEP_FRAMES,
    repeat_period,
};
pub use monitor::{LevelContract, MonitorKind, MonitorState, Observation};
pub use path_cache::burst::Burst;
pub use port::features::PortFeatures;
pub use port::{DeviceLosses, PortCounters};
pub use slices::budget::MessageBudget;
pub use slices::datapath::Datapath;
pub use slices::guard::{SliceConfig, SliceCounters, SliceMessages};
pub use slices::proxy::{ProxyEffects, ProxyEvent, ProxyPeer, ProxyRefused, SliceProxy};
pub use slices::sliced::{OPERATOR, Overlap, SliceSetup, SlicedSwitch};
pub use slices::traffic::{Ipv4Network, SliceTraffic, VlanSet};
pub use tables::entry::{ActionStep, Behaviour, Entry};
pub use tables::{EntryAge, EntryCounter, Removed, Scope, TableState, Tables, TablesFull};
pub use token_bucket::Meter;
pub use trace::TraceStep;

use crate::{DropReason, Dropped, Effects, Egress, FrameId, Frames, TimerId, Work};
use actions::group::{GroupState, Groups};
use control::connection::Connection;
use general::General;
use mode::swapped::Purging;
use policy::Policy;
use port::index::PortIndex;
use port::{PortState, report};
use std::borrow::Cow;
use std::sync::Arc;
use tenuto_units::Instant;
use tenuto_wire::frame_bytes;

/// A switch. Owns no socket and no clock.
#[derive(Clone, Debug)]
pub struct Switch {
    config: Arc<SwitchConfig>,
    policy: Policy,
    tables: Tables,
    groups: Arc<Groups>,
    ports: Vec<PortState>,
    port_index: Arc<PortIndex>,
    agent: Option<ModeAgent>,
    level: u8,
    admitted: u8,
    connections: Vec<Connection>,
    /// The highest generation of masters seen.
    generation: Option<u64>,
    general: Option<Box<General>>,
    raises: u64,
    returns: u64,
    purged: u64,
    purging: Purging,
    mode_actions: Vec<ModeAction>,
    #[cfg(feature = "mutants")]
    mutant: Mutant,
    /// What a dry run has noted; `None` in any other.
    trace: Option<Vec<TraceStep>>,
}

impl Switch {
    /// A switch without entries: it drops everything.
    pub fn new(config: Arc<SwitchConfig>) -> Self {
        let port = |port| PortState::new(port, config.boot_seed);
        let mut ports: Vec<PortState> = config.ports.iter().map(port).collect();
        let general = config.general.as_ref();
        let general = general.map(|it| General::new(it, ports.len(), config.hash_key.clone()));
        // Buffers of planned switches hold all that is promised at once.
        if let Some(general) = config.general.as_ref() {
            for port in &mut ports {
                port.egress.let_lower_levels_give_way();
                port.egress.count_at_least(general.frame_bits_least);
            }
        }
        let policy = Policy::new(config.general.as_ref(), ports.len());
        let index = ports.iter().enumerate().map(|(place, p)| (p.number, place)).collect();
        Self {
            policy,
            tables: Tables::new(config.clone()),
            groups: Arc::default(),
            port_index: Arc::new(index),
            ports,
            agent: None,
            level: 0,
            admitted: 0,
            connections: Vec::new(),
            generation: None,
            general: general.map(Box::new),
            raises: 0,
            returns: 0,
            purged: 0,
            purging: Purging::default(),
            mode_actions: Vec::new(),
            #[cfg(feature = "mutants")]
            mutant: Mutant::None,
            trace: None,
            config,
        }
    }

    /// Visits every armed timer.
    pub fn for_each_deadline(&self, mut visit: impl FnMut(TimerId, Instant)) {
        for port in &self.ports {
            if let Some(at) = port.egress.deadline() {
                visit(TimerId::PortReady(port.number), at);
            }
        }
        self.for_each_beside_ports(visit);
    }

    /// The same but for ports.
    #[inline]
    fn for_each_beside_ports(&self, mut visit: impl FnMut(TimerId, Instant)) {
        if let Some(at) = self.agent.as_ref().and_then(ModeAgent::deadline) {
            visit(TimerId::Mode, at);
        }
        if let Some(at) = self.general.as_ref().and_then(|general| general.expiry.deadline()) {
            visit(TimerId::FlowExpiry, at);
        }
        if let Some(attendre) = self.attendre() {
            attendre.for_each_deadline(|place, at| visit(TimerId::Buffer(place), at));
        }
    }

    /// The earliest armed timer.
    #[inline]
    pub fn next_deadline(&self) -> Option<(TimerId, Instant)> {
        let (mut timer, mut first) = (None, Instant::MAX);
        self.for_each_deadline(|other, at| {
            if timer.is_none() || at < first {
                (timer, first) = (Some(other), at);
            }
        });
        timer.map(|timer| (timer, first))
    }

    /// The earliest armed timer that is none of a port.
    fn next_beside_ports(&self) -> Option<(TimerId, Instant)> {
        let mut first: Option<(TimerId, Instant)> = None;
        self.for_each_beside_ports(|timer, at| {
            if first.is_none_or(|(_, earliest)| at < earliest) {
                first = Some((timer, at));
            }
        });
        first
    }

    /// A timer's time has come. Firing one that is not due does nothing.
    pub fn fire(
        &mut self,
        timer: TimerId,
        now: Instant,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        match timer {
            TimerId::PortReady(port) => {
                if let Some(&place) = self.port_index.get(&port)
                    && let Some(sent) = self.ports[place].egress.hand_over(port, now)
                {
                    fx.transmits.push(sent);
                }
            }
            TimerId::Mode => {
                if let Some(agent) = &mut self.agent
                    && agent.deadline().is_some_and(|at| at <= now)
                {
                    agent.fire(now, &mut self.mode_actions);
                    self.carry_out(now, None, frames, fx);
                }
            }
            TimerId::FlowExpiry => self.expire(now, fx),
            TimerId::Buffer(place) => self.fire_buffer(now, place, frames, fx),
            _ => {}
        }
    }

    /// Fires every timer that is due by `now`, the earliest first; ports do not wait for each other. Of a purge this is one step.
    pub fn fire_due(
        &mut self,
        now: Instant,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        if self.is_purging() {
            self.purge_some(frames, fx);
        }
        loop {
            let other = self.next_beside_ports();
            let until = other.map_or(now, |(_, at)| at.min(now));
            self.fire_ports(until, fx);
            match other {
                Some((timer, at)) if at <= now => self.fire(timer, now, frames, fx),
                _ => return,
            }
        }
    }

    /// Every frame whose slot at its port has ended by `now` is handed over: as if each such timer
    /// was fired, port by port.
    fn fire_ports(&mut self, now: Instant, fx: &mut Effects<SwitchEvent>) {
        for port in &mut self.ports {
            port.egress.hand_over_due(port.number, now, &mut fx.transmits);
        }
    }

    /// A frame enters. Takes over the hold on it.
    ///
    /// `arrival` ≤ `now` is when its last bit arrived, non-decreasing per port.
    pub fn receive(
        &mut self,
        now: Instant,
        arrival: Instant,
        port: u32,
        frame: FrameId,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let Some(&place) = self.port_index.get(&port) else {
            let bytes = frame_bytes(frames.bytes(frame).len());
            let reason = DropReason::Unknown;
            fx.drops.push(Dropped { reason, port, cookie: 0, message: None, frame_bytes: bytes });
            frames.release(frame);
            return Work { bytes, ..Work::default() };
        };
        self.process(now, arrival, place, frame, frames, fx)
    }

    /// Forwarding level, admitted level and epoch in force.
    pub fn mode(&self) -> (u8, u8, u64) {
        (self.level, self.admitted, self.agent.as_ref().map_or(0, ModeAgent::epoch))
    }

    /// Whether it knows the network's mode, or has no modes.
    pub fn has_joined(&self) -> bool {
        self.agent.as_ref().is_none_or(ModeAgent::has_joined)
    }

    /// What it is made of.
    pub fn config(&self) -> &SwitchConfig {
        &self.config
    }

    /// Its tables.
    pub const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The queue of a flow's frames in a level; `Some(None)` if they have no place there, `None` if the
    /// cookie is unknown.
    pub fn place(&self, level: u8, cookie: u64) -> Option<Option<u8>> {
        let group_queue = |id: u32| self.groups.get(&id).and_then(GroupState::queue);
        self.tables.place(level, cookie, group_queue)
    }

    /// Meters by id, as they are now.
    pub fn meters(&self) -> impl Iterator<Item = (u32, Cow<'_, MeterState>)> {
        self.tables.meters()
    }

    /// Monitors by id, as they are now.
    pub fn monitors(&self) -> impl Iterator<Item = (u32, Cow<'_, MonitorState>)> {
        self.tables.monitors()
    }

    /// Ports with their counters and egress.
    pub fn ports(&self) -> impl Iterator<Item = (u32, &PortCounters, &Egress)> {
        self.ports.iter().map(|p| (p.number, &p.counters, &p.egress))
    }

    /// Sets memory aside for all frames that may wait at each port, of a store of so many, so that
    /// none is taken when they do. Not of itself: explored copies of a switch hold few.
    pub fn set_aside(&mut self, frames: usize) {
        self.ports.iter_mut().for_each(|port| port.egress.set_aside(frames));
    }

    /// From now on counts how long frames take in each queue. Not of itself: explored copies of a
    /// switch would carry the counts along.
    pub fn keep_delays(&mut self) {
        self.ports.iter_mut().for_each(|port| port.egress.keep_delays());
    }

    /// The mode agent, once it is configured.
    pub const fn agent(&self) -> Option<&ModeAgent> {
        self.agent.as_ref()
    }

    /// Packet-ins that were not made, as their port had its share of them.
    pub fn packet_ins_limited(&self) -> u64 {
        self.general.as_ref().map_or(0, |general| general.packet_ins_limited)
    }

    /// Packet-ins that were not made, as no controller wanted them.
    pub fn packet_ins_unheard(&self) -> u64 {
        self.general.as_ref().map_or(0, |general| general.packet_ins_unheard)
    }

    /// Replaces the mode protocol by a broken one; for exploration only.
    #[cfg(feature = "mutants")]
    pub fn set_mutant(&mut self, mutant: Mutant) {
        self.mutant = mutant;
        self.agent = self.agent.take().map(|agent| agent.broken(mutant));
    }

    /// The mode protocol as it is: there is no other in this build.
    #[cfg(not(feature = "mutants"))]
    pub const fn set_mutant(&mut self, _: Mutant) {}

    /// Replaces Attendre by a broken one; for exploration only.
    #[cfg(feature = "mutants")]
    pub fn set_attendre_mutant(&mut self, mutant: AttendreMutant) {
        if let Some(attendre) = self.attendre_mut() {
            attendre.mutant = mutant;
        }
    }

    /// Attendre as it is: there is no other in this build.
    #[cfg(not(feature = "mutants"))]
    pub const fn set_attendre_mutant(&mut self, _: AttendreMutant) {}

    /// Notes a drop; of a frame that entered at `place`, or was sent by a controller.
    fn report(
        &mut self,
        drop: Dropped,
        place: impl Into<Option<usize>>,
        fx: &mut Effects<SwitchEvent>,
    ) {
        report(&mut self.ports, drop, place.into(), fx);
    }
}
