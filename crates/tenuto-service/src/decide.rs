//! One decision: from what is asked to a plan that holds, or to what is in the way.
//!
//! The whole set is planned, with the flows accepted before on their routes. What is accepted is planned
//! a second time with every route written down, and that plan is the one in force: whoever writes the
//! network to a file and plans it gets the same.

use crate::answer::{Denied, RefusalDocument};
use crate::change::{Change, Settled, carry_out};
use crate::pinned::{free_port, pinned};
use tenuto_model::{Flow, Network, Plan, read_flows};
use tenuto_planner::{Executor, InTurn, Options, Watch, plan_on};

/// How sets are planned.
#[derive(Clone, Copy)]
pub struct Planning {
    /// The options of a network, as every verb takes them.
    pub options: fn(&Network) -> Options,
    /// What linear programs are solved on.
    pub executor: &'static (dyn Executor + Sync),
}

impl std::fmt::Debug for Planning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Planning")
    }
}

impl Default for Planning {
    fn default() -> Self {
        Self { options: |_| Options::default(), executor: &InTurn }
    }
}

/// A set that holds, and the changes that lead to it.
#[derive(Clone, Debug)]
pub(crate) struct Decided {
    pub(crate) network: Network,
    pub(crate) plan: Plan,
    pub(crate) settled: Vec<Settled>,
    /// What the reader warned of.
    pub(crate) warnings: Vec<String>,
}

impl Planning {
    /// The plan of a set: by sums of hops if these suffice, else with bounds of whole paths.
    pub(crate) fn plan(&self, network: &Network) -> Plan {
        let full = Options { would_fit: false, ..(self.options)(network) };
        let sums = Options { whole_paths: None, ..full };
        let plan = plan_on(network, &sums, self.executor, &mut |_| ());
        if plan.feasible || full.whole_paths.is_none() {
            return plan;
        }
        plan_on(network, &full, self.executor, &mut |_| ())
    }

    /// A network with every route written down, and its plan, which holds.
    ///
    /// # Errors
    /// The plan that is refused.
    pub(crate) fn settle(&self, network: &Network) -> Result<(Network, Plan), Box<Plan>> {
        let free = self.plan(network);
        if !free.feasible {
            return Err(Box::new(free));
        }
        let network = pinned(&free);
        if network == free.network {
            return Ok((network, free));
        }
        let plan = self.plan(&network);
        if plan.feasible { Ok((network, plan)) } else { Err(Box::new(plan)) }
    }

    /// Adds what would fit to the refusals of a plan; the checker is asked about every change.
    pub(crate) fn advise(&self, plan: &mut Plan) {
        let options = Options { would_fit: true, ..(self.options)(&plan.network) };
        let confirm = |plan: &Plan| tenuto_certify::certify(&plan.to_json()).is_ok();
        let mut watch = Watch { confirm: &confirm, progress: &mut |_| (), found: &mut |_, _| () };
        tenuto_planner::suggest(plan, &options, &mut watch);
    }
}

/// Decides on changes of `network`, all or none of them.
///
/// # Errors
/// What is wrong with them, or what is scarce.
pub(crate) fn decide(
    planning: &Planning,
    (network, file): (&Network, &str),
    changes: &[Change],
    advice: bool,
) -> Result<Decided, Denied> {
    let (asked, warnings) = applied((network, file), changes)?;
    let (settled_network, plan) = planning.settle(&asked).map_err(|mut plan| {
        if advice {
            planning.advise(&mut plan);
        }
        Denied::Refused(RefusalDocument::all(&plan))
    })?;
    let settled = settled(network, &settled_network, changes)?;
    let mut replayed = network.clone();
    carry_out(&mut replayed, &settled).map_err(Denied::Conflict)?;
    // What was accepted before is as it was: the settled changes alone lead to the new set.
    if replayed != settled_network {
        let moved = "a flow accepted before would be moved by this";
        return Err(Denied::Conflict(moved.to_owned()));
    }
    Ok(Decided { network: settled_network, plan, settled, warnings })
}

/// The network that is asked for, routes of new flows open.
fn applied(
    (network, file): (&Network, &str),
    changes: &[Change],
) -> Result<(Network, Vec<String>), Denied> {
    let mut asked = network.clone();
    let mut warnings = Vec::new();
    for (number, change) in changes.iter().enumerate() {
        let name = change.name();
        if changes[..number].iter().any(|other| other.name() == name) {
            return Err(Denied::Conflict(format!("`{name}` is changed twice: ask one by one")));
        }
        let place = asked.flows.iter().position(|flow| flow.name == name);
        match (change, place) {
            (Change::Add { .. }, Some(_)) => {
                let hint = "change that one, or take another name";
                return Err(Denied::Conflict(format!("there is a flow `{name}` already: {hint}")));
            }
            (Change::Add { flow, .. }, None) => {
                warnings.extend(add(&mut asked, file, name, flow, None)?);
            }
            (_, None) => return Err(Denied::NotFound(format!("there is no flow `{name}`"))),
            (Change::Change { flow, .. }, Some(at)) => {
                let old = asked.flows.remove(at);
                warnings.extend(add(&mut asked, file, name, flow, old.udp_port)?);
                let new = asked.flows.pop().expect("it was added");
                asked.flows.insert(at, new);
            }
            (Change::Remove { .. }, Some(at)) => {
                if let Some(later) = asked.flows[at + 1..].iter().find(|it| is_numbered(it)) {
                    return Err(Denied::Conflict(format!(
                        "the group address of `{}` follows from its place behind `{name}`: remove \
                         it first",
                        later.name
                    )));
                }
                asked.flows.remove(at);
            }
        }
    }
    match asked.flows.is_empty() {
        true => Err(Denied::Conflict("the last flow stays: a network has one at least".into())),
        false => Ok((asked, warnings)),
    }
}

/// Whether an address of the flow follows from how many flows are in front of it.
fn is_numbered(flow: &Flow) -> bool {
    flow.vl.is_none() && flow.targets.len() > 1
}

/// Reads a flow as one of the network file, behind all others.
fn add(
    asked: &mut Network,
    file: &str,
    name: &str,
    fields: &serde_json::Value,
    port: Option<u16>,
) -> Result<Vec<String>, Denied> {
    let mut fields = fields.clone();
    let names_port = |it: &serde_json::Map<String, serde_json::Value>| {
        it.contains_key("udp_port") || it.contains_key("vl")
    };
    if let Some(map) = fields.as_object_mut()
        && !names_port(map)
        && let Some(port) = port.or_else(|| free_port(asked))
    {
        map.insert("udp_port".to_owned(), port.into());
    }
    let text = serde_json::json!({ name: fields }).to_string();
    let (network, warnings) =
        read_flows(asked, file, ("the request", &text)).map_err(|all| Denied::invalid(&all))?;
    *asked = network;
    let own = format!("flows.{name}");
    let own = warnings.iter().filter(|it| it.field_path.starts_with(&own));
    Ok(own.map(|it| it.message.clone()).collect())
}

/// The changes with what was decided about them.
fn settled(before: &Network, after: &Network, changes: &[Change]) -> Result<Vec<Settled>, Denied> {
    let decided = |name: &str| {
        let flow = after.flow(name).cloned().map(Box::new);
        flow.ok_or_else(|| Denied::Conflict(format!("flow `{name}` was lost while planning")))
    };
    let one = |change: &Change| match change {
        Change::Remove { name } => Ok(Settled::Remove(name.clone())),
        Change::Add { name, .. } => decided(name).map(Settled::Add),
        Change::Change { name, .. } => decided(name).map(Settled::Change),
    };
    debug_assert!(before.name == after.name, "one network");
    changes.iter().map(one).collect()
}
