//! The checker and the proved checker on the same plans, as planned and with one claim lowered.
//!
//! A plan that the one takes and the other refuses is a fault of one of the two: what the proof needs has to be
//! asked by the checker, too. The other way round the proof may ask for less (proof/README.md, "Where it differs from
//! the chapter"), which is counted and is no fault. The theory has no lines farther back, so networks are to have lines of one rate.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tenuto_model::{Network, Plan, Transition};
use tenuto_planner::{Curves, Options};
use tenuto_units::Draws;

/// What the proved checker says of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proved {
    /// No row is refused, and some are proved.
    Accepted,
    /// Rows are refused; the first of them.
    Refused(String),
    /// The theory has nothing of this plan.
    Beyond,
}

/// The proved checker as a program.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    scratch: PathBuf,
}

impl Program {
    /// The program at `path`; plans are handed over in the file `scratch`.
    pub const fn new(path: PathBuf, scratch: PathBuf) -> Self {
        Self { path, scratch }
    }

    /// What it says of a plan.
    ///
    /// # Errors
    /// In words, if it cannot be run, or takes the file for no plan.
    pub fn judge(&self, plan: &str) -> Result<Proved, String> {
        let shown = self.path.display();
        let write = || std::fs::File::create(&self.scratch)?.write_all(plan.as_bytes());
        write().map_err(|error| format!("{}: {error}", self.scratch.display()))?;
        let mut command = Command::new(&self.path);
        let command = command.arg("--quiet").arg(&self.scratch).stdin(Stdio::null());
        let said = command.output().map_err(|error| format!("{shown}: {error}"))?;
        let text = String::from_utf8_lossy(&said.stdout);
        match said.status.code() {
            Some(0) if text.starts_with("all rows checked only") => Ok(Proved::Beyond),
            Some(0) => Ok(Proved::Accepted),
            Some(1) => {
                let first = text.lines().find(|line| line.starts_with("REFUSED"));
                Ok(Proved::Refused(first.unwrap_or("no row is named").to_owned()))
            }
            _ => Err(format!("{shown}: {}", String::from_utf8_lossy(&said.stderr).trim())),
        }
    }
}

/// A claim of a steady mode, by its place in the plan.
#[derive(Clone, Copy, Debug)]
enum Claim {
    Port(usize),
    Message(usize),
    Backlog(usize),
}

impl Claim {
    /// Every claim of steady modes that a plan makes.
    fn all(plan: &Plan) -> Vec<Self> {
        let is_steady = |mode: Transition| matches!(mode, Transition::Steady(_));
        let ports = plan.ports.iter().enumerate().filter(|(_, row)| is_steady(row.mode));
        let messages = plan.flows.iter().enumerate().filter(|(_, row)| is_steady(row.mode));
        let backlogs = plan.port_rows.iter().enumerate().filter(|(_, row)| is_steady(row.mode));
        ports
            .map(|(at, _)| Self::Port(at))
            .chain(messages.map(|(at, _)| Self::Message(at)))
            .chain(backlogs.map(|(at, _)| Self::Backlog(at)))
            .collect()
    }

    /// Lowers it by `part` of 256, by a unit at least.
    fn lower(self, plan: &mut Plan, part: u64) {
        let lower = |value: &mut u64| *value -= (*value / 256 * part).max(1).min(*value);
        match self {
            Self::Port(at) => lower(&mut plan.ports[at].delay_ps),
            Self::Message(at) => {
                let row = &mut plan.flows[at];
                row.delay_bound_ps.iter_mut().for_each(lower);
                for copy in &mut row.copies {
                    copy.delay_bound_ps.iter_mut().for_each(lower);
                }
            }
            Self::Backlog(at) => plan.port_rows[at].backlog_bound_bits.iter_mut().for_each(lower),
        }
    }
}

/// What was compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Plans that both take.
    pub plans: u64,
    /// Plans of which the theory has nothing.
    pub beyond: u64,
    /// Networks that are refused by the planner.
    pub refused: u64,
    /// Plans with a lowered claim that both refuse.
    pub both_refuse: u64,
    /// Plans with a lowered claim that both take.
    pub both_accept: u64,
    /// Plans with a lowered claim that only the checker refuses.
    pub proof_asks_less: u64,
    /// What the checker takes and the proof refuses.
    pub faults: Vec<String>,
}

impl Agreement {
    /// Plans a network, and has both judge the plan and `changes` plans with one lower claim each.
    ///
    /// # Errors
    /// As [`Program::judge`].
    pub fn compare(
        &mut self,
        network: &Network,
        program: &Program,
        changes: usize,
        draws: &mut Draws,
    ) -> Result<(), String> {
        let options = Options {
            curves: Curves::Buckets,
            whole_paths: None,
            would_fit: false,
            ..Options::default()
        };
        let plan = tenuto_planner::plan(network, &options);
        if !plan.feasible {
            self.refused += 1;
            return Ok(());
        }
        match self.judged(&plan, program)? {
            (_, Proved::Beyond) => {
                self.beyond += 1;
                return Ok(());
            }
            (true, Proved::Accepted) => self.plans += 1,
            (checked, proved) => self.note(&plan, "as planned", checked, &proved),
        }
        let claims = Claim::all(&plan);
        for _ in 0..changes {
            let (claim, part) = (claims[draws.index(claims.len())], draws.one_of(&[0, 1, 16, 128]));
            let mut changed = plan.clone();
            claim.lower(&mut changed, part);
            changed.seal();
            match self.judged(&changed, program)? {
                (false, Proved::Refused(_)) => self.both_refuse += 1,
                (true, Proved::Accepted) => self.both_accept += 1,
                (false, _) => self.proof_asks_less += 1,
                (true, proved) => {
                    self.note(&plan, &format!("{claim:?} less {part}"), true, &proved);
                }
            }
        }
        Ok(())
    }

    fn judged(&self, plan: &Plan, program: &Program) -> Result<(bool, Proved), String> {
        let text = plan.to_json();
        Ok((tenuto_certify::certify(&text).is_ok(), program.judge(&text)?))
    }

    fn note(&mut self, plan: &Plan, what: &str, checked: bool, proved: &Proved) {
        let name = &plan.network.name;
        let says = if checked { "accepts" } else { "refuses" };
        self.faults.push(format!("{name}, {what}: the checker {says}, proved: {proved:?}"));
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} plans accepted by both, {} beyond the theory, {} networks refused; one claim lowered: {} refused by \
             both, {} accepted by both, {} refused by the checker only, {} faults",
            self.plans,
            self.beyond,
            self.refused,
            self.both_refuse,
            self.both_accept,
            self.proof_asks_less,
            self.faults.len()
        )
    }
}
