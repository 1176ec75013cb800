//! What a switch has in its tables, as lines.
//!
//! Lines of entries in force are those that ovs-ofctl takes; whatever else is said stands behind a
//! `#`, entries of other modes included, so that the whole can be given to `ovs-ofctl add-flows`.

use super::dump::{Dump, DumpPart};
use super::trace_text::TraceNames;
use std::fmt::Write;
use tenuto_openflow::{DelayRange, FlowStats, QueueDetail, QueueStats};

/// The table whose entries are the same in every mode.
pub(super) const TABLE_WATCH: u8 = 0;
/// Shares of frames that are told of, in thousandths.
const QUANTILES: [(&str, u64); 3] = [("p50", 500), ("p99", 990), ("p99.9", 999)];

/// Lines of the parts, each ended.
pub fn dump_text(tables: &Dump, parts: &[DumpPart], names: &dyn TraceNames) -> String {
    let mut lines = Vec::new();
    let several = parts.len() > 1;
    for part in parts {
        // Most switches have no slices.
        if several && *part == DumpPart::Slices && tables.slices.is_empty() {
            continue;
        }
        if several {
            lines.push(format!("{part:?}"));
        }
        lines.extend(match part {
            DumpPart::Flows => flows(tables, names),
            DumpPart::Groups => shown(&tables.groups, &tables.group_stats),
            DumpPart::Meters => shown(&tables.meters, &tables.meter_stats),
            DumpPart::Ports => shown(&tables.ports, &tables.port_stats),
            DumpPart::Queues => queues(tables),
            DumpPart::Slices => shown(&tables.slices, &[] as &[&str]),
        });
    }
    if let ([part], true) = (parts, lines.is_empty()) {
        lines.push(format!("# {}", none_of(*part)));
    }
    lines.iter().map(|line| format!(" {line}\n")).collect()
}

/// What is said where there is nothing to show.
const fn none_of(part: DumpPart) -> &'static str {
    match part {
        DumpPart::Flows => "no entries",
        DumpPart::Groups => "no groups",
        DumpPart::Meters => "no meters",
        DumpPart::Ports => "no ports",
        DumpPart::Queues => "no queues",
        DumpPart::Slices => "no slices: the switch is not shared, or does not tell",
    }
}

/// What there is and what it counted, as lines.
pub(super) fn shown(what: &[impl ToString], counted: &[impl ToString]) -> Vec<String> {
    let what = what.iter().map(ToString::to_string);
    what.chain(counted.iter().map(ToString::to_string)).collect()
}

/// A mode by its name, if it has one.
fn mode_name(level: u8, names: &dyn TraceNames) -> String {
    names.mode(level).unwrap_or_else(|| format!("level {level}"))
}

/// The modes in which an entry is in force; `None` where there are no modes.
fn modes_of(tables: &Dump, entry: &FlowStats, names: &dyn TraceNames) -> Option<String> {
    tables.mode?;
    Some(match entry.table_id {
        TABLE_WATCH => "every mode".into(),
        _ => format!("mode {}", mode_name(0, names)),
    })
}

fn flows(tables: &Dump, names: &dyn TraceNames) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(tables.mode.map(|mode| {
        let [level, admitted] =
            [mode.level, mode.admitted_level].map(|level| mode_name(level, names));
        format!("# in force: mode {level}, admitted {admitted}, epoch {}", mode.epoch)
    }));
    for entry in &tables.flows {
        let flow = names.flow(entry.cookie).map(|flow| format!("flow {flow}"));
        let said: Vec<String> = modes_of(tables, entry, names).into_iter().chain(flow).collect();
        lines.push(match said.is_empty() {
            true => entry.to_string(),
            false => format!("{entry} # {}", said.join(", ")),
        });
    }
    for (level, entry) in &tables.shadows {
        let flow = names.flow(entry.cookie).map(|flow| format!(" # flow {flow}"));
        let (mode, flow) = (mode_name(*level, names), flow.unwrap_or_default());
        lines.push(format!("# mode {mode}: {entry}{flow}"));
    }
    lines
}

pub(super) fn detail_of<'a>(tables: &'a Dump, of: &QueueStats) -> Option<&'a QueueDetail> {
    let mut details = tables.queue_details.iter();
    details.find(|it| (it.port, it.share.queue) == (of.port_no, of.queue_id))
}

fn queues(tables: &Dump) -> Vec<String> {
    let mut lines = Vec::new();
    for stats in &tables.queues {
        lines.push(stats.to_string());
        lines.extend(detail_of(tables, stats).map(|it| format!("    {}", detail_text(it))));
    }
    lines
}

fn detail_text(it: &QueueDetail) -> String {
    let mut text = format!(
        "level {} weight {}, waiting {} frames ({} B), most {} frames ({} B)",
        it.share.level, it.share.weight, it.frames, it.wire_bytes, it.frames_max, it.wire_bytes_max,
    );
    if !it.delays.is_empty() {
        let us = |ns: u64| ns as f64 / 1e3;
        text.push_str(", delay us");
        for (name, thousandths) in QUANTILES {
            let at_most = quantile(&it.delays, thousandths).min(it.delay_ns_max);
            let _ = write!(text, " {name} {:.1}", us(at_most));
        }
        let _ = write!(text, " most {:.1}", us(it.delay_ns_max));
    }
    text
}

/// A delay that so many thousandths of the frames do not exceed: the end of a range.
fn quantile(delays: &[DelayRange], thousandths: u64) -> u64 {
    let all: u64 = delays.iter().fold(0, |sum, range| sum.saturating_add(range.frames));
    let wanted = (u128::from(all) * u128::from(thousandths)).div_ceil(1_000);
    let mut seen = 0_u128;
    let found = delays.iter().find(|range| {
        seen += u128::from(range.frames);
        seen >= wanted
    });
    found.map_or(0, |range| range.below_ns.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::super::dump_document::DumpDocument;
    use super::*;
    use serde_json::Value;
    use tenuto_openflow::{Match, ModeStatus, QueueShare};

    struct Names;

    impl TraceNames for Names {
        fn flow(&self, cookie: u64) -> Option<String> {
            (cookie == 1).then(|| "CAM".into())
        }
        fn mode(&self, level: u8) -> Option<String> {
            ["LO", "HI"].get(usize::from(level)).map(ToString::to_string)
        }
        fn port(&self, _: u32) -> Option<String> {
            None
        }
    }

    fn entry(table_id: u8, cookie: u64) -> FlowStats {
        FlowStats {
            table_id,
            duration_sec: 0,
            duration_nsec: 0,
            priority: 100,
            idle_timeout: 0,
            hard_timeout: 0,
            flags: 0,
            cookie,
            packet_count: 7,
            byte_count: 700,
            match_: Match::ANY,
            instructions: Vec::new(),
        }
    }

    fn dump() -> Dump {
        let mode = ModeStatus {
            generation: 3,
            epoch: 5,
            level: 1,
            admitted_level: 1,
            phase: 0,
            is_standalone: false,
            purged_frames: 0,
            raises: 1,
            returns: 0,
            signals_rejected: 0,
        };
        let range = |from_ns, below_ns, frames| DelayRange { from_ns, below_ns, frames };
        Dump {
            flows: vec![entry(0, 0), entry(2, 1)],
            mode: Some(mode),
            shadows: vec![(1, entry(2, 1))],
            queues: vec![QueueStats {
                port_no: 2,
                queue_id: 1,
                tx_bytes: 1_000,
                tx_packets: 1_000,
                tx_errors: 0,
                duration_sec: 0,
                duration_nsec: 0,
            }],
            queue_details: vec![QueueDetail {
                port: 2,
                share: QueueShare { queue: 1, level: 1, weight: 3 },
                frames: 0,
                frames_max: 9,
                wire_bytes: 0,
                wire_bytes_max: 1_000,
                delay_ns_max: 23_000,
                delays: vec![
                    range(4_096, 4_608, 989),
                    range(8_192, 9_216, 10),
                    range(22_528, 24_576, 1),
                ],
            }],
            ..Dump::default()
        }
    }

    #[test]
    fn entries_name_their_flow_and_mode_behind_what_ovs_ofctl_takes() {
        let text = dump_text(&dump(), &[DumpPart::Flows], &Names);
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        assert_eq!(lines[0], "# in force: mode HI, admitted HI, epoch 5");
        assert!(lines[1].starts_with("cookie=") && lines[1].ends_with("# every mode"), "{text}");
        assert!(lines[2].ends_with("# mode LO, flow CAM"), "{text}");
        assert!(lines[3].starts_with("# mode HI: cookie=0x1") && lines[3].ends_with("# flow CAM"));
        let without = Dump { mode: None, shadows: Vec::new(), ..dump() };
        let text = dump_text(&without, &[DumpPart::Flows], &Names);
        assert!(text.contains(" # flow CAM\n") && !text.contains("mode"), "{text}");
    }

    #[test]
    fn queues_tell_their_level_depth_and_delays() {
        let text = dump_text(&dump(), &[DumpPart::Queues], &Names);
        let said = "level 1 weight 3, waiting 0 frames (0 B), most 9 frames (1000 B), \
                    delay us p50 4.6 p99 9.2 p99.9 9.2 most 23.0";
        assert!(text.contains(said), "{text}");
    }

    #[test]
    fn json_has_what_the_lines_have() {
        let it = DumpDocument::of(&dump(), &[DumpPart::Queues, DumpPart::Flows], &Names);
        let it = serde_json::to_value(it).expect("keys are texts");
        assert_eq!(it["mode"]["name"], "HI");
        assert_eq!(it["flows"][0]["level"], Value::Null);
        assert_eq!(
            (&it["flows"][1]["mode"], &it["flows"][2]["mode"]),
            (&"LO".into(), &"HI".into())
        );
        assert_eq!(it["flows"][2]["flow"], "CAM");
        assert_eq!(it["queues"][0]["weight"], 3);
        assert_eq!(it["queues"][0]["delays"][2]["packets"], 1);
    }

    #[test]
    fn a_dump_is_read_back_from_its_file_with_modes_and_queues() {
        let features = tenuto_openflow::Features {
            datapath_id: 1,
            n_buffers: 0,
            n_tables: 3,
            auxiliary_id: 0,
            capabilities: 0,
        };
        let dump = Dump { features: Some(features), ..dump() };
        let read = Dump::from_bytes(&dump.to_bytes()).expect("just written");
        assert_eq!(read.shadows, dump.shadows);
        assert_eq!((read.mode, read.queue_details), (dump.mode, dump.queue_details));
    }
}
