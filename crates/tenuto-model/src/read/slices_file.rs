//! The file of slices: which tenants' controllers share a switch, with which ports, traffic and budgets.

use super::reader::{Field, Reader, shown};
use super::switch_file::{
    JudgeText, SwitchText, judged_list, read_controllers, read_datapath_id, small,
};
use crate::quantity::{QuantityError, parse_cost_ps, parse_rate_bps, parse_size_bytes};
use crate::yaml::{Place, Value};
use crate::{ControlShare, Diagnostics, Severity, SliceControl, SliceShare};
use std::net::Ipv4Addr;

/// Slices of one switch at most.
pub const SLICES_MAX: usize = 64;
/// Bytes of a slice's name, which fits a field of OpenFlow.
const NAME_BYTES_MAX: usize = 24;
const PS_PER_S: u128 = 1_000_000_000_000;

/// Slices of one switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlicesFile {
    /// What control messages of all slices may take of the switch's processor; `None`: it is not said.
    pub control: Option<ControlShare>,
    /// What one message takes at most, its bytes apart, picoseconds.
    pub message_ps: u64,
    /// What one byte takes at most, picoseconds.
    pub byte_ps: u64,
    /// The slices, in the order of the file.
    pub slices: Vec<SliceFile>,
}

/// A slice. What the file leaves out is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceFile {
    /// Its name, unique in the file.
    pub name: String,
    /// The datapath id that its controllers see, unique in the file.
    pub datapath_id: u64,
    /// Interfaces of the switch, each with its share of the port's rate, bits per second.
    pub ports: Vec<(String, Option<u64>)>,
    /// Bytes that wait at each port at most.
    pub buffer_bytes: Option<u64>,
    /// VLANs, 0 for frames without one; `None`: all.
    pub vlans: Option<Vec<u16>>,
    /// IPv4 networks, each with the length of its prefix; none: all addresses, and frames without any.
    pub addresses: Vec<(Ipv4Addr, u8)>,
    /// Controllers, and how many auxiliary connections each has.
    pub controllers: Vec<(String, u8)>,
    /// Where its controllers and tools can connect to it.
    pub listen: Vec<String>,
    /// Whether it forwards as a bridge without a controller.
    pub standalone: Option<bool>,
    /// Flow tables.
    pub tables: Option<u8>,
    /// Entries over all tables.
    pub entries: Option<u64>,
    /// Distinct masks over all tables.
    pub masks: Option<u64>,
    /// Actions over all entries.
    pub actions: Option<u64>,
    /// Groups.
    pub groups: Option<u64>,
    /// Meters.
    pub meters: Option<u64>,
    /// What its control messages may take.
    pub budget: SliceBudget,
}

/// Most messages in a second, by kind, with a tenth of that at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceBudget {
    /// Of all kinds.
    pub messages: u32,
    /// Those that change state.
    pub changes: u32,
    /// Packet-outs.
    pub packet_outs: u32,
    /// Requests for statistics.
    pub statistics: u32,
    /// Packet-ins.
    pub packet_ins: u32,
    /// Bytes of messages and answers, and as many of packet-ins.
    pub bytes: u64,
}

impl Default for SliceBudget {
    fn default() -> Self {
        let (messages, changes, packet_outs) = (1_000, 500, 500);
        let (statistics, packet_ins, bytes) = (50, 500, 500_000);
        Self { messages, changes, packet_outs, statistics, packet_ins, bytes }
    }
}

impl SlicesFile {
    /// Processor time that control messages of one slice take in any window at most, picoseconds.
    pub fn control_ps(&self, slice: &SliceFile, window_ps: u64) -> u64 {
        let SliceBudget { messages, packet_ins, bytes, .. } = slice.budget;
        let share = SliceShare { name: slice.name.clone(), messages, packet_ins, bytes };
        let (message_ps, byte_ps) = (self.message_ps, self.byte_ps);
        let work = SliceControl { message_ps, byte_ps, budgets: Vec::new() }.of(&share);
        let earned = work.per_s_ps.saturating_mul(window_ps.into()).div_ceil(PS_PER_S);
        u64::try_from(work.burst_ps.saturating_add(earned)).unwrap_or(u64::MAX)
    }
}

/// Whether a slice can be called so.
pub(super) fn is_slice_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.chars().all(plain)
        && name != "operator"
}

const KEYS: [&str; 5] = ["tenuto_slices", "control", "message", "byte", "slices"];
const SLICE_KEYS: [&str; 15] = [
    "datapath_id",
    "ports",
    "buffer",
    "vlans",
    "addresses",
    "controllers",
    "listen",
    "fail_mode",
    "tables",
    "entries",
    "masks",
    "actions",
    "groups",
    "meters",
    "budget",
];
const BUDGET_KEYS: [&str; 6] =
    ["messages", "changes", "packet_outs", "statistics", "packet_ins", "bytes"];

/// Reads a file of slices.
///
/// # Errors
/// Every problem of the file, not only the first.
pub fn read_slices(
    text: &str,
    path: &str,
    judge: JudgeText<'_>,
) -> Result<SlicesFile, Diagnostics> {
    let mut reader = Reader::default();
    let documents = reader.parse(path, text);
    let Some(node) = documents.iter().find(|node| node.get("tenuto_slices").is_some()) else {
        let place = documents.first().map_or_else(Place::default, |document| document.place);
        let hint = Some("a file of slices starts with `tenuto_slices: 1`".to_owned());
        let message = "there are no slices in this file".to_owned();
        reader.report(Severity::Error, place, "", message, hint);
        return Err(reader.diagnostics);
    };
    reader.expect_one(&documents);
    let top = Field { node, path: String::new() };
    let file = read_top(&mut reader, &top, judge);
    reader.finish(file).map(|(file, _)| file)
}

fn read_top(reader: &mut Reader, top: &Field<'_>, judge: JudgeText<'_>) -> Option<SlicesFile> {
    reader.expect_map(top, &KEYS);
    if let Some(version) = top.get("tenuto_slices")
        && reader.text(&version).is_some_and(|text| text != "1")
    {
        reader.error(&version, "this version of the format is not known", "write 1");
    }
    let Some(list) = top.get("slices") else {
        reader.error(top, "there is no slice", "add `slices: {blue: {ports: {eth1: 10 Mbit/s}}}`");
        return None;
    };
    let pairs = list.pairs();
    if pairs.is_empty() || pairs.len() > SLICES_MAX {
        let message = format!("{} slices, from 1 to {SLICES_MAX}", pairs.len());
        reader.error(
            &list,
            &message,
            "write `blue: {datapath_id: 0x101, ports: {eth1: 10 Mbit/s}}`",
        );
    }
    let mut cost = |key| top.get(key).and_then(|f| reader.quantity(&f, parse_cost_ps));
    let (message, byte) = (cost("message"), cost("byte"));
    let control = top.get("control");
    let file = SlicesFile {
        control: control.as_ref().and_then(|f| read_control(reader, f)),
        message_ps: message.unwrap_or(SliceControl::MESSAGE_PS),
        byte_ps: byte.unwrap_or(SliceControl::BYTE_PS),
        slices: pairs.iter().filter_map(|(name, it)| read_slice(reader, name, it, judge)).collect(),
    };
    check_apart(reader, &pairs, &file);
    if let Some(field) = control {
        check_control(reader, &field, &file);
    }
    Some(file)
}

fn read_control(reader: &mut Reader, field: &Field<'_>) -> Option<ControlShare> {
    if !reader.expect_map(field, &["time", "per"]) {
        return None;
    }
    let mut side = |key| field.get(key).and_then(|f| reader.quantity(&f, parse_cost_ps));
    match (side("time"), side("per")) {
        (Some(time_ps), Some(period_ps)) if 0 < time_ps && time_ps <= period_ps => {
            Some(ControlShare { time_ps, period_ps })
        }
        _ => {
            let hint = "write {time: 20 ms, per: 100 ms}, as `processor` of a profile has it";
            reader.error(field, "control needs processor time and a longer window", hint);
            None
        }
    }
}

/// What slices may take together must fit what the switch has for control messages.
fn check_control(reader: &mut Reader, field: &Field<'_>, file: &SlicesFile) {
    let Some(ControlShare { time_ps, period_ps }) = file.control else { return };
    let takes: Vec<(u64, &str)> =
        file.slices.iter().map(|it| (file.control_ps(it, period_ps), it.name.as_str())).collect();
    let sum = takes.iter().fold(0_u64, |sum, (ps, _)| sum.saturating_add(*ps));
    if sum > time_ps {
        let us = |ps: u64| ps.div_ceil(1_000_000);
        let each: Vec<String> =
            takes.iter().map(|(ps, name)| format!("{name} {} us", us(*ps))).collect();
        let message = format!(
            "messages of the slices take up to {} us in {} us, and the switch has {} us for them: {}",
            us(sum),
            us(period_ps),
            time_ps / 1_000_000,
            each.join(", ")
        );
        reader.error(
            field,
            &message,
            "lower `messages`, `packet_ins` and `bytes` of their budgets",
        );
    }
}

fn read_slice(
    reader: &mut Reader,
    name: &str,
    field: &Field<'_>,
    judge: JudgeText<'_>,
) -> Option<SliceFile> {
    reader.expect_map(field, &SLICE_KEYS);
    if !is_slice_name(name) {
        let message = format!("`{}` cannot be the name of a slice", shown(name));
        reader.error(field, &message, "write 1 to 24 small letters, digits and `-`");
    }
    let datapath_id = field.get("datapath_id").map(|f| read_datapath_id(reader, &f));
    if datapath_id.is_none() {
        reader.error(field, "this slice has no datapath id", "add `datapath_id: 0x101`");
    }
    let modes = [("secure", false), ("standalone", true)];
    let mut limit = |key, max| field.get(key).and_then(|f| reader.number(&f, 1, max));
    let (entries, masks) = (limit("entries", 10_000_000), limit("masks", 100_000));
    let (actions, groups) = (limit("actions", 100_000_000), limit("groups", 1_000_000));
    let meters = limit("meters", 1_000_000);
    Some(SliceFile {
        name: name.to_owned(),
        datapath_id: datapath_id.flatten()?,
        ports: read_ports(reader, field),
        buffer_bytes: field.get("buffer").and_then(|f| reader.quantity(&f, parse_size_bytes)),
        vlans: field.get("vlans").map(|f| read_vlans(reader, &f)),
        addresses: read_addresses(reader, field),
        controllers: read_controllers(reader, field, judge),
        listen: judged_list(reader, field, "listen", |text| judge(SwitchText::Listen, text)),
        standalone: field.get("fail_mode").and_then(|f| reader.choice(&f, &modes)),
        tables: small(reader, field, "tables", 1, 254),
        entries,
        masks,
        actions,
        groups,
        meters,
        budget: read_budget(reader, field),
    })
}

fn read_ports(reader: &mut Reader, field: &Field<'_>) -> Vec<(String, Option<u64>)> {
    let Some(ports) = field.get("ports") else {
        reader.error(field, "this slice has no port", "add `ports: {eth1: 10 Mbit/s}`");
        return Vec::new();
    };
    if matches!(ports.node.value, Value::List(_)) {
        let names = reader.texts(&ports).unwrap_or_default();
        return names.into_iter().map(|name| (name.to_owned(), None)).collect();
    }
    let pairs = ports.pairs();
    if pairs.is_empty() {
        reader.error(&ports, "this slice has no port", "write {eth1: 10 Mbit/s} or [eth1]");
    }
    let share = |(name, rate): &(&str, Field<'_>)| {
        (name.to_string(), reader.quantity(rate, parse_rate_bps))
    };
    pairs.iter().map(share).collect()
}

fn read_vlans(reader: &mut Reader, field: &Field<'_>) -> Vec<u16> {
    let mut vlans = Vec::new();
    for item in reader.list(field).unwrap_or_default() {
        let Some(text) = reader.text(&item) else { continue };
        match vlan_range(text) {
            Some((first, last)) => vlans.extend(first..=last),
            None => {
                let message = format!("`{}` is no VLAN", shown(text));
                reader.error(&item, &message, "write [untagged, 10, 20-29]: from 1 to 4094");
            }
        }
    }
    vlans
}

fn vlan_range(text: &str) -> Option<(u16, u16)> {
    if text == "untagged" {
        return Some((0, 0));
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    (1 <= first && first <= last && last <= 4_094).then_some((first, last))
}

fn read_addresses(reader: &mut Reader, field: &Field<'_>) -> Vec<(Ipv4Addr, u8)> {
    let mut addresses = Vec::new();
    let items = field.get("addresses").and_then(|f| reader.list(&f)).unwrap_or_default();
    for item in items {
        let Some(text) = reader.text(&item) else { continue };
        let parts =
            text.split_once('/').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        match parts {
            Some((address, bits)) if bits <= 32 => addresses.push((address, bits)),
            _ => {
                let message = format!("`{}` is no network of IPv4", shown(text));
                reader.error(&item, &message, "write 10.1.0.0/16");
            }
        }
    }
    addresses
}

fn read_budget(reader: &mut Reader, field: &Field<'_>) -> SliceBudget {
    let mut budget = SliceBudget::default();
    let Some(it) = field.get("budget") else { return budget };
    reader.expect_map(&it, &BUDGET_KEYS);
    let mut take = |key, to: &mut u32| {
        if let Some(rate) = it.get(key).and_then(|f| reader.quantity(&f, parse_messages)) {
            *to = u32::try_from(rate).unwrap_or(u32::MAX);
        }
    };
    take("messages", &mut budget.messages);
    take("changes", &mut budget.changes);
    take("packet_outs", &mut budget.packet_outs);
    take("statistics", &mut budget.statistics);
    take("packet_ins", &mut budget.packet_ins);
    if let Some(bytes) = it.get("bytes").and_then(|f| reader.quantity(&f, parse_bytes)) {
        budget.bytes = bytes;
    }
    budget
}

/// Bytes in a second: `500 kB/s`.
pub(super) fn parse_bytes(text: &str) -> Result<u64, QuantityError> {
    let size = text.strip_suffix("/s").map(|size| parse_size_bytes(size.trim_end()));
    let bytes = size.and_then(Result::ok);
    bytes.filter(|bytes| (1..=10_000_000_000).contains(bytes)).ok_or_else(|| QuantityError {
        message: format!("`{}` is no rate of bytes from 1 B/s to 10 GB/s", shown(text)),
        hint: "write 500 kB/s".to_owned(),
    })
}

pub(super) fn parse_messages(text: &str) -> Result<u64, QuantityError> {
    let number = text.strip_suffix("/s").and_then(|digits| digits.trim_end().parse::<u64>().ok());
    number.filter(|rate| (1..=10_000_000).contains(rate)).ok_or_else(|| QuantityError {
        message: format!("`{}` is no rate of messages from 1 to 10000000 in a second", shown(text)),
        hint: "write 500 /s".to_owned(),
    })
}

/// Datapath ids tell slices apart.
fn check_apart(reader: &mut Reader, pairs: &[(&str, Field<'_>)], file: &SlicesFile) {
    for (place, slice) in file.slices.iter().enumerate() {
        let before = &file.slices[..place];
        let Some(other) = before.iter().find(|it| it.datapath_id == slice.datapath_id) else {
            continue;
        };
        if let Some((_, field)) = pairs.iter().find(|(name, _)| *name == slice.name) {
            let message = format!(
                "slices {} and {} have the datapath id {:#x}",
                other.name, slice.name, slice.datapath_id
            );
            reader.error(field, &message, "give each slice its own");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SlicesFile, Diagnostics> {
        read_slices(text, "slices.yaml", &|_, text| match text {
            "bad" => Err("it is bad".into()),
            _ => Ok(()),
        })
    }

    const WHOLE: &str = "tenuto_slices: 1\nmessage: 20 us\nbyte: 1 ns\ncontrol: {time: 50 ms, per: 100 ms}\nslices:\n  blue:\n    \
        datapath_id: 0x101\n    ports: {eth1: 40 Mbit/s, eth2: 10 Mbit/s}\n    buffer: 64 kB\n    \
        vlans: [untagged, 10, 20-22]\n    addresses: [10.1.0.0/16]\n    controllers: [\"tcp:c:1\"]\n    \
        listen: [\"ptcp:6701\"]\n    fail_mode: standalone\n    tables: 4\n    entries: 500\n    masks: 16\n    \
        actions: 900\n    groups: 5\n    meters: 6\n    \
        budget: {messages: 300 /s, changes: 200 /s, packet_outs: 100 /s, statistics: 10 /s, packet_ins: 50 /s, bytes: 100 kB/s}\n  \
        red: {datapath_id: 2, ports: [eth1]}\n";

    #[test]
    fn a_whole_file_is_read() {
        let file = read(WHOLE).expect("it is whole");
        let budget = SliceBudget {
            messages: 300,
            changes: 200,
            packet_outs: 100,
            statistics: 10,
            packet_ins: 50,
            bytes: 100_000,
        };
        let blue = SliceFile {
            name: "blue".into(),
            datapath_id: 0x101,
            ports: vec![("eth1".into(), Some(40_000_000)), ("eth2".into(), Some(10_000_000))],
            buffer_bytes: Some(64_000),
            vlans: Some(vec![0, 10, 20, 21, 22]),
            addresses: vec![(Ipv4Addr::new(10, 1, 0, 0), 16)],
            controllers: vec![("tcp:c:1".into(), 0)],
            listen: vec!["ptcp:6701".into()],
            standalone: Some(true),
            tables: Some(4),
            entries: Some(500),
            masks: Some(16),
            actions: Some(900),
            groups: Some(5),
            meters: Some(6),
            budget,
        };
        assert_eq!(file.slices[0], blue);
        let red = &file.slices[1];
        assert_eq!((&red.ports, &red.vlans), (&vec![("eth1".into(), None)], &None));
        // 30 + 30 messages and 5 + 5 packet-ins in 100 ms, 20 us each; and bytes both ways, 1 ns each.
        let bytes = 2 * 65_535 + 131_072 + 2 * 10_000;
        assert_eq!(file.control_ps(&blue, 100_000_000_000), 70 * 20_000_000 + bytes * 1_000);
    }

    #[test]
    fn budgets_that_the_switch_has_no_time_for_are_refused_by_name() {
        // By hand, in 100 ms: blue is `a_whole_file_is_read`, 70 messages of 20 us and 282,142 B of 1 ns, 1682.142 us.
        // Red has what is given unless said: 100 + 50 messages at once and as many earned, 6000 us; 2·65,535 +
        // 131,072 B at once and 2·50,000 B earned, 362.142 us. Together 8044.284 us; what is told is rounded up.
        let text = WHOLE.replace("time: 50 ms", "time: 8 ms");
        let problems = read(&text).expect_err("8.045 ms are needed").to_string();
        assert!(problems.contains("blue 1683 us, red 6363 us"), "{problems}");
        assert!(problems.contains("take up to 8045 us in 100000 us"), "{problems}");
        let with = |time: &str| read(&WHOLE.replace("time: 50 ms", &format!("time: {time}")));
        assert!(with("8044284 ns").is_ok(), "exactly");
        assert!(with("8044283 ns").is_err(), "a nanosecond less");
    }

    #[test]
    fn every_problem_is_told_with_its_line() {
        let text = "tenuto_slices: 1\nslices:\n  Blue: {datapath_id: 1, ports: [a]}\n  b: {ports: [a]}\n  \
            c:\n    datapath_id: 1\n    ports: {a: fast}\n    vlans: [0, 5-4, 4095]\n    addresses: [10.0.0.0/33]\n    \
            budget: {messages: 0 /s}\n    listen: [bad]\n    port: 1\n";
        let problems = read(text).expect_err("much is wrong");
        let mut lines: Vec<u32> = problems.iter().filter_map(|problem| problem.line).collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines, [3, 4, 6, 7, 8, 9, 10, 11, 12], "{problems}");
        assert!(problems.to_string().contains("slices Blue and c have the datapath id 0x1"));
        assert!(
            read("slices: {}\n").expect_err("no version").to_string().contains("tenuto_slices")
        );
    }
}
