//! Process 1 of a lab: starts the nodes, leads the run, passes on what they see, ends it in order.

use crate::lines::{self, LineReader, LineWriter};
use crate::log_line::log_line;
use crate::nodes::{Node, Nodes, leave_one_processor};
use crate::protocol::{
    LabCommand, LabJob, LabReport, NodeCommand, NodeReport, OBSERVATION_START, SwitchProcesses,
};
use crate::scenario_events::Script;
use std::io;
use std::os::fd::AsRawFd;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;
use tenuto_io::signals::{Signal, SignalFd, unblock_in};
use tenuto_io::{Interest, MonotonicClock, PollKey, PollSet};
use tenuto_units::{Instant, Span};
use tenuto_world::Observation;

/// Bytes for `tenuto up` that may wait.
const OUTPUT_BYTES_MAX: usize = 256 << 20;
/// So many bytes wait: nodes keep theirs for a while.
const OUTPUT_BYTES_HIGH: usize = 8 << 20;
/// Nodes may take so long to open their ports, and to be installed, each.
const SET_UP_PATIENCE: Span = Span::from_s(20);
const SET_UP_PATIENCE_PER_NODE: Span = Span::from_ms(500);
/// From the announcement of the start to the start: every host must have heard of it.
const START_AHEAD: Span = Span::from_ms(200);
const START_AHEAD_PER_NODE: Span = Span::from_ms(2);
/// How long nodes may take to tell that they are quiet, and to tell their last counters.
const QUIET_PATIENCE: Span = Span::from_s(2);
const FINISH_PATIENCE: Span = Span::from_s(3);
/// How often ended processes are looked for beside the signal.
const REAP_PERIOD: Span = Span::from_ms(500);

/// How long a lab may take to be set up, and to end when its sources and the frames on their way
/// have been waited for.
pub(crate) fn patience(job: &LabJob) -> (Span, Span) {
    let network = &job.plan.network;
    let nodes = network.hosts.len() + network.switches.len() + network.controllers.len() + 1;
    let each = SET_UP_PATIENCE_PER_NODE.times(u64::try_from(nodes).unwrap_or(u64::MAX));
    (SET_UP_PATIENCE + each, QUIET_PATIENCE + FINISH_PATIENCE)
}

/// Where the run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nodes open their ports, and controllers install.
    SettingUp {
        since: Instant,
    },
    Running {
        start: Instant,
        end: Instant,
    },
    /// Sources were told to stop; what is on its way may arrive.
    Draining {
        until: Instant,
    },
    Finishing {
        until: Instant,
    },
    Done,
}

pub(crate) struct Supervisor {
    pub(crate) job: LabJob,
    pub(crate) nodes: Nodes,
    pub(crate) poll: PollSet,
    writer: LineWriter,
    reader: LineReader,
    reader_key: PollKey,
    signals: SignalFd,
    signals_key: PollKey,
    script: Script,
    phase: Phase,
    quiet_told: bool,
    is_congested: bool,
    has_failed: bool,
    /// When processes were last looked after, and the time before that: what ends now was alive
    /// then.
    polled_at: Instant,
    alive_at: Instant,
}

/// Runs this process as the supervisor; its job is the first line of its standard input.
pub(crate) fn main() -> ExitCode {
    // Before any thread; process 1 would otherwise not be ended by them.
    let started =
        SignalFd::new(&[Signal::Interrupt, Signal::Terminate, Signal::HangUp, Signal::Child]);
    let run = started.and_then(|signals| {
        let stream = lines::inherited()?;
        let writer = LineWriter::new(stream.try_clone()?, OUTPUT_BYTES_MAX)?;
        let mut reader = LineReader::new(stream)?;
        let job: LabJob = lines::parse(&reader.first()?).map_err(io::Error::other)?;
        let mut supervisor = Supervisor::new(job, reader, writer, signals);
        let done = supervisor.run();
        if let Err(error) = &done {
            supervisor.fail(&error.to_string());
        }
        supervisor.nodes.kill_all();
        supervisor.writer.finish(Duration::from_secs(2));
        done
    });
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log_line(format_args!("supervisor: {error}"));
            ExitCode::FAILURE
        }
    }
}

impl Supervisor {
    fn new(job: LabJob, reader: LineReader, writer: LineWriter, signals: SignalFd) -> Self {
        let mut poll = PollSet::new();
        let reader_key = poll.add(reader.fd(), Interest::Read);
        let signals_key = poll.add(signals.as_raw_fd(), Interest::Read);
        let script = Script::new(&job.scenario);
        Self {
            nodes: Nodes::default(),
            poll,
            writer,
            reader,
            reader_key,
            signals,
            signals_key,
            script,
            phase: Phase::SettingUp { since: MonotonicClock::now() },
            quiet_told: false,
            is_congested: false,
            has_failed: false,
            polled_at: MonotonicClock::now(),
            alive_at: MonotonicClock::now(),
            job,
        }
    }

    fn run(&mut self) -> io::Result<()> {
        bind_hosts_file(&self.job);
        if self.job.switches == SwitchProcesses::Together {
            self.nodes.switch_processor = leave_one_processor()?;
        }
        self.nodes.spawn_namespaces(&self.job)?;
        let count = self.nodes.list.len();
        self.step(format!("{count} namespaces"));
        crate::wire_up::wire_up(&self.job.plan.network, &self.nodes.places())?;
        self.step(format!("{} links, management network", self.job.plan.network.links.len()));
        for place in 0..count {
            self.nodes.start(place, &self.job, &mut self.poll)?;
        }
        self.tell_nodes();
        while self.phase != Phase::Done {
            self.turn()?;
        }
        Ok(())
    }

    /// One wake-up: reads everything that is there, then does what is due.
    fn turn(&mut self) -> io::Result<()> {
        self.writer.write();
        let waiting = self.writer.pending();
        let interest = if waiting > 0 { Interest::ReadWrite } else { Interest::Read };
        self.poll.set_interest(self.reader_key, interest);
        self.set_congested(waiting > OUTPUT_BYTES_HIGH);
        let now = MonotonicClock::now();
        let due = self.deadline().min(now + REAP_PERIOD);
        self.alive_at = self.polled_at;
        self.poll.wait(Some(due))?;
        self.polled_at = MonotonicClock::now();
        self.read_commands()?;
        self.read_nodes()?;
        self.reap();
        self.advance()
    }

    fn deadline(&self) -> Instant {
        match self.phase {
            Phase::SettingUp { since } => since + self.set_up_patience(),
            Phase::Running { start, end } => {
                self.script.deadline(start).map_or(end, |at| at.min(end))
            }
            Phase::Draining { until } | Phase::Finishing { until } => until,
            Phase::Done => Instant::ZERO,
        }
    }

    fn set_up_patience(&self) -> Span {
        let count = u64::try_from(self.nodes.list.len()).unwrap_or(u64::MAX);
        SET_UP_PATIENCE + SET_UP_PATIENCE_PER_NODE.times(count)
    }

    fn set_congested(&mut self, is_congested: bool) {
        if self.is_congested != is_congested {
            self.is_congested = is_congested;
            let interest = if is_congested { Interest::None } else { Interest::Read };
            for key in self.nodes.list.iter().filter_map(Node::key) {
                self.poll.set_interest(key, interest);
            }
        }
    }

    fn read_commands(&mut self) -> io::Result<()> {
        let mut must_stop = false;
        if self.poll.readiness(self.signals_key).readable {
            while let Some(signal) = self.signals.next_pending()? {
                must_stop |= signal != Signal::Child;
            }
        }
        let readiness = self.poll.readiness(self.reader_key);
        if readiness.readable {
            let (mut drained, mut unreadable) = (false, false);
            let is_open = self.reader.read(|line| match lines::parse(line) {
                Ok(LabCommand::Stop) => must_stop = true,
                Ok(LabCommand::Drained) => drained = true,
                Err(_) => unreadable = true,
            })?;
            if !is_open || unreadable {
                return Err(io::Error::other("nobody leads this lab any more"));
            }
            if drained && let Phase::Draining { until } = &mut self.phase {
                *until = MonotonicClock::now();
            }
        }
        if must_stop {
            self.stop()?;
        }
        Ok(())
    }

    /// Ends the run from wherever it stands.
    fn stop(&mut self) -> io::Result<()> {
        match self.phase {
            Phase::SettingUp { .. } => self.finish(),
            Phase::Running { .. } => self.drain(),
            Phase::Draining { .. } | Phase::Finishing { .. } | Phase::Done => Ok(()),
        }
    }

    fn read_nodes(&mut self) -> io::Result<()> {
        for place in 0..self.nodes.list.len() {
            let mut reports = Vec::new();
            let Some(channel) = &mut self.nodes.list[place].channel else { continue };
            if !self.poll.readiness(channel.key).readable || self.is_congested {
                continue;
            }
            let writer = &mut self.writer;
            let mut has_word = false;
            let is_open = channel.reader.read(|line| {
                has_word = true;
                if line.starts_with(OBSERVATION_START) {
                    writer.push_line(line);
                } else if let Ok(report) = lines::parse::<NodeReport>(line) {
                    reports.push(report);
                }
            })?;
            if has_word {
                self.nodes.list[place].heard = MonotonicClock::now();
            }
            for report in reports {
                self.heard(place, report)?;
            }
            if !is_open {
                self.nodes.list[place].close(&mut self.poll);
                self.lost(place)?;
            }
        }
        Ok(())
    }

    fn heard(&mut self, place: usize, report: NodeReport) -> io::Result<()> {
        let node = &mut self.nodes.list[place];
        match report {
            NodeReport::Alive => {}
            NodeReport::Up => node.is_up = true,
            NodeReport::Ready => node.is_ready = true,
            NodeReport::Quiet => node.is_quiet = true,
            NodeReport::Ended => node.has_ended = true,
            NodeReport::Log { text } => log_line(format_args!("{}: {text}", node.name)),
            NodeReport::Failed { text } => {
                let text = format!("{} failed: {text}", node.name);
                log_line(&text);
                if matches!(self.phase, Phase::SettingUp { .. }) {
                    return Err(io::Error::other(text));
                }
                self.event(text, None, Vec::new());
            }
        }
        Ok(())
    }

    /// A node's channel has ended.
    fn lost(&mut self, place: usize) -> io::Result<()> {
        let node = &self.nodes.list[place];
        let name = node.name.clone();
        if node.has_ended || node.is_expected_to_end {
            return Ok(());
        }
        match self.phase {
            Phase::SettingUp { .. } => {
                Err(io::Error::other(format!("{name} ended while the lab was set up")))
            }
            Phase::Running { .. } | Phase::Draining { .. } => {
                self.died(place, "died", self.alive_at);
                self.tell_nodes();
                Ok(())
            }
            // What it has seen is not told any more.
            Phase::Finishing { .. } => {
                self.died(place, "died", self.alive_at);
                Ok(())
            }
            Phase::Done => Ok(()),
        }
    }

    /// The process of the node at this place is gone since then, and with it the nodes that it
    /// carries.
    ///
    /// What a host saw and did not tell is not known: it counts as gone since its last word.
    fn died(&mut self, place: usize, what: &str, since: Instant) {
        // It lived until its last sign of life (every 100 ms); what was lost behind that may be lost with it.
        let since = since.min(self.nodes.list[place].heard);
        let names: Vec<String> = self.nodes.carried_by(place).map(str::to_owned).collect();
        // Several at once are more than is tolerated of one.
        let tolerated = names.len() == 1 && self.tolerates_loss_of(place);
        self.tell_death(names.join(", "), what.to_owned(), since, tolerated);
    }

    pub(crate) fn tell_death(&mut self, who: String, what: String, at: Instant, tolerated: bool) {
        let at_ns = at.as_ns();
        self.writer.push(&Observation::Died { who, what, at_ns, tolerated });
    }

    /// Nodes that were to tell their last counters, and did not: as good as dead since they were
    /// heard of last.
    fn tell_silent(&mut self) {
        for place in 0..self.nodes.list.len() {
            let node = &self.nodes.list[place];
            if node.channel.is_some() && !node.has_ended && !node.is_expected_to_end {
                let heard = node.heard;
                self.died(place, "did not answer at the end; its last word came", heard);
            }
        }
    }

    /// Looks for processes that have ended.
    fn reap(&mut self) {
        for place in 0..self.nodes.list.len() {
            let ended = self.nodes.list[place].reap();
            let is_over = matches!(self.phase, Phase::Finishing { .. } | Phase::Done);
            if let Some(status) = ended.filter(|_| !is_over) {
                self.program_ended(place, status);
            }
        }
    }

    /// A program may end when it has done its work; one that fails is lost to the run.
    fn program_ended(&mut self, place: usize, status: ExitStatus) {
        let host = self.nodes.list[place].name.clone();
        if status.success() {
            return self.event(format!("the program of {host} has ended"), None, Vec::new());
        }
        let who = format!("the program of {host}");
        let what = match status.code() {
            // As a shell says it.
            Some(127) => "was not found".to_owned(),
            Some(126) => "cannot be executed".to_owned(),
            _ => format!("failed ({status})"),
        };
        self.tell_death(who, what, MonotonicClock::now(), false);
    }

    fn advance(&mut self) -> io::Result<()> {
        let now = MonotonicClock::now();
        match self.phase {
            Phase::SettingUp { since } => {
                if self.nodes.are_ready() {
                    return self.start();
                }
                if now.since(since) >= self.set_up_patience() {
                    let late = self.nodes.not_ready();
                    return Err(io::Error::other(format!("not ready in time: {late}")));
                }
            }
            Phase::Running { start, end } => {
                while let Some(event) = self.script.next_due(start, now) {
                    self.happen(&event);
                }
                if now >= end {
                    self.drain()?;
                }
            }
            Phase::Draining { until } => {
                if !self.quiet_told && self.nodes.are_quiet() {
                    self.quiet_told = true;
                    self.tell(&LabReport::Quiet { at_ns: now.as_ns() });
                }
                if now >= until {
                    self.finish()?;
                }
            }
            Phase::Finishing { until } => {
                if self.nodes.have_ended() || now >= self.finish_limit(until) {
                    self.tell_silent();
                    self.tell(&LabReport::Done { end_ns: now.as_ns() });
                    self.phase = Phase::Done;
                }
            }
            Phase::Done => {}
        }
        Ok(())
    }

    /// Everything is ready: traffic starts a moment from now, everywhere at once.
    fn start(&mut self) -> io::Result<()> {
        let count = u64::try_from(self.nodes.list.len()).unwrap_or(u64::MAX);
        let start = MonotonicClock::now() + START_AHEAD + START_AHEAD_PER_NODE.times(count);
        let end = start + Span::from_ns(self.job.scenario.duration_ns);
        self.step("every switch is installed, confirmed and read back".into());
        self.tell(&LabReport::Started { start_ns: start.as_ns() });
        self.event_at("ready: every switch is installed and confirmed".into(), start);
        self.nodes.command_hosts(&NodeCommand::Start { start_ns: start.as_ns() });
        self.phase = Phase::Running { start, end };
        self.script.add_programs(&self.job.scenario);
        Ok(())
    }

    /// Nodes that still tell what they have seen are heard out.
    fn finish_limit(&self, until: Instant) -> Instant {
        let waiting = self.nodes.list.iter().filter(|node| node.channel.is_some());
        let heard = waiting.map(|node| node.heard).max();
        heard.map_or(until, |heard| until.max(heard + FINISH_PATIENCE))
    }

    fn drain(&mut self) -> io::Result<()> {
        self.step("senders stop".into());
        self.nodes.command_hosts(&NodeCommand::StopSenders);
        let until = MonotonicClock::now() + QUIET_PATIENCE + Span::from_ns(self.job.drain_ns);
        self.phase = Phase::Draining { until };
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.step("nodes tell their last counters".into());
        self.nodes.kill_programs();
        self.nodes.command_all(&NodeCommand::Finish);
        self.phase = Phase::Finishing { until: MonotonicClock::now() + FINISH_PATIENCE };
        Ok(())
    }

    pub(crate) fn tell_nodes(&mut self) {
        let nodes = self.nodes.entries(&self.job);
        self.tell(&LabReport::Nodes { nodes });
    }

    fn step(&mut self, text: String) {
        self.tell(&LabReport::Step { text });
    }

    fn tell(&mut self, report: &LabReport) {
        self.writer.push(report);
        self.writer.write();
    }

    /// Something happened that the ledger shall know.
    pub(crate) fn event(&mut self, text: String, tolerated: Option<bool>, misbehaving: Vec<u16>) {
        let at_ns = MonotonicClock::now().as_ns();
        self.writer.push(&Observation::Event { text, at_ns, tolerated, misbehaving });
    }

    fn event_at(&mut self, text: String, at: Instant) {
        let at_ns = at.as_ns();
        let event = Observation::Event { text, at_ns, tolerated: None, misbehaving: Vec::new() };
        self.writer.push(&event);
    }

    pub(crate) fn observe(&mut self, observation: &Observation) {
        self.writer.push(observation);
    }

    fn fail(&mut self, text: &str) {
        if !std::mem::replace(&mut self.has_failed, true) {
            self.tell(&LabReport::Failed { text: text.to_owned() });
        }
    }
}

/// Makes host names known to programs; best effort, and seen inside the lab only.
fn bind_hosts_file(job: &LabJob) {
    let path = job.run_dir.join("hosts");
    let mut command = Command::new("mount");
    command.arg("--bind").arg(&path).arg("/etc/hosts");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    unblock_in(&mut command);
    match command.status() {
        Ok(status) if status.success() => {}
        other => {
            log_line(format_args!("host names are not in /etc/hosts of the lab: {other:?}"));
        }
    }
}
