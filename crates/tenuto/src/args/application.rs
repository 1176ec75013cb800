//! Flags of `sim --app` and `explore --app`.

use crate::verbs::app::setting;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;
use tenuto_model::quantity;
use tenuto_world::explore::reactive::{Move, Protocol, Reductions, Send};

/// What runs on the switches of a network, and what its hosts do.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Options of an application (--app)")]
pub(crate) struct OnNetwork {
    /// A setting of the application, such as idle=30; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting, requires = "app")]
    pub(crate) app_set: Vec<(String, String)>,
    /// How switches are told: openflow, openflow-barrier or attendre
    #[arg(long, value_name = "PROTOCOL", value_parser = PossibleValuesParser::new(
        Protocol::ALL.map(Protocol::name)), default_value = "openflow")]
    pub(crate) protocol: String,
    /// N packets from a host to another, 1 unless said; may be repeated. Without any, the first host sends 2
    /// to the last, which replies
    #[arg(long, value_name = "FROM:TO[=N]", value_parser = send, requires = "app")]
    pub(crate) send: Vec<Send>,
    /// This host replies to each packet that it gets; may be repeated
    #[arg(long, value_name = "HOST", requires = "app")]
    pub(crate) reply: Vec<String>,
}

/// Flags of `explore NET --app` only.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of explore NET --app")]
pub(crate) struct ExploreApp {
    #[command(flatten)]
    pub(crate) on_network: OnNetwork,
    /// A host that may move to a free port, once it has got a packet; may be repeated
    #[arg(long = "move", value_name = "HOST=SWITCH:PORT", value_parser = host_move, requires = "app")]
    pub(crate) moves: Vec<Move>,
    /// The first host may not reach the second; may be repeated
    #[arg(long, value_name = "FROM:TO", value_parser = pair, requires = "app")]
    pub(crate) forbid: Vec<(String, String)>,
    /// Answers of the controller overtake each other
    #[arg(long, requires = "app")]
    pub(crate) threads: bool,
    /// Packets that links may lose
    #[arg(long, value_name = "N", default_value_t = 0, requires = "app")]
    pub(crate) losses: u8,
    /// Packets that links may double
    #[arg(long, value_name = "N", default_value_t = 0, requires = "app")]
    pub(crate) duplicates: u8,
    /// Links that may be cut
    #[arg(long, value_name = "N", default_value_t = 0, requires = "app")]
    pub(crate) link_failures: u8,
    /// Switches that may start again with empty tables
    #[arg(long, value_name = "N", default_value_t = 0, requires = "app")]
    pub(crate) switch_failures: u8,
    /// Times that the controller may start again
    #[arg(long, value_name = "N", default_value_t = 0, requires = "app")]
    pub(crate) controller_crashes: u8,
    /// Timers of the application that may be due
    #[arg(long, value_name = "N", default_value_t = 0, requires = "app")]
    pub(crate) timers: u8,
    /// What leaves states out: numbers, packets, partial-order, corridors; all of them, or none
    #[arg(long, value_name = "NAMES", value_parser = reductions, default_value = "all", requires = "app")]
    pub(crate) reduce: Reductions,
    /// Draw a counterexample as a message-sequence chart
    #[arg(long, value_name = "SVG", requires = "app")]
    pub(crate) chart: Option<PathBuf>,
}

/// Flags of `sim --app` only.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of sim --app")]
pub(crate) struct SimApp {
    /// An application by name or a Python file, instead of a plan
    #[arg(long, value_name = "APP|FILE.py", conflicts_with_all = [
        "scenario", "duration_ns", "output", "frames", "report", "schedule", "gantt", "devices", "timers",
        "control_rate", "comparison", "pcap", "links", "trace", "hops", "campaign", "beyond", "jobs", "drawn"])]
    pub(crate) app: Option<String>,
    #[command(flatten)]
    pub(crate) on_network: OnNetwork,
    /// New flows of each pair of hosts
    #[arg(long, value_name = "N", default_value_t = 10, requires = "app",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) flows: u32,
    /// Mean time between the beginnings of two flows of a pair
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = time, requires = "app")]
    pub(crate) every: u64,
    /// Time between two packets of a flow
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = time, requires = "app")]
    pub(crate) gap: u64,
    /// One way between a switch and the controller
    #[arg(long, value_name = "TIME", default_value = "500us", value_parser = time, requires = "app")]
    pub(crate) control_delay: u64,
    /// What the controller needs for a message
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = time, requires = "app")]
    pub(crate) think: u64,
    /// Write down what the controller heard and told, for `tenuto races`
    #[arg(long, value_name = "FILE", requires = "app")]
    pub(crate) record: Option<PathBuf>,
    /// What the agent of a switch needs for a message of the controller
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = time, requires = "app")]
    pub(crate) command: u64,
}

/// `FROM:TO` or `FROM:TO=N`.
fn send(text: &str) -> Result<Send, String> {
    let (pair, count) = text.split_once('=').unwrap_or((text, "1"));
    let meant = "FROM:TO=N is meant, such as h1:h2=3";
    let (from, to) = pair.split_once(':').ok_or_else(|| meant.to_owned())?;
    let packets = count.parse().ok().filter(|count| *count > 0);
    let packets = packets.ok_or_else(|| format!("{meant}, N from 1 to {}", u8::MAX))?;
    Ok(Send { from: from.to_owned(), to: to.to_owned(), packets })
}

/// `HOST=SWITCH:PORT`.
fn host_move(text: &str) -> Result<Move, String> {
    let meant = |what: &str| format!("{what}: HOST=SWITCH:PORT is meant, such as h2=sw2:7");
    let (host, place) = text.split_once('=').ok_or_else(|| meant("no place is named"))?;
    let (switch, port) =
        place.split_once(':').ok_or_else(|| meant("the place has no SWITCH:PORT"))?;
    if host.is_empty() || switch.is_empty() {
        return Err(meant(if host.is_empty() { "no host is named" } else { "no switch is named" }));
    }
    let port = port.parse().ok().filter(|port| (1..=0xffff_ff00).contains(port));
    let port = port.ok_or_else(|| meant("a port is a number from 1 on"))?;
    Ok(Move { host: host.to_owned(), switch: switch.to_owned(), port })
}

/// Names with commas between them, `all` or `none`.
fn reductions(text: &str) -> Result<Reductions, String> {
    match text {
        "all" => return Ok(Reductions::ALL),
        "none" => return Ok(Reductions::NONE),
        _ => {}
    }
    text.split(',').try_fold(Reductions::NONE, |all, name| {
        let known = || Reductions::NAMES.join(", ");
        all.with(name)
            .ok_or_else(|| format!("no reduction is called `{name}`: all, none, or of {}", known()))
    })
}

/// `FROM:TO`.
fn pair(text: &str) -> Result<(String, String), String> {
    let (from, to) = text.split_once(':').ok_or("FROM:TO is meant, such as h1:h3")?;
    if from == to {
        return Err(format!("a host always reaches itself: which one may `{from}` not reach?"));
    }
    Ok((from.to_owned(), to.to_owned()))
}

fn time(text: &str) -> Result<u64, String> {
    quantity::parse_time_ns(text).map_err(|error| error.to_string())
}
