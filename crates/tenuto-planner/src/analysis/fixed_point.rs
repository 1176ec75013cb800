//! Delays from bursts and bursts from delays: x = F(x) (theory, "The fixed point").
//!
//! Without cycles one pass in the order of the flow of data gives the least fixed point. With
//! cycles x grows from zero, port by port; what does not settle has no bound (`None`), and the
//! limit is inflated until x ≥ F(x) holds exactly.

use crate::analysis::meters::STAMP_PS;
use crate::analysis::mode_input::ModeInput;
use crate::analysis::port::{Arriving, Ports};
use tenuto_calculus::Bucket;
use tenuto_units::Picos;

/// A delay of this length is no bound any more: a thousand seconds.
pub(crate) const DIVERGED_PS: i128 = 1_000_000_000_000_000;
/// Passes over a cyclic network until what still grows is given up.
const PASSES_MAX: usize = 2_000;
/// Settled is what grows by less than this share in a pass; inflation repays it.
const SETTLED_SHARE: i128 = 100_000_000;
/// Inflations that are tried, as shares of the delay.
const INFLATIONS: [i128; 4] = [10_000_000, 100_000, 1_000, 20];
/// Passes that bring an inflated vector down again; each keeps x ≥ F(x).
const REFINEMENTS: usize = 8;

/// The claims of one mode or raise, and the curves that go with them.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// Per server and class used there: D, `None` where there is no bound.
    pub(crate) delays: Vec<Vec<(u8, Option<Picos>)>>,
    /// Per line: P at the processor behind it, 0 without one; `None` where there is no bound.
    pub(crate) processing: Vec<Option<Picos>>,
    /// Curves at the queues, gathered from the above.
    pub(crate) arriving: Arriving,
    /// Per visit: X at the queue, since the release or the meter.
    late: Vec<Option<Picos>>,
}

impl Solution {
    fn start(ports: &Ports<'_>, mode_input: &ModeInput) -> Self {
        let classes = |server: usize| {
            ports.classes(server, mode_input).into_iter().map(|k| (k, Some(Picos(0)))).collect()
        };
        let ungrown = |visit: &crate::analysis::visit::Visit| {
            let share = &mode_input.shares[visit.tree];
            let enforced = share.forwarded.and_then(|f| f.enforced);
            let behind = share.forwarded.map(|_| enforced.unwrap_or(share.source));
            if visit.depth == 0 { Some(share.source) } else { behind }
        };
        let servers = ports.topology.servers.len();
        let bursts: Vec<Option<Bucket>> = ports.port_graph.visits.iter().map(ungrown).collect();
        Self {
            delays: (0..servers).map(classes).collect(),
            processing: vec![Some(Picos(0)); servers],
            late: vec![Some(Picos(0)); bursts.len()],
            arriving: Arriving {
                steps: vec![None; bursts.len()],
                growth: vec![Some(Picos(0)); bursts.len()],
                bursts,
                varying: vec![Some(Picos(0)); servers],
            },
        }
    }

    /// D of one class at one server.
    pub(crate) fn delay(&self, server: usize, class: u8) -> Option<Picos> {
        self.delays[server].iter().find(|(k, _)| *k == class).and_then(|(_, d)| *d)
    }

    /// The largest D of those classes.
    pub(crate) fn delay_of(&self, server: usize, classes: &[u8]) -> Option<Picos> {
        let delays = classes.iter().map(|&k| self.delay(server, k));
        delays.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten()
    }

    /// X of a visit when its frames are received behind its line.
    pub(crate) fn late_at_entry(
        &self,
        ports: &Ports<'_>,
        mode_input: &ModeInput,
        visit: usize,
    ) -> Option<Picos> {
        let it = &ports.port_graph.visits[visit];
        let d = self.delay_of(it.server, &mode_input.shares[it.tree].classes)?;
        Some(Picos(self.late[visit]?.0.saturating_add(d.0)))
    }

    /// P of every line into a node, as x says of the ports upstream; nothing without a processor.
    fn needed(
        &self,
        ports: &Ports<'_>,
        mode_input: &ModeInput,
        node: usize,
    ) -> Vec<(usize, Option<Picos>)> {
        let Some(site) = ports.processors.site_in(mode_input.transition, node) else {
            return Vec::new();
        };
        let late = |visit: usize| self.late_at_entry(ports, mode_input, visit);
        let needed = |line: &crate::analysis::processor::Line| {
            let claimed = self.processing[line.line];
            let delay = claimed.and_then(|_| site.delay(line, &late, ports.shapes()));
            (line.line, delay.filter(|d| d.0 < ports.diverged_ps))
        };
        site.lines.iter().map(needed).collect()
    }

    /// Y of every line into a node with a processor.
    fn vary(&mut self, ports: &Ports<'_>, mode_input: &ModeInput, node: usize) {
        let Some(site) = ports.processors.site_in(mode_input.transition, node) else { return };
        for line in &site.lines {
            let p = self.processing[line.line];
            self.arriving.varying[line.line] = ports.processors.varying(site, line.line, p);
        }
    }

    /// Bursts at one server's queues, from what x says of the ports upstream.
    fn gather(&mut self, ports: &Ports<'_>, mode_input: &ModeInput, server: usize) {
        let node = ports.topology.servers[server].node;
        let jitter = ports.topology.nodes[node].latency_jitter_ps();
        self.vary(ports, mode_input, node);
        for index in ports.port_graph.at(server) {
            let visit = &ports.port_graph.visits[index];
            let share = &mode_input.shares[visit.tree];
            let Some(parent) = visit.parent else {
                self.arriving.bursts[index] = Some(share.source);
                self.arriving.steps[index] = share.source_steps;
                continue;
            };
            let enforced = share.forwarded.and_then(|f| f.enforced).filter(|_| visit.depth == 1);
            let upstream = ports.port_graph.visits[parent].server;
            let varying = self.arriving.varying[upstream];
            let by = self
                .delay_of(upstream, &share.classes)
                .zip(varying)
                .map(|(d, y)| Picos(d.0.saturating_add(jitter).saturating_add(y.0)));
            let grown = |by: Picos| Some(self.arriving.bursts[parent]?.grown(by));
            let later = |by: Picos| {
                let steps = self.arriving.steps[parent]?;
                let rate_bps = ports.topology.servers[upstream].rate_bps;
                let own = if visit.depth == 1 { sending_ps(share.own_ubit, rate_bps) } else { 0 };
                // D and j together are never less than a part of the message takes on the line.
                Some(steps.late(Picos((by.0 - own).max(0))))
            };
            let (burst, steps) = match enforced {
                Some(bucket) => {
                    let steps = share.forwarded.and_then(|f| f.steps);
                    let steps = steps.zip(varying).map(|(steps, y)| steps.late(y));
                    (varying.map(|y| bucket.grown(y)), steps)
                }
                None => (by.and_then(grown), by.and_then(later)),
            };
            let is_metered =
                visit.depth == 1 && ports.topology.network.tolerates.babbling_hosts > 0;
            let late = match is_metered {
                true => Some(Picos(STAMP_PS)),
                false => self.late_at_entry(ports, mode_input, parent),
            };
            let node_varies = varying.map(|y| y.0.saturating_add(jitter));
            self.late[index] = late.zip(node_varies).map(|(x, y)| Picos(x.0.saturating_add(y)));
            self.arriving.growth[index] = by;
            self.arriving.bursts[index] = share.forwarded.and(burst);
            self.arriving.steps[index] = share.forwarded.and(steps);
        }
    }

    /// F at one server: whether any delay there changed by more than the settled share.
    fn update(&mut self, ports: &Ports<'_>, mode_input: &ModeInput, server: usize) -> bool {
        let mut moved = false;
        for (line, now) in self.needed(ports, mode_input, ports.topology.servers[server].node) {
            moved |= has_moved(self.processing[line], now);
            self.processing[line] = now;
        }
        self.gather(ports, mode_input, server);
        for place in 0..self.delays[server].len() {
            let (class, before) = self.delays[server][place];
            // What has once diverged stays so: F is monotone.
            let now = before.and_then(|_| ports.delay(server, mode_input, &self.arriving, class));
            let now = now.filter(|d| d.0 < ports.diverged_ps);
            moved |= has_moved(before, now);
            self.delays[server][place].1 = now;
        }
        moved
    }

    fn pass(&mut self, ports: &Ports<'_>, mode_input: &ModeInput) -> bool {
        let mut moved = false;
        for &server in &ports.port_graph.order {
            moved |= self.update(ports, mode_input, server);
        }
        // Signals reach switches that no flow leaves.
        for (node, _) in ports.processors.all(mode_input.transition) {
            if ports.topology.leaving(node).iter().all(|&s| ports.port_graph.groups[s].is_empty()) {
                for (line, now) in self.needed(ports, mode_input, node) {
                    self.processing[line] = now;
                }
            }
        }
        moved
    }

    /// Bursts of every visit, all from the same x.
    fn gather_all(&mut self, ports: &Ports<'_>, mode_input: &ModeInput) {
        // A tree's visits come parents first, but servers do not in a cycle: repeat per depth.
        let depth = ports.port_graph.visits.iter().map(|v| v.depth).max().unwrap_or(0);
        for _ in 0..=depth {
            for &server in &ports.port_graph.order {
                self.gather(ports, mode_input, server);
            }
        }
    }

    fn inflated(&self, share: i128) -> Self {
        let mut more = self.clone();
        for (_, delay) in more.delays.iter_mut().flatten() {
            *delay = delay.map(|d| Picos(d.0 + d.0 / share + 1));
        }
        for delay in &mut more.processing {
            *delay = delay.map(|d| Picos(d.0 + d.0 / share + 1));
        }
        more
    }

    /// F(x) from this x, bursts gathered first; `None` in place of every unbounded delay.
    fn image(&mut self, ports: &Ports<'_>, mode_input: &ModeInput) -> Self {
        self.gather_all(ports, mode_input);
        let mut image = self.clone();
        for (node, _) in ports.processors.all(mode_input.transition) {
            for (line, needed) in self.needed(ports, mode_input, node) {
                image.processing[line] = needed;
            }
        }
        for &server in &ports.port_graph.order {
            for place in 0..self.delays[server].len() {
                let (class, before) = self.delays[server][place];
                let now =
                    before.and_then(|_| ports.delay(server, mode_input, &self.arriving, class));
                image.delays[server][place].1 = now;
            }
        }
        image
    }

    /// Whether x ≥ F(x) wherever x claims anything.
    fn covers(&self, image: &Self) -> bool {
        let covers = |claimed: &Option<Picos>, needed: &Option<Picos>| match (claimed, needed) {
            (Some(claimed), Some(needed)) => claimed >= needed,
            (Some(_), None) => false,
            (None, _) => true,
        };
        let mut delays = self.delays.iter().flatten().zip(image.delays.iter().flatten());
        let mut processing = self.processing.iter().zip(&image.processing);
        delays.all(|((_, claimed), (_, needed))| covers(claimed, needed))
            && processing.all(|(claimed, needed)| covers(claimed, needed))
    }

    /// The largest claims of several analyses, for what takes part in `mode_input`.
    pub(crate) fn largest(ports: &Ports<'_>, mode_input: &ModeInput, all: &[&Self]) -> Self {
        let mut largest = Self::start(ports, mode_input);
        for (server, delays) in largest.delays.iter_mut().enumerate() {
            for (class, delay) in delays {
                *delay = most(all.iter().map(|one| one.delay(server, *class)));
            }
        }
        for (line, processing) in largest.processing.iter_mut().enumerate() {
            *processing = most(all.iter().map(|one| one.processing[line]));
        }
        largest
    }

    /// What follows from these claims, and no more than they are; `None` without a bound.
    pub(crate) fn tightened(&self, ports: &Ports<'_>, mode_input: &ModeInput) -> Option<Self> {
        let mut image = self.clone().image(ports, mode_input);
        let delays = image.delays.iter_mut().flatten().zip(self.delays.iter().flatten());
        for ((_, now), (_, before)) in delays {
            *now = Some((*now)?.min((*before)?));
        }
        for (now, before) in image.processing.iter_mut().zip(&self.processing) {
            *now = Some((*now)?.min((*before)?));
        }
        Some(image)
    }

    /// Whether no claim is above the one of `other` for the same.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let no_more = |own: Option<Picos>, most: Option<Picos>| {
            own.zip(most).is_some_and(|(own, most)| own <= most)
        };
        let mut at = self.delays.iter().enumerate();
        let mut lines = self.processing.iter().zip(&other.processing);
        at.all(|(server, delays)| {
            delays.iter().all(|&(class, own)| no_more(own, other.delay(server, class)))
        }) && lines.all(|(own, most)| no_more(*own, *most))
    }

    /// Whether all claims are the same.
    pub(crate) fn has_claims_of(&self, other: &Self) -> bool {
        self.delays == other.delays && self.processing == other.processing
    }

    /// Claims nothing, and keeps nothing that followed from what was claimed.
    pub(crate) fn give_up(&mut self) {
        self.delays.iter_mut().flatten().for_each(|(_, delay)| *delay = None);
        self.processing.fill(None);
        self.late.fill(None);
        self.arriving.bursts.fill(None);
        self.arriving.steps.fill(None);
        self.arriving.growth.fill(None);
        // Without a processor behind it a line has nothing that varies, whatever is claimed.
        for varying in self.arriving.varying.iter_mut().filter(|it| **it != Some(Picos(0))) {
            *varying = None;
        }
    }
}

/// How long a line of `rate_bps` takes for so much, picoseconds down.
const fn sending_ps(ubit: i128, rate_bps: u64) -> i128 {
    let rate = if rate_bps == 0 { 1 } else { rate_bps as i128 };
    ubit.saturating_mul(1_000_000) / rate
}

/// The largest of several delays; `None` if one has no bound.
fn most(delays: impl Iterator<Item = Option<Picos>>) -> Option<Picos> {
    delays.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten()
}

/// Whether a delay changed by more than the settled share.
fn has_moved(before: Option<Picos>, now: Option<Picos>) -> bool {
    match (before, now) {
        (Some(old), Some(new)) => (new.0 - old.0).abs() > old.0 / SETTLED_SHARE,
        (old, new) => old != new,
    }
}

/// The claims of one mode_input.
pub(crate) fn solve(ports: &Ports<'_>, mode_input: &ModeInput) -> Solution {
    let mut solution = Solution::start(ports, mode_input);
    if ports.port_graph.is_acyclic {
        solution.pass(ports, mode_input);
        return solution;
    }
    let mut passes = 0;
    while solution.pass(ports, mode_input) {
        passes += 1;
        if passes > PASSES_MAX {
            drop_growing(&mut solution, ports, mode_input);
            passes = PASSES_MAX / 2;
        }
    }
    certify(solution, ports, mode_input)
}

/// What still grows after so many passes has no bound.
fn drop_growing(solution: &mut Solution, ports: &Ports<'_>, mode_input: &ModeInput) {
    let (before, processing) = (solution.delays.clone(), solution.processing.clone());
    solution.pass(ports, mode_input);
    for (now, then) in solution.processing.iter_mut().zip(&processing) {
        if now != then {
            *now = None;
        }
    }
    let pairs = solution.delays.iter_mut().flatten().zip(before.iter().flatten());
    for ((_, now), (_, then)) in pairs {
        if now != then {
            *now = None;
        }
    }
}

/// An inflated limit that satisfies x ≥ F(x), brought down as far as that stays true.
fn certify(limit: Solution, ports: &Ports<'_>, mode_input: &ModeInput) -> Solution {
    for share in INFLATIONS {
        let mut candidate = limit.inflated(share);
        let mut image = candidate.image(ports, mode_input);
        if !candidate.covers(&image) {
            continue;
        }
        for _ in 0..REFINEMENTS {
            let next = image.image(ports, mode_input);
            candidate = std::mem::replace(&mut image, next);
            if candidate.has_claims_of(&image) {
                break;
            }
        }
        candidate.gather_all(ports, mode_input);
        return candidate;
    }
    let mut none = limit;
    none.give_up();
    none
}

/// Delays at the sources' own ports only: they depend on nothing upstream.
pub(crate) fn solve_sources(ports: &Ports<'_>, mode_input: &ModeInput) -> Solution {
    let mut solution = Solution::start(ports, mode_input);
    let is_source =
        |&&server: &&usize| ports.topology.nodes[ports.topology.servers[server].node].is_host();
    for &server in ports.port_graph.order.iter().filter(is_source) {
        solution.update(ports, mode_input, server);
    }
    solution
}
