//! What was measured, with everything that it rests on.

use super::buffer::Capacity;
use super::firmware::Firmware;
use super::forwarding::Cell;
use super::messages::MessageSample;
use super::rig::Stamps;
use crate::device::MessageCosts;
use serde::Serialize;
use tenuto_model::Profile;

/// How a device forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// All ports wait for one processor.
    SharedProcessor,
    /// Every port is served by itself.
    PortByPort,
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
    /// Samples of frames.
    pub cells: Vec<Cell>,
    /// Frames held at once; `None`: no loss was found.
    pub capacities: Option<Vec<Capacity>>,
    /// A unit of the device explains every size.
    pub is_buffer_explained: bool,
    /// Costs of control messages.
    pub messages: MessageCosts,
    /// Samples of control messages.
    pub message_samples: Vec<MessageSample>,
    /// What it does besides.
    pub firmware: Firmware,
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
