//! Delays from bursts and bursts from delays: x = F(x) (theory, "The fixed point").
//!
//! Without cycles one pass in the order of the flow of data gives the least fixed point. With
//! cycles x grows from zero, port by port; what does not settle has no bound (`None`), and the
//! limit is inflated until x ≥ F(x) holds exactly.

use crate::port::Ports;
use crate::scene::Scene;
use tenuto_calculus::Bucket;
use tenuto_units::Picos;

/// A delay of this length is no bound any more: a thousand seconds.
const DIVERGED_PS: i128 = 1_000_000_000_000_000;
/// Passes over a cyclic network until what still grows is given up.
const PASSES_MAX: usize = 2_000;
/// Settled is what grows by less than this share in a pass; inflation repays it.
const SETTLED_SHARE: i128 = 100_000_000;
/// Inflations that are tried, as shares of the delay.
const INFLATIONS: [i128; 4] = [10_000_000, 100_000, 1_000, 20];
/// Passes that bring an inflated vector down again; each keeps x ≥ F(x).
const REFINEMENTS: usize = 8;

/// The claims of one mode or raise, and the bursts that go with them.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// Per server and class used there: D, `None` where there is no bound.
    pub(crate) delays: Vec<Vec<(u8, Option<Picos>)>>,
    /// Per visit: the tree's curve at the queue; `None` where there is no bound or no share.
    pub(crate) bursts: Vec<Option<Bucket>>,
}

impl Solution {
    fn start(ports: &Ports<'_>, scene: &Scene) -> Self {
        let classes = |server: usize| {
            ports.classes(server, scene).into_iter().map(|k| (k, Some(Picos(0)))).collect()
        };
        let ungrown = |visit: &crate::mesh::Visit| {
            let share = &scene.shares[visit.tree];
            let enforced = share.forwarded.and_then(|f| f.enforced);
            let behind = share.forwarded.map(|_| enforced.unwrap_or(share.source));
            if visit.depth == 0 { Some(share.source) } else { behind }
        };
        Self {
            delays: (0..ports.topology.servers.len()).map(classes).collect(),
            bursts: ports.mesh.visits.iter().map(ungrown).collect(),
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

    /// Bursts at one server's queues, from what x says of the ports upstream.
    fn gather(&mut self, ports: &Ports<'_>, scene: &Scene, server: usize) {
        let jitter = ports.topology.nodes[ports.topology.servers[server].node].latency_jitter_ps();
        for index in ports.mesh.at(server) {
            let visit = &ports.mesh.visits[index];
            let share = &scene.shares[visit.tree];
            let Some(parent) = visit.parent else {
                self.bursts[index] = Some(share.source);
                continue;
            };
            let enforced = share.forwarded.and_then(|f| f.enforced).filter(|_| visit.depth == 1);
            let upstream = ports.mesh.visits[parent].server;
            let grown = || {
                let d = self.delay_of(upstream, &share.classes)?;
                Some(self.bursts[parent]?.grown(Picos(d.0 + jitter)))
            };
            self.bursts[index] = share.forwarded.and_then(|_| enforced.or_else(grown));
        }
    }

    /// F at one server: whether any delay there changed by more than the settled share.
    fn update(&mut self, ports: &Ports<'_>, scene: &Scene, server: usize) -> bool {
        self.gather(ports, scene, server);
        let mut moved = false;
        for place in 0..self.delays[server].len() {
            let (class, before) = self.delays[server][place];
            // What has once diverged stays so: F is monotone.
            let now = before.and_then(|_| ports.delay(server, scene, &self.bursts, class));
            let now = now.filter(|d| d.0 < DIVERGED_PS);
            moved |= match (before, now) {
                (Some(old), Some(new)) => (new.0 - old.0).abs() > old.0 / SETTLED_SHARE,
                (old, new) => old != new,
            };
            self.delays[server][place].1 = now;
        }
        moved
    }

    fn pass(&mut self, ports: &Ports<'_>, scene: &Scene) -> bool {
        let mut moved = false;
        for &server in &ports.mesh.order {
            moved |= self.update(ports, scene, server);
        }
        moved
    }

    /// Bursts of every visit, all from the same x.
    fn gather_all(&mut self, ports: &Ports<'_>, scene: &Scene) {
        // A tree's visits come parents first, but servers do not in a cycle: repeat per depth.
        let depth = ports.mesh.visits.iter().map(|v| v.depth).max().unwrap_or(0);
        for _ in 0..=depth {
            for &server in &ports.mesh.order {
                self.gather(ports, scene, server);
            }
        }
    }

    fn inflated(&self, share: i128) -> Self {
        let mut more = self.clone();
        for (_, delay) in more.delays.iter_mut().flatten() {
            *delay = delay.map(|d| Picos(d.0 + d.0 / share + 1));
        }
        more
    }

    /// F(x) from this x, bursts gathered first; `None` in place of every unbounded delay.
    fn image(&mut self, ports: &Ports<'_>, scene: &Scene) -> Self {
        self.gather_all(ports, scene);
        let mut image = self.clone();
        for &server in &ports.mesh.order {
            for place in 0..self.delays[server].len() {
                let (class, before) = self.delays[server][place];
                let now = before.and_then(|_| ports.delay(server, scene, &self.bursts, class));
                image.delays[server][place].1 = now;
            }
        }
        image
    }

    /// Whether x ≥ F(x) wherever x claims anything.
    fn covers(&self, image: &Self) -> bool {
        let claims = self.delays.iter().flatten().zip(image.delays.iter().flatten());
        claims.into_iter().all(|((_, claimed), (_, needed))| match (claimed, needed) {
            (Some(claimed), Some(needed)) => claimed >= needed,
            (Some(_), None) => false,
            (None, _) => true,
        })
    }

    fn give_up(&mut self) {
        self.delays.iter_mut().flatten().for_each(|(_, delay)| *delay = None);
    }
}

/// The claims of one scene.
pub(crate) fn solve(ports: &Ports<'_>, scene: &Scene) -> Solution {
    let mut solution = Solution::start(ports, scene);
    if ports.mesh.is_acyclic {
        solution.pass(ports, scene);
        return solution;
    }
    let mut passes = 0;
    while solution.pass(ports, scene) {
        passes += 1;
        if passes > PASSES_MAX {
            drop_growing(&mut solution, ports, scene);
            passes = PASSES_MAX / 2;
        }
    }
    certify(solution, ports, scene)
}

/// What still grows after so many passes has no bound.
fn drop_growing(solution: &mut Solution, ports: &Ports<'_>, scene: &Scene) {
    let before = solution.delays.clone();
    solution.pass(ports, scene);
    let pairs = solution.delays.iter_mut().flatten().zip(before.iter().flatten());
    for ((_, now), (_, then)) in pairs {
        if now != then {
            *now = None;
        }
    }
}

/// An inflated limit that satisfies x ≥ F(x), brought down as far as that stays true.
fn certify(limit: Solution, ports: &Ports<'_>, scene: &Scene) -> Solution {
    for share in INFLATIONS {
        let mut candidate = limit.inflated(share);
        let mut image = candidate.image(ports, scene);
        if !candidate.covers(&image) {
            continue;
        }
        for _ in 0..REFINEMENTS {
            let next = image.image(ports, scene);
            candidate = std::mem::replace(&mut image, next);
            if candidate.delays == image.delays {
                break;
            }
        }
        candidate.gather_all(ports, scene);
        return candidate;
    }
    let mut none = limit;
    none.give_up();
    none
}

/// Delays at the sources' own ports only: they depend on nothing upstream.
pub(crate) fn solve_sources(ports: &Ports<'_>, scene: &Scene) -> Solution {
    let mut solution = Solution::start(ports, scene);
    let is_source =
        |&&server: &&usize| ports.topology.nodes[ports.topology.servers[server].node].is_host();
    for &server in ports.mesh.order.iter().filter(is_source) {
        solution.update(ports, scene, server);
    }
    solution
}
