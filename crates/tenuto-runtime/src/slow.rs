//! A network, run slower: bounds far above what a shared machine adds.

use tenuto_model::{Flow, Link, Network, OtherTraffic, Processor, Profile};

/// Why a network cannot be run so many times slower.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlowError {
    /// Zero times slower is no speed.
    #[error("a network can be run 1, 2, 3 ... times slower, not 0 times")]
    Zero,
    /// A rate would not be a whole number of bits per second.
    #[error("{what}: {rate_bps} bit/s cannot be divided by {n}")]
    Rate {
        /// Whose rate.
        what: String,
        /// The rate.
        rate_bps: u64,
        /// The divisor.
        n: u64,
    },
    /// A time would be beyond 584 years.
    #[error("{what}: {time_ns} ns times {n} is too long")]
    Time {
        /// Whose time.
        what: String,
        /// The time.
        time_ns: u64,
        /// The factor.
        n: u64,
    },
}

/// The network run `n` times slower: rates divided; periods, jitters, deadlines, skews, delays of
/// devices and links, and the quiet window multiplied. Sizes and scenario times stay.
///
/// # Errors
/// When a rate is not divisible, or a time too long.
pub fn slowed(network: &Network, n: u64) -> Result<Network, SlowError> {
    if n == 0 {
        return Err(SlowError::Zero);
    }
    let by = Factor(n);
    let mut slow = network.clone();
    slow.links.iter_mut().try_for_each(|link| by.link(link))?;
    slow.flows.iter_mut().try_for_each(|flow| by.flow(flow))?;
    for (name, profile) in &mut slow.profiles {
        by.profile(name, profile)?;
    }
    if let OtherTraffic::Carry { rate_bps, .. } = &mut slow.other_traffic {
        by.divide(rate_bps, || "other traffic".into())?;
    }
    if let Some(quiet) = &mut slow.mode_return.quiet_ns {
        by.stretch(quiet, || "quiet window".into())?;
    }
    Ok(slow)
}

/// How many times slower, above 0.
#[derive(Clone, Copy)]
struct Factor(u64);

impl Factor {
    fn divide(self, rate_bps: &mut u64, what: impl Fn() -> String) -> Result<(), SlowError> {
        let n = self.0;
        if !rate_bps.is_multiple_of(n) {
            return Err(SlowError::Rate { what: what(), rate_bps: *rate_bps, n });
        }
        *rate_bps /= n;
        Ok(())
    }

    fn stretch(self, time_ns: &mut u64, what: impl Fn() -> String) -> Result<(), SlowError> {
        let n = self.0;
        let long = time_ns.checked_mul(n);
        *time_ns = long.ok_or_else(|| SlowError::Time { what: what(), time_ns: *time_ns, n })?;
        Ok(())
    }

    fn link(self, link: &mut Link) -> Result<(), SlowError> {
        let name = format!("link {} - {}", link.a.node, link.b.node);
        self.divide(&mut link.rate_bps, || name.clone())?;
        self.stretch(&mut link.propagation_ns, || name.clone())
    }

    fn flow(self, flow: &mut Flow) -> Result<(), SlowError> {
        let what = format!("flow {}", flow.name);
        for contract in &mut flow.contracts {
            self.stretch(&mut contract.period_ns, || what.clone())?;
            self.stretch(&mut contract.jitter_ns, || what.clone())?;
        }
        let deadlines = flow.targets.iter_mut().flat_map(|target| &mut target.deadline_ns);
        let mut times = deadlines.chain(&mut flow.skew_max_ns);
        times.try_for_each(|time| self.stretch(time, || what.clone()))
    }

    fn profile(self, name: &str, profile: &mut Profile) -> Result<(), SlowError> {
        let what = || format!("profile {name}");
        for time in [
            &mut profile.latency_ns_min,
            &mut profile.latency_ns_max,
            &mut profile.swap_ns_max,
            &mut profile.purge_frame_ns_max,
        ] {
            self.stretch(time, what)?;
        }
        let Some(processor) = &mut profile.processor else { return Ok(()) };
        costs(processor).into_iter().try_for_each(|cost| self.stretch(cost, what))?;
        match &mut processor.link {
            Some(link) => self.divide(&mut link.rate_bps, what),
            None => Ok(()),
        }
    }
}

/// Everything that takes time of a processor.
fn costs(processor: &mut Processor) -> [&mut u64; 18] {
    let (entry, action) = (&mut processor.per_entry_ps, &mut processor.actions_ps);
    [
        &mut processor.base_ps,
        &mut processor.per_byte_ps,
        &mut processor.per_output_ps,
        &mut entry.port,
        &mut entry.tp_dst,
        &mut entry.dl_dst,
        &mut entry.masked_nw_dst,
        &mut entry.five_tuple,
        &mut entry.all,
        &mut action.set_vlan_id,
        &mut action.set_vlan_pcp,
        &mut action.strip_vlan,
        &mut action.set_dl_src,
        &mut action.set_nw_src,
        &mut action.set_nw_tos,
        &mut action.set_tp_src,
        &mut processor.control.time_ps,
        &mut processor.control.period_ps,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_model::{Action, Link, LinkEnd, MatchType, ModeReturn, Profile, Tolerates, Use};

    fn network(rate_bps: u64) -> Network {
        let end = |node: &str| LinkEnd { node: node.into(), port: 1 };
        let profile = Profile::built_in("tenuto").expect("ours");
        Network {
            name: "n".into(),
            modes: vec!["LO".into()],
            networks: Vec::new(),
            hosts: Vec::new(),
            switches: Vec::new(),
            controllers: Vec::new(),
            links: vec![Link { a: end("a"), b: end("b"), rate_bps, propagation_ns: 25 }],
            flows: Vec::new(),
            other_traffic: OtherTraffic::Drop,
            mode_return: ModeReturn { quiet_ns: Some(500) },
            tolerates: Tolerates {
                babbling_hosts: 0,
                lost_signals: 0,
                controller_loss: false,
                links_lost: 0,
            },
            profiles: [(profile.name.clone(), profile)].into(),
        }
    }

    #[test]
    fn rates_are_divided_and_times_multiplied() {
        let slow = slowed(&network(100_000_000), 20).expect("divisible");
        assert_eq!((slow.links[0].rate_bps, slow.links[0].propagation_ns), (5_000_000, 500));
        let profile = &slow.profiles["tenuto"];
        // 20 us latency, 50 us swap, 200 ns purge, each twenty times.
        assert_eq!(profile.latency_ns_max, 400_000);
        assert_eq!((profile.swap_ns_max, profile.purge_frame_ns_max), (1_000_000, 4_000));
        assert_eq!(slow.mode_return.quiet_ns, Some(10_000));
        let mut cheap = network(100_000_000);
        let zodiac = Profile::built_in("zodiac-fx").expect("built in");
        let it = Use::worst(MatchType::FiveTuple, Action::Output, 17, 306);
        let cost = |p: &Profile| p.processor.as_ref().map(|p| p.service(&it));
        cheap.profiles = [("zodiac-fx".into(), zodiac.clone())].into();
        let slow = slowed(&cheap, 10).expect("divisible");
        let (before, after) = (cost(&zodiac), cost(&slow.profiles["zodiac-fx"]));
        let tenfold = before.map(|s| (s.traversal_ps * 10, s.latency_ps * 10));
        assert_eq!(after.map(|s| (s.traversal_ps, s.latency_ps)), tenfold);
        assert_eq!(slowed(&network(7), 1), Ok(network(7)));
    }

    #[test]
    fn what_cannot_be_divided_is_named() {
        let error = slowed(&network(10_000_001), 10).expect_err("not divisible");
        assert_eq!(error.to_string(), "link a - b: 10000001 bit/s cannot be divided by 10");
        assert_eq!(slowed(&network(7), 0), Err(SlowError::Zero));
    }
}
