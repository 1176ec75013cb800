//! The queue of what is to happen, in order of time and then of cause.

use super::processor::Received;
use super::schedule::LINE_FREE_RANK;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use tenuto_dataplane::FrameId;
use tenuto_units::Instant;

/// Something that is to happen.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A frame enters a core.
    Enter { node: usize, port: u32, frame: FrameId, arrival: Instant },
    /// A frame's last bit has come to a switch whose ports share a processor.
    Received { node: usize, port: u32, frame: FrameId, arrival: Instant },
    /// It has reached that processor.
    AtProcessor { node: usize, incarnation: u64, received: Received },
    /// The processor is done with a frame.
    Processed { node: usize, incarnation: u64 },
    /// A core's timer.
    Due { node: usize },
    /// Bytes from the controller reach a switch.
    ToSwitch { node: usize, incarnation: u64, bytes: Vec<u8> },
    /// Bytes from a switch reach the controller.
    ToController { conn: u64, bytes: Vec<u8> },
    /// The controller asks a switch whether it is there.
    Probe { node: usize },
    /// The firmware of a switch has its own turn.
    OwnWork { node: usize },
    /// A timer of the controller.
    ControllerDue,
    /// A line of the scenario.
    Scenario(usize),
    /// A host that sends what it should not sends the next frame.
    Babble(usize),
    /// The babbling host of a schedule sends its next frame.
    ScheduledFrame(usize),
    /// A recorded message is released again.
    Release { node: usize, flow: u16, bytes: u32 },
}

#[derive(Clone, Debug)]
struct Entry {
    at: Instant,
    /// Rank at that instant, then in the order they were queued.
    order: (u8, u64),
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// Reversed: the heap's greatest is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

/// What is to happen, earliest first; ties in the order they were queued.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Entry>,
    order: u64,
}

impl Queue {
    pub(super) fn push(&mut self, at: Instant, event: Event) {
        self.push_ranked(at, LINE_FREE_RANK, event);
    }

    /// Queues what a schedule ranks among the events of its instant, lowest first.
    pub(super) fn push_ranked(&mut self, at: Instant, rank: u8, event: Event) {
        self.order += 1;
        self.heap.push(Entry { at, order: (rank, self.order), event });
    }

    pub(super) fn pop(&mut self) -> Option<(Instant, Event)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    pub(super) fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|entry| entry.at)
    }
}
