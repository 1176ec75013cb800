//! The traffic source of one flow and its shaper.
//!
//! A release happens at an *eligible* instant plus a drawn jitter of 0 to J. Eligible instants are
//! at least a period apart, and lateness moves them: what was released late by x makes the next
//! instant at least x later (docs/theory/observation.md, "Releases"). So
//! two releases are at least T − J apart, T without jitter, however late the host is served.

use super::config::{Behaviour, Conduct, Form, SendError, SenderConfig};
use super::draw::Draw;
use super::events::{HostEvent, SenderCounters};
use super::framing::{Message, set_source};
use super::port::Port;
use crate::{Effects, Frames};
use std::collections::VecDeque;
use tenuto_units::{Instant, Span};
use tenuto_wire::Stamp;
use tenuto_wire::afdx::SequenceNumber;

/// Submitted messages that may wait for their release; a program that is further ahead of its
/// contract is told so.
pub const SHAPER_MESSAGES_MAX: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct Sender {
    config: SenderConfig,
    /// Places of its ports in the end system.
    copies: Vec<usize>,
    behaviour: Behaviour,
    /// Not before this instant the first periodic release; `None` while the source is stopped.
    started: Option<Instant>,
    /// Sizes of submitted messages.
    waiting: VecDeque<u32>,
    /// Eligible instant of the last release, moved by its lateness.
    last: Option<Instant>,
    planned: Option<Planned>,
    message_id: u32,
    number: SequenceNumber,
    draw: Draw,
    counters: SenderCounters,
}

/// What the end system lends to a release.
pub(super) struct Lent<'a, F> {
    pub(super) ports: &'a mut [Port],
    pub(super) scratch: &'a mut [u8],
    pub(super) frames: &'a mut F,
    pub(super) fx: &'a mut Effects<HostEvent>,
}

#[derive(Clone, Copy, Debug)]
struct Planned {
    eligible: Instant,
    at: Instant,
}

impl Sender {
    /// A stopped source; `config` has been checked against `ports`.
    pub(super) fn new(config: &SenderConfig, seed: u64, ports: &[Port]) -> Self {
        let place = |number: &u32| ports.iter().position(|p| p.number == *number);
        Self {
            copies: config.ports.iter().filter_map(place).collect(),
            behaviour: config.behaviours[0],
            started: None,
            waiting: VecDeque::with_capacity(SHAPER_MESSAGES_MAX),
            last: None,
            planned: None,
            message_id: 0,
            number: SequenceNumber::RESET,
            draw: Draw::of_flow(seed, config.flow),
            counters: SenderCounters::default(),
            config: config.clone(),
        }
    }

    pub(super) const fn flow(&self) -> u16 {
        self.config.flow
    }

    pub(super) const fn behaviour(&self) -> Behaviour {
        self.behaviour
    }

    pub(super) const fn counters(&self) -> SenderCounters {
        self.counters
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.planned.map(|p| p.at)
    }

    pub(super) fn start(&mut self, first: Instant) {
        self.started = Some(first);
        if self.planned.is_none() {
            self.plan_periodic(first);
        }
    }

    /// Submitted messages are still released.
    pub(super) fn stop(&mut self) {
        self.started = None;
        if self.waiting.is_empty() {
            self.planned = None;
        }
    }

    pub(super) fn set_behaviour(
        &mut self,
        now: Instant,
        conduct: Conduct,
    ) -> Result<(), SendError> {
        let flow = self.config.flow;
        let behaviour = match conduct {
            Conduct::Mode(mode) => {
                let modes = self.config.behaviours.len();
                let contract = self.config.behaviours.get(mode);
                *contract.ok_or(SendError::UnknownMode { flow, mode, modes })?
            }
            Conduct::Custom(behaviour) => {
                behaviour
                    .check(self.config.form)
                    .map_err(|error| SendError::Behaviour { flow, error })?;
                behaviour
            }
        };
        self.behaviour = behaviour;
        // A release that is due has happened but for the host's lateness; a later one moves to
        // where the new period puts it.
        if self.planned.is_some_and(|p| p.at > now) {
            match self.started {
                Some(first) if self.waiting.is_empty() => self.plan_periodic(first.max(now)),
                _ => self.plan_submitted(now),
            }
        }
        Ok(())
    }

    pub(super) fn submit(&mut self, now: Instant, bytes: u32) -> Result<(), SendError> {
        let (flow, limit) = (self.config.flow, SHAPER_MESSAGES_MAX);
        let bytes_max = self.behaviour.bytes_max;
        let fits = Behaviour { bytes_min: bytes, bytes_max: bytes, ..self.behaviour };
        fits.check(self.config.form).map_err(|error| SendError::Behaviour { flow, error })?;
        if bytes > bytes_max {
            return Err(SendError::Size { flow, bytes, bytes_max });
        }
        if self.waiting.len() >= limit {
            return Err(SendError::ShaperFull { flow, limit });
        }
        self.waiting.push_back(bytes);
        if self.planned.is_none() {
            self.plan_submitted(now);
        }
        Ok(())
    }

    /// Eligible at the earliest: a period after the last.
    fn eligible(&self, earliest: Instant) -> Instant {
        self.last.map_or(earliest, |last| earliest.max(last + self.behaviour.period))
    }

    fn plan_periodic(&mut self, earliest: Instant) {
        let eligible = self.eligible(earliest);
        let jitter = Span::from_ns(self.draw.up_to(self.behaviour.jitter.as_ns()));
        self.planned = Some(Planned { eligible, at: eligible + jitter });
    }

    /// Jitter is part of what a program does; none is added to it.
    fn plan_submitted(&mut self, now: Instant) {
        let eligible = self.eligible(now);
        self.planned = Some(Planned { eligible, at: eligible });
    }

    /// Releases the message that is due, if one is: all its frames into the egress queues.
    pub(super) fn release(&mut self, now: Instant, lent: &mut Lent<'_, impl Frames>) {
        let Some(due) = self.planned.take_if(|p| p.at <= now) else { return };
        let message = self.next_message(now);
        let count = message.frames(self.config.form);
        let lateness = now.since(due.at);
        self.counters.messages += 1;
        self.counters.lateness_max = self.counters.lateness_max.max(lateness);
        lent.fx.events.push(HostEvent::Released {
            flow: self.config.flow,
            message_id: message.stamp.message_id,
            planned: due.at,
            actual: now,
            bytes: message.bytes,
            frames: count,
        });
        self.enqueue(now, &message, count, lent);
        self.last = Some(due.eligible + lateness);
        if !self.waiting.is_empty() {
            self.plan_submitted(now);
        } else if let Some(first) = self.started {
            self.plan_periodic(first);
        }
    }

    /// A submitted message takes the place of a periodic one.
    fn next_message(&mut self, now: Instant) -> Message {
        let Behaviour { bytes_min, bytes_max, .. } = self.behaviour;
        let asked = self.waiting.pop_front().unwrap_or_else(|| {
            let above = self.draw.up_to(u64::from(bytes_max - bytes_min));
            bytes_min + u32::try_from(above).expect("the difference of two u32")
        });
        let bytes = match self.config.form {
            Form::Message => asked,
            Form::Datagram { sequenced } => Form::datagram_bytes(sequenced, asked),
        };
        let (message_id, number) = (self.message_id, self.number);
        self.message_id = message_id.wrapping_add(1);
        self.number = number.next();
        let stamp = Stamp { release: now, flow: self.config.flow, message_id };
        Message { stamp, number, bytes }
    }

    fn enqueue(
        &mut self,
        now: Instant,
        message: &Message,
        count: u32,
        lent: &mut Lent<'_, impl Frames>,
    ) {
        let Lent { ports, scratch, frames, fx } = lent;
        let owner = Some((self.config.flow, message.stamp.message_id));
        for sequence in 0..count {
            let len = message.write(&self.config, sequence, scratch);
            for &place in &self.copies {
                let port = &mut ports[place];
                set_source(scratch, port.mac);
                match port.send(now, self.behaviour.queue, &scratch[..len], owner, *frames, fx) {
                    Some(bytes) => {
                        self.counters.frames += 1;
                        self.counters.bytes += u64::from(bytes);
                    }
                    None => self.counters.refused += 1,
                }
            }
        }
    }
}
