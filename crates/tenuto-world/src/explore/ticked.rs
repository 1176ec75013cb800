//! A plan as it is explored: the same switches and entries, with times in ticks.

use super::{PERIOD_TICKS, Settings, TICK};
use std::sync::Arc;
use tenuto_dataplane::switch::{Switch, SwitchConfig};
use tenuto_model::Plan;
use tenuto_units::Span;

/// At this rate the largest frame leaves within a tick.
const RATE_BPS: u64 = 20_000_000;
/// A leader repeats itself after so many ticks: longer than any round of signals.
pub(super) const RETRY_TICKS: u64 = 24;

/// The plan with monitors, quiet window, copies and line rates as `settings` abstract them.
pub(crate) fn ticked_plan(plan: &Plan, settings: &Settings) -> Plan {
    let mut plan = plan.clone();
    plan.quiet_ns = Some(TICK.as_ns() * u64::from(settings.quiet_ticks));
    plan.signal_copies = settings.signal_copies;
    for deployment in &mut plan.switches {
        for contracts in deployment.monitors.iter_mut().map(|monitor| &mut monitor.contracts) {
            let highest = contracts.iter().map(|contract| contract.level).max();
            for contract in contracts {
                let is_highest = Some(contract.level) == highest;
                let ticks = if is_highest { 0 } else { PERIOD_TICKS };
                (contract.period_ns, contract.jitter_ns) = (ticks * TICK.as_ns(), 0);
                contract.bytes_max = u32::MAX;
            }
        }
        deployment.ports.iter_mut().for_each(|port| port.rate_bps = RATE_BPS);
    }
    plan
}

/// A switch's configuration with its repeats in ticks.
pub(crate) fn ticked_config(config: &SwitchConfig) -> Arc<SwitchConfig> {
    let mode_retry = Span::from_ns(TICK.as_ns() * RETRY_TICKS);
    Arc::new(SwitchConfig { mode_retry, ..config.clone() })
}

/// `sw1 HI/HI@2`: forwarding level, admitted level, epoch.
pub(crate) fn mode_words(switch: &Switch, name: &str, modes: &[String]) -> String {
    let word = |level: u8| modes.get(usize::from(level)).map_or("?", String::as_str);
    let (level, admitted, epoch) = switch.mode();
    format!("{name} {}/{}@{epoch}", word(level), word(admitted))
}
