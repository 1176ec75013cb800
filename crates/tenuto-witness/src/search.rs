//! Hill climbing: small changes of a schedule that are kept while what the row shows does not fall.

use crate::aim::{Aim, MEETING_MAX, draw_swaps};
use crate::layout::Layout;
use crate::play::Player;
use crate::schedule::{Release, Schedule, WHOLE};
use tenuto_units::Draws;

/// Climbs from a schedule by so many changes; tells `look` of every schedule that was played.
pub fn climb(
    (layout, aim): (&Layout, &Aim),
    player: &mut Player<'_>,
    start: (Schedule, u64),
    changes: usize,
    draws: &mut Draws,
    look: &mut dyn FnMut(&Schedule, &Player<'_>),
) -> (Schedule, u64) {
    let (mut best, mut seen) = start;
    for _ in 0..changes {
        let mut changed = best.clone();
        for _ in 0..=draws.below(3) {
            change(layout, aim, player, &mut changed, draws);
        }
        aim.tame(layout, player, &mut changed);
        look(&changed, player);
        let now = player.outcome().seen.get(aim.row).unwrap_or(0);
        if now >= seen {
            (best, seen) = (changed, now);
        }
    }
    (best, seen)
}

fn change(
    layout: &Layout,
    aim: &Aim,
    player: &mut Player<'_>,
    schedule: &mut Schedule,
    draws: &mut Draws,
) {
    match draws.below(14) {
        0 | 1 => move_one(aim, schedule, draws),
        2 => move_flow(aim, schedule, draws),
        3 => move_host(layout, aim, schedule, draws),
        4 => resize(layout, aim, schedule, draws),
        5 => change_latency(layout, aim, schedule, draws),
        6 => {
            let flow = aim.flows[draws.index(aim.flows.len())];
            schedule.orders[flow] = draws.one_of(&[10, 20, 60, 100, 150, 200, 250]);
        }
        7 if aim.has_raise => draw_swaps(&mut schedule.swaps, draws),
        7 | 8 => align_flow(layout, aim, player, schedule, draws),
        9 => add_or_remove(layout, schedule, draws),
        10 => align_host(layout, aim, player, schedule, draws),
        11 | 12 => bunch(layout, schedule, draws),
        _ => follow_closely(schedule, draws),
    }
}

/// A distance from a nanosecond to the window of the row, each order of magnitude as likely, either way.
fn distance(window_ns: u64, draws: &mut Draws) -> i64 {
    let bits = 64 - window_ns.leading_zeros();
    let most = 1_u64 << draws.below(u64::from(bits) + 1);
    let ns = i64::try_from(1 + draws.below(most)).unwrap_or(1);
    if draws.below(2) == 0 { ns } else { -ns }
}

fn move_one(aim: &Aim, schedule: &mut Schedule, draws: &mut Draws) {
    let place = draws.index(schedule.releases.len());
    let by_ns = distance(aim.window_ns, draws);
    if let Some(release) = schedule.releases.get_mut(place) {
        release.at_ns = release.at_ns.saturating_add_signed(by_ns);
    }
}

fn move_flow(aim: &Aim, schedule: &mut Schedule, draws: &mut Draws) {
    let flow = aim.flows[draws.index(aim.flows.len())];
    let by_ns = distance(aim.window_ns, draws);
    for release in schedule.releases.iter_mut().filter(|it| it.flow == flow) {
        release.at_ns = release.at_ns.saturating_add_signed(by_ns);
    }
}

fn move_host(layout: &Layout, aim: &Aim, schedule: &mut Schedule, draws: &mut Draws) {
    let host = layout.flows[aim.flows[draws.index(aim.flows.len())]].host;
    let by_ns = distance(aim.window_ns, draws);
    for release in schedule.releases.iter_mut().filter(|it| layout.flows[it.flow].host == host) {
        release.at_ns = release.at_ns.saturating_add_signed(by_ns);
    }
}

fn resize(layout: &Layout, aim: &Aim, schedule: &mut Schedule, draws: &mut Draws) {
    let place = draws.index(schedule.releases.len());
    let Some(release) = schedule.releases.get_mut(place) else { return };
    let flow = &layout.flows[release.flow];
    let most = flow.highest().size.bytes();
    release.bytes = match (release.babbled, draws.below(7)) {
        (Some(_), _) => draws.one_of(&[64, 65, 128, 512, 1_518]),
        (None, 0) => 1,
        (None, 1) => most,
        (None, 3) => release.bytes + u32::try_from(draws.below(64)).unwrap_or(0),
        (None, 4) => {
            release.bytes.saturating_sub(u32::try_from(draws.below(64)).unwrap_or(0)).max(1)
        }
        (None, 2) => 1 + u32::try_from(draws.below(most.into())).unwrap_or(0),
        (None, _) => flow.contract(aim.start_level).size.bytes(),
    };
}

fn change_latency(layout: &Layout, aim: &Aim, schedule: &mut Schedule, draws: &mut Draws) {
    let part = draws.one_of(&[0, WHOLE, WHOLE, WHOLE / 2]);
    if aim.is_replayed || draws.below(3) > 0 {
        let place = draws.index(schedule.latencies.len());
        if let Some(latency) = schedule.latencies.get_mut(place) {
            *latency = part;
        }
        return;
    }
    let place = draws.index(schedule.releases.len());
    if let Some(release) = schedule.releases.get_mut(place) {
        release.latency = if layout.switches.is_empty() { None } else { Some(part) };
    }
}

fn align_flow(
    layout: &Layout,
    aim: &Aim,
    player: &mut Player<'_>,
    schedule: &mut Schedule,
    draws: &mut Draws,
) {
    let flow = aim.flows[draws.index(aim.flows.len())];
    schedule.settle(layout);
    player.play(schedule);
    let Some(by_ns) =
        aim.shift_of(layout, player, schedule, (flow, draws.index(MEETING_MAX)), draws)
    else {
        return;
    };
    for release in schedule.releases.iter_mut().filter(|it| it.flow == flow) {
        release.at_ns = release.at_ns.saturating_add_signed(by_ns);
    }
}

fn add_or_remove(layout: &Layout, schedule: &mut Schedule, draws: &mut Draws) {
    let place = draws.index(schedule.releases.len());
    let Some(&release) = schedule.releases.get(place) else { return };
    if draws.below(2) == 0 {
        let own = schedule.releases.iter().filter(|it| it.flow == release.flow).count();
        if own > 1 {
            schedule.releases.remove(place);
        }
        return;
    }
    let contract = layout.flows[release.flow].highest();
    let at_ns = match draws.below(2) {
        0 => release.at_ns.saturating_sub(contract.period_ns),
        _ => release.at_ns + contract.period_ns.saturating_sub(contract.jitter_ns),
    };
    schedule.releases.push(Release { at_ns, ..release });
}

/// Moves all that a host sends so that one flow of it meets the victim.
fn align_host(
    layout: &Layout,
    aim: &Aim,
    player: &mut Player<'_>,
    schedule: &mut Schedule,
    draws: &mut Draws,
) {
    let flow = aim.flows[draws.index(aim.flows.len())];
    let host = layout.flows[flow].host;
    schedule.settle(layout);
    player.play(schedule);
    let Some(by_ns) =
        aim.shift_of(layout, player, schedule, (flow, draws.index(MEETING_MAX)), draws)
    else {
        return;
    };
    let is_of = |it: &&mut Release| layout.flows[it.flow].host == host && it.flow != aim.victim;
    for release in schedule.releases.iter_mut().filter(is_of) {
        release.at_ns = release.at_ns.saturating_add_signed(by_ns);
    }
}

/// Releases a message of another flow of the same host together with one, ahead of it.
fn bunch(layout: &Layout, schedule: &mut Schedule, draws: &mut Draws) {
    let place = draws.index(schedule.releases.len());
    let Some(&release) = schedule.releases.get(place) else { return };
    let host = layout.flows[release.flow].host;
    let is_other = |it: &usize| {
        let flow = schedule.releases[*it].flow;
        flow != release.flow && layout.flows[flow].host == host
    };
    let others: Vec<usize> = (0..schedule.releases.len()).filter(is_other).collect();
    let Some(&other) = others.get(draws.index(others.len())) else { return };
    schedule.releases[other].at_ns = release.at_ns;
    let flow = schedule.releases[other].flow;
    schedule.orders[flow] = schedule.orders[release.flow].saturating_sub(1);
}

/// Releases a message right behind the one before of its flow: as soon as is legal and not noticed.
fn follow_closely(schedule: &mut Schedule, draws: &mut Draws) {
    let place = draws.index(schedule.releases.len());
    let Some(&release) = schedule.releases.get(place) else { return };
    let mut own = schedule.releases.iter().filter(|it| it.flow == release.flow);
    if let Some(before) = own.rfind(|it| it.at_ns < release.at_ns) {
        schedule.releases[place].at_ns = before.at_ns + 1;
    }
}
