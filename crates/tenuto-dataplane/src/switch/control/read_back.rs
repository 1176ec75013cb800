//! Reading back: what is in the tables, and what was counted.

use super::task::{Task, is_asked_for};
use super::{Done, Request};
use crate::Effects;
use crate::switch::classifier::key::{PacketKey, Pattern};
use crate::switch::tables::TableState;
use crate::switch::tables::expiry::duration;
use crate::switch::{EntryCounter, PortState, Switch, SwitchEvent};
use tenuto_openflow::constants::{port, queue, table};
use tenuto_openflow::{
    Action, AggregateStats, BadRequest, Body, Description, ErrorCode, FixedText, FlowStats,
    FlowStatsRequest, Instruction, MultipartReply, MultipartRequest, PortStats, QueueOpFailed,
    QueueStats, ReplyBody, RequestBody, TableStats,
};
use tenuto_units::Instant;

impl Switch {
    /// Calls `visit` with the table, slot and state of every entry that a request asks for.
    fn for_each_entry(
        &self,
        level: u8,
        request: Option<&FlowStatsRequest>,
        mut visit: impl FnMut(u8, u32, TableState<'_>),
    ) {
        let pattern = request.and_then(|r| Pattern::from_match(&r.match_).ok());
        let some = pattern.filter(|pattern| pattern.mask != PacketKey::default());
        for id in 0..self.config.tables {
            let wanted = request.is_none_or(|r| r.table_id == table::ALL || r.table_id == id);
            let Some(state) = self.tables.get(level, id).filter(|_| wanted) else { continue };
            let table = state.table();
            let slots = match some {
                Some(pattern) => table.sorted(table.within(&pattern).collect()),
                None => table.entries().with_slots().map(|(slot, _)| slot).collect(),
            };
            for slot in slots {
                if request.is_none_or(|request| is_asked_for(table.entry(slot), request)) {
                    visit(id, slot, state);
                }
            }
        }
    }

    pub(super) fn flow_stats(
        &self,
        now: Instant,
        level: u8,
        request: Option<&FlowStatsRequest>,
    ) -> Vec<FlowStats> {
        let mut stats = Vec::new();
        self.for_each_entry(level, request, |table_id, slot, state| {
            stats.push(entry_stats(table_id, state, slot, self.shown_age(now, state, slot)));
        });
        stats
    }

    /// Seconds and nanoseconds since an entry came, where ages are shown.
    pub(super) fn shown_age(&self, now: Instant, state: TableState<'_>, slot: u32) -> (u32, u32) {
        match self.policy.shows_ages() {
            true => duration(now, state.age(slot).since),
            false => (0, 0),
        }
    }

    fn aggregate(&self, request: &FlowStatsRequest) -> AggregateStats {
        let mut sum = NOTHING;
        self.for_each_entry(0, Some(request), |_, slot, state| {
            add_up(&mut sum, state.counter(slot));
        });
        sum
    }

    fn check_flow_request(&self, request: &FlowStatsRequest) -> Result<Pattern, ErrorCode> {
        let pattern = Pattern::from_match(&request.match_)?;
        if request.table_id != table::ALL && !self.has_table(request.table_id) {
            return Err(BadRequest::BadTableId.into());
        }
        Ok(pattern)
    }

    pub(super) fn multipart(
        &mut self,
        request: Request,
        multipart: &MultipartRequest,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        // No request but that of table features can be longer than a message, and it need not say all
        // that tables can do: parts are not kept.
        if multipart.has_more() {
            return Err(BadRequest::MultipartBufferOverflow.into());
        }
        let now = request.now;
        let body = match &multipart.body {
            RequestBody::Flow(wanted) => {
                let pattern = self.check_flow_request(wanted)?;
                if self.put_off(request, 0, &pattern, Task::Read(wanted.clone())).is_none() {
                    return Ok(());
                }
                ReplyBody::Flow(self.flow_stats(now, 0, Some(wanted)))
            }
            RequestBody::GroupDesc => return self.read_groups(request, None, fx),
            RequestBody::Group { group_id } if self.policy.is_general() => {
                return self.read_groups(request, Some(*group_id), fx);
            }
            RequestBody::MeterConfig { meter_id } => {
                return self.read_meters(request, *meter_id, false, fx);
            }
            RequestBody::Meter { meter_id } => {
                return self.read_meters(request, *meter_id, true, fx);
            }
            RequestBody::TableFeatures(wanted) if self.policy.is_general() => {
                return self.read_table_features(request, wanted, fx);
            }
            RequestBody::Desc => ReplyBody::Desc(Box::new(self.description())),
            RequestBody::Table => {
                let on_paths = self.tables.looked_up_on_paths();
                let stats = (0..self.config.tables)
                    .filter(|&id| self.has_table(id))
                    .filter_map(|id| Some(table_stats(id, self.tables.get(0, id)?, &on_paths)));
                ReplyBody::Table(stats.collect())
            }
            RequestBody::PortStats { port_no } => {
                let alive = self.alive(now);
                let ports = self.chosen_ports(*port_no)?;
                ReplyBody::PortStats(ports.map(|port| port_stats(port, alive)).collect())
            }
            RequestBody::PortDescription => {
                let ports = (0..self.ports.len()).map(|place| self.described_port(place));
                ReplyBody::PortDescription(ports.collect())
            }
            RequestBody::Aggregate(wanted) if self.policy.is_general() => {
                let pattern = self.check_flow_request(wanted)?;
                if self.put_off(request, 0, &pattern, Task::Sum(wanted.clone(), NOTHING)).is_none()
                {
                    return Ok(());
                }
                ReplyBody::Aggregate(self.aggregate(wanted))
            }
            other if self.policy.is_general() => self.general_reply(other, now)?,
            _ => return Err(BadRequest::BadMultipart.into()),
        };
        for part in (MultipartReply { flags: 0, body }).split() {
            self.answer(request, Body::MultipartReply(part), fx);
        }
        Ok(())
    }

    /// What only a general switch answers.
    fn general_reply(&self, body: &RequestBody, now: Instant) -> Result<ReplyBody, ErrorCode> {
        Ok(match body {
            RequestBody::Queue { port_no, queue_id } => {
                ReplyBody::Queue(self.queue_stats((*port_no, *queue_id), self.alive(now))?)
            }
            RequestBody::GroupFeatures => ReplyBody::GroupFeatures(self.group_features()),
            RequestBody::MeterFeatures => ReplyBody::MeterFeatures(self.meter_features()),
            RequestBody::Experimenter { .. } => return Err(BadRequest::BadExperimenter.into()),
            _ => return Err(BadRequest::BadMultipart.into()),
        })
    }

    /// The ports that a request asks for. A planned switch has an empty answer for one that is not
    /// there.
    fn chosen_ports(&self, number: u32) -> Result<impl Iterator<Item = &PortState>, ErrorCode> {
        let is_there = number == port::ANY || self.port_index.contains_key(&number);
        if self.policy.is_general() && !is_there {
            return Err(BadRequest::BadPort.into());
        }
        Ok(self.ports.iter().filter(move |p| number == port::ANY || p.number == number))
    }

    /// Seconds and nanoseconds since its ports and queues came, where ages are shown.
    fn alive(&self, now: Instant) -> (u32, u32) {
        self.policy.began.map_or((0, 0), |began| duration(now, began))
    }

    fn queue_stats(
        &self,
        (number, wanted): (u32, u32),
        (duration_sec, duration_nsec): (u32, u32),
    ) -> Result<Vec<QueueStats>, ErrorCode> {
        let mut stats = Vec::new();
        let ports = self.chosen_ports(number).map_err(|_| QueueOpFailed::BadPort)?;
        for port in ports {
            for (queue_id, counters) in (0..).zip(port.egress.queue_stats()) {
                if wanted == queue::ALL || wanted == queue_id {
                    stats.push(QueueStats {
                        port_no: port.number,
                        queue_id,
                        tx_bytes: counters.bytes,
                        tx_packets: counters.frames,
                        tx_errors: counters.refused,
                        duration_sec,
                        duration_nsec,
                    });
                }
            }
        }
        match stats.is_empty() && wanted != queue::ALL {
            true => Err(QueueOpFailed::BadQueue.into()),
            false => Ok(stats),
        }
    }

    fn description(&self) -> Description {
        let general = self.config.general.as_ref();
        Description {
            mfr_desc: FixedText::new("Tenuto"),
            hw_desc: FixedText::new("software switch"),
            sw_desc: FixedText::new(env!("CARGO_PKG_VERSION")),
            serial_num: FixedText::new(""),
            dp_desc: FixedText::new(general.map_or("", |general| &general.description)),
        }
    }
}

/// The sum over no entries.
const NOTHING: AggregateStats = AggregateStats { packet_count: 0, byte_count: 0, flow_count: 0 };

pub(super) fn add_up(sum: &mut AggregateStats, counter: EntryCounter) {
    sum.packet_count += counter.frames;
    sum.byte_count += counter.bytes;
    sum.flow_count += 1;
}

pub(super) fn entry_stats(
    table_id: u8,
    state: TableState<'_>,
    slot: u32,
    (duration_sec, duration_nsec): (u32, u32),
) -> FlowStats {
    let (entry, counter) = (state.table().entry(slot), state.counter(slot));
    FlowStats {
        table_id,
        duration_sec,
        duration_nsec,
        priority: entry.precedence,
        idle_timeout: entry.idle_timeout,
        hard_timeout: entry.hard_timeout,
        flags: entry.flags,
        cookie: entry.cookie,
        packet_count: counter.frames,
        byte_count: counter.bytes,
        match_: entry.matching.clone(),
        instructions: match state.is_spent(slot) {
            true => without_commands(&entry.instructions),
            false => entry.instructions.clone(),
        },
    }
}

/// Encap actions are gone once a packet has taken their commands along (\[Attendre\] section IV.C.2).
fn without_commands(instructions: &[Instruction]) -> Vec<Instruction> {
    let mut instructions = instructions.to_vec();
    for instruction in &mut instructions {
        if let Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) = instruction
        {
            actions.retain(|action| !matches!(action, Action::Encap(_)));
        }
    }
    instructions
}

fn table_stats(table_id: u8, state: TableState<'_>, on_paths: &[u64]) -> TableStats {
    let (lookup_count, matched_count) = state.lookups_and(on_paths);
    let active_count = u32::try_from(state.table().entries().len()).unwrap_or(u32::MAX);
    TableStats { table_id, active_count, lookup_count, matched_count }
}

/// Every frame that the port was offered is in one counter: of those that came in `rx_packets`, `rx_dropped`
/// or `rx_errors`; of those that were to leave, and do not wait, in `tx_packets` or `tx_dropped`.
fn port_stats(port: &PortState, (duration_sec, duration_nsec): (u32, u32)) -> PortStats {
    let sent = port.egress.stats();
    let c = &port.counters;
    let refused = c.malformed + c.signals_rejected + c.commands_rejected;
    PortStats {
        port_no: port.number,
        rx_packets: c.received.saturating_sub(refused),
        tx_packets: sent.frames.saturating_sub(c.not_taken),
        rx_bytes: c.received_bytes,
        tx_bytes: sent.bytes,
        rx_dropped: c.device.no_room + c.not_stored,
        tx_dropped: sent.refused + sent.purged + c.not_sent + c.not_taken,
        rx_errors: c.device.unfit + c.too_long + refused,
        duration_sec,
        duration_nsec,
        ..PortStats::default()
    }
}
