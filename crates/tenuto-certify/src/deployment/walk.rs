//! The deployment, walked with every class of frames that any port can bring.
//!
//! | port | frames | what may happen |
//! |---|---|---|
//! | of a host | those of a flow that enters here | its monitor, its meter, the ports and queues of its tree |
//! | of a host | all others | dropped unseen; or carried as other traffic, behind its meter |
//! | trunk on the tree of a flow | those of the flow | its monitor, the ports and queues of its tree |
//! | trunk | those of no flow | dropped unseen; or carried as other traffic |
//! | none that is described | all | dropped unseen |
//!
//! Frames of a flow come over no other trunk: every switch that keeps to this table sends them by
//! the ports of the tree alone, and nothing else that looks like them.

use crate::deployment::header_index::HeaderIndex;
use crate::deployment::tables::{Check, Class, InForce, Outcome, STEPS_MAX, Tables, TooLong};
use crate::deployment::visit::{self, label, list};
use crate::deployment::{header, waiting};
use crate::description::net::Net;
use crate::description::read::{Match, OtherTraffic};
use crate::finding::rule;
use crate::rows::context::Context;
use std::collections::{BTreeMap, BTreeSet};

/// A port that no link names: no port has this number, and no entry may ask for it.
const NO_PORT: u32 = 0;

/// One switch with what enters it.
struct Site<'a> {
    tables: Tables<'a>,
    /// Numbers of the meters of other traffic, and their rates.
    unowned_meters: BTreeMap<u32, u64>,
    /// Per port of a host: the flows that enter there.
    entering: BTreeMap<u32, HeaderIndex<()>>,
}

struct Walk<'a> {
    context: &'a Context<'a>,
    sites: BTreeMap<usize, Site<'a>>,
    /// What identifies each flow's frames.
    identities: &'a [Match],
    /// Index of `identities` by header fields.
    flows: HeaderIndex<()>,
    steps: u64,
}

/// Walks through the tables of every switch.
pub(crate) fn check(context: &Context<'_>) {
    let net = context.net;
    let identities: Vec<Match> = (0..net.flows.len()).map(|f| header::identity(net, f)).collect();
    check_identities(net, &identities);
    let mut flows = HeaderIndex::default();
    identities.iter().for_each(|identity| flows.add(*identity, ()));
    let sites = sites(context, &identities);
    for (node, site) in &sites {
        waiting::check(context, *node, &site.tables);
    }
    let mut walk = Walk { context, sites, identities: &identities, flows, steps: 0 };
    if walk.run().is_err() {
        let found = format!("more than {STEPS_MAX} steps");
        context.wrong(rule::LIMIT, "deployment", "tables", found);
    }
}

/// Every switch that is told something, the first time that it is.
fn sites<'a>(context: &Context<'a>, identities: &[Match]) -> BTreeMap<usize, Site<'a>> {
    let net = context.net;
    let mut sites = BTreeMap::new();
    for deployment in &context.plan.switches {
        let Some(node) = net.node(&deployment.switch) else { continue };
        let unowned = deployment.meters.iter().filter(|meter| meter.flow.is_none());
        sites.entry(node).or_insert_with(|| Site {
            tables: Tables::new(deployment, net.raw.modes.len()),
            unowned_meters: unowned.map(|meter| (meter.id, meter.rate_bps)).collect(),
            entering: BTreeMap::new(),
        });
    }
    for stream in context.streams {
        if let (Some(node), Some(root)) = (stream.first_switch, stream.tree.first())
            && let Some(site) = sites.get_mut(&node)
        {
            let in_port = net.ports[Net::reverse(root.port)].number;
            site.entering.entry(in_port).or_default().add(identities[stream.flow], ());
        }
    }
    sites
}

/// Two flows that a frame can both be of cannot be told apart by any table.
fn check_identities(net: &Net<'_>, identities: &[Match]) {
    let mut before: HeaderIndex<usize> = HeaderIndex::default();
    identities.iter().enumerate().for_each(|(flow, identity)| before.add(*identity, flow));
    for (flow, identity) in identities.iter().enumerate() {
        let others = before.meeting(*identity, &mut 0);
        if let Some(other) = others.into_iter().find(|other| **other < flow) {
            let found = format!("the header fields of {}", net.flows[*other].raw.name);
            net.wrong(rule::DESCRIPTION, &net.flows[flow].raw.name, "its header fields", found);
        }
    }
}

/// Where frames of no flow come from.
#[derive(Clone, Copy, PartialEq)]
enum Origin {
    Host,
    Trunk,
    Nowhere,
}

impl Walk<'_> {
    fn run(&mut self) -> Result<(), TooLong> {
        let modes = self.context.net.raw.modes.len();
        for admitted in 0..modes {
            // At a raise both levels move at once; at a return the admitted one moves last.
            for forwarding in 0..=admitted {
                let levels = InForce { admitted, forwarding };
                self.streams(levels)?;
                self.others(levels)?;
            }
        }
        Ok(())
    }

    /// Every stream at every switch of its tree.
    fn streams(&mut self, levels: InForce) -> Result<(), TooLong> {
        let (context, sites, steps) = (self.context, &self.sites, &mut self.steps);
        for (index, stream) in context.streams.iter().enumerate() {
            let tables_of = |node: usize| sites.get(&node).map(|site| &site.tables);
            let of = (self.identities[stream.flow], levels);
            visit::check(context, index, of, tables_of, steps)?;
        }
        Ok(())
    }

    /// What every port can bring that is of no flow that comes by it.
    fn others(&mut self, levels: InForce) -> Result<(), TooLong> {
        let net = self.context.net;
        let (sites, steps) = (&self.sites, &mut self.steps);
        let is_carried = matches!(net.raw.other_traffic, OtherTraffic::Carry { .. });
        for (&node, site) in sites {
            for port in net.ports_of(node) {
                let in_port = net.ports[port].number;
                let own = site.entering.get(&in_port);
                let from = if net.is_trunk(port) { Origin::Trunk } else { Origin::Host };
                // Where nothing is carried, what looks like a flow without being one is dropped as
                // all the rest, and looked at with it.
                let are_apart = from == Origin::Trunk || is_carried;
                let without = if are_apart { Some(&self.flows) } else { own };
                let place = (net.label(port), from, levels);
                let any = Match { in_port: Some(in_port), ..Match::default() };
                let rest = Class { headers: any, without };
                let mut wrong = wrong(net, site, rest, from, levels, steps)?;
                if from == Origin::Host && is_carried {
                    for identity in self.identities {
                        let headers = Match { in_port: Some(in_port), ..*identity };
                        let pretended = Class { headers, without: own };
                        wrong.extend(pretending(site, pretended, levels, steps)?);
                    }
                }
                report(net, place, wrong);
            }
            let nowhere = Match { in_port: Some(NO_PORT), ..Match::default() };
            let wrong = wrong(net, site, Class::of(nowhere), Origin::Nowhere, levels, steps)?;
            report(net, (net.nodes[node].name.to_owned(), Origin::Nowhere, levels), wrong);
        }
        Ok(())
    }
}

fn report(
    net: &Net<'_>,
    (place, from, levels): (String, Origin, InForce),
    wrong: BTreeSet<String>,
) {
    let (whence, claim) = match from {
        Origin::Host => ("from the host", "dropped unless a flow of this host"),
        Origin::Trunk => ("over the trunk", "other traffic below every flow, unpoliced"),
        Origin::Nowhere => ("by a port without a link", "dropped"),
    };
    for found in wrong {
        let place = format!("{place}, {whence}, {}", label(net, levels));
        net.wrong(rule::WALK, place, claim, found);
    }
}

/// What is wrong with what can happen to frames of no flow.
fn wrong(
    net: &Net<'_>,
    site: &Site<'_>,
    class: Class<'_>,
    from: Origin,
    levels: InForce,
    steps: &mut u64,
) -> Result<BTreeSet<String>, TooLong> {
    let outcomes = site.tables.walk(class, levels, steps)?;
    Ok(outcomes.iter().filter_map(|outcome| judge(net, site, outcome, from)).collect())
}

fn judge(net: &Net<'_>, site: &Site<'_>, outcome: &Outcome, from: Origin) -> Option<String> {
    // A frame that fills a meter decides what of its flow is dropped, even if it is dropped itself.
    if let Some(found) = owned_check(site, outcome) {
        return Some(found);
    }
    if from != Origin::Host && !outcome.checks.is_empty() {
        return Some(format!("shown to {:?}", outcome.checks));
    }
    if outcome.outputs.is_empty() {
        return None;
    }
    // While it waited it would be taken for a frame of the flow.
    if let Some(cookie) = outcome.sent_as.iter().find(|cookie| **cookie != 0) {
        return Some(format!("sent as the flow of cookie {cookie}"));
    }
    let passes = || Some(format!("passes to {}", list(&outcome.outputs)));
    let OtherTraffic::Carry { priority, rate_bps, .. } = net.raw.other_traffic else {
        return passes();
    };
    if outcome.outputs.iter().any(|output| output.queue != priority) {
        return Some(format!("other traffic in the queue of a flow: {}", list(&outcome.outputs)));
    }
    match (from, outcome.checks.as_slice()) {
        (Origin::Nowhere, _) => passes(),
        (Origin::Trunk, _) => None,
        (Origin::Host, [Check::Meter(id)])
            if !outcome.is_checked_late
                && site.unowned_meters.get(id).is_some_and(|rate| *rate <= rate_bps) =>
        {
            None
        }
        (Origin::Host, _) => Some("other traffic without its meter".into()),
    }
}

/// A monitor, or a meter of some flow, that frames of no flow are shown to.
fn owned_check(site: &Site<'_>, outcome: &Outcome) -> Option<String> {
    let owned = outcome.checks.iter().find_map(|check| match check {
        Check::Monitor(id) => Some(("monitor", id)),
        Check::Meter(id) => (!site.unowned_meters.contains_key(id)).then_some(("meter", id)),
    });
    owned.map(|(kind, id)| format!("{kind} {id} judges frames of no flow that comes this way"))
}

/// What is wrong with frames that look like a flow which does not come by their port: carried on,
/// they would be taken for the flow.
fn pretending(
    site: &Site<'_>,
    class: Class<'_>,
    levels: InForce,
    steps: &mut u64,
) -> Result<BTreeSet<String>, TooLong> {
    let outcomes = site.tables.walk(class, levels, steps)?;
    let wrong = |outcome: &Outcome| match owned_check(site, outcome) {
        Some(found) => Some(found),
        None if outcome.outputs.is_empty() => None,
        None => {
            Some(format!("frames of a flow that is elsewhere pass to {}", list(&outcome.outputs)))
        }
    };
    Ok(outcomes.iter().filter_map(wrong).collect())
}
