//! What a deployment says in messages of OpenFlow: only what a switch takes on.
//!
//! A plan is installed message by message, and a switch that refuses one leaves the network without
//! the plan. So what the protocol forbids, and what our switch does not do, is refused here.

use crate::description::read::{Entry, Profile, SwitchDeployment};
use crate::finding::rule;
use crate::rows::context::Context;
use std::collections::BTreeSet;
use std::fmt::Display;

/// `OFPG_MAX` (OpenFlow 1.3.5, section 7.3.4.3).
const GROUP_MAX: u32 = 0xffff_ff00;
/// `OFPM_MAX` (OpenFlow 1.3.5, section 7.3.4.5).
const METER_MAX: u32 = 0xffff_0000;
/// A group sets the queue and sends, twice so many actions as outputs, of which there are at most 1000.
const OUTPUTS_MAX: usize = 500;
/// Contracts of a monitor: one for each mode.
const CONTRACTS_MAX: usize = 8;
/// Switches that take part in mode changes: their votes are kept as the bits of one word.
const MEMBERS_MAX: usize = 64;
/// The table of the monitors, which is the same in every mode.
const TABLE_WATCH: u8 = 0;

/// Checks that every switch takes its deployment.
pub(crate) fn check(context: &Context<'_>) {
    let (plan, net) = (context.plan, context.net);
    if net.has_modes() && plan.feasible && net.raw.switches.len() > MEMBERS_MAX {
        let claim = format!("{} switches with modes", net.raw.switches.len());
        let found = format!("{MEMBERS_MAX} take part in mode changes");
        context.wrong(rule::INSTALLED, "switches", claim, found);
    }
    for deployment in &plan.switches {
        let node = net.node(&deployment.switch);
        let Some(profile) = node.and_then(|node| net.profile(node)) else { continue };
        let installation = Installation { deployment, context };
        installation.entries(net.raw.modes.len());
        installation.objects();
        if plan.feasible {
            installation.device(profile);
        }
    }
}

/// One switch with its deployment.
struct Installation<'a> {
    deployment: &'a SwitchDeployment,
    context: &'a Context<'a>,
}

impl Installation<'_> {
    fn wrong(&self, claim: impl Display, found: impl Display) {
        self.context.wrong(rule::INSTALLED, &self.deployment.switch, claim, found);
    }

    fn entries(&self, modes: usize) {
        let deployment = self.deployment;
        let ports: BTreeSet<u32> = deployment.ports.iter().map(|port| port.port).collect();
        for entry in &deployment.entries {
            let what = || format!("entry of table {} cookie {}", entry.table, entry.cookie);
            if let Some((field, needed)) = entry.matching.missing_prerequisite() {
                let claim = format!("{}: {field}", what());
                let found = format!("no {needed} with it");
                self.context.wrong(rule::PREREQUISITE, &deployment.switch, claim, found);
            }
            if entry.matching.in_port.is_some_and(|port| !ports.contains(&port)) {
                self.wrong(what(), "it is for a port that the switch does not have");
            }
            if !is_of_its_levels(entry, modes) {
                let found = "the table of the monitors is one for all modes, and the others are \
                             one for each";
                self.wrong(format!("{}, level {:?}", what(), entry.level), found);
            }
        }
    }

    fn objects(&self) {
        let deployment = self.deployment;
        for group in &deployment.groups {
            let ports: BTreeSet<u32> = group.outputs.iter().map(|output| output.port).collect();
            if group.id > GROUP_MAX || ports.len() != group.outputs.len() {
                let found = format!("ids up to {GROUP_MAX}, each port once");
                self.wrong(format!("group {}", group.id), found);
            }
        }
        for monitor in deployment.monitors.iter().filter(|it| it.contracts.len() > CONTRACTS_MAX) {
            let claim = format!("monitor {}, {} contracts", monitor.id, monitor.contracts.len());
            self.wrong(claim, format!("at most {CONTRACTS_MAX}"));
        }
        for id in deployment.meters.iter().map(|meter| meter.id).filter(|id| *id > METER_MAX) {
            self.wrong(format!("meter {id}"), format!("ids up to {METER_MAX}"));
        }
    }

    /// What depends on the device, in a plan that it is to carry.
    fn device(&self, profile: &Profile) {
        let deployment = self.deployment;
        let meters = deployment.meters.iter().map(|meter| ("meter", meter.id));
        let monitors = deployment.monitors.iter().map(|monitor| ("monitor", monitor.id));
        for (what, id) in meters.chain(monitors).filter(|(_, id)| *id > profile.meters_max) {
            // Their ids are places.
            self.wrong(format!("{what} {id}"), format!("places 1 to {}", profile.meters_max));
        }
        for group in deployment.groups.iter().filter(|it| it.outputs.len() > OUTPUTS_MAX) {
            let claim = format!("group {}, {} outputs", group.id, group.outputs.len());
            self.wrong(claim, format!("at most {OUTPUTS_MAX}"));
        }
        let is_shadow = |entry: &Entry| entry.level.is_some_and(|level| level > 0);
        let needs_modes =
            !deployment.monitors.is_empty() || deployment.entries.iter().any(is_shadow);
        if needs_modes && !profile.has_modes {
            self.wrong("monitors, or entries of higher modes", "the device has no modes");
        }
    }
}

/// Whether an entry is in force in the levels that it names: a switch has one table of monitors, and
/// of the others one for each level. With one mode all is one.
fn is_of_its_levels(entry: &Entry, modes: usize) -> bool {
    modes == 1 || entry.level.is_none() == (entry.table == TABLE_WATCH)
}
