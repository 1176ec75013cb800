//! One case of a campaign: drawn, run and held against the invariants.

use super::invariants::{Broken, Invariant, broken};
use super::{Reach, scenario};
use crate::RunDocument;
use crate::clockwork::{self, RunError};
use tenuto_model::{EventAction, Plan, Scenario};

/// One case in so many is run twice.
const REPEATED: u64 = 16;

/// A case, which follows from this.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What is run.
    pub plan: &'a Plan,
    /// What decides everything that is drawn.
    pub seed: u64,
    /// How far it goes.
    pub reach: Reach,
    /// How long sources send; `None`: as long as the network's times ask for.
    pub traffic_ns: Option<u64>,
}

/// A case that was run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What happened in it.
    pub scenario: Scenario,
    /// What it showed.
    pub document: RunDocument,
    /// What of that must not be.
    pub broken: Vec<Broken>,
}

impl Case<'_> {
    /// The case, run.
    ///
    /// # Errors
    /// [`RunError`] if the plan cannot be brought up.
    pub fn run(&self) -> Result<Ran, RunError> {
        let scenario = scenario(self.plan, self.seed, self.reach, self.traffic_ns);
        let (document, frames) = clockwork::run_to_rest(self.plan, &scenario)?;
        let mut found = broken(self.plan, &scenario, &document, self.reach);
        found.extend(self.left(&scenario, frames));
        if self.seed.is_multiple_of(REPEATED) {
            let (again, _) = clockwork::run_to_rest(self.plan, &scenario)?;
            if again != document {
                found.push(Broken::new(Invariant::Repeat, "two runs of the seed differ"));
            }
        }
        Ok(Ran { scenario, document, broken: found })
    }

    /// Frames that nobody has any more. What a dead node had in its queues is with it.
    fn left(&self, scenario: &Scenario, frames: usize) -> Option<Broken> {
        let is_switch = |node: &String| self.plan.network.switch(node).is_some();
        let kills = |action: &EventAction| match action {
            EventAction::KillNode { node } | EventAction::StopNode { node } => is_switch(node),
            _ => false,
        };
        let has_dead = scenario.events.iter().any(|event| kills(&event.action));
        (frames > 0 && !has_dead)
            .then(|| Broken::new(Invariant::Conservation, format!("{frames} frames are nowhere")))
    }
}
