//! Modes over time: what triggered a change, when each switch swapped, when it was over.

use super::Observation;
use tenuto_model::Transition;

/// One change of mode, from its trigger on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) change: Transition,
    pub(super) epoch: u64,
    pub(super) trigger: Option<(String, u32)>,
    pub(super) at_ns: u64,
    /// Switches that take part: those of one redundant network, or all.
    pub(super) members: usize,
    /// A later change began before this one was over.
    pub(super) is_overtaken: bool,
    /// Per switch: when its forwarding swapped, what it purged, how long it took.
    pub(super) swaps: Vec<(String, u64, u32, u64)>,
    /// Per switch: when its edges admitted the new level.
    pub(super) admissions: Vec<(String, u64)>,
}

impl Change {
    /// When the last switch was there, if every one was.
    pub(super) fn complete_ns(&self) -> Option<u64> {
        let list: Vec<u64> = match self.change {
            Transition::Return { .. } => self.admissions.iter().map(|a| a.1).collect(),
            _ => self.swaps.iter().map(|s| s.1).collect(),
        };
        (list.len() >= self.members).then(|| list.into_iter().max())?
    }
}

/// What is known of the modes of one network so far.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    switches: Vec<String>,
    levels: Vec<u8>,
    /// Until a switch's first swap to the start mode it is being set up.
    started: Vec<bool>,
    pub(super) changes: Vec<Change>,
    last_excess_ns: Option<u64>,
    first_trigger: Option<(String, u32, u8, u64)>,
    modes: usize,
    has_restarted: bool,
    /// The level before any change.
    pub(super) start_level: u8,
}

impl Timeline {
    pub(super) fn new(switches: Vec<String>, modes: usize) -> Self {
        let top = u8::try_from(modes.saturating_sub(1)).unwrap_or(u8::MAX);
        Self {
            levels: vec![top; switches.len()],
            started: vec![modes < 2; switches.len()],
            switches,
            changes: Vec::new(),
            last_excess_ns: None,
            first_trigger: None,
            modes,
            has_restarted: false,
            start_level: 0,
        }
    }

    /// Every switch is in its start mode.
    pub(super) fn set_up_complete(&mut self, level: u8) {
        self.start_level = level;
        self.levels.fill(level);
        self.started.fill(true);
    }

    /// The level that most recently came into force anywhere.
    pub(super) fn level_now(&self) -> u8 {
        match self.changes.last() {
            Some(change) => change.change.level_after(),
            None => self.start_level,
        }
    }

    pub(super) fn violation(&mut self, switch: &str, monitor: u32, wanted: u8, at_ns: u64) {
        self.last_excess_ns = self.last_excess_ns.max(Some(at_ns));
        let place = self.switches.iter().position(|s| s == switch);
        let level = place.map_or(0, |p| self.levels[p]);
        if wanted <= level {
            return;
        }
        // Nodes are heard in any order: another's swap may be known before what caused it.
        let known = self.changes.last_mut().filter(|change| {
            matches!(change.change, Transition::Raise { .. })
                && change.trigger.is_none()
                && change.swaps.iter().all(|swap| swap.0 != switch)
        });
        match known {
            Some(change) => {
                change.trigger = Some((switch.to_owned(), monitor));
                change.at_ns = change.at_ns.min(at_ns);
            }
            None => self.first_trigger = Some((switch.to_owned(), monitor, wanted, at_ns)),
        }
    }

    pub(super) fn swapped(&mut self, observation: &Observation) {
        let Observation::Swapped { switch, epoch, from, to, admitted, purged, at_ns, took_ns } =
            observation
        else {
            return;
        };
        let Some(place) = self.switches.iter().position(|s| s == switch) else { return };
        if self.modes < 2 {
            return;
        }
        if !self.started[place] {
            // A fresh switch takes over the network's level at once; anything else is a return that
            // finds it in the restrictive level it came up in.
            self.started[place] = true;
            self.levels[place] = *to;
            if to == admitted {
                return;
            }
        }
        self.levels[place] = *to;
        let index = self.change_for(switch, *epoch, *from, *to, *at_ns);
        let Some(index) = index else { return };
        let change = &mut self.changes[index];
        if from != to {
            change.swaps.push((switch.clone(), *at_ns, *purged, *took_ns));
        }
        if to == admitted {
            change.admissions.push((switch.clone(), *at_ns));
        }
    }

    /// The change that a swap belongs to: that of its epoch, or a new one.
    fn change_for(
        &mut self,
        switch: &str,
        epoch: u64,
        from: u8,
        to: u8,
        at_ns: u64,
    ) -> Option<usize> {
        if let Some(place) = self.changes.iter().position(|c| c.epoch == epoch) {
            return Some(place);
        }
        if from == to {
            return None;
        }
        // Who has missed a raise and learns of it later takes part in it, late.
        let last = self.changes.len().checked_sub(1);
        let missed = last.filter(|&place| {
            let change = &self.changes[place];
            matches!(change.change, Transition::Raise { to: level, .. } if level == to)
                && change.swaps.iter().all(|swap| swap.0 != switch)
                && change.epoch > epoch
        });
        if missed.is_some() {
            return missed;
        }
        Some(self.begin(epoch, from, to, at_ns))
    }

    /// A change that no other swap has told of yet. It overtakes those that are not over.
    fn begin(&mut self, epoch: u64, from: u8, to: u8, at_ns: u64) -> usize {
        let (change, start, trigger) = if to > from {
            // Of this raise, and of no later one.
            let trigger = self.first_trigger.take();
            let start = trigger.as_ref().map_or(at_ns, |t| t.3.min(at_ns));
            (Transition::Raise { from, to }, start, trigger.map(|t| (t.0, t.1)))
        } else {
            let start = self.last_excess_ns.unwrap_or(at_ns).min(at_ns);
            (Transition::Return { from, to }, start, None)
        };
        for earlier in self.changes.iter_mut().filter(|c| c.complete_ns().is_none()) {
            earlier.is_overtaken = true;
        }
        self.changes.push(Change {
            change,
            epoch,
            trigger,
            at_ns: start,
            members: self.switches.len(),
            is_overtaken: false,
            swaps: Vec::new(),
            admissions: Vec::new(),
        });
        self.changes.len() - 1
    }

    /// The return that is due at the end of a run and has not begun, from when on it was due; `None` if switches have
    /// restarted, and a window of theirs began anew.
    pub(super) fn missing_return(&self) -> Option<Change> {
        let last = self.changes.iter().max_by_key(|change| change.at_ns)?;
        let from = last.change.level_after();
        let since = last.complete_ns()?.max(self.last_excess_ns.unwrap_or(0));
        (from > 0 && !self.has_restarted).then(|| Change {
            change: Transition::Return { from, to: 0 },
            epoch: 0,
            trigger: None,
            at_ns: since,
            members: self.switches.len(),
            is_overtaken: false,
            swaps: Vec::new(),
            admissions: Vec::new(),
        })
    }

    /// Whether the switch is one of this network.
    pub(super) fn knows(&self, switch: &str) -> bool {
        self.switches.iter().any(|s| s == switch)
    }

    /// A restarted switch comes up in its highest level: forget that it had started.
    pub(super) fn restarted(&mut self, switch: &str) {
        if let Some(place) = self.switches.iter().position(|s| s == switch) {
            self.has_restarted = true;
            self.started[place] = self.modes < 2;
        }
    }
}
