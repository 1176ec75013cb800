//! What looks on while a run goes on: the log of frames, and whoever writes something of every frame down.

use super::frame_log::{FrameKey, Recorder};
use std::collections::{BTreeMap, VecDeque};
use tenuto_units::{Instant, Span};

/// For so long it is remembered when a frame came to a node.
const MEMORY: Span = Span::from_s(10);

/// A port of a node; nodes are numbered as [`node_names`](super::node_names) lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Number of the node.
    pub node: usize,
    /// Number of its port.
    pub port: u32,
}

/// A frame whose last bit has left a port.
#[derive(Clone, Copy, Debug)]
pub struct Departed<'a> {
    /// Its bytes without FCS.
    pub bytes: &'a [u8],
    /// Index of its flow, if it carries a stamp.
    pub flow: Option<u16>,
    /// Number of its message.
    pub message: Option<u32>,
    /// When its last bit came to the node, or its message was released there; `None` if that is not known.
    pub arrival: Option<Instant>,
    /// When its last bit left.
    pub departure: Instant,
}

/// What is told of a run as it goes on. Instants are those of the run's clock, on which traffic starts at
/// [`Onlooker::start`].
pub trait Onlooker {
    /// Traffic starts.
    fn start(&mut self, at: Instant);
    /// The last bit of a frame has left.
    fn left(&mut self, _from: Place, _frame: &Departed<'_>) {}
    /// The queues of a port hold so many bits on the wire now, where that has changed.
    fn depth(&mut self, _of: Place, _bits: u64, _now: Instant) {}
    /// A switch has swapped its tables.
    fn swapped(&mut self, _node: usize, _level: u8, _now: Instant) {}
    /// A frame goes no further.
    fn dropped(&mut self, _at: Place, _why: &'static str, _flow: Option<u16>, _now: Instant) {}
}

/// Everything that looks on.
pub(super) struct Watch<'a> {
    pub(super) recorder: Option<Recorder>,
    onlooker: Option<&'a mut dyn Onlooker>,
    /// When frames came to switches.
    arrivals: BTreeMap<(usize, FrameKey), Instant>,
    /// The same in order of time, to be forgotten.
    order: VecDeque<(Instant, usize, FrameKey)>,
    depths: BTreeMap<Place, u64>,
}

impl<'a> Watch<'a> {
    /// Writes the log of frames.
    pub(super) fn log() -> Self {
        Self { recorder: Some(Recorder::default()), ..Self::empty() }
    }

    /// Tells an onlooker.
    pub(super) fn of(onlooker: &'a mut dyn Onlooker) -> Self {
        Self { onlooker: Some(onlooker), ..Self::empty() }
    }

    const fn empty() -> Self {
        Self {
            recorder: None,
            onlooker: None,
            arrivals: BTreeMap::new(),
            order: VecDeque::new(),
            depths: BTreeMap::new(),
        }
    }

    pub(super) fn start(&mut self, at: Instant) {
        if let Some(onlooker) = &mut self.onlooker {
            onlooker.start(at);
        }
    }

    /// A frame comes to the tables of a switch; its last bit came at `arrival`.
    pub(super) fn enter(&mut self, node: usize, frame: &[u8], arrival: Instant, now: Instant) {
        if let Some(recorder) = &mut self.recorder {
            recorder.enter(node, frame, now);
        }
        if self.onlooker.is_none() {
            return;
        }
        while let Some(&(at, node, key)) = self.order.front().filter(|it| it.0 + MEMORY < now) {
            self.order.pop_front();
            if self.arrivals.get(&(node, key)) == Some(&at) {
                self.arrivals.remove(&(node, key));
            }
        }
        if let Some(key) = FrameKey::of(frame) {
            self.arrivals.insert((node, key), arrival);
            self.order.push_back((arrival, node, key));
        }
    }

    /// A frame leaves a port.
    pub(super) fn leave(&mut self, from: Place, is_host: bool, bytes: &[u8], departure: Instant) {
        if let Some(recorder) = &mut self.recorder {
            recorder.leave(from.node, from.port, bytes, departure);
        }
        let Some(onlooker) = &mut self.onlooker else { return };
        let key = FrameKey::of(bytes);
        let arrival = key.and_then(|key| match is_host {
            true => Some(key.release()),
            false => self.arrivals.get(&(from.node, key)).copied(),
        });
        let (flow, message) = (key.map(|it| it.flow()), key.map(|it| it.message()));
        onlooker.left(from, &Departed { bytes, flow, message, arrival, departure });
    }

    /// So much is in the queues of a port.
    pub(super) fn depth(&mut self, of: Place, bits: u64, now: Instant) {
        let Some(onlooker) = &mut self.onlooker else { return };
        if self.depths.insert(of, bits) != Some(bits) {
            onlooker.depth(of, bits, now);
        }
    }

    pub(super) fn swapped(&mut self, node: usize, level: u8, now: Instant) {
        if let Some(onlooker) = &mut self.onlooker {
            onlooker.swapped(node, level, now);
        }
    }

    pub(super) fn dropped(
        &mut self,
        at: Place,
        why: &'static str,
        flow: Option<u16>,
        now: Instant,
    ) {
        if let Some(onlooker) = &mut self.onlooker {
            onlooker.dropped(at, why, flow, now);
        }
    }

    /// Whether anybody wants to know how full queues are.
    pub(super) const fn wants_depths(&self) -> bool {
        self.onlooker.is_some()
    }
}

/// Several that look on.
#[derive(Default)]
pub struct Onlookers<'a>(pub Vec<&'a mut dyn Onlooker>);

impl Onlooker for Onlookers<'_> {
    fn start(&mut self, at: Instant) {
        self.0.iter_mut().for_each(|it| it.start(at));
    }

    fn left(&mut self, from: Place, frame: &Departed<'_>) {
        self.0.iter_mut().for_each(|it| it.left(from, frame));
    }

    fn depth(&mut self, of: Place, bits: u64, now: Instant) {
        self.0.iter_mut().for_each(|it| it.depth(of, bits, now));
    }

    fn swapped(&mut self, node: usize, level: u8, now: Instant) {
        self.0.iter_mut().for_each(|it| it.swapped(node, level, now));
    }

    fn dropped(&mut self, at: Place, why: &'static str, flow: Option<u16>, now: Instant) {
        self.0.iter_mut().for_each(|it| it.dropped(at, why, flow, now));
    }
}
