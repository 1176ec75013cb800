//! `tenuto tenants`: many tenants' controllers on this machine, each in a sandbox.

use super::switch_slices;
use crate::failure::{Failure, Problem};
use crate::header::Header;
use crate::named_file::{self, Kind};
use crate::outcome::Outcome;
use crate::{output, tenants_text};
use clap::{Args as Flags, Subcommand};
use serde::Serialize;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tenuto_hosting::{
    Answer, Missing, ReceiveChoice, Request, StateFolder, Status, SupervisorEnd, TenantState, ask,
    judge, probe, read_log, state_of, up,
};
use tenuto_model::{ReceivePath, TenantsFile, check_tenant_slices, read_tenants};

#[derive(Debug, Flags)]
pub(crate) struct Tenants {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Say every problem of the file at once, and what sandboxes lack on this machine
    Check(Asked),
    /// Start and watch the tenants until Ctrl-C or SIGTERM; where they run already, go over to the file
    Up(Named),
    /// What is observed of each tenant
    Status(Asked),
    /// What a tenant has written, as far as it is kept
    Logs(Logs),
    /// End one tenant, or all with their supervisor
    Stop(Stop),
}

#[derive(Debug, Flags)]
struct Named {
    /// File of tenants
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Folder of the supervisor's socket and logs; without it, one by the name in the file
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

#[derive(Debug, Flags)]
struct Asked {
    #[command(flatten)]
    named: Named,
    /// One JSON document on stdout
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Flags)]
struct Logs {
    #[command(flatten)]
    named: Named,
    /// The tenant
    #[arg(value_name = "TENANT")]
    tenant: String,
}

#[derive(Debug, Flags)]
struct Stop {
    #[command(flatten)]
    named: Named,
    /// The tenant; without it, all
    #[arg(value_name = "TENANT")]
    tenant: Option<String>,
}

/// What a file of tenants describes, and what this machine lacks for it.
#[derive(Serialize)]
struct CheckDocument<'a> {
    #[serde(flatten)]
    header: Header,
    /// Name of the host of tenants.
    name: &'a str,
    /// Names of the tenants.
    tenants: Vec<&'a str>,
    /// Protections and limits that sandboxes lack here; null where no sandbox can be made.
    missing: Option<Vec<Missing>>,
    /// What was measured of receive paths; null where no tenant leaves its own to that, or nothing could be.
    receive: Option<ReceiveChoice>,
    problems: Vec<Problem<'a>>,
}

/// What is observed, with the keys that every document has.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    header: Header,
    #[serde(flatten)]
    status: Status,
}

impl Tenants {
    /// Whether stdout is for a program.
    pub(crate) const fn wants_json(&self) -> bool {
        match &self.what {
            What::Check(it) | What::Status(it) => it.json,
            _ => false,
        }
    }
}

pub(crate) fn run(args: &Tenants) -> Result<Outcome, Failure> {
    match &args.what {
        What::Check(it) => check(it),
        What::Up(it) => start(it),
        What::Status(it) => status(it),
        What::Logs(it) => logs(it),
        What::Stop(it) => stop(it),
    }
}

/// The text of the file and what it says.
fn read(path: &Path) -> Result<(String, TenantsFile), Failure> {
    let shown = path.display().to_string();
    let text = named_file::text(path, Kind::TENANTS)?;
    let file = read_tenants(&text, &shown, &judge)
        .map_err(|problems| Failure::of(&problems, "no tenant was started"))?;
    check_slices(path, &file)?;
    Ok((text, file))
}

/// The slices that the tenants have, if they share a switch: their file, their budgets, and whose each is.
fn check_slices(path: &Path, file: &TenantsFile) -> Result<(), Failure> {
    let Some(name) = &file.slices else { return Ok(()) };
    let beside = path.parent().unwrap_or(Path::new("")).join(name);
    let slices = switch_slices::read(&beside)?;
    let problems = check_tenant_slices(file, &slices);
    if problems.is_empty() {
        return Ok(());
    }
    let hint = "`slice: NAME` of a tenant names one of the slices, whose `controllers` are at the tenant's address";
    Err(Failure::input(problems.join("; "), Some(&path.display().to_string()), Some(hint)))
}

fn state(named: &Named, file: &TenantsFile) -> StateFolder {
    state_of(file, named.state.clone())
}

fn check(args: &Asked) -> Result<Outcome, Failure> {
    let (_, file) = read(&args.named.file)?;
    let missing = probe();
    let (outcome, verdict) = match &missing {
        Ok(_) => (Outcome::Good, "consistent"),
        Err(_) => (Outcome::Undecidable, "undecidable"),
    };
    if let Err(error) = &missing {
        output::complain(&format!("error: no sandbox can be made here: {error}"));
    }
    let choice = choose(&args.named, &file);
    if args.json {
        output::say_json(&CheckDocument {
            header: Header::new("tenuto-tenants-check/1", verdict),
            name: &file.name,
            tenants: file.tenants.iter().map(|tenant| tenant.name.as_str()).collect(),
            missing: missing.ok(),
            receive: choice,
            problems: Vec::new(),
        })?;
    } else {
        let missing = missing.as_deref().unwrap_or_default();
        output::say(&tenants_text::described(&file, missing, choice.as_ref()))?;
    }
    Ok(outcome)
}

/// What was measured of receive paths, if a tenant leaves its own to that; measures if nothing was before.
fn choose(named: &Named, file: &TenantsFile) -> Option<ReceiveChoice> {
    let is_auto = |tenant: &tenuto_model::Tenant| tenant.receive.path == ReceivePath::Auto;
    if !file.tenants.iter().any(is_auto) {
        return None;
    }
    let state = state(named, file);
    if ReceiveChoice::kept(&state).is_none() {
        output::complain("receive paths are measured once on this machine: some ten seconds");
    }
    match ReceiveChoice::make(&state) {
        Ok(choice) => Some(choice),
        Err(error) => {
            output::complain(&format!(
                "receive: auto: inline, as nothing could be measured: {error}"
            ));
            None
        }
    }
}

fn start(args: &Named) -> Result<Outcome, Failure> {
    let (text, file) = read(&args.file)?;
    choose(args, &file);
    let state = state(args, &file);
    let shown = args.file.display().to_string();
    match ask(&state.socket(), &Request::Apply(shown, text)) {
        Ok(answer) => return done(answer),
        Err(error) if is_absent(error.kind()) => {}
        Err(error) => return Err(Failure::undecidable(error.to_string(), None)),
    }
    match up(&args.file, file, state) {
        Ok(SupervisorEnd::Stopped) => Ok(Outcome::Good),
        Ok(SupervisorEnd::Interrupted) => Ok(Outcome::Interrupted),
        Err(error) => {
            let hint = "`tenuto doctor` says what this machine allows";
            Err(Failure::undecidable(error.to_string(), Some(hint)))
        }
    }
}

/// Whether there is no supervisor to ask: no socket, or one that was left behind.
const fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::ConnectionRefused)
}

fn asked(named: &Named, request: &Request) -> Result<Answer, Failure> {
    let (_, file) = read(&named.file)?;
    let state = state(named, &file);
    ask(&state.socket(), request).map_err(|error| {
        let folder = state.path().display();
        let message = match is_absent(error.kind()) {
            true => format!("no supervisor runs for {folder}"),
            false => format!("the supervisor in {folder} does not answer: {error}"),
        };
        Failure::undecidable(message, Some("`tenuto tenants up FILE` starts one"))
    })
}

fn done(answer: Answer) -> Result<Outcome, Failure> {
    match answer {
        Answer::Done(lines) => {
            output::say(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
            Ok(Outcome::Good)
        }
        Answer::Status(_) => Ok(Outcome::Good),
        Answer::Refused(why) => Err(Failure::input(why, None, None)),
    }
}

fn status(args: &Asked) -> Result<Outcome, Failure> {
    let status = match asked(&args.named, &Request::Status)? {
        Answer::Status(status) => status,
        other => return done(other),
    };
    let is_good = status.tenants.iter().all(|tenant| tenant.state == TenantState::Running);
    let (outcome, verdict) =
        if is_good { (Outcome::Good, "running") } else { (Outcome::Bad, "not_running") };
    if args.json {
        let header = Header::new("tenuto-tenants/1", verdict).world("live");
        output::say_json(&Document { header, status })?;
    } else {
        output::say(&tenants_text::status(&status))?;
    }
    Ok(outcome)
}

fn logs(args: &Logs) -> Result<Outcome, Failure> {
    let (_, file) = read(&args.named.file)?;
    let path = state(&args.named, &file).log(&args.tenant);
    let names = file.tenants.iter().map(|tenant| tenant.name.as_str());
    if !file.tenants.iter().any(|tenant| tenant.name == args.tenant) {
        let hint = tenuto_model::meant(&args.tenant, names.collect::<Vec<_>>());
        let message = format!("there is no tenant `{}` in the file", args.tenant);
        return Err(Failure::input(message, None, hint.as_deref()));
    }
    let log = read_log(&path).map_err(|error| {
        let message = format!("there is no log at {}: {error}", path.display());
        Failure::undecidable(message, Some("a tenant has one once it was started"))
    })?;
    output::say(&String::from_utf8_lossy(&log))?;
    Ok(Outcome::Good)
}

fn stop(args: &Stop) -> Result<Outcome, Failure> {
    done(asked(&args.named, &Request::Stop(args.tenant.clone()))?)
}
