//! The engine: one interface, three ways to decide.

use crate::books::{Books, Held, Slot};
use crate::ceilings::Ceilings;
use crate::envelope::Meter;
use crate::expecting::Expecting;
use crate::fit::{Limits, Work};
use crate::network::{Network, PortId};
use crate::refusal::Refusal;
use crate::request::{Request, Visit};
use crate::reservation::{Place, Reservation};
use crate::routes::Routes;
use crate::search::Search;
use crate::{lowering, rehearsal, transition};
use std::collections::{BTreeMap, BTreeSet};
use tenuto_units::{Instant, Span};

/// Requests remembered for rehearsals.
const HISTORY_MAX: usize = 512;

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

impl Method {
    pub(crate) const fn limits(self) -> Limits {
        match self {
            Self::Budget => Limits { raises_max: 0, checks_max: 600, is_eased: false },
            Self::Exact => Limits { raises_max: 600, checks_max: 3_000, is_eased: true },
            Self::Reserve => Limits { raises_max: 24, checks_max: 600, is_eased: false },
        }
    }
}

/// What a request got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is held from now on, or was already, with the same content.
    Accepted(Grant),
    /// Nothing has changed.
    Refused(Refusal),
}

/// What an accepted flow holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The delay to its last target that is proved at this moment, ns. It may move later; what is
    /// promised is the deadline, which it never exceeds.
    pub bound_ns: u64,
    /// Where the flow goes, source first.
    pub visits: Vec<Visit>,
    /// What its meter at the first switch has to let pass, so that no conforming frame is dropped
    /// there, whatever comes later: it follows from the promise, not from the bound of this moment.
    pub meter: Meter,
}

/// An earlier flow that goes another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Its number.
    pub id: u64,
    /// Where it goes now.
    pub visits: Vec<Visit>,
}

/// What another reservation takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replanned {
    /// Flows that go another way.
    pub moves: Vec<Move>,
    /// How long after the last confirmed deletion the new reservation is in force.
    pub wait: Span,
}

/// Why a removal cannot proceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalError {
    /// No flow of this number is held.
    NotHeld,
    /// Its removal has been asked for, or confirmed, before.
    AlreadyLeaving,
    /// Its deletion was confirmed without having been asked for.
    NotAskedFor,
}

/// How far a flow is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Held,
    /// Asked to go; its entries are still there.
    Leaving,
    /// Deleted then; what it had sent may still be in the network.
    Draining {
        since: Instant,
    },
}

/// A new reservation on its way: frames may be where they were, and where they go from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Once every switch has confirmed it, it takes so long.
    Unconfirmed(Span),
    /// It is in force from then on.
    Until(Instant),
}

/// Decides flow by flow what a network can still promise.
#[derive(Clone, Debug)]
pub struct Engine {
    pub(crate) books: Books,
    pub(crate) method: Method,
    pub(crate) reservation: Reservation,
    ceilings: Ceilings,
    flows: BTreeMap<u64, (Slot, Stage)>,
    pub(crate) routes: Routes,
    pub(crate) search: Search,
    pub(crate) work: Work,
    history: Vec<Request>,
    /// Whether a flow has ever gone: what is in the network is then not all from those who are held.
    has_freed: bool,
    /// Flows on their way out, by the earliest moment at which they may be free.
    draining: BTreeSet<(Instant, u64)>,
    /// Since when no flow was freed and no delay lowered; `None` before either.
    quiet_since: Option<Instant>,
    /// Until it is over nothing is accepted, freed or lowered.
    change: Option<Change>,
    /// A shadow: an engine `exact` that decides the same requests; `None` where very many are expected.
    pub(crate) shadow: Option<(Box<Self>, Expecting)>,
}

impl Engine {
    /// An engine over an empty network. `exact` reserves nothing, whatever it is given.
    pub fn new(network: Network, method: Method, reservation: Reservation) -> Self {
        let reservation = match method {
            Method::Exact => Reservation::none(),
            Method::Budget | Method::Reserve => reservation,
        };
        let mut books = Books::new(network);
        lay_out(&mut books, &reservation);
        books.keep();
        Self {
            books,
            method,
            reservation,
            ceilings: Ceilings::default(),
            flows: BTreeMap::new(),
            routes: Routes::default(),
            search: Search::default(),
            work: Work::default(),
            history: Vec::new(),
            has_freed: false,
            draining: BTreeSet::new(),
            quiet_since: None,
            change: None,
            shadow: None,
        }
    }

    /// Raises no queue beyond these ceilings from now on; what is held stays.
    #[must_use]
    pub fn limited(mut self, ceilings: &Ceilings) -> Self {
        self.ceilings = ceilings.clone();
        limit(&mut self.books, ceilings);
        self
    }

    /// Gives each flow one queue at all ports, as a plan gives a flow one priority.
    /// What is held stays where it is.
    #[must_use]
    pub const fn with_one_queue_per_flow(mut self) -> Self {
        self.search.is_uniform = true;
        self
    }

    /// The network it decides for.
    pub fn network(&self) -> &Network {
        &self.books.network
    }

    /// What is reserved at present.
    pub fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    /// Decides, and holds the flow if it fits. The same number with the same content again changes
    /// nothing and tells what is held.
    pub fn add(&mut self, request: &Request) -> Decision {
        self.remember(request);
        let decision = self.decide(request);
        self.follow(request);
        decision
    }

    /// What [`Engine::add`] would say; nothing changes.
    pub fn what_if(&mut self, request: &Request) -> Decision {
        if let Some(known) = self.known(request) {
            return known;
        }
        match self.place(request) {
            Ok(slot) => {
                let grant = self.grant(slot);
                self.books.take_back(0);
                Decision::Accepted(grant)
            }
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    /// The request with the earliest of its later deadlines that would fit, itself tried; `None` if
    /// even ten times the deadline would not help.
    pub fn would_fit(&mut self, request: &Request) -> Option<Request> {
        const TENTHS: [u64; 8] = [11, 12, 15, 20, 30, 40, 60, 100];
        let later = |tenths: &u64| Request {
            deadline_ns: request.deadline_ns.saturating_mul(*tenths) / 10,
            ..request.clone()
        };
        TENTHS.iter().map(later).find(|later| matches!(self.what_if(later), Decision::Accepted(_)))
    }

    /// Holds all of them, or none.
    ///
    /// # Errors
    /// The place of the first that does not fit behind those before it, and why.
    pub fn add_all(&mut self, requests: &[Request]) -> Result<Vec<Grant>, (usize, Refusal)> {
        let mut entered = Vec::with_capacity(requests.len());
        for (at, request) in requests.iter().enumerate() {
            let outcome = match self.known(request) {
                Some(Decision::Accepted(_)) => continue,
                Some(Decision::Refused(refusal)) => Err(refusal),
                None => self.place(request),
            };
            match outcome {
                Ok(slot) => {
                    self.flows.insert(request.id, (slot, Stage::Held));
                    entered.push(request.id);
                }
                Err(refusal) => {
                    self.books.take_back(0);
                    self.flows.retain(|id, _| !entered.contains(id));
                    return Err((at, refusal));
                }
            }
        }
        self.books.keep();
        for request in requests {
            self.remember(request);
            self.follow(request);
        }
        let slots = requests.iter().filter_map(|request| self.flows.get(&request.id));
        Ok(slots.map(|(slot, _)| self.grant(*slot)).collect())
    }

    /// Marks a flow for removal. It counts in full until its deletion is confirmed and it drained.
    ///
    /// # Errors
    /// There is no such flow, or it is leaving already.
    pub fn remove(&mut self, id: u64) -> Result<(), RemovalError> {
        match self.flows.get_mut(&id) {
            None => Err(RemovalError::NotHeld),
            Some((_, stage @ Stage::Held)) => {
                *stage = Stage::Leaving;
                if let Some((shadow, _)) = &mut self.shadow {
                    shadow.strike(id);
                }
                Ok(())
            }
            Some(_) => Err(RemovalError::AlreadyLeaving),
        }
    }

    /// Its source stopped, and every switch confirmed `at` that the flow's entries are gone: what it
    /// holds is free from the returned instant on, when its last frame has left and every busy period that it took part
    /// in is over (docs/theory/admission.md, "Leaving").
    ///
    /// # Errors
    /// There is no such flow, or it is not the turn of this step.
    pub fn confirm_removed(&mut self, id: u64, at: Instant) -> Result<Instant, RemovalError> {
        let (slot, stage) = self.flows.get(&id).copied().ok_or(RemovalError::NotHeld)?;
        match stage {
            Stage::Held => return Err(RemovalError::NotAskedFor),
            Stage::Draining { .. } => return Err(RemovalError::AlreadyLeaving),
            Stage::Leaving => {}
        }
        let free = self.free_at(slot, at);
        self.flows.insert(id, (slot, Stage::Draining { since: at }));
        self.draining.insert((free, id));
        Ok(free)
    }

    /// It is `now`: flows that have drained are free. Returns how many.
    ///
    /// Flows accepted since a deletion may prolong what it waits for: the moment is counted anew.
    pub fn advance(&mut self, now: Instant) -> usize {
        match self.change {
            Some(Change::Until(end)) if end <= now => {
                self.change = None;
                self.quiet_since = Some(end);
            }
            Some(_) => return 0,
            None => {}
        }
        let due: Vec<(Instant, u64)> =
            self.draining.iter().take_while(|(free, _)| *free <= now).copied().collect();
        let mut gone = Vec::new();
        for (known, id) in due {
            self.draining.remove(&(known, id));
            let Some((slot, Stage::Draining { since })) = self.flows.get(&id).copied() else {
                continue;
            };
            let free = self.free_at(slot, since);
            if free > now {
                self.draining.insert((free, id));
            } else {
                gone.push((id, slot));
            }
        }
        for (id, slot) in &gone {
            self.books.strike(*slot);
            self.flows.remove(id);
        }
        self.books.keep();
        if !gone.is_empty() {
            self.has_freed = true;
            for (port, queue) in self.books.queues_in_use() {
                self.books.set_floor(port, queue, self.books.delay_ns(port, queue));
            }
        }
        if !gone.is_empty() {
            self.quiet_since = Some(now);
        }
        gone.len()
    }

    /// It is `now`: lowers reserved delays by one round towards what the flows held need, if that is
    /// due; tells when the next round is, or `None` if there is nothing left to lower.
    ///
    /// A round is due once every frame and every busy period has come after the last one, and after
    /// the last flow was freed (docs/theory/admission.md, "Lowering"). Meant to run between decisions; who
    /// never calls it loses room for later flows, and no promise.
    pub fn relax(&mut self, now: Instant) -> Option<Instant> {
        let since = self.quiet_since.filter(|_| self.has_freed && self.change.is_none())?;
        let due = after(since, self.books.longest_ns());
        if due > now {
            return Some(due);
        }
        if !lowering::round(&mut self.books, &self.reservation) {
            return None;
        }
        self.books.keep();
        self.quiet_since = Some(now);
        Some(after(now, self.books.longest_ns()))
    }

    /// When a flow deleted at `since` and every busy period that it was part of are over, as far as
    /// is known from what is held now.
    fn free_at(&self, slot: Slot, since: Instant) -> Instant {
        after(since, self.books.held(slot).map_or(0, |held| self.drain_ns(held)))
    }

    /// Takes another reservation, if every flow held keeps its promise with it; else, and while a flow is
    /// leaving or another replan under way, nothing changes.
    ///
    /// `exact` reserves nothing, and takes none.
    ///
    /// Flows whose queues no longer suit are moved, all together: each is proved while its frames may
    /// be in both places, and afterwards. Unless the wait told here is none, the new reservation is in
    /// force once that has passed after [`Engine::confirm_replanned`]; until then every new request is refused.
    pub fn replan(&mut self, reservation: Reservation) -> Option<Replanned> {
        let (mut copy, moves) = self.placed_anew(reservation)?;
        // Without a move nothing changes but the proof, if all that ever was sent is from those held.
        let wait = match moves.is_empty() && !self.has_freed {
            true => Span::ZERO,
            false => transition::wait(&self.books, &mut copy.books, &moves)?,
        };
        if !moves.is_empty() {
            copy.has_freed = true;
        }
        copy.change = (wait > Span::ZERO).then_some(Change::Unconfirmed(wait));
        *self = copy;
        Some(Replanned { moves, wait })
    }

    /// Every switch confirmed `at` the new entries of a replan and the deletion of the old: tells when the
    /// new reservation is in force, from when on [`Engine::advance`] lets requests be decided again;
    /// `None` if no replan is to be confirmed.
    pub fn confirm_replanned(&mut self, at: Instant) -> Option<Instant> {
        let Some(Change::Unconfirmed(wait)) = self.change else { return None };
        let end = at + wait;
        self.change = Some(Change::Until(end));
        Some(end)
    }

    /// Whether a replan is under way: no request is accepted before it is over.
    pub const fn is_changing(&self) -> bool {
        self.change.is_some()
    }

    /// A copy in which every flow held was placed under another reservation, in the order of their
    /// places in the books, and who is somewhere else now.
    pub(crate) fn placed_anew(&self, reservation: Reservation) -> Option<(Self, Vec<Move>)> {
        let is_exact = self.method == Method::Exact;
        if is_exact
            || self.change.is_some()
            || self.flows.values().any(|(_, stage)| *stage != Stage::Held)
        {
            return None;
        }
        let mut copy = Self { books: self.books.emptied(), reservation, ..self.clone() };
        lay_out(&mut copy.books, &reservation);
        limit(&mut copy.books, &copy.ceilings);
        copy.books.keep();
        let mut moves = Vec::new();
        for (_, held) in self.books.slots() {
            let id = held.request.id;
            let slot = copy.place(&held.request).ok()?;
            copy.books.keep();
            copy.flows.insert(id, (slot, Stage::Held));
            let visits: Vec<Visit> = copy.books.visits(slot).collect();
            if !held.hops.iter().map(|hop| hop.visit).eq(visits.iter().copied()) {
                moves.push(Move { id, visits });
            }
        }
        Some((copy, moves))
    }

    /// Looks for a reservation that would serve requests like those seen so far better, by trial on
    /// copies, and takes the best that can be taken. Meant to run between decisions, beside them. Where few
    /// requests are expected nothing is looked for: a forecast goes on until much of it is refused.
    pub fn adapt(&mut self, seed: u64) -> Option<Replanned> {
        if self.expects_few() {
            return None;
        }
        let ranked = rehearsal::rehearse(self, &self.history, seed);
        ranked.into_iter().find_map(|candidate| self.replan(candidate.reservation))
    }

    /// Every flow held with the delay proved for it, ns, by number; as tight as the books allow.
    pub fn bounds(&self) -> Vec<(u64, u64)> {
        let mut books = self.books.clone();
        transition::tighten(&mut books);
        let bound = |slot: Slot| books.held(slot).map_or(0, |held| books.promised_ns(held));
        let flows = self.flows.iter();
        flows
            .map(|(id, (slot, _))| (*id, u64::try_from(bound(*slot)).unwrap_or(u64::MAX)))
            .collect()
    }

    /// Every flow that counts, with the ports and queues it visits.
    pub fn held(&self) -> impl Iterator<Item = (&Request, Vec<Visit>)> {
        let visits = |held: &Held| held.hops.iter().map(|hop| hop.visit).collect();
        self.books.slots().map(move |(_, held)| (&held.request, visits(held)))
    }

    /// The sums and reserved delays of the books as text, for comparison in tests.
    #[cfg(test)]
    pub(crate) fn fingerprint(&self) -> String {
        self.books.fingerprint()
    }

    /// The sums at a port, for tests.
    #[cfg(test)]
    pub(crate) fn curves_of(&self, port: PortId) -> &crate::curves::Curves {
        self.books.curves(port)
    }

    /// What is reserved at a queue, for tests.
    #[cfg(test)]
    pub(crate) fn reserved_ns(&self, port: PortId, queue: u8) -> i64 {
        self.books.delay_ns(port, queue.into())
    }

    /// The slack of a queue's flows as far as it is known without looking, for tests.
    #[cfg(test)]
    pub(crate) fn known_slack_ns(&self, port: PortId, queue: u8) -> i64 {
        self.books.known_slack_ns(port, queue.into())
    }

    /// A copy whose books were entered anew, flow by flow, over the same reserved delays.
    #[cfg(test)]
    pub(crate) fn counted_anew(&self) -> Self {
        let mut copy = self.clone();
        copy.books = self.books.emptied();
        for port in (0_u32..).map(PortId).take(self.books.network.ports().len()) {
            for queue in 0..crate::QUEUES_MAX {
                copy.books.reserve(port, queue, self.books.delay_ns(port, queue), |_, _| {});
            }
        }
        for (slot, held) in self.books.slots() {
            let visits: Vec<Visit> = self.books.visits(slot).collect();
            copy.books.enter(held.request.clone(), &visits);
        }
        copy
    }

    /// Flows that count.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Decides without remembering who asked.
    pub(crate) fn decide(&mut self, request: &Request) -> Decision {
        if let Some(known) = self.known(request) {
            return known;
        }
        match self.place(request) {
            Ok(slot) => {
                self.books.keep();
                self.flows.insert(request.id, (slot, Stage::Held));
                Decision::Accepted(self.grant(slot))
            }
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    /// A flow of this number counts no more: for engines that promise nothing.
    pub(crate) fn strike(&mut self, id: u64) {
        if let Some((slot, _)) = self.flows.remove(&id) {
            self.books.strike(slot);
            self.books.keep();
        }
    }

    fn remember(&mut self, request: &Request) {
        if self.method == Method::Exact {
            return;
        }
        if self.history.len() == HISTORY_MAX {
            self.history.remove(0);
        }
        self.history.push(request.clone());
    }

    /// What is to be said of a number that is known.
    fn known(&self, request: &Request) -> Option<Decision> {
        let (slot, stage) = self.flows.get(&request.id)?;
        let held = self.books.held(*slot)?;
        let is_same = *stage == Stage::Held && held.request == *request;
        Some(match is_same {
            true => Decision::Accepted(self.grant(*slot)),
            false => Decision::Refused(Refusal::IdInUse),
        })
    }

    fn grant(&self, slot: Slot) -> Grant {
        let held = self.books.held(slot).expect("only flows that are held are granted");
        let bound_ns = u64::try_from(self.books.promised_ns(held)).unwrap_or(u64::MAX);
        let visits = held.hops.iter().map(|hop| hop.visit).collect();
        Grant { bound_ns, visits, meter: self.books.meter(held) }
    }

    /// Until the last frame of a flow has left, and with it each busy period that it was part of.
    fn drain_ns(&self, held: &Held) -> i64 {
        let busy = held.hops.iter().map(|hop| self.books.curves(hop.visit.port).busy_ns());
        self.books.promised_ns(held).saturating_add(busy.max().unwrap_or(0))
    }
}

/// `ns` after `at`.
fn after(at: Instant, ns: i64) -> Instant {
    at + Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// Every queue starts at its share.
fn lay_out(books: &mut Books, reservation: &Reservation) {
    for port in (0_u32..).map(PortId).take(books.network.ports().len()) {
        let place = Place::of(&books.network, port);
        for queue in 0..usize::from(books.network.port(port).queues) {
            books.reserve(port, queue, reservation.share(place, queue).delay_ns, |_, _| {});
        }
    }
}

/// No queue is raised beyond its ceiling.
fn limit(books: &mut Books, ceilings: &Ceilings) {
    for (port, queue, ceiling_ns) in ceilings.iter() {
        let queues = books.network.ports().get(port.index()).map_or(0, |port| port.queues);
        if queue < usize::from(queues) {
            books.set_ceiling(port, queue, ceiling_ns);
        }
    }
}
