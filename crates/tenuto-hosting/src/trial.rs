//! Sandboxes that are built to see what this machine gives, and how quickly.

use crate::allowed::{HostError, needed_box};
use crate::groups::{Groups, Mounted};
use crate::process::{self, Process, Surroundings, user_of};
use crate::setup::{Missing, Report};
use crate::supervisor;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::process::{Command, ExitCode, Stdio};
use tenuto_io::namespaces::spawn_in_new_namespaces;
use tenuto_io::{MonotonicClock, PollSet};
use tenuto_model::{TenantsFile, read_tenants};
use tenuto_units::Span;

/// How this program is called when it tries sandboxes without rights on the machine.
pub(crate) const ROLE: &str = "tenuto-tenants-trial";
/// What runs in them.
const PROGRAM: &str = "/bin/true";

/// What came of some starts, taken in turns: a plain process, a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Whether sandboxes were built without rights on the machine.
    pub is_boxed: bool,
    /// What the sandboxes lack.
    pub missing: Vec<Missing>,
    /// From the start until the program runs, as a plain process.
    pub plain_ns: Vec<u64>,
    /// The same, in a sandbox without a virtual NIC.
    pub sandbox_ns: Vec<u64>,
}

/// What a sandbox lacks on this machine, by building one.
///
/// # Errors
///
/// When none can be built.
pub fn probe() -> Result<Vec<Missing>, HostError> {
    trial(1).map(|trial| trial.missing)
}

/// Starts a program `count` times, as a plain process and in a sandbox by turns.
///
/// # Errors
///
/// When no sandbox can be built.
pub fn trial(count: u32) -> Result<Trial, HostError> {
    let Some(namespaces) = needed_box()? else { return Ok(tried(false, count)?) };
    let mut command = Command::new("/proc/self/exe");
    command.arg(ROLE).arg(count.to_string()).stdin(Stdio::null()).stdout(Stdio::piped());
    let spawned = spawn_in_new_namespaces(command, &namespaces);
    let mut guardian = spawned.map_err(|error| HostError::NoNamespaces(error.to_string()))?;
    let mut text = String::new();
    if let Some(mut output) = guardian.stdout.take() {
        output.read_to_string(&mut text)?;
    }
    guardian.wait()?;
    let answer: Result<Trial, String> = serde_json::from_str(&text)
        .unwrap_or_else(|_| Err("the process that tries sandboxes ended without a word".into()));
    answer.map_err(|why| io::Error::other(why).into())
}

/// Tries in a box, and prints what came of it.
pub(crate) fn main(count: &OsStr) -> ExitCode {
    let count = count.to_str().and_then(|text| text.parse().ok()).unwrap_or(1);
    let answer = tried(true, count).map_err(|error| error.to_string());
    println!("{}", serde_json::to_string(&answer).expect("texts and numbers"));
    ExitCode::SUCCESS
}

/// Surroundings of sandboxes that are there for a moment.
struct Bench {
    name: String,
    file: TenantsFile,
    groups: Groups,
    user: (u32, u32),
}

fn tried(is_boxed: bool, count: u32) -> io::Result<Trial> {
    let name = format!("trial-{}", std::process::id());
    let text = format!("tenuto_tenants: 1\ntenants: {{trial: {{program: [{PROGRAM}]}}}}\n");
    let file = read_tenants(&text, "trial", &|_, _| Ok(())).expect("a good file");
    let user = user_of(&name, "trial");
    let has_users = supervisor::knows_user(user);
    let mut missing = supervisor::lacking(is_boxed, has_users);
    let (groups, lacks) = Mounted::find().make_parent(&format!("tenuto-{name}"));
    missing.extend(lacks);
    let own = (tenuto_io::own_user(), tenuto_io::own_group());
    let user = if has_users { (user, user) } else { own };
    let bench = Bench { name, file, groups, user };
    let mut trial = Trial { is_boxed, missing, plain_ns: Vec::new(), sandbox_ns: Vec::new() };
    let result = (0..count).try_for_each(|turn| bench.turn(turn, &mut trial));
    bench.remove();
    result.map(|()| trial)
}

impl Bench {
    fn turn(&self, turn: u32, trial: &mut Trial) -> io::Result<()> {
        let began = MonotonicClock::now();
        let mut plain = Command::new(PROGRAM).spawn()?;
        trial.plain_ns.push(MonotonicClock::now().since(began).as_ns());
        plain.wait()?;
        let (took, report) = self.sandbox().map_err(io::Error::other)?;
        trial.sandbox_ns.push(took.as_ns());
        match report {
            Report::Started(lacks) if turn == 0 => trial.missing.extend(lacks),
            Report::Started(_) => {}
            Report::Failed(why) => return Err(io::Error::other(why)),
        }
        Ok(())
    }

    /// Builds one, and ends it.
    fn sandbox(&self) -> Result<(Span, Report), String> {
        let tenant = &self.file.tenants[0];
        let group = self.groups.make(tenant).map_err(|error| error.to_string())?;
        let with = Surroundings { host: &self.name, group, limits_memory: true, user: self.user };
        let mut process = Process::start(tenant, with)?;
        let mut line = Vec::new();
        let read =
            process.report.take().map_or(Ok(0), |mut report| read_line(&mut report, &mut line));
        let took = MonotonicClock::now().since(process.started);
        process.kill();
        process.wait().and(read).map_err(|error| error.to_string())?;
        Ok((took, process::read_report(&line)))
    }

    /// Removes the groups: processes that have ended leave theirs a moment later.
    fn remove(&self) {
        const TRIES: usize = 50;
        for _ in 0..TRIES {
            if self.groups.remove("trial") && self.groups.remove_all() {
                return;
            }
            let _ = PollSet::new().wait(Some(MonotonicClock::now() + Span::from_ms(10)));
        }
    }
}

/// What a pipe has once it has anything: a report is one short line, written at once.
fn read_line(from: &mut impl Read, line: &mut Vec<u8>) -> io::Result<usize> {
    line.resize(16 << 10, 0);
    let bytes = from.read(line)?;
    line.truncate(bytes);
    Ok(bytes)
}
