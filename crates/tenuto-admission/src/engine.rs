//! The engine: one interface, three ways to decide.

use crate::books::{Books, Slot, signed};
use crate::fit::{Limits, Work};
use crate::network::{Network, PortId};
use crate::refusal::{Refusal, Resource, Scarce};
use crate::request::{Request, Visit};
use crate::reservation::{Place, Reservation};
use crate::routes::{Routes, Step};
use crate::search::Search;
use std::collections::BTreeMap;

/// Searches per way: each closes one queue.
const ROUNDS_MAX: usize = 16;
/// Values beyond this leave the range in which products are exact.
const DEADLINE_NS_MAX: u64 = 10_000_000_000;
const BURST_BITS_MAX: u64 = 1 << 40;

/// How an engine decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Fixed delays per queue; a flow's guarantee is their sum.
    Budget,
    /// Nothing is reserved: each queue's delay is what its flows need, first come, first served.
    Exact,
    /// Both at once: reserved delays that are raised where all flows can bear it.
    Reserve,
}

/// What a request got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is held from now on.
    Accepted(Grant),
    /// Nothing has changed.
    Refused(Refusal),
}

/// What an accepted flow holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The delay that the books prove now, ns; it may move, and stays within the deadline.
    pub bound_ns: u64,
    /// Where it goes, source first.
    pub visits: Vec<Visit>,
}

/// Decides flow by flow what a network can still promise.
#[derive(Clone, Debug)]
pub struct Engine {
    pub books: Books,
    pub reservation: Reservation,
    limits: Limits,
    held: BTreeMap<u64, Slot>,
    routes: Routes,
    search: Search,
    work: Work,
}

impl Engine {
    /// An engine over an empty network.
    pub fn new(network: Network, method: Method, reservation: Reservation) -> Self {
        let limits = match method {
            Method::Budget => Limits { raises_max: 0, checks_max: 2_000 },
            Method::Exact => Limits { raises_max: 400, checks_max: 4_000 },
            Method::Reserve => Limits { raises_max: 24, checks_max: 600 },
        };
        let reservation = match method {
            Method::Exact => Reservation::none(),
            _ => reservation,
        };
        let mut books = Books::new(network);
        lay_out(&mut books, &reservation);
        Self {
            books,
            reservation,
            limits,
            held: BTreeMap::new(),
            routes: Routes::default(),
            search: Search::default(),
            work: Work::default(),
        }
    }

    /// Decides, and holds the flow if it fits.
    pub fn add(&mut self, request: &Request) -> Decision {
        if let Some(known) = self.held.get(&request.id).and_then(|slot| self.books.held(*slot)) {
            if known.request == *request {
                return Decision::Accepted(self.grant(self.held[&request.id]));
            }
            return Decision::Refused(Refusal::IdInUse);
        }
        match self.place(request) {
            Ok(slot) => {
                self.books.keep();
                self.held.insert(request.id, slot);
                Decision::Accepted(self.grant(slot))
            }
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    pub fn grant(&self, slot: Slot) -> Grant {
        let held = self.books.held(slot).expect("just placed");
        let bound_ns = u64::try_from(self.books.promised_ns(held)).unwrap_or(u64::MAX);
        Grant { bound_ns, visits: held.hops.iter().map(|hop| hop.visit).collect() }
    }

    /// Enters the flow where it fits; on refusal the books are as before.
    fn place(&mut self, request: &Request) -> Result<Slot, Refusal> {
        self.work.checks = 0;
        let mut last = Refusal::Unreachable;
        for at in 0..self.routes.ways(&self.books.network, request.source, &request.targets).len() {
            match self.place_on(request, at) {
                Ok(slot) => return Ok(slot),
                Err(scarce) => last = Refusal::Scarce(scarce),
            }
        }
        Err(last)
    }

    fn place_on(&mut self, request: &Request, way: usize) -> Result<Slot, Scarce> {
        let ways = self.routes.ways(&self.books.network, request.source, &request.targets);
        let way: &[Step] = &ways[way];
        let deadline_ns = signed(request.deadline_ns);
        let mut last = None;
        self.search.begin(way);
        for _ in 0..ROUNDS_MAX {
            if !self.search.cheapest(&self.books, &self.reservation, way, deadline_ns) {
                break;
            }
            let visits = self.search.visits();
            let mark = self.books.mark();
            let slot = self.books.enter(request.clone(), visits);
            self.work.begin(visits.iter().map(|visit| (visit.port, usize::from(visit.queue))));
            let Err(scarce) = self.work.settle(&mut self.books, &self.reservation, self.limits)
            else {
                return Ok(slot);
            };
            self.books.take_back(mark);
            last = Some(scarce);
            if self.work.checks > self.limits.checks_max {
                break;
            }
            let step = visits.iter().position(|visit| visit.port == scarce.port);
            if !self.search.close(&self.books, step.unwrap_or(0)) {
                break;
            }
        }
        Err(last.unwrap_or_else(|| too_late(way, deadline_ns)))
    }
}

/// No open queues meet the deadline.
fn too_late(way: &[Step], deadline_ns: i64) -> Scarce {
    Scarce {
        port: way.first().map_or(PortId(0), |step| step.port),
        queue: 0,
        resource: Resource::Deadline,
        needed: 0,
        available: deadline_ns,
        flows: 0,
    }
}

/// Every queue starts at its share.
fn lay_out(books: &mut Books, reservation: &Reservation) {
    for port in (0_u32..).map(PortId).take(books.network.ports().len()) {
        let place = Place::of(&books.network, port);
        for queue in 0..usize::from(books.network.port(port).queues) {
            books.reserve(port, queue, reservation.share(place, queue).delay_ns, |_, _| {});
        }
    }
    books.keep();
}
