//! Packets for the controllers, and packets that wait for their word (OpenFlow 1.3.5, section
//! 6.1.2).

use crate::switch::control::connection::{Asynchronous, Connection};
use crate::switch::meter::BandEffect;
use crate::switch::pipeline::PacketContext;
use crate::switch::pipeline::executor::Executor;
use crate::switch::{Switch, SwitchEvent, TraceStep};
use crate::{Effects, Frames};
use std::hash::{Hash, Hasher};
use tenuto_openflow::constants::{NO_BUFFER, controller_max_len, port_config};
use tenuto_openflow::{
    AttendreMessage, BadRequest, Body, ErrorCode, Experimenter, Match, Oxm, PacketIn,
    PacketInReason,
};
use tenuto_units::{Instant, Span};

/// A buffered packet may be replaced by another after this time (section 6.1.2: "a reasonable
/// amount of time").
const KEEP: Span = Span::from_s(1);

/// A packet that waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::switch) struct Waiting {
    id: u32,
    pub(in crate::switch) in_port: u32,
    pub(in crate::switch) bytes: Vec<u8>,
    since: Instant,
}

/// Packets that wait, each in the place that its number tells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::switch) struct PacketBuffers {
    places: Vec<Option<Waiting>>,
    max: usize,
    next: u32,
}

impl PacketBuffers {
    pub(in crate::switch) fn new(max: u16) -> Self {
        Self { places: Vec::new(), max: max.into(), next: 0 }
    }

    /// Keeps a packet; its number, or `None` if there is no room.
    fn keep(&mut self, now: Instant, in_port: u32, bytes: &[u8]) -> Option<u32> {
        if self.max == 0 {
            return None;
        }
        let is_free = |waiting: &Option<Waiting>| {
            waiting.as_ref().is_none_or(|waiting| now.since(waiting.since) >= KEEP)
        };
        let place = match self.places.iter().position(is_free) {
            Some(place) => place,
            None if self.places.len() < self.max => {
                self.places.push(None);
                self.places.len() - 1
            }
            None => return None,
        };
        // The number has the place in it, and never comes again soon.
        let count = u32::try_from(self.max).ok()?;
        let number = self.next.wrapping_mul(count).wrapping_add(u32::try_from(place).ok()?);
        self.next = (self.next + 1) % (NO_BUFFER / count);
        let bytes = bytes.to_vec();
        self.places[place] = Some(Waiting { id: number, in_port, bytes, since: now });
        Some(number)
    }

    /// What waits, relative to `now`, with the numbers that come next.
    pub(in crate::switch) fn identify(&self, now: Instant, hasher: &mut impl Hasher) {
        for waiting in &self.places {
            let waiting = waiting.as_ref();
            waiting.map(|w| (w.id, w.in_port, &w.bytes, now.since(w.since).min(KEEP))).hash(hasher);
        }
        self.next.hash(hasher);
    }

    /// What waits by its content alone: whoever calls packets by other numbers does the same with them.
    pub(in crate::switch) fn identify_unnumbered(&self, hasher: &mut impl Hasher) {
        let mut contents: Vec<(u32, &[u8])> =
            self.places.iter().flatten().map(|it| (it.in_port, &it.bytes[..])).collect();
        contents.sort_unstable();
        contents.hash(hasher);
    }

    /// The place of a packet in the order of contents, of equals in that of their numbers.
    pub(in crate::switch) fn rank(&self, id: u32) -> Option<usize> {
        let waiting = || self.places.iter().flatten();
        let key = |it: &Waiting| (it.in_port, it.bytes.clone(), it.id);
        let own = key(waiting().find(|it| it.id == id)?);
        Some(waiting().filter(|it| key(it) < own).count())
    }

    pub(in crate::switch) fn count(&self) -> usize {
        self.places.iter().flatten().count()
    }

    /// Whether a packet waits under this number.
    ///
    /// # Errors
    /// If it was taken or replaced before, or never was.
    pub(in crate::switch) fn check(&self, id: u32) -> Result<(), ErrorCode> {
        let Some(waiting) = self.place(id).and_then(|place| self.places.get(place)) else {
            return Err(BadRequest::BufferUnknown.into());
        };
        match waiting.as_ref().is_some_and(|waiting| waiting.id == id) {
            true => Ok(()),
            false => Err(BadRequest::BufferEmpty.into()),
        }
    }

    /// Takes a packet out.
    ///
    /// # Errors
    /// As [`PacketBuffers::check`].
    pub(in crate::switch) fn take(&mut self, id: u32) -> Result<Waiting, ErrorCode> {
        self.check(id)?;
        let place = self.place(id).ok_or(BadRequest::BufferUnknown)?;
        self.places[place].take().ok_or(BadRequest::BufferEmpty.into())
    }

    fn place(&self, id: u32) -> Option<usize> {
        usize::try_from(id).ok()?.checked_rem(self.max)
    }
}

/// What is known of a frame beside its bytes.
fn metadata_of(packet: &PacketContext) -> Match {
    let mut fields = vec![Oxm::InPort(packet.in_port)];
    let (metadata, tunnel) = (packet.key.metadata(), packet.key.tunnel_id());
    if metadata != 0 {
        fields.push(Oxm::Metadata { value: metadata, mask: None });
    }
    if tunnel != 0 {
        fields.push(Oxm::TunnelId { value: tunnel, mask: None });
    }
    Match::from(fields)
}

impl<F: Frames> Executor<'_, F> {
    /// Hands the frame to the controllers, at most `max_len` bytes of it.
    pub(in crate::switch) fn packet_in(&mut self, reason: PacketInReason, max_len: u16) {
        let Self { switch, packet, frames, fx, .. } = self;
        switch.note(|_| TraceStep::Controller { reason, max_len });
        if !switch.is_wanted(Asynchronous::PacketIn, reason.to_wire()) {
            if let Some(general) = &mut switch.general {
                general.packet_ins_unheard += 1;
            }
            return;
        }
        if switch.withholds(reason, packet) {
            return;
        }
        let Some(general) = &mut switch.general else { return };
        let bytes = match packet.edited {
            true => general.buffer.bytes_to_send(),
            false => frames.bytes(packet.frame),
        };
        let wants_all = max_len == controller_max_len::NO_BUFFER;
        let buffer_id = match wants_all || bytes.len() <= usize::from(max_len) {
            true => None,
            false => general.waiting.keep(packet.now, packet.in_port, bytes),
        };
        // What is not buffered goes to the controller whole, or it would be lost.
        let len = buffer_id.map_or(bytes.len(), |_| usize::from(max_len));
        let packet_in = PacketIn {
            buffer_id: buffer_id.unwrap_or(NO_BUFFER),
            total_len: u16::try_from(bytes.len()).unwrap_or(u16::MAX),
            reason,
            table_id: packet.table,
            cookie: packet.entry_cookie,
            match_: metadata_of(packet),
            data: bytes[..len].to_vec(),
        };
        switch.tell_packet_in(packet_in, packet, fx);
    }
}

impl Switch {
    /// Whether the port's configuration, its limit or the meter of the controller says no. The
    /// configuration is about table misses only (OpenFlow 1.3.5, section 7.2.1).
    fn withholds(&mut self, reason: PacketInReason, packet: &PacketContext) -> bool {
        let from = packet.place.map(|place| &self.ports[place]);
        let is_quiet = from.is_some_and(|port| port.config & port_config::NO_PACKET_IN != 0);
        if is_quiet && reason == PacketInReason::NoMatch {
            return true;
        }
        let extra = self.config.meter_extra_bytes;
        let Some(general) = &mut self.general else { return true };
        if let Some(place) = packet.place
            && let Some(limit) = general.packet_in_limits.get_mut(place)
            && !limit.takes_packet(packet.arrival)
        {
            general.packet_ins_limited += 1;
            return true;
        }
        let bits = u64::from(packet.frame_bytes - 4 + extra) * 8;
        general.controller_meter.as_mut().is_some_and(|meter| {
            meter.judge(packet.arrival, bits, packet.frame_bytes) == Some(BandEffect::Drop)
        }) || self.exceeds_packet_ins(packet.arrival)
    }

    /// A controller that answers with message sets gets its packet-in numbered: what follows with
    /// the same headers waits for the answer (Attendre, Fig. 5).
    fn tell_packet_in(
        &mut self,
        packet_in: PacketIn,
        packet: &PacketContext,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let (kind, reason) = (Asynchronous::PacketIn, packet_in.reason.to_wire());
        let hears = |c: &Connection| c.uses_attendre && c.wants(kind, reason);
        let number = match packet_in.reason == PacketInReason::NoMatch {
            true if self.connections.iter().any(hears) => self.open_for_packet_in(packet),
            _ => None,
        };
        let Some(number) = number else {
            return self.notify(kind, reason, &Body::PacketIn(packet_in), fx);
        };
        let numbered = AttendreMessage::PacketIn { number, packet_in: packet_in.clone() };
        let numbered = Body::Experimenter(Experimenter::Attendre(numbered));
        let plain = Body::PacketIn(packet_in);
        for connection in self.connections.iter().filter(|c| c.wants(kind, reason)) {
            let body = if connection.uses_attendre { &numbered } else { &plain };
            self.emit(connection.id, 0, body.clone(), fx);
        }
    }

    /// The reason for handing a frame to the controllers: it fell through to the table-miss entry,
    /// or an action said so.
    pub(in crate::switch) const fn packet_in_reason(packet: &PacketContext) -> PacketInReason {
        if packet.is_miss { PacketInReason::NoMatch } else { PacketInReason::Action }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_once_and_replaced_when_it_is_old() {
        let mut buffers = PacketBuffers::new(2);
        let at = |ms| Instant::ZERO + Span::from_ms(ms);
        let first = buffers.keep(at(0), 1, &[1]).expect("room");
        let second = buffers.keep(at(1), 1, &[2]).expect("room");
        assert_eq!(buffers.keep(at(2), 1, &[3]), None);
        assert_eq!(buffers.take(second).map(|w| w.bytes), Ok(vec![2]));
        assert_eq!(buffers.take(second), Err(BadRequest::BufferEmpty.into()));
        let third = buffers.keep(at(1_000), 1, &[3]).expect("the first is old");
        assert_eq!(buffers.take(first), Err(BadRequest::BufferEmpty.into()));
        assert_eq!(buffers.take(third).map(|w| w.bytes), Ok(vec![3]));
        assert_eq!(PacketBuffers::new(2).take(0), Err(BadRequest::BufferUnknown.into()));
        assert_eq!(PacketBuffers::new(0).take(7), Err(BadRequest::BufferUnknown.into()));
    }
}
