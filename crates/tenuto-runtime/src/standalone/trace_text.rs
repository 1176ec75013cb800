//! A frame's way through the tables, as people read it.

use super::packet_text::describe_frame;
use std::fmt::Write;
use tenuto_dataplane::DropReason;
use tenuto_dataplane::switch::{Entry, TraceStep};
use tenuto_openflow::EntryText;

/// Names that the tables themselves do not have.
pub trait TraceNames {
    /// The flow of a cookie.
    fn flow(&self, cookie: u64) -> Option<String>;
    /// The mode of a level.
    fn mode(&self, level: u8) -> Option<String>;
    /// A port.
    fn port(&self, number: u32) -> Option<String>;
}

/// Every step, a line each, and the frame as it leaves.
pub fn trace_text(port: u32, frame: &[u8], steps: &[TraceStep], names: &dyn TraceNames) -> String {
    let mut text = format!("frame    {} B, enters by {}\n", frame.len(), port_name(port, names));
    line(&mut text, 9, &describe_frame(frame));
    let mut leaves = 0_usize;
    for step in steps {
        tell(&mut text, step, frame, names);
        leaves += usize::from(matches!(step, TraceStep::Output { .. }));
    }
    let verdict = match leaves {
        0 => "it leaves by no port".to_owned(),
        1 => "it leaves by one port".to_owned(),
        many => format!("{many} copies leave"),
    };
    line(&mut text, 0, &format!("result   {verdict}"));
    text
}

fn line(text: &mut String, indent: usize, what: &str) {
    // A String takes everything.
    let _ = writeln!(text, "{:indent$}{what}", "");
}

fn port_name(number: u32, names: &dyn TraceNames) -> String {
    match names.port(number) {
        Some(name) => format!("port {number} ({name})"),
        None => format!("port {number}"),
    }
}

fn tell(text: &mut String, step: &TraceStep, entered: &[u8], names: &dyn TraceNames) {
    match step {
        TraceStep::Table { level, table, entry } => {
            let shown = match entry {
                Some(entry) => entry_text(entry, names),
                None => "no entry".to_owned(),
            };
            let mode = mode_text(*level, *table, names);
            line(text, 0, &format!("{:<9}{shown}{mode}", format!("table {table}")));
        }
        TraceStep::Meter { id, passes: true } => line(text, 9, &format!("meter {id}: it passes")),
        TraceStep::Meter { id, passes: false } => {
            line(text, 9, &format!("meter {id}: it is over the rate"));
        }
        TraceStep::Bucket { group, bucket } => {
            line(text, 9, &format!("group {group}: bucket {bucket}"));
        }
        TraceStep::Output { port, queue, frame } => {
            line(text, 9, &format!("out by {}, queue {queue}", port_name(*port, names)));
            match frame == entered {
                true => line(text, 11, "as it came"),
                false => {
                    line(text, 11, &describe_frame(frame));
                    let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
                    line(text, 11, &hex);
                }
            }
        }
        TraceStep::NotSent { port } => {
            let port = port_name(*port, names);
            line(text, 9, &format!("not out by {port}: it is down or closed"));
        }
        TraceStep::Controller { reason, max_len } => {
            let part = match max_len {
                0xffff => "whole".to_owned(),
                bytes => format!("{bytes} B of it"),
            };
            line(text, 9, &format!("to the controllers, {part} (reason {reason})"));
        }
        TraceStep::Bridged => {
            line(
                text,
                0,
                "bridge   no controller is connected (standalone): the tables are not asked",
            );
            line(
                text,
                9,
                "by the port where its address was learned, which is not told here; by all others if nowhere:",
            );
        }
        TraceStep::Dropped(reason) => line(text, 0, &format!("dropped  {}", why(*reason))),
        // The entry has said it; what it does to the frame is seen where it leaves.
        TraceStep::Action(_) => {}
    }
}

/// The first table is the same in every mode.
fn mode_text(level: u8, table: u8, names: &dyn TraceNames) -> String {
    match names.mode(level) {
        _ if table == 0 => String::new(),
        Some(mode) => format!(", mode {mode}"),
        None if level > 0 => format!(", mode level {level}"),
        None => String::new(),
    }
}

fn entry_text(entry: &Entry, names: &dyn TraceNames) -> String {
    let (match_, instructions) = (&entry.matching, &entry.instructions);
    let shown = EntryText { priority: entry.precedence, match_, instructions };
    let flow = names.flow(entry.cookie).map_or_else(String::new, |flow| format!(", flow {flow}"));
    format!("{shown}  (cookie 0x{:x}{flow})", entry.cookie)
}

const fn why(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Policed => "over the rate of a meter",
        DropReason::OutOfMode => "its flow has no place in this mode",
        DropReason::Unknown => "no entry matches",
        DropReason::Malformed => "too long for a frame, or its headers are cut",
        DropReason::BufferFull => "the buffer of the port is full",
        DropReason::SignalRejected => "a mode signal that is not accepted here",
        DropReason::NoOutput => "the entries send it nowhere",
        DropReason::Spent => "sent, or changed, as often as one frame may be: the rest is left out",
        _ => "it goes no further",
    }
}
