//! The ledger of a live run, and what `tenuto up` needs to know beside it.

use crate::controlled_run::{ControlledBooks, ControlledRun};
use std::collections::{HashMap, HashSet};
use tenuto_model::{Flow, Network, Plan};
use tenuto_units::{Instant, Span};
use tenuto_world::{Ending, Ledger, LedgerSettings, Observation, ProgressRow, RunDocument};

/// Messages whose way is followed at once; more are left to the time limit.
const OUTSTANDING_MAX: usize = 1 << 20;

pub(crate) struct Books<'a> {
    plan: &'a Plan,
    settings: LedgerSettings,
    /// From the start of traffic on: only then it is known when that was.
    ledger: Option<Ledger<'a>>,
    before: Vec<Observation>,
    /// Targets that still wait for a message.
    outstanding: HashMap<(u16, u32), usize>,
    /// Messages that a frame of was dropped before their release was told.
    dropped: HashSet<(u16, u32)>,
    news: Vec<String>,
    quiet_ns: Option<u64>,
    drained_told: bool,
    end_ns: Option<u64>,
    last_ns: u64,
    stop_asked_ns: Option<u64>,
    /// Until when each host has told what it saw.
    told_ns: Vec<u64>,
    /// Index of the host that sends each flow.
    sources: Vec<usize>,
    controlled: ControlledBooks,
}

/// Index of the host that sends each flow, in the order of flows.
fn sources(network: &Network) -> Vec<usize> {
    let hosts: HashMap<&str, usize> =
        network.hosts.iter().enumerate().map(|(index, host)| (host.name.as_str(), index)).collect();
    let of = |flow: &Flow| hosts.get(flow.source.as_str()).copied().unwrap_or(usize::MAX);
    network.flows.iter().map(of).collect()
}

impl<'a> Books<'a> {
    pub(crate) fn new(plan: &'a Plan, settings: LedgerSettings) -> Self {
        Self {
            plan,
            settings,
            ledger: None,
            before: Vec::new(),
            outstanding: HashMap::new(),
            dropped: HashSet::new(),
            news: Vec::new(),
            quiet_ns: None,
            drained_told: false,
            end_ns: None,
            last_ns: 0,
            stop_asked_ns: None,
            told_ns: vec![0; plan.network.hosts.len()],
            sources: sources(&plan.network),
            controlled: ControlledBooks::default(),
        }
    }

    pub(crate) fn has_started(&self) -> bool {
        self.ledger.is_some()
    }

    /// When traffic started.
    pub(crate) fn start(&self) -> Option<Instant> {
        self.ledger.as_ref().map(|_| Instant::from_ns(self.settings.start_ns))
    }

    pub(crate) fn is_done(&self) -> bool {
        self.end_ns.is_some()
    }

    /// Traffic starts at this instant.
    pub(crate) fn started(&mut self, start_ns: u64) {
        self.settings.start_ns = start_ns;
        self.last_ns = start_ns;
        let mut ledger = Ledger::new(self.plan, self.settings.clone());
        self.before.drain(..).for_each(|observation| ledger.observe(&observation));
        self.ledger = Some(ledger);
    }

    pub(crate) fn observe(&mut self, observation: Observation) {
        self.follow(&observation);
        self.controlled.observe(&observation);
        if let Some(text) = self.words(&observation) {
            self.news.push(text);
        }
        match &mut self.ledger {
            Some(ledger) => ledger.observe(&observation),
            None => self.before.push(observation),
        }
    }

    /// Which messages are on their way.
    fn follow(&mut self, observation: &Observation) {
        match *observation {
            Observation::Released { flow, message, at_ns, .. } => {
                self.last_ns = self.last_ns.max(at_ns);
                if let Some(&source) = self.sources.get(usize::from(flow)) {
                    self.told(source, at_ns);
                }
                let flow_of = self.plan.network.flows.get(usize::from(flow));
                if let Some(of) = flow_of
                    && self.outstanding.len() < OUTSTANDING_MAX
                    && !self.dropped.remove(&(flow, message))
                {
                    let targets = self.outstanding.entry((flow, message)).or_default();
                    *targets = targets.wrapping_add(of.targets.len());
                    self.forget_if_none((flow, message));
                }
            }
            Observation::Delivered { flow, message, host, at_ns, .. }
            | Observation::Handed { flow, message, host, at_ns } => {
                self.last_ns = self.last_ns.max(at_ns);
                self.told(usize::from(host), at_ns);
                // It may be told of before the release.
                let targets = self.outstanding.entry((flow, message)).or_default();
                *targets = targets.wrapping_sub(1);
                self.forget_if_none((flow, message));
            }
            Observation::Dropped { message: Some(message), .. } => {
                let was_told = self.outstanding.remove(&message).is_some();
                if !was_told && self.dropped.len() < OUTSTANDING_MAX {
                    self.dropped.insert(message);
                }
            }
            _ => {}
        }
    }

    fn forget_if_none(&mut self, message: (u16, u32)) {
        if self.outstanding.get(&message) == Some(&0) {
            self.outstanding.remove(&message);
        }
    }

    /// An observation in words, if it is news.
    fn words(&self, observation: &Observation) -> Option<String> {
        let start_ns = self.ledger.as_ref().map(|_| self.settings.start_ns);
        let at = |at_ns: u64| match start_ns {
            Some(start) => {
                let ms = at_ns.saturating_sub(start) / 1_000_000;
                format!("{}.{:03} s", ms / 1_000, ms % 1_000)
            }
            None => "set-up".to_owned(),
        };
        let mode =
            |level: u8| self.plan.network.modes.get(usize::from(level)).map_or("?", String::as_str);
        match observation {
            Observation::Event { text, at_ns, tolerated, .. } => {
                let verdict = match tolerated {
                    Some(false) => "  (outside the fault model)",
                    _ => "",
                };
                Some(format!("{}  {text}{verdict}", at(*at_ns)))
            }
            Observation::Swapped { switch, from, to, purged, at_ns, .. }
                if from != to && start_ns.is_some() =>
            {
                let (from, to) = (mode(*from), mode(*to));
                Some(format!("{}  {switch} is in {to} (was {from}), {purged} purged", at(*at_ns)))
            }
            Observation::Restarted { switch, at_ns } => {
                Some(format!("{}  {switch} starts afresh", at(*at_ns)))
            }
            Observation::Died { who, what, at_ns, tolerated } => {
                let verdict = if *tolerated { "" } else { "  (beyond what is tolerated)" };
                Some(format!("{}  {who} {what}{verdict}", at(*at_ns)))
            }
            Observation::NotPlayed { text, at_ns } => {
                Some(format!("{}  not played: {text}", at(*at_ns)))
            }
            // What was over before traffic started says nothing of the run, and is not counted.
            Observation::Stall { from_ns, length_ns, .. }
                if start_ns.is_none_or(|start| from_ns + length_ns <= start) =>
            {
                None
            }
            Observation::Stall { node, from_ns, length_ns } => {
                let length = Span::from_ns(*length_ns);
                Some(format!("{}  this machine stalled {node} for {length}", at(*from_ns)))
            }
            _ => None,
        }
    }

    pub(crate) fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// No source releases anything any more.
    pub(crate) fn quiet(&mut self, at_ns: u64) {
        self.quiet_ns = Some(at_ns);
    }

    /// Whether everything has arrived, once, after the sources are quiet.
    pub(crate) fn take_drained(&mut self) -> bool {
        let is_drained = self.quiet_ns.is_some() && self.outstanding.is_empty();
        is_drained && !std::mem::replace(&mut self.drained_told, true)
    }

    /// All counters are told.
    pub(crate) fn done(&mut self, end_ns: u64) {
        self.end_ns = Some(end_ns);
    }

    /// The lab is gone without a word.
    pub(crate) fn crashed(&mut self, text: &str) {
        let text = text.lines().next().unwrap_or("ended early");
        let text = text.strip_prefix("the lab ").unwrap_or(text).to_owned();
        let at_ns = self.last_ns;
        let (who, what, tolerated) = ("the lab".to_owned(), text, false);
        self.observe(Observation::Died { who, what, at_ns, tolerated });
        self.end_early(Ending::Lost);
    }

    /// The user has ended the run.
    pub(crate) fn stopped(&mut self) {
        self.end_early(Ending::Stopped);
    }

    /// When the user, or what was running, ended the run: it is the last instant that was heard of.
    fn end_early(&mut self, ending: Ending) {
        let at_ns = self.stop_asked_ns.unwrap_or(self.last_ns);
        if self.ledger.is_none() {
            self.started(self.settings.start_ns.max(at_ns));
        }
        if let Some(ledger) = &mut self.ledger {
            let told_until_ns = self.end_ns.is_none().then(|| {
                self.told_ns
                    .iter()
                    .copied()
                    .filter(|ns| *ns > 0)
                    .min()
                    .unwrap_or(0)
                    .max(self.settings.start_ns)
            });
            ledger.end_early(at_ns, ending, told_until_ns);
        }
    }

    /// A host has told of this instant, and so of all before it.
    fn told(&mut self, host: usize, at_ns: u64) {
        if let Some(told_ns) = self.told_ns.get_mut(host) {
            *told_ns = at_ns.max(*told_ns);
        }
    }

    /// The user wants the run to end.
    pub(crate) fn stop_asked(&mut self, at_ns: u64) {
        self.stop_asked_ns = self.stop_asked_ns.or(Some(at_ns));
    }

    /// Rows, mode and elapsed time of a run that goes on.
    pub(crate) fn progress(&self, now: Instant) -> Option<(Vec<ProgressRow>, String, Span)> {
        let ledger = self.ledger.as_ref()?;
        let elapsed = now.since(Instant::from_ns(self.settings.start_ns));
        Some((ledger.progress(now.as_ns()), ledger.mode().to_owned(), elapsed))
    }

    /// Puts together what a controller has changed.
    pub(crate) fn close_controlled(self) -> ControlledRun {
        self.controlled.close(self.plan.network.switches.len())
    }

    /// Judges the run.
    pub(crate) fn close(self) -> RunDocument {
        let end_ns = self.end_ns.unwrap_or(self.last_ns);
        let ledger = self.ledger.unwrap_or_else(|| Ledger::new(self.plan, self.settings));
        ledger.close(end_ns)
    }
}
