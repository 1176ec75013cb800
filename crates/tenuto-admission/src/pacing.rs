//! Pacing at the host: the burst of a flow leaves its host frame by frame, at the flow's rate.
//!
//! A bucket (b, r) whose host releases its frames through a shaper (L, r), L its largest frame, is
//! (L, r) to the network. The shaper delays by at most (b − L)/r, since it serves r and keeps at
//! most b − L back: that much of the deadline is the host's, the rest the network's.

use crate::request::Request;

const NS_PER_S: u64 = 1_000_000_000;
/// Of a deadline, the host may use so many parts of [`PARTS`].
const HOST_PARTS: u64 = 2;
const PARTS: u64 = 3;

/// A request as the network sees it behind its host's shaper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paced {
    /// The request as the engine decides it.
    pub request: Request,
    /// The longest delay in the host's shaper, ns: part of the promise.
    pub shaper_ns: u64,
}

/// Paces a request if its deadline leaves the network at least a third; else it stays as it is.
///
/// A paced request that is accepted needs (L, r) to be enforced at the first switch.
pub fn paced(request: &Request) -> Paced {
    let as_asked = Paced { request: request.clone(), shaper_ns: 0 };
    let held_bits = request.burst_bits.saturating_sub(request.frame_bits);
    let Some(product) = held_bits.checked_mul(NS_PER_S) else { return as_asked };
    if held_bits == 0 || request.rate_bps == 0 {
        return as_asked;
    }
    let shaper_ns = product.div_ceil(request.rate_bps);
    if shaper_ns > request.deadline_ns / PARTS * HOST_PARTS {
        return as_asked;
    }
    let deadline_ns = request.deadline_ns - shaper_ns;
    let request = Request { burst_bits: request.frame_bits, deadline_ns, ..request.clone() };
    Paced { request, shaper_ns }
}
