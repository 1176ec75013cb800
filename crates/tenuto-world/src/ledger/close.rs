//! Closing the books: rows, violations and the verdict.

use super::changes::Window;
use super::series::{DELAY_POINTS_MAX, DELAY_POINTS_TOTAL, histogram, thin_out};
use super::summary::{Sums, seconds};
use super::timeline::Change;
use super::{
    AtTarget, COPIES_MAX, CopyRow, DelayPoint, Fate, FlowRow, HopRow, Ledger, MessageRecord,
    ModeChangeRow, RunDocument, StallRow, Violation,
};
use std::collections::BTreeMap;
use tenuto_model::{Flow, FlowBound, Transition};

/// More evidence than this per kind and row only repeats itself.
const VIOLATIONS_PER_ROW: usize = 3;
impl Ledger<'_> {
    /// Judges the run, which ended at `end_ns`.
    pub fn close(mut self, end_ns: u64) -> RunDocument {
        let taken = self.timelines.iter_mut().map(|t| std::mem::take(&mut t.changes));
        let mut timelines: Vec<Vec<Change>> = taken.collect();
        timelines.iter_mut().for_each(|changes| changes.sort_by_key(|change| change.at_ns));
        let windows: Vec<Window> = timelines.iter().flat_map(|c| self.windows(c)).collect();
        let mut changes: Vec<Change> = timelines.into_iter().flatten().collect();
        changes.sort_by_key(|change| change.at_ns);
        let mut violations = Vec::new();
        let mut flows = Vec::new();
        let mut sums = Sums::default();
        for index in 0..self.plan.network.flows.len() {
            self.flow_rows(index, &windows, end_ns, &mut flows, &mut violations, &mut sums);
        }
        let points_max = (DELAY_POINTS_TOTAL / flows.len().max(1)).min(DELAY_POINTS_MAX);
        for row in &mut flows {
            row.delays = thin_out(&row.delays, points_max);
        }
        let mode_changes: Vec<ModeChangeRow> = changes
            .iter()
            .map(|c| self.change_row(c, end_ns, &mut violations, &mut sums))
            .collect();
        self.check_expectations(&changes, &mut violations, &mut sums);
        let ports = self.port_rows(&mut violations);
        let mut releases = std::mem::take(&mut self.releases);
        for release in &mut releases {
            release.at_ns = release.at_ns.saturating_sub(self.settings.start_ns);
        }
        releases.sort_by_key(|release| (release.at_ns, release.flow));
        violations.sort_by_key(|v| v.at_ns);
        let verdict = sums.verdict(&violations);
        RunDocument {
            schema: "tenuto-run/1".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            world: self.settings.world.into(),
            seed: self.settings.seed,
            plan_hash: self.plan.plan_hash.clone(),
            network: self.plan.network.name.clone(),
            summary: sums.sentence(verdict, &violations),
            verdict,
            duration_ns: end_ns.saturating_sub(self.settings.start_ns),
            slow: self.settings.slow,
            flows,
            mode_changes,
            violations,
            policed: self.policed_rows(),
            ports,
            packet_hops: self.packet_hops,
            replay: None,
            releases,
            command: None,
            machine: None,
            events: self.events,
            stalls: self.stalls,
            assumptions: self.plan.rests_on(),
        }
    }

    pub(super) fn since_start(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.settings.start_ns)
    }

    fn flow_rows(
        &mut self,
        index: usize,
        windows: &[Window],
        end_ns: u64,
        rows: &mut Vec<FlowRow>,
        violations: &mut Vec<Violation>,
        sums: &mut Sums,
    ) {
        let plan = self.plan;
        let flow = &plan.network.flows[index];
        let mut messages: Vec<(u64, MessageRecord)> =
            std::mem::take(&mut self.messages[index]).into_iter().collect();
        messages.sort_by_key(|(id, record)| (record.release_ns, *id));
        let number = u16::try_from(index).unwrap_or(u16::MAX);
        for (place, target) in flow.targets.iter().enumerate() {
            let bounds: Vec<&FlowBound> = plan
                .flows
                .iter()
                .filter(|b| b.flow == flow.name && b.target == target.host)
                .collect();
            let mut books: Vec<Book> = Vec::new();
            for (_, record) in &messages {
                let row = self.row_of(flow, record, place, windows, end_ns);
                let book = match books.iter_mut().find(|b| b.row == row) {
                    Some(book) => book,
                    None => {
                        books.push(Book::new(row));
                        books.last_mut().expect("pushed just now")
                    }
                };
                let bound = bounds.iter().find(|b| b.mode == row);
                let allowance_ns = self.allowance(number, &target.host, row);
                let limit = |ps: u64| ps.div_ceil(1_000) + allowance_ns;
                let promise = Promise {
                    index,
                    flow,
                    place,
                    delay_ns: bound.and_then(|b| b.delay_bound_ps).map(limit),
                    skew_ns: flow.skew_max_ns.map(|max| max + allowance_ns),
                    copies_ns: std::array::from_fn(|n| {
                        let name = self.plan.network.networks.get(n)?;
                        copy_bound_ns(bound.copied(), name, allowance_ns)
                    }),
                };
                self.judge(&promise, record, end_ns, book, violations, sums);
            }
            books.sort_by_key(|b| b.row);
            for book in books {
                let bound = bounds.iter().find(|b| b.mode == book.row).copied();
                rows.push(self.flow_row(number, flow, place, book, bound));
            }
        }
    }

    /// The row by which a message is judged: the last change window that its life touches, or the
    /// mode at its release.
    fn row_of(
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
        Transition::Steady(before.map_or(0, |w| w.change.level_after()))
    }

    /// How long a message without a bound of its own, out of mode at its host, may be under way.
    fn patience(&self, flow: &Flow) -> u64 {
        let bounds = self.plan.flows.iter().filter_map(|row| row.delay_bound_ps);
        bounds.max().map_or(0, |ps| ps.div_ceil(1_000)).max(flow.highest().period_ns)
    }

    /// Puts one message into the books of its row.
    fn judge(
        &self,
        promise: &Promise<'_>,
        record: &MessageRecord,
        end_ns: u64,
        book: &mut Book,
        violations: &mut Vec<Violation>,
        sums: &mut Sums,
    ) {
        book.sent += 1;
        let found = record.targets.get(promise.place).copied().unwrap_or_default();
        let limit = promise.delay_ns.unwrap_or_else(|| self.patience(promise.flow));
        let young = end_ns.saturating_sub(record.release_ns) <= limit;
        let fault = match (found.delivered_ns, record.fate) {
            (Some(at), _) => self.late(promise, record, &found, at),
            (None, Some(Fate::OutOfMode)) => {
                book.out_of_mode += 1;
                return;
            }
            (None, Some(Fate::Policed)) => {
                Some(self.missing("policed", "a conforming message was policed", record))
            }
            (None, None) if young => {
                book.in_flight += 1;
                return;
            }
            (None, _) => Some(self.missing("loss", "lost", record)),
        };
        let fault_kind = fault.as_ref().map(|f| f.kind);
        let is_excused =
            fault.is_some() && self.misbehaves(promise.flow, record.release_ns, promise.delay_ns);
        // A stall before the release may still be caught up with at the message's cost.
        let to_ns = found.delivered_ns.unwrap_or_else(|| end_ns.min(record.release_ns + limit));
        // A meter remembers the message before, which may have come late and close to this one.
        let memory_ns = match fault_kind {
            Some("policed") => {
                promise.flow.contracts.iter().map(|c| c.period_ns).max().unwrap_or(0)
            }
            _ => 0,
        };
        let from_ns = record.release_ns.saturating_sub(limit + memory_ns);
        let on_path = |node: &str| self.paths.passes(promise.index, promise.place, node);
        let suspect = fault.is_some() && !is_excused;
        if suspect && let Some(stall) = self.stalled(from_ns, to_ns, on_path) {
            book.undecided += 1;
            sums.undecided += 1;
            sums.undecided_by(stall);
            return;
        }
        match (found.delivered_ns, fault_kind) {
            (Some(at), _) => {
                self.receive(record, &found, at, book);
                book.note_copies(&found, !young);
                sums.within += u64::from(fault_kind.is_none());
            }
            (None, Some("policed")) => book.policed += 1,
            (None, _) => {
                book.lost += 1;
                book.note_copies(&found, !young);
                sums.lost += u64::from(!is_excused);
            }
        }
        let Some(fault) = fault else { return };
        if is_excused {
            sums.excused += u64::from(fault.kind != "policed");
            return;
        }
        *sums.broken.entry(fault.kind).or_default() += 1;
        let seen = book.faults.entry(fault.kind).or_default();
        *seen += 1;
        if *seen <= VIOLATIONS_PER_ROW {
            violations.push(self.violation(promise, record, book.row, fault));
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
        }
    }

    /// A message that did not arrive, with where it was seen last.
    fn missing(&self, kind: &'static str, words: &str, record: &MessageRecord) -> Fault {
        let note = format!("{words}{}", self.place_words(record));
        Fault { kind, observed: None, bound: None, note }
    }

    /// What a delivered message breaks, if anything.
    fn late(
        &self,
        promise: &Promise<'_>,
        record: &MessageRecord,
        found: &AtTarget,
        at_ns: u64,
    ) -> Option<Fault> {
        let delay = at_ns.saturating_sub(record.release_ns);
        if promise.delay_ns.is_some_and(|limit| delay > limit) {
            return Some(Fault {
                kind: "delay",
                observed: Some(delay),
                bound: promise.delay_ns,
                note: "above the bound".into(),
            });
        }
        for (place, (seen, limit)) in found.copies.iter().zip(promise.copies_ns).enumerate() {
            if let Some((delay, limit)) = seen.zip(limit).filter(|(delay, limit)| delay > limit) {
                return Some(Fault {
                    kind: "delay",
                    observed: Some(delay),
                    bound: Some(limit),
                    note: format!("its copy over {}", self.plan.network.networks[place]),
                });
            }
        }
        let (skew, limit) = found.skew_ns.zip(promise.skew_ns)?;
        (skew > limit).then(|| Fault {
            kind: "skew",
            observed: Some(skew),
            bound: Some(limit),
            note: "the copies came too far apart".into(),
        })
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
            format!("; outside the fault model since {:.3} s: {}", seconds(e.at_ns), e.text)
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
        let under_way = flow.highest().period_ns.max(bound_ns.unwrap_or(0));
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

    fn flow_row(
        &self,
        number: u16,
        flow: &Flow,
        place: usize,
        mut book: Book,
        bound: Option<&FlowBound>,
    ) -> FlowRow {
        let target = &flow.targets[place];
        let modes = &self.plan.network.modes;
        book.delays.sort_unstable();
        let quantile = |q: usize| {
            let last = book.delays.len().checked_sub(1)?;
            book.delays.get((book.delays.len() * q / 100).min(last)).copied()
        };
        let allowance = self.allowance(number, &target.host, book.row);
        let queueing = bound.and_then(|b| b.delay_bound_ps).map(|ps| ps.div_ceil(1_000));
        let deadline = bound.map(|b| b.deadline_ns).or(target.deadline_ns.last().copied());
        FlowRow {
            flow: flow.name.clone(),
            target: target.host.clone(),
            mode: book.row.label(modes),
            level: modes.get(flow.level).cloned().unwrap_or_default(),
            sent: book.sent,
            received: book.received,
            lost: book.lost,
            policed: book.policed,
            out_of_mode: book.out_of_mode,
            in_flight: book.in_flight,
            undecided: book.undecided,
            delay_bound_ns: queueing.map(|q| q + allowance),
            queueing_bound_ns: queueing,
            host_allowance_ns: allowance,
            observed_delay_ns_max: book.delays.last().copied(),
            observed_delay_ns_p50: quantile(50),
            observed_delay_ns_p99: quantile(99),
            deadline_ns: deadline.unwrap_or(0),
            method: bound.map_or_else(|| "none".into(), |b| b.method.clone()),
            hops: self.hop_rows(bound),
            copies: self.copy_rows(flow, &book, bound, allowance),
            skew_limit_ns: flow.skew_max_ns,
            skew_bound_ns: bound.and_then(|b| b.skew_bound_ps).map(|ps| ps.div_ceil(1_000)),
            observed_skew_ns_max: book.skew_ns_max,
            // Thinned out here to what one row may keep, and again when all rows are known.
            delays: thin_out(&book.points, DELAY_POINTS_MAX),
            delay_histogram: histogram(&book.delays),
        }
    }

    /// The hops of the copy with the largest bound.
    fn hop_rows(&self, bound: Option<&FlowBound>) -> Vec<HopRow> {
        let copy = bound.and_then(|b| b.copies.iter().max_by_key(|c| c.delay_bound_ps));
        let row = |hop: &tenuto_model::Hop| HopRow {
            port: self.plan.network.port_label(&hop.port),
            latency_ns: hop.latency_ps.div_ceil(1_000),
            queueing_ns: hop.queueing_ps.map(|ps| ps.div_ceil(1_000)),
            propagation_ns: hop.propagation_ps.div_ceil(1_000),
        };
        copy.into_iter().flat_map(|copy| &copy.hops).map(row).collect()
    }

    fn copy_rows(
        &self,
        flow: &Flow,
        book: &Book,
        bound: Option<&FlowBound>,
        allowance: u64,
    ) -> Vec<CopyRow> {
        let row = |name: &String| {
            let place = self.plan.network.networks.iter().position(|n| n == name)?;
            let seen = book.copies.get(place)?;
            Some(CopyRow {
                network: name.clone(),
                received: seen.received,
                lost: seen.lost,
                delay_bound_ns: copy_bound_ns(bound, name, allowance),
                observed_delay_ns_max: seen.delay_ns_max,
            })
        };
        flow.copies.iter().filter_map(row).collect()
    }
}

/// What a message was promised.
struct Promise<'a> {
    index: usize,
    flow: &'a Flow,
    place: usize,
    /// Bound of its delay, with what this machine adds.
    delay_ns: Option<u64>,
    /// Limit of its skew, with what this machine adds.
    skew_ns: Option<u64>,
    /// Bound of its copy over each network, with what this machine adds.
    copies_ns: [Option<u64>; COPIES_MAX],
}

/// A promise that was not kept, unless the host is to blame or a stall leaves it open.
struct Fault {
    kind: &'static str,
    observed: Option<u64>,
    bound: Option<u64>,
    note: String,
}

/// The copies of a row's messages over one network.
#[derive(Clone, Copy)]
struct CopyCount {
    received: u64,
    lost: u64,
    delay_ns_max: Option<u64>,
}

/// Bound of the copy over a network, with what this machine adds.
fn copy_bound_ns(bound: Option<&FlowBound>, network: &String, allowance_ns: u64) -> Option<u64> {
    let copy = bound?.copies.iter().find(|c| c.network.as_ref() == Some(network))?;
    Some(copy.delay_bound_ps?.div_ceil(1_000) + allowance_ns)
}

/// The books of one row.
struct Book {
    row: Transition,
    sent: u64,
    received: u64,
    lost: u64,
    policed: u64,
    out_of_mode: u64,
    in_flight: u64,
    undecided: u64,
    delays: Vec<u64>,
    points: Vec<DelayPoint>,
    skew_ns_max: Option<u64>,
    copies: [CopyCount; COPIES_MAX],
    /// Broken promises by kind.
    faults: BTreeMap<&'static str, usize>,
}

impl Book {
    const fn new(row: Transition) -> Self {
        Self {
            row,
            sent: 0,
            received: 0,
            lost: 0,
            policed: 0,
            out_of_mode: 0,
            in_flight: 0,
            undecided: 0,
            delays: Vec::new(),
            points: Vec::new(),
            skew_ns_max: None,
            copies: [CopyCount { received: 0, lost: 0, delay_ns_max: None }; COPIES_MAX],
            faults: BTreeMap::new(),
        }
    }

    /// Counts the copies of a message; a missing one is lost if it can no longer come.
    fn note_copies(&mut self, found: &AtTarget, is_over: bool) {
        for (count, seen) in self.copies.iter_mut().zip(found.copies) {
            count.received += u64::from(seen.is_some());
            count.lost += u64::from(seen.is_none() && is_over);
            count.delay_ns_max = count.delay_ns_max.max(seen);
        }
    }
}
