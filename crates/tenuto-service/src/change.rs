//! What is asked of a set of flows, and what was made of it.

use serde::{Deserialize, Serialize};
use tenuto_model::{Flow, Network};

/// One change that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "action", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Change {
    /// A flow that is not there yet.
    Add {
        /// Its name.
        name: String,
        /// Its fields, as a network file has them.
        flow: serde_json::Value,
    },
    /// Another contract, or other ends, of a flow that is there.
    Change {
        /// Its name.
        name: String,
        /// Its fields, as a network file has them; what is left out has its default, not its earlier value.
        flow: serde_json::Value,
    },
    /// The end of a flow.
    Remove {
        /// Its name.
        name: String,
    },
}

impl Change {
    /// The flow that it is about.
    pub fn name(&self) -> &str {
        match self {
            Self::Add { name, .. } | Self::Change { name, .. } | Self::Remove { name } => name,
        }
    }
}

/// A change as it was decided: with its route, port and class, so that carrying it out decides nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Settled {
    /// Behind all others.
    Add(Box<Flow>),
    /// In place of the flow of that name.
    Change(Box<Flow>),
    /// The flow of that name goes; those behind it keep their order.
    Remove(String),
}

/// Carries settled changes out. The same changes of the same network give the same network, bit for bit.
///
/// # Errors
/// A sentence where a change does not fit: the log is of another network.
pub(crate) fn carry_out(network: &mut Network, changes: &[Settled]) -> Result<(), String> {
    for change in changes {
        let place = |name: &str| network.flows.iter().position(|flow| flow.name == name);
        match change {
            Settled::Add(flow) => match place(&flow.name) {
                None => network.flows.push((**flow).clone()),
                Some(_) => return Err(format!("flow `{}` is there already", flow.name)),
            },
            Settled::Change(flow) => match place(&flow.name) {
                Some(at) => network.flows[at] = (**flow).clone(),
                None => return Err(format!("there is no flow `{}`", flow.name)),
            },
            Settled::Remove(name) => match place(name) {
                Some(at) => drop(network.flows.remove(at)),
                None => return Err(format!("there is no flow `{name}`")),
            },
        }
    }
    Ok(())
}
