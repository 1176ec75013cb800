//! Which queue at every port: the cheapest way within the deadline, over the reserved delays.
//!
//! Along a path this is a search over (delay, cost) pairs of which only the best are kept; a tree
//! takes at each port the queue that the longest of its branches wants.

use crate::books::{Books, signed};
use crate::network::PortId;
use crate::prices::prices;
use crate::request::Visit;
use crate::reservation::{Place, Reservation};
use crate::routes::Step;

/// Pairs kept per port.
const LABELS_MAX: usize = 64;

/// A way to come as far as one port: so late, at such a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    delay_ns: i64,
    cost: u32,
    before: u16,
    queue: u8,
}

/// The least delay over the open queues of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fastest {
    /// The port with the slowest of the queues.
    pub(crate) port: PortId,
    /// The slowest of the queues.
    pub(crate) queue: u8,
    /// Of the whole way.
    pub(crate) delay_ns: i64,
}

/// The search of one way, kept between decisions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    labels: Vec<Label>,
    ends: Vec<usize>,
    next: Vec<Label>,
    /// Queues per step that did not take the flow.
    closed: Vec<u16>,
    /// Places of the steps to one target, source first.
    branch: Vec<usize>,
    visits: Vec<Visit>,
    is_chosen: Vec<bool>,
    /// Whether a flow takes the same queue at all ports.
    pub(crate) is_uniform: bool,
}

impl Search {
    /// Starts with a way on which no queue is closed, or at lines between switches all but `trunk`.
    pub(crate) fn begin(&mut self, books: &Books, way: &[Step], trunk: Option<u8>) {
        let closed = |step: &Step| match (trunk, Place::of(&books.network, step.port)) {
            (Some(queue), Place::Trunk) => !(1 << queue),
            _ => 0,
        };
        self.closed.clear();
        self.closed.extend(way.iter().map(closed));
    }

    /// Closes the queue that was chosen last at a step; false if it has no other.
    pub(crate) fn close(&mut self, books: &Books, step: usize) -> bool {
        let visit = self.visits[step];
        self.closed[step] |= 1 << visit.queue;
        self.closed[step].count_ones() < u32::from(books.network.port(visit.port).queues)
    }

    /// The queues that the last search chose.
    pub(crate) fn visits(&self) -> &[Visit] {
        &self.visits
    }

    /// The branch that takes longest over the fastest open queues, and the slowest queue on it.
    pub(crate) fn fastest(&self, books: &Books, way: &[Step]) -> Fastest {
        let network = &books.network;
        let mut reached: Vec<i64> = Vec::with_capacity(way.len());
        let mut worst = Fastest { port: PortId(0), queue: 0, delay_ns: 0 };
        let mut slowest = 0;
        for (step, closed) in way.iter().zip(&self.closed) {
            let open = (0..network.port(step.port).queues).filter(|q| closed >> q & 1 == 0);
            let delay = |queue: u8| books.delay_ns(step.port, usize::from(queue));
            let Some(queue) = open.min_by_key(|queue| delay(*queue)) else { continue };
            if delay(queue) >= slowest {
                slowest = delay(queue);
                (worst.port, worst.queue) = (step.port, queue);
            }
            let before = step.parent.and_then(|p| reached.get(usize::from(p))).copied();
            let here = delay(queue) + signed(network.transit_ns(step.port));
            reached.push(before.unwrap_or(0) + here);
        }
        worst.delay_ns = reached.into_iter().max().unwrap_or(0);
        worst
    }

    /// The cheapest queues along a way; false if no open ones meet the deadline. Branches of a
    /// tree are served in order, and what one has chosen stands for the next.
    pub(crate) fn cheapest(
        &mut self,
        books: &Books,
        reservation: &Reservation,
        way: &[Step],
        deadline_ns: i64,
    ) -> bool {
        let visit = |step: &Step| Visit {
            port: step.port,
            queue: 0,
            parent: step.parent,
            is_last: step.is_last,
        };
        self.visits.clear();
        self.visits.extend(way.iter().map(visit));
        self.is_chosen.clear();
        self.is_chosen.resize(way.len(), false);
        if self.is_uniform {
            return self.cheapest_uniform(books, reservation, way, deadline_ns);
        }
        let lasts = (0..way.len()).filter(|at| way[*at].is_last);
        lasts.into_iter().all(|last| {
            self.branch.clear();
            let mut at = Some(last);
            while let Some(step) = at {
                self.branch.push(step);
                at = way[step].parent.map(usize::from);
            }
            self.branch.reverse();
            self.cheapest_branch(books, reservation, deadline_ns)
        })
    }

    /// The cheapest of the queues that are open at every port and, taken at all of them, meet the deadline.
    fn cheapest_uniform(
        &mut self,
        books: &Books,
        reservation: &Reservation,
        way: &[Step],
        deadline_ns: i64,
    ) -> bool {
        let closed = self.closed.iter().fold(0, |all, closed| all | closed);
        let network = &books.network;
        let queues = way.iter().map(|step| network.port(step.port).queues).max().unwrap_or(0);
        let mut best: Option<(u32, u8)> = None;
        for queue in (0..queues).filter(|queue| closed >> queue & 1 == 0) {
            self.take(books, queue);
            if longest_ns(books, &self.visits) > deadline_ns {
                continue;
            }
            let price = |visit: &Visit| {
                let from = visit.parent.map(|parent| self.visits[usize::from(parent)].port);
                prices(books, reservation, visit.port, from)[usize::from(visit.queue)]
            };
            let cost = self.visits.iter().map(price).fold(0, u32::saturating_add);
            if best.is_none_or(|(known, _)| cost < known) {
                best = Some((cost, queue));
            }
        }
        best.is_some_and(|(_, queue)| {
            self.take(books, queue);
            true
        })
    }

    /// Takes one queue at all ports, the last one of ports that have fewer.
    fn take(&mut self, books: &Books, queue: u8) {
        for visit in &mut self.visits {
            visit.queue = queue.min(books.network.port(visit.port).queues - 1);
        }
    }

    fn cheapest_branch(
        &mut self,
        books: &Books,
        reservation: &Reservation,
        deadline_ns: i64,
    ) -> bool {
        let network = &books.network;
        let transit = |at: &usize| signed(network.transit_ns(self.visits[*at].port));
        let budget = deadline_ns - self.branch.iter().map(transit).sum::<i64>();
        self.labels.clear();
        self.ends.clear();
        self.labels.push(Label { delay_ns: 0, cost: 0, before: 0, queue: 0 });
        self.ends.push(1);
        let mut start = 0;
        for at in &self.branch {
            let Visit { port, queue: chosen, parent, .. } = self.visits[*at];
            let from = parent.map(|parent| self.visits[usize::from(parent)].port);
            let prices = prices(books, reservation, port, from);
            self.next.clear();
            for queue in 0..network.port(port).queues {
                let is_open = match self.is_chosen[*at] {
                    true => queue == chosen,
                    false => self.closed[*at] >> queue & 1 == 0,
                };
                if !is_open {
                    continue;
                }
                let delay_ns = books.delay_ns(port, usize::from(queue));
                let cost = prices[usize::from(queue)];
                for (before, label) in (0_u16..).zip(&self.labels[start..]) {
                    let delay_ns = label.delay_ns + delay_ns;
                    if delay_ns <= budget {
                        let cost = label.cost.saturating_add(cost);
                        self.next.push(Label { delay_ns, cost, before, queue });
                    }
                }
            }
            keep_best(&mut self.next);
            start = self.labels.len();
            self.labels.extend_from_slice(&self.next);
            self.ends.push(self.labels.len());
        }
        let Some(label) = self.labels[start..].last().copied() else { return false };
        self.choose(label);
        true
    }

    /// The queues that lead to a label at the end of the branch.
    fn choose(&mut self, mut label: Label) {
        for (depth, at) in self.branch.iter().enumerate().rev() {
            self.visits[*at].queue = label.queue;
            self.is_chosen[*at] = true;
            let start = if depth == 0 { 0 } else { self.ends[depth - 1] };
            label = self.labels[start + usize::from(label.before)];
        }
    }
}

/// The reserved delay to the last target of a tree, latencies and propagation included.
fn longest_ns(books: &Books, visits: &[Visit]) -> i64 {
    let mut reached: Vec<i64> = Vec::with_capacity(visits.len());
    for visit in visits {
        let before = visit.parent.map_or(0, |parent| reached[usize::from(parent)]);
        let transit = signed(books.network.transit_ns(visit.port));
        reached.push(before + books.delay_ns(visit.port, visit.queue.into()) + transit);
    }
    reached.into_iter().max().unwrap_or(0)
}

/// Keeps, by rising delay, those that are cheaper than all that are faster.
fn keep_best(labels: &mut Vec<Label>) {
    labels.sort_unstable();
    let mut cheapest = u32::MAX;
    labels.retain(|label| {
        let is_better = label.cost < cheapest;
        cheapest = cheapest.min(label.cost);
        is_better
    });
    // The cheapest and the fastest stay.
    if labels.len() > LABELS_MAX {
        let last = labels.len() - 1;
        let stride = labels.len().div_ceil(LABELS_MAX - 1);
        let mut at = 0;
        labels.retain(|_| {
            at += 1;
            (at - 1) % stride == 0 || at - 1 == last
        });
    }
}
