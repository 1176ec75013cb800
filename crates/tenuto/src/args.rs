//! The command line: one definition per verb, from which parser and help come.

use clap::{Args as Flags, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use tenuto_model::{ForwardingModel, ImportFormat, quantity};
use tenuto_runtime::{LabPorts, SwitchProcesses};

const EXIT_CODES: &str = "Exit codes:
  0    guaranteed, kept, consistent
  1    refused, violated, a counterexample
  2    bad input or usage
  3    not decidable here (not certified, a right or device missing, a stall, comparison only)
  130  stopped by Ctrl-C

NET is a network file (.yaml), PLAN what `tenuto plan NET -o PLAN` wrote.
With --json, stdout holds exactly one document; messages stay on stderr.";

/// Latency guarantees for small switched Ethernet networks: planned, proved, enforced.
#[derive(Debug, Parser)]
#[command(name = "tenuto", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Read a network and say every problem at once
    Check(Check),
    /// Make a network or server graph of another tool's file
    Import(Import),
    /// Make another tool's file of a network's ports and flows
    Export(Export),
    /// Routes, bounds, buffers and tables, certified; or what is scarce and what would fit
    Plan(Plan),
    /// What every switch is told, counted against its limits
    Tables(Tables),
    /// Check a plan again, exactly and independently of the planner
    Certify(Certify),
    /// Run a plan in virtual time and hold what happens against what was promised
    Sim(Sim),
    /// Run a plan live on this machine, with real frames, and hold it against what was promised
    Up(Up),
    /// Run a program inside a node of a running lab
    Exec(Exec),
    /// An OpenFlow 1.3 switch over real interfaces, until Ctrl-C or SIGTERM
    Switch(crate::verbs::switch::Switch),
    /// What the tables of a switch do to one frame, step by step
    Trace(crate::verbs::trace::Trace),
    /// What a switch has in its tables, as ovs-ofctl writes it
    Dump(crate::verbs::dump::Dump),
    /// Visit every interleaving of the mode change and return
    Explore(Explore),
    /// One HTML file with pictures, of a plan or of a run
    Report(Report),
    /// Tables and figures of the papers, computed here and held against the print
    Bench(crate::verbs::bench::Bench),
    /// What this machine can and cannot show
    Doctor(Doctor),
}

/// How admission decides.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EngineName {
    /// Fixed delays per queue
    Budget,
    /// Exact bounds, nothing reserved
    Exact,
    /// Exact bounds on top of reserved delays
    Reserve,
}

#[derive(Debug, Flags)]
pub(crate) struct BenchAdmission {
    /// Network of a list, JSON
    #[arg(long, value_name = "FILE", requires = "requests")]
    pub(crate) network: Option<PathBuf>,
    /// Requests of a list in order of arrival, JSON
    #[arg(long, value_name = "FILE", requires = "network")]
    pub(crate) requests: Option<PathBuf>,
    /// A list of our own instead: NAME or NAME#SEED
    #[arg(long, value_name = "NAME")]
    pub(crate) generated: Option<String>,
    /// A log of adds and removals instead, JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) operations: Option<PathBuf>,
    /// Carry out removals of which the log says that they found nothing
    #[arg(long, requires = "operations")]
    pub(crate) removals: bool,
    /// How to decide
    #[arg(long, value_enum, default_value = "reserve")]
    pub(crate) engine: EngineName,
    /// Hosts release bursts frame by frame, at the flow's rate, where the deadline allows
    #[arg(long)]
    pub(crate) pacing: bool,
    /// Requests after which the engine looks for a better reservation
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "64")]
    pub(crate) adapt_after: Vec<usize>,
    /// Runs; of each decision the shortest time counts
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: u32,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Flags)]
pub(crate) struct Check {
    /// Network file
    #[arg(value_name = "NET")]
    pub(crate) network: PathBuf,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Flags)]
pub(crate) struct Import {
    /// Format of the file, or `auto`; `--list` says which there are
    #[arg(value_parser = format(), required_unless_present = "list")]
    pub(crate) format: Option<String>,
    /// File of the other tool
    #[arg(required_unless_present = "list")]
    pub(crate) file: Option<PathBuf>,
    /// Every format, what it becomes and what it needs
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// Network or server-graph file to write; without it, stdout
    #[arg(short, long, value_name = "NET")]
    pub(crate) output: Option<PathBuf>,
    /// Rate of links that state none, such as 100Mbit/s
    #[arg(long, value_name = "RATE", value_parser = rate_bps)]
    pub(crate) rate: Option<u64>,
    /// Flows of a topology: a flow table (.csv) or applications (.xml)
    #[arg(long, value_name = "FILE")]
    pub(crate) flows: Option<PathBuf>,
    /// Nodes and links for flows: GraphML, GML or a network file
    #[arg(long, value_name = "FILE")]
    pub(crate) topology: Option<PathBuf>,
    /// Name of a CAN bus, before the names of its flows
    #[arg(long, value_name = "NAME")]
    pub(crate) bus: Option<String>,
    /// Host at which a CAN bus ends
    #[arg(long, value_name = "HOST")]
    pub(crate) gateway: Option<String>,
    /// Host that receives what the gateway sends
    #[arg(long, value_name = "HOST")]
    pub(crate) target: Option<String>,
    /// Cycle of time-triggered applications, such as 500us
    #[arg(long, value_name = "TIME", value_parser = duration_ns)]
    pub(crate) cycle: Option<u64>,
    /// Servers of Saihu and xTFA without capacity never send faster than their fastest service rate
    #[arg(long)]
    pub(crate) lines_of_service: bool,
    /// One JSON document on stdout: what was assumed and left out, and without -o the file
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Flags)]
pub(crate) struct Export {
    /// Format to write
    pub(crate) format: ExportFormat,
    /// Network, plan or server-graph file
    #[arg(value_name = "NET|PLAN")]
    pub(crate) input: PathBuf,
    /// File to write; without it, stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Bounds as that tool writes results, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Saihu's output-port JSON, and its result JSON
    Saihu,
}

/// The names of formats, and `auto`.
fn format() -> clap::builder::PossibleValuesParser {
    let names = ImportFormat::ALL.into_iter().map(ImportFormat::name);
    clap::builder::PossibleValuesParser::new(names.chain(["auto"]))
}

/// A rate with its unit.
fn rate_bps(text: &str) -> Result<u64, String> {
    match quantity::parse_rate_bps(text).map_err(|error| error.to_string())? {
        0..1_000 => Err("a link has 1 kbit/s or more: did you mean 100Mbit/s?".into()),
        rate => Ok(rate),
    }
}

/// How to plan; the same for every verb that plans a network.
#[derive(Clone, Debug, Default, Flags)]
pub(crate) struct Planning {
    /// Plan with another value, such as flows.CAM.period=16ms, flows.CAM.period.HI=16ms or
    /// links.sw1-sw2.rate=1Gbit/s; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Who comes before whom: as the file says, by period, or whatever Audsley's assignment finds
    #[arg(long, value_name = "ORDER", default_value = "given")]
    pub(crate) priorities: Ranking,
    /// What counts of messages: token buckets around them, or whole messages as they come
    #[arg(long, default_value = "auto")]
    pub(crate) curves: Curves,
}

/// Who comes before whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ranking {
    /// The priorities of the file; a flow without one ranks by its period
    #[default]
    Given,
    /// The shorter the period, the higher, whatever the file says
    RateMonotonic,
    /// The lowest to whoever keeps its deadlines there, and so on upwards
    Audsley,
}

impl From<Ranking> for tenuto_planner::Priorities {
    fn from(ranking: Ranking) -> Self {
        match ranking {
            Ranking::Given => Self::Given,
            Ranking::RateMonotonic => Self::RateMonotonic,
            Ranking::Audsley => Self::Audsley,
        }
    }
}

/// What counts of messages.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Curves {
    /// Buckets; whole messages where those keep more promises
    #[default]
    Auto,
    /// Token buckets only
    Buckets,
    /// Whole messages wherever hosts are trusted or a monitor watches
    Staircases,
}

impl From<Curves> for tenuto_planner::Curves {
    fn from(curves: Curves) -> Self {
        match curves {
            Curves::Auto => Self::Auto,
            Curves::Buckets => Self::Buckets,
            Curves::Staircases => Self::Staircases,
        }
    }
}

#[derive(Debug, Flags)]
pub(crate) struct Plan {
    /// Network file
    #[arg(value_name = "NET")]
    pub(crate) network: PathBuf,
    /// Plan file to write
    #[arg(short, long, value_name = "PLAN")]
    pub(crate) output: Option<PathBuf>,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Bounds as a table, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Every row, not only the worst 20
    #[arg(long)]
    pub(crate) all: bool,
    /// Why this flow's bounds are what they are: hop by hop, who is in the way, what would help
    #[arg(long, value_name = "FLOW", conflicts_with_all = ["diff", "csv", "output"])]
    pub(crate) explain: Option<String>,
    /// What differs from an earlier plan: bounds, and what switches are told
    #[arg(long, value_name = "OLD", conflicts_with = "csv")]
    pub(crate) diff: Option<PathBuf>,
    /// How bounds are computed
    #[arg(long, default_value = "auto")]
    pub(crate) method: Method,
    /// Forwarding model; fluid is for comparison only, it is not valid for frames
    #[arg(long, default_value = "store-and-forward")]
    pub(crate) model: Model,
    /// Take frames below 64 B as stated, not padded; for comparison only
    #[arg(long)]
    pub(crate) as_stated: bool,
    /// Do not count on lines that shape what they carry
    #[arg(long)]
    pub(crate) no_line_shaping: bool,
    #[command(flatten)]
    pub(crate) planning: Planning,
}

/// How bounds are computed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Method {
    /// The least of all that takes seconds: `best` for server graphs and small networks, `plp` for
    /// large ones
    Auto,
    /// Total flow analysis: sums of delays per hop
    Tfa,
    /// Pay multiplexing only once, whatever the order of service (server graphs)
    Pmoo,
    /// The optimum whatever the order of service: never looser than pmoo (server graphs)
    Blind,
    /// Tandem matching analysis: `blind` holds every choice that it makes (server graphs)
    Tma,
    /// Polynomial linear programs over whole paths too
    Plp,
    /// Larger linear programs too, as far as they stay small
    Elp,
    /// Separated flow analysis: every residual service that it chooses is among those of `best`
    Sfa,
    /// Least upper delay bounds: every residual service that it chooses is among those of `best`
    Ludb,
    /// The least of all of them, per flow
    Best,
    /// What Silo would promise; for comparison only, not valid where ports share a processor
    Silo,
    /// What `QJump` would promise; for comparison only, not valid where ports share a processor
    Qjump,
}

impl Method {
    /// Whose promises are shown instead of ours.
    pub(crate) const fn peer(self) -> Option<crate::compared::Peer> {
        match self {
            Self::Silo => Some(crate::compared::Peer::Silo),
            Self::Qjump => Some(crate::compared::Peer::Qjump),
            _ => None,
        }
    }
}

impl From<Method> for tenuto_bounds::Effort {
    fn from(method: Method) -> Self {
        match method {
            // Promises of others are shown before any effort is made.
            Method::Tfa | Method::Silo | Method::Qjump => Self::Tfa,
            Method::Pmoo => Self::Pmoo,
            Method::Blind | Method::Tma => Self::Blind,
            Method::Plp => Self::Plp,
            Method::Auto | Method::Elp | Method::Sfa | Method::Ludb | Method::Best => Self::Tight,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Model {
    /// Whole frames are received before they are sent on
    StoreAndForward,
    /// Bits flow through; not valid for frames
    Fluid,
}

impl From<Model> for ForwardingModel {
    fn from(model: Model) -> Self {
        match model {
            Model::StoreAndForward => Self::StoreAndForward,
            Model::Fluid => Self::Fluid,
        }
    }
}

#[derive(Debug, Flags)]
pub(crate) struct Tables {
    /// Network or plan file
    #[arg(value_name = "NET|PLAN")]
    pub(crate) input: PathBuf,
    /// This switch only
    #[arg(long, value_name = "NAME")]
    pub(crate) switch: Option<String>,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Flags)]
pub(crate) struct Certify {
    /// Plan file
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// What happens in a run; the same in virtual time and live.
#[derive(Clone, Debug, Flags)]
pub(crate) struct Run {
    /// Scenario file; without it, the one beside NET, else every flow at its contract for 20 s
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// Length of the run, such as 20s
    #[arg(long = "for", value_name = "TIME", value_parser = duration_ns)]
    pub(crate) duration_ns: Option<u64>,
    /// Seed of every choice in the run
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Every row, not only the 20 with the least margin
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Flags)]
pub(crate) struct Sim {
    /// Network or plan file
    #[arg(value_name = "NET|PLAN")]
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) run: Run,
    /// Run document to write
    #[arg(short, long, value_name = "RUN")]
    pub(crate) output: Option<PathBuf>,
    /// Write out/NAME-TIME/ with report.html, run.json and plan.json
    #[arg(long)]
    pub(crate) report: bool,
    #[command(flatten)]
    pub(crate) planning: Planning,
}

#[derive(Debug, Flags)]
pub(crate) struct Up {
    /// Network or plan file
    #[arg(value_name = "NET|PLAN")]
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) run: Run,
    /// Run the same network so many times slower: rates divided, times multiplied; `auto` takes
    /// what suits this machine, up to 10
    #[arg(long, value_name = "N", default_value = "1", value_parser = slow)]
    pub(crate) slow: Slow,
    /// Warn when less than this share of a bound is left, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) alarm_margin: u8,
    /// Leave nothing in out/
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Ports of the nodes: AF_PACKET with rings, or without
    #[arg(long, value_name = "KIND", value_parser = lab_ports, default_value = "packet-ring")]
    pub(crate) ports: LabPorts,
    /// Switches in a process each, or all in one whose thread never sleeps
    #[arg(long, value_name = "HOW", value_parser = switch_processes, default_value = "apart")]
    pub(crate) switches: SwitchProcesses,
    #[command(flatten)]
    pub(crate) planning: Planning,
}

#[derive(Debug, Flags)]
pub(crate) struct Exec {
    /// Node of the lab
    #[arg(value_name = "NODE")]
    pub(crate) node: String,
    /// Directory of the run, or of several: the newest is meant
    #[arg(long = "in", value_name = "DIR", default_value = "out")]
    pub(crate) folder: PathBuf,
    /// Program and its arguments
    #[arg(value_name = "CMD", last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Flags)]
pub(crate) struct Doctor {
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// For how long to measure
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = duration_ns)]
    pub(crate) duration_ns: u64,
}

#[derive(Debug, Flags)]
pub(crate) struct Explore {
    /// Network or plan file; or the word attendre: reactive applications, with and without Attendre
    #[arg(value_name = "NET|PLAN|attendre")]
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) attendre: crate::verbs::explore_attendre::AttendreFlags,
    /// A watched flow exceeds its start contract N times; without any, each of them once
    #[arg(long, value_name = "FLOW[=N]", value_parser = times)]
    pub(crate) excess: Vec<(String, u8)>,
    /// N frames of a flow that has no place in higher modes; without any, one of each
    #[arg(long, value_name = "FLOW[=N]", value_parser = times)]
    pub(crate) frame: Vec<(String, u8)>,
    /// Signals that may be lost; without it, what the network tolerates
    #[arg(long, value_name = "N")]
    pub(crate) lost_signals: Option<u8>,
    /// Most ticks that a frame is on a link
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) delay_ticks: u8,
    /// Quiet window before a return, in ticks
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) quiet_ticks: u8,
    /// Most states to visit
    #[arg(long, value_name = "N", default_value_t = 5_000_000)]
    pub(crate) states: usize,
    /// File for a counterexample
    #[arg(short, long, value_name = "TRACE")]
    pub(crate) output: Option<PathBuf>,
    /// Replay a counterexample instead, with the same settings
    #[arg(long, value_name = "TRACE")]
    pub(crate) replay: Option<PathBuf>,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Flags)]
pub(crate) struct Report {
    /// Plan file, or the run document of `sim` or `up`
    #[arg(value_name = "PLAN|RUN")]
    pub(crate) input: PathBuf,
    /// Plan of the run; without it, the plan.json beside it
    #[arg(long, value_name = "PLAN")]
    pub(crate) plan: Option<PathBuf>,
    /// HTML file to write; without it, beside the input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl Verb {
    /// Whether stdout is for a program.
    pub(crate) const fn wants_json(&self) -> bool {
        match self {
            Self::Check(it) => it.json,
            Self::Plan(it) => it.json,
            Self::Tables(it) => it.json,
            Self::Certify(it) => it.json,
            Self::Sim(it) => it.run.json,
            Self::Up(it) => it.run.json,
            Self::Explore(it) => it.json,
            Self::Bench(it) => it.wants_json(),
            Self::Doctor(it) => it.json,
            Self::Import(it) => it.json,
            Self::Dump(it) => it.wants_json(),
            Self::Export(_) | Self::Report(_) | Self::Exec(_) => false,
            Self::Switch(_) | Self::Trace(_) => false,
        }
    }
}

/// A length of time with its unit, above zero.
fn duration_ns(text: &str) -> Result<u64, String> {
    const DAY_NS: u64 = 86_400_000_000_000;
    match quantity::parse_time_ns(text).map_err(|error| error.to_string())? {
        0 => Err("a run takes some time: did you mean 20s?".into()),
        ns if ns > DAY_NS => Err("a run takes at most a day: did you mean 20s?".into()),
        ns => Ok(ns),
    }
}

/// `FLOW` or `FLOW=N`.
fn times(text: &str) -> Result<(String, u8), String> {
    match text.rsplit_once('=') {
        None => Ok((text.to_owned(), 1)),
        Some((flow, count)) => match count.parse() {
            Ok(count @ 1..) => Ok((flow.to_owned(), count)),
            _ => Err(format!("`{count}` is no number from 1 to 255")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_agree() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn a_duration_has_a_unit() {
        assert_eq!(duration_ns("20s"), Ok(20_000_000_000));
        assert!(duration_ns("20").expect_err("no unit").contains("did you mean"));
        assert!(duration_ns("0s").is_err());
    }
}

/// How much slower a network is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slow {
    /// As this machine needs it, up to [`Slow::AUTO_MAX`].
    Auto,
    /// So many times.
    Times(u64),
}

impl Slow {
    /// Slower than this, a scenario of seconds shows nothing any more.
    pub(crate) const AUTO_MAX: u64 = 10;
}

fn lab_ports(text: &str) -> Result<LabPorts, String> {
    match text {
        "packet-ring" => Ok(LabPorts::PacketRing),
        "packet" => Ok(LabPorts::Packet),
        _ => Err("the nodes of a lab have `packet-ring` or `packet` ports".into()),
    }
}

pub(crate) fn switch_processes(text: &str) -> Result<SwitchProcesses, String> {
    match text {
        "apart" => Ok(SwitchProcesses::Apart),
        "together" => Ok(SwitchProcesses::Together),
        _ => Err("the switches of a lab run `apart` or `together`".into()),
    }
}

fn slow(text: &str) -> Result<Slow, String> {
    match text {
        "auto" => Ok(Slow::Auto),
        _ => match text.parse() {
            Ok(n @ 1..=1_000) => Ok(Slow::Times(n)),
            _ => Err("a whole number from 1 to 1000, or `auto`".into()),
        },
    }
}
