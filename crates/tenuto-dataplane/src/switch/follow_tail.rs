//! A frame at the end of a track where it is sent more than once, or changed: what the walk would do
//! behind the look-ups.

use super::displacing::displace;
use super::follow::{Entered, bits_of};
use super::group::ticket;
use super::outputs::TUNNEL_ID;
use super::packet::{Edit, Layers};
use super::pipeline::{NO_COOKIE, Passage, message_of};
use super::tail::{Change, Choice, Step, THE_END};
use super::{PortState, Switch, SwitchEvent, report};
use crate::{DropReason, Dropped, Effects, FrameId, Frames, Queued, Work};
use tenuto_openflow::PacketInReason;
use tenuto_units::Instant;

/// What a bucket gives back when it is done.
#[derive(Clone, Copy, Default)]
struct Outside {
    copy: Option<FrameId>,
    frame_bytes: u32,
    edited: bool,
    tunnel: u64,
}

impl Switch {
    /// A frame has gone a track to its end, which is in several places.
    #[inline(never)]
    pub(super) fn end_in_several(
        &mut self,
        (now, counts_all): (Instant, bool),
        it: Entered,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let (number, work) = self.tables.laid_tail(it.slot, (it.probes, it.frame_bytes));
        let work = match self.tables.tail(number).is_some_and(|tail| tail.is_plain) {
            true => {
                if !self.send_copies(now, it, number, frames, fx) {
                    let (reason, passage) = self.end_nowhere(now, it);
                    self.drop_frame(reason, &passage, frames, fx);
                }
                // Every copy has a hold of its own.
                frames.release(it.frame);
                work
            }
            false => self.send_changed(now, it, (number, work), frames, fx),
        };
        if !counts_all {
            self.tables.count_beside(it.slot, now, it.frame_bytes);
        }
        work
    }

    /// Queues a frame wherever a tail says, as it came; whether it goes anywhere.
    #[inline(always)]
    fn send_copies(
        &mut self,
        now: Instant,
        it: Entered,
        number: u32,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let Self { tables, ports, general, .. } = self;
        let Some(tail) = tables.tail(number) else { return false };
        let mut is_sent = false;
        for &step in &tail.steps {
            let (place, queue, cookie) = match step {
                Step::Send { place, .. } if usize::from(place) == it.place() => continue,
                Step::Send { place, queue, cookie } => (usize::from(place), queue, cookie),
                Step::SendBack { queue, cookie } => (it.place(), queue, cookie),
                _ => {
                    if let Some(general) = general {
                        general.count_step(step, it.frame_bytes);
                    }
                    continue;
                }
            };
            let port = &mut ports[place];
            if port.is_closed() {
                port.counters.not_sent += 1;
                continue;
            }
            is_sent = true;
            let frame = it.frame;
            let queued = Queued { frame, wire_bits: bits_of(it.frame_bytes), cookie, since: now };
            let taken = port.egress.enqueue(queue, queued);
            match taken.or_else(|_| displace(port, queue, queued, frames, fx)) {
                Ok(()) => frames.retain(frame),
                Err(_) => refuse(ports, place, (it, cookie), frames, fx),
            }
        }
        is_sent
    }

    /// The same where a frame is changed, or its headers choose.
    #[inline(never)]
    fn send_changed(
        &mut self,
        now: Instant,
        it: Entered,
        (number, work): (u32, Work),
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let mut passage = self.passage(now, it);
        passage.work = work;
        let mut outside = [Outside::default(); super::group::DEPTH_MAX];
        let mut next = 0;
        while let Some(&step) = self.tables.tail(number).and_then(|tail| tail.steps.get(next)) {
            next += 1;
            match step {
                Step::Send { place, queue, cookie } => {
                    let place = usize::from(place);
                    if Some(place) != passage.place {
                        (passage.queue, passage.cookie) = (queue.into(), cookie);
                        self.send(place, &mut passage, frames, fx);
                    }
                }
                Step::SendBack { queue, cookie } => {
                    (passage.queue, passage.cookie) = (queue.into(), cookie);
                    self.send(it.place(), &mut passage, frames, fx);
                }
                Step::Group(_) | Step::Bucket { .. } => {
                    if let Some(general) = &mut self.general {
                        general.count_step(step, passage.frame_bytes);
                    }
                }
                Step::Change(place) => {
                    let change = self.tables.tail(number).map(|it| it.changes[usize::from(place)]);
                    let failed = change.and_then(|it| self.fail(it, &mut passage, frames));
                    let Some(failed) = failed else { continue };
                    self.tell_expired(it, failed, &mut passage, frames, fx);
                    passage.work.actions -= u32::from(failed.skipped);
                    if failed.next == THE_END {
                        passage.stop = Some(DropReason::NoOutput);
                        break;
                    }
                    next = failed.next.into();
                }
                Step::Open(depth) => {
                    if passage.edited {
                        self.save(depth.into());
                    }
                    let Passage { frame_bytes, edited, .. } = passage;
                    let (copy, tunnel) = (passage.copy.take(), passage.key.tunnel_id());
                    outside[usize::from(depth)] = Outside { copy, frame_bytes, edited, tunnel };
                }
                Step::Close(depth) => {
                    if let Some(copy) = passage.copy.take() {
                        frames.release(copy);
                    }
                    let before = outside[usize::from(depth)];
                    (passage.copy, passage.frame_bytes) = (before.copy, before.frame_bytes);
                    passage.edited = before.edited;
                    passage.key.set_tunnel_id(before.tunnel);
                    if passage.edited {
                        self.restore(depth.into());
                    }
                }
                Step::Choose { first, count } => {
                    next = self.choose(number, (first, count), &passage, frames).into();
                }
                Step::Actions(count) => passage.work.actions += u32::from(count),
                Step::GoTo(step) => next = step.into(),
            }
        }
        let (nowhere, end) = self.end_nowhere(now, it);
        passage.cookie = end.cookie;
        let reason = passage.stop.or((passage.outputs == 0).then_some(nowhere));
        self.finish(reason, &passage, frames, fx);
        passage.work
    }

    /// Carries out a change, and gives it back if it fails.
    fn fail(
        &mut self,
        change: Change,
        passage: &mut Passage,
        frames: &mut impl Frames,
    ) -> Option<Change> {
        match change.edit {
            Edit::SetField(value) if value.field == TUNNEL_ID => {
                passage.key.set_tunnel_id(value.number());
                None
            }
            edit => self.change(edit, passage, frames).is_err().then_some(change),
        }
    }

    /// The first step of the bucket that the headers of a frame choose.
    fn choose(
        &self,
        number: u32,
        (first, count): (u16, u16),
        passage: &Passage,
        frames: &impl Frames,
    ) -> u16 {
        let bytes = match &self.general {
            Some(general) if passage.edited => general.buffer.bytes(),
            _ => frames.bytes(passage.frame),
        };
        let key = Layers::locate(bytes).key(bytes, passage.in_port).unwrap_or_default();
        let Some(tail) = self.tables.tail(number) else { return THE_END };
        let from = usize::from(first);
        let choices = &tail.choices[from..from + usize::from(count)];
        let ticket = ticket(&key, choices.last().map_or(0, |last| last.below));
        let chosen = choices.iter().find(|Choice { below, .. }| ticket < *below);
        chosen.map_or(THE_END, |choice| choice.at)
    }

    /// A time to live has ended: controllers are told, of the entry at hand.
    #[cold]
    fn tell_expired(
        &mut self,
        it: Entered,
        change: Change,
        passage: &mut Passage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let (track, way) = self.tables.laid(it.slot);
        let entry = |stage: u8| {
            let (table, slot) = (way.tables[usize::from(stage)], way.slots[usize::from(stage)]);
            let state = self.tables.get(track.level_of(table), table);
            state.map(|state| state.table().entry(slot))
        };
        let written = (0..change.stage).filter_map(|stage| entry(stage)?.behaviour.metadata);
        written.for_each(|(value, mask)| passage.key.set_metadata(value, mask));
        let stage = change.stage.min(track.stages - 1);
        passage.table = way.tables[usize::from(stage)];
        // In a bucket it ends the bucket's copy alone; behind the last stage is the action set.
        let is_own = change.next == THE_END && change.stage == stage;
        let own = entry(stage).filter(|_| is_own);
        passage.entry_cookie = own.map_or(NO_COOKIE, |entry| entry.cookie);
        let max_len = self.general.as_ref().map_or(0, |general| general.miss_send_len);
        self.packet_in(PacketInReason::InvalidTtl, max_len, passage, frames, fx);
        passage.key.set_metadata(0, u64::MAX);
    }
}

/// A port has no room for a copy of a frame.
#[cold]
#[inline(never)]
fn refuse(
    ports: &mut [PortState],
    place: usize,
    (it, cookie): (Entered, u64),
    frames: &impl Frames,
    fx: &mut Effects<SwitchEvent>,
) {
    let dropped = Dropped {
        reason: DropReason::BufferFull,
        port: ports[place].number,
        cookie,
        message: message_of(frames.bytes(it.frame), cookie),
        frame_bytes: it.frame_bytes,
    };
    report(ports, dropped, Some(it.place()), fx);
}
