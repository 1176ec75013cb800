//! What a switch has in its tables, for programs: entries and queues field by field, the rest as
//! its lines.

use super::dump::{Dump, DumpPart};
use super::dump_text::{TABLE_WATCH, detail_of, shown};
use super::trace_text::TraceNames;
use serde::Serialize;
use tenuto_openflow::constants::port;
use tenuto_openflow::{DelayRange, FlowStats, ModeStatus, QueueDetail, QueueStats, SliceStatus};

/// The parts that were asked for.
#[derive(Debug, Serialize)]
pub struct DumpDocument {
    /// Flow entries, with the mode in force.
    #[serde(flatten)]
    flows: Option<FlowsPart>,
    /// Lines of the groups and of what they counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<String>>,
    /// Lines of the meters and of what they counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    meters: Option<Vec<String>>,
    /// Lines of the ports and of what they counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    ports: Option<Vec<String>>,
    /// Queues and what they counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    queues: Option<Vec<QueueRow>>,
    /// Slices that share the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    slices: Option<Vec<SliceRow>>,
}

#[derive(Debug, Serialize)]
struct SliceRow {
    /// Name.
    name: String,
    /// Datapath id that its controllers see.
    datapath_id: u64,
    /// Port numbers.
    ports: Vec<u32>,
    /// Control connections.
    connections: u32,
    /// Entries in its tables.
    entries: u32,
    /// Frames that entered and are its own.
    received_packets: u64,
    /// Frames that left.
    sent_packets: u64,
    /// Frames that were to leave and are not its own.
    escaped_packets: u64,
    /// Messages of its controllers.
    messages: u64,
    /// Messages that reach out of it.
    messages_refused: u64,
    /// Messages above its budget.
    messages_limited: u64,
    /// Packet-ins above its budget.
    packet_ins_limited: u64,
}

impl SliceRow {
    fn new(of: &SliceStatus) -> Self {
        Self {
            name: of.name.to_string(),
            datapath_id: of.datapath_id,
            ports: of.ports.clone(),
            connections: of.connections,
            entries: of.entries,
            received_packets: of.received,
            sent_packets: of.sent,
            escaped_packets: of.escaped,
            messages: of.messages,
            messages_refused: of.refused,
            messages_limited: of.limited,
            packet_ins_limited: of.packet_ins_limited,
        }
    }
}

#[derive(Debug, Serialize)]
struct FlowsPart {
    /// The mode in force; null where there are no modes.
    mode: Option<ModeRow>,
    /// Entries in force, then those of other modes.
    flows: Vec<EntryRow>,
}

#[derive(Debug, Serialize)]
struct ModeRow {
    /// Generation of the plan.
    generation: u64,
    /// Epoch: how many changes there were.
    epoch: u64,
    /// Level that the switch forwards by.
    level: u8,
    /// Name of that level.
    name: Option<String>,
    /// Level that the edges admit.
    admitted_level: u8,
    /// Frames thrown away by changes.
    purged_frames: u64,
    /// Changes to a higher level.
    raises: u64,
    /// Returns to a lower one.
    returns: u64,
    /// Signals that were not of a neighbour, or old.
    signals_rejected: u64,
}

#[derive(Debug, Serialize)]
struct EntryRow {
    /// Table number.
    table: u8,
    /// Level with which the entry is in force; null for all of them.
    level: Option<u8>,
    /// Name of that level.
    mode: Option<String>,
    /// OpenFlow priority: the higher wins.
    priority: u16,
    /// Cookie.
    cookie: u64,
    /// Flow that the entry serves, where a plan names it.
    flow: Option<String>,
    /// Frames that the entry matched.
    packets: u64,
    /// Bytes of them.
    bytes: u64,
    /// The line of `ovs-ofctl`.
    entry: String,
}

#[derive(Debug, Serialize)]
struct QueueRow {
    /// Port number.
    port: Option<u32>,
    /// Queue number.
    queue: u32,
    /// Frames sent.
    sent_packets: u64,
    /// Bytes of them.
    sent_bytes: u64,
    /// Frames for which the buffer had no room.
    refused_packets: u64,
    /// Of switches that speak our messages only.
    #[serde(flatten)]
    detail: Option<QueueDetailRow>,
}

#[derive(Debug, Serialize)]
struct QueueDetailRow {
    /// Strict-priority level: 0 is served first.
    level: u8,
    /// Share among queues of the level.
    weight: u8,
    /// Frames that wait.
    waiting_packets: u32,
    /// Most frames that ever waited.
    waiting_packets_max: u32,
    /// Bytes on the wire that wait.
    waiting_wire_bytes: u64,
    /// Most bytes that ever waited.
    waiting_wire_bytes_max: u64,
    /// The longest delay.
    delay_ns_max: u64,
    /// Frames by delay.
    delays: Vec<DelayRow>,
}

#[derive(Debug, Serialize)]
struct DelayRow {
    /// The least delay of the range.
    from_ns: u64,
    /// The end of the range; null without end.
    below_ns: Option<u64>,
    /// Frames within.
    packets: u64,
}

impl DumpDocument {
    /// The document of the parts; `names` names flows and modes.
    pub fn of(tables: &Dump, parts: &[DumpPart], names: &dyn TraceNames) -> Self {
        let has = |part: DumpPart| parts.contains(&part);
        let lines = |part, lines: &dyn Fn() -> Vec<String>| has(part).then(lines);
        Self {
            flows: has(DumpPart::Flows).then(|| FlowsPart::of(tables, names)),
            groups: lines(DumpPart::Groups, &|| shown(&tables.groups, &tables.group_stats)),
            meters: lines(DumpPart::Meters, &|| shown(&tables.meters, &tables.meter_stats)),
            ports: lines(DumpPart::Ports, &|| shown(&tables.ports, &tables.port_stats)),
            queues: has(DumpPart::Queues).then(|| {
                tables.queues.iter().map(|it| QueueRow::of(it, detail_of(tables, it))).collect()
            }),
            slices: has(DumpPart::Slices)
                .then(|| tables.slices.iter().map(SliceRow::new).collect()),
        }
    }
}

impl FlowsPart {
    fn of(tables: &Dump, names: &dyn TraceNames) -> Self {
        let level =
            |entry: &FlowStats| tables.mode.filter(|_| entry.table_id != TABLE_WATCH).map(|_| 0);
        let first = tables.flows.iter().map(|entry| EntryRow::of(level(entry), entry, names));
        let shadows = tables.shadows.iter();
        let shadows = shadows.map(|(level, entry)| EntryRow::of(Some(*level), entry, names));
        Self {
            mode: tables.mode.map(|it| ModeRow::of(&it, names)),
            flows: first.chain(shadows).collect(),
        }
    }
}

impl ModeRow {
    fn of(it: &ModeStatus, names: &dyn TraceNames) -> Self {
        Self {
            generation: it.generation,
            epoch: it.epoch,
            level: it.level,
            name: names.mode(it.level),
            admitted_level: it.admitted_level,
            purged_frames: it.purged_frames,
            raises: it.raises,
            returns: it.returns,
            signals_rejected: it.signals_rejected,
        }
    }
}

impl EntryRow {
    fn of(level: Option<u8>, entry: &FlowStats, names: &dyn TraceNames) -> Self {
        Self {
            table: entry.table_id,
            level,
            mode: level.and_then(|level| names.mode(level)),
            priority: entry.priority,
            cookie: entry.cookie,
            flow: names.flow(entry.cookie),
            packets: entry.packet_count,
            bytes: entry.byte_count,
            entry: entry.to_string(),
        }
    }
}

impl QueueRow {
    fn of(it: &QueueStats, detail: Option<&QueueDetail>) -> Self {
        Self {
            port: (it.port_no != port::ANY).then_some(it.port_no),
            queue: it.queue_id,
            sent_packets: it.tx_packets,
            sent_bytes: it.tx_bytes,
            refused_packets: it.tx_errors,
            detail: detail.map(QueueDetailRow::of),
        }
    }
}

impl QueueDetailRow {
    fn of(it: &QueueDetail) -> Self {
        let range = |it: &DelayRange| DelayRow {
            from_ns: it.from_ns,
            below_ns: (it.below_ns != u64::MAX).then_some(it.below_ns),
            packets: it.frames,
        };
        Self {
            level: it.share.level,
            weight: it.share.weight,
            waiting_packets: it.frames,
            waiting_packets_max: it.frames_max,
            waiting_wire_bytes: it.wire_bytes,
            waiting_wire_bytes_max: it.wire_bytes_max,
            delay_ns_max: it.delay_ns_max,
            delays: it.delays.iter().map(range).collect(),
        }
    }
}
