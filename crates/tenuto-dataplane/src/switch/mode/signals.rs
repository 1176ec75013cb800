//! Mode signals on the wire: who may send them, how many, and what the agent's wishes cause.

use super::swapped::Swapped;
use super::{ModeAction, ModeAgent};
use crate::switch::{PortRole, Switch, SwitchEvent};
use crate::{DropReason, Dropped, Effects, FrameId, Frames, Queued, SIGNAL_QUEUE, Work};
use tenuto_openflow::{Body, Experimenter, ModeEvent, ModeEventKind, ModesMessage};
use tenuto_units::{Instant, wire_bits};
use tenuto_wire::signal::SIGNAL_DST;
use tenuto_wire::{SignalFrame, SignalKind, SignalRepr, frame_bytes};

/// Signals that one link may carry per [`DWELL`](super::debts::DWELL): what the analysis charges to everybody.
pub(in crate::switch) fn signals_per_dwell(copies: u8, levels: u8, members: usize) -> u32 {
    #[allow(clippy::cast_possible_truncation)] // at most 64 members
    let members = members as u32;
    let levels = u32::from(levels);
    u32::from(copies) * ((2 * levels.saturating_sub(1)).max(4) + 2 * members)
}

impl Switch {
    pub(in crate::switch) fn receive_signal(
        &mut self,
        now: Instant,
        place: usize,
        frame: FrameId,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Work {
        let bytes = frames.bytes(frame);
        let work = Work { bytes: frame_bytes(bytes.len()), control_messages: 1, ..Work::default() };
        match self.verified(place, bytes) {
            Some(signal) => {
                self.ports[place].signal_seen = signal.sequence;
                let port = self.ports[place].number;
                let agent = self.agent.as_mut().expect("without one no signal is verified");
                if agent.receive(now, port, &signal, &mut self.mode_actions) {
                    self.carry_out(now, Some(port), frames, fx);
                } else {
                    self.reject_signal(now, place, frame_bytes(bytes.len()), fx);
                }
            }
            None => self.reject_signal(now, place, frame_bytes(bytes.len()), fx),
        }
        frames.release(frame);
        work
    }

    /// The signal if its port, form, key, sender and sequence entitle it.
    fn verified(&self, place: usize, bytes: &[u8]) -> Option<SignalRepr> {
        let PortRole::Trunk(key) = &self.config.ports[place].role else { return None };
        self.agent.as_ref()?;
        let frame = SignalFrame::parse(bytes).ok()?;
        let signal = frame.repr();
        let fresh = signal.sequence > self.ports[place].signal_seen;
        let foreign = frame.src() != self.config.mac();
        // The tag does not say whom it is for, which is always the same.
        let addressed = bytes.starts_with(&SIGNAL_DST.0);
        // Bytes behind the tag are nobody's word, and more than the analysis charges.
        let exact = bytes.len() == tenuto_wire::signal::SIGNAL_FRAME_LEN;
        (exact && addressed && fresh && foreign && frame.verify(key)).then_some(signal)
    }

    fn reject_signal(
        &mut self,
        now: Instant,
        place: usize,
        frame_bytes: u32,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let port = self.ports[place].number;
        let reason = DropReason::SignalRejected;
        self.report(Dropped { reason, port, cookie: 0, message: None, frame_bytes }, place, fx);
        fx.events.push(SwitchEvent::SignalRejected { port, at: now });
    }

    /// Carries out what the agent wants. Relayed signals do not go back to `from`.
    pub(in crate::switch) fn carry_out(
        &mut self,
        now: Instant,
        from: Option<u32>,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let mut actions = std::mem::take(&mut self.mode_actions);
        for action in actions.drain(..) {
            match action {
                ModeAction::Swap { level, admitted } => {
                    self.swap(now, level, admitted, frames, fx);
                }
                ModeAction::Flood(signal) => {
                    let back = from.filter(|_| signal.hops > 0);
                    for place in 0..self.ports.len() {
                        if Some(self.ports[place].number) != back {
                            self.send_signal(now, place, signal, frames, fx);
                        }
                    }
                }
                ModeAction::Reply(port, signal) => {
                    if let Some(&place) = self.port_index.get(&port) {
                        self.send_signal(now, place, signal, frames, fx);
                    }
                }
            }
        }
        self.mode_actions = actions;
    }

    fn send_signal(
        &mut self,
        now: Instant,
        place: usize,
        signal: SignalRepr,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let config = self.config.clone();
        let PortRole::Trunk(key) = &config.ports[place].role else { return };
        let Some(agent) = &self.agent else { return };
        let modes = agent.config();
        // Each copy of a question is answered, and what is repeated until it is heard needs no copies.
        let copies = match signal.kind {
            SignalKind::Answer | SignalKind::State | SignalKind::Known => 1,
            _ => agent.copies(),
        };
        let limit = signals_per_dwell(modes.copies, modes.levels, modes.members.len());
        for _ in 0..copies {
            let port = &mut self.ports[place];
            let mut buffer = [0; tenuto_wire::signal::SIGNAL_FRAME_LEN];
            port.signal_sent += 1;
            let signal = SignalRepr { sequence: port.signal_sent, ..signal };
            let len = signal.emit(config.mac(), key, &mut buffer);
            let sent = port.signal_credit.take(now, limit)
                && frames.insert(&buffer[..len]).is_some_and(|frame| {
                    let wire_bits = u32::try_from(wire_bits(frame_bytes(len))).unwrap_or(u32::MAX);
                    let queued = Queued { frame, wire_bits, cookie: 0, since: now };
                    let queued = port.egress.enqueue(SIGNAL_QUEUE, queued);
                    if queued.is_err() {
                        frames.release(frame);
                    }
                    queued.is_ok()
                });
            if !sent {
                let (reason, port) = (DropReason::BufferFull, port.number);
                let frame_bytes = frame_bytes(len);
                let dropped = Dropped { reason, port, cookie: 0, message: None, frame_bytes };
                self.report(dropped, place, fx);
            }
        }
    }

    /// The tables of other levels come into effect; what has lost its place leaves the queues.
    fn swap(
        &mut self,
        now: Instant,
        level: u8,
        admitted: u8,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let from = self.level;
        let changed = (level, admitted) != (self.level, self.admitted);
        // The last step of a return; to join at a lower level is none.
        let resumed = level == from && admitted < self.admitted;
        self.level = level;
        self.admitted = admitted;
        if !changed {
            return;
        }
        let purged = if level > from { self.purge_buffers(level, frames, fx) } else { 0 };
        self.raises += u64::from(level > from);
        self.returns += u64::from(resumed);
        let epoch = self.agent.as_ref().map_or(0, ModeAgent::epoch);
        let swapped =
            Swapped { at: now, epoch, from, to: level, admitted, purged, place: 0, turn: 0 };
        match level == from {
            true => self.swapped(swapped, fx),
            false => {
                self.end_purge(fx);
                self.begin_purge(swapped, frames, fx);
            }
        }
    }

    pub(in crate::switch) fn announce_violation(
        &self,
        now: Instant,
        monitor: u32,
        wanted: u8,
        fx: &mut Effects<SwitchEvent>,
    ) {
        self.announce_mode(now, ModeEventKind::Violation, self.level, wanted, monitor, 0, fx);
    }

    #[allow(clippy::too_many_arguments)] // the fields of one message
    pub(in crate::switch) fn announce_mode(
        &self,
        now: Instant,
        kind: ModeEventKind,
        from_level: u8,
        to_level: u8,
        monitor_id: u32,
        purged_frames: u32,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let Some(agent) = &self.agent else { return };
        let event = ModeEvent {
            kind,
            generation: agent.generation(),
            epoch: agent.epoch(),
            from_level,
            to_level,
            monitor_id,
            at_ns: now.as_ns(),
            purged_frames,
        };
        let body = Body::Experimenter(Experimenter::Modes(ModesMessage::ModeEvent(event)));
        for connection in self.connections.iter().filter(|c| c.auxiliary.is_none()) {
            self.emit(connection.id, 0, body.clone(), fx);
        }
    }
}
