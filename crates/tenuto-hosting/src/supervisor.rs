//! The supervisor: one thread that starts, watches, restarts and ends every tenant.
//!
//! It holds no tenant's work and reads none of a tenant's bytes but its log, so that none can make it
//! wait for long. When it dies, all sandboxes die with it: each guardian has asked for that.

use crate::control::{self, Answer, Request};
use crate::groups::Mounted;
use crate::process::user_of;
use crate::setup::Missing;
use crate::state::StateFolder;
use crate::status::Status;
use crate::supervised::{Host, Supervised};
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use tenuto_io::signals::{Signal, SignalFd};
use tenuto_io::{Interest, MonotonicClock, PollKey, PollSet};
use tenuto_model::TenantsFile;
use tenuto_units::{Instant, Span};

/// How a supervisor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorEnd {
    /// By `stop`, or SIGTERM.
    Stopped,
    /// By Ctrl-C.
    Interrupted,
}

/// Between two tries to remove groups of processes that are ending.
const BEFORE_NEXT_TRY: Span = Span::from_ms(20);
const TRIES: usize = 100;

/// Runs the tenants of a file until it is told to end; `boxed` says that it does so in a network
/// namespace of its own, without rights on the machine.
///
/// # Errors
///
/// When the state folder cannot be made, another supervisor uses it, or the machine's limits end it.
pub fn supervise(file: TenantsFile, state: StateFolder, boxed: bool) -> io::Result<SupervisorEnd> {
    let signals =
        SignalFd::new(&[Signal::Child, Signal::Terminate, Signal::Interrupt, Signal::HangUp])?;
    state.make()?;
    let listener = listen(&state)?;
    let (mut supervisor, missing) = Supervisor::new(&file.name, state, boxed);
    for lack in &missing {
        supervisor.say(&format!("missing: {}: {}", lack.what, lack.why));
    }
    supervisor.missing = missing;
    supervisor.apply(file)?;
    let end = supervisor.run(signals, &listener);
    let _ = fs::remove_file(supervisor.host.state.socket());
    supervisor.remove_groups();
    supervisor.is_over = true;
    supervisor.answer_waiting(|_| true);
    end
}

/// Takes the socket; one that nobody answers at is of a supervisor that was killed.
fn listen(state: &StateFolder) -> io::Result<UnixListener> {
    let socket = state.socket();
    if UnixStream::connect(&socket).is_ok() {
        let text = format!("another supervisor runs in {}", state.path().display());
        return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
    }
    let _ = fs::remove_file(&socket);
    UnixListener::bind(&socket)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", socket.display())))
}

/// What this machine does not give to any tenant, before any is started.
pub(crate) fn lacking(boxed: bool, has_users: bool) -> Vec<Missing> {
    let mut missing = Vec::new();
    if !has_users {
        let what = "a user of its own outside for each tenant";
        missing.push(Missing::new(what, "not root: all tenants are the present user there"));
    }
    if boxed {
        let what = "virtual NICs that reach the machine's own network";
        let why = "not root: their other ends are in a network namespace of the supervisor";
        missing.push(Missing::new(what, why));
    }
    missing.extend(loose_sources());
    missing
}

/// The kernel takes the larger of this setting and that of an interface, and 2 is the looser one.
fn loose_sources() -> Option<Missing> {
    let setting = fs::read_to_string("/proc/sys/net/ipv4/conf/all/rp_filter").ok()?;
    let what = "a strict check of source addresses at virtual NICs";
    let why = "net.ipv4.conf.all.rp_filter = 2 makes that of every interface loose";
    (setting.trim() == "2").then(|| Missing::new(what, why))
}

/// Whether this user namespace knows a user.
pub(crate) fn knows_user(user: u32) -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().filter_map(|it| it.parse::<u64>().ok());
        let (first, _, count) = (numbers.next(), numbers.next(), numbers.next());
        first.zip(count).is_some_and(|(first, count)| {
            (first..first.saturating_add(count)).contains(&u64::from(user))
        })
    })
}

struct Supervisor {
    host: Host,
    tenants: Vec<Supervised>,
    missing: Vec<Missing>,
    is_root: bool,
    began: Instant,
    /// Why it ends, once it does.
    end: Option<SupervisorEnd>,
    /// Nothing is left of it.
    is_over: bool,
    /// Who waits for a tenant to end, or for all.
    waiting: Vec<(Option<String>, UnixStream)>,
}

/// Descriptors of one turn of the loop.
struct Watched {
    set: PollSet,
    listener: PollKey,
    reports: Vec<(usize, PollKey)>,
    logs: Vec<(usize, PollKey)>,
}

impl Supervisor {
    fn new(name: &str, state: StateFolder, boxed: bool) -> (Self, Vec<Missing>) {
        let has_users = knows_user(user_of(name, ""));
        let mut missing = lacking(boxed, has_users);
        let (groups, lacks) = Mounted::find().make_parent(&format!("tenuto-{name}"));
        missing.extend(lacks);
        let own = (tenuto_io::own_user(), tenuto_io::own_group());
        let host = Host { name: name.to_owned(), state, groups, has_users, own };
        let supervisor = Self {
            host,
            tenants: Vec::new(),
            missing: Vec::new(),
            is_root: !boxed,
            began: MonotonicClock::now(),
            end: None,
            is_over: false,
            waiting: Vec::new(),
        };
        (supervisor, missing)
    }

    /// A line for people; a reader that has gone is silence, not a problem.
    fn say(&self, text: &str) {
        let seconds = MonotonicClock::now().since(self.began).as_ns() as f64 / 1e9;
        let _ = writeln!(io::stdout().lock(), "{seconds:9.3} s  {text}");
    }

    /// Goes over to another file: touches only tenants that differ; says what was done.
    fn apply(&mut self, file: TenantsFile) -> io::Result<Vec<String>> {
        let mut done = Vec::new();
        for tenant in &mut self.tenants {
            if !file.tenants.iter().any(|it| it.name == tenant.tenant.name) {
                done.push(format!("{} is removed", tenant.tenant.name));
                tenant.is_leaving = true;
                tenant.stop();
            }
        }
        for wanted in file.tenants {
            match self.tenants.iter_mut().find(|it| it.tenant.name == wanted.name) {
                Some(it) if it.tenant == wanted && !it.is_leaving && !it.is_ended() => {
                    done.push(format!("{} is as it was", wanted.name));
                }
                Some(it) => {
                    done.push(format!("{} starts again", wanted.name));
                    it.is_leaving = false;
                    it.become_tenant(wanted, &self.host)?;
                }
                None => {
                    done.push(format!("{} is new", wanted.name));
                    let mut tenant = Supervised::new(wanted, &self.host)?;
                    let line = tenant.start(&self.host);
                    self.tenants.push(tenant);
                    self.say(&line);
                }
            }
        }
        self.remove_left_behind();
        Ok(done)
    }

    /// Removes groups of tenants that are not there (any more): of a supervisor that was killed.
    fn remove_left_behind(&self) {
        for name in self.host.groups.names() {
            if !self.tenants.iter().any(|it| it.tenant.name == name) {
                self.host.groups.remove(&name);
            }
        }
    }

    /// Until all have ended after it was told to end.
    fn run(&mut self, mut signals: SignalFd, listener: &UnixListener) -> io::Result<SupervisorEnd> {
        loop {
            let now = MonotonicClock::now();
            self.act(now);
            self.forget_ended();
            if let Some(end) = self.end.filter(|_| self.tenants.iter().all(Supervised::is_ended)) {
                return Ok(end);
            }
            let mut watched = self.watched(&signals, listener);
            let deadline = self.tenants.iter().filter_map(Supervised::deadline).min();
            watched.set.wait(deadline)?;
            self.handle_signals(&mut signals)?;
            self.take(&watched);
            if watched.set.readiness(watched.listener).readable {
                self.answer(listener);
            }
        }
    }

    fn watched(&self, signals: &SignalFd, listener: &UnixListener) -> Watched {
        let mut set = PollSet::new();
        set.add(signals.as_raw_fd(), Interest::Read);
        let listener = set.add(listener.as_raw_fd(), Interest::Read);
        let (mut reports, mut logs) = (Vec::new(), Vec::new());
        for (place, tenant) in self.tenants.iter().enumerate() {
            let Some(process) = &tenant.process else { continue };
            if let Some(report) = &process.report {
                reports.push((place, set.add(report.as_raw_fd(), Interest::Read)));
            }
            if let Some(log) = process.log.as_ref().filter(|_| tenant.log_is_due()) {
                logs.push((place, set.add(log.as_raw_fd(), Interest::Read)));
            }
        }
        Watched { set, listener, reports, logs }
    }

    fn act(&mut self, now: Instant) {
        let mut lines = Vec::new();
        for tenant in &mut self.tenants {
            lines.extend(tenant.act(now, &self.host));
        }
        lines.iter().for_each(|line| self.say(line));
    }

    /// Takes what tenants have reported and written.
    fn take(&mut self, watched: &Watched) {
        let mut lines = Vec::new();
        for (place, key) in &watched.reports {
            if watched.set.readiness(*key).readable {
                lines.extend(self.tenants[*place].take_report());
            }
        }
        for (place, key) in &watched.logs {
            if watched.set.readiness(*key).readable
                && let Err(error) = self.tenants[*place].take_log()
            {
                lines.push(format!("log of {}: {error}", self.tenants[*place].tenant.name));
            }
        }
        lines.iter().for_each(|line| self.say(line));
    }

    fn handle_signals(&mut self, signals: &mut SignalFd) -> io::Result<()> {
        while let Some(signal) = signals.next_pending()? {
            match signal {
                Signal::Child => self.look()?,
                Signal::Interrupt => self.stop_all(SupervisorEnd::Interrupted),
                _ => self.stop_all(SupervisorEnd::Stopped),
            }
        }
        Ok(())
    }

    fn look(&mut self) -> io::Result<()> {
        let mut lines = Vec::new();
        for tenant in &mut self.tenants {
            lines.extend(tenant.look(&self.host)?);
        }
        lines.iter().for_each(|line| self.say(line));
        Ok(())
    }

    fn stop_all(&mut self, end: SupervisorEnd) {
        self.end.get_or_insert(end);
        self.tenants.iter_mut().for_each(Supervised::stop);
    }

    /// Forgets tenants that were removed, and answers whoever waited for an end.
    fn forget_ended(&mut self) {
        let groups = &self.host.groups;
        self.tenants.retain(|it| {
            let is_gone = it.is_leaving && it.is_ended();
            if is_gone {
                groups.remove(&it.tenant.name);
            }
            !is_gone
        });
        let alive: Vec<String> = self
            .tenants
            .iter()
            .filter(|it| !it.is_ended())
            .map(|it| it.tenant.name.clone())
            .collect();
        self.answer_waiting(|name| !alive.iter().any(|it| it == name));
    }

    /// Answers whoever waits for the end of a tenant that is over; for the end of all, once nothing is
    /// left.
    fn answer_waiting(&mut self, is_over: impl Fn(&str) -> bool) {
        let (over, waiting) =
            std::mem::take(&mut self.waiting).into_iter().partition(|(name, _)| match name {
                Some(name) => is_over(name),
                None => self.is_over,
            });
        self.waiting = waiting;
        for (name, mut stream) in over {
            let line = format!("{} ended", name.as_deref().unwrap_or("all"));
            // Whoever asked may have gone.
            let _ = control::write(&mut stream, &Answer::Done(vec![line]));
        }
    }

    fn answer(&mut self, listener: &UnixListener) {
        let Ok((mut stream, _)) = listener.accept() else { return };
        let answer = match control::read_request(&stream) {
            Ok(Request::Status) => Answer::Status(self.status()),
            Ok(Request::Apply(path, text)) => self.apply_text(&path, &text),
            Ok(Request::Stop(name)) => match self.stop(name.as_deref()) {
                Ok(()) => return self.waiting.push((name, stream)),
                Err(why) => Answer::Refused(why),
            },
            Err(error) => Answer::Refused(error.to_string()),
        };
        let _ = control::write(&mut stream, &answer);
    }

    fn stop(&mut self, name: Option<&str>) -> Result<(), String> {
        let Some(name) = name else {
            self.stop_all(SupervisorEnd::Stopped);
            return Ok(());
        };
        let found = self.tenants.iter_mut().find(|it| it.tenant.name == name);
        match found {
            Some(tenant) => tenant.stop(),
            None => {
                let names: Vec<&str> =
                    self.tenants.iter().map(|it| it.tenant.name.as_str()).collect();
                let hint = tenuto_model::meant(name, names.iter().copied()).unwrap_or_default();
                return Err(format!("there is no tenant `{name}`; {hint}"));
            }
        }
        Ok(())
    }

    fn apply_text(&mut self, path: &str, text: &str) -> Answer {
        if self.end.is_some() {
            return Answer::Refused("the supervisor is ending".to_owned());
        }
        match tenuto_model::read_tenants(text, path, &crate::judge::judge) {
            Ok(file) if file.name != self.host.name => {
                let (own, other) = (&self.host.name, &file.name);
                Answer::Refused(format!("this is the supervisor of `{own}`, not of `{other}`"))
            }
            Ok(file) => match self.apply(file) {
                Ok(done) => Answer::Done(done),
                Err(error) => Answer::Refused(error.to_string()),
            },
            Err(problems) => Answer::Refused(problems.to_string()),
        }
    }

    fn status(&self) -> Status {
        Status {
            name: self.host.name.clone(),
            supervisor_pid: std::process::id(),
            is_root: self.is_root,
            missing: self.missing.clone(),
            tenants: self.tenants.iter().map(Supervised::status).collect(),
        }
    }

    /// Removes all groups: processes that have ended leave theirs a moment later.
    fn remove_groups(&self) {
        for _ in 0..TRIES {
            let names = self.host.groups.names();
            let left = names.iter().filter(|name| !self.host.groups.remove(name)).count();
            if left == 0 && self.host.groups.remove_all() {
                return;
            }
            let _ = PollSet::new().wait(Some(MonotonicClock::now() + BEFORE_NEXT_TRY));
        }
    }
}
