//! What stands at the first switch of every tree: delay variation up to it, meter, envelope.

use crate::input::envelope::{MeterSetting, Reading};
use crate::input::topology::Topology;
use crate::routes::Tree;
use tenuto_calculus::Bucket;
use tenuto_units::Picos;

/// Policing of one tree at its first switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policing {
    /// Delay variation between release and meter: J_m without the contract's own jitter.
    /// `None` if the source's queue has no bound.
    pub(crate) varying: Option<Picos>,
    /// j of the first switch.
    pub(crate) latency_jitter: Picos,
    /// The meter.
    pub(crate) meter: MeterSetting,
    /// What it lets through, on the wire.
    pub(crate) envelope: Bucket,
    /// Whether a monitor stands in front of it.
    pub(crate) is_monitored_first: bool,
}

/// What a stamp can be off: it is a whole nanosecond, rounded up.
pub(crate) const STAMP_PS: i128 = 1_000;

impl Policing {
    /// How much later or closer together than their stamps say frames can come to the queues of the
    /// first switch: by its latencies, and by the rounding of a stamp.
    pub(crate) const fn varying_behind(&self) -> Picos {
        Picos(self.latency_jitter.0.saturating_add(STAMP_PS))
    }
}

/// The policing of a tree whose source port delays it by at most `at_source`.
pub(crate) fn policing(
    topology: &Topology<'_>,
    tree: &Tree,
    at_source: Option<Picos>,
    reading: Reading,
) -> Policing {
    let flow = &topology.network.flows[tree.flow];
    let firsts = tree.hops.iter().filter(|hop| hop.parent.is_none());
    let firsts = firsts.map(|hop| &topology.nodes[topology.servers[hop.server].peer]);
    let jitter = firsts.clone().map(|node| node.latency_jitter_ps()).max().unwrap_or(0);
    let varying = at_source.map(|d| Picos(d.0.saturating_add(jitter)));
    let mut meter = MeterSetting { rate_bps: 0, burst_bytes: 0 };
    let mut envelope = Bucket::ZERO;
    for profile in firsts.clone().filter_map(|node| node.profile) {
        let setting = reading.meter(flow, profile, varying.unwrap_or_default());
        meter.rate_bps = meter.rate_bps.max(setting.rate_bps);
        meter.burst_bytes = meter.burst_bytes.max(setting.burst_bytes);
        envelope = envelope.or(setting.envelope(profile.meter_counts));
    }
    let mut firsts = firsts.map(|node| node.name);
    let watches =
        |name: &str| flow.monitor_at.is_empty() || flow.monitor_at.iter().any(|m| m == name);
    Policing {
        varying,
        latency_jitter: Picos(jitter),
        meter,
        envelope,
        is_monitored_first: firsts.all(watches),
    }
}
