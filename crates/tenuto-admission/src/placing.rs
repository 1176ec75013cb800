//! Where a request would go: way by way, queue by queue, until the books hold.

use crate::books::{Books, Slot, signed};
use crate::engine::{Engine, Method};
use crate::fit::Limits;
use crate::refusal::{Refusal, Resource, Scarce};
use crate::request::Request;
use crate::routes::{Step, is_dear, least_used_first};
use crate::search::Search;

/// Searches per way: each closes one queue.
const ROUNDS_MAX: usize = 16;

impl Engine {
    /// Enters the flow where it fits; on refusal the books are as before.
    pub(crate) fn place(&mut self, request: &Request) -> Result<Slot, Refusal> {
        if self.is_changing() {
            return Err(Refusal::Changing);
        }
        request.check(&self.books.network).map_err(Refusal::OutOfRange)?;
        self.work.checks = 0;
        let refused = match self.place_anywhere(request, self.method.limits()) {
            Ok(slot) => return Ok(slot),
            Err(refused) => refused,
        };
        match self.method {
            Method::Reserve => self
                .place_yielding(request, self.reservation.yielding)
                .or_else(|| self.place_as_shadow(request))
                .ok_or(refused),
            Method::Budget | Method::Exact => Err(refused),
        }
    }

    /// Way by way, over the delays as they are reserved.
    fn place_anywhere(&mut self, request: &Request, limits: Limits) -> Result<Slot, Refusal> {
        let mut last = Refusal::Unreachable;
        for way in self.ways_in_order(request) {
            match self.place_on(request, way, None, limits) {
                Ok(slot) => return Ok(slot),
                Err(scarce) => last = Refusal::Scarce(scarce),
            }
        }
        Err(last)
    }

    /// The ways of a request that may be taken now, by their places, in the order in which they are tried.
    pub(crate) fn ways_in_order(&mut self, request: &Request) -> Vec<usize> {
        let count = self.routes.count(&self.books.network, request);
        let shortest = self.routes.way(request, 0).len();
        let order = match self.method {
            Method::Exact => least_used_first(&self.books, self.routes.ways(request)),
            Method::Budget | Method::Reserve => std::array::from_fn(|way| way),
        };
        let ways = order.into_iter().take(count);
        ways.filter(|way| !is_dear(&self.books, self.routes.way(request, *way), shortest)).collect()
    }

    /// Over one way: queue by queue, those that do not take the flow closed one after the other. Of lines
    /// between switches only the queue `trunk` is taken, where that is said.
    pub(crate) fn place_on(
        &mut self,
        request: &Request,
        way: usize,
        trunk: Option<u8>,
        limits: Limits,
    ) -> Result<Slot, Scarce> {
        let way = self.routes.way(request, way);
        let deadline_ns = signed(request.deadline_ns);
        let mut last = None;
        self.search.begin(&self.books, way, trunk);
        for _ in 0..ROUNDS_MAX {
            if !self.search.cheapest(&self.books, &self.reservation, way, deadline_ns) {
                break;
            }
            let visits = self.search.visits();
            let mark = self.books.mark();
            let slot = self.books.enter(request.clone(), visits);
            self.work.begin(
                &self.books,
                visits.iter().map(|visit| (visit.port, usize::from(visit.queue))),
            );
            let Err(scarce) = self.work.settle(&mut self.books, &self.reservation, limits) else {
                return Ok(slot);
            };
            self.books.take_back(mark);
            last = Some(scarce);
            let step = visits.iter().position(|visit| visit.port == scarce.port).unwrap_or(0);
            if self.work.checks > limits.checks_max || !self.search.close(&self.books, step) {
                break;
            }
        }
        Err(last.unwrap_or_else(|| too_late(&self.books, &self.search, way, deadline_ns)))
    }
}

/// No open queues meet the deadline: the least that the reserved delays come to.
fn too_late(books: &Books, search: &Search, way: &[Step], deadline_ns: i64) -> Scarce {
    let fastest = search.fastest(books, way);
    Scarce {
        port: fastest.port,
        queue: fastest.queue,
        resource: Resource::Deadline,
        needed: fastest.delay_ns,
        available: deadline_ns,
        flows: 0,
    }
}
