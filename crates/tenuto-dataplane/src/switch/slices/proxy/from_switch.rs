//! Messages of the switch, each for the slice that it concerns.

use super::requests::Whose;
use super::{ProxyEffects, ProxyEvent, ProxyPeer, Shadow, SliceProxy, match_bytes, queue};
use crate::switch::control::connection::Asynchronous;
use tenuto_openflow::constants::{NO_BUFFER, multipart_flag};
use tenuto_openflow::{
    Body, ErrorMessage, FlowMod, FlowModCommand, FlowRemoved, FlowRemovedReason, Message,
    MultipartReply, Oxm, PacketIn, PortReason, PortStats, PortStatus, ReplyBody,
};
use tenuto_units::Instant;

impl SliceProxy {
    /// One whole message of the switch.
    pub fn from_switch(&mut self, now: Instant, bytes: &[u8], out: &mut ProxyEffects) {
        let Ok(Message { xid, body }) = Message::parse(bytes) else { return };
        match body {
            Body::EchoRequest(data) => {
                Message::new(xid, Body::EchoReply(data)).emit(&mut out.to_switch);
            }
            Body::Error(error) => self.refused_by_switch(xid, error, out),
            Body::BarrierReply => {
                if let Some(asked) = self.requests.caught_up(xid) {
                    self.tell(asked.peer, asked.xid, Body::BarrierReply, out);
                }
            }
            Body::MultipartReply(reply) => self.reply(now, xid, reply, out),
            Body::PacketIn(packet_in) => self.packet_in(now, packet_in, out),
            Body::FlowRemoved(removed) => self.flow_removed(now, removed, out),
            Body::PortStatus(status) => self.port_status(&status, out),
            _ => {}
        }
    }

    fn refused_by_switch(&mut self, xid: u32, error: ErrorMessage, out: &mut ProxyEffects) {
        let Whose::Slice(key) = self.requests.whose(xid) else {
            out.events.push(ProxyEvent::SwitchRefused(error));
            return;
        };
        let Some(asked) = self.requests.asked(key) else { return };
        if asked.is_refused {
            return;
        }
        asked.is_refused = true;
        let (peer, own) = (asked.peer, asked.xid);
        let told = ErrorMessage { data: asked.head.clone(), ..error };
        self.tell(peer, own, Body::Error(told), out);
    }

    fn reply(&mut self, now: Instant, xid: u32, reply: MultipartReply, out: &mut ProxyEffects) {
        let key = match self.requests.whose(xid) {
            Whose::Slice(key) => key,
            Whose::Own => return self.audit_reply(reply, out),
            Whose::Nobody => return,
        };
        let is_last = reply.flags & multipart_flag::MORE == 0;
        let Some(asked) = self.requests.asked(key) else { return };
        let (peer, own) = (asked.peer, asked.xid);
        if let ReplyBody::Aggregate(part) = &reply.body {
            asked.sum.packet_count = asked.sum.packet_count.saturating_add(part.packet_count);
            asked.sum.byte_count = asked.sum.byte_count.saturating_add(part.byte_count);
            asked.sum.flow_count = asked.sum.flow_count.saturating_add(part.flow_count);
            if let Some(asked) = self.requests.answered(xid, key) {
                let body = ReplyBody::Aggregate(asked.sum);
                let reply = Body::MultipartReply(MultipartReply { flags: 0, body });
                self.answer(now, peer, own, reply, out);
            }
            return;
        }
        let is_whole = is_last && self.requests.answered(xid, key).is_some();
        let Some(body) = self.slices.get(peer.slice).and_then(|it| it.body_in(reply.body)) else {
            return;
        };
        let flags = if is_whole { 0 } else { multipart_flag::MORE };
        let reply = Body::MultipartReply(MultipartReply { flags, body });
        self.answer(now, peer, own, reply, out);
    }

    /// Hands on an answer, which counts as the slice's as the request did.
    fn answer(
        &mut self,
        now: Instant,
        peer: ProxyPeer,
        xid: u32,
        body: Body,
        out: &mut ProxyEffects,
    ) {
        let bytes = Message::new(xid, body).to_bytes();
        self.slices[peer.slice].switch.charge_slice(bytes.len(), now);
        queue(out, peer, &bytes);
    }

    fn packet_in(&mut self, now: Instant, packet_in: PacketIn, out: &mut ProxyEffects) {
        let owner = |it: &Shadow| it.places.table_in(packet_in.table_id);
        let found = self.slices.iter().enumerate().find_map(|(at, it)| Some((at, owner(it)?)));
        let Some((slice, table_id)) = found else { return };
        let it = &mut self.slices[slice];
        let in_port = packet_in.match_.oxms.iter().find_map(|oxm| match oxm {
            Oxm::InPort(port) => Some(*port),
            _ => None,
        });
        let is_own = in_port.is_some_and(|port| it.traffic.has_port(port));
        let reason = packet_in.reason;
        if !is_own
            || !it.switch.is_wanted(Asynchronous::PacketIn, reason.to_wire())
            || it.switch.exceeds_packet_ins(reason, packet_in.data.len(), now)
        {
            return;
        }
        let hearers = it.switch.hearers(Asynchronous::PacketIn, reason.to_wire());
        let whole = PacketIn { buffer_id: NO_BUFFER, table_id, ..packet_in };
        self.tell_all(slice, hearers, &Body::PacketIn(whole), out);
    }

    /// An entry is gone: from the shadow too, if it does not know.
    fn flow_removed(&mut self, now: Instant, removed: FlowRemoved, out: &mut ProxyEffects) {
        let owner = |it: &Shadow| it.places.table_in(removed.table_id);
        let found = self.slices.iter().enumerate().find_map(|(at, it)| Some((at, owner(it)?)));
        let Some((slice, table_id)) = found else { return };
        let timed_out = matches!(
            removed.reason,
            FlowRemovedReason::IdleTimeout | FlowRemovedReason::HardTimeout
        );
        let it = &mut self.slices[slice];
        if timed_out {
            let gone = FlowMod {
                priority: removed.priority,
                match_: removed.match_.clone(),
                ..FlowMod::new(FlowModCommand::DeleteStrict, table_id)
            };
            // Whatever is wrong with it, it is gone from the switch.
            let _ = it.switch.flow_mod(now, None, &gone, None, &mut self.fx);
            self.fx.channels.clear();
            self.fx.events.clear();
        }
        let key = (table_id, removed.priority, match_bytes(&removed.match_));
        if self.slices[slice].wants_end.remove(&key) {
            let reason = removed.reason.to_wire();
            let hearers = self.slices[slice].switch.hearers(Asynchronous::FlowRemoved, reason);
            let told = Body::FlowRemoved(FlowRemoved { table_id, ..removed });
            self.tell_all(slice, hearers, &told, out);
        }
    }

    fn port_status(&mut self, status: &PortStatus, out: &mut ProxyEffects) {
        let number = status.port.port_no;
        match status.reason {
            PortReason::Delete => self.ports.retain(|port| port.port_no != number),
            _ => match self.ports.iter_mut().find(|port| port.port_no == number) {
                Some(port) => *port = status.port,
                None => self.ports.push(status.port),
            },
        }
        let reason = status.reason.to_wire();
        let all = self.slices.iter().enumerate().filter(|(_, it)| it.traffic.has_port(number));
        for (slice, it) in all {
            let hearers = it.switch.hearers(Asynchronous::PortStatus, reason);
            self.tell_all(slice, hearers, &Body::PortStatus(*status), out);
        }
    }
}

impl Shadow {
    /// What a slice sees of a reply; `None` for what it did not ask for.
    fn body_in(&self, body: ReplyBody) -> Option<ReplyBody> {
        let places = self.places;
        let has = |port: u32| self.traffic.has_port(port);
        Some(match body {
            ReplyBody::Flow(all) => {
                let own = all.into_iter().filter_map(|it| places.flow_stats_in(it));
                ReplyBody::Flow(own.collect())
            }
            ReplyBody::Table(all) => {
                let own = all.into_iter().filter_map(|it| {
                    let table_id = places.table_in(it.table_id)?;
                    Some(tenuto_openflow::TableStats { table_id, ..it })
                });
                ReplyBody::Table(own.collect())
            }
            ReplyBody::PortStats(all) => {
                let own = all.into_iter().filter(|it| has(it.port_no));
                ReplyBody::PortStats(own.map(|it| self.counters_in(it)).collect())
            }
            ReplyBody::Queue(all) => {
                let is_own = |port| has(port) && !self.shared.contains(&port);
                ReplyBody::Queue(all.into_iter().filter(|it| is_own(it.port_no)).collect())
            }
            ReplyBody::Group(all) => {
                let own = all.into_iter().filter_map(|it| places.group_stats_in(it));
                ReplyBody::Group(own.collect())
            }
            ReplyBody::Meter(all) => {
                let own = all.into_iter().filter_map(|it| places.meter_stats_in(it));
                ReplyBody::Meter(own.collect())
            }
            ReplyBody::PortDescription(all) => {
                ReplyBody::PortDescription(all.into_iter().filter(|it| has(it.port_no)).collect())
            }
            _ => return None,
        })
    }

    /// Counters of a port; those of one that others have too are told as not there (OpenFlow 1.3.5, section 7.3.5.6).
    fn counters_in(&self, stats: PortStats) -> PortStats {
        if !self.shared.contains(&stats.port_no) {
            return stats;
        }
        PortStats {
            rx_packets: u64::MAX,
            tx_packets: u64::MAX,
            rx_bytes: u64::MAX,
            tx_bytes: u64::MAX,
            rx_dropped: u64::MAX,
            tx_dropped: u64::MAX,
            rx_errors: u64::MAX,
            tx_errors: u64::MAX,
            rx_frame_err: u64::MAX,
            rx_over_err: u64::MAX,
            rx_crc_err: u64::MAX,
            collisions: u64::MAX,
            ..stats
        }
    }
}
