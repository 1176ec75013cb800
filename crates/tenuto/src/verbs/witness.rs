//! `tenuto witness NET|PLAN`: for every bound a schedule that comes close, replayed in the switch core.

use crate::args::Witness as Args;
use crate::failure::Failure;
use crate::format::{counted, percent_down};
use crate::header::Header;
use crate::outcome::Outcome;
use crate::output;
use crate::planning::{self, Planned};
use crate::progress::Progress;
use crate::witness::document::{
    BacklogRow, ChangeRow, DelayRow, Document, HopRow, KindRow, ViolationRow,
};
use crate::witness::hunt::{Effort, Hunted, hunt, median};
use crate::witness::replay::{Replayed, delay_of, for_each_place, replay, witness_of};
use crate::witness::{gantt, terms, text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tenuto_model::Transition;
use tenuto_witness::layout::Layout;
use tenuto_witness::row_search::RowSearch;
use tenuto_witness::rows::{Row, Subject, ratio_ppm};

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let planned = planning::of_input(&args.input, &args.planning)?;
    if !planned.promise().can_run() {
        return super::sim::refused(&planned, args.json);
    }
    let plan = &planned.plan;
    let layout = Layout::new(plan).map_err(|why| {
        let hint = "`tenuto sim` plays such networks, at random";
        Failure::undecidable(format!("no witness is searched: {why}"), Some(hint))
    })?;
    let rows = rows(args, &layout)?;
    let threads = args.threads.unwrap_or_else(available);
    let until = args.duration_ns.map(|ns| started + Duration::from_nanos(ns));
    let effort = Effort { plays: args.plays, seed: args.seed, threads, until };
    let name = &plan.network.name;
    let mut progress = Progress::at_once();
    let hunted = hunt(&layout, &rows, effort, &mut |it| {
        progress.say(|| {
            let median = percent_down(it.median_ppm.into(), 1_000_000);
            let share = percent_down((it.done as u64).into(), (it.of as u64).max(1).into());
            format!("{name} attacked  {share} of the work   {} of {} rows with a witness, median tightness {median}", it.witnessed, rows.len())
        });
    });
    progress.say(|| {
        format!("{name}: replaying {} in the switch core", counted(rows.len(), "schedule"))
    });
    let replays = for_each_place(hunted.searches.len(), threads, |place| {
        let search = &hunted.searches[place];
        let best = search.best();
        best.map(|(schedule, _)| replay(plan, &layout, search.row, schedule))
    });
    drop(progress);
    let mut found = Vec::new();
    for replayed in replays {
        found.push(match replayed {
            Some(Ok((replayed, sent))) => Some((replayed, sent)),
            Some(Err(why)) => return Err(Failure::undecidable(why, None)),
            None => None,
        });
    }
    let charts: Vec<Option<String>> = match &args.output {
        Some(_) => found
            .iter()
            .map(|it| it.as_ref().and_then(|(it, sent)| gantt::chart(plan, &it.schedule, sent)))
            .collect(),
        None => vec![None; found.len()],
    };
    let found: Vec<Option<Replayed>> = found.into_iter().map(|it| it.map(|it| it.0)).collect();
    let told = Told { args, planned: &planned, layout: &layout, hunted: &hunted, found: &found };
    let mut document = told.document();
    if let Some(explanation) = args.flow.as_ref().and_then(|it| terms::explanation(&planned, it)) {
        for row in &mut document.rows {
            row.terms = terms::terms(&explanation, row);
        }
    }
    let kept = match &args.output {
        Some(folder) => write(folder, &told, &document, &charts),
        None => told.write_violations(&document.violations),
    };
    let judged = conclude(args, &planned, &document, hunted.is_complete)?;
    Ok(Failure::unkept(kept, judged))
}

fn available() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The rows asked for, with their numbers among all.
fn rows(args: &Args, layout: &Layout) -> Result<Vec<(usize, Row)>, Failure> {
    let name = |row: &Row| match row.subject {
        Subject::Delay(leaf) => Some(layout.flows[layout.leaves[leaf].flow].name.as_str()),
        Subject::Backlog(_) => None,
    };
    let is_asked = |it: &(usize, Row)| match &args.flow {
        Some(flow) => name(&it.1) == Some(flow),
        None => true,
    };
    let rows: Vec<(usize, Row)> = layout.rows().into_iter().enumerate().filter(is_asked).collect();
    if let (Some(flow), true) = (&args.flow, rows.is_empty()) {
        let shown = args.input.display().to_string();
        let hint = "the table of `tenuto plan` names the flows";
        let message = format!("--flow {flow}: no such flow with a bound");
        return Err(Failure::input(message, Some(&shown), Some(hint)));
    }
    Ok(rows)
}

/// All that the document is made of.
struct Told<'a> {
    args: &'a Args,
    planned: &'a Planned,
    layout: &'a Layout,
    hunted: &'a Hunted,
    found: &'a [Option<Replayed>],
}

impl Told<'_> {
    fn document(&self) -> Document {
        let plan = &self.planned.plan;
        let (mut rows, mut backlogs, mut kinds) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (place, search) in self.hunted.searches.iter().enumerate() {
            let (kind, ppm) = match search.row.subject {
                Subject::Delay(leaf) => {
                    let row = self.delay_row(place, search, leaf);
                    let ppm = row.witness_delay_ns.map(|it| ratio_ppm(it, row.delay_bound_ns));
                    rows.push(row);
                    ("delay", ppm)
                }
                Subject::Backlog(port) => {
                    let row = self.backlog_row(place, search, port);
                    let ppm =
                        row.witness_backlog_bits.map(|it| ratio_ppm(it, row.backlog_bound_bits));
                    backlogs.push(row);
                    ("backlog", ppm)
                }
            };
            let mode = &self.layout.transition_labels[search.row.transition];
            let of: &mut Vec<u64> = kinds.entry((kind, mode.clone())).or_default();
            of.extend(ppm);
        }
        let violations = self.violations();
        let verdict = if violations.is_empty() { "kept" } else { "violated" };
        let attacked = |it: &&tenuto_model::FlowBound| {
            it.delay_bound_ps.is_some() && !matches!(it.mode, Transition::Return { .. })
        };
        let is_asked =
            |it: &&tenuto_model::FlowBound| self.args.flow.as_ref().is_none_or(|f| it.flow == *f);
        let not_attacked = plan.flows.iter().filter(is_asked).filter(|it| !attacked(it)).count();
        Document {
            header: Header::new("tenuto-witness/1", verdict)
                .world("simulated")
                .seed(Some(self.args.seed))
                .plan_hash(&plan.plan_hash),
            network: plan.network.name.clone(),
            plays_per_row: self.args.plays,
            plays: self.hunted.searches.iter().map(|it| it.plays).sum(),
            is_complete: self.hunted.is_complete,
            rows_not_attacked: not_attacked,
            kinds: kinds.into_iter().filter(|it| !it.1.is_empty()).map(kind_row).collect(),
            rows,
            backlogs,
            mode_changes: self.mode_changes(),
            violations,
        }
    }

    /// The best replay of a row: its own, or that of another that happens to show more.
    fn delay_row(&self, place: usize, search: &RowSearch, leaf: usize) -> DelayRow {
        let witness = witness_of(self.layout, search.row, leaf);
        let shown = |it: &Replayed| delay_of(&it.run, &witness);
        let own = self.found[place].as_ref().and_then(|it| Some((shown(it)?, place)));
        let others =
            self.found.iter().enumerate().filter_map(|(at, it)| Some((shown(it.as_ref()?)?, at)));
        let best =
            others.chain(own).max_by_key(|&(ns, at)| (ns, at == place, std::cmp::Reverse(at)));
        let own_victim = self.found[place].as_ref().and_then(|it| it.victim.as_ref());
        let hops: Vec<HopRow> = own_victim.map_or_else(Vec::new, |it| it.hops.clone());
        let most = hops.iter().rev().max_by_key(|it| it.given_away_ns());
        let bound_ns = witness.delay_bound_ns;
        DelayRow {
            witness_delay_ns: best.map(|it| it.0),
            searched_delay_ns: search.best().map(|it| it.1 / 1_000),
            tightness: best.map(|it| share(ratio_ppm(it.0, bound_ns))),
            gives_most_away_at: most.map(|it| it.port.clone()),
            schedule: best.filter(|_| self.args.output.is_some()).map(|it| self.file(it.1)),
            terms: Vec::new(),
            hops,
            flow: witness.flow,
            target: witness.target,
            copy: witness.copy,
            mode: witness.mode,
            delay_bound_ns: bound_ns,
        }
    }

    fn backlog_row(&self, place: usize, search: &RowSearch, port: usize) -> BacklogRow {
        let label = &self.layout.ports[port].label;
        let run = self.found[place].as_ref().map(|it| &it.run);
        let seen = run.and_then(|run| run.ports.iter().find(|it| it.port == *label));
        let bits = seen.map(|it| it.observed_backlog_bits_max);
        let bound_bits = self.layout.bounds.get(search.row).unwrap_or(0);
        BacklogRow {
            port: label.clone(),
            mode: self.layout.transition_labels[search.row.transition].clone(),
            backlog_bound_bits: bound_bits,
            witness_backlog_bits: bits,
            tightness: bits.map(|it| share(ratio_ppm(it, bound_bits))),
        }
    }

    fn mode_changes(&self) -> Vec<ChangeRow> {
        let mut longest: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
        for change in self.found.iter().flatten().flat_map(|it| &it.run.mode_changes) {
            let (Some(seen), Some(bound)) = (change.observed_ns, change.bound_ns) else { continue };
            let of = longest.entry((change.from.clone(), change.to.clone())).or_insert((0, bound));
            of.0 = of.0.max(seen);
        }
        let row =
            |((from, to), (witness_ns, bound_ns)): ((String, String), (u64, u64))| ChangeRow {
                from,
                to,
                bound_ns,
                witness_ns,
                tightness: share(ratio_ppm(witness_ns, bound_ns)),
            };
        longest.into_iter().map(row).collect()
    }

    /// Whatever is above its bound, each with the file that repeats it.
    fn violations(&self) -> Vec<ViolationRow> {
        let mut all = Vec::new();
        let folder = self.args.output.clone().unwrap_or_else(|| PathBuf::from("out"));
        for (place, replayed) in self.found.iter().enumerate() {
            let Some(replayed) = replayed else { continue };
            let search = &self.hunted.searches[place];
            let path = folder.join(self.file(place));
            let shown = path.display().to_string();
            let before = all.len();
            for it in replayed.run.violations.iter().filter(|it| !it.is_explained) {
                let flow = it.flow.as_ref().map_or_else(String::new, |flow| format!("{flow}: "));
                let what = format!("{flow}{} ({})", it.note, it.kind);
                let (seen, bound) = (it.observed, it.bound);
                all.push(ViolationRow {
                    what,
                    seen,
                    bound,
                    is_replayed: true,
                    schedule: shown.clone(),
                });
            }
            let bound = self.layout.bounds.get(search.row);
            let played = search.best().map(|it| it.1);
            if all.len() == before && played > bound && bound.is_some() {
                let what = format!(
                    "{}, as the search plays it (ps or bits)",
                    self.layout.row_label(search.row)
                );
                all.push(ViolationRow {
                    what,
                    seen: played,
                    bound,
                    is_replayed: false,
                    schedule: shown.clone(),
                });
            }
        }
        all
    }

    /// The files that repeat what is above its bound, where no folder was asked for.
    fn write_violations(&self, violations: &[ViolationRow]) -> Result<(), Failure> {
        if violations.is_empty() {
            return Ok(());
        }
        output::make_folder(Path::new("out"))?;
        for (place, replayed) in self.found.iter().enumerate() {
            let path = Path::new("out").join(self.file(place));
            let shown = path.display().to_string();
            if let Some(it) = replayed
                && violations.iter().any(|row| row.schedule == shown)
            {
                output::write_file(&path, &output::json(&it.schedule))?;
            }
        }
        Ok(())
    }

    /// The name of a row's schedule file.
    fn file(&self, place: usize) -> String {
        let row = self.hunted.searches[place].row;
        let label: String = self
            .layout
            .row_label(row)
            .chars()
            .map(|it| if it.is_ascii_alphanumeric() { it } else { '-' })
            .take(100)
            .collect();
        format!("{place:04}-{label}.schedule.json")
    }
}

fn share(ppm: u64) -> f64 {
    f64::from(u32::try_from(ppm).unwrap_or(u32::MAX)) / 1e6
}

fn kind_row(((kind, mode), ppm): ((&str, String), Vec<u64>)) -> KindRow {
    let from = |least: u64| ppm.iter().filter(|it| **it >= least).count();
    KindRow {
        kind: format!("{kind}, {mode}"),
        rows: ppm.len(),
        tightness_min: share(ppm.iter().copied().min().unwrap_or(0)),
        tightness_median: share(median(&ppm)),
        rows_from_90_percent: from(900_000),
        rows_from_75_percent: from(750_000),
        rows_from_50_percent: from(500_000),
    }
}

/// `witness.json`, and per row its schedule and its chart.
fn write(
    folder: &Path,
    told: &Told<'_>,
    document: &Document,
    charts: &[Option<String>],
) -> Result<(), Failure> {
    output::make_folder(folder)?;
    for (place, replayed) in told.found.iter().enumerate() {
        let Some(replayed) = replayed else { continue };
        let path = folder.join(told.file(place));
        output::write_file(&path, &output::json(&replayed.schedule))?;
        if let Some(chart) = &charts[place] {
            output::write_file(&path.with_extension("svg"), chart)?;
        }
    }
    output::write_file(&folder.join("witness.json"), &output::json(document))
}

fn conclude(
    args: &Args,
    planned: &Planned,
    document: &Document,
    is_complete: bool,
) -> Result<Outcome, Failure> {
    if args.json {
        output::say_json(document)?;
    } else {
        output::say(&text::text(document, args.all))?;
        if args.flow.is_some() {
            for row in &document.rows {
                output::say(&text::hops(row))?;
            }
        }
        if !is_complete {
            output::say("the time was over before every row had all its plays (--for, --plays)\n")?;
        }
        for it in &document.violations {
            let value = |it: Option<u64>| it.map_or_else(|| "?".into(), |it| it.to_string());
            let (input, seen, bound) = (args.input.display(), value(it.seen), value(it.bound));
            output::say(&format!(
                "VIOLATED: {}: {seen} above {bound}\n  `tenuto sim {input} --schedule {}` repeats it\n",
                it.what, it.schedule
            ))?;
        }
        if document.violations.is_empty() {
            let hash = &planned.plan.plan_hash[..8.min(planned.plan.plan_hash.len())];
            output::say(&format!("no schedule is above a bound of plan {hash}…\n"))?;
        }
    }
    Ok(if document.violations.is_empty() { Outcome::Good } else { Outcome::Bad })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certified::Certification;
    use clap::Parser;
    use tenuto_model::{MemorySources, read_network};

    const TWO_SOURCES: &str = "
tenuto: 1
name: two-sources
hosts: [a, b, d]
switches: {sw1: {profile: ideal}}
links:
  - {ends: [a, sw1], rate: 100 Mbit/s}
  - {ends: [b, sw1], rate: 100 Mbit/s}
  - {ends: [sw1, d], rate: 100 Mbit/s}
flows:
  f: {source: a, targets: [d], frame: 1000 B, period: 10 ms, deadline: 5 ms, priority: 0}
  g: {source: b, targets: [d], frame: 500 B, period: 10 ms, deadline: 5 ms, priority: 0}
";

    #[test]
    fn a_bound_that_is_too_small_is_a_violation_with_a_file() {
        let sources = MemorySources::new().with("net.yaml", TWO_SOURCES);
        let network = read_network(&sources, "net.yaml").unwrap().0;
        let plan = tenuto_planner::plan(&network, &tenuto_planner::Options::default());
        let mut layout = Layout::new(&plan).unwrap();
        let (number, row) = (0, layout.rows()[0]);
        let bound = layout.bounds.get(row).unwrap();
        let folder = std::env::temp_dir().join(format!("tenuto-witness-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let line = ["tenuto", "witness", "net.yaml", "-o", folder.to_str().unwrap()];
        let crate::args::Verb::Witness(args) = crate::args::Args::parse_from(line).verb else {
            panic!("another verb")
        };
        let certification = Certification::of(&plan);
        let planned = Planned { plan, certification, took: None, options: None };
        let violations = |layout: &Layout| {
            let effort = Effort { plays: 100, seed: 1, threads: 1, until: None };
            let hunted = hunt(layout, &[(number, row)], effort, &mut |_| ());
            let best = hunted.searches[0].best().unwrap().0;
            let replayed = replay(&planned.plan, layout, row, best).unwrap().0;
            let found = [Some(replayed)];
            let told =
                Told { args: &args, planned: &planned, layout, hunted: &hunted, found: &found };
            let document = told.document();
            write(&folder, &told, &document, &[None]).unwrap();
            document.violations
        };
        assert!(violations(&layout).is_empty());
        layout.bounds.set(row, Some(bound / 2));
        let found = violations(&layout);
        assert_eq!(found.len(), 1);
        assert!(
            crate::witness::schedule_file::read(Path::new(&found[0].schedule)).is_ok(),
            "the file repeats it"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
