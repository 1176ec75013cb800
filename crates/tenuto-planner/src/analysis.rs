//! The whole analysis of a network, step by step, and the plan made of it.
//!
//! Sources' ports come first: they depend on nothing upstream, and meters and monitors are set
//! from their delays. Steady modes follow, then the time that a raise takes, which needs the
//! backlogs of the steady modes, then raises, which need that time.

use crate::drain::drain;
use crate::end_to_end::{WholePaths, whole_paths};
use crate::envelope::Reading;
use crate::fixed_point::{DIVERGED_PS, Solution, solve, solve_sources};
use crate::mesh::Mesh;
use crate::meters::{Policing, policing};
use crate::mode_change::{self, RaiseTerms};
use crate::outlook::Outlook;
use crate::port::{Ports, signals};
use crate::processor::{Changing, Held, Needed, Processors};
use crate::routing::{Effort, Plot, Routes, Tree, Verdict, slowness, verdict};
use crate::rows::with_returns;
use crate::scene::{Scene, at_sources, modes_of, span, transitions};
use crate::settling::{Settled, settled};
use crate::topology::Topology;
use crate::{Options, Progress, backup, deployment, processor, refusal, routing, rows};
use tenuto_bounds::Executor;
use tenuto_calculus::Bucket;
use tenuto_model::{FlowBound, ForwardingModel, Network, Plan, PortRow, Ranked, Transition};
use tenuto_units::{FRAME_BYTES_MIN, Picos};

/// Rounds in which the time of mode changes at shared processors may settle.
const CHANGES_MAX: usize = 24;

/// Everything that was computed of a network.
#[derive(Debug)]
pub(crate) struct Analysis<'a> {
    pub(crate) ports: Ports<'a>,
    pub(crate) trees: &'a [Tree],
    pub(crate) reading: Reading,
    /// Per tree.
    pub(crate) policing: Vec<Policing>,
    /// Steady modes, then raises.
    pub(crate) results: Vec<Outlook>,
    /// D_arrange, picoseconds.
    pub(crate) arrange: Option<i128>,
    /// D_mc and the drain per raise.
    pub(crate) raises: Vec<(Transition, Option<RaiseTerms>, Option<i128>)>,
    /// Whether what mode changes take of shared processors found no bound: nothing is claimed.
    pub(crate) is_given_up: bool,
    /// Per return from the first mode to the second: that the network has settled before.
    pub(crate) returns: Vec<((u8, u8), Option<Settled>)>,
    /// Bounds of whole paths that are less than the sums of their hops.
    pub(crate) whole_paths: WholePaths,
    pub(crate) rows: Vec<FlowBound>,
    pub(crate) port_rows: Vec<PortRow>,
}

impl Analysis<'_> {
    /// That the network has settled before a return; `None` where there is no proof of it.
    pub(crate) fn settled(&self, from: u8, to: u8) -> Option<&Settled> {
        let mut returns = self.returns.iter();
        returns.find(|(pair, _)| *pair == (from, to)).and_then(|(_, settled)| settled.as_ref())
    }

    /// The result of one mode or raise.
    pub(crate) fn result(&self, transition: Transition) -> Option<&Outlook> {
        self.results.iter().find(|result| result.scene.transition == transition)
    }
}

/// One plan, without looking for what would fit.
pub(crate) fn plan_once(
    network: &Network,
    (options, executor): (&Options, &dyn Executor),
    effort: Effort,
    progress: &mut dyn FnMut(Progress),
) -> Plan {
    let (mut plan, trees) =
        routed(network, (options, executor), effort, progress, |analysis, routes, progress| {
            progress(Progress::Deploying);
            (finish(analysis, routes), routes.trees.clone())
        });
    if network.tolerates.links_lost > 0 {
        backup::add(&mut plan, network, &trees, options, progress);
    }
    plan
}

/// What `look` sees in the analysis of a network, without a plan made of it.
pub(crate) fn analysed<T>(
    network: &Network,
    (options, executor): (&Options, &dyn Executor),
    progress: &mut dyn FnMut(Progress),
    look: impl FnOnce(&Analysis<'_>, &Routes) -> T,
) -> T {
    routed(network, (options, executor), Effort::Full, progress, |analysis, routes, _| {
        look(analysis, routes)
    })
}

/// The analysis of a plan's routes: the fewest hops, unless these break a promise and there are
/// others.
fn routed<T>(
    network: &Network,
    (options, executor): (&Options, &dyn Executor),
    effort: Effort,
    progress: &mut dyn FnMut(Progress),
    look: impl FnOnce(&Analysis<'_>, &Routes, &mut dyn FnMut(Progress)) -> T,
) -> T {
    let topology = &Topology::modelled(network, options.model);
    progress(Progress::Routing);
    let mut plot = Plot::of_network(topology);
    let first = plot.fewest_hops();
    let mut look = Some(look);
    let done =
        with_analysis(topology, &first.trees, options, progress, |mut analysis, progress| {
            let is_settled = !plot.has_choice() || verdict(&analysis).pain == 0;
            // What sums of hops do not promise, bounds of whole paths may.
            if is_settled || options.whole_paths.is_some() {
                analysis.conclude(executor, progress);
            }
            let is_settled = is_settled
                || (options.whole_paths.is_some() && refusal::all(&analysis, &[]).is_empty());
            if !is_settled {
                return None;
            }
            let look = look.take()?;
            Some(look(&analysis, &first, progress))
        });
    if let Some(done) = done {
        return done;
    }
    let routes = plot.improved(first, options, effort, progress);
    with_analysis(topology, &routes.trees, options, progress, |mut analysis, progress| {
        analysis.conclude(executor, progress);
        let look = look.take().expect("it has looked at nothing yet");
        look(&analysis, &routes, progress)
    })
}

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
    let mesh = Mesh::new(topology, trees);
    let copies = signal_copies(network);
    let is_modal = network.modes.len() > 1;
    let signals = if is_modal {
        signals(copies, network.switches.len(), network.modes.len())
    } else {
        Bucket::ZERO
    };
    let none = Processors::default();
    let ports = Ports { topology, mesh: &mesh, options, signals, processors: &none, diverged_ps };
    let (scenes, policing, reading) = enforce(&ports, trees);
    let all = with_returns(transitions(network));
    let mut changing = Changing::first(&ports, &scenes);
    for round in 1.. {
        let processors =
            Processors::new(topology, &mesh, trees, &policing, reading, (&all, &changing));
        let ports = Ports { processors: &processors, ..ports };
        let given = Given { trees, reading, policing: policing.clone(), arrange: changing.arrange };
        let mut analysis = analyse(ports, given, scenes.clone(), progress);
        if refusal::is_beside_processors(network) {
            analysis.give_up();
            return use_it(analysis, progress);
        }
        match changing.exceeded(&analysis, &scenes) {
            Some(Needed::More(more)) if round < CHANGES_MAX => changing = more,
            None => return use_it(analysis, progress),
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
}

/// How often every mode signal is sent.
fn signal_copies(network: &Network) -> u8 {
    u8::try_from(network.tolerates.lost_signals.saturating_add(1)).unwrap_or(u8::MAX)
}

/// Every scene with what is enforced at the first switches, from the sources' ports alone.
fn enforce(ports: &Ports<'_>, trees: &[Tree]) -> (Vec<Scene>, Vec<Policing>, Reading) {
    let network = ports.topology.network;
    let reading =
        Reading { as_stated: ports.options.as_stated, clock_ppm: network.clock_tolerance_ppm() };
    let at_source = |&t: &Transition| at_sources(network, trees, t, reading);
    let mut scenes: Vec<Scene> = transitions(network).iter().map(at_source).collect();
    let policing = police(ports, trees, &scenes, reading);
    for scene in &mut scenes {
        let is_enforced = network.tolerates.babbling_hosts > 0;
        for (tree, share) in scene.shares.iter_mut().enumerate() {
            let flow = &network.flows[trees[tree].flow];
            let enforced = is_enforced.then_some(&policing[tree]);
            let modes = modes_of(network, flow, scene.transition);
            *share = share.clone().behind(flow, (scene.transition, modes), reading, enforced);
        }
    }
    (scenes, policing, reading)
}

fn analyse<'a>(
    ports: Ports<'a>,
    given: Given<'a>,
    scenes: Vec<Scene>,
    progress: &mut dyn FnMut(Progress),
) -> Analysis<'a> {
    let Given { trees, reading, policing, arrange } = given;
    let mut analysis = Analysis {
        ports,
        trees,
        reading,
        policing,
        results: Vec::new(),
        arrange,
        is_given_up: false,
        raises: Vec::new(),
        returns: Vec::new(),
        whole_paths: WholePaths::new(),
        rows: Vec::new(),
        port_rows: Vec::new(),
    };
    for scene in scenes {
        progress(Progress::Analysing(scene.transition));
        analysis.add(scene);
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
fn police(ports: &Ports<'_>, trees: &[Tree], scenes: &[Scene], reading: Reading) -> Vec<Policing> {
    let solutions: Vec<Solution> = scenes.iter().map(|s| solve_sources(ports, s)).collect();
    let at_source = |index: usize, tree: &Tree| {
        let mut most = Some(Picos(0));
        let takes_part = |scene: &&Scene| {
            let level = ports.topology.network.flows[tree.flow].level;
            span(scene.transition).0 <= level
        };
        for hop in tree.hops.iter().filter(|hop| hop.parent.is_none()) {
            for (scene, solution) in scenes.iter().zip(&solutions).filter(|(s, _)| takes_part(s)) {
                let d = solution.delay_of(hop.server, &scene.shares[index].classes);
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

    /// Where no quiet window is long enough a plan says nothing of returns, and has no place for the
    /// rounds that their bounds rest on.
    fn forget_returns_without_a_window(&mut self) {
        let is_stated = self.ports.topology.network.mode_return.quiet_ns.is_some();
        if is_stated || mode_change::quiet_least_ns(self).is_some() {
            return;
        }
        for row in &mut self.rows {
            if matches!(row.mode, Transition::Return { .. }) {
                row.delay_bound_ps = None;
                row.copies.iter_mut().for_each(|copy| copy.delay_bound_ps = None);
            }
        }
    }

    /// Solves one scene; raises come after the steady modes that they start from.
    fn add(&mut self, mut scene: Scene) {
        let mut slowest = None;
        if let Transition::Raise { from, to } = scene.transition {
            slowest = self.slowest_raise(from, to);
            scene.endings = self.endings(&scene, slowest);
        }
        let solution = solve(&self.ports, &scene);
        let backlogs = (0..self.ports.topology.servers.len())
            .map(|server| self.ports.backlog_bits(server, &scene, &solution.arriving))
            .collect();
        let held = self.held(&scene, &solution);
        let outlook = Outlook { scene, solution, backlogs, held };
        if let Transition::Raise { from, .. } = outlook.scene.transition {
            let drain = slowest.and_then(|raise| drain(self, &outlook, raise));
            self.raises.push((outlook.scene.transition, self.raise_terms(from), drain));
        }
        self.results.push(outlook);
    }

    /// Claims nothing: what was taken for the time of mode changes is not enough.
    fn give_up(&mut self) {
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
    fn held(&self, scene: &Scene, solution: &Solution) -> Vec<(usize, Held)> {
        let ports = &self.ports;
        let late = |visit: usize| solution.late_at_entry(ports, scene, visit);
        let delay = |line: usize| solution.processing[line];
        let port = |line: usize| ports.topology.servers[line].far.port;
        let of = |(node, site): (usize, &crate::processor::Site<'_>)| {
            let held = site.held(&port, &delay, &late, ports.shapes());
            held.into_iter().map(|held| (node, held)).collect::<Vec<_>>()
        };
        ports.processors.all(scene.transition).flat_map(of).collect()
    }

    /// The terms of D_mc of a raise from that mode, an earlier raise into it included: what that
    /// one left in the queues may still be there.
    fn raise_terms(&self, from: u8) -> Option<RaiseTerms> {
        let mut queue = 0;
        for result in self.results.iter().filter(|r| arrives_in(r.scene.transition, from)) {
            queue = queue.max(mode_change::queue(&self.ports, &result.backlogs)?);
        }
        Some(RaiseTerms { arrange: self.arrange?, update: mode_change::update(&self.ports), queue })
    }

    /// The largest D_mc into mode `to` from `from` or any mode between: a raise may come in steps.
    pub(crate) fn slowest_raise(&self, from: u8, to: u8) -> Option<i128> {
        let mut slowest = 0;
        for start in from..to {
            slowest = slowest.max(self.raise_terms(start)?.sum());
        }
        Some(slowest)
    }

    /// Θ = W + D_mc per server and class, W over the modes that the raise passes and over raises
    /// from its start to them (theory, "More than two levels"); `None` where it has no bound:
    /// nothing ends then.
    fn endings(&self, scene: &Scene, raise: Option<i128>) -> Vec<Vec<(u8, Option<Picos>)>> {
        let (low, high) = span(scene.transition);
        let is_before = |transition: Transition| match transition {
            Transition::Steady(mode) => (low..high).contains(&usize::from(mode)),
            Transition::Raise { from, to } => usize::from(from) == low && usize::from(to) < high,
            Transition::Return { .. } => false,
        };
        let steady = |server: usize, class: u8| {
            let mut longest = Some(Picos(0));
            for result in self.results.iter().filter(|r| is_before(r.scene.transition)) {
                let w =
                    self.ports.busy_period(server, &result.scene, &result.solution.arriving, class);
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
            let classes = self.ports.classes(server, scene).into_iter();
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

/// The plan of an analysis.
fn finish(analysis: &Analysis<'_>, routes: &Routes) -> Plan {
    let ports = analysis.ports;
    let Ports { topology, options, .. } = ports;
    let network = topology.network;
    let mut refusals = routes.refusals.clone();
    let is_routed = refusals.is_empty();
    let (switches, hosts) =
        if is_routed { deployment::deploy(analysis) } else { (Vec::new(), Vec::new()) };
    let quiet_ns = refusal::quiet(analysis, &mut refusals);
    refusals.extend(refusal::all(analysis, &switches));
    let is_valid_for_frames = options.model == ForwardingModel::StoreAndForward
        && !(options.as_stated && has_short_frames(network));
    let described = routes.trees.iter().zip(&routes.chosen);
    let described = described.map(|(tree, &chosen)| routing::describe(topology, tree, chosen));
    Plan {
        schema: "tenuto-plan/1".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        description_digest: String::new(),
        plan_hash: String::new(),
        network: network.clone(),
        model: options.model,
        as_stated: options.as_stated,
        line_shaping: options.line_shaping,
        staircases: ports.has_staircases(),
        feasible: refusals.is_empty() && is_valid_for_frames,
        routes: described.collect(),
        ports: rows::services(analysis),
        processors: processor::rows::services(analysis),
        port_rows: analysis.port_rows.clone(),
        processor_rows: processor::rows::rows(analysis),
        flows: analysis.rows.clone(),
        mode_changes: mode_change::bounds(analysis, quiet_ns),
        quiet_ns,
        signal_copies: if network.modes.len() > 1 { signal_copies(network) } else { 0 },
        switches,
        hosts,
        link_losses: Vec::new(),
        refusals,
        assumptions: Vec::new(),
        ranked: Ranked::AsGiven,
    }
}

fn has_short_frames(network: &Network) -> bool {
    let mut contracts = network.flows.iter().flat_map(|flow| &flow.contracts);
    contracts.any(|c| c.size.frames(true).frame_bytes_max < FRAME_BYTES_MIN)
}
