//! `tenuto bench tcp-setup`: how long connections wait for their entries on 2 to 4 switches (\[Attendre\]
//! section VII, Fig. 9), in virtual time.
//!
//! Each connection is a SYN and the SYN-ACK that answers it: two flows that no entry knows. Entries match one connection
//! each, as in the paper. The agent of a switch handles one command at a time, which is what makes races: a packet overtakes
//! commands that wait for an agent.

use super::distribution_picture::{Curve, Panel, picture};
use super::sheet::{Form, Sheet, rounded, show};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output;
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;
use tenuto_controller::reactive::named;
use tenuto_model::quantity::parse_time_ns;
use tenuto_model::{MemorySources, Network, read_network};
use tenuto_units::Span;
use tenuto_world::applied::{self, AppliedRun, RunSettings};
use tenuto_world::explore::reactive::{Protocol, Send};

/// Flags of the bench.
#[derive(Debug, clap::Args)]
pub(crate) struct TcpSetup {
    #[command(flatten)]
    pub(super) form: Form,
    /// Connections of each case
    #[arg(long, value_name = "N", default_value_t = 1_000,
        value_parser = clap::value_parser!(u32).range(1..=20_000))]
    connections: u32,
    /// Switches on the way of a connection
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2,3,4",
        value_parser = clap::value_parser!(u8).range(1..=16))]
    hops: Vec<u8>,
    /// Times between two connections
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1ms,2ms,4ms,8ms,16ms,32ms",
        value_parser = time)]
    intervals: Vec<u64>,
    /// What the agent of a switch needs for a command in the mean, drawn from 0 to twice as much (section VIII: 1 ms)
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = time)]
    command: u64,
    /// What the controller needs for a packet-in
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = time)]
    think: u64,
    /// One way between a switch and the controller
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = time)]
    control_delay: u64,
    /// Draw the distributions as Fig. 9 does: a panel for each protocol and number of switches
    #[arg(long, value_name = "SVG")]
    pub(super) picture: Option<PathBuf>,
}

/// Names as the paper has them.
const PROTOCOLS: [(Protocol, &str); 3] = [
    (Protocol::Openflow, "OpenFlow"),
    (Protocol::OpenflowBarrier, "OpenFlow-B"),
    (Protocol::Attendre, "OpenFlow-Attendre"),
];

/// The case that the paper prints in numbers, and its 80th percentiles, ms.
const PRINTED_CASE: (u8, u64) = (3, 4_000_000);
const PRINTED_MS: (f64, f64) = (500.0, 15.0);

/// A case as it ran.
struct Case {
    hops: u8,
    interval_ns: u64,
    name: &'static str,
    found: AppliedRun,
}

fn time(text: &str) -> Result<u64, String> {
    match parse_time_ns(text) {
        Ok(0) => Err("a time above zero is meant".to_owned()),
        read => read.map_err(|error| error.to_string()),
    }
}

pub(super) fn run(args: &TcpSetup) -> Result<Outcome, Failure> {
    let mut cases = Vec::new();
    for &hops in &args.hops {
        for (protocol, name) in PROTOCOLS {
            for &interval_ns in &args.intervals {
                let found = play(args, hops, interval_ns, protocol)?;
                cases.push(Case { hops, interval_ns, name, found });
            }
        }
    }
    let mut sheets: Vec<Sheet> = args.hops.iter().map(|&hops| sheet(hops, &cases, args)).collect();
    if let (Some(last), Some(line)) = (sheets.last_mut(), held_against_print(&cases)) {
        last.note(line);
    }
    if let Some(path) = &args.picture {
        output::write_file(path, &picture(TITLE, args.hops.len(), &panels(&cases, args)))?;
        if let Some(last) = sheets.last_mut() {
            last.note(format!("picture: {}", path.display()));
        }
    }
    show("tcp-setup", Some(1), &sheets, &args.form)
}

const TITLE: &str = "Attendre, Fig. 9: share of connections that are set up within a time";

fn play(
    args: &TcpSetup,
    hops: u8,
    interval_ns: u64,
    protocol: Protocol,
) -> Result<AppliedRun, Failure> {
    let network = line_of(hops);
    let wrong = |text: String| Failure::input(text, None, None);
    let settings = [("match".to_owned(), "conversations".to_owned())];
    let app = named("route-flow", &settings, Some(&network)).map_err(wrong)?;
    let send = Send { from: "client".into(), to: "server".into(), packets: 1 };
    let settings = RunSettings {
        protocol,
        sends: vec![send],
        replies: vec!["server".into()],
        flows: args.connections,
        every: Span::from_ns(interval_ns),
        is_regular: true,
        packet_bytes: 60,
        control_delay: Span::from_ns(args.control_delay),
        think: Span::from_ns(args.think),
        command: Span::from_ns(args.command),
        is_command_drawn: true,
        settle: Span::from_s(600),
        ..RunSettings::default()
    };
    applied::run(&network, app, &settings).map_err(wrong)
}

/// A client and a server with so many switches between them.
fn line_of(hops: u8) -> Network {
    let mut text = String::from(
        "tenuto: 1\nname: line\nhosts: {client: {}, server: {}}\n\
         controllers: {c1: {manages: all}}\ndefaults: {link: {rate: 1 Gbit/s, length: 2 m}}\n",
    );
    let switches: Vec<String> = (1..=hops).map(|n| format!("s{n}: {{profile: tenuto}}")).collect();
    let _ =
        writeln!(text, "switches: {{{}}}\nlinks:\n  - {{ends: [client, s1]}}", switches.join(", "));
    for n in 1..hops {
        let _ = writeln!(text, "  - {{ends: [s{n}, s{}]}}", n + 1);
    }
    let _ = writeln!(text, "  - {{ends: [s{hops}, server]}}");
    text.push_str(
        "flows: {any: {source: client, targets: [server], message: 100 B, period: 1 s}}\n",
    );
    let sources = MemorySources::new().with("line.yaml", &text);
    read_network(&sources, "line.yaml").expect("the line is as it is written here").0
}

fn sheet(hops: u8, cases: &[Case], args: &TcpSetup) -> Sheet {
    let mut sheet = Sheet::new(
        format!(
            "Attendre, Fig. 9: round trip of SYN and SYN-ACK over {hops} switches, {} connections, {} ms per command",
            args.connections,
            ms(args.command),
        ),
        &[
            "protocol",
            "every ms",
            "p50 ms",
            "p80 ms",
            "p99 ms",
            "max ms",
            "packet-ins",
            "flow-mods",
            "lost",
        ],
    );
    for case in cases.iter().filter(|case| case.hops == hops) {
        let per_connection = |sum: u64| rounded(sum as f64 / f64::from(args.connections), 2);
        let sum = |of: fn(&applied::FlowRow) -> u32| {
            case.found.flows.iter().map(|flow| u64::from(of(flow))).sum::<u64>()
        };
        let percentile =
            |percent: usize| at(&case.found, percent).map_or(Value::Null, |ms| rounded(ms, 3));
        sheet.push(vec![
            case.name.into(),
            rounded(ms(case.interval_ns), 3),
            percentile(50),
            percentile(80),
            percentile(99),
            percentile(100),
            per_connection(sum(|flow| flow.packet_ins)),
            per_connection(sum(|flow| flow.flow_mods)),
            sum(applied::FlowRow::lost).into(),
        ]);
    }
    sheet.note("packet-ins and flow-mods are per connection, which is two new flows");
    sheet
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// The round trip that so many percent of all connections do not exceed; nothing if as many were not set up.
fn at(found: &AppliedRun, percent: usize) -> Option<f64> {
    let times = found.round_trips();
    let rank = (found.flows.len() * percent).div_ceil(100).max(1);
    times.get(rank - 1).map(|ns| ms(*ns))
}

fn held_against_print(cases: &[Case]) -> Option<String> {
    let p80 = |name: &str| {
        let is_meant = |case: &&Case| {
            (case.hops, case.interval_ns, case.name) == (PRINTED_CASE.0, PRINTED_CASE.1, name)
        };
        at(&cases.iter().find(is_meant)?.found, 80)
    };
    let (plain, attendre) = (p80("OpenFlow")?, p80("OpenFlow-Attendre")?);
    Some(format!(
        "80th percentile, 3 switches, every 4 ms: {plain:.1} to {attendre:.1} ms, a factor of {:.0} (printed: {} to {} ms, {:.0})",
        plain / attendre,
        PRINTED_MS.0,
        PRINTED_MS.1,
        PRINTED_MS.0 / PRINTED_MS.1,
    ))
}

fn panels(cases: &[Case], args: &TcpSetup) -> Vec<Panel> {
    let mut panels = Vec::new();
    for (_, name) in PROTOCOLS {
        for &hops in &args.hops {
            let of_panel = cases.iter().filter(|case| (case.name, case.hops) == (name, hops));
            let curve = |case: &Case| Curve {
                label: format!("{} ms", ms(case.interval_ns)),
                of: case.found.flows.len(),
                sorted_ms: case.found.round_trips().iter().map(|ns| ms(*ns)).collect(),
            };
            let title = format!("{name}, {hops} switches");
            panels.push(Panel { title, curves: of_panel.map(curve).collect() });
        }
    }
    panels
}
