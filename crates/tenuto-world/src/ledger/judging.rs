//! One message against what it was promised.

use super::book::Book;
use super::changes::Window;
use super::summary::{Sums, seconds};
use super::{AtTarget, COPIES_MAX, DelayPoint, Fate, Ledger, MessageRecord, StallRow, Violation};
use tenuto_model::{Flow, Transition};

/// More evidence than this per kind and row only repeats itself.
const VIOLATIONS_PER_ROW: usize = 3;

/// What a message was promised.
pub(super) struct Promise<'a> {
    pub(super) index: usize,
    pub(super) flow: &'a Flow,
    pub(super) place: usize,
    /// Bound of its delay, with what this machine adds.
    pub(super) delay_ns: Option<u64>,
    /// Its deadline.
    pub(super) deadline_ns: Option<u64>,
    /// Limit of its skew, with what this machine adds.
    pub(super) skew_ns: Option<u64>,
    /// Bound of its copy over each network, with what this machine adds.
    pub(super) copies_ns: [Option<u64>; COPIES_MAX],
}

/// A promise that was not kept, unless the host is to blame or a stall leaves it open.
struct Fault {
    kind: &'static str,
    observed: Option<u64>,
    bound: Option<u64>,
    note: String,
}

impl Fault {
    const fn above(kind: &'static str, observed: u64, limit: u64, note: String) -> Self {
        Self { kind, observed: Some(observed), bound: Some(limit), note }
    }
}

/// What a message was promised, and what became of it.
struct Case<'a> {
    promise: &'a Promise<'a>,
    record: &'a MessageRecord,
    found: AtTarget,
    /// How long it may be under way.
    patience_ns: u64,
    /// It can no longer come.
    is_over: bool,
}

impl Ledger<'_> {
    /// The row by which a message is judged: the last change window that its life touches, or the
    /// mode at its release.
    pub(super) fn row_of(
        &self,
        flow: &Flow,
        record: &MessageRecord,
        place: usize,
        windows: &[Window],
        end_ns: u64,
    ) -> Transition {
        let from = record.release_ns;
        let at = record.targets.get(place).and_then(|t| t.delivered_ns);
        let to = at.unwrap_or(match record.fate {
            Some(_) => from,
            None => end_ns.min(from + flow.highest().period_ns),
        });
        let touches = |w: &&Window| w.from_ns <= to && from <= w.to_ns;
        if let Some(window) = windows.iter().rev().find(touches) {
            return window.change;
        }
        let before = windows.iter().rev().find(|w| w.to_ns < from);
        let start_level = self.timelines.iter().map(|it| it.start_level).max().unwrap_or(0);
        Transition::Steady(before.map_or(start_level, |w| w.change.level_after()))
    }

    /// How long a message without a bound of its own, out of mode at its host, may be under way.
    fn patience(&self, flow: &Flow) -> u64 {
        let bounds = self.plan.flows.iter().filter_map(|row| row.delay_bound_ps);
        bounds.max().map_or(0, |ps| ps.div_ceil(1_000)).max(flow.highest().period_ns)
    }

    /// Puts one message into the books of its row.
    pub(super) fn judge(
        &self,
        promise: &Promise<'_>,
        record: &MessageRecord,
        end_ns: u64,
        book: &mut Book,
        sums: &mut Sums,
    ) {
        book.sent += 1;
        let case = self.case(promise, record, end_ns);
        let fault = match (case.found.delivered_ns, record.fate) {
            (Some(at), _) => self.late(&case, at),
            (None, Some(Fate::OutOfMode)) => return book.out_of_mode += 1,
            (None, Some(Fate::Policed)) => {
                Some(self.missing("policed", "lost a conforming message to policing", record))
            }
            (None, None) if !case.is_over => return book.in_flight += 1,
            (None, _) => Some(self.missing("loss", "lost", record)),
        };
        let is_excused =
            fault.is_some() && self.misbehaves(promise.flow, record.release_ns, promise.delay_ns);
        let suspect = fault.as_ref().filter(|_| !is_excused);
        if let Some(stall) = suspect.and_then(|fault| self.stall_behind(&case, fault, end_ns)) {
            book.undecided += 1;
            sums.undecided += 1;
            return sums.undecided_by(stall);
        }
        self.count(&case, fault.as_ref(), is_excused, book, sums);
        match fault {
            Some(fault) if is_excused => sums.excused += u64::from(fault.kind != "policed"),
            Some(fault) => self.breach(&case, fault, book, sums),
            None => book.late += u64::from(self.is_after_deadline(&case)),
        }
    }

    fn case<'c>(
        &self,
        promise: &'c Promise<'c>,
        record: &'c MessageRecord,
        end_ns: u64,
    ) -> Case<'c> {
        let found = record.targets.get(promise.place).copied().unwrap_or_default();
        let patience_ns = promise.delay_ns.unwrap_or_else(|| self.patience(promise.flow));
        let is_over = end_ns.saturating_sub(record.release_ns) > patience_ns;
        Case { promise, record, found, patience_ns, is_over }
    }

    /// A stall on the message's way that leaves open who is to blame.
    fn stall_behind(&self, case: &Case<'_>, fault: &Fault, end_ns: u64) -> Option<&StallRow> {
        let Case { promise, patience_ns, .. } = *case;
        let release_ns = case.record.release_ns;
        let to_ns = case.found.delivered_ns.unwrap_or_else(|| end_ns.min(release_ns + patience_ns));
        // A meter remembers the message before, which may have come late and close to this one.
        let memory_ns = match fault.kind {
            "policed" => promise.flow.contracts.iter().map(|c| c.period_ns).max().unwrap_or(0),
            _ => 0,
        };
        // A stall before the release may still be caught up with at the message's cost.
        let from_ns = release_ns.saturating_sub(patience_ns + memory_ns);
        let on_path = |node: &str| self.paths.passes(promise.index, promise.place, node);
        self.stalled(from_ns, to_ns, on_path)
    }

    fn count(
        &self,
        case: &Case<'_>,
        fault: Option<&Fault>,
        is_excused: bool,
        book: &mut Book,
        sums: &mut Sums,
    ) {
        match (case.found.delivered_ns, fault) {
            (Some(at), _) => {
                self.receive(case.record, &case.found, at, book);
                book.note_copies(&case.found, case.is_over);
                match (fault, case.promise.delay_ns) {
                    (Some(_), _) => {}
                    (None, Some(_)) => sums.within += 1,
                    (None, None) => sums.without_bound += 1,
                }
            }
            (None, Some(Fault { kind: "policed", .. })) => book.policed += 1,
            (None, _) => {
                book.lost += 1;
                book.note_copies(&case.found, case.is_over);
                sums.lost += u64::from(!is_excused);
            }
        }
    }

    /// Whether a message within its bound came after its deadline: a host that keeps its contract is
    /// late by this machine.
    fn is_after_deadline(&self, case: &Case<'_>) -> bool {
        let Case { promise, record, found, .. } = case;
        let delay = found.delivered_ns.map(|at| at.saturating_sub(record.release_ns));
        let is_after = delay.zip(promise.deadline_ns).is_some_and(|(seen, limit)| seen > limit);
        is_after && !self.misbehaves(promise.flow, record.release_ns, promise.delay_ns)
    }

    /// Whether the flow, or its host, sent more than its contract at some time of the run.
    pub(super) fn has_misbehaved(&self, index: u16, flow: &Flow) -> bool {
        self.misbehaving.contains_key(&index) || self.misbehaving_hosts.contains_key(&flow.source)
    }

    /// Counts a broken promise, and keeps the first of a row as evidence.
    fn breach(&self, case: &Case<'_>, fault: Fault, book: &mut Book, sums: &mut Sums) {
        let showed_ns = case.found.delivered_ns;
        let showed_ns = showed_ns.unwrap_or(case.record.release_ns + case.patience_ns);
        let is_missing = case.found.delivered_ns.is_none();
        let is_unseen = is_missing && self.may_be_unseen(showed_ns);
        let is_explained =
            sums.is_comparison || is_unseen || self.is_explained(case.record.release_ns, showed_ns);
        let counts = if is_explained { &mut sums.explained } else { &mut sums.broken };
        *counts.entry(fault.kind).or_default() += 1;
        let seen = book.faults.entry((fault.kind, is_explained)).or_default();
        *seen += 1;
        if *seen <= VIOLATIONS_PER_ROW {
            let violation = self.violation(case.promise, case.record, book.row, fault);
            sums.violated(violation, is_explained);
        }
    }

    fn violation(
        &self,
        promise: &Promise<'_>,
        record: &MessageRecord,
        row: Transition,
        fault: Fault,
    ) -> Violation {
        Violation {
            kind: fault.kind.into(),
            flow: Some(promise.flow.name.clone()),
            target: Some(promise.flow.targets[promise.place].host.clone()),
            mode: Some(row.label(&self.plan.network.modes)),
            at_ns: self.since_start(record.release_ns),
            observed: fault.observed,
            bound: fault.bound,
            note: fault.note,
            is_explained: false,
        }
    }

    /// A message that did not arrive, with where it was seen last.
    fn missing(&self, kind: &'static str, words: &str, record: &MessageRecord) -> Fault {
        let note = format!("{words}{}", self.place_words(record));
        Fault { kind, observed: None, bound: None, note }
    }

    /// What a delivered message breaks, if anything.
    fn late(&self, case: &Case<'_>, at_ns: u64) -> Option<Fault> {
        let Case { promise, found, .. } = case;
        let delay = at_ns.saturating_sub(case.record.release_ns);
        if let Some(limit) = promise.delay_ns.filter(|limit| delay > *limit) {
            return Some(Fault::above("delay", delay, limit, "above the bound".into()));
        }
        for (place, (seen, limit)) in found.copies.iter().zip(promise.copies_ns).enumerate() {
            if let Some((delay, limit)) = seen.zip(limit).filter(|(delay, limit)| delay > limit) {
                let note = format!("its copy over {}", self.plan.network.networks[place]);
                return Some(Fault::above("delay", delay, limit, note));
            }
        }
        let (skew, limit) = found.skew_ns.zip(promise.skew_ns)?;
        let note = "the copies came too far apart";
        (skew > limit).then(|| Fault::above("skew", skew, limit, note.into()))
    }

    fn receive(&self, record: &MessageRecord, found: &AtTarget, at_ns: u64, book: &mut Book) {
        let delay_ns = at_ns.saturating_sub(record.release_ns);
        book.received += 1;
        book.delays.push(delay_ns);
        let at_ns = self.since_start(record.release_ns);
        book.points.push(DelayPoint { at_ns, delay_ns });
        book.skew_ns_max = book.skew_ns_max.max(found.skew_ns);
    }

    fn place_words(&self, record: &MessageRecord) -> String {
        let cause = self.events.iter().rev().find(|e| {
            e.tolerated == Some(false)
                && e.at_ns <= self.since_start(record.release_ns) + 1_000_000_000
        });
        let outside = cause.map_or(String::new(), |e| {
            format!(" ({} at {:.3} s, outside the fault model)", e.text, seconds(e.at_ns))
        });
        match record.place {
            Some((node, words)) => {
                let node = self.nodes.get(node as usize).map_or("?", String::as_str);
                format!(" at {node}: {words}{outside}")
            }
            None => outside,
        }
    }

    fn misbehaves(&self, flow: &Flow, at_ns: u64, bound_ns: Option<u64>) -> bool {
        let at = self.since_start(at_ns);
        let index = self.plan.network.flows.iter().position(|f| f.name == flow.name);
        let by_flow = index.and_then(|i| self.misbehaving.get(&u16::try_from(i).ok()?));
        let by_host = self.misbehaving_hosts.get(&flow.source);
        // A message that may still be on its way when its own host begins to babble is already at
        // its mercy; one that ought to have arrived before is not.
        let under_way = bound_ns.unwrap_or(flow.highest().period_ns);
        let since = by_flow.into_iter().chain(by_host).min();
        since.is_some_and(|&since| since <= at.saturating_add(under_way))
    }

    /// The longest recorded stall of such a node that touches this time.
    pub(super) fn stalled(
        &self,
        from_ns: u64,
        to_ns: u64,
        is_meant: impl Fn(&str) -> bool,
    ) -> Option<&StallRow> {
        let (from, to) = (self.since_start(from_ns), self.since_start(to_ns));
        let touches = |s: &&StallRow| s.at_ns <= to && from <= s.at_ns + s.length_ns;
        let meant = self.stalls.iter().filter(|s| touches(s) && is_meant(&s.node));
        meant.max_by_key(|s| s.length_ns)
    }

    pub(super) fn switch_stall(&self, from_ns: u64, to_ns: u64) -> Option<&StallRow> {
        self.stalled(from_ns, to_ns, |node| self.plan.network.switch(node).is_some())
    }
}
