//! Schedules constructed against one row: whatever can delay the victim meets it where their ways join.
//!
//! - Interferers are released so that a message of theirs is queued together with the victim, at the hop where
//!   their ways join; messages before and behind it come as close as contracts and monitors allow.
//! - A host's other flows may be sent just before, so that a large message waits and the next, small one comes
//!   close behind it.
//! - Hosts may turn to a higher contract; what a monitor would notice is put off until the monitor bears with it,
//!   unless the row is one of a raise.

use crate::framing::frames_of;
use crate::layout::{FlowLayout, Layout};
use crate::play::Player;
use crate::rows::{Row, Subject};
use crate::schedule::{Release, Schedule, WHOLE};
use crate::scope::Scope;
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
/// Times that a flood is aligned.
const FLOOD_ROUNDS: usize = 3;
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
    /// The row is one of a raise.
    pub(crate) has_raise: bool,
    /// The hops that can matter.
    pub(crate) scope: Scope,
    /// Flows whose releases can matter; the victim is among them.
    pub(crate) flows: Vec<usize>,
    /// By flow: where its way meets the victim's, as its hop there and the victim's.
    joins: Vec<Vec<(usize, usize)>>,
    /// Schedules are replayed in the switch core: switches swap when a signal reaches them, instead of anywhere within
    /// the certified spread, and nothing is chosen that a replay cannot follow.
    pub is_replayed: bool,
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
        let scope = Scope::of(layout, &path);
        let joins =
            |flow: usize| if flow == victim { Vec::new() } else { joins(layout, &path, flow) };
        let mut aim = Self {
            row,
            victim,
            start_level,
            tame_until_ns: u64::MAX,
            window_ns: window_ns.max(1_000),
            has_raise,
            flows: scope.flows().collect(),
            joins: (0..layout.flows.len()).map(joins).collect(),
            scope,
            path,
            is_replayed: false,
        };
        if has_raise {
            aim.tame_until_ns =
                BASE_NS - window_ns.min(BASE_NS / 2) + draws.below(2 * window_ns + 1);
        }
        Some(aim)
    }

    /// A host that can matter, one after the other by a growing number.
    pub(crate) fn host(&self, layout: &Layout, number: usize) -> usize {
        let mut hosts: Vec<usize> = self.flows.iter().map(|&it| layout.flows[it].host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts[number % hosts.len()]
    }

    /// What a player has to be limited to for this row.
    pub fn limit(&self, player: &mut Player<'_>) {
        let awaited = match self.row.subject {
            Subject::Delay(leaf) => Some(leaf),
            Subject::Backlog(_) => None,
        };
        player.limit_to(&self.scope, awaited);
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
        let is_serial = draws.below(3) > 0;
        for round in 0..ROUNDS {
            self.tame(layout, player, &mut schedule);
            let seen = player.outcome().seen.get(self.row).unwrap_or(0);
            if seen > best.1 || round == 0 {
                best = (schedule.clone(), seen);
            }
            if round + 1 < ROUNDS && is_serial {
                self.line_up(layout, player, &mut schedule, draws);
            } else if round + 1 < ROUNDS {
                self.align(layout, player, &mut schedule, draws);
            }
        }
        best
    }

    /// The victim at [`BASE_NS`], and every other flow near it.
    fn draft(&self, layout: &Layout, draws: &mut Draws) -> Schedule {
        let mut schedule = Schedule::empty(layout);
        schedule.start_level = self.start_level;
        schedule.signalled = self.is_replayed;
        // What breaks an analysis often needs every host to do the same: drawn apart they hardly ever do.
        let common = (draws.below(2) == 0).then(|| Style::draw(draws));
        let victim_order = draws.one_of(&[200, 200, 200, 40]);
        for &index in &self.flows {
            let flow = &layout.flows[index];
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
        self.settle(layout, schedule);
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
            self.settle(layout, schedule);
        }
        player.play(schedule);
    }

    fn settle(&self, layout: &Layout, schedule: &mut Schedule) {
        if self.is_replayed {
            schedule.settle_apart(layout);
        } else {
            schedule.settle(layout);
        }
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
        for &flow in &self.flows {
            let place = common.unwrap_or_else(|| draws.index(MEETING_MAX));
            let to = self.shift_of(layout, player, schedule, (flow, place), draws);
            shifts[flow] = to.unwrap_or(0);
        }
        self.carry_companions(layout, schedule, &mut shifts, draws);
        for release in &mut schedule.releases {
            release.at_ns = release.at_ns.saturating_add_signed(shifts[release.flow]);
        }
    }

    /// Lines a flood and everybody else up, as long as the row shows more.
    pub(crate) fn line_up_flood(
        &self,
        layout: &Layout,
        player: &mut Player<'_>,
        start: (Schedule, u64),
        draws: &mut Draws,
    ) -> (Schedule, u64) {
        let mut best = start;
        for _ in 0..FLOOD_ROUNDS {
            let mut next = best.0.clone();
            player.play(&next);
            self.line_up(layout, player, &mut next, draws);
            self.tame(layout, player, &mut next);
            let seen = player.outcome().seen.get(self.row).unwrap_or(0);
            if seen >= best.1 {
                best = (next, seen);
            }
        }
        best
    }

    /// Moves every interferer so that what comes over one line comes back to back, and the last of it just ahead
    /// of the victim: then the victim meets the whole of it. Lower classes begin just before the first of them.
    fn line_up(
        &self,
        layout: &Layout,
        player: &Player<'_>,
        schedule: &mut Schedule,
        draws: &mut Draws,
    ) {
        let Some(victim) = schedule.releases.iter().position(|it| it.flow == self.victim) else {
            return;
        };
        let place = draws.index(MEETING_MAX);
        let mut arrivals = Vec::new();
        for &flow in &self.flows {
            arrivals.extend(self.arrival_of(layout, player, schedule, (flow, place), draws));
        }
        arrivals.sort_by_key(|it| (it.victim_hop, it.line, it.queued_ns));
        let mut shifts = vec![0; layout.flows.len()];
        for group in arrivals.chunk_by(|a, b| a.victim_hop == b.victim_hop) {
            let Some(met_ns) = player.queued_ns(schedule, victim, group[0].victim_hop) else {
                continue;
            };
            self.line_up_at(layout, group, met_ns, &mut shifts);
        }
        self.carry_companions(layout, schedule, &mut shifts, draws);
        for release in &mut schedule.releases {
            release.at_ns = release.at_ns.saturating_add_signed(shifts[release.flow]);
        }
    }

    /// Targets of what joins at one hop of the victim, as shifts.
    fn line_up_at(&self, layout: &Layout, group: &[Arrival], met_ns: u64, shifts: &mut [i64]) {
        let victim_class = layout.flows[self.victim].class;
        let is_lower = |it: &Arrival| layout.flows[it.flow].class > victim_class;
        let mut longest_ns = 0;
        for line in group.chunk_by(|a, b| a.line == b.line) {
            let mut ahead_ns = 0;
            for arrival in line.iter().rev().filter(|it| !is_lower(it)) {
                shifts[arrival.flow] =
                    distance_ns(arrival.queued_ns, met_ns.saturating_sub(ahead_ns));
                // Serialised on its line; what starts at the victim's own source starts at once.
                ahead_ns += if arrival.line == usize::MAX { 0 } else { arrival.on_line_ns };
                longest_ns = longest_ns.max(ahead_ns);
            }
        }
        for arrival in group.iter().filter(|it| is_lower(it)) {
            let at_ns = met_ns.saturating_sub(longest_ns + 1);
            shifts[arrival.flow] = distance_ns(arrival.queued_ns, at_ns);
        }
    }

    /// When and by which line the message of a place comes to where its flow meets the victim.
    fn arrival_of(
        &self,
        layout: &Layout,
        player: &Player<'_>,
        schedule: &Schedule,
        (flow, place): (usize, usize),
        draws: &mut Draws,
    ) -> Option<Arrival> {
        let joins = &self.joins[flow];
        let (hop, victim_hop) = *joins.get(draws.index(joins.len()))?;
        let own = || (0..schedule.releases.len()).filter(|&it| schedule.releases[it].flow == flow);
        let is_flood = schedule.babbler == Some(layout.flows[flow].host);
        let last = own().count().checked_sub(1)?;
        // A flood comes as a whole; what its meter dropped comes nowhere.
        let queued = |release: usize| Some((release, player.queued_ns(schedule, release, hop)?));
        let (release, queued_ns) = match is_flood {
            true => own().filter_map(queued).next_back()?,
            false => queued(own().nth(place.min(last))?)?,
        };
        let line = layout.hops[hop].before.map(|it| layout.hops[it].port);
        let size = layout.flows[flow].highest().size;
        let bits_of = |release: usize| -> u64 {
            frames_of(size, schedule.releases[release].bytes).map(tenuto_units::wire_bits).sum()
        };
        let bits = match is_flood {
            true => own().filter(|&it| it <= release).map(bits_of).sum(),
            false => bits_of(release),
        };
        let on_line_ns = line.map_or(0, |it| layout.ports[it].time_ns(bits));
        Some(Arrival { flow, victim_hop, line: line.unwrap_or(usize::MAX), queued_ns, on_line_ns })
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
        let joins = &self.joins[flow];
        let (hop, victim_hop) = *joins.get(draws.index(joins.len()))?;
        let met_ns = player.queued_ns(schedule, victim, victim_hop)?;
        let release = *own.get(place.min(own.len().saturating_sub(1)))?;
        let own_ns = player.queued_ns(schedule, release, hop)?;
        let wish_ns = i64::try_from(met_ns).ok()? - i64::try_from(own_ns).ok()?;
        // The victim is queued behind it; lower classes have just begun.
        let is_lower = layout.flows[flow].class > layout.flows[self.victim].class;
        Some(wish_ns - i64::from(is_lower))
    }

    /// Flows that do not meet the victim go along with one of their host's that does, just ahead of it.
    fn carry_companions(
        &self,
        layout: &Layout,
        schedule: &mut Schedule,
        shifts: &mut [i64],
        draws: &mut Draws,
    ) {
        for &flow in &self.flows {
            if flow == self.victim || !self.joins[flow].is_empty() {
                continue;
            }
            let host = layout.flows[flow].host;
            let meets = |it: &usize| {
                *it != flow && layout.flows[*it].host == host && !self.joins[*it].is_empty()
            };
            let partners: Vec<usize> = self.flows.iter().copied().filter(meets).collect();
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

/// Where the way of a flow meets the victim's: its hop there, and the victim's. Behind the first they share the way.
fn joins(layout: &Layout, path: &[usize], flow: usize) -> Vec<(usize, usize)> {
    let meets = |hop: usize| {
        let port = layout.hops[hop].port;
        path.iter().copied().find(|&it| layout.hops[it].port == port)
    };
    let joins: Vec<(usize, usize)> =
        layout.flows[flow].hops.clone().filter_map(|hop| Some((hop, meets(hop)?))).collect();
    let comes_shared = |&(hop, _): &(usize, usize)| {
        joins.iter().any(|&(before, _)| layout.hops[before].next.contains(&hop))
    };
    let first: Vec<(usize, usize)> = joins.iter().copied().filter(|it| !comes_shared(it)).collect();
    if first.is_empty() { joins } else { first }
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

/// A message where its flow meets the victim.
struct Arrival {
    flow: usize,
    /// The victim's hop there.
    victim_hop: usize,
    /// The port by which it came; `usize::MAX` at its source.
    line: usize,
    queued_ns: u64,
    /// What the message takes on that line.
    on_line_ns: u64,
}

fn distance_ns(from_ns: u64, to_ns: u64) -> i64 {
    to_ns.cast_signed() - from_ns.cast_signed()
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
