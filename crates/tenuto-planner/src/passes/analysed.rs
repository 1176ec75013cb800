//! The whole analysis of one set of routes, step by step.
//!
//! Sources' ports come first: they depend on nothing upstream, and meters and monitors are set
//! from their delays. Steady modes follow, then the time that a raise takes, which needs the
//! backlogs of the steady modes, then raises, which need that time.

use crate::analysis::context::Analysis;
use crate::analysis::fixed_point::{DIVERGED_PS, Solution, solve, solve_sources};
use crate::analysis::meters::{Policing, policing};
use crate::analysis::mode_input::{ModeInput, at_sources, modes_of};
use crate::analysis::mode_result::ModeResult;
use crate::analysis::port::{Ports, signals};
use crate::analysis::port_graph::PortGraph;
use crate::analysis::processor::{Changing, Held, Processors};
use crate::analysis::purging::Purging;
use crate::analysis::raise_terms::RaiseTerms;
use crate::analysis::whole_paths::{WholePaths, whole_paths};
use crate::input::envelope::Reading;
use crate::input::topology::{Egress, Topology};
use crate::input::transitions::{span, transitions};
use crate::modes::drain::drain;
use crate::modes::dropping::may_idle;
use crate::modes::mode_change;
use crate::modes::processor_changes::Needed;
use crate::modes::settling::settled;
use crate::options::{Options, Progress};
use crate::output::refusal;
use crate::output::rows::{self, with_returns};
use crate::passes::verdict::{slowness, verdict};
use crate::routes::{Tree, Verdict};
use tenuto_bounds::Executor;
use tenuto_calculus::Bucket;
use tenuto_model::{Network, Transition};
use tenuto_units::Picos;

/// Rounds in which the time of mode changes at shared processors may settle.
const CHANGES_MAX: usize = 24;

/// What is wrong with these trees, by sums of hops, and the largest delay of each port.
pub(crate) fn judged(
    topology: &Topology<'_>,
    trees: &[Tree],
    options: &Options,
) -> (Verdict, Vec<Option<u64>>) {
    let latest = topology.network.flows.iter().flat_map(|flow| &flow.targets);
    let latest = latest.flat_map(|target| &target.deadline_ns).max().copied().unwrap_or(0);
    // What takes several times the longest deadline need not be told from what never ends.
    let diverged_ps = (i128::from(latest) * 4_000).clamp(1_000_000_000, DIVERGED_PS);
    with_limit(topology, trees, options, diverged_ps, &mut |_| (), |analysis, _| {
        (verdict(&analysis), slowness(&analysis))
    })
}

pub(crate) fn with_analysis<T>(
    topology: &Topology<'_>,
    trees: &[Tree],
    options: &Options,
    progress: &mut dyn FnMut(Progress),
    use_it: impl FnOnce(Analysis<'_>, &mut dyn FnMut(Progress)) -> T,
) -> T {
    with_limit(topology, trees, options, DIVERGED_PS, progress, use_it)
}

fn with_limit<T>(
    topology: &Topology<'_>,
    trees: &[Tree],
    options: &Options,
    diverged_ps: i128,
    progress: &mut dyn FnMut(Progress),
    use_it: impl FnOnce(Analysis<'_>, &mut dyn FnMut(Progress)) -> T,
) -> T {
    let network = topology.network;
    let port_graph = PortGraph::new(topology, trees);
    let copies = signal_copies(network);
    let is_modal = network.modes.len() > 1;
    let signals = if is_modal {
        signals(copies, network.switches.len(), network.modes.len())
    } else {
        Bucket::ZERO
    };
    let none = Processors::default();
    let ports = Ports {
        topology,
        port_graph: &port_graph,
        options,
        signals,
        processors: &none,
        diverged_ps,
    };
    let (mode_inputs, policing, reading) = enforce(&ports, trees);
    let all = with_returns(transitions(network));
    let mut changing = Changing::first(&ports, &mode_inputs);
    let mut is_tightened = false;
    for round in 1.. {
        let processors =
            Processors::new(topology, &port_graph, trees, &policing, reading, (&all, &changing));
        let ports = Ports { processors: &processors, ..ports };
        let purging = Purging::new(&ports, &mode_inputs, &changing.purges);
        let arrange = changing.arrange;
        let given = Given { trees, reading, policing: policing.clone(), arrange, purging };
        let mut analysis = analyse(ports, given, mode_inputs.clone(), progress);
        if refusal::is_beside_processors(network) {
            analysis.give_up();
            return use_it(analysis, progress);
        }
        match changing.exceeded(&analysis, &mode_inputs) {
            Some(Needed::More(more)) if round < CHANGES_MAX => changing = more,
            None => {
                // The steps went beyond what is needed, once more without that.
                let needed = changing.needed(&analysis, &mode_inputs).filter(|it| *it != changing);
                let Some(needed) = needed.filter(|_| !is_tightened) else {
                    return use_it(analysis, progress);
                };
                (changing, is_tightened) = (needed, true);
            }
            Some(_) => {
                analysis.give_up();
                return use_it(analysis, progress);
            }
        }
    }
    unreachable!("the last round returns")
}

/// What an analysis starts from.
struct Given<'a> {
    trees: &'a [Tree],
    reading: Reading,
    policing: Vec<Policing>,
    arrange: Option<i128>,
    purging: Purging,
}

/// How often every mode signal is sent.
pub(super) fn signal_copies(network: &Network) -> u8 {
    u8::try_from(network.tolerates.lost_signals.saturating_add(1)).unwrap_or(u8::MAX)
}

/// Every mode_input with what is enforced at the first switches, from the sources' ports alone.
fn enforce(ports: &Ports<'_>, trees: &[Tree]) -> (Vec<ModeInput>, Vec<Policing>, Reading) {
    let network = ports.topology.network;
    let reading =
        Reading { as_stated: ports.options.as_stated, clock_ppm: network.clock_tolerance_ppm() };
    let at_source = |&t: &Transition| at_sources(network, trees, t, reading);
    let mut mode_inputs: Vec<ModeInput> = transitions(network).iter().map(at_source).collect();
    let mut policing = police(ports, trees, &mode_inputs, reading);
    if !is_deployed(network, trees) {
        // No monitor stands anywhere: what a host may send by its highest contract counts.
        policing.iter_mut().for_each(|one| one.is_monitored_first = false);
    }
    for mode_input in &mut mode_inputs {
        let is_babbling = network.tolerates.babbling_hosts > 0;
        for (tree, share) in mode_input.shares.iter_mut().enumerate() {
            let flow = &network.flows[trees[tree].flow];
            let policing = (&policing[tree], is_babbling);
            let modes = modes_of(network, flow, mode_input.transition);
            *share = share.clone().behind(flow, (mode_input.transition, modes), reading, policing);
        }
    }
    (mode_inputs, policing, reading)
}

/// Whether switches are told anything: only once every copy of every flow has a route.
fn is_deployed(network: &Network, trees: &[Tree]) -> bool {
    let copies: usize = network.flows.iter().map(|flow| flow.copies.len().max(1)).sum();
    trees.len() == copies
}

fn analyse<'a>(
    ports: Ports<'a>,
    given: Given<'a>,
    mode_inputs: Vec<ModeInput>,
    progress: &mut dyn FnMut(Progress),
) -> Analysis<'a> {
    let Given { trees, reading, policing, arrange, purging } = given;
    let mut analysis = Analysis {
        ports,
        trees,
        reading,
        policing,
        results: Vec::new(),
        arrange,
        purging,
        is_given_up: false,
        raises: Vec::new(),
        returns: Vec::new(),
        whole_paths: WholePaths::new(),
        rows: Vec::new(),
        port_rows: Vec::new(),
    };
    for mode_input in mode_inputs {
        progress(Progress::Analysing(mode_input.transition));
        analysis.add(mode_input);
    }
    let pairs = analysis.raises.iter().filter_map(|(raise, ..)| match *raise {
        Transition::Raise { from, to } => Some((to, from)),
        _ => None,
    });
    let settle = |(from, to)| ((from, to), settled(&analysis, from, to));
    let returns = pairs.map(settle).collect();
    analysis.returns = returns;
    analysis
}

/// The policing of every tree, from the largest delay of its source's port in any mode or raise.
fn police(
    ports: &Ports<'_>,
    trees: &[Tree],
    mode_inputs: &[ModeInput],
    reading: Reading,
) -> Vec<Policing> {
    let solutions: Vec<Solution> = mode_inputs.iter().map(|s| solve_sources(ports, s)).collect();
    let at_source = |index: usize, tree: &Tree| {
        let mut most = Some(Picos(0));
        let takes_part = |mode_input: &&ModeInput| {
            let level = ports.topology.network.flows[tree.flow].level;
            span(mode_input.transition).0 <= level
        };
        for hop in tree.hops.iter().filter(|hop| hop.parent.is_none()) {
            for (mode_input, solution) in
                mode_inputs.iter().zip(&solutions).filter(|(s, _)| takes_part(s))
            {
                let d = solution.delay_of(hop.server, &mode_input.shares[index].classes);
                most = most.zip(d).map(|(a, b)| a.max(b));
            }
        }
        most
    };
    let police = |(index, tree)| policing(ports.topology, tree, at_source(index, tree), reading);
    trees.iter().enumerate().map(police).collect()
}

impl Analysis<'_> {
    /// Bounds of whole paths, and the rows.
    pub(crate) fn conclude(&mut self, executor: &dyn Executor, progress: &mut dyn FnMut(Progress)) {
        if let Some(search) = self.ports.options.whole_paths {
            self.whole_paths = whole_paths(self, search, executor, &mut |done, total| {
                progress(Progress::WholePaths { done, total });
            });
        }
        self.settle_for_whole_paths();
        self.rows = rows::flows(self);
        self.forget_returns_without_a_window();
        self.port_rows = rows::ports(self);
    }

    /// Before a return everything has settled that a proof of the lower mode looks back at.
    fn settle_for_whole_paths(&mut self) {
        for ((_, to), settled) in &mut self.returns {
            let proofs = self.whole_paths.iter();
            let of_mode = proofs.filter(|((mode, ..), _)| *mode == Transition::Steady(*to));
            let deepest = of_mode.map(|(_, whole)| whole.nodes_behind_root).max().unwrap_or(0);
            settled.iter_mut().for_each(|settled| settled.wait_for(deepest));
        }
    }

    /// Where no quiet window is long enough, or answers to the leader come too late, a plan says nothing of returns, and
    /// has no place for the rounds that their bounds rest on.
    fn forget_returns_without_a_window(&mut self) {
        let is_stated = self.ports.topology.network.mode_return.quiet_ns.is_some();
        let has_window = is_stated || mode_change::quiet_least_ns(self).is_some();
        if has_window && self.arrange.is_none_or(mode_change::answers_in_time) {
            return;
        }
        for row in &mut self.rows {
            if matches!(row.mode, Transition::Return { .. }) {
                row.delay_bound_ps = None;
                row.copies.iter_mut().for_each(|copy| copy.delay_bound_ps = None);
            }
        }
    }

    /// Solves one mode_input; raises come after the steady modes that they start from.
    fn add(&mut self, mut mode_input: ModeInput) {
        let (mut slowest, mut is_lost) = (None, false);
        if let Transition::Raise { from, to } = mode_input.transition {
            slowest = self.slowest_raise(from, to);
            mode_input.endings = self.endings(&mode_input, slowest);
            match self.idle_ubit(from, to) {
                Some(idle_ubit) => mode_input.idle_ubit = idle_ubit,
                None => is_lost = true,
            }
        }
        let mut solution = solve(&self.ports, &mode_input);
        if is_lost {
            solution.give_up();
        }
        let backlogs = (0..self.ports.topology.servers.len())
            .map(|server| self.ports.backlog_bits(server, &mode_input, &solution.arriving))
            .collect();
        let held = self.held(&mode_input, &solution);
        let mode_result = ModeResult { mode_input, solution, backlogs, held };
        if let Transition::Raise { from, .. } = mode_result.mode_input.transition {
            let drain = slowest.and_then(|raise| drain(self, &mode_result, raise));
            let terms = self.raise_terms(from).filter(|_| !is_lost);
            self.raises.push((mode_result.mode_input.transition, terms, drain));
        }
        self.results.push(mode_result);
    }

    /// Claims nothing: what was taken for the time of mode changes is not enough, or not all that counts is known.
    pub(crate) fn give_up(&mut self) {
        self.is_given_up = true;
        self.arrange = None;
        for result in &mut self.results {
            result.solution.give_up();
            result.backlogs.fill(None);
            result.held.iter_mut().for_each(|(_, held)| held.backlog = None);
        }
        for (_, terms, drain) in &mut self.raises {
            (*terms, *drain) = (None, None);
        }
        self.returns.iter_mut().for_each(|(_, settled)| *settled = None);
    }

    /// What the receive buffers have to hold, by node.
    fn held(&self, mode_input: &ModeInput, solution: &Solution) -> Vec<(usize, Held)> {
        let ports = &self.ports;
        let late = |visit: usize| solution.late_at_entry(ports, mode_input, visit);
        let delay = |line: usize| solution.processing[line];
        let port = |line: usize| ports.topology.servers[line].far.port;
        let of = |(node, site): (usize, &crate::analysis::processor::Site<'_>)| {
            let held = site.held(&port, &delay, &late, ports.shapes());
            held.into_iter().map(|held| (node, held)).collect::<Vec<_>>()
        };
        ports.processors.all(mode_input.transition).flat_map(of).collect()
    }

    /// The terms of D_mc of a raise from that mode, an earlier raise into it included: what that
    /// one left in the queues may still be there.
    fn raise_terms(&self, from: u8) -> Option<RaiseTerms> {
        let (arrange, update) = (self.arrange?, mode_change::update(&self.ports));
        let mut queue = 0;
        for result in self.results.iter().filter(|r| arrives_in(r.mode_input.transition, from)) {
            let since_ps = arrange.checked_add(update)?;
            queue = queue.max(mode_change::queue(&self.ports, result, &self.purging, since_ps)?);
        }
        Some(RaiseTerms { arrange, update, queue })
    }

    /// The largest D_mc into mode `to` from `from` or any mode between: a raise may come in steps.
    pub(crate) fn slowest_raise(&self, from: u8, to: u8) -> Option<i128> {
        let mut slowest = 0;
        for start in from..to {
            slowest = slowest.max(self.raise_terms(start)?.sum());
        }
        Some(slowest)
    }

    /// What the line of each server would carry in the time in which it may be idle at the swaps from `from` to `to` while frames wait: the
    /// switch asks frames where they belong for no longer than all purges together; `None` without a bound.
    fn idle_ubit(&self, from: u8, to: u8) -> Option<Vec<i128>> {
        let topology = self.ports.topology;
        let may_idle = may_idle(topology, self.trees);
        if !may_idle.contains(&true) {
            return Some(Vec::new());
        }
        let mut idle_ps = 0_i128;
        for start in from..to {
            idle_ps = idle_ps.checked_add(self.raise_terms(start)?.queue)?;
        }
        let idle = |egress: &Egress<'_>| match may_idle[egress.node] {
            true => Bucket::line(0, egress.rate_bps).grown(Picos(idle_ps)).burst_ubit,
            false => 0,
        };
        Some(topology.servers.iter().map(idle).collect())
    }

    /// Θ = W + D_mc per server and class, W over the modes that the raise passes and over raises
    /// from its start to them (theory, "More than two levels"); `None` where it has no bound:
    /// nothing ends then.
    fn endings(
        &self,
        mode_input: &ModeInput,
        raise: Option<i128>,
    ) -> Vec<Vec<(u8, Option<Picos>)>> {
        let (low, high) = span(mode_input.transition);
        let is_before = |transition: Transition| match transition {
            Transition::Steady(mode) => (low..high).contains(&usize::from(mode)),
            Transition::Raise { from, to } => usize::from(from) == low && usize::from(to) < high,
            Transition::Return { .. } => false,
        };
        let steady = |server: usize, class: u8| {
            let mut longest = Some(Picos(0));
            for result in self.results.iter().filter(|r| is_before(r.mode_input.transition)) {
                let w = self.ports.busy_period(
                    server,
                    &result.mode_input,
                    &result.solution.arriving,
                    class,
                );
                longest = longest.zip(w).map(|(a, b)| a.max(b));
            }
            longest
        };
        let ending = |server: usize, class: u8| {
            let after = steady(server, class).zip(raise).map(|(w, raise)| Picos(w.0 + raise));
            (class, after)
        };
        let servers = 0..self.ports.topology.servers.len();
        let at = |server| {
            let classes = self.ports.classes(server, mode_input).into_iter();
            classes.map(|class| ending(server, class)).collect()
        };
        servers.map(at).collect()
    }
}

/// Whether the network is in `mode` after that.
const fn arrives_in(transition: Transition, mode: u8) -> bool {
    match transition {
        Transition::Steady(steady) => steady == mode,
        Transition::Raise { to, .. } => to == mode,
        Transition::Return { .. } => false,
    }
}
