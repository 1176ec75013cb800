//! A service among others: what another one decided is taken over, and nothing is decided while another one leads.

use super::{Inner, OpenError};
use crate::answer::Denied;
use crate::cluster::{Beginning, Standing};
use crate::log::{Decision, Entry, Log, Replayed};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tenuto_controller::Leadership;
use tenuto_model::{MemorySources, Network, Plan, network_digest, read_network};

/// Why an answer that was given before is not so any more, where the log alone tells of it.
const UNDONE_BEFORE: &str = "a switch refused it before the service was started anew";
const UNDONE_ELSEWHERE: &str = "a switch refused it while another controller led";

impl Beginning<'_> {
    /// The set that was decided last, and its plan.
    pub(super) fn settled(&self, replayed: &Replayed) -> Result<(Network, Plan), OpenError> {
        let digest = network_digest(self.network);
        if replayed.digest.as_ref().is_some_and(|known| *known != digest) {
            return Err(OpenError::OtherNetwork);
        }
        let known = replayed.network.as_ref().unwrap_or(self.network);
        self.planning.settle(known).map_err(OpenError::Refused)
    }

    /// The same, and a log that is not empty any more.
    pub(super) fn stand_on(
        &self,
        replayed: &mut Replayed,
        mut log: Log,
    ) -> Result<(Network, Plan, Log), OpenError> {
        let (settled, plan) = self.settled(replayed)?;
        if replayed.network.is_none() {
            let (digest, file) = (network_digest(self.network), self.file.to_owned());
            let network = Box::new(settled.clone());
            log.append(&Entry::Opened { digest, file, network }).map_err(OpenError::NotStored)?;
            self.file.clone_into(&mut replayed.file);
        }
        Ok((settled, plan, log))
    }
}

impl Inner {
    /// How this controller stands among others.
    pub(crate) fn standing(&self) -> Standing {
        self.course.as_ref().map_or(Standing::Alone, |it| it.standing())
    }

    /// Denies what only who leads can do.
    pub(super) fn check_leads(&self) -> Result<(), Denied> {
        let (why, leader) = match self.standing() {
            Standing::Alone | Standing::Leads { .. } => return Ok(()),
            Standing::TakesOver => {
                ("this controller is taking over: send it again".to_owned(), None)
            }
            Standing::Follows { leader: Some(leader) } => {
                (format!("this controller follows {leader}: send it there"), Some(leader))
            }
            Standing::Follows { leader: None } => {
                ("no controller leads at this moment: send it again".to_owned(), None)
            }
            Standing::CutOff { why, is_refused } => {
                let what = match is_refused {
                    true => "etcd takes nothing from this controller, which",
                    false => "this controller is cut off from the majority of etcd, and",
                };
                (format!("{what} admits nothing; traffic goes on: {why}"), None)
            }
        };
        Err(Denied::NotLeading { why, leader })
    }

    /// A write failed: whether that was for want of leading, which nobody has to look at.
    pub(super) fn check_leads_still(&self, why: &str) -> Result<(), Denied> {
        let Err(Denied::NotLeading { why: stands, leader }) = self.check_leads() else {
            return Ok(());
        };
        let hint =
            "what was asked may be stored or not: the same Idempotency-Key tells, at who leads";
        Err(Denied::NotLeading { why: format!("{why}. {stands}; {hint}"), leader })
    }

    /// Another one leads: nothing is written, and switches are its.
    pub(crate) fn follows(&self, generation: u64) {
        self.writer().log = Log::closed("another controller leads");
        self.leadership.send_replace(Leadership::Follows { generation });
        self.show(|view| (view.installed, view.keeps_switches) = (None, false));
    }

    /// Another one leads, by this generation by now.
    pub(crate) fn tell_generation(&self, generation: u64) {
        self.leadership.send_if_modified(|it| {
            let other = Leadership::Follows { generation };
            let is_other = !it.is_leading() && *it != other;
            if is_other {
                *it = other;
            }
            is_other
        });
    }

    /// This one leads, and has read all that was decided.
    pub(crate) fn leads(&self, log: Log, generation: u64) {
        self.writer().log = log;
        self.leadership.send_replace(Leadership::Leads { generation });
        let keeps = self.has_keeper.load(Ordering::Acquire);
        self.show(|view| (view.installed, view.keeps_switches) = (None, keeps));
        self.bell.ring();
    }

    /// Takes what was decided by another one; `known` decisions were taken before.
    ///
    /// # Errors
    /// The set cannot be guaranteed here, in a sentence.
    pub(crate) fn take_decided(&self, replayed: &Replayed, known: usize) -> Result<(), String> {
        let Some(network) = &replayed.network else { return Ok(()) };
        let (settled, plan) = self.planning.settle(network).map_err(|plan| {
            let because = plan.refusals.first().map_or("", |it| it.because.as_str());
            format!("what another controller decided cannot be guaranteed here: {because}")
        })?;
        let number = replayed.decisions.len() as u64;
        self.take_file(replayed, known);
        self.show(|view| {
            view.decision = number;
            view.network = Arc::new(settled);
            view.plan = Arc::new(plan);
        });
        self.remember_decided(replayed, known);
        self.tell("followed", Some(number), "another controller decided".to_owned());
        self.decided.send_replace(number);
        self.bell.ring();
        Ok(())
    }

    /// The text of the network file, where it was read anew.
    fn take_file(&self, replayed: &Replayed, known: usize) {
        if !replayed.decisions.iter().skip(known).any(|it| it.file.is_some()) {
            return;
        }
        let sources = MemorySources::new().with("network.yaml", &replayed.file);
        let mut writer = self.writer();
        writer.file.clone_from(&replayed.file);
        // A file with tables beside it is not whole without them; then the next reading compares with the one before.
        if let Ok((network, _)) = read_network(&sources, "network.yaml") {
            writer.filed = network.flows;
        }
    }

    /// The answers of decisions behind the first `known`, with the bounds that their flows have now.
    pub(super) fn remember_decided(&self, replayed: &Replayed, known: usize) {
        let (view, mut writer) = (self.view(), self.writer());
        let why = if self.course.is_none() { UNDONE_BEFORE } else { UNDONE_ELSEWHERE };
        let new = |(place, decision): (usize, &Decision)| (place as u64 + 1, decision.clone());
        for (number, decision) in replayed.decisions.iter().enumerate().skip(known).map(new) {
            match decision.undoes_to {
                Some(to) => self.remember_undone(&mut writer, to + 1..=number - 1, why),
                None => writer.remember_replayed(number, &decision, &view.plan),
            }
        }
    }
}
