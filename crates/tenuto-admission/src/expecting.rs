//! How many requests are still to come, and by how much a reservation may fall behind meanwhile.

/// Of so many requests per host `exact` holds about as many as any reservation (docs/design, 0002).
const REQUESTS_PER_HOST: usize = 8;
/// Of so many requests a reservation that suits holds far more, and a shadow costs flows and time.
const REQUESTS_MAX: usize = 256;
/// The part of the flows that `exact` holds, and of the requests to come, by which a reservation may be
/// behind: what it keeps for others pays back later, or not at all.
const BEHIND_PARTS: usize = 4;

/// The number of requests to come, and the regime that it calls for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expecting {
    to_come: usize,
    /// So few are expected that nothing pays back.
    pub(crate) is_short: bool,
}

impl Expecting {
    /// So many requests of so many hosts; `None` if they are very many.
    pub(crate) fn of(requests: usize, hosts: usize) -> Option<Self> {
        let is_short = requests <= hosts * REQUESTS_PER_HOST;
        let has_shadow = is_short || requests <= REQUESTS_MAX;
        has_shadow.then_some(Self { to_come: requests, is_short })
    }

    /// One has come.
    pub(crate) const fn one_came(&mut self) {
        self.to_come = self.to_come.saturating_sub(1);
    }

    /// By how many flows an engine may be behind one that holds so many.
    pub(crate) fn may_be_behind(&self, by_exact: usize) -> usize {
        match self.is_short {
            true => 0,
            false => by_exact.min(self.to_come) / BEHIND_PARTS,
        }
    }

    /// Whether one that holds so many may come to hold more than an engine that holds `held`.
    pub(crate) const fn may_be_caught_up(&self, held: usize, by_exact: usize) -> bool {
        self.is_short || held < by_exact + self.to_come
    }
}
