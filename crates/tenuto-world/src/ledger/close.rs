//! Closing the books: rows, violations and the verdict.

use super::series::{DELAY_POINTS_MAX, DELAY_POINTS_TOTAL, histogram, thin_out};
use super::summary::{Sums, seconds};
use super::timeline::Change;
use super::{
    AtTarget, COPIES_MAX, CopyRow, DelayPoint, Fate, FlowRow, Ledger, MessageRecord, ModeChangeRow,
    PolicedRow, PortObservation, RunDocument, StallRow, SwitchSwap, TermRow, Violation,
};
use std::collections::BTreeMap;
use tenuto_model::{Flow, FlowBound, Transition};

/// More evidence than this per kind and row only repeats itself.
const VIOLATIONS_PER_ROW: usize = 3;
/// Reasons that name what frames were, not what the network lacked.
const POLICING: [&str; 6] =
    ["policed", "out_of_mode", "unknown", "malformed", "signal_rejected", "no_output"];

/// A stretch of time in which messages are judged by a change's bound.
struct Window {
    from_ns: u64,
    to_ns: u64,
    change: Transition,
}

impl Ledger<'_> {
    /// Judges the run, which ended at `end_ns`.
    pub fn close(mut self, end_ns: u64) -> RunDocument {
        let switches = self.timeline.switches();
        let changes = std::mem::take(&mut self.timeline.changes);
        let windows = self.windows(&changes);
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
            .map(|c| self.change_row(c, switches, end_ns, &mut violations, &mut sums))
            .collect();
        self.check_expectations(&changes, switches, &mut violations, &mut sums);
        let ports = self.port_rows(&mut violations);
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
            command: None,
            machine: None,
            events: self.events,
            stalls: self.stalls,
            assumptions: self.plan.assumptions.iter().map(|a| a.text.clone()).collect(),
        }
    }

    fn since_start(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.settings.start_ns)
    }

    fn windows(&self, changes: &[Change]) -> Vec<Window> {
        let end_of = |c: &Change| {
            let bound = self.change_bound(c.change).unwrap_or(0);
            let seen = c.swaps.iter().map(|s| s.1).chain(c.admissions.iter().map(|a| a.1)).max();
            (c.at_ns + bound).max(seen.unwrap_or(c.at_ns))
        };
        let window = |c: &Change| match c.change {
            // A return's window opens when the first switch swaps, not with the last violation.
            Transition::Return { .. } => {
                let opened = c.swaps.iter().map(|s| s.1).min().unwrap_or(c.at_ns);
                let closed = c.admissions.iter().map(|a| a.1).max().unwrap_or(opened);
                Window { from_ns: opened, to_ns: closed.max(opened), change: c.change }
            }
            _ => Window { from_ns: c.at_ns, to_ns: end_of(c), change: c.change },
        };
        changes.iter().map(window).collect()
    }

    fn change_bound(&self, change: Transition) -> Option<u64> {
        let bound = self.plan.mode_changes.iter().find(|b| b.change == change)?;
        Some(bound.bound_ps.div_ceil(1_000) + self.settings.change_allowance_ns)
    }

    fn change_row(
        &self,
        change: &Change,
        switches: usize,
        end_ns: u64,
        violations: &mut Vec<Violation>,
        sums: &mut Sums,
    ) -> ModeChangeRow {
        let modes = &self.plan.network.modes;
        let label = change.change.label(modes);
        let (from, to) = label.split_once('>').unwrap_or((label.as_str(), ""));
        let bound_ns = self.change_bound(change.change);
        let observed_ns = change.complete_ns(switches).map(|at| at.saturating_sub(change.at_ns));
        let age = end_ns.saturating_sub(change.at_ns);
        let late = match (observed_ns, bound_ns) {
            (Some(observed), Some(bound)) => observed > bound,
            (None, Some(bound)) => age > bound,
            _ => false,
        };
        let to_ns = change.at_ns + observed_ns.or(bound_ns).unwrap_or(0);
        let stall = self.switch_stall(change.at_ns, to_ns).filter(|_| late);
        if let Some(stall) = stall {
            sums.undecided_changes += 1;
            sums.undecided_by(stall);
        } else if late {
            violations.push(Violation {
                kind: "mode_change".into(),
                flow: None,
                target: None,
                mode: Some(label.clone()),
                at_ns: self.since_start(change.at_ns),
                observed: observed_ns,
                bound: bound_ns,
                note: match observed_ns {
                    Some(_) => "the last switch swapped after the bound".into(),
                    None => {
                        format!("not every switch swapped: {} of {switches}", change.swaps.len())
                    }
                },
            });
        }
        let admitted = |switch: &String| change.admissions.iter().find(|a| a.0 == *switch);
        let switches = change.swaps.iter().map(|(switch, at, purged, took)| SwitchSwap {
            switch: switch.clone(),
            at_ns: self.since_start(*at),
            purged_frames: *purged,
            took_ns: *took,
            admitted_at_ns: admitted(switch).map(|a| self.since_start(a.1)),
        });
        ModeChangeRow {
            from: from.into(),
            to: to.into(),
            trigger: self.trigger_words(change),
            at_ns: self.since_start(change.at_ns),
            observed_ns,
            bound_ns,
            purged_frames: change.swaps.iter().map(|s| u64::from(s.2)).sum(),
            terms: self.term_rows(change, observed_ns),
            switches: switches.collect(),
        }
    }

    fn term_rows(&self, change: &Change, observed_ns: Option<u64>) -> Vec<TermRow> {
        let Some(bound) = self.plan.mode_changes.iter().find(|b| b.change == change.change) else {
            return Vec::new();
        };
        let took = change.swaps.iter().map(|s| s.3).max();
        let quiet = bound.terms.iter().find(|t| t.name == "quiet");
        let quiet = quiet.map_or(0, |t| t.bound_ps.div_ceil(1_000));
        let observed = |name: &str| match name {
            // At a return the signals' ways and the leader's poll cannot be told apart.
            "D_arrange" if quiet > 0 => observed_ns.map(|o| o.saturating_sub(quiet)),
            "D_arrange" => observed_ns.map(|o| o.saturating_sub(took.unwrap_or(0))),
            "quiet" => observed_ns.map(|o| o.min(quiet)),
            // Updating and purging happen in one step, which is timed as a whole.
            "D_update" => took,
            _ => None,
        };
        let row = |term: &tenuto_model::ModeChangeTerm| TermRow {
            name: term.name.clone(),
            observed_ns: observed(&term.name),
            bound_ns: term.bound_ps.div_ceil(1_000),
        };
        bound.terms.iter().map(row).collect()
    }

    fn trigger_words(&self, change: &Change) -> String {
        let Some((switch, monitor)) = &change.trigger else {
            return match change.change {
                Transition::Return { .. } => "quiet".into(),
                _ => "unknown".into(),
            };
        };
        let deployed = self.plan.switches.iter().find(|d| d.switch == *switch);
        let spec = deployed.and_then(|d| d.monitors.iter().find(|m| m.id == *monitor));
        match spec {
            Some(spec) => format!("{}, seen by {switch}", spec.flow),
            None => format!("monitor {monitor} of {switch}"),
        }
    }

    /// Whether every change came and went as the scenario says.
    fn check_expectations(
        &self,
        changes: &[Change],
        switches: usize,
        violations: &mut Vec<Violation>,
        sums: &mut Sums,
    ) {
        let complete = |c: &&Change| c.complete_ns(switches).is_some();
        let raises = changes.iter().filter(|c| matches!(c.change, Transition::Raise { .. }));
        let returns = changes.iter().filter(|c| matches!(c.change, Transition::Return { .. }));
        let counted = [
            ("raises", self.settings.expect.raises, raises.filter(complete).count()),
            ("returns", self.settings.expect.returns, returns.filter(complete).count()),
        ];
        for (what, expected, seen) in counted {
            let Some(expected) = expected.filter(|n| *n as usize != seen) else { continue };
            let by_stall = changes.iter().find_map(|change| self.trigger_stall(change));
            if let Some(stall) = by_stall {
                sums.undecided_changes += 1;
                sums.undecided_by(stall);
                continue;
            }
            violations.push(Violation {
                kind: "expectation".into(),
                flow: None,
                target: None,
                mode: None,
                at_ns: 0,
                observed: Some(seen as u64),
                bound: Some(u64::from(expected)),
                note: format!("{seen} {what} where the scenario expects {expected}"),
            });
        }
    }

    /// A stall that may have made a conforming flow look like one that asks for a raise.
    fn trigger_stall(&self, change: &Change) -> Option<&StallRow> {
        let (switch, monitor) = change.trigger.as_ref()?;
        let deployed = self.plan.switches.iter().find(|d| d.switch == *switch)?;
        let spec = deployed.monitors.iter().find(|m| m.id == *monitor)?;
        let flow = self.plan.network.flow(&spec.flow)?;
        let period = flow.contracts.iter().map(|c| c.period_ns).max().unwrap_or(0);
        let from = change.at_ns.saturating_sub(period);
        self.stalled(from, change.at_ns, |node| node == switch || node == flow.source)
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
            (None, Some(Fate::Policed)) => Some(Fault {
                kind: "policed",
                observed: None,
                bound: None,
                note: format!("a conforming message was policed{}", self.place_words(record)),
            }),
            (None, None) if young => {
                book.in_flight += 1;
                return;
            }
            (None, _) => Some(Fault {
                kind: "loss",
                observed: None,
                bound: None,
                note: format!("lost{}", self.place_words(record)),
            }),
        };
        let fault_kind = fault.as_ref().map(|f| f.kind);
        let is_excused = fault.is_some() && self.misbehaves(promise.flow, record.release_ns);
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
            violations.push(Violation {
                kind: fault.kind.into(),
                flow: Some(promise.flow.name.clone()),
                target: Some(promise.flow.targets[promise.place].host.clone()),
                mode: Some(book.row.label(&self.plan.network.modes)),
                at_ns: self.since_start(record.release_ns),
                observed: fault.observed,
                bound: fault.bound,
                note: fault.note,
            });
        }
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

    fn misbehaves(&self, flow: &Flow, at_ns: u64) -> bool {
        let at = self.since_start(at_ns);
        let index = self.plan.network.flows.iter().position(|f| f.name == flow.name);
        let by_flow = index.and_then(|i| self.misbehaving.get(&u16::try_from(i).ok()?));
        let by_host = self.misbehaving_hosts.get(&flow.source);
        // A message on its way when its own host begins to babble is already at its mercy.
        let since = by_flow.into_iter().chain(by_host).min();
        since.is_some_and(|&since| since <= at + flow.highest().period_ns)
    }

    /// The longest recorded stall of such a node that touches this time.
    fn stalled(
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

    fn switch_stall(&self, from_ns: u64, to_ns: u64) -> Option<&StallRow> {
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
            copies: self.copy_rows(flow, &book, bound, allowance),
            skew_limit_ns: flow.skew_max_ns,
            skew_bound_ns: bound.and_then(|b| b.skew_bound_ps).map(|ps| ps.div_ceil(1_000)),
            observed_skew_ns_max: book.skew_ns_max,
            // Thinned out here to what one row may keep, and again when all rows are known.
            delays: thin_out(&book.points, DELAY_POINTS_MAX),
            delay_histogram: histogram(&book.delays),
        }
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

    fn policed_rows(&self) -> Vec<PolicedRow> {
        let network = &self.plan.network;
        let mut rows: Vec<PolicedRow> = self
            .dropped
            .iter()
            .filter(|((_, _, reason, _), _)| POLICING.contains(&reason.as_str()))
            .map(|((node, port, reason, cookie), frames)| {
                let index = usize::try_from(*cookie).ok().and_then(|c| c.checked_sub(1));
                let far = network.ends_of(node).find(|(own, ..)| own.port == *port);
                let far = far.map(|(_, far, _)| far.node.clone());
                PolicedRow {
                    flow: index.and_then(|i| network.flows.get(i)).map(|f| f.name.clone()),
                    host: far.filter(|far| network.hosts.iter().any(|h| h.name == *far)),
                    switch: node.clone(),
                    port: *port,
                    frames: frames.total,
                    reason: reason.clone(),
                    stretch_ns: frames.stretch_ns(),
                    frames_at: frames.rows(),
                }
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.frames));
        rows
    }

    fn port_rows(&self, violations: &mut Vec<Violation>) -> Vec<PortObservation> {
        let mut rows = Vec::new();
        for ((node, port), &(backlog, frames)) in &self.ports {
            let port = tenuto_model::Port { node: node.clone(), port: *port };
            let label = self.plan.network.port_label(&port);
            let planned = self.plan.port_rows.iter().filter(|row| row.port == port);
            let bound = planned.clone().map(|row| row.backlog_bound_bits).max().flatten();
            let limit = planned.clone().find_map(|row| row.buffer_limit_bits);
            let virtual_time = self.settings.world == "simulated";
            let from_babbler = self.misbehaving_hosts.contains_key(node);
            if virtual_time && !from_babbler && bound.is_some_and(|b| backlog > b) {
                violations.push(Violation {
                    kind: "backlog".into(),
                    flow: None,
                    target: None,
                    mode: None,
                    at_ns: 0,
                    observed: Some(backlog),
                    bound,
                    note: format!("the queue at {label} was longer than its bound"),
                });
            }
            rows.push(PortObservation {
                port: label,
                observed_backlog_bits_max: backlog,
                backlog_bound_bits: bound,
                buffer_limit_bits: limit,
                frames,
            });
        }
        rows
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
