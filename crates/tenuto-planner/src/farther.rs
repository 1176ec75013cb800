//! Lines farther back: which flows of a group came over which slower line before (theory, "Lines
//! farther back").

use crate::mesh::{Group, Visit};
use crate::port::{Arriving, Ports};
use crate::scene::Scene;
use crate::topology::Topology;
use std::collections::BTreeMap;
use tenuto_calculus::{Bucket, GroupCurves, SteppedGroup};
use tenuto_units::Picos;

/// Slower lines that count on one way, the nearest: there are not as many kinds of Ethernet.
const DEEP_MAX: usize = 8;
/// Sets of all visits at all ports; a network of more is planned without.
const MEMBERS_MAX: usize = 2_000_000;

/// Flows of a group with the same way from a line on that is slower than every line nearer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FartherSet {
    /// The line, an egress.
    pub(crate) line: usize,
    /// Ports on the way from the node behind it to this one.
    pub(crate) ports: usize,
    /// The set next around it, by its place, in front of this one; `None` for the group.
    around: Option<usize>,
}

/// The sets of one group: routes alone make them. Nothing where no slower line lies behind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Farther {
    pub(crate) sets: Vec<FartherSet>,
    /// Per visit of the group: the innermost set that it is in; empty without sets.
    innermost: Vec<Option<usize>>,
}

impl Farther {
    /// The sets of some visits of one port that all came over a line of `rate_bps`.
    pub(crate) fn new(
        topology: &Topology<'_>,
        visits: &[Visit],
        group: &[usize],
        rate_bps: u64,
    ) -> Self {
        let rate = |visit: usize| topology.servers[visits[visit].server].rate_bps;
        let back =
            |visit: &usize| std::iter::successors(visits[*visit].parent, |&v| visits[v].parent);
        let mut farther = Self::default();
        if !group.iter().flat_map(back).any(|behind| rate(behind) < rate_bps) {
            return farther;
        }
        // Ways are told apart by their lines from here back: each has a number.
        let mut ways: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut places: BTreeMap<usize, usize> = BTreeMap::new();
        for visit in group {
            let (mut way, mut innermost, mut slowest, mut deep) = (0, None, rate_bps, 0);
            for (ports, behind) in back(visit).enumerate() {
                let line = visits[behind].server;
                let next = ways.len() + 1;
                way = *ways.entry((way, line)).or_insert(next);
                if rate(behind) >= slowest || deep == DEEP_MAX {
                    continue;
                }
                (slowest, deep) = (rate(behind), deep + 1);
                let set = FartherSet { line, ports, around: innermost };
                innermost = Some(*places.entry(way).or_insert_with(|| {
                    farther.sets.push(set);
                    farther.sets.len() - 1
                }));
            }
            farther.innermost.push(innermost);
        }
        farther
    }

    /// How often any visit is in a set.
    fn members(&self) -> usize {
        (0..self.innermost.len()).map(|place| self.around(place).count()).sum()
    }

    /// The innermost set of a visit of the group, by its place there.
    pub(crate) fn innermost(&self, place: usize) -> Option<usize> {
        self.innermost.get(place).copied().flatten()
    }

    /// The sets that it is in, the innermost first.
    fn around(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.innermost(place), |&set| self.sets[set].around)
    }
}

/// Leaves all groups without sets where there are too many to look at.
pub(crate) fn limit<'g>(groups: impl Iterator<Item = &'g mut Group>) {
    let groups: Vec<&mut Group> = groups.collect();
    if groups.iter().map(|group| group.farther.members()).sum::<usize>() > MEMBERS_MAX {
        groups.into_iter().for_each(|group| group.farther = Farther::default());
    }
}

/// What the flows of a set bring together, as one class sees it.
#[derive(Clone, Copy, Debug)]
struct Gathered {
    frame_ubit: i128,
    /// J; `None` without a bound.
    late: Option<Picos>,
    buckets: Bucket,
    /// Whether whole messages wait for nothing below them.
    has_steps_above: bool,
}

impl Ports<'_> {
    /// Adds the sets of a group that is the last of `groups` so far: those with flows of `class` or
    /// above whose line may hold them back. Returns where each stands, or the set around it.
    pub(crate) fn add_farther<'s>(
        &'s self,
        group: &'s Group,
        (scene, arriving): (&Scene, &Arriving),
        class: u8,
        groups: &mut Vec<SteppedGroup>,
        told: &mut Vec<(usize, &'s FartherSet)>,
    ) -> Option<Vec<usize>> {
        let farther = &group.farther;
        if farther.sets.is_empty() || !self.options.line_shaping {
            return Some(Vec::new());
        }
        let root = groups.len() - 1;
        let gathered = self.gathered(group, (scene, arriving), class)?;
        let mut stands: Vec<usize> = Vec::with_capacity(gathered.len());
        for (set, gathered) in farther.sets.iter().zip(&gathered) {
            let around = set.around.map_or(root, |around| stands[around]);
            let line = gathered.and_then(|it| Some((it, self.farther_line(set, &it, arriving)?)));
            let Some((_, line)) = line.filter(|(it, line)| it.may_exceed(*line)) else {
                stands.push(around);
                continue;
            };
            stands.push(groups.len());
            told.push((groups.len(), set));
            let curves =
                GroupCurves { line: Some(line), under: Some(around), ..GroupCurves::default() };
            groups.push(SteppedGroup { curves, steps: Vec::new() });
        }
        Some(stands)
    }

    /// Per set: its flows of `class` and above; `None` where there are none. `None` altogether if one
    /// of them has no bound.
    fn gathered(
        &self,
        group: &Group,
        (scene, arriving): (&Scene, &Arriving),
        class: u8,
    ) -> Option<Vec<Option<Gathered>>> {
        let farther = &group.farther;
        let mut all: Vec<Option<Gathered>> = vec![None; farther.sets.len()];
        for (place, &visit) in group.visits.iter().enumerate() {
            let Some(frame_ubit) = self.frame_ubit(scene, visit) else { continue };
            let first = self.share(scene, visit).class_first();
            if first > class {
                continue;
            }
            let steps = arriving.steps[visit].filter(|_| self.has_staircases());
            for set in farther.around(place) {
                let own = Gathered {
                    frame_ubit,
                    late: self.late_over(visit, farther.sets[set].ports, arriving),
                    buckets: arriving.bursts[visit]?,
                    has_steps_above: first < class && steps.is_some(),
                };
                all[set] = Some(all[set].map_or(own, |others| others.and(own)));
            }
        }
        Some(all)
    }

    /// What a burst grew by over so many hops up to that visit.
    fn late_over(&self, visit: usize, hops: usize, arriving: &Arriving) -> Option<Picos> {
        let mut late = Picos(0);
        let mut at = visit;
        for _ in 0..hops {
            late = Picos(late.0.saturating_add(arriving.growth[at]?.0));
            at = self.mesh.visits[at].parent?;
        }
        Some(late)
    }

    /// Λ of a set; `None` where it has no bound.
    fn farther_line(
        &self,
        set: &FartherSet,
        gathered: &Gathered,
        arriving: &Arriving,
    ) -> Option<Bucket> {
        let behind = self.line(set.line, gathered.frame_ubit, arriving)?;
        Some(behind.grown(gathered.late?))
    }
}

impl Gathered {
    fn and(self, other: Self) -> Self {
        Self {
            frame_ubit: self.frame_ubit.max(other.frame_ubit),
            late: self.late.zip(other.late).map(|(a, b)| a.max(b)),
            buckets: self.buckets.plus(other.buckets),
            has_steps_above: self.has_steps_above || other.has_steps_above,
        }
    }

    /// Whether the flows may ever bring more than the line. Buckets that lie below it do so after
    /// any delay too; of steps above the class that is not so.
    const fn may_exceed(&self, line: Bucket) -> bool {
        self.has_steps_above
            || self.buckets.burst_ubit > line.burst_ubit
            || self.buckets.rate_ubps > line.rate_ubps
    }
}
