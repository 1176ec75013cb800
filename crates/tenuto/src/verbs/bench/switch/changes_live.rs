//! Changes of mode with real frames, between processes that stand for nine switches, their hosts and
//! their controller: by the switches, and by the controller.
//!
//! Runs of both kinds take turns, on the same plan and with the same traffic. A raise of the switches
//! is judged as in every live run: by its certified bound and what this machine was measured to add.

use super::changes::{TARGET_RATIO, median, raise_bound_ps, scenario};
use super::changes_peers::{self, Peers, Who};
use super::networks::{Crowd, Laboratory, Shape};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::planning;
use crate::verbs::bench::sheet::{Sheet, rounded};
use crate::verbs::up;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tenuto_model::{Plan, Scenario, Verdict};
use tenuto_runtime::{
    ControlledRun, LabPorts, ModeController, Silent, SwitchProcesses, UpError, UpOptions,
    measure_allowance, up_by_controller,
};
use tenuto_units::Span;
use tenuto_world::RunDocument;
use tenuto_world::clockwork::ControlledChange;

/// Runs of each kind, in turn.
const TURNS: u32 = 2;
/// How long this machine is measured before the runs of a network.
const MEASURED: Span = Span::from_s(2);
/// One way of a channel as that of `changes`, in virtual time.
const CHANNEL_NS: f64 = 500_000.0;
/// For so long the trigger sends as in HI: a host that is served late by less than this still hears
/// of the beginning before it hears of the end.
const EXCESS_NS: u64 = 20_000_000;

/// What was seen of one network.
#[derive(Debug, Default)]
struct Seen {
    raises_ns: Vec<u64>,
    purged: Vec<u64>,
    unfinished: usize,
    exceeded: usize,
    undecided: usize,
    controlled: Vec<ControlledChange>,
    controlled_unfinished: usize,
    /// The change by others, where that is compared.
    peers: Peers,
    /// Runs that broke a promise, in a sentence each.
    broken: Vec<String>,
    is_interrupted: bool,
}

/// What came of one network.
enum Ran {
    /// With the certified bound of a raise and what this machine adds to it, nanoseconds.
    Seen(Seen, (u64, u64)),
    /// No lab is allowed here: why.
    NotHere(String),
}

/// Of the table of networks.
const COLUMNS: [&str; 19] = [
    "topology",
    "rules",
    "raises",
    "purged median",
    "median us",
    "least us",
    "largest us",
    "bound us",
    "allowance us",
    "exceeded",
    "undecided",
    "controller: raises",
    "in effect us",
    "least us",
    "largest us",
    "confirmed us",
    "drained us",
    "ratio",
    "with 500 us",
];

/// A network with its plan, and what this machine adds to it.
struct Bench<'a> {
    name: &'a str,
    plan: &'a Plan,
    scenario: Scenario,
    options: UpOptions,
}

/// What is to be run.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Raises of each network by the switches, and as many by each controller.
    pub(super) raises: u32,
    pub(super) switches: SwitchProcesses,
    /// These networks alone, if any is named: `star-1`.
    pub(super) networks: &'a [String],
}

/// The tables, and how it went: `Bad` if a raise was above its bound and what the machine adds.
pub(super) fn sheets(
    wanted: Wanted<'_>,
    progress: &mut dyn FnMut(&str),
) -> Result<(Vec<Sheet>, Outcome), Failure> {
    let mut sheet =
        Sheet::new("MC-SDN, section VI: changes of mode with real frames, nine switches", &COLUMNS);
    let (mut ratios, mut unfinished, mut broken) = (Vec::new(), (0, 0), Vec::new());
    let mut outcome = Outcome::Good;
    let mut peers = Vec::new();
    for it in &chosen(wanted.networks)? {
        let folder = Folder::new()?;
        let (seen, bounds) = match one(it, wanted, &folder.0, progress)? {
            Ran::Seen(seen, bounds) => (seen, bounds),
            Ran::NotHere(why) => {
                sheet.note(format!("SKIPPED: {why}"));
                return Ok((vec![sheet], outcome));
            }
        };
        if !seen.peers.is_empty() {
            peers.push((*it, seen.peers.clone()));
        }
        let (row, ratio) = row(it, &seen, bounds);
        sheet.push(row);
        ratios.push(ratio.unwrap_or(0.0));
        unfinished.0 += seen.unfinished;
        unfinished.1 += seen.controlled_unfinished;
        broken.extend(seen.broken);
        if seen.is_interrupted {
            outcome = Outcome::Interrupted;
            break;
        }
    }
    notes(&mut sheet, &ratios, unfinished, wanted.switches);
    if !broken.is_empty() {
        outcome = Outcome::Bad;
        sheet.note(format!("BROKEN: {} runs kept no promise", broken.len()));
        broken.iter().for_each(|text| sheet.note(text.clone()));
    }
    let mut sheets = vec![sheet];
    if !peers.is_empty() {
        sheets.push(changes_peers::sheet(&peers));
    }
    Ok((sheets, outcome))
}

/// Those that are named, or all.
fn chosen(names: &[String]) -> Result<Vec<Laboratory>, Failure> {
    let all = laboratories();
    let name = |it: &Laboratory| it.name().replace(' ', "-");
    if let Some(unknown) = names.iter().find(|text| all.iter().all(|it| name(it) != **text)) {
        let known: Vec<String> = all.iter().map(name).collect();
        return Err(Failure::usage(&format!(
            "--live-networks: no network is called {unknown:?}; there are {}",
            known.join(", ")
        )));
    }
    let is_chosen = |it: &Laboratory| names.is_empty() || names.contains(&name(it));
    Ok(all.into_iter().filter(is_chosen).collect())
}

/// Three shapes by 1, 50 and 100 rules, and 100 rules with packets that wait.
fn laboratories() -> Vec<Laboratory> {
    let cases = [(1, None), (50, None), (100, None), (100, Some(Crowd::SLOW))];
    let of = |shape| cases.map(|(rules, crowd)| Laboratory { shape, rules, crowd });
    Shape::ALL.into_iter().flat_map(of).collect()
}

/// Runs one network both ways.
fn one(
    it: &Laboratory,
    Wanted { raises, switches, .. }: Wanted<'_>,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Ran, Failure> {
    let name = it.name();
    progress(&format!("changes-live: {name}, planning and measuring this machine"));
    let network = it.network()?;
    let planned = planning::planned(&network, &planning::usual_options(&network))?;
    let plan = &planned.plan;
    let bound_ps = raise_bound_ps(plan, &name)?;
    let service = measure_allowance(MEASURED, LabPorts::default()).map_err(|error| {
        Failure::undecidable(format!("this machine cannot be measured: {error}"), None)
    })?;
    let options = UpOptions {
        duration_ns: None,
        slow: 1,
        run_dir: folder.to_owned(),
        allowances: up::allowances(plan, &service),
        seed: None,
        switches,
    };
    let bounds = (bound_ps.div_ceil(1_000), options.allowances.change_ns);
    let each = raises.div_ceil(TURNS);
    // Monitors bear with lateness J of about two stalls: of messages 9 ms too early each, J/9 ms
    // many pass before one raises the mode.
    let excess_ns = EXCESS_NS + options.allowances.stall_ns / 3;
    let scenario = scenario(plan, each, (it.cycle_ns() + excess_ns, excess_ns));
    let bench = Bench { name: &name, plan, scenario, options };
    let mut seen = Seen::default();
    if let Some(why) = bench.take_turns(&mut seen, progress)? {
        return Ok(Ran::NotHere(why));
    }
    if seen.is_interrupted {
        return Ok(Ran::Seen(seen, bounds));
    }
    if it.crowd.is_none() {
        progress(&format!("changes-live: {name}, by os-ken, and in Open vSwitch"));
        bench.by_peers(raises, &mut seen);
    }
    Ok(Ran::Seen(seen, bounds))
}

impl Bench<'_> {
    /// Runs by the switches and by the controller, in turn; why not, where no lab is allowed.
    fn take_turns(
        &self,
        seen: &mut Seen,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Option<String>, Failure> {
        let name = self.name;
        for turn in 1..=TURNS {
            let turns = [Self::by_switches, Self::by_controller];
            for (run, who) in turns.into_iter().zip(["switches", "controller"]) {
                progress(&format!("changes-live: {name}, turn {turn} of {TURNS}, by the {who}"));
                match run(self, seen) {
                    Ok(()) if seen.is_interrupted => return Ok(None),
                    Ok(()) => {}
                    Err(error @ UpError::NotPermitted { .. }) => {
                        return Ok(Some(error.to_string()));
                    }
                    Err(error) => {
                        let hint = "`tenuto doctor` says what this machine allows";
                        return Err(Failure::undecidable(format!("{name}: {error}"), Some(hint)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Plays the change by other controllers, and of other switches.
    fn by_peers(&self, changes: u32, seen: &mut Seen) {
        let own = seen.controlled.iter().map(|it| it.in_effect.as_ns()).collect();
        seen.peers = vec![
            (Who::Themselves, Ok((seen.raises_ns.clone(), seen.unfinished))),
            (Who::OursOwn, Ok((own, seen.controlled_unfinished))),
            (Who::OursOsKen, self.by_os_ken()),
        ];
        seen.peers.extend(changes_peers::of_bridges(self.plan, changes));
    }

    fn by_os_ken(&self) -> changes_peers::Changes {
        let Some(python) = changes_peers::python() else { return changes_peers::without_os_ken() };
        let by = ModeController::OsKen { python };
        let (mut ns, mut unfinished) = (Vec::new(), 0);
        for _ in 0..TURNS {
            let by = by.clone();
            let run = up_by_controller(self.plan, &self.scenario, &self.options, by, &mut Silent);
            let run = run.map_err(|error| error.to_string())?;
            ns.extend(run.changes.iter().map(|it| it.in_effect.as_ns()));
            unfinished += run.unfinished;
        }
        Ok((ns, unfinished))
    }

    fn by_switches(&self, seen: &mut Seen) -> Result<(), UpError> {
        let outcome = tenuto_runtime::up(self.plan, &self.scenario, &self.options, &mut Silent)?;
        if let Some(why) = outcome.crashed {
            return Err(UpError::SetUp(why));
        }
        seen.is_interrupted |= outcome.interrupted;
        let (outcome, _) = up::replayed(self.plan, &self.scenario, outcome);
        seen.take_in(self, &outcome.document);
        Ok(())
    }

    fn by_controller(&self, seen: &mut Seen) -> Result<(), UpError> {
        let run = up_by_controller(
            self.plan,
            &self.scenario,
            &self.options,
            ModeController::Own,
            &mut Silent,
        )?;
        let ControlledRun { changes, unfinished, interrupted, .. } = run;
        seen.controlled.extend(changes);
        seen.controlled_unfinished += unfinished;
        seen.is_interrupted |= interrupted;
        Ok(())
    }
}

impl Seen {
    /// Takes in a run whose modes the switches changed.
    fn take_in(&mut self, bench: &Bench<'_>, document: &RunDocument) {
        let top = &bench.plan.network.modes[1];
        let raises = document.mode_changes.iter().filter(|change| change.to == *top);
        let (mut late, mut count) = (0, 0);
        for raise in raises {
            count += 1;
            self.purged.push(raise.purged_frames);
            match (raise.observed_ns, raise.bound_ns) {
                (Some(observed), Some(bound)) => {
                    self.raises_ns.push(observed);
                    late += usize::from(observed > bound);
                }
                _ => self.unfinished += 1,
            }
        }
        let wanted = bench.scenario.events.len() / 2;
        self.unfinished += wanted.saturating_sub(count);
        let exceeded = document.violations.iter().filter(|it| it.kind == "mode_change").count();
        self.exceeded += exceeded;
        self.undecided += late.saturating_sub(exceeded);
        if matches!(document.verdict, Verdict::Violated | Verdict::Broken) {
            self.broken.push(format!("{}: {}", bench.name, document.summary));
        }
    }
}

fn row(
    it: &Laboratory,
    seen: &Seen,
    (bound_ns, allowance_ns): (u64, u64),
) -> (Vec<Value>, Option<f64>) {
    let us = |ns: f64| rounded(ns / 1e3, 0);
    let of = |what: fn(&ControlledChange) -> Span| -> Vec<u64> {
        seen.controlled.iter().map(|change| what(change).as_ns()).collect()
    };
    let ends = |values: &[u64]| {
        let end = |ns: Option<&u64>| ns.map_or(Value::Null, |&ns| us(ns as f64));
        [end(values.iter().min()), end(values.iter().max())]
    };
    let ours = median(seen.raises_ns.clone());
    let in_effect = of(|change| change.in_effect);
    let drained = median(of(|change| change.drained));
    let has_both = !seen.raises_ns.is_empty() && !seen.controlled.is_empty();
    let ratio = |theirs_ns: f64| has_both.then(|| theirs_ns / ours.max(1.0));
    let shown = |ratio: Option<f64>| ratio.map_or(Value::Null, |it| rounded(it, 1));
    let mut row: Vec<Value> = vec![
        it.shape.name().into(),
        it.rules_words().into(),
        seen.raises_ns.len().into(),
        rounded(median(seen.purged.clone()), 0),
        us(ours),
    ];
    row.extend(ends(&seen.raises_ns));
    row.extend([us(bound_ns as f64), us(allowance_ns as f64)]);
    row.extend([seen.exceeded.into(), seen.undecided.into(), seen.controlled.len().into()]);
    row.push(us(median(in_effect.clone())));
    row.extend(ends(&in_effect));
    row.extend([us(median(of(|change| change.confirmed))), us(drained)]);
    row.extend([shown(ratio(drained)), shown(ratio(drained + 2.0 * CHANNEL_NS))]);
    (row, ratio(drained))
}

fn notes(
    sheet: &mut Sheet,
    ratios: &[f64],
    (ours, theirs): (usize, usize),
    switches: SwitchProcesses,
) {
    sheet.note(
        "from the arrival of the frame in excess at the first switch to the swap of the last, or \
         until the last has carried out the controller's barrier (in effect), the controller knows \
         (confirmed), and no switch has packets queued that have no place in the new mode \
         (drained); the ratio is that of the medians of our change and of drained",
    );
    sheet.note(
        "the bound is certified; what this machine adds to it was measured before the runs of each \
         network; undecided: above both, but this machine served a switch late by more than that",
    );
    sheet.note(
        "with 500 us: the same ratio, reckoned, if each message to and from the controller took as much \
         longer, as in `changes`; on one machine it takes some tens of microseconds",
    );
    sheet.note("100+: packets wait for a line of 100 Mbit/s; a change takes them back");
    sheet.note(format!(
        "{}; the controller is a process too, speaks over TCP and, but for the channel, costs what \
         our own costs; {ours} raises of the switches and {theirs} of the controller never came, \
         or to no end",
        match switches {
            SwitchProcesses::Apart => "every switch and host is a process",
            SwitchProcesses::Together =>
                "every host is a process, all switches are one, whoever changes the mode: its \
                 thread never sleeps and has a processor for itself where there are two",
        }
    ));
    let short = ratios.iter().filter(|ratio| **ratio < TARGET_RATIO).count();
    if short > 0 {
        sheet.note(format!(
            "{short} of {} ratios are below the target of {TARGET_RATIO:.0}",
            ratios.len()
        ));
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?");
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    sheet.note(format!("{processors} processors, load average {load} at the end"));
}

/// A folder for the files of one network's runs, which goes with this.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("tenuto-bench-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(|error| {
            Failure::undecidable(format!("{} cannot be made: {error}", path.display()), None)
        })?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nobody can be told that a folder under the temporary ones is left.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
