//! The set in force as everybody sees it, whole and unchanging.

use crate::alarm::Alarm;
use std::sync::Arc;
use tenuto_model::{Network, Plan};

/// What is in force after a decision.
#[derive(Clone, Debug)]
pub struct View {
    /// Number of the decision, 0 for the network file itself.
    pub decision: u64,
    /// The set, every route written down.
    pub network: Arc<Network>,
    /// Its plan.
    pub plan: Arc<Plan>,
    /// The latest decision whose set the checker accepted; `None` before the first.
    pub certified: Option<u64>,
    /// The latest decision that every switch has confirmed; `None` where no switches are kept.
    pub installed: Option<u64>,
    /// Whether switches are kept at the plan.
    pub keeps_switches: bool,
    /// Why nothing is admitted, if that is so.
    pub stopped: Option<String>,
    /// Everything that somebody has to look at.
    pub alarms: Vec<Alarm>,
}

impl View {
    /// How far a decision has come: `pending` is stored and not in every switch that is kept yet, `confirmed` is in force,
    /// `certified` has the checker's word too.
    pub fn state_of(&self, decision: u64) -> &'static str {
        let reached = |latest: Option<u64>| latest.is_some_and(|latest| latest >= decision);
        match (self.keeps_switches && !reached(self.installed), reached(self.certified)) {
            (true, _) => "pending",
            (false, true) => "certified",
            (false, false) => "confirmed",
        }
    }
}
