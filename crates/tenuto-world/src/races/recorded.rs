//! Runs of our own controller, from what it heard and told.
//!
//! The record has no look-ups but those that were asked about: a packet-in says that no entry matched. When a switch
//! carried a message out is not known, so nothing is taken from the order of the record.

use super::classic_messages::{field, packet};
use super::event::{Access, Command, Event, EventKind, FlowEntry, Run, Write};
use super::matching::Matching;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use tenuto_openflow::{
    Action, AttendreMessage, Body, Experimenter, FlowMod, FlowModCommand, Instruction, Message,
    Oxm, PacketIn,
};

/// What the first line of a record says.
const RECORD: &str = "tenuto controller";
const VERSION: u32 = 1;
/// Messages of a record at most.
const MESSAGES_MAX: usize = 100_000;
/// Where a flow-mod has its match (OpenFlow 1.3.5, section 7.3.4.1).
const MATCH_AT: usize = 48;
const BASIC_CLASS: u16 = 0x8000;
const VLAN_PRESENT: u128 = 0x1000;
const CHECK_OVERLAP: u16 = 1 << 1;
const ANY_PORT: u32 = 0xffff_ffff;

/// A message that the controller has heard or told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// When.
    pub at_ns: u64,
    /// The switch.
    pub datapath: u64,
    /// Whether the switch has said it.
    pub heard: bool,
    /// Of a message that was told: the place of the one that it answers, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<u64>,
    /// Its bytes, two digits each.
    pub message: String,
}

#[derive(Serialize, Deserialize)]
struct Head {
    record: String,
    version: u32,
}

impl Record {
    /// A message at its time.
    pub fn new(at_ns: u64, datapath: u64, heard: bool, because: Option<u64>, body: &Body) -> Self {
        let mut message = String::new();
        for byte in Message::new(0, body.clone()).to_bytes() {
            let _ = write!(message, "{byte:02x}");
        }
        Self { at_ns, datapath, heard, because, message }
    }

    /// The line above all records.
    pub fn head() -> String {
        serde_json::json!({ "record": RECORD, "version": VERSION }).to_string()
    }

    /// Its line.
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Whether a text begins as a record does.
pub fn is_record(text: &str) -> bool {
    let head = text.lines().next().and_then(|line| serde_json::from_str::<Head>(line).ok());
    head.is_some_and(|head| head.record == RECORD && head.version == VERSION)
}

/// Reads a record.
///
/// # Errors
/// With line, field and what was meant.
pub fn read_record(text: &str) -> Result<Run, String> {
    if !is_record(text) {
        return Err(format!("line 1: {} is meant", Record::head()));
    }
    let mut reading = Reading::default();
    for (number, line) in (2..).zip(text.lines().skip(1)) {
        let wrong = |why: String| format!("line {number}: {why}");
        let record: Record = serde_json::from_str(line)
            .map_err(|error| wrong(format!("a message heard or told is meant: {error}")))?;
        if reading.heard_at.len() >= MESSAGES_MAX {
            return Err(wrong(format!("a record has at most {MESSAGES_MAX} messages")));
        }
        reading.take(&record).map_err(wrong)?;
    }
    Ok(reading.run)
}

/// What a record has said so far.
#[derive(Default)]
struct Reading {
    run: Run,
    /// Of each message: the event in which the controller heard it.
    heard_at: Vec<Option<usize>>,
    /// What each packet that was asked about is told last: the number under which it goes on.
    released: BTreeMap<Vec<u8>, (u64, u64)>,
    /// Barriers that each switch has not confirmed yet; they are confirmed in order.
    barriers: BTreeMap<u64, VecDeque<usize>>,
    /// Switch and packet of each packet-in, by its place.
    asked: BTreeMap<u64, (u64, Vec<u8>)>,
    next: u64,
}

impl Reading {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn take(&mut self, record: &Record) -> Result<(), String> {
        let bytes = bytes_of(&record.message)?;
        let message = Message::parse(&bytes)
            .map_err(|error| format!("field message: OpenFlow 1.3 is meant: {error}"))?;
        match record.heard {
            true => self.hear(record, &message.body),
            false => self.tell(record, &message.body, &bytes)?,
        }
        Ok(())
    }

    fn push(&mut self, event: Event) -> usize {
        self.run.events.push(event);
        self.run.events.len() - 1
    }

    fn event(&mut self, record: &Record, kind: EventKind, note: String) -> Event {
        Event {
            id: self.number(),
            kind,
            datapath: Some(record.datapath),
            packet_in: None,
            packets_out: Vec::new(),
            message_in: None,
            messages_out: Vec::new(),
            accesses: Vec::new(),
            note,
        }
    }

    /// A switch has said something: what it did before, and the controller's hearing of it.
    fn hear(&mut self, record: &Record, body: &Body) {
        let at_s = seconds(record.at_ns);
        let said = self.number();
        let mut event = self.event(record, EventKind::Passed, told(body));
        event.messages_out.push(said);
        if let Some(asked) = packet_in(body) {
            event.kind = EventKind::PacketHandled;
            if let Some(packet) = packet_of(asked) {
                event.accesses.push((Access::Read { packet, entry: None }, at_s));
            }
            // The same packet, from another switch: it has gone on from there.
            let before = self.released.get(&asked.data);
            event.packet_in =
                before.filter(|(at, _)| *at != record.datapath).map(|(_, number)| *number);
            let place = self.heard_at.len() as u64;
            self.asked.insert(place, (record.datapath, asked.data.clone()));
        }
        if matches!(body, Body::BarrierReply)
            && let Some(barrier) =
                self.barriers.get_mut(&record.datapath).and_then(VecDeque::pop_front)
        {
            let confirmed = self.number();
            self.run.events[barrier].messages_out.push(confirmed);
            event.message_in = Some(confirmed);
        }
        self.push(event);
        let mut heard = self.event(record, EventKind::Passed, "the controller".into());
        heard.message_in = Some(said);
        let heard = self.push(heard);
        self.heard_at.push(Some(heard));
    }

    fn tell(&mut self, record: &Record, body: &Body, bytes: &[u8]) -> Result<(), String> {
        let at_s = seconds(record.at_ns);
        self.heard_at.push(None);
        let number = self.number();
        if let Some(because) = record.because {
            let place = usize::try_from(because).ok().and_then(|at| *self.heard_at.get(at)?);
            let place =
                place.ok_or_else(|| format!("field because: message {because} was not heard"))?;
            self.run.events[place].messages_out.push(number);
        }
        let kind = match body {
            Body::BarrierRequest => EventKind::Barrier,
            _ => EventKind::MessageHandled,
        };
        let mut event = self.event(record, kind, told(body));
        event.message_in = Some(number);
        if let Body::FlowMod(it) = body {
            event.accesses.push((Access::Write(write(it, bytes)), at_s));
        }
        // What the switch that asked is told may let its packet go on.
        let asked = record.because.and_then(|because| self.asked.get(&because));
        let own = asked.filter(|(datapath, _)| *datapath == record.datapath);
        let data = own.map(|(_, data)| data.clone());
        if let (Some(data), Body::FlowMod(_) | Body::PacketOut(_)) = (data, body) {
            let goes_on = self.number();
            event.packets_out.push(goes_on);
            self.released.insert(data, (record.datapath, goes_on));
        }
        let place = self.push(event);
        if kind == EventKind::Barrier {
            self.barriers.entry(record.datapath).or_default().push_back(place);
        }
        Ok(())
    }
}

fn seconds(at_ns: u64) -> f64 {
    at_ns as f64 / 1e9
}

fn told(body: &Body) -> String {
    Message::new(0, body.clone()).to_string()
}

fn bytes_of(text: &str) -> Result<Vec<u8>, String> {
    let wrong = || "field message: pairs of hexadecimal digits are meant".to_owned();
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return Err(wrong());
    }
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| wrong());
    (0..text.len()).step_by(2).map(pair).collect()
}

fn packet_in(body: &Body) -> Option<&PacketIn> {
    match body {
        Body::PacketIn(it) => Some(it),
        Body::Experimenter(Experimenter::Attendre(AttendreMessage::PacketIn {
            packet_in, ..
        })) => Some(packet_in),
        _ => None,
    }
}

/// The fields of a packet that was asked about, under the numbers of OpenFlow 1.3. Those of IPv6 are left out.
fn packet_of(asked: &PacketIn) -> Option<Matching> {
    let in_port = asked.match_.oxms.iter().find_map(|oxm| match oxm {
        Oxm::InPort(port) => Some(*port),
        _ => None,
    });
    let classic = packet(&asked.data, in_port)?;
    let mut found = Matching::default();
    let is_arp = classic.get(field::ETH_TYPE) == Some(0x0806);
    let ports = match classic.get(field::PROTOCOL) {
        Some(17) => (15, 16),
        Some(1) => (19, 20),
        _ => (13, 14),
    };
    let names = [
        (field::IN_PORT, 0),
        (field::ETH_DST, 3),
        (field::ETH_SRC, 4),
        (field::ETH_TYPE, 5),
        (field::VLAN_PCP, 7),
        (field::PROTOCOL, if is_arp { 21 } else { 10 }),
        (field::NET_SRC, if is_arp { 22 } else { 11 }),
        (field::NET_DST, if is_arp { 23 } else { 12 }),
        (field::PORT_SRC, ports.0),
        (field::PORT_DST, ports.1),
    ];
    for (from, to) in names {
        if let Some(value) = classic.get(from) {
            found.exact(to, value);
        }
    }
    let vlan = classic.get(field::VLAN).filter(|vlan| *vlan != 0xffff);
    found.exact(6, vlan.map_or(0, |vlan| vlan | VLAN_PRESENT));
    if let Some(tos) = classic.get(field::TOS) {
        found.exact(8, tos >> 2);
        found.exact(9, tos & 3);
    }
    Some(found)
}

fn write(it: &FlowMod, bytes: &[u8]) -> Write {
    let is_strict =
        |command| matches!(command, FlowModCommand::ModifyStrict | FlowModCommand::DeleteStrict);
    let is_strict = is_strict(it.command);
    let command = match it.command {
        FlowModCommand::Add => Command::Add,
        FlowModCommand::Modify | FlowModCommand::ModifyStrict => Command::Modify { is_strict },
        FlowModCommand::Delete | FlowModCommand::DeleteStrict => Command::Delete { is_strict },
    };
    let length = usize::from(u16_at(bytes, MATCH_AT + 2));
    let behind = MATCH_AT + length.next_multiple_of(8);
    Write {
        command,
        entry: FlowEntry {
            matching: matching(bytes.get(MATCH_AT + 4..MATCH_AT + length).unwrap_or_default()),
            priority: it.priority,
            actions: bytes.get(behind..).unwrap_or_default().to_vec(),
            outputs: outputs(it),
        },
        out_port: Some(it.out_port).filter(|port| *port != ANY_PORT),
        checks_overlap: it.flags & CHECK_OVERLAP != 0,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |pair| u16::from_be_bytes(*pair))
}

/// The basic fields of a match, each with a head of class, number and length in front.
fn matching(mut fields: &[u8]) -> Matching {
    let mut found = Matching::default();
    while let Some((&[c, d, name, len], behind)) = fields.split_first_chunk() {
        let Some((payload, rest)) = behind.split_at_checked(usize::from(len)) else { break };
        fields = rest;
        if u16::from_be_bytes([c, d]) != BASIC_CLASS {
            continue;
        }
        let number =
            |part: &[u8]| part.iter().fold(0, |value, byte| value << 8 | u128::from(*byte));
        match name & 1 == 1 {
            false => found.exact(name >> 1, number(payload)),
            true => {
                let (value, mask) = payload.split_at(payload.len() / 2);
                found.insert(name >> 1, number(value), number(mask));
            }
        }
    }
    found
}

fn outputs(it: &FlowMod) -> Vec<u32> {
    let lists = it.instructions.iter().filter_map(|instruction| match instruction {
        Instruction::ApplyActions(list) | Instruction::WriteActions(list) => Some(list),
        _ => None,
    });
    let port = |action: &Action| match action {
        Action::Output { port, .. } => Some(*port),
        _ => None,
    };
    lists.flatten().filter_map(port).collect()
}
