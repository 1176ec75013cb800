//! What `exact` would hold of the same requests: the measure where few requests are expected.
//!
//! A reservation refuses urgent flows for the sake of those who may come. If hardly anybody comes that
//! serves nobody: `exact` then holds all who asked. The shadow decides every request as if it had the
//! network to itself; the engine looks at it before a refusal, and no promise rests on it.

use crate::books::Slot;
use crate::engine::{Decision, Engine, Method};
use crate::request::Request;
use crate::reservation::{Reservation, Yielding};

/// Of so many requests per host `exact` holds about as many as any reservation (docs/design, 0002).
const REQUESTS_PER_HOST: usize = 8;
/// What is given up for a flow that the shadow holds, what costs others least first.
const YIELDINGS: [Yielding; 2] = [Yielding::FirstBetweenSwitches, Yielding::Everything];

impl Engine {
    /// Tells the engine how many requests to expect in all. If that is few for its hosts, nothing is
    /// reserved at the price of a flow that `exact` would hold; without a word it expects many.
    #[must_use]
    pub fn expecting(mut self, requests: usize) -> Self {
        let hosts = self.network().nodes().iter().filter(|node| !node.is_switch).count();
        let is_short = self.method == Method::Reserve && requests <= hosts * REQUESTS_PER_HOST;
        self.shadow = is_short.then(|| {
            let network = self.network().clone();
            let mut shadow = Self::new(network, Method::Exact, Reservation::none());
            shadow.search.is_uniform = self.search.is_uniform;
            for (request, _) in self.held() {
                shadow.decide(request);
            }
            Box::new(shadow)
        });
        self
    }

    /// Enters a flow that `exact` holds, where the engine would hold fewer flows than that if it refused;
    /// `None`, and the books as before, if it does not fit, or nobody is ahead.
    pub(crate) fn place_as_shadow(&mut self, request: &Request) -> Option<Slot> {
        if !self.falls_behind(request) {
            return None;
        }
        let mut yieldings = YIELDINGS.into_iter();
        yieldings
            .find_map(|yielding| self.place_yielding(request, yielding))
            .or_else(|| self.place_by_need(request))
    }

    /// Whether the shadow would hold more flows than the engine if that refused this one.
    fn falls_behind(&mut self, request: &Request) -> bool {
        let held = self.len();
        let shadow = self.shadow.as_mut().filter(|shadow| held <= shadow.len());
        shadow.is_some_and(|shadow| matches!(shadow.what_if(request), Decision::Accepted(_)))
    }
}
