//! The end of a cached path that is sent more than once, or changed: its action program is run.

use super::action_program::{Change, Choice, Step, THE_END};
use super::run::ClassifiedFrame;
use crate::switch::actions::displace::{Refused, report_refused};
use crate::switch::actions::group::{DEPTH_MAX, ticket};
use crate::switch::actions::packet::Layers;
use crate::switch::pipeline::executor::{Executor, Looks, Stop};
use crate::switch::pipeline::interpret::Machine;
use crate::switch::pipeline::{NO_COOKIE, bits_of};
use crate::switch::{Switch, SwitchEvent};
use crate::{DropReason, Effects, Frames, Queued, Work};
use tenuto_units::Instant;

/// What a bucket gives back when it is done: how the frame looked, and its tunnel.
type Outside = (Looks, u64);

impl Switch {
    /// A frame has gone a cached path to its end, which is in several places.
    #[inline(never)]
    pub(in crate::switch) fn end_in_several(
        &mut self,
        (now, counts_all): (Instant, bool),
        it: ClassifiedFrame,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let (number, work) = self.tables.program_of(it.slot, (it.probes, it.frame_bytes));
        let work = match self.tables.program(number).is_some_and(|program| program.is_plain) {
            true => {
                if !self.send_copies(now, it, number, frames, fx) {
                    let (reason, packet) = self.end_nowhere(now, it);
                    self.drop_frame(reason, &packet, frames, fx);
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

    /// Queues a frame wherever a program says, as it came; whether it goes anywhere.
    #[inline(always)]
    fn send_copies(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        number: u32,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let Self { tables, ports, general, .. } = self;
        let Some(program) = tables.program(number) else { return false };
        let mut is_sent = false;
        for &step in &program.steps {
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
            match port.enqueue(queue, queued, frames, fx) {
                Ok(()) => frames.retain(frame),
                Err(_) => {
                    let (entered, frame_bytes) = (Some(it.place()), it.frame_bytes);
                    let refused = Refused { entered, place, frame_bytes };
                    report_refused(ports, refused, queued, frames, fx);
                }
            }
        }
        is_sent
    }

    /// Runs a program that changes the frame, or has its headers choose.
    #[inline(never)]
    fn send_changed(
        &mut self,
        now: Instant,
        it: ClassifiedFrame,
        (number, work): (u32, Work),
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let mut packet = self.packet_context(now, it);
        packet.work = work;
        let ended = Executor::new(self, &mut packet, frames, fx).run_program(it, number);
        let (nowhere, end) = self.end_nowhere(now, it);
        packet.cookie = end.cookie;
        let reason = match ended {
            Ok(()) => (packet.outputs == 0).then_some(nowhere),
            Err(stop) => stop,
        };
        self.finish(reason, &packet, frames, fx);
        packet.work
    }
}

impl<F: Frames> Executor<'_, F> {
    /// Runs the steps of a program, each by the operation that the interpreter has for it.
    fn run_program(&mut self, it: ClassifiedFrame, number: u32) -> Result<(), Stop> {
        let mut outside = [Outside::default(); DEPTH_MAX];
        let mut next = 0;
        loop {
            let program = self.switch.tables.program(number);
            let Some(&step) = program.and_then(|program| program.steps.get(next)) else {
                return Ok(());
            };
            next += 1;
            match step {
                Step::Send { place, queue, cookie } => {
                    (self.packet.queue, self.packet.cookie) = (queue.into(), cookie);
                    self.send(place.into())?;
                }
                Step::SendBack { queue, cookie } => {
                    (self.packet.queue, self.packet.cookie) = (queue.into(), cookie);
                    self.send_back()?;
                }
                Step::Group(_) | Step::Bucket { .. } => {
                    if let Some(general) = &mut self.switch.general {
                        general.count_step(step, self.packet.frame_bytes);
                    }
                }
                Step::Change(place) => {
                    let change = program.map(|program| program.changes[usize::from(place)]);
                    let failed = change.filter(|it| self.change(it.edit).is_err());
                    let Some(failed) = failed else { continue };
                    self.report_failed(it, failed);
                    self.packet.work.actions -= u32::from(failed.skipped);
                    if failed.next == THE_END {
                        return Err(Some(DropReason::NoOutput));
                    }
                    next = failed.next.into();
                }
                Step::Open(depth) => {
                    let tunnel = self.packet.key.tunnel_id();
                    outside[usize::from(depth)] = (self.open_copy(depth.into()), tunnel);
                }
                Step::Close(depth) => {
                    let (looks, tunnel) = outside[usize::from(depth)];
                    self.close_copy(depth.into(), looks);
                    self.packet.key.set_tunnel_id(tunnel);
                }
                Step::Choose { first, count } => next = self.choose(number, first, count).into(),
                Step::Actions(count) => self.packet.work.actions += u32::from(count),
                Step::GoTo(step) => next = step.into(),
            }
        }
    }

    /// The first step of the bucket that the headers of the frame choose.
    fn choose(&self, number: u32, first: u16, count: u16) -> u16 {
        let bytes = match &self.switch.general {
            Some(general) if self.packet.edited => general.buffer.bytes(),
            _ => self.frames.bytes(self.packet.frame),
        };
        let key = Layers::locate(bytes).key(bytes, self.packet.in_port).unwrap_or_default();
        let Some(program) = self.switch.tables.program(number) else { return THE_END };
        let from = usize::from(first);
        let choices = &program.choices[from..from + usize::from(count)];
        let ticket = ticket(&key, choices.last().map_or(0, |last| last.below));
        let chosen = choices.iter().find(|Choice { below, .. }| ticket < *below);
        chosen.map_or(THE_END, |choice| choice.at)
    }

    /// A time to live has ended: controllers hear of it, with what the entry at hand has written.
    #[cold]
    fn report_failed(&mut self, it: ClassifiedFrame, change: Change) {
        let Self { switch, packet, .. } = self;
        let (path, hops) = switch.tables.compiled(it.slot);
        let entry = |stage: u8| {
            let (table, slot) = (hops.tables[usize::from(stage)], hops.slots[usize::from(stage)]);
            let state = switch.tables.get(path.level_of(table), table);
            state.map(|state| state.table().entry(slot))
        };
        let written = (0..change.stage).filter_map(|stage| entry(stage)?.behaviour.metadata);
        written.for_each(|(value, mask)| packet.key.set_metadata(value, mask));
        let stage = change.stage.min(path.stages - 1);
        packet.table = hops.tables[usize::from(stage)];
        // In a bucket it ends the bucket's copy alone; behind the last stage is the action set.
        let is_own = change.next == THE_END && change.stage == stage;
        let own = entry(stage).filter(|_| is_own);
        packet.entry_cookie = own.map_or(NO_COOKIE, |entry| entry.cookie);
        self.report_expired();
        self.packet.key.set_metadata(0, u64::MAX);
    }
}
