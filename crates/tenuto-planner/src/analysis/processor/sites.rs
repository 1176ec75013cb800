//! The processors of a network in every analysis.

use super::builder::Builder;
use super::changes::Changing;
use super::costs::Costs;
use super::site::{Line, Site};
use crate::analysis::meters::Policing;
use crate::analysis::port_graph::PortGraph;
use crate::input::envelope::Reading;
use crate::input::topology::Topology;
use crate::routes::Tree;
use std::collections::BTreeMap;
use tenuto_model::Transition;
use tenuto_units::Picos;

/// The processors of a network, by analysis and node; none where ports are served by themselves.
#[derive(Debug, Default)]
pub(crate) struct Processors<'a> {
    analyses: Vec<(Transition, Vec<Option<Site<'a>>>)>,
    /// P° by line, the largest of any analysis, where it makes Y; `None` without a bound.
    flooded: BTreeMap<usize, Option<Picos>>,
    /// What purging takes of every node, picoseconds; none without modes.
    purges: Vec<i128>,
}

impl<'a> Processors<'a> {
    pub(crate) fn new(
        topology: &Topology<'a>,
        port_graph: &PortGraph,
        trees: &[Tree],
        policing: &[Policing],
        reading: Reading,
        (transitions, changing): (&[Transition], &Changing),
    ) -> Self {
        let of = |transition: Transition, node: usize| {
            let profile = topology.nodes[node].profile?;
            let processor = profile.processor.as_ref()?;
            let costs = Costs::new(processor, profile);
            let builder = Builder {
                topology,
                port_graph,
                trees,
                policing,
                reading,
                costs,
                transition,
                changing,
            };
            Some(builder.site(node, processor, profile.receive_buffer))
        };
        let nodes = topology.nodes.len();
        let sites = |&it: &Transition| (it, (0..nodes).map(|node| of(it, node)).collect());
        let analyses: Vec<_> = transitions.iter().map(sites).collect();
        let flooded = flooded(topology, &analyses);
        let purges = if changing.signals == 0 { Vec::new() } else { changing.purges.clone() };
        Self { analyses, flooded, purges }
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

    /// What purging takes of every node with a processor, picoseconds.
    pub(crate) fn purges(&self) -> impl Iterator<Item = (usize, i128)> + '_ {
        let purges = self.purges.iter().copied().enumerate();
        purges.filter(|(node, _)| self.site(*node).is_some())
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
