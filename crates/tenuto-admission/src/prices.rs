//! What a visit costs a flow: how full the queue would make the network for those to come.
//!
//! A price that grows as a power of the fill steers flows to where there is room before any is
//! scarce (after Awerbuch, Azar and Plotkin, "Throughput-competitive on-line routing", 1993). Prices
//! choose among queues that keep every promise; they promise nothing.

use crate::books::Books;
use crate::curves::{Curves, QUEUES_MAX};
use crate::network::{Network, PortId};
use crate::reservation::{Place, Pricing, Reservation};

/// Price of an empty queue.
const BASE: i128 = 16;
/// Doublings of the price from an empty queue to a full one.
const DOUBLINGS: i128 = 9;
/// Parts of a room in which its fill is counted.
const PARTS: i128 = 256;
/// A queue is never counted as fuller than this many rooms.
const ROOMS_MAX: i128 = 2;
/// Price where a flow adds nothing to what may wait.
const FREE: u32 = 1;

/// The price of each queue of a port for a flow that comes from the port `from`.
pub(crate) fn prices(
    books: &Books,
    reservation: &Reservation,
    port: PortId,
    from: Option<PortId>,
) -> [u32; QUEUES_MAX] {
    let network = &books.network;
    let place = Place::of(network, port);
    let mut prices = [0; QUEUES_MAX];
    for (queue, price) in prices.iter_mut().enumerate() {
        *price = reservation.share(place, queue).cost;
    }
    if let (Pricing::ByFill, Some(from)) = (reservation.pricing, from) {
        by_fill(network, books.curves(port), port, from, &mut prices);
    }
    prices
}

fn by_fill(
    network: &Network,
    curves: &Curves,
    port: PortId,
    from: PortId,
    prices: &mut [u32; QUEUES_MAX],
) {
    let own = network.group_of(Some(from), port);
    let room = i128::from(network.port(port).queue_bytes) * 8 * crate::curves::NBIT;
    let comes_from_a_switch = !network.is_source(from);
    // What one line brings alone does not wait: the line behind takes it as fast as it comes. So of
    // the bursts up to a queue those of the line that brings most do not count.
    let mut up_to = [0_i128; GROUPS_SEEN];
    for (queue, price) in prices.iter_mut().enumerate().take(network.port(port).queues.into()) {
        let (mut own_queue, mut all, mut most, mut first) = (0, 0, -1, 0);
        for (group, entry) in curves.groups.iter().enumerate() {
            let burst = entry.sums[queue].burst_nbit;
            own_queue += burst;
            let Some(sum) = up_to.get_mut(group) else {
                all += burst;
                continue;
            };
            *sum += burst;
            all += *sum;
            if *sum > most {
                (most, first) = (*sum, group);
            }
        }
        let waiting = all - most.max(0);
        if queue == 0 && first == own && waiting < own_queue {
            *price = FREE;
            continue;
        }
        let fill = (own_queue.min(waiting) * PARTS / room).min(ROOMS_MAX * PARTS);
        let doublings = fill * DOUBLINGS;
        let raised = (BASE * (PARTS + doublings % PARTS) / PARTS) << (doublings / PARTS);
        // Flows that come over a trunk are shaped by it: the first queue suits them best.
        let discount = if queue == 0 && comes_from_a_switch { BASE } else { 0 };
        *price = u32::try_from(raised - discount).unwrap_or(u32::MAX).max(FREE);
    }
}

/// Lines of a port that are told apart.
const GROUPS_SEEN: usize = 64;
