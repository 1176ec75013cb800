//! A trace that a browser's viewer opens (Perfetto, `chrome://tracing`): the JSON trace event format.
//!
//! A node is a process, a port a thread. A frame on the line is a slice; the queues of a port are a counter;
//! mode changes and drops are instants. Times are microseconds after traffic started, with three decimals.

use crate::failure::Failure;
use crate::output;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tenuto_model::{Plan, Port};
use tenuto_units::{FRAME_BYTES_MIN, Instant, wire_bits};
use tenuto_world::clockwork::{Departed, Onlooker, Place, node_names};

/// Events of a trace; viewers do not open files of any size.
pub(super) const EVENTS_MAX: u64 = 2_000_000;

/// A trace that is being written.
#[derive(Debug)]
pub(super) struct Trace {
    path: PathBuf,
    file: BufWriter<File>,
    start: Instant,
    events: u64,
    /// When the last event was that the file took, once it takes no more.
    full_at: Option<Instant>,
    ports: BTreeMap<Place, Track>,
    flows: Vec<String>,
    modes: Vec<String>,
    failure: Option<io::Error>,
}

#[derive(Debug)]
struct Track {
    label: String,
    rate_bps: u64,
}

impl Trace {
    /// The file, with the names of all tracks.
    pub(super) fn open(plan: &Plan, path: &Path) -> Result<Self, Failure> {
        let network = &plan.network;
        let names = node_names(plan);
        let mut ports = BTreeMap::new();
        for link in &network.links {
            for end in [&link.a, &link.b] {
                let Some(node) = names.iter().position(|it| *it == end.node) else { continue };
                let port = Port { node: end.node.clone(), port: end.port };
                let track = Track { label: network.port_label(&port), rate_bps: link.rate_bps };
                ports.insert(Place { node, port: end.port }, track);
            }
        }
        let file = File::create(path).map_err(|error| output::unwritten("file", path, &error))?;
        let mut trace = Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
            start: Instant::ZERO,
            events: 0,
            full_at: None,
            ports,
            flows: network.flows.iter().map(|it| it.name.clone()).collect(),
            modes: network.modes.clone(),
            failure: None,
        };
        trace.head(&names).map_err(|error| output::unwritten("file", path, &error))?;
        Ok(trace)
    }

    fn head(&mut self, names: &[&str]) -> io::Result<()> {
        write!(self.file, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        let mut between = "\n";
        for (node, name) in names.iter().enumerate() {
            let (pid, name) = (node + 1, json(name));
            write!(
                self.file,
                "{between}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"args\":{{\"name\":{name}}}}}"
            )?;
            between = ",\n";
        }
        for (place, track) in &self.ports {
            let (pid, tid, name) = (place.node + 1, place.port, json(&track.label));
            write!(
                self.file,
                "{between}{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":{name}}}}}"
            )?;
        }
        Ok(())
    }

    /// Ends the file; when its last event was, if there were more.
    pub(super) fn finish(mut self) -> Result<Option<u64>, Failure> {
        let ended = match self.failure.take() {
            Some(error) => Err(error),
            None => self.file.write_all(b"\n]}\n").and_then(|()| self.file.flush()),
        };
        ended.map_err(|error| output::unwritten("file", &self.path, &error))?;
        Ok(self.full_at.map(|at| at.since(self.start).as_ns()))
    }

    /// Writes an event, if there is room for it.
    fn event(&mut self, at: Instant, text: &str) {
        if at < self.start || self.full_at.is_some() || self.failure.is_some() {
            return;
        }
        if self.events >= EVENTS_MAX {
            self.full_at = Some(at);
            return;
        }
        self.events += 1;
        if let Err(error) = write!(self.file, ",\n{{{text}}}") {
            self.failure = Some(error);
        }
    }

    /// `"ts":` of an instant.
    fn time(&self, at: Instant) -> String {
        us(at.since(self.start).as_ns())
    }

    fn flow(&self, flow: Option<u16>) -> &str {
        let name = flow.and_then(|it| self.flows.get(usize::from(it)));
        name.map_or("other", String::as_str)
    }
}

impl Onlooker for Trace {
    fn start(&mut self, at: Instant) {
        self.start = at;
    }

    fn left(&mut self, from: Place, frame: &Departed<'_>) {
        let Some(track) = self.ports.get(&from) else { return };
        let bytes = u32::try_from(frame.bytes.len() + 4).unwrap_or(u32::MAX).max(FRAME_BYTES_MIN);
        let line_ns = wire_bits(bytes) * 1_000_000_000 / track.rate_bps.max(1);
        let begin = frame.departure.saturating_sub(tenuto_units::Span::from_ns(line_ns));
        let waited = frame.arrival.map(|it| begin.since(it).as_ns());
        let waited = waited.map_or_else(String::new, |ns| format!(",\"waited_us\":{}", us(ns)));
        let message = frame.message.map_or_else(String::new, |it| format!(",\"message\":{it}"));
        let text = format!(
            "\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":\"frame\",\"args\":{{\"bytes\":{bytes}{message}{waited}}}",
            from.node + 1,
            from.port,
            self.time(begin),
            us(line_ns),
            json(self.flow(frame.flow)),
        );
        self.event(begin, &text);
    }

    fn depth(&mut self, of: Place, bits: u64, now: Instant) {
        let Some(track) = self.ports.get(&of) else { return };
        let name = json(&format!("queue {}", track.label));
        let (pid, ts, bytes) = (of.node + 1, self.time(now), bits.div_ceil(8));
        let text = format!(
            "\"ph\":\"C\",\"pid\":{pid},\"ts\":{ts},\"name\":{name},\"args\":{{\"bytes\":{bytes}}}"
        );
        self.event(now, &text);
    }

    fn swapped(&mut self, node: usize, level: u8, now: Instant) {
        let mode = self.modes.get(usize::from(level)).map_or("?", String::as_str);
        let name = json(&format!("mode {mode}"));
        let (pid, ts) = (node + 1, self.time(now));
        let text = format!(
            "\"ph\":\"i\",\"s\":\"p\",\"pid\":{pid},\"tid\":0,\"ts\":{ts},\"name\":{name},\"cat\":\"mode\""
        );
        self.event(now, &text);
    }

    fn dropped(&mut self, at: Place, why: &'static str, flow: Option<u16>, now: Instant) {
        let name = json(&format!("{} {why}", self.flow(flow)));
        let (pid, tid, ts) = (at.node + 1, at.port, self.time(now));
        let text = format!(
            "\"ph\":\"i\",\"s\":\"t\",\"pid\":{pid},\"tid\":{tid},\"ts\":{ts},\"name\":{name},\"cat\":\"drop\""
        );
        self.event(now, &text);
    }
}

/// Nanoseconds as microseconds with three decimals.
fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::us;

    #[test]
    fn microseconds_keep_every_nanosecond() {
        assert_eq!(
            [us(0), us(999), us(1_000), us(1_234_567)],
            ["0.000", "0.999", "1.000", "1234.567"]
        );
    }
}
