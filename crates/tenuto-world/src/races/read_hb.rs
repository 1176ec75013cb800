//! Runs as SDNRacer records them (`hb.json`): an event per line, its operations as texts within.

use super::classic_messages::{flow_mod, packet};
use super::event::{Access, Event, EventKind, Run};
use serde::Deserialize;

/// Events of a run at most.
const EVENTS_MAX: usize = 1_000_000;
/// Messages that say nothing about packets and entries.
const LEFT_OUT: [&str; 9] = [
    "OFPT_HELLO",
    "OFPT_VENDOR",
    "OFPT_FEATURES_REQUEST",
    "OFPT_FEATURES_REPLY",
    "OFPT_SET_CONFIG",
    "OFPT_GET_CONFIG_REQUEST",
    "OFPT_GET_CONFIG_REPLY",
    "OFPT_STATS_REQUEST",
    "OFPT_STATS_REPLY",
];

#[derive(Deserialize)]
struct Line {
    eid: u64,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    pid_in: Option<u64>,
    #[serde(default)]
    pid_out: Option<Vec<u64>>,
    #[serde(default)]
    mid_in: Option<u64>,
    #[serde(default)]
    mid_out: Option<Vec<u64>>,
    #[serde(default)]
    msg_type: Option<String>,
    #[serde(default)]
    operations: Vec<String>,
    #[serde(default)]
    dpid: Option<u64>,
    #[serde(default)]
    packet: Option<String>,
    #[serde(default)]
    in_port: serde_json::Value,
}

#[derive(Deserialize)]
struct Operation {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    flow_mod: Option<String>,
    #[serde(default)]
    t: Option<String>,
}

/// Reads a run.
///
/// # Errors
/// With line, field and what was meant.
pub fn read_hb(text: &str) -> Result<Run, String> {
    let mut run = Run { has_table_order: true, ..Run::default() };
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: String| format!("line {number}: {why}");
        let line: Line = serde_json::from_str(line)
            .map_err(|error| wrong(format!("an event of SDNRacer is meant: {error}")))?;
        if line.msg_type.as_deref().is_some_and(|it| LEFT_OUT.contains(&it)) {
            continue;
        }
        if run.events.len() >= EVENTS_MAX {
            return Err(wrong(format!("a run has at most {EVENTS_MAX} events")));
        }
        run.events.push(event(line).map_err(wrong)?);
    }
    match run.events.is_empty() {
        true => Err("there is no event: a line of JSON per event is meant".into()),
        false => Ok(run),
    }
}

fn event(line: Line) -> Result<Event, String> {
    let kind = match (line.kind.as_str(), line.msg_type.as_deref()) {
        ("HbMessageHandle", Some("OFPT_BARRIER_REQUEST")) => EventKind::Barrier,
        ("HbMessageHandle", _) => EventKind::MessageHandled,
        ("HbPacketHandle", _) => EventKind::PacketHandled,
        ("HbAsyncFlowExpiry", _) => EventKind::Expired,
        (
            "HbPacketSend" | "HbMessageSend" | "HbHostHandle" | "HbHostSend" | "HbControllerHandle"
            | "HbControllerSend",
            _,
        ) => EventKind::Passed,
        (other, _) => return Err(format!("type `{other}` is no event of SDNRacer")),
    };
    let accesses = line.operations.iter().map(|text| access(text, &line));
    let accesses = accesses.filter_map(Result::transpose).collect::<Result<Vec<_>, String>>()?;
    Ok(Event {
        id: line.eid,
        kind,
        datapath: line.dpid,
        packet_in: line.pid_in,
        packets_out: line.pid_out.unwrap_or_default(),
        message_in: line.mid_in,
        messages_out: line.mid_out.unwrap_or_default(),
        accesses,
        note: match line.msg_type {
            Some(message) => format!("{} {message}", line.kind),
            None => line.kind,
        },
    })
}

/// What an operation does to the table; none if it does nothing to it.
fn access(text: &str, line: &Line) -> Result<Option<(Access, f64)>, String> {
    let operation: Operation =
        serde_json::from_str(text).map_err(|error| format!("field operations: {error}"))?;
    let entry = || {
        let bytes = operation.flow_mod.as_deref().map(base64).transpose()?;
        bytes
            .map(|bytes| {
                flow_mod(&bytes).ok_or("field flow_mod: a flow-mod of OpenFlow 1.0 is meant")
            })
            .transpose()
            .map_err(str::to_owned)
    };
    let missing = || "an operation on the table without flow_mod".to_owned();
    let access = match operation.kind.as_str() {
        "TraceSwitchFlowTableWrite" => Access::Write(entry()?.ok_or_else(missing)?),
        "TraceSwitchFlowTableEntryExpiry" => Access::Expiry(entry()?.ok_or_else(missing)?.entry),
        "TraceSwitchFlowTableRead" => {
            let bytes = base64(line.packet.as_deref().unwrap_or_default())?;
            let in_port = line.in_port.as_u64().and_then(|port| u32::try_from(port).ok());
            let packet = packet(&bytes, in_port);
            let packet = packet.ok_or("field packet: an Ethernet frame is meant")?;
            Access::Read { packet, entry: entry()?.map(|write| write.entry) }
        }
        _ => return Ok(None),
    };
    let at_s = operation.t.as_deref().unwrap_or("0").parse::<f64>();
    let at_s = at_s.ok().filter(|at| at.is_finite()).ok_or("field t: seconds are meant")?;
    Ok(Some((access, at_s)))
}

/// The bytes of a text in base64.
fn base64(text: &str) -> Result<Vec<u8>, String> {
    let wrong = || "base64 is meant".to_owned();
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len() / 4 * 3), 0_u32, 0);
    for byte in text.trim_end_matches('=').bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        bits = bits << 6 | u32::from(digit(byte).ok_or_else(wrong)?);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
        bits &= (1 << count) - 1;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_and_what_is_none_refused() {
        assert_eq!(base64("AQ4ASA=="), Ok(vec![1, 14, 0, 72]));
        assert_eq!(base64("////"), Ok(vec![255, 255, 255]));
        assert_eq!(base64(""), Ok(Vec::new()));
        assert!(base64("a?b").is_err());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let of = |text: &str| read_hb(text).expect_err("it is wrong");
        assert!(of("").contains("no event"));
        assert!(of("\n{").starts_with("line 2: an event of SDNRacer is meant"));
        assert!(of(r#"{"eid": 1, "type": "Other"}"#).contains("`Other` is no event"));
        let operation = r#"{"eid": 1, "type": "HbMessageHandle", "operations": ["{\"type\": \"TraceSwitchFlowTableWrite\"}"]}"#;
        assert!(of(operation).contains("without flow_mod"));
        let cut = r#"{"eid": 1, "type": "HbMessageHandle", "operations": ["{\"type\": \"TraceSwitchFlowTableWrite\", \"flow_mod\": \"AQ4=\"}"]}"#;
        assert!(of(cut).contains("a flow-mod of OpenFlow 1.0"));
    }
}
