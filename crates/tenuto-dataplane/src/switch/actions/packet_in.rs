//! Packets for the controllers (OpenFlow 1.3.5, section 6.1.2).

use crate::switch::control::connection::{Asynchronous, Connection};
use crate::switch::meter::BandEffect;
use crate::switch::pipeline::PacketContext;
use crate::switch::pipeline::executor::Executor;
use crate::switch::{Switch, SwitchEvent, TraceStep};
use crate::{Effects, Frames};
use tenuto_openflow::constants::{NO_BUFFER, controller_max_len, port_config};
use tenuto_openflow::{AttendreMessage, Body, Experimenter, Match, Oxm, PacketIn, PacketInReason};

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
