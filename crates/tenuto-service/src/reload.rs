//! Another text of the network file, while the service runs.
//!
//! What differs in its flows is decided on like any other change, all or none, so nothing that was promised
//! can break. What differs elsewhere would be another network: that is refused, by name.

use crate::answer::Denied;
use crate::change::Change;
use crate::flow_fields::fields;
use crate::pinned::bare;
use crate::service::{Request, Service};
use tenuto_model::{Flow, Network, network_digest};

/// What a new text of the network file has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reloaded {
    /// The decision, where there was something to decide on.
    pub decision: Option<u64>,
    /// The differences, a line each.
    pub differences: Vec<String>,
}

impl Service {
    /// Takes the network file anew: `file` is its text. Flows that the earlier text had and this has not are removed, new
    /// ones are added, others changed; flows that came by the interface stay.
    ///
    /// # Errors
    /// Why nothing was changed, and what would have been.
    pub fn reload(&self, network: &Network, file: &str) -> Result<Reloaded, (Denied, Vec<String>)> {
        let (known, flows) = self.inner.filed();
        if bare(network) != known {
            let parts = other_parts(&known, &bare(network)).join(", ");
            let why = format!(
                "{parts} of the file changed: only flows can change while the service runs; end it, and start \
                 it with another state directory"
            );
            return Err((Denied::Conflict(why), Vec::new()));
        }
        let (changes, differences) = differences(&flows, network);
        if changes.is_empty() {
            return Ok(Reloaded { decision: None, differences });
        }
        let request = Request { changes, who: "reload".to_owned(), key: None, advice: false };
        let told = (network_digest(network), file.to_owned());
        match self.inner.submit_file(&request, told, network.flows.clone()) {
            Ok(accepted) => Ok(Reloaded { decision: Some(accepted.decision), differences }),
            Err(denied) => Err((denied, differences)),
        }
    }
}

/// What leads from the flows of one text to those of another.
fn differences(old: &[Flow], new: &Network) -> (Vec<Change>, Vec<String>) {
    let (mut changes, mut lines) = (Vec::new(), Vec::new());
    for flow in old.iter().rev().filter(|flow| new.flow(&flow.name).is_none()) {
        lines.push(format!("- {}", flow.name));
        changes.push(Change::Remove { name: flow.name.clone() });
    }
    for flow in &new.flows {
        let (name, value) = (flow.name.clone(), fields(flow, new));
        match old.iter().find(|it| it.name == flow.name) {
            Some(known) if known == flow => {}
            Some(_) => {
                lines.push(format!("~ {name} {value}"));
                changes.push(Change::Change { name, flow: value });
            }
            None => {
                lines.push(format!("+ {name} {value}"));
                changes.push(Change::Add { name, flow: value });
            }
        }
    }
    (changes, lines)
}

/// Names of what differs besides flows.
fn other_parts(old: &Network, new: &Network) -> Vec<&'static str> {
    let parts = [
        ("name", old.name != new.name),
        ("modes", old.modes != new.modes),
        ("hosts", old.hosts != new.hosts),
        ("switches", old.switches != new.switches),
        ("links", old.links != new.links),
        ("controllers", old.controllers != new.controllers),
        ("profiles", old.profiles != new.profiles),
    ];
    let named: Vec<_> = parts.into_iter().filter(|(_, differs)| *differs).map(|it| it.0).collect();
    if named.is_empty() { vec!["settings"] } else { named }
}
