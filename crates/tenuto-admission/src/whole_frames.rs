//! A processor's queue counted in whole frames, which all have one size there.
//!
//! A flow within (b, r) that was delayed by J at most brings no more than ⌊(b + r·(t + J))/L⌋ frames
//! in any t: of what its burst has grown by, less than a frame brings none. So the n-th frame of a
//! busy period comes no earlier than some t_n, has been served by T + n·L/R, and between both lies its
//! delay (docs/theory/admission.md, "Processors that ports share").

use crate::books::{Books, Slot, signed};
use crate::curves::{Curves, NBIT, div_up, times};
use crate::network::PortId;

/// Frames looked at per inequality; where more may come, buckets have to do.
const FRAMES_MAX: i128 = 4_096;

impl Books {
    /// What the frames before a processor need; `None` at lines, and where buckets have to do.
    pub(crate) fn stay(&self, port: PortId) -> Option<Stay> {
        let frame_bits = self.network.frame_bits_exact()?;
        if !self.network.is_processor(port) {
            return None;
        }
        let inflow = |(slot, place): &(Slot, u16)| {
            let held = self.held(*slot)?;
            let hop = &held.hops[usize::from(*place)];
            let rate_bps = signed(held.envelope.rate_bps);
            let burst_nbit = i128::from(held.envelope.burst_bits) * NBIT;
            let grown_nbit = times(rate_bps, self.varied_ns(held, hop));
            Some(Inflow { group: hop.group.into(), burst_nbit: burst_nbit + grown_nbit, rate_bps })
        };
        let inflows: Vec<Inflow> = self.members(port, 0).iter().filter_map(inflow).collect();
        stay(self.curves(port), &inflows, signed(frame_bits))
    }

    /// F(x): the least delay known that every frame of a queue leaves within, searched from
    /// `guess_ns`; `None` if its flows and those before them bring more than is served.
    pub(crate) fn needed_ns(&self, port: PortId, queue: usize, guess_ns: i64) -> Option<i64> {
        match self.stay(port) {
            Some(stay) => Some(stay.delay_ns),
            None => self.curves(port).delay_ns(queue, guess_ns),
        }
    }
}

/// What a flow brings: its burst as it has grown on the way, and its rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inflow {
    /// The line it comes over, by its place among those of the port.
    pub(crate) group: usize,
    /// Burst and growth, 10⁻⁹ bit.
    pub(crate) burst_nbit: i128,
    /// Its rate, bit/s.
    pub(crate) rate_bps: i64,
}

/// The most that a frame waits, and that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
    /// Delay of a frame, its own service included, ns.
    pub(crate) delay_ns: i64,
    /// Frames in the room, bits.
    pub(crate) backlog_bits: i64,
}

/// Both for the flows of a processor; `None` where they bring more than it serves, or so many frames
/// in one busy period that they are not worth being counted.
pub(crate) fn stay(curves: &Curves, inflows: &[Inflow], frame_bits: i64) -> Option<Stay> {
    let busy_ns = curves.busy_ns();
    let frame_nbit = i128::from(frame_bits) * NBIT;
    if busy_ns == i64::MAX || frame_nbit <= 0 {
        return None;
    }
    let brought = |it: &Inflow| (it.burst_nbit + times(it.rate_bps, busy_ns)) / frame_nbit;
    if inflows.iter().map(brought).sum::<i128>() > FRAMES_MAX {
        return None;
    }
    let mut arrivals_ns = Vec::new();
    for group in 0..curves.groups.len() {
        let start = arrivals_ns.len();
        for inflow in inflows.iter().filter(|inflow| inflow.group == group) {
            arrivals_ns.extend((1..=brought(inflow)).map(|k| earliest_ns(inflow, k * frame_nbit)));
        }
        let own = &mut arrivals_ns[start..];
        own.sort_unstable();
        // One line brings its frames one after the other, but for what lets them come closer together.
        let early_nbit = curves.groups[group].early_nbit;
        let Some(line_bps) = curves.groups[group].line_bps else { continue };
        for (before, arrival_ns) in (0_i128..).zip(own) {
            let spaced = (before * frame_nbit - early_nbit).max(0) / i128::from(line_bps);
            *arrival_ns = (*arrival_ns).max(i64::try_from(spaced).unwrap_or(i64::MAX));
        }
    }
    arrivals_ns.sort_unstable();
    Some(longest(curves, &arrivals_ns, frame_nbit))
}

/// When a flow may have brought so much at the earliest, ns rounded down.
fn earliest_ns(inflow: &Inflow, brought_nbit: i128) -> i64 {
    let missing = (brought_nbit - inflow.burst_nbit).max(0);
    i64::try_from(missing / i128::from(inflow.rate_bps)).unwrap_or(i64::MAX)
}

/// The largest of every frame's delay and of what is there when it comes.
fn longest(curves: &Curves, arrivals_ns: &[i64], frame_nbit: i128) -> Stay {
    let rate_bps = i128::from(curves.rate_bps);
    let latency_nbit = i128::from(curves.blocking_bits) * NBIT;
    let mut stay = Stay { delay_ns: 0, backlog_bits: 0 };
    for (n, at_ns) in (1_i128..).zip(arrivals_ns) {
        let served_ns = |n: i128| div_up(latency_nbit + n * frame_nbit, rate_bps);
        if n > 1 && i128::from(*at_ns) >= served_ns(n - 1) {
            // All before it are gone: it begins another busy period.
            break;
        }
        let delay_ns = i64::try_from(served_ns(n)).unwrap_or(i64::MAX) - at_ns;
        // β_{R,T} bounds whole frames from below: as soon as it says more than n, n + 1 have left.
        let served = div_up((times(curves.rate_bps, *at_ns) - latency_nbit).max(0), frame_nbit);
        let waiting_bits = (n - served) * frame_nbit / NBIT;
        stay.delay_ns = stay.delay_ns.max(delay_ns);
        stay.backlog_bits = stay.backlog_bits.max(i64::try_from(waiting_bits).unwrap_or(i64::MAX));
    }
    stay
}
