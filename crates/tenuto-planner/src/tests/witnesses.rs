//! What a plan states so that its checker need not search: too little is refused, more is slack or asks
//! for more elsewhere.

use super::builder::{findings, quick, vehicle};
use crate::{Curves, Options, plan};
use tenuto_model::{Plan, Transition};

fn with(plan: &Plan, change: impl Fn(&mut Plan)) -> Vec<String> {
    let mut changed = plan.clone();
    change(&mut changed);
    changed.seal();
    findings(&changed)
}

/// Every busy period lowered is refused by name.
fn no_busy_period_is_shorter(plan: &Plan) {
    assert_eq!(findings(plan), Vec::<String>::new());
    let known = plan.witnesses.busy.len();
    assert!(known > 0);
    for at in (0..known).filter(|at| plan.witnesses.busy[*at].busy_ps > 0) {
        let found = with(plan, |plan| plan.witnesses.busy[at].busy_ps /= 2);
        let claim = &plan.witnesses.busy[at];
        assert!(found.iter().any(|it| it.starts_with("busy period")), "{claim:?}: {found:?}");
    }
}

#[test]
fn busy_periods_are_put_in() {
    let planned = plan(&vehicle(45, 2, 1), &quick());
    no_busy_period_is_shorter(&planned);
    let is_steady = |mode: Transition| matches!(mode, Transition::Steady(_));
    // What ends in a raise is in the way for longer after longer busy periods.
    let longer = with(&planned, |plan| {
        let busy = plan.witnesses.busy.iter_mut().filter(|busy| is_steady(busy.mode));
        busy.for_each(|busy| busy.busy_ps *= 100);
    });
    assert!(longer.iter().any(|it| it.starts_with("delay of a class")), "{longer:?}");
    assert!(!with(&planned, |plan| plan.witnesses.busy.clear()).is_empty());
}

#[test]
fn busy_periods_end_what_is_asked_of_whole_messages() {
    let options = Options { curves: Curves::Staircases, ..quick() };
    no_busy_period_is_shorter(&plan(&vehicle(45, 2, 1), &options));
}

#[test]
fn ends_of_ports_are_put_in() {
    let planned = plan(&vehicle(45, 2, 1), &quick());
    for change in 0..planned.mode_changes.len() {
        let ended = planned.mode_changes[change].ended.len();
        assert!(ended > 0, "no circle");
        for at in 0..ended {
            let sooner = with(&planned, |plan| {
                plan.mode_changes[change].ended[at].after_ps /= 2;
            });
            assert!(sooner.iter().any(|it| it.contains("over by a time")), "{sooner:?}");
            let gone = with(&planned, |plan| drop(plan.mode_changes[change].ended.remove(at)));
            assert!(!gone.is_empty());
        }
        // The change is over when its last port is.
        let later = with(&planned, |plan| {
            plan.mode_changes[change].ended.iter_mut().for_each(|it| it.after_ps *= 2);
        });
        assert!(later.iter().any(|it| it.contains("after")), "{later:?}");
    }
}
