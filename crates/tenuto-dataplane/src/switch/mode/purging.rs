//! What has lost its place at a swap leaves the queues, at once or in steps between which signals leave.

use super::swapped::{PURGE_STEP_FRAMES, Swapped};
use crate::egress::Egress;
use crate::switch::actions::group::GroupState;
use crate::switch::{Switch, SwitchEvent};
use crate::{DropReason, Dropped, Effects, Frames};
use tenuto_openflow::ModeEventKind;
use tenuto_wire::frame_bytes;

impl Switch {
    /// Whether a change of the mode leaves its purge to [`Self::purge_some`] from now on, so that signals can leave in between.
    /// Until that is done nothing else leaves.
    pub const fn purge_in_steps(&mut self, in_steps: bool) {
        self.purging.in_steps = in_steps;
    }

    /// Asks some of the frames that a change of the mode has left in queues where they belong; whether others are left.
    pub fn purge_some(&mut self, frames: &mut impl Frames, fx: &mut Effects<SwitchEvent>) -> bool {
        self.purge_at_most(PURGE_STEP_FRAMES, frames, fx)
    }

    /// The tables of another level are in force: frames in queues are to be asked where they belong.
    pub(in crate::switch) fn begin_purge(
        &mut self,
        swapped: Swapped,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        self.ports.iter_mut().for_each(|port| port.egress.begin_rearranging());
        self.purging.owed = Some(swapped);
        if !self.purging.in_steps {
            self.finish_purge(frames, fx);
        }
    }

    /// Asks all frames that are left.
    pub(in crate::switch) fn finish_purge(
        &mut self,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        self.purge_at_most(usize::MAX, frames, fx);
    }

    fn purge_at_most(
        &mut self,
        mut most: usize,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let Some(mut owed) = self.purging.owed.take() else { return false };
        while owed.place < self.ports.len() {
            let (is_done, purged) = self.purge_port(owed.place, owed.to, &mut most, frames, fx);
            owed.purged += purged;
            if !is_done {
                self.purging.owed = Some(owed);
                return true;
            }
            owed.place += 1;
        }
        self.swapped(owed, fx);
        false
    }

    /// All frames in queues, as nobody is told.
    pub(in crate::switch) fn purge_all(
        &mut self,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> u32 {
        self.finish_purge(frames, fx);
        let mut purged = 0;
        for place in 0..self.ports.len() {
            self.ports[place].egress.begin_rearranging();
            purged += self.purge_port(place, self.level, &mut usize::MAX.clone(), frames, fx).1;
        }
        purged
    }

    /// Whether all frames of a port were asked, and how many of them have left.
    fn purge_port(
        &mut self,
        place: usize,
        level: u8,
        most: &mut usize,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> (bool, u32) {
        let mut purged = 0;
        let (tables, groups) = (&self.tables, &self.groups);
        let group_queue = |id: u32| groups.get(&id).and_then(GroupState::queue);
        let port = &mut self.ports[place];
        let (drops, number) = (&mut fx.drops, port.number);
        let is_done = Egress::rearrange(
            &mut port.egress,
            most,
            // Frames of no known flow (other traffic) keep their queue by keeping their place.
            |cookie, queue| tables.place(level, cookie, group_queue).unwrap_or(Some(queue)),
            |queued| {
                let bytes = frames.bytes(queued.frame);
                drops.push(Dropped {
                    reason: DropReason::Purged,
                    port: number,
                    cookie: queued.cookie,
                    message: crate::switch::pipeline::message_of(bytes, queued.cookie),
                    frame_bytes: frame_bytes(bytes.len()),
                });
                frames.release(queued.frame);
                purged += 1;
            },
        );
        (is_done, purged)
    }

    /// A swap is over: it is counted and told.
    pub(in crate::switch) fn swapped(&mut self, it: Swapped, fx: &mut Effects<SwitchEvent>) {
        let Swapped { at, epoch, from, to, admitted, purged, place: _ } = it;
        self.purged += u64::from(purged);
        fx.events.push(SwitchEvent::Swapped { at, epoch, from, to, admitted, purged });
        let kind = match to.cmp(&from) {
            std::cmp::Ordering::Greater => ModeEventKind::Raised,
            std::cmp::Ordering::Less => ModeEventKind::Swapped,
            std::cmp::Ordering::Equal => ModeEventKind::Returned,
        };
        self.announce_mode(at, kind, from, to, 0, purged, fx);
    }
}
