//! A switch that slices share: who owns each frame, asked when it enters and when it leaves.
//!
//! Frames that no slice claims belong to the operator, whose datapath has no entries: they are counted and dropped.
//! Non-interference: a slice's state is touched by its own frames, messages and timers only, so that it does whatever
//! it does when it is alone. What slices have in common beyond this file is the store of frames, which has room for
//! all their buffers, the wire behind each port, whose rate is no less than the sum of theirs, and the processor
//! (docs/design/0005-hosting.md, "Slices").

use super::guard::SliceCounters;
use super::traffic::SliceTraffic;
use crate::switch::port::index::PortIndex;
use crate::switch::{ConnectionId, Switch, SwitchConfig, SwitchEvent};
use crate::{DropReason, Dropped, Effects, FrameId, Frames, Work};
use std::collections::BTreeMap;
use std::sync::Arc;
use tenuto_openflow::{FixedText, SliceStatus};
use tenuto_units::Instant;
use tenuto_wire::frame_bytes;

/// The place of the operator among the slices.
pub const OPERATOR: usize = 0;

/// What one slice is made of.
#[derive(Clone, Debug)]
pub struct SliceSetup {
    /// What people call it.
    pub name: String,
    /// Its own datapath; its traffic is that of its [`SliceConfig`](crate::switch::SliceConfig).
    pub config: Arc<SwitchConfig>,
}

/// Two slices, by their names, that would both claim some frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap(pub String, pub String);

#[derive(Clone, Debug)]
pub(super) struct Slice {
    name: String,
    traffic: Arc<SliceTraffic>,
    pub(super) switch: Switch,
    counters: SliceCounters,
}

/// A switch that slices share. The first slice is the operator's ([`OPERATOR`]).
#[derive(Clone, Debug)]
pub struct SlicedSwitch {
    pub(super) slices: Vec<Slice>,
    port_index: PortIndex,
    /// Which slices stand at each port, by its place; the operator is left out.
    at_port: Vec<Vec<usize>>,
    owners: BTreeMap<ConnectionId, usize>,
}

impl SlicedSwitch {
    /// A switch of the operator, with all the ports, and of these slices.
    ///
    /// # Errors
    /// If two slices would claim the same frame.
    pub fn new(operator: Arc<SwitchConfig>, slices: Vec<SliceSetup>) -> Result<Self, Overlap> {
        let ports: Vec<u32> = operator.ports.iter().map(|port| port.port).collect();
        let operator = SliceSetup { name: "operator".into(), config: operator };
        let slices: Vec<Slice> = [operator].into_iter().chain(slices).map(Slice::new).collect();
        for (place, slice) in slices.iter().enumerate().skip(OPERATOR + 1) {
            let mut before = slices[OPERATOR + 1..place].iter();
            if let Some(other) = before.find(|it| it.traffic.overlaps(&slice.traffic)) {
                return Err(Overlap(other.name.clone(), slice.name.clone()));
            }
        }
        let stands_at = |port: &u32| {
            let own = slices.iter().enumerate().skip(OPERATOR + 1);
            own.filter(|(_, slice)| slice.traffic.has_port(*port)).map(|(place, _)| place).collect()
        };
        let at_port = ports.iter().map(stands_at).collect();
        let port_index = ports.iter().enumerate().map(|(place, &port)| (port, place)).collect();
        Ok(Self { slices, port_index, at_port, owners: BTreeMap::new() })
    }

    /// Whose a frame at a port is.
    #[inline]
    pub fn owner(&self, port: u32, frame: &[u8]) -> usize {
        let at_port = self.port_index.get(&port).and_then(|&place| self.at_port.get(place));
        let claims = |slice: &&usize| self.slices[**slice].traffic.claims(port, frame);
        at_port.and_then(|slices| slices.iter().find(claims)).copied().unwrap_or(OPERATOR)
    }

    /// A frame enters, and is handled by whose it is ([`Switch::receive`]).
    pub fn receive(
        &mut self,
        now: Instant,
        arrival: Instant,
        port: u32,
        frame: FrameId,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let owner = self.owner(port, frames.bytes(frame));
        self.slices[owner].counters.received += 1;
        self.within(owner, frames, fx, |switch, frames, fx| {
            switch.receive(now, arrival, port, frame, frames, fx)
        })
    }

    /// Has one slice do something, and takes back what it hands over and must not send.
    pub(super) fn within<F: Frames, T>(
        &mut self,
        slice: usize,
        frames: &mut F,
        fx: &mut Effects<SwitchEvent>,
        act: impl FnOnce(&mut Switch, &mut F, &mut Effects<SwitchEvent>) -> T,
    ) -> T {
        let before = fx.transmits.len();
        let done = act(&mut self.slices[slice].switch, frames, fx);
        if fx.transmits.len() > before {
            self.keep_inside(slice, before, frames, fx);
        }
        done
    }

    /// Drops what a slice has handed over, from one place on, and does not own.
    fn keep_inside(
        &mut self,
        slice: usize,
        from: usize,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let mut kept = from;
        for next in from..fx.transmits.len() {
            let sent = fx.transmits[next];
            if self.owner(sent.port, frames.bytes(sent.frame)) == slice {
                self.slices[slice].counters.sent += 1;
                fx.transmits[kept] = sent;
                kept += 1;
                continue;
            }
            self.slices[slice].counters.escaped += 1;
            let frame_bytes = frame_bytes(frames.bytes(sent.frame).len());
            let (reason, port) = (DropReason::OutOfSlice, sent.port);
            fx.drops.push(Dropped { reason, port, cookie: 0, message: None, frame_bytes });
            frames.release(sent.frame);
        }
        fx.transmits.truncate(kept);
    }

    /// The slices by place, each with its name, its datapath and its counters.
    pub fn slices(&self) -> impl Iterator<Item = (&str, &Switch, SliceCounters)> {
        self.slices.iter().map(|slice| (slice.name.as_str(), &slice.switch, slice.counters))
    }

    pub(super) fn owner_of(&self, id: ConnectionId) -> Option<usize> {
        self.owners.get(&id).copied()
    }

    /// Notes whose a connection is.
    pub(super) fn own(&mut self, slice: usize, id: ConnectionId) {
        self.owners.insert(id, slice);
    }

    pub(super) fn disown(&mut self, id: ConnectionId) -> Option<usize> {
        self.owners.remove(&id)
    }

    /// Has the operator's datapath know what it may be asked for.
    pub(super) fn tell_operator(&mut self) {
        let told = self.slices[OPERATOR + 1..].iter().map(Slice::status).collect();
        if let Some(general) = &mut self.slices[OPERATOR].switch.general {
            general.slices = told;
        }
    }
}

impl Slice {
    fn new(SliceSetup { name, config }: SliceSetup) -> Self {
        let slice = config.general.as_ref().and_then(|general| general.slice.as_ref());
        let nothing = || Arc::new(SliceTraffic::new(Vec::new(), None, Vec::new()));
        let traffic = slice.map_or_else(nothing, |slice| slice.traffic.clone());
        Self { name, traffic, switch: Switch::new(config), counters: SliceCounters::default() }
    }

    fn status(&self) -> SliceStatus {
        let messages = self.switch.slice_messages().unwrap_or_default();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        SliceStatus {
            name: FixedText::new(&self.name),
            datapath_id: self.switch.config().datapath_id,
            ports: self.traffic.ports().to_vec(),
            connections: count(self.switch.connections().count()),
            entries: count(self.switch.tables().entries()),
            received: self.counters.received,
            sent: self.counters.sent,
            escaped: self.counters.escaped,
            messages: messages.all,
            refused: messages.refused,
            limited: messages.limited,
            packet_ins_limited: messages.packet_ins_limited,
        }
    }
}
