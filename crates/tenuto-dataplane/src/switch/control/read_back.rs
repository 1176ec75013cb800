//! Reading back: what is in the tables, and what was counted.

use super::Done;
use super::flow_mods::sends_to;
use crate::Effects;
use crate::switch::key::Pattern;
use crate::switch::meter::MeterConfig;
use crate::switch::table::Entry;
use crate::switch::tables::EntryCounter;
use crate::switch::{MeterState, PortState, Switch, SwitchEvent};
use tenuto_openflow::constants::{meter, meter_flag, port, port_state, table};
use tenuto_openflow::{
    BadRequest, Body, FixedText, FlowStats, FlowStatsRequest, GroupDescription, Message, MeterBand,
    MultipartReply, MultipartRequest, ReplyBody, RequestBody,
};

impl Switch {
    pub(super) fn flow_stats(
        &self,
        level: u8,
        request: Option<&FlowStatsRequest>,
    ) -> Vec<FlowStats> {
        let pattern = request.and_then(|r| Pattern::from_match(&r.match_).ok());
        let mut stats = Vec::new();
        for id in 0..self.config.tables {
            let wanted = request.is_none_or(|r| r.table_id == table::ALL || r.table_id == id);
            let Some(state) = self.tables.get(level, id).filter(|_| wanted) else { continue };
            for (entry, counter) in state.table().entries().iter().zip(state.counters()) {
                let in_cookie = request
                    .is_none_or(|r| entry.cookie & r.cookie_mask == r.cookie & r.cookie_mask);
                let sends = request.is_none_or(|r| sends_to(entry, r.out_port, r.out_group));
                if in_cookie && sends && pattern.is_none_or(|p| entry.pattern.is_within(&p)) {
                    stats.push(entry_stats(id, entry, *counter));
                }
            }
        }
        stats
    }

    pub(super) fn multipart(
        &mut self,
        xid: u32,
        request: &MultipartRequest,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        self.settle();
        let body = match &request.body {
            RequestBody::Flow(request) => {
                Pattern::from_match(&request.match_)?;
                if request.table_id != table::ALL && request.table_id >= self.config.tables {
                    return Err(BadRequest::BadTableId.into());
                }
                ReplyBody::Flow(self.flow_stats(0, Some(request)))
            }
            RequestBody::GroupDesc => ReplyBody::GroupDesc(
                self.groups
                    .iter()
                    .map(|(&group_id, state)| GroupDescription {
                        type_: state.type_,
                        group_id,
                        buckets: state.sent.clone(),
                    })
                    .collect(),
            ),
            RequestBody::MeterConfig { meter_id } => ReplyBody::MeterConfig(
                self.meters()
                    .filter(|(id, _)| *meter_id == meter::ALL || id == meter_id)
                    .map(|(meter_id, state)| described_meter(meter_id, state))
                    .collect(),
            ),
            _ => return self.statistics(xid, request, fx),
        };
        emit_reply(xid, body, fx);
        Ok(())
    }

    fn statistics(
        &self,
        xid: u32,
        request: &MultipartRequest,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let body = match &request.body {
            RequestBody::Desc => ReplyBody::Desc(Box::new(tenuto_openflow::Description {
                mfr_desc: FixedText::new("Tenuto"),
                hw_desc: FixedText::new("software switch"),
                sw_desc: FixedText::new(env!("CARGO_PKG_VERSION")),
                serial_num: FixedText::new(""),
                dp_desc: FixedText::new(""),
            })),
            RequestBody::Table => ReplyBody::Table(
                (0..self.config.tables)
                    .filter_map(|table_id| {
                        let state = self.tables.get(0, table_id)?;
                        let matched_count = state.counters().iter().map(|c| c.frames).sum();
                        Some(tenuto_openflow::TableStats {
                            table_id,
                            active_count: u32::try_from(state.counters().len()).unwrap_or(u32::MAX),
                            lookup_count: matched_count,
                            matched_count,
                        })
                    })
                    .collect(),
            ),
            RequestBody::PortStats { port_no } => ReplyBody::PortStats(
                self.ports
                    .iter()
                    .filter(|p| *port_no == port::ANY || p.number == *port_no)
                    .map(port_stats)
                    .collect(),
            ),
            RequestBody::Meter { meter_id } => ReplyBody::Meter(
                self.meters()
                    .filter(|(id, _)| *meter_id == meter::ALL || id == meter_id)
                    .map(|(meter_id, state)| meter_stats(meter_id, state))
                    .collect(),
            ),
            RequestBody::PortDescription => ReplyBody::PortDescription(
                self.ports.iter().map(|p| described_port(p, self.config.mac().0)).collect(),
            ),
            _ => return Err(BadRequest::BadMultipart.into()),
        };
        emit_reply(xid, body, fx);
        Ok(())
    }
}

fn emit_reply(xid: u32, body: ReplyBody, fx: &mut Effects<SwitchEvent>) {
    for part in (MultipartReply { flags: 0, body }).split() {
        Message { xid, body: Body::MultipartReply(part) }.emit(&mut fx.control);
    }
}

fn entry_stats(table_id: u8, entry: &Entry, counter: EntryCounter) -> FlowStats {
    FlowStats {
        table_id,
        duration_sec: 0,
        duration_nsec: 0,
        priority: entry.precedence,
        idle_timeout: 0,
        hard_timeout: 0,
        flags: entry.flags,
        cookie: entry.cookie,
        packet_count: counter.frames,
        byte_count: counter.bytes,
        match_: entry.matching.clone(),
        instructions: entry.instructions.clone(),
    }
}

fn described_meter(meter_id: u32, state: &MeterState) -> tenuto_openflow::MeterConfig {
    let MeterConfig { rate_kbps, burst_kbit } = state.meter.config();
    tenuto_openflow::MeterConfig {
        flags: meter_flag::KBPS | meter_flag::BURST | meter_flag::STATS,
        meter_id,
        bands: vec![MeterBand::Drop { rate: rate_kbps, burst_size: burst_kbit }],
    }
}

fn meter_stats(meter_id: u32, state: &MeterState) -> tenuto_openflow::MeterStats {
    tenuto_openflow::MeterStats {
        meter_id,
        flow_count: 0,
        packet_in_count: state.seen.frames,
        byte_in_count: state.seen.bytes,
        duration_sec: 0,
        duration_nsec: 0,
        bands: vec![tenuto_openflow::BandStats {
            packet_band_count: state.dropped.frames,
            byte_band_count: state.dropped.bytes,
        }],
    }
}

fn port_stats(port: &PortState) -> tenuto_openflow::PortStats {
    let sent = port.egress.stats();
    let c = &port.counters;
    tenuto_openflow::PortStats {
        port_no: port.number,
        rx_packets: c.received,
        tx_packets: sent.frames,
        rx_bytes: c.received_bytes,
        tx_bytes: sent.bytes,
        rx_dropped: c.policed + c.unknown + c.out_of_mode + c.buffer_full,
        tx_dropped: sent.refused + sent.purged,
        rx_errors: c.malformed + c.signals_rejected,
        tx_errors: 0,
        rx_frame_err: 0,
        rx_over_err: 0,
        rx_crc_err: 0,
        collisions: 0,
        duration_sec: 0,
        duration_nsec: 0,
    }
}

fn described_port(state: &PortState, mac: [u8; 6]) -> tenuto_openflow::Port {
    let kbps = state.egress.config().rate.as_bps() / 1_000;
    let kbps = u32::try_from(kbps).unwrap_or(u32::MAX);
    tenuto_openflow::Port {
        port_no: state.number,
        hw_addr: mac,
        name: FixedText::new(&format!("p{}", state.number)),
        config: 0,
        state: port_state::LIVE,
        curr: 0,
        advertised: 0,
        supported: 0,
        peer: 0,
        curr_speed: kbps,
        max_speed: kbps,
    }
}
