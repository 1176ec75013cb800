//! What has lost its place at a swap leaves the queues, at once or in steps between which the switch serves on.

use super::swapped::{PURGE_STEP_FRAMES, Swapped};
use crate::egress::Egress;
use crate::switch::actions::group::GroupState;
use crate::switch::{Switch, SwitchEvent};
use crate::{DropReason, Dropped, Effects, Frames};
use tenuto_openflow::ModeEventKind;
use tenuto_wire::frame_bytes;

impl Switch {
    /// From now on a change of the mode leaves its purge to [`Self::purge_some`], so that the switch serves on meanwhile. Only a
    /// planned switch does: the queues of its flows are the same in all modes, so that none of its frames can overtake another
    /// of its flow that was not asked yet.
    pub const fn purge_in_steps(&mut self) {
        self.purging.in_steps = self.general.is_none();
    }

    /// Whether frames are left that were not asked since the last change of the mode.
    #[inline]
    pub const fn is_purging(&self) -> bool {
        self.purging.owed.is_some()
    }

    /// Asks some of the frames that a change of the mode has left in queues where they belong: first at ports that do not
    /// know what comes next.
    #[cold]
    pub fn purge_some(&mut self, frames: &mut impl Frames, fx: &mut Effects<SwitchEvent>) {
        let Some(mut owed) = self.purging.owed.take() else { return };
        let (count, first) = (self.ports.len(), owed.turn);
        let mut most = PURGE_STEP_FRAMES;
        // Each in turn, so that none waits for all that others have to ask.
        let mut known = 0;
        for place in (0..count).map(|nth| (first + nth) % count).cycle() {
            if most == 0 || known == count {
                break;
            }
            known += 1;
            if self.ports[place].egress.is_next_unknown() {
                owed.purged += self.purge_port(place, owed.to, &mut 1, frames, fx).1;
                owed.turn = (place + 1) % count;
                (most, known) = (most - 1, 0);
            }
        }
        while owed.place < count {
            let (is_done, purged) = self.purge_port(owed.place, owed.to, &mut most, frames, fx);
            owed.purged += purged;
            if !is_done {
                self.purging.owed = Some(owed);
                return;
            }
            owed.place += 1;
        }
        self.swapped(owed, fx);
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

    /// A purge that is under way gives way to that of another change, which asks all again.
    pub(in crate::switch) fn end_purge(&mut self, fx: &mut Effects<SwitchEvent>) {
        if let Some(owed) = self.purging.owed.take() {
            self.swapped(owed, fx);
        }
    }

    /// Asks all frames that are left.
    fn finish_purge(&mut self, frames: &mut impl Frames, fx: &mut Effects<SwitchEvent>) {
        let Some(mut owed) = self.purging.owed.take() else { return };
        owed.purged += self.purge_ports(owed.to, frames, fx);
        self.swapped(owed, fx);
    }

    /// All frames in queues, as nobody is told; how many have left.
    pub(in crate::switch) fn purge_all(
        &mut self,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> u32 {
        self.end_purge(fx);
        self.ports.iter_mut().for_each(|port| port.egress.begin_rearranging());
        self.purge_ports(self.level, frames, fx)
    }

    fn purge_ports(
        &mut self,
        level: u8,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> u32 {
        let mut purged = 0;
        for place in 0..self.ports.len() {
            purged += self.purge_port(place, level, &mut usize::MAX.clone(), frames, fx).1;
            self.ports[place].egress.close_ranks();
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
        let Swapped { at, epoch, from, to, admitted, purged, place: _, turn: _ } = it;
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
