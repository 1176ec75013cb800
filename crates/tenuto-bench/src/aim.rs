//! Schedules constructed against one row: whatever can delay the victim meets it where their ways join.
//!
//! - Interferers are released so that a message of theirs is queued together with the victim, at the hop where
//!   their ways join; messages before and behind it come as close as contracts and monitors allow.
//! - A host's other flows may be sent just before, so that a large message waits and the next, small one comes
//!   close behind it.
//! - Hosts may turn to a higher contract; what a monitor would notice is put off until the monitor bears with it,
//!   unless the row is one of a raise.

use crate::layout::{FlowLayout, Layout};
use crate::play::Player;
use crate::rows::{Row, Subject};
use crate::schedule::{Release, Schedule, WHOLE};
use tenuto_model::Transition;
use tenuto_units::Draws;

/// When the victim is released, ns: long enough after the start for guide times and buckets.
pub const BASE_NS: u64 = 20_000_000_000;
/// Messages of one flow in an aimed schedule.
const MESSAGES_MAX: u64 = 12;
/// Frames of one flow in an aimed schedule.
const FRAMES_MAX: u64 = 3_000;
/// Times that interferers are aligned again with where the victim was seen.
const ROUNDS: usize = 4;
/// Messages of a flow, from its first on, that may be the one to meet the victim.
pub(crate) const MEETING_MAX: usize = 3;
/// Violations that are put off before a schedule is played as it is.
const TAMED_MAX: usize = 12;

/// A row under attack.
#[derive(Clone, Debug)]
pub struct Aim {
    /// The row.
    pub row: Row,
    /// The flow whose message is to be delayed, or to meet the others at the port.
    pub victim: usize,
    /// Its hops that count.
    pub path: Vec<usize>,
    /// The mode at the start.
    pub start_level: u8,
    /// Violations before this are put off, ns.
    pub tame_until_ns: u64,
    /// How far messages around the victim matter, ns.
    pub window_ns: u64,
    /// Largest ratio of window that a flow's messages fill.
    pub(crate) has_raise: bool,
}

impl Aim {
    /// What there is to attack of a row; `None` if no flow has to do with it.
    pub fn new(layout: &Layout, row: Row, draws: &mut Draws) -> Option<Self> {
        let (start_level, has_raise) = match layout.transitions[row.transition] {
            Transition::Steady(level) => (level, false),
            Transition::Raise { from, .. } => (from, true),
            Transition::Return { .. } => return None,
        };
        let (victim, path) = match row.subject {
            Subject::Delay(leaf) => (layout.leaves[leaf].flow, layout.leaves[leaf].path.clone()),
            Subject::Backlog(port) => {
                let at_port = |it: &usize| layout.hops[*it].port == port;
                let hops: Vec<usize> = (0..layout.hops.len()).filter(at_port).collect();
                let hop = *hops.get(draws.index(hops.len()))?;
                (layout.hops[hop].flow, vec![hop])
            }
        };
        let window_ns = match row.subject {
            Subject::Delay(_) => layout.bounds.get(row)? / 1_000,
            Subject::Backlog(port) => layout.ports[port].time_ns(layout.bounds.get(row)?),
        };
        let mut aim = Self {
            row,
            victim,
            path,
            start_level,
            tame_until_ns: u64::MAX,
            window_ns: window_ns.max(1_000),
            has_raise,
        };
        if has_raise {
            aim.tame_until_ns =
                BASE_NS - window_ns.min(BASE_NS / 2) + draws.below(2 * window_ns + 1);
        }
        Some(aim)
    }

    /// A schedule constructed against the row, as it was best after some rounds of alignment.
    pub fn construct(
        &self,
        layout: &Layout,
        player: &mut Player<'_>,
        draws: &mut Draws,
    ) -> (Schedule, u64) {
        let mut schedule = self.draft(layout, draws);
        let mut best = (schedule.clone(), 0);
        for round in 0..ROUNDS {
            self.tame(layout, player, &mut schedule);
            let seen = player.outcome().seen.get(self.row).unwrap_or(0);
            if seen > best.1 || round == 0 {
                best = (schedule.clone(), seen);
            }
            if round + 1 < ROUNDS {
                self.align(layout, player, &mut schedule, draws);
            }
        }
        best
    }

    /// The victim at [`BASE_NS`], and every other flow near it.
    fn draft(&self, layout: &Layout, draws: &mut Draws) -> Schedule {
        let mut schedule = Schedule::empty(layout);
        schedule.start_level = self.start_level;
        // What breaks an analysis often needs every host to do the same: drawn apart they hardly ever do.
        let common = (draws.below(2) == 0).then(|| Style::draw(draws));
        let victim_order = draws.one_of(&[200, 200, 200, 40]);
        for (index, flow) in layout.flows.iter().enumerate() {
            schedule.orders[index] =
                if index == self.victim { victim_order } else { draws.one_of(&[20, 60, 100]) };
            if index == self.victim {
                let size = flow.contract(self.start_level).size.bytes();
                let bytes = if draws.below(5) == 0 { 1 } else { size };
                schedule.releases.push(Release::message(BASE_NS, index, bytes));
            } else if let Some(style) = common {
                self.draft_flow(layout, index, style, &mut schedule, draws);
            } else if draws.below(20) > 0 {
                let style = Style::draw(draws);
                self.draft_flow(layout, index, style, &mut schedule, draws);
            }
        }
        let latency = draws.one_of(&[0, WHOLE, WHOLE]);
        schedule.latencies.fill(latency);
        if draws.below(3) == 0 {
            for part in &mut schedule.latencies {
                *part = draws.one_of(&[0, WHOLE]);
            }
        }
        draw_swaps(&mut schedule.swaps, draws);
        schedule
    }

    fn draft_flow(
        &self,
        layout: &Layout,
        index: usize,
        style: Style,
        schedule: &mut Schedule,
        draws: &mut Draws,
    ) {
        let flow = &layout.flows[index];
        let spacing = Spacing::of(layout, flow, self.start_level, style.is_eager);
        let frames = u64::from(flow.highest().size.frames(false).frames);
        let most = MESSAGES_MAX.min(FRAMES_MAX / frames).max(1);
        let behind = (self.window_ns / spacing.later_ns.max(1)).min(most - 1) + 1;
        let meeting = style.meeting.min(behind);
        let count = (behind + meeting).min(most);
        let mut at_ns = BASE_NS - spacing.first_ns.saturating_mul(meeting).min(BASE_NS / 2);
        for number in 0..count {
            let level = if draws.below(4) == 0 { flow.level } else { self.start_level };
            let size = flow.contract(level).size.bytes();
            let bytes = match (style.sizes, number) {
                (0, 1..) => 1,
                (1, 1..) => 1 + u32::try_from(draws.below(size.into())).unwrap_or(0),
                (2, 1..) => flow.contract(0).size.bytes(),
                _ => size,
            };
            schedule.releases.push(Release::message(at_ns, index, bytes));
            at_ns += if number == 0 { spacing.first_ns } else { spacing.later_ns };
        }
    }

    /// Plays a schedule, and puts off what would raise the mode before it may: a message that comes too early
    /// until the monitor bears with it, one that is too large to the largest of the mode.
    pub fn tame(&self, layout: &Layout, player: &mut Player<'_>, schedule: &mut Schedule) {
        schedule.settle(layout);
        for _ in 0..TAMED_MAX {
            player.play(schedule);
            let violation = player.outcome().violation;
            let Some(violation) = violation.filter(|it| it.at_ns < self.tame_until_ns) else {
                return;
            };
            let release = schedule.releases[violation.release];
            let size = layout.flows[release.flow].contract(self.start_level).size.bytes();
            match release.babbled {
                Some(message) => {
                    put_off(schedule, release.flow, message, violation.early_ns, violation.release);
                }
                None if violation.early_ns > 0 => {
                    schedule.releases[violation.release].at_ns += violation.early_ns;
                }
                None if release.bytes > size => schedule.releases[violation.release].bytes = size,
                None => return,
            }
            schedule.settle(layout);
        }
        player.play(schedule);
    }

    /// Moves every interferer so that one message of it is queued when the victim is, where their ways join.
    fn align(
        &self,
        layout: &Layout,
        player: &Player<'_>,
        schedule: &mut Schedule,
        draws: &mut Draws,
    ) {
        let mut shifts = vec![0; layout.flows.len()];
        let common = (draws.below(2) == 0).then(|| draws.index(MEETING_MAX));
        for (flow, shift) in shifts.iter_mut().enumerate() {
            let place = common.unwrap_or_else(|| draws.index(MEETING_MAX));
            let to = self.shift_of(layout, player, schedule, (flow, place), draws);
            *shift = to.unwrap_or(0);
        }
        self.carry_companions(layout, schedule, &mut shifts, draws);
        for release in &mut schedule.releases {
            release.at_ns = release.at_ns.saturating_add_signed(shifts[release.flow]);
        }
    }

    /// How far a flow has to be moved so that its message of that place (the last, if it has fewer) meets the
    /// victim, ns.
    pub(crate) fn shift_of(
        &self,
        layout: &Layout,
        player: &Player<'_>,
        schedule: &Schedule,
        (flow, place): (usize, usize),
        draws: &mut Draws,
    ) -> Option<i64> {
        if flow == self.victim {
            return None;
        }
        let victim = schedule.releases.iter().position(|it| it.flow == self.victim)?;
        let own: Vec<usize> =
            (0..schedule.releases.len()).filter(|&it| schedule.releases[it].flow == flow).collect();
        let joins = self.joins(layout, flow);
        let (hop, victim_hop) = *joins.get(draws.index(joins.len()))?;
        let met_ns = player.queued_ns(schedule, victim, victim_hop)?;
        let release = *own.get(place.min(own.len().saturating_sub(1)))?;
        let own_ns = player.queued_ns(schedule, release, hop)?;
        let wish_ns = i64::try_from(met_ns).ok()? - i64::try_from(own_ns).ok()?;
        // The victim is queued behind it; lower classes have just begun.
        let is_lower = layout.flows[flow].class > layout.flows[self.victim].class;
        Some(wish_ns - i64::from(is_lower))
    }

    /// Where the way of a flow meets the victim's: its hop there, and the victim's.
    fn joins(&self, layout: &Layout, flow: usize) -> Vec<(usize, usize)> {
        let meets = |hop: usize| {
            let port = layout.hops[hop].port;
            self.path.iter().copied().find(|&it| layout.hops[it].port == port)
        };
        let joins: Vec<(usize, usize)> =
            layout.flows[flow].hops.clone().filter_map(|hop| Some((hop, meets(hop)?))).collect();
        // Behind the first they share the way.
        let comes_shared = |&(hop, _): &(usize, usize)| {
            joins.iter().any(|&(before, _)| layout.hops[before].next.contains(&hop))
        };
        let first: Vec<(usize, usize)> =
            joins.iter().copied().filter(|it| !comes_shared(it)).collect();
        if first.is_empty() { joins } else { first }
    }

    /// Flows that do not meet the victim go along with one of their host's that does, just ahead of it.
    fn carry_companions(
        &self,
        layout: &Layout,
        schedule: &mut Schedule,
        shifts: &mut [i64],
        draws: &mut Draws,
    ) {
        for flow in 0..layout.flows.len() {
            if flow == self.victim || !self.joins(layout, flow).is_empty() {
                continue;
            }
            let host = layout.flows[flow].host;
            let meets = |it: &usize| {
                *it != flow && layout.flows[*it].host == host && !self.joins(layout, *it).is_empty()
            };
            let partners: Vec<usize> = (0..layout.flows.len()).filter(meets).collect();
            let Some(&partner) = partners.get(draws.index(partners.len())) else { continue };
            let first = |flow: usize| schedule.releases.iter().find(|it| it.flow == flow);
            if let (Some(own), Some(other)) = (first(flow), first(partner)) {
                let shifted_ns = other.at_ns.saturating_add_signed(shifts[partner]);
                shifts[flow] = shifted_ns.cast_signed() - own.at_ns.cast_signed();
                schedule.orders[flow] = 10;
            }
        }
    }
}

/// Puts a babbled message off, or takes the frame out that made it too large.
fn put_off(schedule: &mut Schedule, flow: usize, message: u32, early_ns: u64, release: usize) {
    if early_ns == 0 {
        schedule.releases.remove(release);
        return;
    }
    let is_of = |it: &&mut Release| it.flow == flow && it.babbled == Some(message);
    for release in schedule.releases.iter_mut().filter(is_of) {
        release.at_ns += early_ns;
    }
}

/// Swaps of all switches: at once, at the last instant, one before all others, or anyhow.
pub(crate) fn draw_swaps(swaps: &mut [u16], draws: &mut Draws) {
    let style = draws.below(4);
    for part in &mut *swaps {
        *part = match style {
            0 => 0,
            1 | 2 => WHOLE,
            _ => u16::try_from(draws.below(u64::from(WHOLE) + 1)).unwrap_or(WHOLE),
        };
    }
    let place = draws.index(swaps.len());
    if let (2, Some(part)) = (style, swaps.get_mut(place)) {
        *part = 0;
    }
}

/// How a flow's messages are drafted.
#[derive(Clone, Copy)]
struct Style {
    /// The second message comes as early as its monitor bears with.
    is_eager: bool,
    /// Messages ahead of the one that meets the victim.
    meeting: u64,
    /// Sizes behind the first: 0 least, 1 any, 2 of the lowest mode, 3 largest.
    sizes: u64,
}

impl Style {
    fn draw(draws: &mut Draws) -> Self {
        Self { is_eager: draws.below(2) == 0, meeting: draws.below(3), sizes: draws.below(4) }
    }
}

/// How close messages of a flow may come.
struct Spacing {
    /// From the first to the second.
    first_ns: u64,
    /// From each to the next behind.
    later_ns: u64,
}

impl Spacing {
    /// In a mode; an `eager` host with a higher contract comes as early as its monitor bears with.
    fn of(layout: &Layout, flow: &FlowLayout, level: u8, eager: bool) -> Self {
        let contract = flow.contract(level);
        let highest = flow.highest();
        let mut first_ns = contract.period_ns.saturating_sub(contract.jitter_ns);
        if let Some(monitor) = flow.watched_by.filter(|_| eager && flow.level > level) {
            let contracts = &layout.monitors[monitor].contracts;
            if let Some(watched) = contracts.iter().find(|it| it.level == level) {
                let borne_ns = watched.period_ns.saturating_sub(watched.jitter_ns);
                first_ns = borne_ns.max(highest.period_ns.saturating_sub(highest.jitter_ns));
            }
        }
        Self { first_ns, later_ns: contract.period_ns.max(1) }
    }
}
