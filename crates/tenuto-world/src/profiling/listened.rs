//! Work of a firmware's own among the delays of echoes (\[Loko\] section 3.1, Fig. 6a).

use super::messages::ps_up;
use super::summary::Summary;
use crate::device::OwnWork;
use tenuto_units::{Instant, Span};

/// Delays farther apart than so many steps belong to different times at work.
const STEPS_APART: u64 = 100;
/// Times at work before a noisy bench is believed that they follow a period.
const TIMES_MIN: usize = 4;
/// Of the times that a period would bring, so many percent have to be seen; of all that were seen, half have to follow it.
const SEEN_PERCENT: u64 = 80;

/// What was found by listening.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Listened {
    /// Work that comes again and again.
    pub(super) own_work: Option<OwnWork>,
    /// Late echoes that follow no period.
    pub(super) stalls: u64,
    /// From one echo to the next, nanoseconds.
    pub(super) echo_step_ns: u64,
    /// When each echo was asked for since the first, and what it took, nanoseconds.
    pub(super) echoes: Vec<(u64, f64)>,
}

/// An echo that took far longer than usual.
#[derive(Clone, Copy, Debug)]
struct Late {
    at: Instant,
    took_ns: f64,
}

/// Judges echoes, asked for every `step`.
///
/// On an exact bench whatever is late found the firmware at work. Elsewhere the machine that measures is late too, at no
/// fixed times: then only what follows a period is the firmware's.
pub(super) fn found_at_work(delays: &[(Instant, f64)], step: Span, is_exact: bool) -> Listened {
    let echo_step_ns = step.as_ns();
    let first = delays.first().map_or(Instant::ZERO, |(at, _)| *at);
    let echoes = delays.iter().map(|(at, took)| (at.since(first).as_ns(), *took)).collect();
    let all: Vec<f64> = delays.iter().map(|(_, it)| *it).collect();
    let Some(summary) = Summary::of(&all) else {
        return Listened { own_work: None, stalls: 0, echo_step_ns, echoes };
    };
    let usual = summary.percentiles_ns[1];
    let late = late_ones(delays, usual + step.as_ns() as f64, step);
    let of_work = if is_exact { Some(late.clone()) } else { periodic(&late, delays, step) };
    let of_work = of_work.unwrap_or_default();
    let periods = of_work.windows(2).map(|pair| pair[1].at.since(pair[0].at));
    let own_work = periods.min().map(|period| {
        let most = of_work.iter().map(|it| it.took_ns).fold(0.0, f64::max);
        OwnWork {
            time_ps: ps_up(most - usual) + step.as_ns() * 1_000,
            period_ps: period.saturating_sub(step).as_ns() * 1_000,
        }
    });
    let stalls = (late.len() - of_work.len()) as u64;
    Listened { own_work, stalls, echo_step_ns, echoes }
}

/// The latest echo of each time at work, dated by the first of it.
fn late_ones(delays: &[(Instant, f64)], above_ns: f64, step: Span) -> Vec<Late> {
    let mut found: Vec<Late> = Vec::new();
    for &(at, took_ns) in delays.iter().filter(|(_, took)| *took > above_ns) {
        match found.last_mut().filter(|last| at.since(last.at) <= step.times(STEPS_APART)) {
            Some(last) => last.took_ns = last.took_ns.max(took_ns),
            None => found.push(Late { at, took_ns }),
        }
    }
    found
}

/// Those that follow a period, if there is one.
fn periodic(late: &[Late], delays: &[(Instant, f64)], step: Span) -> Option<Vec<Late>> {
    let (first, last) = (delays.first()?.0, delays.last()?.0);
    let listened = last.since(first).as_ns();
    let mut best: Vec<Late> = Vec::new();
    for (nth, from) in late.iter().enumerate() {
        for to in &late[nth + 1..] {
            let period = to.at.since(from.at).as_ns();
            let follows = on_grid(late, from.at, period, step);
            let expected = listened / period.max(1);
            let is_regular = follows.len() >= TIMES_MIN
                && follows.len() as u64 * 100 >= expected * SEEN_PERCENT
                && follows.len() * 2 >= late.len();
            if is_regular && follows.len() > best.len() {
                best = follows;
            }
        }
    }
    (!best.is_empty()).then_some(best)
}

/// Those at `from` and whole periods before and behind it, to a step and a two hundredth of the period.
fn on_grid(late: &[Late], from: Instant, period: u64, step: Span) -> Vec<Late> {
    let slack = step.as_ns() + period / 200;
    let is_near = |it: &&Late| {
        let apart = it.at.since(from).as_ns().max(from.since(it.at).as_ns());
        let rest = apart % period.max(1);
        rest.min(period - rest) <= slack
    };
    late.iter().filter(is_near).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::found_at_work;
    use tenuto_units::{Draws, Instant, Span};

    const STEP: Span = Span::from_us(250);

    /// Echoes of 5 s, with a delay at each of these times.
    fn echoes(late_ns: &[(u64, f64)]) -> Vec<(Instant, f64)> {
        let all = (0..20_000_u64).map(|nth| nth * STEP.as_ns());
        let took = |at: u64| {
            let near = late_ns.iter().find(|(when, _)| at.abs_diff(*when) < STEP.as_ns());
            near.map_or(90_000.0, |(_, took)| *took)
        };
        all.map(|at| (Instant::from_ns(at), took(at))).collect()
    }

    #[test]
    fn a_period_among_stalls_of_the_host_is_found_and_stalls_alone_are_none() {
        let draws = &mut Draws::new(7);
        let mut host: Vec<(u64, f64)> =
            (0..6).map(|_| (draws.below(5_000_000_000), 4_000_000.0)).collect();
        let alone = found_at_work(&echoes(&host), STEP, false);
        assert_eq!(alone.own_work, None);
        assert!((4..=6).contains(&alone.stalls), "{}", alone.stalls);
        host.extend((0..9).map(|nth| (200_000_000 + nth * 500_000_000, 2_000_000.0)));
        let both = found_at_work(&echoes(&host), STEP, false);
        let own = both.own_work.expect("every half second");
        assert!(own.period_ps <= 500_000_000_000 && own.period_ps >= 498_000_000_000, "{own:?}");
        assert!(own.time_ps >= 1_910_000_000 && own.time_ps <= 2_300_000_000, "{own:?}");
        assert!(both.stalls <= 6);
    }

    #[test]
    fn no_draw_of_random_stalls_is_called_a_period() {
        for seed in 0..200 {
            let draws = &mut Draws::new(seed);
            let count = 2 + draws.below(30);
            let host: Vec<(u64, f64)> =
                (0..count).map(|_| (draws.below(5_000_000_000), 3_000_000.0)).collect();
            let found = found_at_work(&echoes(&host), STEP, false);
            assert_eq!(found.own_work, None, "seed {seed}: {count} stalls");
        }
    }
}
