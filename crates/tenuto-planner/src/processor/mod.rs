//! Processors that ports share: what enters them, and how long it takes there (theory, "A
//! processor that the ports share").

mod bound;
mod changing;
mod demand;
mod flooded;
pub(crate) mod rows;

pub(crate) use bound::Held;
pub(crate) use changing::{Changing, Needed};
pub(crate) use demand::{Costs, frame_sizes};
use demand::{Counted, Entering};

use crate::envelope::Reading;
use crate::mesh::Mesh;
use crate::meters::Policing;
use crate::routing::Tree;
use crate::scene::modes_at;
use crate::topology::Topology;
use std::collections::BTreeMap;
use tenuto_calculus::{Bucket, UBIT_PER_BIT, div_up};
use tenuto_model::{MeterCounts, Processor, ReceiveBuffer, Transition};
use tenuto_units::{FRAME_BYTES_MAX, FRAME_BYTES_MIN, Picos};

/// 10⁻⁶ ns of processor time in a picosecond.
const FINE_PER_PS: i128 = 1_000;

/// The processors of a network, by analysis and node; none where ports are served by themselves.
#[derive(Debug, Default)]
pub(crate) struct Processors<'a> {
    analyses: Vec<(Transition, Vec<Option<Site<'a>>>)>,
    /// P° by line, the largest of any analysis, where it makes Y; `None` without a bound.
    flooded: BTreeMap<usize, Option<Picos>>,
}

/// One switch with a processor, and everything that enters it.
#[derive(Debug)]
pub(crate) struct Site<'a> {
    pub(crate) processor: &'a Processor,
    pub(crate) buffer: Option<ReceiveBuffer>,
    /// Incoming lines that carry streams, or whose host may babble.
    pub(crate) lines: Vec<Line>,
    /// What control may take, in processor time.
    control: Bucket,
    /// What mode changes may take: signals that go out, swaps and purges.
    changing: Bucket,
    /// Largest frame that can enter, bytes.
    frame_bytes_max: u32,
    /// c(L⁻): the cost of the least frame that can enter.
    cost_least: i128,
}

/// What enters over one incoming line.
#[derive(Debug)]
pub(crate) struct Line {
    /// The egress upstream.
    pub(crate) line: usize,
    /// Whether its host may send anything at line rate.
    pub(crate) is_babbling: bool,
    pub(crate) streams: Vec<Entering>,
    /// The most ports that any of them leaves by.
    outputs: u32,
    /// Processor time of its largest frame.
    cost_max: i128,
    /// Processor time that the line itself can bring, per frame and per bit.
    work: Bucket,
    /// Frames that the line itself can bring.
    frames: Bucket,
}

impl<'a> Processors<'a> {
    pub(crate) fn new(
        topology: &Topology<'a>,
        mesh: &Mesh,
        trees: &[Tree],
        policing: &[Policing],
        reading: Reading,
        (transitions, changing): (&[Transition], &Changing),
    ) -> Self {
        let of = |transition: Transition, node: usize| {
            let profile = topology.nodes[node].profile?;
            let processor = profile.processor.as_ref()?;
            let costs = Costs::new(processor, profile);
            let builder =
                Builder { topology, mesh, trees, policing, reading, costs, transition, changing };
            Some(builder.site(node, processor, profile.receive_buffer))
        };
        let nodes = topology.nodes.len();
        let sites = |&it: &Transition| (it, (0..nodes).map(|node| of(it, node)).collect());
        let analyses: Vec<_> = transitions.iter().map(sites).collect();
        let flooded = flooded(topology, &analyses);
        Self { analyses, flooded }
    }

    /// The longest that frames which were accepted over a line take: P, or P° where a host may fill
    /// its own queue; `None` without a bound.
    pub(crate) fn longest(&self, line: usize, processing: Option<Picos>) -> Option<Picos> {
        let processing = processing?;
        self.flooded.get(&line).map_or(Some(processing), |flooded| *flooded)
    }

    /// Y over a line to that processor, of which P is claimed.
    pub(crate) fn varying(
        &self,
        site: &Site<'_>,
        line: usize,
        processing: Option<Picos>,
    ) -> Option<Picos> {
        let longest = self.longest(line, processing)?;
        Some(Picos((longest.0 - site.least_ps()).max(0)))
    }

    /// Whether streams enter over a line behind no one knows how much else.
    pub(crate) fn is_open(&self, line: &Line) -> bool {
        !line.streams.is_empty() && self.flooded.get(&line.line) == Some(&None)
    }

    /// The processor of a node: what is the same in every analysis.
    pub(crate) fn site(&self, node: usize) -> Option<&Site<'a>> {
        self.analyses.first()?.1.get(node)?.as_ref()
    }

    /// The processor of a node in one analysis.
    pub(crate) fn site_in(&self, transition: Transition, node: usize) -> Option<&Site<'a>> {
        self.of(transition)?.get(node)?.as_ref()
    }

    fn of(&self, transition: Transition) -> Option<&[Option<Site<'a>>]> {
        let mut analyses = self.analyses.iter();
        analyses.find(|(it, _)| *it == transition).map(|(_, sites)| sites.as_slice())
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.analyses.iter().all(|(_, sites)| sites.iter().all(Option::is_none))
    }

    /// Every processor in one analysis, and its node.
    pub(crate) fn all(&self, transition: Transition) -> impl Iterator<Item = (usize, &Site<'a>)> {
        let sites = self.of(transition).unwrap_or_default().iter().enumerate();
        sites.filter_map(|(node, site)| Some((node, site.as_ref()?)))
    }
}

/// P° of every line that has one.
fn flooded(
    topology: &Topology<'_>,
    analyses: &[(Transition, Vec<Option<Site<'_>>>)],
) -> BTreeMap<usize, Option<Picos>> {
    let mut all: BTreeMap<usize, Option<Picos>> = BTreeMap::new();
    for (node, site) in analyses.iter().flat_map(|(_, sites)| sites.iter().enumerate()) {
        let (Some(site), Some(profile)) = (site, topology.nodes[node].profile) else { continue };
        let costs = Costs::new(site.processor, profile);
        for line in site.floodable() {
            let here = site.flooded(line, &costs);
            let longest = all.entry(line.line).or_insert(Some(Picos(0)));
            *longest = longest.zip(here).map(|(a, b)| a.max(b));
        }
    }
    all
}

struct Builder<'b, 'a> {
    topology: &'b Topology<'a>,
    mesh: &'b Mesh,
    trees: &'b [Tree],
    policing: &'b [Policing],
    reading: Reading,
    costs: Costs<'a>,
    transition: Transition,
    changing: &'b Changing,
}

impl<'a> Builder<'_, 'a> {
    fn site(
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
            changing: self.changing.work(self.topology, node, &self.costs),
            frame_bytes_max: if is_babbling { FRAME_BYTES_MAX } else { most },
            cost_least: self.costs.of(least, 1) * FINE_PER_PS,
            lines,
        }
    }

    fn line(&self, line: usize) -> Option<Line> {
        let upstream = &self.topology.servers[line];
        let babbles = self.topology.network.tolerates.babbling_hosts > 0;
        let is_babbling = babbles && self.topology.nodes[upstream.node].is_host();
        let flows = self.mesh.at(line).filter_map(|visit| self.entering(visit));
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
        let it = self.mesh.visits[visit];
        let tree = &self.trees[it.tree];
        let flow = &self.topology.network.flows[tree.flow];
        let network = self.topology.network;
        let modes = modes_at(network, flow, self.transition, it.depth)?;
        // The first switch drops what has no place in the mode; that costs as much as one copy.
        let is_forwarded = modes_at(network, flow, self.transition, 1).is_some();
        let outputs = if is_forwarded { self.mesh.children[visit].max(1) } else { 1 };
        let is_enforced = it.depth > 0 && self.topology.network.tolerates.babbling_hosts > 0;
        Some(if is_enforced {
            self.metered(&self.policing[it.tree], self.first_switch(visit), visit, outputs)
        } else {
            self.contracted((flow, modes), visit, outputs)
        })
    }

    /// The switch whose meter a visit stands behind.
    fn first_switch(&self, visit: usize) -> usize {
        let mut at = self.mesh.visits[visit];
        while let Some(parent) = at.parent.filter(|_| at.depth > 1) {
            at = self.mesh.visits[parent];
        }
        self.topology.servers[at.server].node
    }
}
