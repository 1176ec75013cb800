//! A live run whose modes a controller changes: what its nodes tell, put together by change.

use std::collections::BTreeMap;
use tenuto_units::Instant;
use tenuto_world::clockwork::ControlledChange;
use tenuto_world::{ControlStep, Observation};

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlledRun {
    /// Changes that came to their end, in order of time.
    pub changes: Vec<ControlledChange>,
    /// Changes that a switch or the controller never finished, or whose cause was not told.
    pub unfinished: usize,
    /// Times at which a node was served later than this machine's allowance.
    pub stalls: usize,
    /// The user ended it early, in order.
    pub interrupted: bool,
}

/// What the nodes have told so far, in any order.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlledBooks {
    steps: Vec<(u64, String, ControlStep)>,
    excesses_ns: Vec<u64>,
    stalls: usize,
}

impl ControlledBooks {
    pub(crate) fn observe(&mut self, observation: &Observation) {
        match observation {
            Observation::ByController { node, step, at_ns } => {
                self.steps.push((*at_ns, node.clone(), *step));
            }
            Observation::Violation { at_ns, .. } => self.excesses_ns.push(*at_ns),
            Observation::Stall { .. } => self.stalls += 1,
            _ => {}
        }
    }

    /// The changes of a network of so many switches.
    pub(crate) fn close(mut self, switches: usize) -> ControlledRun {
        self.steps.sort_by_key(|(at_ns, ..)| *at_ns);
        self.excesses_ns.sort_unstable();
        let mut run = ControlledRun { stalls: self.stalls, ..ControlledRun::default() };
        let (mut rest_ns, mut course) = (0, None::<Course>);
        for (at_ns, node, step) in self.steps {
            match (step, &mut course) {
                (ControlStep::Raising, _) => {
                    // Of several messages in excess the first is what the change is for.
                    let began = self.excesses_ns.iter().find(|&&at| at >= rest_ns && at <= at_ns);
                    course = Some(Course { began_ns: began.copied(), ..Course::default() });
                }
                (ControlStep::Lowering, _) => match course.take().and_then(|it| it.end(switches)) {
                    Some(change) => run.changes.push(change),
                    None => run.unfinished += 1,
                },
                (ControlStep::Lowered, _) => rest_ns = at_ns,
                (ControlStep::Raised, Some(course)) => course.confirmed_ns = Some(at_ns),
                (ControlStep::CarriedOut { out_of_mode }, Some(course)) => {
                    course.carried_out(node, at_ns, out_of_mode);
                }
                (ControlStep::Drained, Some(course)) => course.drained(&node, at_ns),
                // Of the way back, or of the beginning.
                _ => {}
            }
        }
        run.unfinished += usize::from(course.is_some());
        run
    }
}

/// A change on its way.
#[derive(Clone, Debug, Default)]
struct Course {
    began_ns: Option<u64>,
    confirmed_ns: Option<u64>,
    out_of_mode: u64,
    /// Per switch: when it had carried out the barrier, and when it was rid of what it had queued.
    switches: BTreeMap<String, (u64, Option<u64>)>,
}

impl Course {
    fn carried_out(&mut self, switch: String, at_ns: u64, out_of_mode: u64) {
        self.out_of_mode += out_of_mode;
        self.switches.insert(switch, (at_ns, (out_of_mode == 0).then_some(at_ns)));
    }

    fn drained(&mut self, switch: &str, at_ns: u64) {
        if let Some((_, drained)) = self.switches.get_mut(switch) {
            *drained = drained.or(Some(at_ns));
        }
    }

    fn end(self, switches: usize) -> Option<ControlledChange> {
        let began = Instant::from_ns(self.began_ns?);
        if self.switches.len() < switches {
            return None;
        }
        let since = |at_ns: u64| Instant::from_ns(at_ns).since(began);
        let ends = |(at_ns, drained): &(u64, Option<u64>)| Some((*at_ns, (*drained)?));
        let ends: Option<Vec<(u64, u64)>> = self.switches.values().map(ends).collect();
        let ends = ends?;
        let latest = |of: fn(&(u64, u64)) -> u64| ends.iter().map(of).max().map(since);
        Some(ControlledChange {
            in_effect: latest(|it| it.0)?,
            confirmed: since(self.confirmed_ns?),
            drained: latest(|it| it.1.max(it.0))?,
            out_of_mode: self.out_of_mode,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_units::Span;

    const MS: u64 = 1_000_000;

    fn step(node: &str, step: ControlStep, at_ms: u64) -> Observation {
        Observation::ByController { node: node.into(), step, at_ns: at_ms * MS }
    }

    fn excess(at_ms: u64) -> Observation {
        Observation::Violation { switch: "w1".into(), monitor: 1, wanted: 1, at_ns: at_ms * MS }
    }

    fn closed(told: &[Observation]) -> ControlledRun {
        let mut books = ControlledBooks::default();
        told.iter().for_each(|it| books.observe(it));
        books.close(2)
    }

    /// Two switches, one of which has frames queued that leave later; told in no order.
    fn one_change() -> Vec<Observation> {
        vec![
            step("w2", ControlStep::CarriedOut { out_of_mode: 3 }, 14),
            step("w2", ControlStep::Drained, 19),
            excess(11),
            excess(10),
            step("c1", ControlStep::Raising, 12),
            step("w1", ControlStep::CarriedOut { out_of_mode: 0 }, 13),
            step("c1", ControlStep::Raised, 15),
            step("c1", ControlStep::Lowering, 65),
            step("w1", ControlStep::CarriedOut { out_of_mode: 0 }, 66),
            step("w2", ControlStep::CarriedOut { out_of_mode: 0 }, 66),
            step("c1", ControlStep::Lowered, 67),
        ]
    }

    #[test]
    fn a_change_runs_from_the_first_excess_to_the_last_switch() {
        let run = closed(&one_change());
        let ms = Span::from_ms;
        let change =
            ControlledChange { in_effect: ms(4), confirmed: ms(5), drained: ms(9), out_of_mode: 3 };
        assert_eq!(run, ControlledRun { changes: vec![change], ..ControlledRun::default() });
    }

    #[test]
    fn what_is_missing_is_told() {
        let without = |gone: &Observation| -> Vec<Observation> {
            one_change().into_iter().filter(|it| it != gone).collect()
        };
        let needed = [
            step("w2", ControlStep::CarriedOut { out_of_mode: 3 }, 14),
            step("w2", ControlStep::Drained, 19),
            step("c1", ControlStep::Raised, 15),
        ];
        for gone in needed {
            let run = closed(&without(&gone));
            assert_eq!((run.changes.len(), run.unfinished), (0, 1), "without {gone:?}");
        }
        let mut cut_short = one_change();
        cut_short.truncate(7);
        assert_eq!(closed(&cut_short).unfinished, 1);
        // An excess of before the way back is none of the next change.
        let mut again = one_change();
        again.push(step("c1", ControlStep::Raising, 80));
        again.push(step("c1", ControlStep::Lowering, 90));
        assert_eq!((closed(&again).changes.len(), closed(&again).unfinished), (1, 1));
    }
}
