//! The curves of lines farther back (theory, "Lines farther back").

use super::mode_input::ModeInput;
use super::port::{Arriving, Ports};
use super::port_graph::Group;
use super::upstream::UpstreamSet;
use tenuto_calculus::{Bucket, GroupCurves, SteppedGroup};
use tenuto_units::Picos;

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
    pub(crate) fn add_upstream<'s>(
        &'s self,
        group: &'s Group,
        (mode_input, arriving): (&ModeInput, &Arriving),
        class: u8,
        groups: &mut Vec<SteppedGroup>,
        told: &mut Vec<(usize, &'s UpstreamSet)>,
    ) -> Option<Vec<usize>> {
        let upstream = &group.upstream;
        if upstream.sets.is_empty() || !self.options.line_shaping {
            return Some(Vec::new());
        }
        let root = groups.len() - 1;
        let gathered = self.gathered(group, (mode_input, arriving), class)?;
        let mut stands: Vec<usize> = Vec::with_capacity(gathered.len());
        for (set, gathered) in upstream.sets.iter().zip(&gathered) {
            let around = set.around.map_or(root, |around| stands[around]);
            let line = gathered.and_then(|it| Some((it, self.upstream_line(set, &it, arriving)?)));
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
        (mode_input, arriving): (&ModeInput, &Arriving),
        class: u8,
    ) -> Option<Vec<Option<Gathered>>> {
        let upstream = &group.upstream;
        let mut all: Vec<Option<Gathered>> = vec![None; upstream.sets.len()];
        for (place, &visit) in group.visits.iter().enumerate() {
            let Some(frame_ubit) = self.frame_ubit(mode_input, visit) else { continue };
            let first = self.share(mode_input, visit).class_first();
            if first > class {
                continue;
            }
            let steps = arriving.steps[visit].filter(|_| self.has_staircases());
            for set in upstream.around(place) {
                let own = Gathered {
                    frame_ubit,
                    late: self.late_over(visit, upstream.sets[set].ports, arriving),
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
            at = self.port_graph.visits[at].parent?;
        }
        Some(late)
    }

    /// Λ of a set; `None` where it has no bound.
    fn upstream_line(
        &self,
        set: &UpstreamSet,
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
