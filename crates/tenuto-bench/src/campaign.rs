//! Plans, certifies and attacks networks; what was seen beside what was certified.

use crate::finding::{Finding, exceeded};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tenuto_model::{Network, Plan};
use tenuto_planner::{Curves, Options, WholePaths};
use tenuto_units::Draws;
use tenuto_witness::aim::Aim;
use tenuto_witness::flood::flooded;
use tenuto_witness::layout::Layout;
use tenuto_witness::play::Player;
use tenuto_witness::rows::{Row, RowKind, ratio_ppm};
use tenuto_witness::schedule::Schedule;
use tenuto_witness::search::climb;

/// Inequalities of whole-path programs that one network may take.
const ROWS_MAX: usize = 4_000;

/// How much is tried against each network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Rows that are attacked, drawn from all.
    pub rows: usize,
    /// Constructions per row.
    pub constructions: usize,
    /// Changes of the best construction of each row.
    pub changes: usize,
}

/// What the planner is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planning {
    /// Flows count as whole messages.
    pub staircases: bool,
    /// Bounds of whole paths are looked for.
    pub whole_paths: bool,
}

impl Planning {
    /// One of the four.
    pub fn draw(draws: &mut Draws) -> Self {
        Self { staircases: draws.below(2) == 0, whole_paths: draws.below(4) == 0 }
    }

    /// The plan of a network that is asked for so.
    pub fn plan(self, network: &Network) -> Plan {
        tenuto_planner::plan(network, &self.options())
    }

    fn options(self) -> Options {
        let search = WholePaths { rows_total_max: ROWS_MAX, ..WholePaths::default() };
        Options {
            curves: if self.staircases { Curves::Staircases } else { Curves::Buckets },
            whole_paths: self.whole_paths.then_some(search),
            would_fit: false,
            ..Options::default()
        }
    }
}

/// What was tried and seen, over all networks.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Networks whose plans hold and were attacked.
    pub attacked: u64,
    /// Networks that were refused by the planner.
    pub refused: u64,
    /// Networks that are not played, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Schedules played by attacks.
    pub schedules: u64,
    /// Frames handed over in them.
    pub frame_hops: u64,
    /// Per kind of row.
    pub kinds: BTreeMap<RowKind, KindReport>,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// Rows of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindReport {
    /// Rows for which anything was seen.
    pub rows: u64,
    /// Largest seen by bound, parts per million.
    pub largest_ppm: u64,
    /// Where.
    pub place: String,
}

impl Report {
    /// Plans a network, has the plan checked, and attacks it.
    pub fn attack(
        &mut self,
        (name, text): (&str, &str),
        network: &Network,
        effort: Effort,
        seed: u64,
    ) {
        let mut draws = Draws::new(seed);
        let planned = Planning::draw(&mut draws);
        let plan = planned.plan(network);
        if !plan.feasible {
            self.refused += 1;
            return;
        }
        let source = (name, text, planned);
        if let Err(findings) = tenuto_certify::certify(&plan.to_json()) {
            let what = findings.first().map_or(String::new(), ToString::to_string);
            self.find(source, (format!("not certified: {what}"), String::new()), (1, 0), None);
            return;
        }
        self.attack_plan(source, &plan, effort, &mut draws);
    }

    /// Attacks a certified plan.
    pub fn attack_plan(
        &mut self,
        source: (&str, &str, Planning),
        plan: &Plan,
        effort: Effort,
        draws: &mut Draws,
    ) {
        let layout = match Layout::new(plan) {
            Ok(layout) => layout,
            Err(reason) => {
                *self.skipped.entry(reason).or_default() += 1;
                return;
            }
        };
        self.attacked += 1;
        let mut attack = Attack {
            layout: &layout,
            best: BTreeMap::new(),
            worst: BTreeMap::new(),
            policed: None,
            schedules: 0,
            frame_hops: 0,
        };
        attack.run(effort, draws);
        self.take_in(source, attack);
    }

    fn take_in(&mut self, source: (&str, &str, Planning), attack: Attack<'_>) {
        let layout = attack.layout;
        self.schedules += attack.schedules;
        self.frame_hops += attack.frame_hops;
        for (row, seen) in &attack.best {
            let Some(bound) = layout.bounds.get(*row) else { continue };
            let kind = self.kinds.entry(layout.kind(*row)).or_default();
            kind.rows += 1;
            let ratio = ratio_ppm(*seen, bound);
            if ratio > kind.largest_ppm {
                (kind.largest_ppm, kind.place) =
                    (ratio, format!("{}: {}", source.0, layout.row_label(*row)));
            }
        }
        for (kind, (row, seen, bound, schedule)) in attack.worst {
            let words = (layout.row_label(row), kind.to_string());
            self.find(source, words, (seen, bound), Some(schedule));
        }
        if let Some(schedule) = attack.policed {
            let words = ("frames of conforming hosts are policed".into(), String::new());
            self.find(source, words, (1, 0), Some(schedule));
        }
    }

    fn find(
        &mut self,
        (name, text, planned): (&str, &str, Planning),
        (what, kind): (String, String),
        (seen, bound): (u64, u64),
        schedule: Option<Schedule>,
    ) {
        let (network, text) = (name.to_owned(), text.to_owned());
        self.findings.push(Finding { network, what, kind, seen, bound, planned, text, schedule });
    }
}

/// An attack on one plan.
struct Attack<'a> {
    layout: &'a Layout,
    /// The largest value seen of every row.
    best: BTreeMap<Row, u64>,
    /// Per kind, the row that is farthest above its bound.
    worst: BTreeMap<RowKind, (Row, u64, u64, Schedule)>,
    /// A schedule in which a meter dropped frames of conforming hosts.
    policed: Option<Schedule>,
    schedules: u64,
    frame_hops: u64,
}

impl Attack<'_> {
    fn run(&mut self, effort: Effort, draws: &mut Draws) {
        let layout = self.layout;
        let mut player = Player::new(layout);
        let rows = layout.rows();
        for _ in 0..effort.rows.min(rows.len() * 2) {
            let row = rows[draws.index(rows.len())];
            let Some(aim) = Aim::new(layout, row, draws) else { continue };
            self.attack_row(&aim, &mut player, effort, draws);
        }
    }

    fn attack_row(
        &mut self,
        aim: &Aim,
        player: &mut Player<'_>,
        effort: Effort,
        draws: &mut Draws,
    ) {
        let layout = self.layout;
        let mut best = (Schedule::empty(layout), 0);
        for _ in 0..effort.constructions {
            let mut built = aim.construct(layout, player, draws);
            player.play(&built.0);
            self.look(&built.0, player);
            if layout.babbling_hosts > 0 && draws.below(3) > 0 {
                let host = draws.index(layout.hosts.len());
                let more = flooded((layout, aim), player, &built.0, host, draws);
                if let Some(more) = more {
                    self.look(&more.0, player);
                    built = more;
                }
            }
            if built.1 >= best.1 {
                best = built;
            }
        }
        let mut look = |schedule: &Schedule, player: &Player<'_>| self.look(schedule, player);
        climb((layout, aim), player, best, effort.changes, draws, &mut look);
    }

    fn look(&mut self, schedule: &Schedule, player: &Player<'_>) {
        let outcome = player.outcome();
        self.schedules += 1;
        self.frame_hops += outcome.frame_hops;
        for (row, seen) in outcome.seen.iter() {
            let best = self.best.entry(row).or_default();
            *best = seen.max(*best);
        }
        for (row, seen, bound) in exceeded(self.layout, player) {
            let worst = self.worst.get(&self.layout.kind(row));
            if worst.is_none_or(|it| ratio_ppm(it.1, it.2) < ratio_ppm(seen, bound)) {
                let found = (row, seen, bound, schedule.clone());
                self.worst.insert(self.layout.kind(row), found);
            }
        }
        if outcome.policed > 0 && self.policed.is_none() {
            self.policed = Some(schedule.clone());
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<44} {:>7} {:>10}  largest at", "rows", "seen", "seen/bound")?;
        for (kind, of) in &self.kinds {
            let (percent, thousandths) = (of.largest_ppm / 10_000, of.largest_ppm % 10_000 / 10);
            let kind = kind.to_string();
            writeln!(f, "{kind:<44} {:>7} {percent:>6}.{thousandths:03} %  {}", of.rows, of.place)?;
        }
        for (reason, count) in &self.skipped {
            writeln!(f, "not played: {count} networks ({reason})")?;
        }
        write!(
            f,
            "{} networks attacked, {} refused; {} schedules, {} frames handed over; {} findings",
            self.attacked,
            self.refused,
            self.schedules,
            self.frame_hops,
            self.findings.len()
        )
    }
}
