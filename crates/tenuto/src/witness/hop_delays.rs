//! Where a witness spent its time: per port of the way, waiting and sending, beside what the bound allows there.

use super::document::{AheadRow, HopRow};
use std::collections::BTreeMap;
use tenuto_model::{CopyBound, Plan};
use tenuto_world::clockwork::{Schedule, Transmission, Witness};

/// The message that a schedule delays the most, and its hops.
#[derive(Clone, Debug)]
pub(crate) struct Victim {
    /// Message id.
    pub(crate) message: u32,
    pub(crate) release_ns: u64,
    pub(crate) hops: Vec<HopRow>,
}

/// The bound of a row's copy.
pub(crate) fn copy_of<'a>(plan: &'a Plan, witness: &Witness) -> Option<&'a CopyBound> {
    let label = |it: &tenuto_model::FlowBound| it.mode.label(&plan.network.modes);
    let is_row = |it: &&tenuto_model::FlowBound| {
        it.flow == witness.flow
            && it.target == witness.target
            && (label(it) == witness.mode || plan.network.modes.len() < 2)
    };
    let row = plan.flows.iter().find(is_row)?;
    row.copies.iter().find(|it| it.network == witness.copy).or(row.copies.first())
}

/// The victim of a witness, by what was sent in its replay.
pub(crate) fn victim(
    plan: &Plan,
    schedule: &Schedule,
    witness: &Witness,
    sent: &[Transmission],
) -> Option<Victim> {
    let flow = plan.network.flows.iter().position(|it| it.name == witness.flow)?;
    let flow = u16::try_from(flow).ok();
    let copy = copy_of(plan, witness)?;
    let (first, last) = (copy.hops.first()?, copy.hops.last()?);
    let at = |hop: &tenuto_model::Hop| {
        let port = hop.port.clone();
        sent.iter()
            .filter(move |it| it.flow == flow && it.node == port.node && it.port == port.port)
    };
    // Message ids in the order of their releases.
    let mut ids: Vec<u32> = at(first).filter_map(|it| it.message).collect();
    ids.dedup();
    let releases = schedule.releases.iter().filter(|it| it.flow == witness.flow);
    let (mut found, mut longest_ns) = (None, 0);
    for (id, release) in ids.into_iter().zip(releases) {
        let end_ns = at(last).filter(|it| it.message == Some(id)).map(|it| it.departure_ns).max();
        let took_ns = end_ns.map_or(0, |it| it.saturating_sub(release.at_ns));
        if took_ns > longest_ns {
            (found, longest_ns) = (Some((id, release.at_ns)), took_ns);
        }
    }
    let (message, release_ns) = found?;
    let hop = |hop: &tenuto_model::Hop| {
        let frames = at(hop).filter(|it| it.message == Some(message));
        let frame = frames.max_by_key(|it| it.departure_ns);
        let since = |it: &Transmission| it.departure_ns - it.queued_ns.unwrap_or(release_ns);
        HopRow {
            port: plan.network.port_label(&hop.port),
            queueing_bound_ns: hop.queueing_ps.map(|ps| ps.div_ceil(1_000)),
            witness_queueing_ns: frame.map(since),
            ahead: frame.map_or_else(Vec::new, |it| ahead(plan, it, release_ns, sent)),
        }
    };
    Some(Victim { message, release_ns, hops: copy.hops.iter().map(hop).collect() })
}

/// Line rate of an egress port, bit/s.
pub(crate) fn rate_bps(plan: &Plan, node: &str, port: u32) -> u64 {
    let is_end = |it: &tenuto_model::LinkEnd| it.node == node && it.port == port;
    let link = plan.network.links.iter().find(|it| is_end(&it.a) || is_end(&it.b));
    link.map_or(1, |it| it.rate_bps.max(1))
}

/// When the first bit of a frame was sent, ns.
pub(crate) fn start_ns(sent: &Transmission, rate_bps: u64) -> u64 {
    let took_ns = u128::from(sent.wire_bits) * 1_000_000_000 / u128::from(rate_bps);
    sent.departure_ns.saturating_sub(u64::try_from(took_ns).unwrap_or(u64::MAX))
}

/// Who was on the line of a port while a frame waited there.
fn ahead(
    plan: &Plan,
    frame: &Transmission,
    release_ns: u64,
    sent: &[Transmission],
) -> Vec<AheadRow> {
    let rate_bps = rate_bps(plan, &frame.node, frame.port);
    let (from_ns, to_ns) = (frame.queued_ns.unwrap_or(release_ns), start_ns(frame, rate_bps));
    let mut on_line_ns: BTreeMap<Option<u16>, u64> = BTreeMap::new();
    for it in sent.iter().filter(|it| it.node == frame.node && it.port == frame.port) {
        let start_ns = start_ns(it, rate_bps).max(from_ns);
        let within_ns = it.departure_ns.min(to_ns).saturating_sub(start_ns);
        if within_ns > 0 {
            *on_line_ns.entry(it.flow).or_default() += within_ns;
        }
    }
    let name = |flow: u16| plan.network.flows[usize::from(flow)].name.clone();
    let row =
        |(flow, on_line_ns): (Option<u16>, u64)| AheadRow { flow: flow.map(name), on_line_ns };
    on_line_ns.into_iter().map(row).collect()
}
