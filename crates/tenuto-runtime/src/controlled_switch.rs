//! A switch whose mode a controller changes: when it has carried that out, and when it is rid of the
//! frames that were queued before.

use crate::reporter::Reporter;
use std::collections::BTreeSet;
use tenuto_dataplane::switch::Switch;
use tenuto_io::MonotonicClock;
use tenuto_world::{ControlStep, LeftBehind, Observation};

/// `OFPT_BARRIER_REPLY`.
const BARRIER_REPLY: u8 = 21;
/// Version, type, length and transaction id.
const HEADER_BYTES: usize = 8;

pub(crate) struct Controlled {
    /// Cookies of flows that have no place in the highest mode.
    out_of_mode: BTreeSet<u64>,
    left: LeftBehind,
}

impl Controlled {
    pub(crate) fn new(out_of_mode: BTreeSet<u64>) -> Self {
        Self { out_of_mode, left: LeftBehind::default() }
    }

    /// The switch has answered this: with a barrier's reply among it, a change is carried out.
    pub(crate) fn answered(&mut self, answers: &[u8], switch: &Switch, reporter: &mut Reporter) {
        if has_barrier_reply(answers) {
            let at = MonotonicClock::now();
            let out_of_mode = self.left.note(switch, &self.out_of_mode);
            let step = ControlStep::CarriedOut { out_of_mode };
            let node = reporter.node().to_owned();
            let line = Observation::ByController { node, step, at_ns: at.as_ns() };
            reporter.observe(at, &line);
        }
    }

    /// Frames have left, perhaps the last of those that are followed.
    pub(crate) fn look(&mut self, switch: &Switch, reporter: &mut Reporter) {
        if !self.left.is_empty() && self.left.look(switch) && self.left.is_empty() {
            let at = MonotonicClock::now();
            let node = reporter.node().to_owned();
            let step = ControlStep::Drained;
            let line = Observation::ByController { node, step, at_ns: at.as_ns() };
            reporter.observe(at, &line);
        }
    }
}

/// Whether one of these messages, each whole, is the reply to a barrier.
fn has_barrier_reply(mut messages: &[u8]) -> bool {
    while let Some(header) = messages.get(..HEADER_BYTES) {
        if header[1] == BARRIER_REPLY {
            return true;
        }
        let bytes = usize::from(u16::from_be_bytes([header[2], header[3]])).max(HEADER_BYTES);
        messages = messages.get(bytes..).unwrap_or(&[]);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_openflow::{Body, Message};

    #[test]
    fn a_barrier_reply_is_found_among_other_answers() {
        let bytes = |body: Body| Message { xid: 7, body }.to_bytes();
        let reply = bytes(Body::BarrierReply);
        let echo = bytes(Body::EchoReply(vec![BARRIER_REPLY; 21]));
        assert!(has_barrier_reply(&reply));
        assert!(has_barrier_reply(&[echo.clone(), reply.clone(), echo.clone()].concat()));
        assert!(!has_barrier_reply(&[echo.clone(), echo.clone()].concat()));
        for cut in 0..HEADER_BYTES {
            assert!(!has_barrier_reply(&reply[..cut]));
            assert!(!has_barrier_reply(&echo[..cut]));
        }
    }
}
