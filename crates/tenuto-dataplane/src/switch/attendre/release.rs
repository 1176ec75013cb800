//! Buffers end: their set is complete, or their time is over (\[Attendre\] section IV.C.4;
//! docs/theory/attendre.md, "Why it always ends" and "What it costs the others").

use super::buffers::{Held, drop_all};
use super::is_mutant;
use crate::switch::pipeline::PacketContext;
use crate::switch::pipeline::executor::Executor;
use crate::switch::{Switch, SwitchEvent};
use crate::{DropReason, Effects, Frames};
use tenuto_openflow::{BufferPhase, MessageSet, Version};
use tenuto_units::Instant;
use tenuto_wire::frame_bytes;

impl Switch {
    /// The first message of a set that answers a packet-in says which buffer waits for it.
    pub(in crate::switch) fn bind(&mut self, set: MessageSet) {
        let Some(attendre) = self.attendre_mut() else { return };
        if set.answers == 0 {
            return;
        }
        let mut buffers = attendre.buffers.iter_mut().flatten();
        let waiting = buffers.find(|b| b.number == set.answers && b.version.is_none());
        if let Some(buffer) = waiting {
            (buffer.version, buffer.messages) = (Some(set.version), set.messages);
        }
    }

    /// A message of a set was carried out, well or not: what waited for the last one goes on
    /// (Fig. 6, lines 13 to 16; Fig. 7, lines 6 to 9).
    pub(in crate::switch) fn carried_out(
        &mut self,
        now: Instant,
        set: MessageSet,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let Some(attendre) = self.attendre_mut() else { return };
        let ended = attendre.sets.carried_out(set.version, set.messages);
        attendre.totals.completed += u64::from(ended[0].is_some());
        if is_mutant!(attendre, ForgetsCompletion) {
            return;
        }
        let is_late = ended[0].is_none() && attendre.is_complete(set.version);
        let late = is_late.then_some(set.version);
        for version in ended.into_iter().chain([late]).flatten() {
            self.release_set(now, version, frames, fx);
        }
    }

    fn release_set(
        &mut self,
        now: Instant,
        version: Version,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let count = self.attendre().map_or(0, |attendre| attendre.buffers.len());
        for place in 0..u16::try_from(count).unwrap_or(u16::MAX) {
            let buffer = self.attendre_mut().and_then(|attendre| attendre.get_mut(place));
            if let Some(buffer) = buffer.filter(|b| b.version == Some(version)) {
                buffer.phase = BufferPhase::Releasing;
                self.release(now, place, frames, fx);
            }
        }
    }

    /// The time of a buffer has come: of its next frame, or of all.
    pub(in crate::switch) fn fire_buffer(
        &mut self,
        now: Instant,
        place: u16,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let Some(attendre) = self.attendre_mut() else { return };
        let drops = is_mutant!(attendre, TimeoutDrops);
        let Some(buffer) = attendre.get_mut(place).filter(|b| b.until <= now) else { return };
        if buffer.phase == BufferPhase::Waiting {
            buffer.phase = BufferPhase::Releasing;
            attendre.totals.timed_out += 1;
            if drops && let Some(buffer) = attendre.close(place) {
                drop_all(buffer, DropReason::NoOutput, frames, fx);
                return;
            }
        }
        self.release(now, place, frames, fx);
    }

    /// Lets frames out in order, as fast as the meter allows; the rest at the buffer's timer.
    fn release(
        &mut self,
        now: Instant,
        place: u16,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        loop {
            let Some(attendre) = self.attendre_mut() else { return };
            let (meter, is_reversed) = (attendre.meter, is_mutant!(attendre, ReleasesOutOfOrder));
            let Some(buffer) = attendre.get_mut(place) else { return };
            // A frame that missed again has opened it anew: the rest waits for that answer.
            if buffer.phase == BufferPhase::Waiting {
                return;
            }
            let Some(first) = buffer.frames.front() else {
                attendre.close(place);
                return;
            };
            let frame_bytes = first.frame_bytes;
            if let Some(at) = meter.and_then(|id| self.not_before(id, now, frame_bytes)) {
                let buffer = self.attendre_mut().and_then(|attendre| attendre.get_mut(place));
                if let Some(buffer) = buffer {
                    buffer.until = at;
                }
                return;
            }
            let buffer = self.attendre_mut().and_then(|attendre| attendre.get_mut(place));
            let held = buffer.and_then(|buffer| {
                buffer.firsts = buffer.firsts.saturating_sub(1);
                if is_reversed { buffer.frames.pop_back() } else { buffer.frames.pop_front() }
            });
            let Some(held) = held else { return };
            self.match_again(now, place, held, meter, frames, fx);
        }
    }

    /// When the meter lets a frame of this size pass, if that is later than now; takes its tokens
    /// otherwise.
    fn not_before(&mut self, id: u32, now: Instant, frame_bytes: u32) -> Option<Instant> {
        let bits = self.metered_bits(frame_bytes);
        let meter = self.tables.meter_mut(id)?;
        let at = meter.ready_at(now, bits);
        if at > now {
            return Some(at);
        }
        meter.judge(now, bits, frame_bytes);
        None
    }

    /// The packet is looked up again in the table where it waited.
    fn match_again(
        &mut self,
        now: Instant,
        place: u16,
        held: Held,
        paid: Option<u32>,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let bytes = frames.bytes(held.frame);
        let key = self.key_of(bytes, held.in_port).unwrap_or_default();
        let from = (held.place, held.in_port);
        let mut packet = PacketContext::new((now, now), from, held.frame, frame_bytes(bytes.len()));
        packet.key = key;
        packet.key.set_metadata(held.metadata, u64::MAX);
        packet.key.set_tunnel_id(held.tunnel);
        (packet.queue, packet.cookie) = (held.queue, held.cookie);
        (packet.left, packet.paid) = (Some(place), paid);
        let Some(general) = &mut self.general else { return };
        match held.edits {
            Some(edits) => {
                general.set.clone_from(&edits);
                if let Some(attendre) = &mut general.attendre {
                    attendre.spare_edits.push(edits);
                }
            }
            None => general.set.clear(),
        }
        let Some(attendre) = &mut general.attendre else { return };
        attendre.frames -= 1;
        attendre.totals.released += 1;
        let Some(table) = attendre.get(place).map(|buffer| buffer.table) else { return };
        let mut executor = Executor::new(self, &mut packet, frames, fx);
        executor.set = held.set;
        let reason = executor.run_from(table);
        self.finish(reason, &packet, frames, fx);
    }
}
