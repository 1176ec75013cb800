//! `tenuto export saihu NET|PLAN`: ports and flows for another tool, and bounds as it writes them.

use crate::args::{Export, ExportFormat, Planning};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::{load, output, plan_graph, planning, server_bounds};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use tenuto_model::Plan;

/// Picoseconds per microsecond.
const PS_PER_US: i128 = 1_000_000;

pub(crate) fn run(args: &Export) -> Result<Outcome, Failure> {
    let ExportFormat::Saihu = args.format;
    let (text, results) =
        if load::is_servers(&args.input)? { of_servers(args)? } else { of_network(args)? };
    match &args.output {
        Some(path) => output::write_file(path, &text)?,
        None => output::say(&text)?,
    }
    if let (Some(path), Some(results)) = (&args.results, results) {
        output::write_file(path, output::json(&results))?;
    }
    Ok(Outcome::Good)
}

/// Bounds as the document has them, microseconds.
struct Results<'a> {
    name: &'a str,
    /// By flow and method; `None`: no bound.
    flows: BTreeMap<(String, &'static str), Option<f64>>,
    servers: BTreeMap<String, Option<f64>>,
    seconds: f64,
}

fn of_servers(args: &Export) -> Result<(String, Option<Value>), Failure> {
    let graph = load::servers(&args.input)?;
    let has_more = graph.flows.iter().flat_map(|flow| &flow.targets);
    if has_more.clone().any(|target| target.deadline.is_some() || target.constant.0 > 0) {
        output::complain("note: deadlines and constant delays are left out: the format has none");
    }
    let text = tenuto_model::write_saihu(&graph, None);
    if args.results.is_none() {
        return Ok((text, None));
    }
    let bounded = server_bounds::bounded(graph, &tenuto_bounds::Options::default(), true)?;
    let mut results = Results {
        name: &bounded.graph.name,
        flows: BTreeMap::new(),
        servers: BTreeMap::new(),
        seconds: bounded.took.as_secs_f64(),
    };
    for bound in &bounded.bounds {
        let name = &bounded.graph.flows[bound.flow].name;
        results.add(name, "Tenuto_BEST", bound.delay.map(|delay| delay.0));
        let tfa = bound.tfa.map(|delay| delay.0);
        results.add(name, "Tenuto_TFA", tfa);
    }
    for (server, delay) in bounded.graph.servers.iter().zip(&bounded.document.server_delays_ps) {
        results.add_server(server.name.clone(), delay.map(|delay| delay.0));
    }
    let value = results.document();
    Ok((text, Some(value)))
}

fn of_network(args: &Export) -> Result<(String, Option<Value>), Failure> {
    let planned = planning::of_input(&args.input, &Planning::default())?;
    let plan: &Plan = &planned.plan;
    let made = plan_graph::of_plan(plan)?;
    output::complain(
        "note: deadlines are left out: the format has none; a server's latency is that of its \
         switch and of the line behind it",
    );
    let text = tenuto_model::write_saihu(&made.graph, Some(&made.packets_ubit));
    let mut results = Results {
        name: &plan.network.name,
        flows: BTreeMap::new(),
        servers: BTreeMap::new(),
        seconds: planned.took.map_or(0.0, |took| took.as_secs_f64()),
    };
    if planned.certification.allows_bounds() {
        for row in &plan.flows {
            results.add(&row.flow, "Tenuto_BEST", row.delay_bound_ps.map(i128::from));
            for hop in row.copies.iter().flat_map(|copy| &copy.hops) {
                let name = plan.network.port_label(&hop.port);
                results.add_server(name, hop.queueing_ps.map(i128::from));
            }
        }
    }
    let value = results.document();
    Ok((text, Some(value)))
}

/// Picoseconds as the microseconds of the document, never below the bound.
fn microseconds(ps: i128) -> f64 {
    let text = format!("{}.{:06}", ps.div_euclid(PS_PER_US), ps.rem_euclid(PS_PER_US));
    text.parse::<f64>().map_or(f64::MAX, f64::next_up)
}

impl Results<'_> {
    /// Adds the bound of a flow's target: a flow has its largest, or none if a target has none.
    fn add(&mut self, flow: &str, method: &'static str, delay_ps: Option<i128>) {
        let delay = delay_ps.map(microseconds);
        let most = self.flows.entry((flow.to_owned(), method)).or_insert(Some(0.0));
        *most = most.zip(delay).map(|(most, delay)| most.max(delay));
    }

    /// Adds the delay of a server; it has its largest, or none.
    fn add_server(&mut self, server: String, delay_ps: Option<i128>) {
        let delay = delay_ps.map(microseconds);
        let most = self.servers.entry(server).or_insert(Some(0.0));
        *most = most.zip(delay).map(|(most, delay)| most.max(delay));
    }

    fn document(&self) -> Value {
        let mut flows: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
        for ((flow, method), delay) in &self.flows {
            flows.entry(flow).or_default().insert((*method).to_owned(), json!(delay));
        }
        let servers: BTreeMap<&str, Value> = self
            .servers
            .iter()
            .map(|(name, delay)| (name.as_str(), json!({"Tenuto_TFA": delay})))
            .collect();
        json!({
            "name": self.name,
            "flow_e2e_delay": flows,
            "server_delay": servers,
            "execution_time": {"Tenuto_BEST": self.seconds * 1_000.0},
            "units": {"flow_delay": "us", "server_delay": "us", "execution_time": "ms"},
        })
    }
}
