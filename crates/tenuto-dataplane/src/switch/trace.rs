//! What the tables do to a given frame, step by step: a dry run of the very pipeline.
//!
//! A copy of the switch takes the frame, so that nothing of the switch itself changes, and what the
//! copy does is what the switch would do now: buckets of meters as full as they are, links as they
//! stand, addresses as they were learned.

use super::{ActionStep, Entry, Switch};
use crate::{DropReason, Effects, FrameId, Frames};
use tenuto_openflow::PacketInReason;
use tenuto_units::Instant;

/// One step of a frame's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceStep {
    /// It was looked up.
    Table {
        /// The level whose tables are in force there.
        level: u8,
        /// The table.
        table: u8,
        /// What it matched; `None` if nothing.
        entry: Option<Box<Entry>>,
    },
    /// A meter judged it.
    Meter {
        /// The meter.
        id: u32,
        /// Whether it goes on.
        passes: bool,
    },
    /// An action was carried out.
    Action(ActionStep),
    /// A group has chosen a bucket for it, or for a copy of it.
    Bucket {
        /// The group.
        group: u32,
        /// The bucket's place.
        bucket: usize,
    },
    /// It was queued at a port.
    Output {
        /// The port.
        port: u32,
        /// The queue.
        queue: u32,
        /// The frame as it leaves, without FCS.
        frame: Vec<u8>,
    },
    /// It was to leave by a port that is down or closed.
    NotSent {
        /// The port.
        port: u32,
    },
    /// It is for the controllers, so many bytes of it at most.
    Controller {
        /// Why.
        reason: PacketInReason,
        /// Bytes.
        max_len: u16,
    },
    /// No controller is connected: it goes where its address was learned, and everywhere else if nowhere.
    Bridged,
    /// It, or a copy of it, went no further.
    Dropped(DropReason),
}

/// The frames of a dry run: those of the switch itself are not there, and are never given back.
#[derive(Default)]
struct DryFrames {
    frames: Vec<Vec<u8>>,
}

/// Above the ids of any store of a running switch.
const FIRST_ID: u32 = 1 << 31;

impl Frames for DryFrames {
    fn bytes(&self, frame: FrameId) -> &[u8] {
        let place = frame.0.checked_sub(FIRST_ID).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| self.frames.get(place)).map_or(&[], Vec::as_slice)
    }

    fn insert(&mut self, bytes: &[u8]) -> Option<FrameId> {
        if bytes.len() > crate::FRAME_CAPACITY {
            return None;
        }
        let id = FIRST_ID + u32::try_from(self.frames.len()).ok()?;
        self.frames.push(bytes.to_vec());
        Some(FrameId(id))
    }

    fn retain(&mut self, _frame: FrameId) {}

    fn release(&mut self, _frame: FrameId) {}
}

impl Switch {
    /// What would happen to a frame that entered by `port` at `now`; nothing is changed or counted.
    pub fn trace(&self, now: Instant, port: u32, frame: &[u8]) -> Vec<TraceStep> {
        let mut copy = self.clone();
        copy.trace = Some(Vec::new());
        let (mut frames, mut fx) = (DryFrames::default(), Effects::new());
        match frames.insert(frame) {
            Some(id) => drop(copy.receive(now, now, port, id, &mut frames, &mut fx)),
            None => copy.note(|_| TraceStep::Dropped(DropReason::Malformed)),
        }
        let mut steps = copy.trace.take().unwrap_or_default();
        steps.extend(fx.drops.iter().map(|drop| TraceStep::Dropped(drop.reason)));
        steps
    }

    /// Sets the configuration of a port (`OFPPC_*`) without telling anybody: for a switch that is
    /// built again.
    pub fn set_port_config(&mut self, number: u32, config: u32) {
        if let Some(&place) = self.port_index.get(&number) {
            self.ports[place].config = config;
            self.forget_choices();
        }
    }

    /// Notes a step, if this is a dry run.
    #[inline]
    pub(super) fn note(&mut self, step: impl FnOnce(&Self) -> TraceStep) {
        if self.trace.is_some() {
            let step = step(self);
            self.trace.get_or_insert_default().push(step);
        }
    }
}
