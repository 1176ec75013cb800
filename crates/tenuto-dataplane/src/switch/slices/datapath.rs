//! What a live world needs of a datapath: one switch, or one that slices share.

use crate::switch::{
    Burst, ConnectionId, ConnectionRefused, DeviceLosses, PortFeatures, SliceCounters,
    SliceMessages, Switch, SwitchEvent,
};
use crate::{Effects, Frames, Work};
use tenuto_openflow::{ErrorCode, QueueShare};
use tenuto_units::Instant;

/// A datapath that a live world drives. Each call is that of [`Switch`] by its name, so that a world that
/// knows no slices pays nothing for them.
pub trait Datapath {
    /// See [`Switch::next_deadline`].
    fn next_deadline_at(&self) -> Option<Instant>;

    /// See [`Switch::fire_due`].
    fn fire_due(&mut self, now: Instant, frames: &mut impl Frames, fx: &mut Effects<SwitchEvent>);

    /// See [`Switch::receive_next`].
    fn receive_next(
        &mut self,
        now: Instant,
        burst: &mut Burst,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<Work>;

    /// See [`Switch::purge_in_steps`]; slices know no modes.
    fn purge_in_steps(&mut self) {}

    /// See [`Switch::is_purging`].
    fn is_purging(&self) -> bool {
        false
    }

    /// See [`Switch::mode`].
    fn mode(&self) -> (u8, u8, u64) {
        (0, 0, 0)
    }

    /// See [`Switch::control_from`].
    fn control_from(
        &mut self,
        id: ConnectionId,
        now: Instant,
        bytes: &[u8],
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool;

    /// See [`Switch::message_at`].
    fn message_at(&self, id: ConnectionId, now: Instant, message: &[u8]) -> Instant;

    /// See [`Switch::work_on`].
    fn work_on(
        &mut self,
        id: ConnectionId,
        now: Instant,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    );

    /// When [`Datapath::work_on`] goes on for a connection: see [`Switch::step_at`].
    fn work_at(&self, id: ConnectionId, now: Instant) -> Instant;

    /// See [`Switch::at_work`].
    fn at_work(&self) -> impl Iterator<Item = ConnectionId>;

    /// See [`Switch::connected_to`]; the connection is one of this slice, by its place.
    ///
    /// # Errors
    /// As there.
    fn connected_in(
        &mut self,
        slice: usize,
        id: ConnectionId,
        auxiliary: Option<(ConnectionId, u8)>,
        fx: &mut Effects<SwitchEvent>,
    ) -> Result<(), ConnectionRefused>;

    /// See [`Switch::serve`]; the connection is one of this slice, by its place.
    ///
    /// # Errors
    /// As there.
    fn serve_in(
        &mut self,
        slice: usize,
        id: ConnectionId,
        fx: &mut Effects<SwitchEvent>,
    ) -> Result<(), ConnectionRefused>;

    /// See [`Switch::disconnected_from`].
    fn disconnected_from(&mut self, id: ConnectionId) -> Vec<ConnectionId>;

    /// See [`Switch::set_link`].
    fn set_link(&mut self, number: u32, is_up: bool, fx: &mut Effects<SwitchEvent>);

    /// See [`Switch::is_link_up`].
    fn is_link_up(&self, number: u32) -> Option<bool>;

    /// See [`Switch::set_features`].
    fn set_features(&mut self, number: u32, features: PortFeatures);

    /// See [`Switch::set_device_losses`].
    fn set_device_losses(&mut self, number: u32, losses: DeviceLosses);

    /// See [`Switch::not_taken`].
    fn not_taken(&mut self, number: u32, frames: u64);

    /// See [`Switch::not_stored`].
    fn not_stored(&mut self, number: u32, bytes: usize);

    /// See [`Switch::set_room`].
    fn set_room(&mut self, now: Instant, number: u32, frames: Option<u32>);

    /// See [`Switch::room`].
    fn room(&self, number: u32) -> Option<u32>;

    /// See [`Switch::share_queues`].
    ///
    /// # Errors
    /// As there.
    fn share_queues(&mut self, port: u32, shares: &[QueueShare]) -> Result<(), ErrorCode>;

    /// See [`Switch::set_aside`].
    fn set_aside(&mut self, frames: usize);

    /// See [`Switch::keep_delays`].
    fn keep_delays(&mut self);

    /// Frames that were received and handed over, over all ports.
    fn frames_passed(&self) -> (u64, u64);

    /// Packet-ins that were not made: for a limit, and for want of a controller that wants them.
    fn packet_ins_withheld(&self) -> (u64, u64);

    /// Visits the slices of tenants, each with its name and what its controllers and frames have done.
    fn for_each_slice(&self, visit: &mut dyn FnMut(&str, SliceMessages, SliceCounters)) {
        let _ = visit;
    }
}

impl Datapath for Switch {
    fn next_deadline_at(&self) -> Option<Instant> {
        self.next_deadline().map(|(_, at)| at)
    }

    #[inline]
    fn fire_due(&mut self, now: Instant, frames: &mut impl Frames, fx: &mut Effects<SwitchEvent>) {
        Self::fire_due(self, now, frames, fx);
    }

    #[inline]
    fn receive_next(
        &mut self,
        now: Instant,
        burst: &mut Burst,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<Work> {
        Self::receive_next(self, now, burst, frames, fx)
    }

    fn purge_in_steps(&mut self) {
        Self::purge_in_steps(self);
    }

    fn is_purging(&self) -> bool {
        Self::is_purging(self)
    }

    fn mode(&self) -> (u8, u8, u64) {
        Self::mode(self)
    }

    fn control_from(
        &mut self,
        id: ConnectionId,
        now: Instant,
        bytes: &[u8],
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        Self::control_from(self, id, now, bytes, frames, fx)
    }

    fn message_at(&self, _id: ConnectionId, now: Instant, message: &[u8]) -> Instant {
        Self::message_at(self, now, message)
    }

    fn work_on(
        &mut self,
        id: ConnectionId,
        now: Instant,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        Self::work_on(self, id, now, frames, fx);
    }

    fn work_at(&self, _id: ConnectionId, now: Instant) -> Instant {
        self.step_at(now)
    }

    fn at_work(&self) -> impl Iterator<Item = ConnectionId> {
        Self::at_work(self)
    }

    fn connected_in(
        &mut self,
        _slice: usize,
        id: ConnectionId,
        auxiliary: Option<(ConnectionId, u8)>,
        fx: &mut Effects<SwitchEvent>,
    ) -> Result<(), ConnectionRefused> {
        self.connected_to(id, auxiliary, fx)
    }

    fn serve_in(
        &mut self,
        _slice: usize,
        id: ConnectionId,
        fx: &mut Effects<SwitchEvent>,
    ) -> Result<(), ConnectionRefused> {
        self.serve(id, fx)
    }

    fn disconnected_from(&mut self, id: ConnectionId) -> Vec<ConnectionId> {
        Self::disconnected_from(self, id)
    }

    fn set_link(&mut self, number: u32, is_up: bool, fx: &mut Effects<SwitchEvent>) {
        Self::set_link(self, number, is_up, fx);
    }

    fn is_link_up(&self, number: u32) -> Option<bool> {
        Self::is_link_up(self, number)
    }

    fn set_features(&mut self, number: u32, features: PortFeatures) {
        Self::set_features(self, number, features);
    }

    fn set_device_losses(&mut self, number: u32, losses: DeviceLosses) {
        Self::set_device_losses(self, number, losses);
    }

    fn not_taken(&mut self, number: u32, frames: u64) {
        Self::not_taken(self, number, frames);
    }

    fn not_stored(&mut self, number: u32, bytes: usize) {
        Self::not_stored(self, number, bytes);
    }

    fn set_room(&mut self, now: Instant, number: u32, frames: Option<u32>) {
        Self::set_room(self, now, number, frames);
    }

    fn room(&self, number: u32) -> Option<u32> {
        Self::room(self, number)
    }

    fn share_queues(&mut self, port: u32, shares: &[QueueShare]) -> Result<(), ErrorCode> {
        Self::share_queues(self, port, shares)
    }

    fn set_aside(&mut self, frames: usize) {
        Self::set_aside(self, frames);
    }

    fn keep_delays(&mut self) {
        Self::keep_delays(self);
    }

    fn frames_passed(&self) -> (u64, u64) {
        let passed = self.ports().map(|(_, in_, out)| (in_.received, out.stats().frames));
        passed.fold((0, 0), |(in_, out), (more_in, more_out)| (in_ + more_in, out + more_out))
    }

    fn packet_ins_withheld(&self) -> (u64, u64) {
        let limited = self.slice_messages().map_or(0, |messages| messages.packet_ins_limited);
        (limited + self.packet_ins_limited(), self.packet_ins_unheard())
    }
}
