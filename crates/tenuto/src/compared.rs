//! `tenuto plan NET --method silo|qjump`: what others would promise; never a plan of ours.

use crate::args::Plan;
use crate::failure::Failure;
use crate::format::Table;
use crate::header::Header;
use crate::outcome::Outcome;
use crate::output;
use serde::Serialize;
use std::fmt::Write;
use tenuto_model::Network;
use tenuto_planner::comparison::networks::{self, Compared};

/// Whose promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Silo,
    Qjump,
}

impl Peer {
    const fn name(self) -> &'static str {
        match self {
            Self::Silo => "silo",
            Self::Qjump => "qjump",
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    method: &'static str,
    network: &'a str,
    is_valid_for_frames: bool,
    /// Switches whose ports share a processor: there the method's assumptions are wrong.
    unfit_switches: &'a [String],
    flows: Vec<FlowRow<'a>>,
    ports: Vec<PortRow<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct FlowRow<'a> {
    flow: &'a str,
    promise_us: Option<f64>,
    refusal: Option<&'a str>,
}

#[derive(Serialize)]
struct PortRow<'a> {
    port: &'a str,
    capacity_us: f64,
    bound_us: f64,
}

pub(crate) fn run(args: &Plan, network: &Network, peer: Peer) -> Result<Outcome, Failure> {
    let asks_for_a_plan = args.output.is_some() || args.csv.is_some();
    if asks_for_a_plan || args.explain.is_some() || args.diff.is_some() {
        let hint = "--method silo and qjump show other systems' promises; leave out -o, --csv, \
                    --explain and --diff, or plan with --method auto";
        return Err(Failure::input("there is no plan to write", None, Some(hint)));
    }
    let compared = match peer {
        Peer::Qjump => networks::qjump(network),
        Peer::Silo => networks::silo(network).map_err(|switch| {
            let message = format!("switch {switch}: its profile states no buffer");
            let hint = "Silo's promises are buffers divided by rates: state a buffer per port";
            Failure::input(message, Some(&args.network.display().to_string()), Some(hint))
        })?,
    };
    if args.json {
        output::say_json(&document(network, peer, &compared))?;
    } else {
        output::say(&text(network, peer, &compared))?;
    }
    Ok(Outcome::Undecidable)
}

fn document<'a>(network: &'a Network, peer: Peer, compared: &'a Compared) -> Document<'a> {
    let flow = |it: &'a networks::ComparedFlow| FlowRow {
        flow: &it.name,
        promise_us: it.promise_ps.map(us),
        refusal: it.refusal.as_deref(),
    };
    let port = |it: &'a networks::ComparedPort| PortRow {
        port: &it.label,
        capacity_us: us(it.capacity_ps),
        bound_us: us(it.bound_ps),
    };
    Document {
        header: Header::new("tenuto-comparison/1", "comparison"),
        method: peer.name(),
        network: &network.name,
        is_valid_for_frames: false,
        unfit_switches: &compared.unfit_switches,
        flows: compared.flows.iter().map(flow).collect(),
        ports: compared.ports.iter().map(port).collect(),
        notes: &compared.notes,
    }
}

fn text(network: &Network, peer: Peer, compared: &Compared) -> String {
    let mut out = format!("{}   method {}: FOR COMPARISON ONLY\n", network.name, peer.name());
    let mut flows = Table::new(&["flow", ">promise us", "not admitted because"]);
    for it in &compared.flows {
        let promise = it.promise_ps.map_or_else(|| "-".into(), shown_us);
        flows.push(vec![it.name.clone(), promise, it.refusal.clone().unwrap_or_default()]);
    }
    out.push_str(&flows.text());
    if !compared.ports.is_empty() {
        let mut ports = Table::new(&["port", ">queue capacity us", ">queue bound us"]);
        for it in &compared.ports {
            let bound = shown_us(it.bound_ps);
            ports.push(vec![it.label.clone(), shown_us(it.capacity_ps), bound]);
        }
        out.push('\n');
        out.push_str(&ports.text());
    }
    for note in &compared.notes {
        let _ = writeln!(out, "  {note}");
    }
    let why = match compared.unfit_switches.as_slice() {
        [] => "it looks at output lines alone and at no certificate".to_owned(),
        some => format!(
            "NOT VALID FOR SUCH SWITCHES: the ports of {} share a processor, which {} does not know \
             ([Loko] section 2.3 measured its promises broken)",
            some.join(", "),
            peer.name()
        ),
    };
    let _ = writeln!(out, "COMPARISON: {why}. Nothing is guaranteed.");
    out
}

fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

fn shown_us(ps: u64) -> String {
    format!("{:.1}", us(ps))
}
