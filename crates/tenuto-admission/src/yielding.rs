//! The last attempt before a refusal: along a way, what is reserved and not needed is given up.
//!
//! A vector x >= F(x) stays one if an entry is lowered to what F makes of it, as long as nothing that
//! was freed is still delayed by it: floors say how far (docs/theory/admission.md, "Lowering, moving, leaving").

use crate::books::{Books, Slot};
use crate::curves::QUEUES_MAX;
use crate::engine::{Engine, Method};
use crate::network::PortId;
use crate::request::Request;
use crate::reservation::{Place, Yielding};

/// A queue whose reserved delay was lowered, and what it was.
#[derive(Clone, Copy, Debug)]
struct Lowered {
    port: PortId,
    queue: usize,
    before_ns: i64,
}

/// Eighths of what is reserved beyond the need that stay, tried in turn: the flow takes from all queues
/// on its way alike no more than it has to.
const KEPT_EIGHTHS: [i64; 8] = [7, 6, 5, 4, 3, 2, 1, 0];

/// Times that all queues are lowered to their need: each need follows from delays farther ahead.
const ROUNDS_BY_NEED: usize = 4;

impl Engine {
    /// Enters the flow over a way along which reserved delays are lowered to what is needed, and raised
    /// as `exact` does; `None`, and the books as before, if it still does not fit, or nothing yields.
    pub(crate) fn place_yielding(&mut self, request: &Request, yielding: Yielding) -> Option<Slot> {
        let trunk = match yielding {
            Yielding::Nothing => return None,
            Yielding::FirstBetweenSwitches => Some(0),
            Yielding::Everything => None,
        };
        for kept in KEPT_EIGHTHS {
            for way in self.ways_in_order(request) {
                let mark = self.books.mark();
                let ports: Vec<PortId> =
                    self.routes.way(request, way).iter().map(|step| step.port).collect();
                self.work.checks = 0;
                let lowered = lower(&mut self.books, &ports, yielding, kept);
                if let Ok(slot) = self.place_on(request, way, trunk, Method::Exact.limits()) {
                    self.give_back(slot, &lowered);
                    return Some(slot);
                }
                self.books.take_back(mark);
            }
        }
        None
    }

    /// As [`Engine::place_yielding`], with what no queue of the network needs given up: flows held on other
    /// ways bear more then where they meet this one.
    pub(crate) fn place_by_need(&mut self, request: &Request) -> Option<Slot> {
        let all: Vec<PortId> =
            (0_u32..).map(PortId).take(self.books.network.ports().len()).collect();
        let mark = self.books.mark();
        let mut lowered = Vec::new();
        for _ in 0..ROUNDS_BY_NEED {
            lowered.extend(lower(&mut self.books, &all, Yielding::Everything, 0));
        }
        for way in self.ways_in_order(request) {
            self.work.checks = 0;
            if let Ok(slot) = self.place_on(request, way, None, Method::Exact.limits()) {
                self.give_back(slot, &lowered);
                return Some(slot);
            }
        }
        self.books.take_back(mark);
        None
    }

    /// Reserves again what was given up where the flow does not go, as far as all others bear it.
    fn give_back(&mut self, slot: Slot, lowered: &[Lowered]) {
        let visited: Vec<(PortId, usize)> =
            self.books.visits(slot).map(|visit| (visit.port, visit.queue.into())).collect();
        let fixed = Method::Budget.limits();
        for it in lowered.iter().filter(|it| !visited.contains(&(it.port, it.queue))) {
            // What was given up may have been taken by raises on the way of the same flows.
            let bearable_ns = self.books.bearable_ns(it.port, it.queue, it.before_ns);
            let again_ns = match self.books.members(it.port, it.queue).is_empty() {
                true => it.before_ns,
                false => it.before_ns.min(bearable_ns),
            };
            if self.books.delay_ns(it.port, it.queue) >= again_ns {
                continue;
            }
            let mark = self.books.mark();
            let mut changed = vec![(it.port, it.queue)];
            self.books
                .reserve(it.port, it.queue, again_ns, |port, queue| changed.push((port, queue)));
            self.work.checks = 0;
            self.work.begin(&self.books, changed.into_iter());
            if self.work.settle(&mut self.books, &self.reservation, fixed).is_err() {
                self.books.take_back(mark);
            }
        }
    }
}

/// Lowers what yields of those ports to what its flows need, and so many eighths of the rest.
fn lower(
    books: &mut Books,
    ports: &[PortId],
    yielding: Yielding,
    kept_eighths: i64,
) -> Vec<Lowered> {
    let mut lowered = Vec::new();
    for port in ports {
        let queues = usize::from(books.network.port(*port).queues).min(QUEUES_MAX);
        let yields = match (yielding, Place::of(&books.network, *port)) {
            (Yielding::Everything, _) => queues,
            (Yielding::FirstBetweenSwitches, Place::Trunk) => 1,
            (Yielding::FirstBetweenSwitches | Yielding::Nothing, _) => 0,
        };
        for queue in 0..yields {
            let before_ns = books.delay_ns(*port, queue);
            let needed = match books.members(*port, queue).is_empty() {
                true => Some(0),
                false => books.needed_ns(*port, queue, before_ns),
            };
            let least = needed.unwrap_or(before_ns).max(books.floor_ns(*port, queue));
            let least = least + (before_ns - least).max(0) / 8 * kept_eighths;
            if least < before_ns {
                books.reserve(*port, queue, least, |_, _| {});
                lowered.push(Lowered { port: *port, queue, before_ns });
            }
        }
    }
    lowered
}
