//! What `exact` would hold of the same requests: the measure where few requests are expected.
//!
//! A reservation refuses urgent flows for the sake of those who may come. If hardly anybody comes that
//! serves nobody: `exact` then holds all who asked. The shadow decides every request as if it had the
//! network to itself; the engine looks at it before a refusal, and no promise rests on it.

use crate::books::Slot;
use crate::engine::{Decision, Engine, Method};
use crate::expecting::Expecting;
use crate::request::Request;
use crate::reservation::{Reservation, Yielding};

/// What is given up for a flow that the shadow holds, what costs others least first.
const YIELDINGS: [Yielding; 2] = [Yielding::FirstBetweenSwitches, Yielding::Everything];

impl Engine {
    /// Tells the engine how many requests to expect in all. If that is few for its hosts, nothing is
    /// reserved at the price of a flow that `exact` would hold; if it is more, that price is limited, and
    /// the less is still to come the less it may be. Without a word the engine expects very many.
    #[must_use]
    pub fn expecting(mut self, requests: usize) -> Self {
        let hosts = self.network().nodes().iter().filter(|node| !node.is_switch).count();
        let expecting = Expecting::of(requests, hosts).filter(|_| self.method == Method::Reserve);
        self.shadow = expecting.map(|expecting| {
            let network = self.network().clone();
            let mut shadow = Self::new(network, Method::Exact, Reservation::none());
            shadow.search.is_uniform = self.search.is_uniform;
            for (request, _) in self.held() {
                shadow.decide(request);
            }
            (Box::new(shadow), expecting)
        });
        self
    }

    /// Whether so few requests are expected that nothing is kept for others.
    pub(crate) fn expects_few(&self) -> bool {
        self.shadow.as_ref().is_some_and(|(_, expecting)| expecting.is_short)
    }

    /// Enters a flow that `exact` holds, where the engine would be too far behind that if it refused;
    /// `None`, and the books as before, if it does not fit, or the engine is not.
    pub(crate) fn place_as_shadow(&mut self, request: &Request) -> Option<Slot> {
        if !self.falls_behind(request) {
            return None;
        }
        let mut yieldings = YIELDINGS.into_iter();
        yieldings
            .find_map(|yielding| self.place_yielding(request, yielding))
            .or_else(|| self.place_by_need(request))
    }

    /// Whether the engine would be further behind the shadow than it may be, if it refused this one.
    fn falls_behind(&mut self, request: &Request) -> bool {
        let held = self.len();
        let Some((shadow, expecting)) = &mut self.shadow else { return false };
        held + expecting.may_be_behind(shadow.len()) <= shadow.len()
            && matches!(shadow.what_if(request), Decision::Accepted(_))
    }

    /// The shadow decides a request too. It is given up when it cannot come to hold more flows.
    pub(crate) fn follow(&mut self, request: &Request) {
        let held = self.len();
        let Some((shadow, expecting)) = &mut self.shadow else { return };
        shadow.decide(request);
        expecting.one_came();
        if !expecting.may_be_caught_up(held, shadow.len()) {
            self.shadow = None;
        }
    }
}
