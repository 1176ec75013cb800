//! `tenuto up`: starts a lab, keeps the books of its run, and shows how it goes.
//!
//! The lab runs in processes of its own; here is what judges it: one ledger that takes in what
//! every node has seen. When this process dies, the kernel removes the lab.

use crate::allowance::{HostService, MeasuredOn};
use crate::books::Books;
use crate::controlled_run::ControlledRun;
use crate::lines::{self, LineReader, LineWriter};
use crate::protocol::{LabCommand, LabJob, ModeController, ModeDriver, NodeEntry, SwitchProcesses};
use crate::watch::{Patience, Watch};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use tenuto_io::MonotonicClock;
use tenuto_io::namespaces::{
    LabNamespaces, SpawnError, namespace_rights, spawn_in_new_namespaces, supervisor_of,
};
use tenuto_model::{EventAction, Plan, Scenario, Transition};
use tenuto_units::Span;
use tenuto_world::{LedgerSettings, MachineRow, Played, ProgressRow, RunDocument};

/// First argument of the supervisor's process.
pub(crate) const ROLE_SUPERVISOR: &str = "__supervisor";
/// What the supervisor writes its log to, in the run directory.
pub(crate) const LOG_FILE: &str = "lab.log";
/// Where the processes of the lab are named, in the run directory.
pub(crate) const NODES_FILE: &str = "nodes.json";
/// Jobs and commands that may wait for the supervisor.
const COMMAND_BYTES_MAX: usize = 512 << 20;
/// Without any bound, messages are waited for so long at the end.
const DRAIN_NS_DEFAULT: u64 = 1_000_000_000;
/// And never longer than this.
const DRAIN_NS_MAX: u64 = 20_000_000_000;
/// What `tenuto up` shows while a lab runs.
pub trait Ui {
    /// A step of starting or ending, with the time since the call of [`up`].
    fn step(&mut self, text: &str);
    /// Where every flow stands, the mode in force, and the time since traffic started.
    fn progress(&mut self, rows: &[ProgressRow], mode: &str, elapsed: Span);
    /// Something happened in the run.
    fn event(&mut self, text: &str);
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Ui for Silent {
    fn step(&mut self, _text: &str) {}
    fn progress(&mut self, _rows: &[ProgressRow], _mode: &str, _elapsed: Span) {}
    fn event(&mut self, _text: &str) {}
}

/// How to run a lab.
#[derive(Clone, Debug)]
pub struct UpOptions {
    /// Length of the run instead of the scenario's, nanoseconds.
    pub duration_ns: Option<u64>,
    /// The plan is of the network run so many times slower (see [`crate::slowed`]); 1 = as it is.
    pub slow: u64,
    /// An existing directory for `nodes.json`, `hosts` and the log.
    pub run_dir: PathBuf,
    /// What this machine adds to bounds, see [`crate::allowances`].
    pub allowances: crate::Allowances,
    /// Seed instead of the scenario's.
    pub seed: Option<u64>,
    /// Which processes the switches run in.
    pub switches: SwitchProcesses,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct UpOutcome {
    /// What was observed, beside what was proved.
    pub document: RunDocument,
    /// The user ended it early; the document's verdict says so where nothing worse happened.
    pub interrupted: bool,
    /// The lab ended without being asked: why, as far as is known. The document has what was
    /// observed until then.
    pub crashed: Option<String>,
    /// The user ended it before any traffic, or asked twice: nothing more is to be worked out.
    pub at_once: bool,
}

/// Why there was no run.
#[derive(Debug, thiserror::Error)]
pub enum UpError {
    /// A right is missing.
    #[error("not permitted: {right}\n  {command}")]
    NotPermitted {
        /// What is missing, with the kernel's reason.
        right: String,
        /// What gives it.
        command: String,
    },
    /// The plan cannot be run.
    #[error("{0}")]
    Plan(String),
    /// The lab could not be set up.
    #[error("the lab could not be set up: {0}")]
    SetUp(String),
    /// Reading or writing failed here.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// The reason.
        error: io::Error,
    },
}

/// `nodes.json`: the processes of a running lab.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodesFile {
    /// The process outside that stands for the lab; killing it ends everything.
    pub guardian: u32,
    /// Every node.
    pub nodes: Vec<NodeEntry>,
}

/// Runs a plan on this machine, with real frames, until the scenario is over or Ctrl-C.
///
/// Call it from the thread that the program lives by, before any other is started: the lab dies
/// with it, and signals are taken by it.
///
/// # Errors
/// When there was no run at all. A run that ended early has an outcome.
pub fn up(
    plan: &Plan,
    scenario: &Scenario,
    options: &UpOptions,
    ui: &mut dyn Ui,
) -> Result<UpOutcome, UpError> {
    let Ended { mut books, interrupted, at_once, crashed } =
        run(plan, scenario, options, ModeDriver::Switches, ui)?;
    if let Some(text) = &crashed {
        books.crashed(text);
    }
    if interrupted {
        books.stopped();
    }
    let mut document = books.close();
    let machine = |service| machine(service, options.switches);
    document.machine = options.allowances.service.as_ref().map(machine);
    Ok(UpOutcome { document, interrupted, crashed, at_once })
}

/// Runs a plan as [`up`] does, but that this controller changes the mode, whenever a switch tells it
/// of an excess, and brings the lowest mode back some time later: what switches that change by
/// themselves are held against. Nothing is promised, and nothing judged.
///
/// # Errors
/// As [`up`], and when the lab ended early.
pub fn up_by_controller(
    plan: &Plan,
    scenario: &Scenario,
    options: &UpOptions,
    by: ModeController,
    ui: &mut dyn Ui,
) -> Result<ControlledRun, UpError> {
    let Ended { books, interrupted, crashed, .. } =
        run(plan, scenario, options, ModeDriver::Controller(by), ui)?;
    match crashed {
        Some(text) => Err(UpError::SetUp(text)),
        None => Ok(ControlledRun { interrupted, ..books.close_controlled() }),
    }
}

/// A run that is over, and not judged yet.
struct Ended<'a> {
    books: Books<'a>,
    interrupted: bool,
    at_once: bool,
    crashed: Option<String>,
}

fn run<'a>(
    plan: &'a Plan,
    scenario: &Scenario,
    options: &UpOptions,
    driver: ModeDriver,
    ui: &mut dyn Ui,
) -> Result<Ended<'a>, UpError> {
    let began = MonotonicClock::now();
    check(plan)?;
    let job = job_of(plan, scenario, options, driver)?;
    let settings = LedgerSettings {
        world: "live",
        seed: job.seed,
        slow: options.slow,
        start_ns: 0,
        host_allowance_ns: options.allowances.host_ns.clone(),
        change_allowance_ns: options.allowances.change_ns,
        played: Played::live(&job.plan.network, &job.scenario),
    };
    let hosts = job.run_dir.join("hosts");
    fs::write(&hosts, crate::wire_up::hosts_file(&plan.network))
        .map_err(io_error(&format!("{} cannot be written", hosts.display())))?;
    let lab = Lab::start(&job)?;
    let mut watch = Watch {
        lab,
        books: Books::new(plan, settings),
        ui,
        began,
        interrupted: false,
        at_once: false,
        patience: Patience::of(&job),
    };
    let crashed = watch.run();
    let Watch { lab, books, interrupted, at_once, .. } = watch;
    let run_dir = &job.run_dir;
    // There is no lab to enter any more.
    let _ = fs::remove_file(run_dir.join(NODES_FILE));
    let crashed = crashed.map(|text| format!("{text}{}", lab.last_words(run_dir)));
    match (&crashed, books.has_started()) {
        (Some(text), false) => Err(UpError::SetUp(text.clone())),
        (None, false) if !interrupted => {
            Err(UpError::SetUp(format!("no traffic started{}", lab.last_words(run_dir))))
        }
        _ => Ok(Ended { books, interrupted, at_once, crashed }),
    }
}

fn job_of(
    plan: &Plan,
    scenario: &Scenario,
    options: &UpOptions,
    driver: ModeDriver,
) -> Result<LabJob, UpError> {
    let duration_ns = options.duration_ns.unwrap_or(scenario.duration_ns);
    let scenario = scenario.clone().played_for(duration_ns);
    check_events(plan, &scenario, options.switches)?;
    let seed = options.seed.unwrap_or(scenario.seed);
    Ok(LabJob {
        // Its signals are believed by it: nobody beside the lab is to guess it.
        secret: tenuto_io::random_bytes().map_err(io_error("the system's random source"))?,
        stall_allowance_ns: options.allowances.stall_ns,
        drain_ns: drain_ns(plan, &options.allowances),
        run_dir: fs::canonicalize(&options.run_dir).map_err(io_error("run directory"))?,
        plan: Plan {
            switches: plan.switches.iter().map(|d| options.allowances.applied(d)).collect(),
            ..plan.clone()
        },
        scenario,
        seed,
        driver,
        switches: options.switches,
        rings: options.allowances.service.is_none_or(|it| it.measured_on != MeasuredOn::Packet),
    })
}

/// This machine, for the report.
fn machine(service: &HostService, switches: SwitchProcesses) -> MachineRow {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let is_measured = service.wakeups > 0;
    let measured = |ns: u64| is_measured.then_some(ns);
    let measured_on = match service.measured_on {
        MeasuredOn::Nothing => "",
        MeasuredOn::Timers => ", measured on timers alone",
        MeasuredOn::Packet => ", measured on packet ports",
        MeasuredOn::PacketRing => ", measured on packet-ring ports",
    };
    let waits = match switches {
        SwitchProcesses::Together if processors > 1 => {
            "all switches on one thread that never sleeps, the others block"
        }
        SwitchProcesses::Together => "all switches on one thread, wait policy block",
        SwitchProcesses::Apart => "wait policy block",
    };
    MachineRow {
        text: format!("{processors} processors, AF_PACKET over veth, {waits}{measured_on}"),
        wake_up_ns_p50: measured(service.wakeup_ns_p50),
        wake_up_ns_p999: measured(service.wakeup_ns_p999),
        wake_up_ns_max: measured(service.wakeup_ns_max),
        host_allowance_ns: Some(service.stall_allowance_ns),
    }
}

fn check(plan: &Plan) -> Result<(), UpError> {
    let network = &plan.network;
    let missing =
        network.switches.iter().find(|s| plan.switches.iter().all(|d| d.switch != s.name));
    if let Some(switch) = missing {
        return Err(UpError::Plan(format!("the plan says nothing of what {} does", switch.name)));
    }
    let missing = network.hosts.iter().find(|h| plan.hosts.iter().all(|d| d.host != h.name));
    match missing {
        Some(host) => {
            Err(UpError::Plan(format!("the plan says nothing of what {} does", host.name)))
        }
        None => Ok(()),
    }
}

/// A switch that shares its process cannot end alone.
fn check_events(
    plan: &Plan,
    scenario: &Scenario,
    switches: SwitchProcesses,
) -> Result<(), UpError> {
    use EventAction::{KillNode, StartNode, StopNode};
    if switches == SwitchProcesses::Apart {
        return Ok(());
    }
    for event in &scenario.events {
        let (KillNode { node } | StopNode { node } | StartNode { node }) = &event.action else {
            continue;
        };
        if plan.network.switches.iter().any(|switch| switch.name == *node) {
            let at_ms = event.at_ns / 1_000_000;
            return Err(UpError::Plan(format!(
                "the scenario ends or starts {node} at {at_ms} ms, but all switches share one \
                 process: run them apart"
            )));
        }
    }
    Ok(())
}

fn io_error(what: &str) -> impl FnOnce(io::Error) -> UpError {
    let what = what.to_owned();
    move |error| UpError::Io { what, error }
}

/// How long after the last release a frame may still be on its way.
fn drain_ns(plan: &Plan, allowances: &crate::Allowances) -> u64 {
    let bounds = plan.flows.iter().filter_map(|row| row.delay_bound_ps);
    let longest = bounds.max().map(|ps| ps.div_ceil(1_000));
    let host = allowances.host_ns.values().max().copied().unwrap_or(0);
    longest.unwrap_or(DRAIN_NS_DEFAULT).saturating_add(host).min(DRAIN_NS_MAX)
}

/// The namespaces in which this process may run a lab, found by trying; takes some milliseconds.
///
/// # Errors
/// [`UpError::NotPermitted`], with the kernel's reason and what would help.
pub fn lab_namespaces() -> Result<LabNamespaces, UpError> {
    let rights = namespace_rights();
    rights.lab().map_err(|refusal| UpError::NotPermitted {
        right: format!("namespaces: {refusal}"),
        command: match refusal.sysctl {
            Some((name, _)) => format!("sudo sysctl -w {name}={}", allowing(name)),
            None => "run as root, or allow user namespaces; see `tenuto doctor`".into(),
        },
    })
}

/// The lab, seen from outside.
pub(crate) struct Lab {
    pub(crate) guardian: Child,
    pub(crate) reader: LineReader,
    pub(crate) writer: LineWriter,
    run_dir: PathBuf,
}

impl Lab {
    fn start(job: &LabJob) -> Result<Self, UpError> {
        let namespaces = lab_namespaces()?;
        let set_up = |error: io::Error| UpError::SetUp(error.to_string());
        let (stream, stdin) = lines::pair().map_err(set_up)?;
        let log = File::create(job.run_dir.join(LOG_FILE)).map_err(io_error(LOG_FILE))?;
        let mut command = Command::new(crate::nodes::THIS_PROGRAM);
        command.arg(ROLE_SUPERVISOR).stdin(stdin);
        command.stdout(log.try_clone().map_err(set_up)?).stderr(log);
        // Ctrl-C at the terminal is for us; we end the lab in order.
        command.process_group(0);
        let guardian = spawn_in_new_namespaces(command, &namespaces).map_err(refused)?;
        let mut lab = Self {
            guardian,
            writer: LineWriter::new(stream.try_clone().map_err(set_up)?, COMMAND_BYTES_MAX)
                .map_err(set_up)?,
            reader: LineReader::new(stream).map_err(set_up)?,
            run_dir: job.run_dir.clone(),
        };
        lab.writer.push(job);
        Ok(lab)
    }

    pub(crate) fn tell(&mut self, command: LabCommand) {
        self.writer.push(&command);
        self.writer.write();
    }

    pub(crate) fn name_nodes(&self, mut nodes: Vec<NodeEntry>) {
        let supervisor = supervisor_of(self.guardian.id()).ok();
        for node in &mut nodes {
            let inside = node.pid.zip(supervisor);
            node.pid = inside.and_then(|(pid, supervisor)| seen_from_here(pid, supervisor));
        }
        let file = NodesFile { guardian: self.guardian.id(), nodes };
        let path = self.run_dir.join(NODES_FILE);
        // Only `tenuto exec` needs it.
        let written = serde_json::to_vec_pretty(&file).map(|bytes| fs::write(path, bytes));
        drop(written);
    }

    /// The end of the lab's log, for somebody who wonders.
    fn last_words(&self, run_dir: &Path) -> String {
        let log = fs::read_to_string(run_dir.join(LOG_FILE)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(5)..];
        last.iter().map(|line| format!("\n  {line}")).collect()
    }
}

/// The number by which we know a child of the supervisor, which knows it as `inside`.
fn seen_from_here(inside: u32, supervisor: u32) -> Option<u32> {
    let numbers = fs::read_dir("/proc").ok()?.filter_map(|entry| {
        let name = entry.ok()?.file_name();
        name.to_str()?.parse::<u32>().ok()
    });
    let is_it = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let last = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().last()?.parse::<u32>().ok()
        };
        last("PPid:") == Some(supervisor) && last("NSpid:") == Some(inside)
    };
    numbers.into_iter().find(is_it)
}

/// The lab never outlives this.
impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.guardian.kill();
        let _ = self.guardian.wait();
    }
}

fn refused(error: SpawnError) -> UpError {
    match error {
        SpawnError::Refused { step, error } => UpError::NotPermitted {
            right: step.refusal(&error),
            command: "run as root, or see `tenuto doctor`".into(),
        },
        other => UpError::SetUp(other.to_string()),
    }
}

fn allowing(sysctl: &str) -> &'static str {
    match sysctl {
        "kernel.unprivileged_userns_clone" => "1",
        "user.max_user_namespaces" => "10000",
        _ => "0",
    }
}

/// Bounds' allowance per flow, target and row: as the ledger wants it.
pub(crate) type HostAllowances = BTreeMap<(u16, String, Transition), u64>;
