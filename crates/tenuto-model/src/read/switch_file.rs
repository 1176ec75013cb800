//! The file of a stand-alone switch: what it is made of, as `tenuto switch FILE` reads it.

use super::reader::{Field, Reader};
use crate::quantity::{parse_rate_bps, parse_size_bytes, parse_time_ns};
use crate::yaml::{Place, Value};
use crate::{Diagnostics, Severity};

/// Distinct masks that a stand-alone switch may be told to take at most: a look-up then costs some
/// milliseconds, and more would be of no use to anybody.
pub const SWITCH_MASKS_MAX: u64 = 100_000;
/// Actions over all entries that it may be told to take at most: some 9 GB.
pub const SWITCH_ACTIONS_MAX: u64 = 100_000_000;

/// Buckets of one group that it may be told to take at most: what is accepted can be read back in one
/// message.
pub const SWITCH_BUCKETS_MAX: u64 = 1_000;
/// Times that it may be told to send one frame at most: an eighth of a second, at 2 us each.
pub const SWITCH_COPIES_MAX: u64 = 65_536;

/// A stand-alone switch as its file describes it; what the file leaves out is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchFile {
    /// What people call it.
    pub name: Option<String>,
    /// OpenFlow datapath id.
    pub datapath_id: Option<u64>,
    /// Its ports.
    pub ports: Vec<SwitchFilePort>,
    /// Controllers, and how many auxiliary connections each has.
    pub controllers: Vec<(String, u8)>,
    /// Where it can be connected to.
    pub listen: Vec<String>,
    /// Whether it forwards as a bridge without a controller.
    pub standalone: Option<bool>,
    /// Flow tables.
    pub tables: Option<u8>,
    /// Whether every table stays in the pipeline.
    pub fixed_tables: Option<bool>,
    /// Entries over all tables.
    pub entries: Option<u64>,
    /// Distinct masks over all tables.
    pub masks: Option<u64>,
    /// Actions over all entries.
    pub actions: Option<u64>,
    /// Buckets of one group.
    pub buckets: Option<u64>,
    /// Times that one frame is sent at most.
    pub copies: Option<u64>,
    /// Packet-ins of one port in a second; 0 for no limit.
    pub packet_in_rate: Option<u32>,
    /// Silence after which a controller is asked, nanoseconds.
    pub probe_ns: Option<u64>,
    /// Longest pause between attempts to connect, nanoseconds.
    pub backoff_max_ns: Option<u64>,
    /// Files for TLS: authority, certificate and key.
    pub tls: Option<[String; 3]>,
}

/// A port of a stand-alone switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchFilePort {
    /// The interface.
    pub interface: String,
    /// Its number; by place if left out.
    pub number: Option<u32>,
    /// How frames get in and out.
    pub kind: Option<String>,
    /// Paced rate.
    pub rate_bps: Option<u64>,
    /// Queues.
    pub queues: Option<u8>,
    /// Which of them share a level, as `--port` has it behind `levels=`.
    pub levels: Option<String>,
    /// Bytes that wait at most.
    pub buffer_bytes: Option<u64>,
    /// Capture, as `--tap` has it behind `PORT=`.
    pub tap: Option<String>,
}

/// Texts of a switch file that others judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchText {
    /// Where a controller is.
    Controller,
    /// Where to listen.
    Listen,
    /// Kind of a port.
    PortKind,
    /// Capture of a port.
    Tap,
    /// Which queues share a level.
    Levels,
}

/// Says what is wrong with a text, if anything is.
pub type JudgeText<'a> = &'a dyn Fn(SwitchText, &str) -> Result<(), String>;

const KEYS: [&str; 18] = [
    "tenuto_switch",
    "name",
    "datapath_id",
    "ports",
    "controllers",
    "listen",
    "fail_mode",
    "tables",
    "fixed_tables",
    "entries",
    "masks",
    "actions",
    "buckets",
    "copies",
    "packet_in_rate",
    "probe",
    "backoff_max",
    "tls",
];
const PORT_KEYS: [&str; 8] =
    ["interface", "number", "kind", "rate", "queues", "levels", "buffer", "tap"];

/// Reads the file of a stand-alone switch.
///
/// # Errors
/// Every problem of the file, not only the first.
pub fn read_switch(
    text: &str,
    path: &str,
    judge: JudgeText<'_>,
) -> Result<SwitchFile, Diagnostics> {
    let mut reader = Reader::default();
    let documents = reader.parse(path, text);
    let Some(node) = documents.iter().find(|node| node.get("tenuto_switch").is_some()) else {
        let place = documents.first().map_or_else(Place::default, |document| document.place);
        let hint = Some("the file of a switch starts with `tenuto_switch: 1`".to_owned());
        let message = "there is no switch in this file".to_owned();
        reader.report(Severity::Error, place, "", message, hint);
        return Err(reader.diagnostics);
    };
    let top = Field { node, path: String::new() };
    let file = read_top(&mut reader, &top, judge);
    reader.finish(Some(file)).map(|(file, _)| file)
}

fn read_top(reader: &mut Reader, top: &Field<'_>, judge: JudgeText<'_>) -> SwitchFile {
    reader.expect_map(top, &KEYS);
    if let Some(version) = top.get("tenuto_switch")
        && reader.text(&version).is_some_and(|text| text != "1")
    {
        let hint = "write `tenuto_switch: 1`";
        reader.error(&version, "this version of the format is not known", hint);
    }
    let modes = [("secure", false), ("standalone", true)];
    SwitchFile {
        name: top.get("name").and_then(|f| reader.title(&f)).map(str::to_owned),
        datapath_id: top.get("datapath_id").and_then(|f| read_datapath_id(reader, &f)),
        ports: read_ports(reader, top, judge),
        controllers: read_controllers(reader, top, judge),
        listen: judged_list(reader, top, "listen", |text| judge(SwitchText::Listen, text)),
        standalone: top.get("fail_mode").and_then(|f| reader.choice(&f, &modes)),
        tables: small(reader, top, "tables", 1, 254),
        fixed_tables: top.get("fixed_tables").and_then(|f| reader.truth(&f)),
        entries: top.get("entries").and_then(|f| reader.number(&f, 1, 10_000_000)),
        masks: top.get("masks").and_then(|f| reader.number(&f, 1, SWITCH_MASKS_MAX)),
        actions: top.get("actions").and_then(|f| reader.number(&f, 1, SWITCH_ACTIONS_MAX)),
        buckets: top.get("buckets").and_then(|f| reader.number(&f, 1, SWITCH_BUCKETS_MAX)),
        copies: top.get("copies").and_then(|f| reader.number(&f, 1, SWITCH_COPIES_MAX)),
        packet_in_rate: small(reader, top, "packet_in_rate", 0, u32::MAX.into()),
        probe_ns: top.get("probe").and_then(|f| read_time(reader, &f)),
        backoff_max_ns: top.get("backoff_max").and_then(|f| read_time(reader, &f)),
        tls: top.get("tls").and_then(|f| read_tls(reader, &f)),
    }
}

/// A number that fits a smaller type.
pub(super) fn small<T: TryFrom<u64>>(
    reader: &mut Reader,
    of: &Field<'_>,
    key: &str,
    min: u64,
    max: u64,
) -> Option<T> {
    let number = of.get(key).and_then(|field| reader.number(&field, min, max))?;
    T::try_from(number).ok()
}

fn read_time(reader: &mut Reader, field: &Field<'_>) -> Option<u64> {
    let ns = reader.quantity(field, parse_time_ns)?;
    if ns == 0 {
        reader.error(field, "this takes some time", "write 5 s");
        return None;
    }
    Some(ns)
}

pub(super) fn read_datapath_id(reader: &mut Reader, field: &Field<'_>) -> Option<u64> {
    let text = reader.text(field)?;
    let hex = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
    let id = hex.unwrap_or_else(|| text.parse()).ok();
    if id.is_none() {
        reader.error(field, "this is no datapath id", "write a number such as 1 or 0x1");
    }
    id
}

/// A text that was judged.
fn judged(
    reader: &mut Reader,
    field: &Field<'_>,
    judge: impl Fn(&str) -> Result<(), String>,
) -> Option<String> {
    let text = reader.text(field)?;
    match judge(text) {
        Ok(()) => Some(text.to_owned()),
        Err(why) => {
            reader.error(field, &why, "write it as the command line of `switch` has it");
            None
        }
    }
}

pub(super) fn judged_list(
    reader: &mut Reader,
    of: &Field<'_>,
    key: &str,
    judge: impl Fn(&str) -> Result<(), String>,
) -> Vec<String> {
    let items = of.get(key).and_then(|field| reader.list(&field)).unwrap_or_default();
    items.iter().filter_map(|item| judged(reader, item, &judge)).collect()
}

pub(super) fn read_controllers(
    reader: &mut Reader,
    top: &Field<'_>,
    judge: JudgeText<'_>,
) -> Vec<(String, u8)> {
    let items = top.get("controllers").and_then(|f| reader.list(&f)).unwrap_or_default();
    let mut controllers = Vec::new();
    for item in items {
        let is_map = matches!(item.node.value, Value::Map(_));
        let at = if is_map { item.get("at") } else { Some(item.clone()) };
        if is_map {
            reader.expect_map(&item, &["at", "auxiliary"]);
        }
        let Some(at) = at else {
            reader.error(&item, "it is not said where this controller is", "add `at: tcp:HOST`");
            continue;
        };
        let text = judged(reader, &at, |text| judge(SwitchText::Controller, text));
        let auxiliary = if is_map { small(reader, &item, "auxiliary", 0, 15) } else { None };
        controllers.extend(text.map(|text| (text, auxiliary.unwrap_or(0))));
    }
    controllers
}

fn read_ports(reader: &mut Reader, top: &Field<'_>, judge: JudgeText<'_>) -> Vec<SwitchFilePort> {
    let items = top.get("ports").and_then(|field| reader.list(&field)).unwrap_or_default();
    items.iter().filter_map(|item| read_port(reader, item, judge)).collect()
}

fn read_port(
    reader: &mut Reader,
    item: &Field<'_>,
    judge: JudgeText<'_>,
) -> Option<SwitchFilePort> {
    if !matches!(item.node.value, Value::Map(_)) {
        let interface = reader.text(item)?.to_owned();
        return Some(SwitchFilePort { interface, ..SwitchFilePort::default() });
    }
    reader.expect_map(item, &PORT_KEYS);
    let Some(interface) = item.get("interface") else {
        reader.error(item, "this port has no interface", "add `interface: eth1`");
        return None;
    };
    let kind = item.get("kind");
    let tap = item.get("tap");
    let levels = item.get("levels");
    Some(SwitchFilePort {
        interface: reader.text(&interface)?.to_owned(),
        number: small(reader, item, "number", 1, 0xffff_ff00),
        kind: kind.and_then(|f| judged(reader, &f, |text| judge(SwitchText::PortKind, text))),
        rate_bps: item.get("rate").and_then(|f| reader.quantity(&f, parse_rate_bps)),
        queues: small(reader, item, "queues", 1, 64),
        levels: levels.and_then(|f| judged(reader, &f, |text| judge(SwitchText::Levels, text))),
        buffer_bytes: item.get("buffer").and_then(|f| reader.quantity(&f, parse_size_bytes)),
        tap: tap.and_then(|f| judged(reader, &f, |text| judge(SwitchText::Tap, text))),
    })
}

fn read_tls(reader: &mut Reader, field: &Field<'_>) -> Option<[String; 3]> {
    const FILES: [&str; 3] = ["ca", "certificate", "key"];
    reader.expect_map(field, &FILES);
    let mut files = Vec::new();
    for name in FILES {
        match field.get(name) {
            Some(file) => files.extend(reader.text(&file).map(str::to_owned)),
            None => reader.error(field, &format!("`{name}` is missing"), "TLS needs all three"),
        }
    }
    files.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SwitchFile, Diagnostics> {
        read_switch(text, "switch.yaml", &|_, text| match text {
            "bad" => Err("it is bad".into()),
            _ => Ok(()),
        })
    }

    #[test]
    fn a_whole_file_is_read() {
        let file = read(
            "tenuto_switch: 1\nname: s1\ndatapath_id: 0x2a\nports:\n  - eth1\n  - {interface: eth2, \
             rate: 100 Mbit/s, kind: tap, queues: 4, levels: 0/1x3+2, buffer: 1 MB, number: 7, tap: e.pcap}\n\
             controllers: [\"tcp:c:1\", {at: \"tls:d:2\", auxiliary: 2}]\nlisten: [\"ptcp:6634\"]\n\
             fail_mode: standalone\ntables: 8\nfixed_tables: true\nentries: 9\nmasks: 5\nactions: 70\nbuckets: 6\ncopies: 12\npacket_in_rate: 0\nprobe: 3 s\n\
             backoff_max: 500 ms\ntls: {ca: a, certificate: b, key: c}\n",
        )
        .expect("it is whole");
        let tap = SwitchFilePort {
            interface: "eth2".into(),
            number: Some(7),
            kind: Some("tap".into()),
            rate_bps: Some(100_000_000),
            queues: Some(4),
            levels: Some("0/1x3+2".into()),
            buffer_bytes: Some(1_000_000),
            tap: Some("e.pcap".into()),
        };
        let plain = SwitchFilePort { interface: "eth1".into(), ..SwitchFilePort::default() };
        let controllers = vec![("tcp:c:1".to_owned(), 0), ("tls:d:2".to_owned(), 2)];
        let expected = SwitchFile {
            name: Some("s1".into()),
            datapath_id: Some(42),
            ports: vec![plain, tap],
            controllers,
            listen: vec!["ptcp:6634".into()],
            standalone: Some(true),
            tables: Some(8),
            fixed_tables: Some(true),
            entries: Some(9),
            masks: Some(5),
            actions: Some(70),
            buckets: Some(6),
            copies: Some(12),
            packet_in_rate: Some(0),
            probe_ns: Some(3_000_000_000),
            backoff_max_ns: Some(500_000_000),
            tls: Some(["a", "b", "c"].map(str::to_owned)),
        };
        assert_eq!(file, expected);
    }

    #[test]
    fn every_problem_is_told_with_its_line() {
        let text = "tenuto_switch: 1\nportz: []\ntables: 300\nlisten: [bad]\ntls: {ca: a}\n\
                    datapath_id: one\nports: [{rate: 1 Mbit/s}]\nprobe: 0 s\nmasks: 0\n";
        let problems = read(text).expect_err("much is wrong");
        let lines: Vec<u32> = problems.iter().filter_map(|problem| problem.line).collect();
        assert_eq!(lines, [2, 3, 4, 5, 5, 6, 7, 8, 9], "{problems}");
        assert!(problems.to_string().contains("did you mean"), "{problems}");
        assert!(read("name: s1\n").expect_err("no version").to_string().contains("tenuto_switch"));
    }
}
