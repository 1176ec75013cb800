//! `up --slow auto`: how much slower a network has to run here, and why.

use super::up::allowances;
use crate::args::{Slow, Up};
use crate::failure::Failure;
use crate::format::ms_up_ns;
use crate::planning::{self, Planned};
use std::fmt::Write;
use tenuto_model::{Plan, Scenario};
use tenuto_runtime::{Allowances, HostService};

/// Factors that are tried.
const STEPS: [u64; 7] = [1, 2, 5, 10, 20, 50, 100];

/// The factor that was chosen, the network planned with it, and the reason.
pub(super) struct Chosen {
    pub(super) slow: u64,
    pub(super) planned: Planned,
    /// For people, with leading blanks.
    pub(super) why: String,
}

/// The row that misses its deadline by most once this machine's share is added.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Short {
    row: String,
    by_ns: u64,
}

/// Chooses the least factor, at least what makes bounds visible beside this machine's share, with
/// which every deadline holds with that share and the scenario still fits. Where there is none, the
/// one that makes bounds visible, and why no other.
pub(super) fn choose(
    args: &Up,
    as_it_is: Planned,
    service: &HostService,
    scenario: &Scenario,
    advised: u64,
) -> Result<Chosen, Failure> {
    let first = advised.min(Slow::AUTO_MAX);
    let mut as_it_is = Some(as_it_is);
    let mut refused: Option<(u64, Planned, Short)> = None;
    let mut obstacle = String::new();
    for slow in STEPS.into_iter().filter(|&slow| slow >= first) {
        let planned = match as_it_is.take().filter(|_| slow == 1) {
            Some(planned) => planned,
            None => match planning::of_input_slowed(&args.input, &args.planning, slow) {
                Ok(planned) => planned,
                // The first factor is the one that is asked for; others may not divide a rate.
                Err(failure) if refused.is_none() => return Err(failure),
                Err(_) => {
                    obstacle = format!("{slow} times slower, the network cannot be planned");
                    break;
                }
            },
        };
        if refused.is_some()
            && let Some(words) = does_not_fit(&planned.plan, scenario)
        {
            obstacle = format!("{slow} times slower, {words}");
            break;
        }
        match most_short(&planned.plan, &allowances(&planned.plan, service)) {
            None => {
                let why = how_slow(slow, "every deadline holds with what this machine adds");
                return Ok(Chosen { slow, planned, why });
            }
            Some(short) if refused.is_none() => refused = Some((slow, planned, short)),
            Some(_) => {}
        }
    }
    let (slow, planned, short) = refused.ok_or_else(|| {
        Failure::undecidable("no factor for --slow auto", Some("name one: --slow N"))
    })?;
    let Short { row, by_ns } = short;
    let mut reason = format!("{row} may be {} ms late by what this machine adds", ms_up_ns(by_ns));
    let more = match obstacle.is_empty() {
        true => "no factor up to 100 lets every deadline hold",
        false => obstacle.as_str(),
    };
    let _ = write!(reason, "; {more}");
    Ok(Chosen { slow, planned, why: how_slow(slow, &reason) })
}

fn how_slow(slow: u64, reason: &str) -> String {
    match slow {
        1 => format!("  running as described: {reason}"),
        _ => format!(
            "  running {slow} times slower (rates divided, times multiplied, scenario times stay): \
             {reason}"
        ),
    }
}

/// The row that is short of its deadline by most; `None` if every deadline holds.
fn most_short(plan: &Plan, allowances: &Allowances) -> Option<Short> {
    let short = |row: &tenuto_model::FlowBound| {
        let flow = plan.network.flows.iter().position(|flow| flow.name == row.flow)?;
        let key = (u16::try_from(flow).ok()?, row.target.clone(), row.mode);
        let allowance = allowances.host_ns.get(&key).copied().unwrap_or(0);
        let bound = row.delay_bound_ps?.div_ceil(1_000).saturating_add(allowance);
        let by_ns = bound.checked_sub(row.deadline_ns).filter(|ns| *ns > 0)?;
        let mode = row.mode.label(&plan.network.modes);
        Some(Short { row: format!("{} to {} in {mode}", row.flow, row.target), by_ns })
    };
    plan.flows.iter().filter_map(short).max_by_key(|short| short.by_ns)
}

/// Why the scenario is over before what it expects can come: a return waits for the quiet window
/// after the last event.
fn does_not_fit(plan: &Plan, scenario: &Scenario) -> Option<String> {
    scenario.expect.returns.filter(|returns| *returns > 0)?;
    let quiet_ns = plan.quiet_ns?;
    let last_ns = scenario.events.iter().map(|event| event.at_ns).max().unwrap_or(0);
    let drained = plan.mode_changes.iter().map(|change| change.bound_ps.div_ceil(1_000)).max();
    let needed_ns = last_ns.saturating_add(quiet_ns).saturating_add(drained.unwrap_or(0));
    (needed_ns > scenario.whole_ns())
        .then(|| "the return that the scenario expects would come after its end".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{does_not_fit, most_short};
    use tenuto_model::{Expect, Plan, Scenario};
    use tenuto_runtime::{Allowances, HostService};

    fn vehicle() -> Plan {
        let text = include_str!("../../../../networks/vehicle.yaml");
        let sources = tenuto_model::MemorySources::new().with("vehicle.yaml", text);
        let (network, _) = tenuto_model::read_network(&sources, "vehicle.yaml").expect("shipped");
        tenuto_planner::plan(&network, &tenuto_planner::Options::default())
    }

    #[test]
    fn deadlines_are_held_against_bound_and_allowance() {
        let plan = vehicle();
        assert_eq!(most_short(&plan, &Allowances::default()), None, "guaranteed");
        let service = HostService::stated(20_000_000);
        let allowances = crate::verbs::up::allowances(&plan, &service);
        let short = most_short(&plan, &allowances).expect("20 ms per element is too much");
        assert!(short.by_ns > 0 && short.row.contains(" to "), "{short:?}");
    }

    #[test]
    fn a_scenario_that_is_over_too_early_does_not_fit() {
        let plan = vehicle();
        let mut scenario = Scenario::plain(1_000_000, 1);
        assert_eq!(does_not_fit(&plan, &scenario), None, "it expects nothing");
        scenario.expect = Expect { raises: None, returns: Some(1) };
        assert!(does_not_fit(&plan, &scenario).is_some_and(|words| words.contains("return")));
        scenario.duration_ns = 3_600_000_000_000;
        assert_eq!(does_not_fit(&plan, &scenario), None);
    }
}
