//! Closing the books: rows, violations and the verdict.

use super::book::Book;
use super::changes::Window;
use super::judging::Promise;
use super::series::{DELAY_POINTS_MAX, DELAY_POINTS_TOTAL, histogram, thin_out};
use super::summary::Sums;
use super::timeline::{Change, Timeline};
use super::{
    CopyRow, Facts, FlowRow, HopRow, Ledger, MessageRecord, ModeChangeRow, Release, RunDocument,
};
use tenuto_model::{Flow, FlowBound, Transition};

impl Ledger<'_> {
    /// Judges the run, which ended at `end_ns`.
    pub fn close(mut self, end_ns: u64) -> RunDocument {
        let (windows, changes) = self.take_changes(end_ns);
        self.settle_deaths(&windows);
        let mut flows = Vec::new();
        let mut sums = Sums::of(self.plan);
        for index in 0..self.plan.network.flows.len() {
            self.flow_rows(index, (&windows, end_ns), &mut flows, &mut sums);
        }
        let points_max = (DELAY_POINTS_TOTAL / flows.len().max(1)).min(DELAY_POINTS_MAX);
        for row in &mut flows {
            row.delays = thin_out(&row.delays, points_max);
        }
        let mode_changes: Vec<ModeChangeRow> =
            changes.iter().map(|c| self.change_row(c, end_ns, &mut sums)).collect();
        let expect_not_judged = self.expect_not_judged();
        if expect_not_judged.is_none() {
            self.check_expectations(&changes, &mut sums);
        }
        let ports = self.port_rows(&mut sums);
        let releases = self.take_releases();
        sums.violations.sort_by_key(|v| v.at_ns);
        self.conclude(&flows, &mut sums);
        let verdict = Facts::of(&sums.reasons).verdict();
        RunDocument {
            schema: "tenuto-run/1".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            world: self.settings.world.into(),
            seed: self.settings.seed,
            plan_hash: self.plan.plan_hash.clone(),
            network: self.plan.network.name.clone(),
            summary: sums.sentence(verdict),
            verdict,
            verdict_reasons: sums.reasons,
            scenario_ns: self.settings.played.whole_ns,
            not_played: self.not_played(),
            expect_not_judged,
            not_observed: self.not_observed(&flows),
            duration_ns: end_ns.saturating_sub(self.settings.start_ns),
            slow: self.settings.slow,
            flows,
            mode_changes,
            violations: sums.violations,
            policed: self.policed_rows(),
            ports,
            packet_hops: self.packet_hops,
            replay: None,
            hop_delays: Vec::new(),
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

    /// Windows network by network, all changes in the order in which they began.
    fn take_changes(&mut self, end_ns: u64) -> (Vec<Window>, Vec<Change>) {
        let missing = self.timelines.iter().filter_map(Timeline::missing_return);
        let is_overdue = |it: &Change| {
            let bound = self.change_bound(it.change);
            bound.is_some_and(|bound| end_ns.saturating_sub(it.at_ns) > bound)
        };
        let missing: Vec<Change> = missing.filter(is_overdue).collect();
        let taken = self.timelines.iter_mut().map(|t| std::mem::take(&mut t.changes));
        let mut timelines: Vec<Vec<Change>> = taken.collect();
        timelines.iter_mut().for_each(|changes| changes.sort_by_key(|change| change.at_ns));
        let windows = timelines.iter().flat_map(|c| self.windows(c)).collect();
        let by_timeline = self.timelines.iter().zip(&timelines);
        let deaths =
            by_timeline.flat_map(|(own, changes)| self.too_many_signals_lost(own, changes));
        let deaths: Vec<_> = deaths.collect();
        self.deaths.extend(deaths);
        let mut changes: Vec<Change> = timelines.into_iter().flatten().chain(missing).collect();
        changes.sort_by_key(|change| change.at_ns);
        (windows, changes)
    }

    fn take_releases(&mut self) -> Vec<Release> {
        let mut releases = std::mem::take(&mut self.releases);
        for release in &mut releases {
            release.at_ns = self.since_start(release.at_ns);
        }
        releases.sort_by_key(|release| (release.at_ns, release.flow));
        releases
    }

    fn flow_rows(
        &mut self,
        index: usize,
        (windows, end_ns): (&[Window], u64),
        rows: &mut Vec<FlowRow>,
        sums: &mut Sums,
    ) {
        let plan = self.plan;
        let flow = &plan.network.flows[index];
        let mut messages: Vec<(u64, MessageRecord)> =
            std::mem::take(&mut self.messages[index]).into_iter().collect();
        messages.sort_by_key(|(id, record)| (record.release_ns, *id));
        for (place, target) in flow.targets.iter().enumerate() {
            let of_target = |b: &&FlowBound| b.flow == flow.name && b.target == target.host;
            let bounds: Vec<&FlowBound> = plan.flows.iter().filter(of_target).collect();
            let bound_of = |row| bounds.iter().find(|b| b.mode == row).copied();
            let mut books: Vec<Book> = Vec::new();
            for (_, record) in &messages {
                let row = self.row_of(flow, record, place, windows, end_ns);
                let promise = self.promise(index, place, row, bound_of(row));
                let book = book_of(row, &mut books);
                self.judge(&promise, record, end_ns, book, sums);
            }
            books.sort_by_key(|b| b.row);
            for book in books {
                let bound = bound_of(book.row);
                rows.push(self.flow_row(index, flow, place, book, bound));
            }
        }
    }

    fn promise(
        &self,
        index: usize,
        place: usize,
        row: Transition,
        bound: Option<&FlowBound>,
    ) -> Promise<'_> {
        let flow = &self.plan.network.flows[index];
        let allowance_ns = self.allowance(number(index), &flow.targets[place].host, row);
        Promise {
            index,
            flow,
            place,
            delay_ns: bound
                .and_then(|b| b.delay_bound_ps)
                .map(|ps| ps.div_ceil(1_000) + allowance_ns),
            skew_ns: flow.skew_max_ns.map(|max| max + allowance_ns),
            deadline_ns: bound.map(|b| b.deadline_ns),
            copies_ns: std::array::from_fn(|n| {
                let name = self.plan.network.networks.get(n)?;
                copy_bound_ns(bound, name, allowance_ns)
            }),
        }
    }

    fn flow_row(
        &self,
        index: usize,
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
        let allowance = self.allowance(number(index), &target.host, book.row);
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
            late: book.late,
            is_misbehaving: self.has_misbehaved(number(index), flow),
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

fn number(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

/// The book of a row, opened with its first message.
fn book_of(row: Transition, books: &mut Vec<Book>) -> &mut Book {
    let open = books.iter().position(|book| book.row == row);
    let place = open.unwrap_or_else(|| {
        books.push(Book::new(row));
        books.len() - 1
    });
    &mut books[place]
}

/// Bound of the copy over a network, with what this machine adds.
fn copy_bound_ns(bound: Option<&FlowBound>, network: &String, allowance_ns: u64) -> Option<u64> {
    let copy = bound?.copies.iter().find(|c| c.network.as_ref() == Some(network))?;
    Some(copy.delay_bound_ps?.div_ceil(1_000) + allowance_ns)
}
