//! What happens next, in order of time; at one instant in an order that the adversary chooses.

use crate::port::Frame;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The order at one instant of lines that become free; flows before and after it are the adversary's choice.
pub(crate) const LINE_FREE_ORDER: u8 = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The last bit of a frame arrives at a switch that watches or polices it; it is queued at `queued_ns`.
    Arrive { frame: Frame, queued_ns: u64 },
    /// A frame is looked up and takes its places in the queues behind `frame.hop`.
    Forward { frame: Frame },
    /// A port hands over.
    HandOver { port: u32 },
    /// A switch swaps its tables.
    Swap { switch: u32, level: u8 },
}

/// Events that are to come.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Reverse<Entry>>,
    count: u32,
}

/// Time, order at that time, number; so that a comparison looks at two words.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at_ns: u64,
    order: u64,
    event: Event,
}

impl Events {
    pub(crate) fn clear(&mut self) {
        self.heap.clear();
        self.count = 0;
    }

    pub(crate) fn push(&mut self, at_ns: u64, order: u8, event: Event) {
        let order = u64::from(order) << 32 | u64::from(self.count);
        self.count += 1;
        self.heap.push(Reverse(Entry { at_ns, order, event }));
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, Event)> {
        self.heap.pop().map(|Reverse(it)| (it.at_ns, it.event))
    }

    /// When the next one is, and its order at that time.
    pub(crate) fn next_at(&self) -> Option<(u64, u8)> {
        let order = |it: &Entry| u8::try_from(it.order >> 32).unwrap_or(u8::MAX);
        self.heap.peek().map(|Reverse(it)| (it.at_ns, order(it)))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.order).cmp(&(other.at_ns, other.order))
    }
}
