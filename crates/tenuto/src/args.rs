//! The command line: one definition per verb, from which parser and help come.

mod application;
mod planning;
mod values;

pub(crate) use application::{ExploreApp, OnNetwork, SimApp};
pub(crate) use planning::{Method, Model, Planning, Ranking};
pub(crate) use values::{Slow, duration_ns, rate_bps, switch_processes};

use clap::{Args as Flags, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use tenuto_runtime::{LabPorts, SwitchProcesses};
use values::{format, lab_ports, slow, threads, times};

const EXIT_CODES: &str = "Exit codes:
  0    guaranteed, kept, consistent
  1    refused, violated, broken, a counterexample
  2    bad input or usage
  3    not decidable here (not certified, a right or device missing, a stall, late by this machine, nothing observed,
       typical times, comparison only)
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
    /// For every bound a schedule that comes close to it, or breaks it
    Witness(Witness),
    /// Run a plan live on this machine, with real frames, and hold it against what was promised
    Up(Up),
    /// Run a program inside a node of a running lab
    Exec(Exec),
    /// Run a reactive application for the switches that connect, until Ctrl-C or SIGTERM
    App(crate::verbs::app::App),
    /// Keep the admitted flows of a network and decide on more, until Ctrl-C or SIGTERM
    Controller(crate::verbs::controller::Controller),
    /// Add, change, remove and list the flows of a running controller
    Flow(crate::verbs::flow::Flow),
    /// What a running controller holds: flows, switches, modes, alarms, its plan
    Show(crate::verbs::show::Show),
    /// An OpenFlow 1.3 switch over real interfaces, until Ctrl-C or SIGTERM
    Switch(crate::verbs::switch::Switch),
    /// Slices in front of a switch of others, until Ctrl-C or SIGTERM
    Proxy(crate::verbs::proxy::Proxy),
    /// Many tenants' controllers on this machine, each in a sandbox of its own
    Tenants(crate::verbs::tenants::Tenants),
    /// What the tables of a switch do to one frame, step by step
    Trace(crate::verbs::trace::Trace),
    /// Races in the record of a run: what the order of packets and messages leaves open, and matters
    Races(crate::verbs::races::Races),
    /// What a switch has in its tables, as ovs-ofctl writes it
    Dump(crate::verbs::dump::Dump),
    /// Measure a switch, and write the profile that plans believe; or hold a profile against it
    Profile(crate::verbs::profile::Profile),
    /// Visit every interleaving of the mode change and return
    Explore(Explore),
    /// One HTML file with pictures, of a plan or of a run
    Report(Report),
    /// Tables and figures of the papers, computed here and held against the print
    Bench(crate::verbs::bench::Bench),
    /// What this machine can and cannot show
    Doctor(Doctor),
    /// Completions of verbs and flags for a shell
    Completions(Completions),
    /// Pages of the manual, one per verb
    Man(Man),
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
    /// Rate of every line of a log, as 1Gbps; a log states none
    #[arg(long, value_name = "RATE", requires = "operations", value_parser = rate_bps)]
    pub(crate) line_rate: Option<u64>,
    /// Rate of the lines between switches of a log, where it is another
    #[arg(long, value_name = "RATE", requires = "operations", value_parser = rate_bps)]
    pub(crate) trunk_rate: Option<u64>,
    /// Plan file to write of what is held: every flow takes one queue on all its way then
    #[arg(long, value_name = "PLAN", conflicts_with = "pacing")]
    pub(crate) plan: Option<PathBuf>,
    /// How to decide
    #[arg(long, value_enum, default_value = "reserve")]
    pub(crate) engine: EngineName,
    /// Hosts release bursts frame by frame, at the flow's rate, where the deadline allows
    #[arg(long)]
    pub(crate) pacing: bool,
    /// Requests that the engine expects in all; as many as the list adds, unless stated
    #[arg(long, value_name = "N")]
    pub(crate) expect: Option<usize>,
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

#[derive(Debug, Flags)]
pub(crate) struct Tables {
    /// Network or plan file
    #[arg(value_name = "NET|PLAN")]
    pub(crate) input: PathBuf,
    /// This switch only
    #[arg(long, value_name = "NAME")]
    pub(crate) switch: Option<String>,
    /// Tables for people, or a script of `ovs-ofctl` for bridges with the names of switches
    #[arg(long, value_enum, default_value_t, conflicts_with = "json")]
    pub(crate) format: TablesFormat,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// How tables are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TablesFormat {
    /// For people
    #[default]
    Text,
    /// Commands of Open vSwitch
    Ovs,
}

#[derive(Debug, Flags)]
pub(crate) struct Completions {
    /// The shell that is to complete
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Flags)]
pub(crate) struct Man {
    /// Folder for the pages, made if it is not there
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Flags)]
pub(crate) struct Certify {
    /// Plan file
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// Say which rows are proved too, by the checker with a machine-checked theory (tenuto-proved)
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, require_equals = true,
        default_missing_value = crate::proved::PROGRAM)]
    pub(crate) proved: Option<PathBuf>,
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
    /// Every frame with its hops to write, for the machine-checked model (proof/README.md)
    #[arg(long, value_name = "FRAMES", conflicts_with = "schedule")]
    pub(crate) frames: Option<PathBuf>,
    /// Write out/NAME-TIME/ with report.html, run.json and plan.json
    #[arg(long)]
    pub(crate) report: bool,
    /// Repeat a schedule of `witness` instead: it decides all that a run would draw
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "duration_ns", "seed"])]
    pub(crate) schedule: Option<PathBuf>,
    /// Draw the ports on the way of the schedule's victim, as SVG
    #[arg(long, value_name = "SVG", requires = "schedule")]
    pub(crate) gantt: Option<PathBuf>,
    /// Switches whose ports share a processor behave as the devices of their profiles: control messages wait among frames
    #[arg(long, conflicts_with_all = ["schedule", "campaign", "frames"])]
    pub(crate) devices: bool,
    /// The firmware's own work too: with --devices, that of the Zodiac FX where a device states none
    #[arg(long, requires = "devices")]
    pub(crate) timers: bool,
    /// Echo requests that a controller sends each switch per second, with --devices
    #[arg(long, value_name = "N", requires = "devices", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) control_rate: Option<u64>,
    /// Run a network that is refused too, to see what would become of it: nothing is promised
    #[arg(long, conflicts_with_all = ["schedule", "campaign", "drawn"])]
    pub(crate) comparison: bool,
    /// Captures of the links, pcap with nanoseconds, one file per direction, in this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["schedule", "frames"])]
    pub(crate) pcap: Option<PathBuf>,
    /// Of these links only, each named by its ends: sw1-sw2,sw3-d1
    #[arg(long, value_name = "LINK,LINK", value_delimiter = ',', requires = "pcap")]
    pub(crate) links: Vec<String>,
    /// Trace that Perfetto and chrome://tracing open: frames, queues, mode changes and drops over time
    #[arg(long, value_name = "FILE", conflicts_with_all = ["schedule", "frames"])]
    pub(crate) trace: Option<PathBuf>,
    /// How long frames were at every port, by flow: largest, percentiles, and with --json the whole spread
    #[arg(long, conflicts_with_all = ["schedule", "frames"])]
    pub(crate) hops: bool,
    /// So many runs with traffic and faults drawn from seeds, `--seed` (1) and those that follow, each held against
    /// every invariant; `--for` is how long sources send in each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000),
        group = "cases", conflicts_with_all = ["scenario", "schedule", "frames", "report", "pcap", "trace", "hops"])]
    pub(crate) campaign: Option<u64>,
    /// Draw faults beyond the fault model too: only what must always hold is checked
    #[arg(long, requires = "cases")]
    pub(crate) beyond: bool,
    /// Runs of a campaign at once; without it, as many as there are processors
    #[arg(long, value_name = "N", requires = "campaign", value_parser = threads)]
    pub(crate) jobs: Option<usize>,
    /// The run that a campaign draws from this seed
    #[arg(long, value_name = "SEED", group = "cases", conflicts_with_all = ["scenario", "schedule", "seed"])]
    pub(crate) drawn: Option<u64>,
    #[command(flatten)]
    pub(crate) application: SimApp,
    #[command(flatten)]
    pub(crate) planning: Planning,
}

#[derive(Debug, Flags)]
pub(crate) struct Witness {
    /// Network or plan file
    #[arg(value_name = "NET|PLAN")]
    pub(crate) input: PathBuf,
    /// The bounds of this flow only, port by port
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: Option<String>,
    /// Schedules to play against each bound
    #[arg(long, value_name = "N", default_value_t = 1_500, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) plays: u64,
    /// Stop the search after this time, such as 60s; what it finds until then depends on this machine
    #[arg(long = "for", value_name = "TIME", value_parser = duration_ns)]
    pub(crate) duration_ns: Option<u64>,
    /// Seed of the search: with the same plays it finds the same
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Threads; without it, as many as there are processors
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// Folder for witness.json and, per bound, a schedule and a chart
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Every row, not only the 20 loosest
    #[arg(long)]
    pub(crate) all: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
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
    /// what suits this machine, up to 100
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
    /// Network or plan file: its mode change, or with --app an application on its switches; or the word
    /// attendre: the scenarios of that paper
    #[arg(value_name = "NET|PLAN|attendre")]
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) attendre: crate::verbs::explore_attendre::AttendreFlags,
    #[command(flatten)]
    pub(crate) application: ExploreApp,
    /// A watched flow exceeds its start contract N times; without any, each of them once
    #[arg(long, value_name = "FLOW[=N]", value_parser = times, conflicts_with = "app")]
    pub(crate) excess: Vec<(String, u8)>,
    /// N frames of a flow that has no place in higher modes; without any, one of each
    #[arg(long, value_name = "FLOW[=N]", value_parser = times, conflicts_with = "app")]
    pub(crate) frame: Vec<(String, u8)>,
    /// Signals that may be lost; without it, what the network tolerates
    #[arg(long, value_name = "N", conflicts_with = "app")]
    pub(crate) lost_signals: Option<u8>,
    /// Times that a switch may lose its power and start again
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "app")]
    pub(crate) crashes: u8,
    /// Most ticks that a frame is on a link
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "app")]
    pub(crate) delay_ticks: u8,
    /// Quiet window before a return, in ticks
    #[arg(long, value_name = "N", default_value_t = 8, conflicts_with = "app")]
    pub(crate) quiet_ticks: u8,
    /// Most states to visit
    #[arg(long, value_name = "N", default_value_t = 5_000_000, value_parser = states)]
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
    /// Plan file, or the run document of `sim` or `up`, or the folder of a run
    #[arg(value_name = "PLAN|RUN")]
    pub(crate) input: PathBuf,
    /// Plan of the run; without it, the plan.json beside it
    #[arg(long, value_name = "PLAN")]
    pub(crate) plan: Option<PathBuf>,
    /// HTML file to write; without it, beside the input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// One state is where every exploration begins.
fn states(text: &str) -> Result<usize, String> {
    let states = text.parse().ok().filter(|states| *states > 0);
    states.ok_or_else(|| "a number of states from 1 on is meant".to_owned())
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
            Self::Witness(it) => it.json,
            Self::Explore(it) => it.json,
            Self::Bench(it) => it.wants_json(),
            Self::Doctor(it) => it.json,
            Self::Import(it) => it.json,
            Self::Races(it) => it.json,
            Self::Dump(it) => it.wants_json(),
            Self::Flow(it) => it.wants_json(),
            Self::Show(it) => it.json,
            Self::App(_) | Self::Controller(_) => false,
            Self::Tenants(it) => it.wants_json(),
            Self::Profile(it) => it.json,
            Self::Export(_) | Self::Report(_) | Self::Exec(_) => false,
            Self::Switch(_) | Self::Proxy(_) | Self::Trace(_) => false,
            Self::Completions(_) | Self::Man(_) => false,
        }
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
}
