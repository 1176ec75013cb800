//! What was measured, with everything that it rests on.

use super::buffer::Capacity;
use super::firmware::Firmware;
use super::forwarding::Cell;
use super::masks::Masks;
use super::messages::MessageSample;
use super::meters::Meters;
use super::queues::Queues;
use super::rig::Stamps;
use super::throughput::Throughput;
use super::updates::Update;
use crate::device::MessageCosts;
use serde::Serialize;
use tenuto_model::{Profile, Use};

/// How a device forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// All ports wait for one processor.
    SharedProcessor,
    /// Every port is served by itself.
    PortByPort,
}

/// Entries that found room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Room {
    /// How many did.
    pub entries: u32,
    /// One more was refused; otherwise no more were tried.
    pub is_limit: bool,
}

/// A measured model and its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What a plan may believe.
    pub profile: Profile,
    /// The built-in profile that what was not measured is taken from.
    pub like: String,
    /// How it forwards.
    pub shape: Shape,
    /// Entries that it took, of those that it was given.
    pub room: Room,
    /// Uses that were to be measured, and were not: refused, or no time was left.
    pub missing: Vec<Use>,
    /// Samples of frames.
    pub cells: Vec<Cell>,
    /// Frames held at once; `None`: no loss was found.
    pub capacities: Option<Vec<Capacity>>,
    /// A unit of the device explains every size.
    pub is_buffer_explained: bool,
    /// Throughput, computed and searched.
    pub throughput: Vec<Throughput>,
    /// What masks cost.
    pub masks: Option<Masks>,
    /// What meters do.
    pub meters: Option<Meters>,
    /// Queues of the port by which frames leave, if they were looked for.
    pub queues: Option<Queues>,
    /// Costs of control messages; `None`: the samples determine none.
    pub messages: Option<MessageCosts>,
    /// Samples of control messages.
    pub message_samples: Vec<MessageSample>,
    /// Changes of the table, by barrier and by frames.
    pub updates: Vec<Update>,
    /// What it does besides.
    pub firmware: Option<Firmware>,
    /// What was not measured, and why.
    pub notes: Vec<String>,
    /// What stamps were.
    pub stamps: Stamps,
    /// Samples of each use.
    pub samples: usize,
    /// The seed of their order.
    pub seed: u64,
    /// The largest distance of a mean from the fitted cost, nanoseconds.
    pub residual_ns: f64,
    /// How much the dearest frame of a use costs more than the mean one.
    pub above_mean: f64,
}

impl Measured {
    /// The change that was in effect latest after its answer, nanoseconds; negative: all were before. `None`: none was
    /// watched, or one was never in effect.
    pub fn barrier_to_effect_ns(&self) -> Option<i64> {
        let gaps: Option<Vec<i64>> = self.updates.iter().map(Update::gap_ns).collect();
        gaps?.into_iter().max()
    }

    /// Whether no answer of a barrier promised more than was in effect; `None`: none was watched.
    pub fn is_barrier_true(&self) -> Option<bool> {
        let is_true = self.updates.iter().all(Update::is_true);
        (!self.updates.is_empty()).then_some(is_true)
    }
}
