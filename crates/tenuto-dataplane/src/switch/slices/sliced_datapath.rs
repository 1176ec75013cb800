//! A switch that slices share, driven as one datapath.

use super::datapath::Datapath;
use super::sliced::{OPERATOR, SlicedSwitch};
use crate::switch::{
    Burst, ConnectionId, ConnectionRefused, DeviceLosses, PortFeatures, SliceCounters,
    SliceMessages, Switch, SwitchEvent,
};
use crate::{Effects, Frames, Work};
use tenuto_openflow::{ErrorCode, QueueShare};
use tenuto_units::Instant;

/// Bytes for controllers that have not been taken yet.
fn told_bytes(fx: &Effects<SwitchEvent>) -> usize {
    fx.control.len() + fx.channels.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
}

impl SlicedSwitch {
    fn switches(&self) -> impl Iterator<Item = &Switch> {
        self.slices.iter().map(|slice| &slice.switch)
    }

    fn switches_mut(&mut self) -> impl Iterator<Item = &mut Switch> {
        self.slices.iter_mut().map(|slice| &mut slice.switch)
    }

    /// The slice with work of a connection. That goes on when its connection is gone, and a number is given anew
    /// only when it is over, so that no two slices have work of one number.
    fn working(&self, id: ConnectionId) -> Option<usize> {
        self.switches().position(|switch| switch.at_work().any(|other| other == id))
    }

    /// Has one slice do something ([`SlicedSwitch::within`]); what it tells its controllers is of its budget.
    fn answering<F: Frames, T>(
        &mut self,
        slice: usize,
        now: Instant,
        frames: &mut F,
        fx: &mut Effects<SwitchEvent>,
        act: impl FnOnce(&mut Switch, &mut F, &mut Effects<SwitchEvent>) -> T,
    ) -> T {
        let before = told_bytes(fx);
        let done = self.within(slice, frames, fx, act);
        let told = told_bytes(fx).saturating_sub(before);
        if told > 0 {
            self.slices[slice].switch.charge_slice(told, now);
        }
        done
    }

    fn operator(&mut self) -> &mut Switch {
        &mut self.slices[OPERATOR].switch
    }
}

impl Datapath for SlicedSwitch {
    fn next_deadline_at(&self) -> Option<Instant> {
        self.switches().filter_map(Datapath::next_deadline_at).min()
    }

    fn fire_due(&mut self, now: Instant, frames: &mut impl Frames, fx: &mut Effects<SwitchEvent>) {
        for slice in 0..self.slices.len() {
            self.answering(slice, now, frames, fx, |switch, frames, fx| {
                switch.fire_due(now, frames, fx);
            });
        }
    }

    fn receive_next(
        &mut self,
        now: Instant,
        burst: &mut Burst,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Option<Work> {
        let (port, arrival, frame) = burst.pop()?;
        Some(self.receive(now, arrival, port, frame, frames, fx))
    }

    fn control_from(
        &mut self,
        id: ConnectionId,
        now: Instant,
        bytes: &[u8],
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let Some(slice) = self.owner_of(id) else { return false };
        if slice == OPERATOR {
            self.tell_operator();
        }
        self.answering(slice, now, frames, fx, |switch, frames, fx| {
            switch.control_from(id, now, bytes, frames, fx)
        })
    }

    fn message_at(&self, id: ConnectionId, now: Instant, message: &[u8]) -> Instant {
        self.owner_of(id).map_or(now, |slice| self.slices[slice].switch.message_at(now, message))
    }

    fn work_on(
        &mut self,
        id: ConnectionId,
        now: Instant,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        if let Some(slice) = self.working(id) {
            self.answering(slice, now, frames, fx, |switch, frames, fx| {
                switch.work_on(id, now, frames, fx);
            });
        }
    }

    fn work_at(&self, id: ConnectionId, now: Instant) -> Instant {
        self.working(id).map_or(now, |slice| self.slices[slice].switch.step_at(now))
    }

    fn at_work(&self) -> impl Iterator<Item = ConnectionId> {
        self.switches().flat_map(Switch::at_work)
    }

    fn connected_in(
        &mut self,
        slice: usize,
        id: ConnectionId,
        auxiliary: Option<(ConnectionId, u8)>,
        fx: &mut Effects<SwitchEvent>,
    ) -> Result<(), ConnectionRefused> {
        let switch = &mut self.slices.get_mut(slice).ok_or(ConnectionRefused)?.switch;
        switch.connected_to(id, auxiliary, fx)?;
        self.own(slice, id);
        Ok(())
    }

    fn serve_in(
        &mut self,
        slice: usize,
        id: ConnectionId,
        fx: &mut Effects<SwitchEvent>,
    ) -> Result<(), ConnectionRefused> {
        let switch = &mut self.slices.get_mut(slice).ok_or(ConnectionRefused)?.switch;
        switch.serve(id, fx)?;
        self.own(slice, id);
        Ok(())
    }

    fn disconnected_from(&mut self, id: ConnectionId) -> Vec<ConnectionId> {
        let Some(slice) = self.disown(id) else { return Vec::new() };
        let others = self.slices[slice].switch.disconnected_from(id);
        for other in &others {
            self.disown(*other);
        }
        others
    }

    fn set_link(&mut self, number: u32, is_up: bool, fx: &mut Effects<SwitchEvent>) {
        self.switches_mut().for_each(|switch| switch.set_link(number, is_up, fx));
    }

    fn is_link_up(&self, number: u32) -> Option<bool> {
        self.slices[OPERATOR].switch.is_link_up(number)
    }

    fn set_features(&mut self, number: u32, features: PortFeatures) {
        self.switches_mut().for_each(|switch| switch.set_features(number, features));
    }

    // Whose frames a device has lost or refused is not known: only the operator is told.

    fn set_device_losses(&mut self, number: u32, losses: DeviceLosses) {
        self.operator().set_device_losses(number, losses);
    }

    fn not_taken(&mut self, number: u32, frames: u64) {
        self.operator().not_taken(number, frames);
    }

    fn not_stored(&mut self, number: u32, bytes: usize) {
        self.operator().not_stored(number, bytes);
    }

    /// A device that takes few frames takes as many from each slice, one at least.
    fn set_room(&mut self, now: Instant, number: u32, frames: Option<u32>) {
        let stands_there = |switch: &&Switch| switch.is_link_up(number).is_some();
        let sharing = self.switches().skip(OPERATOR + 1).filter(stands_there).count();
        let sharing = u32::try_from(sharing).unwrap_or(u32::MAX).max(1);
        let each = frames.map(|frames| if frames == 0 { 0 } else { (frames / sharing).max(1) });
        self.switches_mut().for_each(|switch| switch.set_room(now, number, each));
    }

    fn room(&self, number: u32) -> Option<u32> {
        self.switches().filter_map(|switch| switch.room(number)).min()
    }

    fn share_queues(&mut self, port: u32, shares: &[QueueShare]) -> Result<(), ErrorCode> {
        let stands_there = |switch: &&mut Switch| switch.is_link_up(port).is_some();
        let mut there = self.switches_mut().filter(stands_there);
        there.try_for_each(|switch| switch.share_queues(port, shares))
    }

    fn set_aside(&mut self, frames: usize) {
        self.switches_mut().for_each(|switch| switch.set_aside(frames));
    }

    fn keep_delays(&mut self) {
        self.switches_mut().for_each(Switch::keep_delays);
    }

    fn frames_passed(&self) -> (u64, u64) {
        let received = self.switches().map(|switch| switch.frames_passed().0).sum();
        (received, self.slices().map(|(_, _, counters)| counters.sent).sum())
    }

    fn packet_ins_withheld(&self) -> (u64, u64) {
        let withheld = self.switches().map(Datapath::packet_ins_withheld);
        withheld.fold((0, 0), |(a, b), (more_a, more_b)| (a + more_a, b + more_b))
    }

    fn for_each_slice(&self, visit: &mut dyn FnMut(&str, SliceMessages, SliceCounters)) {
        for (name, switch, frames) in self.slices().skip(OPERATOR + 1) {
            visit(name, switch.slice_messages().unwrap_or_default(), frames);
        }
    }
}
