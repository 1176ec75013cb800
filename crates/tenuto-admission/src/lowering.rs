//! One round of lowering: from x to what the flows held make of it, F(x).
//!
//! Sound only when every frame and busy period that is still there began after the last round and
//! after the last flow was freed: see [`crate::Engine::relax`].

use crate::books::Books;
use crate::curves::QUEUES_MAX;
use crate::fit::EASE_PARTS;
use crate::network::PortId;
use crate::reservation::{Place, Reservation};

/// Lowers every queue at once to F(x), all of it taken at the old x, eased as raises are, and not
/// below what the reservation keeps. Whether anything was lowered.
pub(crate) fn round(books: &mut Books, reservation: &Reservation) -> bool {
    let ports = (0_u32..).map(PortId).take(books.network.ports().len());
    let spots = ports.flat_map(|port| (0..QUEUES_MAX).map(move |queue| (port, queue)));
    let mut lower = Vec::new();
    for (port, queue) in spots {
        let known = books.delay_ns(port, queue);
        let least = match books.members(port, queue).is_empty() {
            true => 0,
            false => books.needed_ns(port, queue, known).unwrap_or(known),
        };
        let kept = reservation.share(Place::of(&books.network, port), queue).delay_ns;
        let eased = (least + least / EASE_PARTS).max(kept);
        // A lowering by less than a raise is eased would only be raised again.
        if known - eased > eased / EASE_PARTS {
            lower.push((port, queue, eased));
        }
    }
    for (port, queue, delay_ns) in &lower {
        books.reserve(*port, *queue, *delay_ns, |_, _| {});
        books.set_floor(*port, *queue, *delay_ns);
    }
    !lower.is_empty()
}
