//! The search against one row, in portions of work: constructions first, then climbing, with restarts.
//!
//! What a search does follows from the row, the seed and the number of plays; time plays no part in it, so
//! it finds the same on any machine and by any number of threads.

use crate::aim::Aim;
use crate::flood::flooded;
use crate::layout::Layout;
use crate::play::Player;
use crate::rows::Row;
use crate::schedule::Schedule;
use crate::search::climb;
use tenuto_units::Draws;

/// Plays of one construction, about.
const CONSTRUCTION_PLAYS: u64 = 6;
/// Plays of one flood, about.
const FLOOD_PLAYS: u64 = 5;
/// Constructions before the first is climbed from.
const CONSTRUCTIONS_FIRST: u64 = 8;
/// Changes of a schedule before another construction is tried.
const CHANGES: usize = 60;

/// A search against one row.
#[derive(Clone, Debug)]
pub struct RowSearch {
    /// The row.
    pub row: Row,
    draws: Draws,
    best: Option<Best>,
    /// Constructions with a flood so far: hosts babble in turn.
    constructions: usize,
    /// Schedules played so far.
    pub plays: u64,
    /// Frames handed over so far.
    pub frame_hops: u64,
}

#[derive(Clone, Debug)]
struct Best {
    schedule: Schedule,
    seen: u64,
    aim: Aim,
}

impl RowSearch {
    /// One that has done nothing yet.
    pub fn new(row: Row, seed: u64) -> Self {
        Self { row, draws: Draws::new(seed), best: None, constructions: 0, plays: 0, frame_hops: 0 }
    }

    /// The largest value so far (ps, or bits on the wire) and the schedule that shows it.
    pub fn best(&self) -> Option<(&Schedule, u64)> {
        self.best.as_ref().filter(|it| it.seen > 0).map(|it| (&it.schedule, it.seen))
    }

    /// Works on until so many schedules have been played in all.
    pub fn search(&mut self, layout: &Layout, player: &mut Player<'_>, plays: u64) {
        while self.plays < plays {
            let tried = self.plays / CONSTRUCTION_PLAYS;
            let is_first = self.plays < CONSTRUCTIONS_FIRST * CONSTRUCTION_PLAYS;
            if is_first || self.best.is_none() || tried.is_multiple_of(4) {
                if !self.construct(layout, player) {
                    return;
                }
            } else {
                self.climb(layout, player);
            }
        }
    }

    /// Whether there was anything to construct.
    fn construct(&mut self, layout: &Layout, player: &mut Player<'_>) -> bool {
        let draws = &mut self.draws;
        let Some(mut aim) = Aim::new(layout, self.row, draws) else { return false };
        aim.is_replayed = true;
        aim.limit(player);
        let (mut schedule, mut seen) = aim.construct(layout, player, draws);
        self.plays += CONSTRUCTION_PLAYS;
        if layout.babbling_hosts > 0 {
            let host = aim.host(layout, self.constructions);
            self.constructions += 1;
            if let Some(flood) = flooded((layout, &aim), player, &schedule, host, draws) {
                let flood = aim.line_up_flood(layout, player, flood, draws);
                if flood.1 > seen {
                    (schedule, seen) = flood;
                }
            }
            self.plays += FLOOD_PLAYS;
        }
        if self.best.as_ref().is_none_or(|it| seen > it.seen) {
            self.best = Some(Best { schedule, seen, aim });
        }
        true
    }

    fn climb(&mut self, layout: &Layout, player: &mut Player<'_>) {
        let Some(best) = &mut self.best else { return };
        best.aim.limit(player);
        let start = (best.schedule.clone(), best.seen);
        let (plays, hops) = (&mut self.plays, &mut self.frame_hops);
        let mut look = |_: &Schedule, player: &Player<'_>| {
            *plays += 1;
            *hops += player.outcome().frame_hops;
        };
        let aim = best.aim.clone();
        let found = climb((layout, &aim), player, start, CHANGES, &mut self.draws, &mut look);
        (best.schedule, best.seen) = found;
    }
}
