//! Buffers: who opens one, and the frames in it (\[Attendre\] sections IV.C.1, IV.C.2, IV.C.5).

use crate::switch::actions::packet::EditSet;
use crate::switch::classifier::key::{PacketKey, Pattern};
use crate::switch::pipeline::executor::Executor;
use crate::switch::pipeline::{ActionSet, PacketContext};
use crate::switch::{Switch, SwitchEvent, Tables};
use crate::{DropReason, Effects, FrameId, Frames};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use tenuto_openflow::{BufferPhase, Match, Version};
use tenuto_units::Instant;

/// Packets that come back from the controller into one buffer, beside those that wait there: the
/// one that opened it, and where its timer fired, those that asked after it.
const FIRSTS_MAX: usize = 4;

/// A buffer over a table.
#[derive(Clone, Debug)]
pub(in crate::switch) struct KeptBuffer {
    pub(super) table: u8,
    pub(super) precedence: u16,
    pub(super) pattern: Pattern,
    /// The match, as far as it is known in the form of messages.
    pub(in crate::switch) matching: Match,
    /// The set that it waits for; `None` while the packet-in that opened it is unanswered.
    pub(in crate::switch) version: Option<Version>,
    /// Messages in that set.
    pub(in crate::switch) messages: u16,
    /// The packet-in that opened it; 0 for none.
    pub(in crate::switch) number: u64,
    /// The mode in force when it was opened.
    pub(super) level: u8,
    pub(in crate::switch) phase: BufferPhase,
    /// The end of its time; while it is released, when the next frame may leave.
    pub(in crate::switch) until: Instant,
    pub(in crate::switch) frames: VecDeque<Held>,
    /// How many of them, at the front, came back from the controller.
    pub(in crate::switch) firsts: usize,
}

/// A frame in a buffer, as it was when it got there.
#[derive(Clone, Debug)]
pub(in crate::switch) struct Held {
    pub(in crate::switch) frame: FrameId,
    pub(super) place: Option<usize>,
    pub(super) in_port: u32,
    pub(super) frame_bytes: u32,
    pub(super) queue: u32,
    pub(super) cookie: u64,
    pub(super) set: ActionSet,
    pub(super) metadata: u64,
    pub(super) tunnel: u64,
    /// Changes in its action set.
    pub(super) edits: Option<Box<EditSet>>,
}

impl Held {
    /// What decides how it goes on, with the identity of its frame.
    pub(in crate::switch) fn identify(&self, content: u64, hasher: &mut impl Hasher) {
        let Self { in_port, queue, cookie, set, metadata, tunnel, edits, .. } = self;
        (content, in_port, queue, cookie, set, metadata, tunnel).hash(hasher);
        edits.is_some().hash(hasher);
        if let Some(edits) = edits {
            let mut edits = edits.clone();
            while let Some(edit) = edits.take_next() {
                edit.hash(hasher);
            }
        }
    }
}

/// What somebody wants to be kept.
pub(in crate::switch) struct Asked {
    pub(in crate::switch) table: u8,
    pub(in crate::switch) precedence: u16,
    pub(in crate::switch) pattern: Pattern,
    pub(in crate::switch) matching: Match,
    pub(in crate::switch) version: Option<Version>,
    pub(in crate::switch) messages: u16,
}

impl Switch {
    /// A packet-in goes to a controller that will answer it with a message set: what comes later
    /// with the same headers waits (Fig. 5, line 22). Gives the number of the packet-in, or `None`
    /// if there is no room: then the packet-in is one of plain OpenFlow.
    pub(in crate::switch) fn open_for_packet_in(&mut self, packet: &PacketContext) -> Option<u64> {
        let pattern = Pattern { mask: PacketKey::ALL, value: packet.key };
        let (table, precedence) = (packet.table, u16::MAX);
        let attendre = self.general.as_mut()?.attendre.as_mut()?;
        let number = attendre.next_number;
        let until = packet.now + attendre.timeout;
        // Released packets that miss again keep their place: they wait for the next answer.
        if let Some(place) = attendre.find(table, precedence, &pattern) {
            let buffer = attendre.get_mut(place)?;
            if buffer.phase == BufferPhase::Waiting {
                return None;
            }
            (buffer.version, buffer.messages, buffer.number) = (None, 0, number);
            (buffer.phase, buffer.until) = (BufferPhase::Waiting, until);
        } else {
            let matching = packet.key.described();
            let (version, messages) = (None, 0);
            let asked = Asked { table, precedence, pattern, matching, version, messages };
            self.open_buffer(asked, number, packet.now)?;
        }
        self.general.as_mut()?.attendre.as_mut()?.next_number += 1;
        Some(number)
    }

    /// A command or an action asks for a buffer (Fig. 5, lines 4 to 14): not for a set that is
    /// complete, nor over an entry or buffer of a later one.
    pub(in crate::switch) fn open_for_set(&mut self, asked: Asked, now: Instant) {
        let level = Tables::level_of(asked.table, self.level, self.admitted);
        let entry = self.tables.get(level, asked.table).and_then(|state| {
            let slot = state.table().find(&asked.pattern, asked.precedence)?;
            state.table().entry(slot).version
        });
        let Some(attendre) = self.attendre_mut() else { return };
        let Some(version) = asked.version.filter(|v| !attendre.is_complete(*v)) else { return };
        if entry.is_some_and(|entry| version < entry) {
            return;
        }
        match attendre.find(asked.table, asked.precedence, &asked.pattern) {
            None => {
                self.open_buffer(asked, 0, now);
            }
            Some(place) => {
                let timeout = attendre.timeout;
                let Some(buffer) = attendre.get_mut(place) else { return };
                // A packet-in of the same headers has its own answer; an older set has been
                // overtaken by this one.
                if buffer.version.is_some_and(|older| older < version) {
                    (buffer.version, buffer.messages) = (Some(version), asked.messages);
                    (buffer.phase, buffer.until) = (BufferPhase::Waiting, now + timeout);
                }
            }
        }
    }

    fn open_buffer(&mut self, asked: Asked, number: u64, now: Instant) -> Option<u16> {
        let level = self.level;
        let attendre = self.attendre_mut()?;
        let Asked { table, precedence, pattern, matching, version, messages } = asked;
        let buffer = KeptBuffer {
            table,
            precedence,
            pattern,
            matching,
            version,
            messages,
            number,
            level,
            phase: BufferPhase::Waiting,
            until: now + attendre.timeout,
            frames: VecDeque::with_capacity(usize::from(attendre.limits.frames_each) + FIRSTS_MAX),
            firsts: 0,
        };
        attendre.open(table, precedence, pattern, buffer)
    }

    /// A raise to `level`: what waits at lower levels has no place any more (docs/theory/attendre.md,
    /// "What it costs the others").
    pub(in crate::switch) fn purge_buffers(
        &mut self,
        level: u8,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> u32 {
        let Some(attendre) = self.attendre_mut() else { return 0 };
        let mut purged = 0;
        for place in 0..attendre.buffers.len() {
            let is_lower = attendre.buffers[place].as_ref().is_some_and(|b| b.level < level);
            let place = u16::try_from(place).unwrap_or(u16::MAX);
            if let Some(buffer) = is_lower.then(|| attendre.close(place)).flatten() {
                purged += drop_all(buffer, DropReason::Purged, frames, fx);
            }
        }
        attendre.totals.purged += u64::from(purged);
        purged
    }

    /// Open buffers and the frames in them.
    pub fn buffered(&self) -> (usize, usize) {
        self.attendre().map_or((0, 0), super::Attendre::size)
    }

    pub(in crate::switch) fn attendre(&self) -> Option<&super::Attendre> {
        self.general.as_ref()?.attendre.as_ref()
    }

    pub(in crate::switch) fn attendre_mut(&mut self) -> Option<&mut super::Attendre> {
        self.general.as_mut()?.attendre.as_mut()
    }
}

impl<F: Frames> Executor<'_, F> {
    /// Puts the packet at hand into a buffer; the reason if it is full. The newest goes then: any
    /// other would be missing in the middle (docs/theory/attendre.md,
    /// "Why it always ends").
    pub(in crate::switch) fn keep(&mut self, place: u16) -> Option<DropReason> {
        let frame = self.frame_now();
        let Self { switch, packet, frames, set, .. } = self;
        let general = switch.general.as_mut()?;
        let attendre = general.attendre.as_mut()?;
        let limits = &attendre.limits;
        let is_full = attendre.frames >= usize::from(limits.frames_max);
        let each = usize::from(limits.frames_each);
        let buffer = attendre.buffers.get_mut(usize::from(place))?.as_mut()?;
        // What comes back from the controller was there before those that wait for its answer.
        let is_full = match packet.is_first {
            true => buffer.firsts >= FIRSTS_MAX,
            false => is_full || buffer.frames.len() - buffer.firsts >= each,
        };
        let Some(frame) = frame.filter(|_| !is_full) else {
            attendre.totals.overflowed += 1;
            return Some(DropReason::BufferFull);
        };
        let edits = match general.set.is_empty() {
            true => None,
            false => {
                let mut edits = attendre.spare_edits.pop().unwrap_or_default();
                (*edits).clone_from(&general.set);
                Some(edits)
            }
        };
        frames.retain(frame);
        let held = Held {
            frame,
            place: packet.place,
            in_port: packet.in_port,
            frame_bytes: packet.frame_bytes,
            queue: packet.queue,
            cookie: packet.cookie,
            set: *set,
            metadata: packet.key.metadata(),
            tunnel: packet.key.tunnel_id(),
            edits,
        };
        match packet.is_first {
            true => {
                buffer.frames.insert(buffer.firsts, held);
                buffer.firsts += 1;
            }
            false => buffer.frames.push_back(held),
        }
        attendre.frames += 1;
        attendre.totals.buffered += 1;
        None
    }
}

/// Drops every frame of a buffer; how many.
pub(super) fn drop_all(
    buffer: KeptBuffer,
    reason: DropReason,
    frames: &mut impl Frames,
    fx: &mut Effects<SwitchEvent>,
) -> u32 {
    let mut dropped = 0;
    for held in buffer.frames {
        let message = crate::switch::pipeline::message_of(frames.bytes(held.frame), held.cookie);
        let Held { in_port: port, cookie, frame_bytes, .. } = held;
        fx.drops.push(crate::Dropped { reason, port, cookie, message, frame_bytes });
        frames.release(held.frame);
        dropped += 1;
    }
    dropped
}
