//! One tenant as its supervisor sees it: what it should do, what it does, and what happened so far.

use crate::backoff::Backoff;
use crate::groups::Groups;
use crate::log::{BoundedLog, LogPace};
use crate::observe;
use crate::process::{Process, Surroundings, control_addresses, read_report, user_of};
use crate::receive_choice::ReceiveChoice;
use crate::setup::{Missing, Report};
use crate::state::StateFolder;
use crate::status::{TenantState, TenantStatus};
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use tenuto_io::MonotonicClock;
use tenuto_model::{NicReceive, ReceivePath, Restart, Tenant};
use tenuto_units::{Instant, Span};

/// How long a program may take to end after it was asked to.
const GRACE: Span = Span::from_s(5);
/// Bytes of a log that are taken at a time, so that one tenant does not keep others waiting.
const LOG_BYTES_AT_ONCE: usize = 64 << 10;

/// What all tenants of a supervisor share.
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) state: StateFolder,
    pub(crate) groups: Groups,
    /// Whether each tenant can be a user of its own outside.
    pub(crate) has_users: bool,
    /// User and group of the supervisor.
    pub(crate) own: (u32, u32),
}

/// A tenant and its present process.
pub(crate) struct Supervised {
    pub(crate) tenant: Tenant,
    pub(crate) process: Option<Process>,
    phase: TenantState,
    /// When it starts again, or is ended the hard way.
    deadline: Option<Instant>,
    backoff: Backoff,
    restarts: u64,
    last_end: Option<String>,
    start_took: Option<Span>,
    missing: Vec<Missing>,
    /// How frames for it are received, once that is chosen.
    receive: NicReceive,
    /// What was measured of receive paths when it started.
    choice: Option<ReceiveChoice>,
    log: BoundedLog,
    log_pace: LogPace,
    log_paused_until: Option<Instant>,
    /// What it is once it has ended; `None` for nothing.
    next: Option<Tenant>,
    /// Whether it is to be forgotten once it has ended.
    pub(crate) is_leaving: bool,
}

impl Supervised {
    pub(crate) fn new(tenant: Tenant, host: &Host) -> io::Result<Self> {
        let log = BoundedLog::open(host.state.log(&tenant.name), tenant.log_bytes)?;
        let backoff = Backoff::new(Span::from_ns(tenant.backoff_max_ns));
        let log_pace = LogPace::new(tenant.log_bytes);
        Ok(Self {
            tenant,
            process: None,
            phase: TenantState::Ended,
            deadline: None,
            backoff,
            restarts: 0,
            last_end: None,
            start_took: None,
            missing: Vec::new(),
            receive: NicReceive::INLINE,
            choice: None,
            log,
            log_pace,
            log_paused_until: None,
            next: None,
            is_leaving: false,
        })
    }

    /// Starts its sandbox; what comes of it is found by its report.
    pub(crate) fn start(&mut self, host: &Host) -> String {
        let now = MonotonicClock::now();
        self.missing.clear();
        match self.process(host) {
            Ok(process) => {
                let line = format!("{} starting, process {}", self.tenant.name, process.pid);
                self.process = Some(process);
                (self.phase, self.deadline) = (TenantState::Starting, None);
                line
            }
            Err(why) => {
                let line = format!("{} cannot be started: {why}", self.tenant.name);
                self.last_end = Some(why);
                self.after_end(now, now, false);
                line
            }
        }
    }

    /// The tenant with the receive path that was chosen for it, if it leaves that to the machine.
    fn resolved(&mut self, host: &Host) -> Tenant {
        let mut tenant = self.tenant.clone();
        self.choice = ReceiveChoice::kept(&host.state);
        if tenant.nic.is_some() && tenant.receive.path == ReceivePath::Auto {
            tenant.receive =
                self.choice.as_ref().map_or(NicReceive::INLINE, ReceiveChoice::receive);
        }
        self.receive = tenant.receive;
        tenant
    }

    fn process(&mut self, host: &Host) -> Result<Process, String> {
        let tenant = self.resolved(host);
        let group = host.groups.make(&self.tenant).map_err(|error| error.to_string())?;
        let user = match host.has_users {
            true => [user_of(&host.name, &self.tenant.name); 2].into(),
            false => host.own,
        };
        let limits_memory = host.groups.limits_memory();
        Process::start(&tenant, Surroundings { host: &host.name, group, limits_memory, user })
    }

    /// Takes the report of its first process.
    pub(crate) fn take_report(&mut self) -> Option<String> {
        let process = self.process.as_mut()?;
        let mut line = vec![0; 16 << 10];
        let read = process.report.as_mut()?.read(&mut line).unwrap_or(0);
        process.report = None;
        let name = &self.tenant.name;
        match read_report(&line[..read]) {
            Report::Started(missing) => {
                let took = MonotonicClock::now().since(process.started);
                self.missing = missing;
                self.missing.append(&mut process.missing);
                self.start_took = Some(took);
                if self.phase == TenantState::Starting {
                    self.phase = TenantState::Running;
                }
                Some(format!("{name} runs, after {:.1} ms", took.as_ns() as f64 / 1e6))
            }
            Report::Failed(why) => {
                let line = format!("{name} failed: {why}");
                self.last_end = Some(why);
                Some(line)
            }
        }
    }

    /// Whether its log is to be read: one that floods waits for the next second, and its program with it.
    pub(crate) fn log_is_due(&self) -> bool {
        self.log_paused_until.is_none()
    }

    /// Takes what it has written, up to a limit; an error is that of the log's file.
    pub(crate) fn take_log(&mut self) -> io::Result<()> {
        let Some(process) = self.process.as_mut() else { return Ok(()) };
        let Some(source) = process.log.as_mut() else { return Ok(()) };
        let mut text = vec![0; LOG_BYTES_AT_ONCE];
        let read = source.read(&mut text).unwrap_or(0);
        if read == 0 {
            process.log = None;
        }
        self.log_paused_until = self.log_pace.after(read, MonotonicClock::now());
        self.log.append(&text[..read])
    }

    /// Asks it to end.
    pub(crate) fn stop(&mut self) {
        self.next = None;
        match &self.process {
            Some(process) => {
                if self.phase != TenantState::Stopping {
                    process.terminate();
                    self.deadline = Some(MonotonicClock::now() + GRACE);
                }
                self.phase = TenantState::Stopping;
            }
            None => (self.phase, self.deadline) = (TenantState::Ended, None),
        }
    }

    /// Ends it and starts it again as `tenant`.
    pub(crate) fn become_tenant(&mut self, tenant: Tenant, host: &Host) -> io::Result<()> {
        self.stop();
        if self.process.is_some() {
            self.next = Some(tenant);
            return Ok(());
        }
        self.renew(tenant, host)
    }

    fn renew(&mut self, tenant: Tenant, host: &Host) -> io::Result<()> {
        self.log = BoundedLog::open(host.state.log(&tenant.name), tenant.log_bytes)?;
        self.log_pace = LogPace::new(tenant.log_bytes);
        self.backoff = Backoff::new(Span::from_ns(tenant.backoff_max_ns));
        self.tenant = tenant;
        (self.phase, self.deadline) = (TenantState::Waiting, Some(MonotonicClock::now()));
        Ok(())
    }

    /// Whether it ended for good.
    pub(crate) fn is_ended(&self) -> bool {
        self.phase == TenantState::Ended && self.process.is_none()
    }

    /// When something is to be done about it.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline.into_iter().chain(self.log_paused_until).min()
    }

    /// Does what is due: starts it again, or ends it the hard way.
    pub(crate) fn act(&mut self, now: Instant, host: &Host) -> Option<String> {
        self.log_paused_until = self.log_paused_until.filter(|until| *until > now);
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return None;
        }
        self.deadline = None;
        match self.phase {
            TenantState::Waiting => {
                self.restarts += u64::from(self.last_end.is_some());
                Some(self.start(host))
            }
            TenantState::Stopping => {
                let process = self.process.as_mut()?;
                process.kill();
                Some(format!("{} did not end when asked, and was killed", self.tenant.name))
            }
            _ => None,
        }
    }

    /// Looks whether its process has ended, and says what comes of that.
    pub(crate) fn look(&mut self, host: &Host) -> io::Result<Vec<String>> {
        let Some(process) = self.process.as_mut() else { return Ok(Vec::new()) };
        let Some(status) = process.ended()? else { return Ok(Vec::new()) };
        let started = process.started;
        // A short life: its report is still there.
        let mut lines: Vec<String> = self.take_report().into_iter().collect();
        self.drain();
        self.process = None;
        let words = words_of(status);
        if self.start_took.is_some() || self.last_end.is_none() {
            self.last_end = Some(words.clone());
        }
        self.start_took = None;
        self.after_end(started, MonotonicClock::now(), status.success());
        if let Some(next) = self.next.take() {
            self.renew(next, host)?;
        }
        lines.push(format!("{} ended: {words}", self.tenant.name));
        Ok(lines)
    }

    /// Takes what is left of its log; a file that cannot be written has been told before.
    fn drain(&mut self) {
        const TURNS_MAX: usize = 64;
        for _ in 0..TURNS_MAX {
            let Some(log) = self.process.as_ref().and_then(|process| process.log.as_ref()) else {
                return;
            };
            let mut set = tenuto_io::PollSet::new();
            set.add(std::os::fd::AsRawFd::as_raw_fd(log), tenuto_io::Interest::Read);
            let is_ready = set.wait(Some(MonotonicClock::now())).is_ok_and(|ready| ready > 0);
            if !is_ready || self.take_log().is_err() {
                return;
            }
        }
    }

    fn after_end(&mut self, started: Instant, now: Instant, is_success: bool) {
        let again = match self.tenant.restart {
            Restart::Always => true,
            Restart::OnFailure => !is_success,
            Restart::Never => false,
        };
        if again && self.phase != TenantState::Stopping {
            self.phase = TenantState::Waiting;
            self.deadline = Some(self.backoff.after(started, now));
        } else {
            (self.phase, self.deadline) = (TenantState::Ended, None);
        }
    }

    /// What is observed of it.
    pub(crate) fn status(&self) -> TenantStatus {
        let process = self.process.as_ref();
        let group = process.map(|process| &process.group);
        let seen = process.and_then(|process| observe::look(process.pid));
        let crossed = process.and_then(|process| process.nic.as_ref()?.crossed());
        let nic = self.tenant.nic.as_ref();
        TenantStatus {
            tenant: self.tenant.name.clone(),
            environment: self.tenant.environment.name().to_owned(),
            state: self.phase,
            pid: process.map(|process| process.pid),
            running_ns: process.map(|it| MonotonicClock::now().since(it.started).as_ns()),
            start_took_ns: self.start_took.map(Span::as_ns),
            processes: group.and_then(|it| it.processes()).or(seen.map(|seen| seen.threads)),
            restarts: self.restarts,
            last_end: self.last_end.clone(),
            memory_bytes: group
                .and_then(|it| it.memory_bytes())
                .or(seen.map(|seen| seen.memory_bytes)),
            memory_bytes_max: group.and_then(|it| it.memory_bytes_max()),
            cpu_ns: group.and_then(|it| it.cpu_ns()).or(seen.map(|seen| seen.cpu_ns)),
            memory_kills: group.and_then(|it| it.memory_kills()),
            process_refusals: group.and_then(|it| it.process_refusals()),
            address: nic.map(|nic| format!("{}/{}", nic.address, nic.prefix_bits)),
            control: nic.map_or(Vec::new(), |nic| control_addresses(nic.address, &nic.control)),
            frames_sent: crossed.map(|crossed| crossed.sent),
            frames_received: crossed.map(|crossed| crossed.received),
            frames_dropped: crossed.map(|crossed| crossed.dropped),
            receive: received_by(self.receive.path, process),
            receive_why: self.why_received(),
            receive_ring_frames: process.and_then(|it| it.nic.as_ref()?.ring_frames()),
            receive_wait_ns: process
                .and_then(|it| self.receive_wait(it.nic.as_ref()?.ring_frames()?)),
            receive_cpu_ns: process.and_then(|it| it.nic.as_ref()?.receive_time()).map(Span::as_ns),
            frames_policed: process.and_then(|process| process.nic.as_ref()?.policed()),
            missing: self.missing.clone(),
        }
    }
}

impl Supervised {
    /// Why frames for it are received so, where that was left to the machine.
    fn why_received(&self) -> Vec<String> {
        match (&self.choice, self.tenant.receive.path, &self.tenant.nic) {
            (Some(choice), ReceivePath::Auto, Some(_)) => choice.reasons.clone(),
            (None, ReceivePath::Auto, Some(_)) => {
                vec![
                    "inline: nothing was measured on this machine yet (`tenants check` does)"
                        .into(),
                ]
            }
            _ => Vec::new(),
        }
    }

    /// How long a frame waits for the others of a full ring, at the time that one has been seen to take.
    fn receive_wait(&self, ring_frames: u32) -> Option<u64> {
        let frame_ns = self.choice.as_ref()?.frame_ns(self.receive.path)?;
        Some(frame_ns.saturating_mul(ring_frames.into()))
    }
}

/// The receive path that it has, which may be less than was asked for.
fn received_by(path: ReceivePath, process: Option<&Process>) -> Option<String> {
    let nic = process?.nic.as_ref()?;
    let path = match nic.ring_frames() {
        Some(_) => path,
        None => ReceivePath::Inline,
    };
    Some(path.name().to_owned())
}

/// An end as people say it; a guardian ends with 128 + n where signal n ended its child.
fn words_of(status: ExitStatus) -> String {
    const SIGNAL: i32 = 128;
    match (status.code(), status.signal()) {
        (Some(code), _) if code > SIGNAL => format!("signal {}", code - SIGNAL),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "it is not known how".to_owned(),
    }
}
