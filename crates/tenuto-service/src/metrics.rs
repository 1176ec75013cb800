//! Counters for Prometheus, as its text format and OpenMetrics have them.

use crate::cluster::Standing;
use crate::modes::ModeBook;
use crate::view::View;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use tenuto_openflow::{MeterStats, PortStats, ReplyBody};

/// Upper ends of the buckets of times, microseconds.
const ENDS_US: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 10_000_000];

/// Times, counted in buckets.
#[derive(Clone, Debug, Default)]
struct Times {
    counts: [u64; ENDS_US.len()],
    count: u64,
    sum_us: u64,
}

impl Times {
    fn note(&mut self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        for (count, end) in self.counts.iter_mut().zip(ENDS_US) {
            *count += u64::from(us <= end);
        }
        self.count += 1;
        self.sum_us = self.sum_us.saturating_add(us);
    }
}

/// Counters of a switch, as it last told them.
#[derive(Clone, Debug, Default)]
struct Told {
    ports: BTreeMap<u32, PortStats>,
    meters: BTreeMap<u32, MeterStats>,
    repaired: u64,
}

#[derive(Debug, Default)]
struct Kept {
    decisions: BTreeMap<&'static str, u64>,
    deciding: Times,
    storing: Times,
    switches: BTreeMap<String, Told>,
}

/// What is counted.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    kept: Mutex<Kept>,
}

impl Metrics {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("nobody panics with it")
    }

    /// A request was decided on: `accepted`, or why not.
    pub(crate) fn decided(&self, outcome: &'static str, took: Duration) {
        let mut kept = self.kept();
        *kept.decisions.entry(outcome).or_default() += 1;
        kept.deciding.note(took);
    }

    /// A decision was undone because a switch refused it.
    pub(crate) fn undone(&self) {
        *self.kept().decisions.entry("undone").or_default() += 1;
    }

    /// A record was written, and is on the medium.
    pub(crate) fn stored(&self, took: Duration) {
        self.kept().storing.note(took);
    }

    /// A switch that held something else was repaired.
    pub(crate) fn repaired(&self, switch: &str) {
        self.kept().switches.entry(switch.to_owned()).or_default().repaired += 1;
    }

    /// Counters of a switch.
    pub(crate) fn told(&self, switch: &str, body: &ReplyBody) {
        let mut kept = self.kept();
        let told = kept.switches.entry(switch.to_owned()).or_default();
        match body {
            ReplyBody::PortStats(all) => {
                told.ports.extend(all.iter().map(|it| (it.port_no, *it)));
            }
            ReplyBody::Meter(all) => {
                told.meters.extend(all.iter().map(|it| (it.meter_id, it.clone())));
            }
            _ => {}
        }
    }

    /// All of it as text. OpenMetrics names counters without their ending where it tells their type.
    pub(crate) fn text(
        &self,
        view: &View,
        standing: &Standing,
        modes: &ModeBook,
        is_open: bool,
    ) -> String {
        let mut page = Page { text: String::new(), is_open };
        let kept = self.kept();
        page.gauge("tenuto_decision", "Number of the latest decision", view.decision);
        page.gauge("tenuto_flows", "Flows in force", view.network.flows.len() as u64);
        let raised = view.alarms.iter().filter(|it| it.is_raised).count();
        page.gauge("tenuto_alarms", "Alarms that hold", raised as u64);
        page.gauge(
            "tenuto_stopped",
            "Whether nothing is admitted",
            u64::from(view.stopped.is_some() || !standing.decides()),
        );
        page.standing(standing);
        let decisions =
            kept.decisions.iter().map(|(word, count)| (vec![("outcome", *word)], *count));
        page.counter("tenuto_decisions", "Decisions by outcome", decisions);
        page.times("tenuto_decision_duration_seconds", "Time of decisions", &kept.deciding);
        page.times(
            "tenuto_log_write_duration_seconds",
            "Time until a record is on the medium",
            &kept.storing,
        );
        let each = |count: fn(&Told) -> u64| {
            kept.switches
                .iter()
                .map(move |(name, told)| (vec![("switch", name.as_str())], count(told)))
        };
        let repaired = "Times that a switch held something else and was repaired";
        page.counter("tenuto_drift_repaired", repaired, each(|it| it.repaired));
        page.counter(
            "tenuto_meter_frames",
            "Frames that meters saw",
            each(|it| it.meters.values().map(|meter| meter.packet_in_count).sum()),
        );
        page.counter(
            "tenuto_policed_frames",
            "Frames that meters dropped",
            each(|it| {
                it.meters.values().flat_map(|it| &it.bands).map(|band| band.packet_band_count).sum()
            }),
        );
        let of_ports = |count: fn(&PortStats) -> u64| {
            let told = kept.switches.iter();
            told.flat_map(move |(name, told)| {
                told.ports
                    .iter()
                    .map(move |(port, it)| ((name.as_str(), port.to_string()), count(it)))
            })
        };
        let ports: [(&str, &str, OfPort); 4] = [
            ("tenuto_port_received_frames", "Frames received by a port", |it| it.rx_packets),
            ("tenuto_port_sent_frames", "Frames sent by a port", |it| it.tx_packets),
            ("tenuto_port_received_dropped_frames", "Frames dropped on receipt", |it| {
                it.rx_dropped
            }),
            ("tenuto_port_sent_dropped_frames", "Frames dropped on sending", |it| it.tx_dropped),
        ];
        for (name, help, count) in ports {
            let rows: Vec<_> = of_ports(count).collect();
            let rows = rows.iter().map(|((switch, port), count)| {
                (vec![("switch", *switch), ("port", port.as_str())], *count)
            });
            page.counter(name, help, rows);
        }
        page.modes(modes);
        if is_open {
            page.text.push_str("# EOF\n");
        }
        page.text
    }
}

struct Page {
    text: String,
    is_open: bool,
}

/// A counter of a port.
type OfPort = fn(&PortStats) -> u64;

type Labels<'a> = Vec<(&'a str, &'a str)>;

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: &Labels<'_>, value: &str) {
        self.text.push_str(name);
        for (place, (key, value)) in labels.iter().enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{}{key}=\"{value}\"", if place == 0 { '{' } else { ',' });
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, "gauge", help);
        self.line(name, &Vec::new(), &value.to_string());
    }

    /// One of several controllers tells how it stands.
    fn standing(&mut self, standing: &Standing) {
        if *standing == Standing::Alone {
            return;
        }
        self.head("tenuto_role", "gauge", "How this controller stands among others");
        self.line("tenuto_role", &vec![("role", standing.word())], "1");
        if let Standing::Leads { generation } = standing {
            self.gauge(
                "tenuto_generation",
                "Generation in which this controller leads",
                *generation,
            );
        }
    }

    fn counter<'a>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl Iterator<Item = (Labels<'a>, u64)>,
    ) {
        let total = format!("{name}_total");
        let head = if self.is_open { name } else { total.as_str() };
        self.head(head, "counter", help);
        for (labels, value) in rows {
            self.line(&total, &labels, &value.to_string());
        }
    }

    fn times(&mut self, name: &str, help: &str, times: &Times) {
        self.head(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        for (count, end) in times.counts.iter().zip(ENDS_US) {
            let end = seconds(end);
            self.line(&bucket, &vec![("le", end.as_str())], &count.to_string());
        }
        self.line(&bucket, &vec![("le", "+Inf")], &times.count.to_string());
        self.line(&format!("{name}_sum"), &Vec::new(), &seconds(times.sum_us));
        self.line(&format!("{name}_count"), &Vec::new(), &times.count.to_string());
    }

    fn modes(&mut self, modes: &ModeBook) {
        let counts = modes.counts();
        let rows = counts.iter().map(|((switch, kind), count)| {
            (vec![("switch", switch.as_str()), ("kind", *kind)], *count)
        });
        self.counter("tenuto_mode_events", "Mode events by switch and kind", rows);
        let switches = modes.switches();
        let rows =
            switches.iter().map(|it| (vec![("switch", it.switch.as_str())], it.purged_frames));
        self.counter("tenuto_out_of_mode_frames", "Frames out of mode that left queues", rows);
        self.head("tenuto_mode", "gauge", "The mode that a switch forwards by");
        for it in &switches {
            let labels = vec![("switch", it.switch.as_str()), ("mode", it.mode.as_str())];
            self.line("tenuto_mode", &labels, "1");
        }
    }
}

/// Microseconds as seconds, exactly, without zeros at the end.
fn seconds(us: u64) -> String {
    let text = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_buckets_add_up() {
        assert_eq!(
            [0, 100, 2_500, 1_000_000, 1_000_001].map(seconds),
            ["0.0", "0.0001", "0.0025", "1.0", "1.000001"]
        );
        let mut times = Times::default();
        [50, 100, 101, 20_000_000].iter().for_each(|us| times.note(Duration::from_micros(*us)));
        assert_eq!((times.counts[0], times.counts[1], times.counts[11], times.count), (2, 3, 3, 4));
        let mut page = Page { text: String::new(), is_open: true };
        page.times("t", "h", &times);
        assert!(
            page.text.contains("t_bucket{le=\"+Inf\"} 4\nt_sum 20.000251\nt_count 4\n"),
            "{}",
            page.text
        );
    }

    #[test]
    fn labels_are_escaped_and_types_named_as_either_format_has_them() {
        for (is_open, head) in [(false, "# TYPE a_total counter"), (true, "# TYPE a counter")] {
            let mut page = Page { text: String::new(), is_open };
            page.counter("a", "h", [(vec![("s", "x\"\\\n")], 3)].into_iter());
            assert!(page.text.contains(head), "{}", page.text);
            assert!(page.text.ends_with("a_total{s=\"x\\\"\\\\\\n\"} 3\n"), "{}", page.text);
        }
    }
}
