//! What enters every processor in one analysis.

use super::changes::Changing;
use super::costs::{Costs, Counted, FINE_PER_PS};
use super::site::{Entering, Line, Site};
use crate::analysis::meters::Policing;
use crate::analysis::mode_input::{is_at, modes_of_host};
use crate::analysis::port_graph::PortGraph;
use crate::input::envelope::Reading;
use crate::input::topology::Topology;
use crate::routes::Tree;
use tenuto_calculus::{Bucket, UBIT_PER_BIT, div_up};
use tenuto_model::{MeterCounts, Processor, ReceiveBuffer, Transition};
use tenuto_units::{FRAME_BYTES_MAX, FRAME_BYTES_MIN, Picos};

/// Gathers what enters the processors in one analysis.
pub(super) struct Builder<'b, 'a> {
    pub(super) topology: &'b Topology<'a>,
    pub(super) port_graph: &'b PortGraph,
    pub(super) trees: &'b [Tree],
    pub(super) policing: &'b [Policing],
    pub(super) reading: Reading,
    pub(super) costs: Costs<'a>,
    pub(super) transition: Transition,
    pub(super) changing: &'b Changing,
}

/// What tenants' slices may take, in processor time.
fn slices(processor: &Processor) -> Bucket {
    let work = processor.slices.work();
    let fine = |ps: u128| i128::try_from(ps).unwrap_or(i128::MAX).saturating_mul(FINE_PER_PS);
    Bucket { burst_ubit: fine(work.burst_ps), rate_ubps: fine(work.per_s_ps) }
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn site(
        &self,
        node: usize,
        processor: &'a Processor,
        buffer: Option<ReceiveBuffer>,
    ) -> Site<'a> {
        let servers = self.topology.servers.iter().enumerate();
        let into = servers.filter(|(_, egress)| egress.peer == node).map(|(line, _)| line);
        let lines: Vec<Line> = into.filter_map(|line| self.line(line)).collect();
        let sizes = || lines.iter().flat_map(|line| &line.streams);
        let is_babbling = lines.iter().any(|line| line.is_babbling);
        let most = sizes().map(|s| s.frame_bytes_max).max().unwrap_or(FRAME_BYTES_MIN);
        let least = sizes().map(|s| s.frame_bytes_min).min().unwrap_or(FRAME_BYTES_MIN);
        let control = processor.control;
        let time = i128::from(control.time_ps) * FINE_PER_PS;
        let per_s = time.saturating_mul(1_000_000_000_000);
        Site {
            processor,
            buffer,
            control: Bucket {
                burst_ubit: time,
                rate_ubps: div_up(per_s, i128::from(control.period_ps.max(1))),
            },
            unasked: self.changing.work(self.topology, node, &self.costs).plus(slices(processor)),
            frame_bytes_max: if is_babbling { FRAME_BYTES_MAX } else { most },
            cost_least: self.costs.of(least, 1) * FINE_PER_PS,
            lines,
        }
    }

    fn line(&self, line: usize) -> Option<Line> {
        let upstream = &self.topology.servers[line];
        let babbles = self.topology.network.tolerates.babbling_hosts > 0;
        let is_babbling = babbles && self.topology.nodes[upstream.node].is_host();
        let flows = self.port_graph.at(line).filter_map(|visit| self.entering(visit));
        let signals = self.changing.entering(line, &self.costs);
        let streams: Vec<Entering> = flows.chain(signals).collect();
        if streams.is_empty() && !is_babbling {
            return None;
        }
        let outputs = streams.iter().map(|s| s.outputs).max().unwrap_or(1);
        let largest = streams.iter().map(|s| s.frame_bytes_max).max();
        let largest =
            if is_babbling { FRAME_BYTES_MAX } else { largest.unwrap_or(FRAME_BYTES_MIN) };
        let cost_max = self.costs.of(largest, outputs) * FINE_PER_PS;
        let below = self.topology.nodes[upstream.node].below_scheduler_ubit();
        let shaped = Bucket::line(below, upstream.rate_bps).grown(Picos(upstream.tick_ps));
        let per_bit = |counted| self.costs.most_per_bit(counted, MeterCounts::Wire, outputs);
        let mut work = per_bit(Counted::Work).times(shaped);
        work.burst_ubit = work.burst_ubit.saturating_add(cost_max);
        let mut frames = per_bit(Counted::Frames).times(shaped);
        frames.burst_ubit = frames.burst_ubit.saturating_add(UBIT_PER_BIT);
        Some(Line { line, is_babbling, streams, outputs, cost_max, work, frames })
    }

    /// One stream as it enters behind its visit of a line; `None` where its mode stops it before.
    fn entering(&self, visit: usize) -> Option<Entering> {
        let it = self.port_graph.visits[visit];
        let tree = &self.trees[it.tree];
        let flow = &self.topology.network.flows[tree.flow];
        if !is_at(flow, self.transition, it.depth) {
            return None;
        }
        // The first switch drops what has no place in the mode; that costs as much as one copy.
        let is_forwarded = is_at(flow, self.transition, 1);
        let outputs = if is_forwarded { self.port_graph.children[visit].max(1) } else { 1 };
        let is_enforced = it.depth > 0 && self.topology.network.tolerates.babbling_hosts > 0;
        Some(if is_enforced {
            self.metered(&self.policing[it.tree], self.first_switch(visit), visit, outputs)
        } else {
            self.contracted((flow, modes_of_host(flow)), visit, outputs)
        })
    }

    /// The switch whose meter a visit stands behind.
    fn first_switch(&self, visit: usize) -> usize {
        let mut at = self.port_graph.visits[visit];
        while let Some(parent) = at.parent.filter(|_| at.depth > 1) {
            at = self.port_graph.visits[parent];
        }
        self.topology.servers[at.server].node
    }
}
