//! Flows that an explored world lets in: where they enter, and frames of them.

use crate::assemble;
use tenuto_dataplane::{FrameId, Frames};
use tenuto_model::{Addressing, Plan};
use tenuto_wire::{ShimRepr, shim::SHIM_BYTES};

/// Where a budgeted flow enters.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) flow: String,
    /// Index of its first switch in the plan.
    pub(crate) switch: usize,
    /// Port of that switch.
    pub(crate) port: u32,
    pub(crate) cookie: u64,
    pub(crate) level: u8,
    /// Two frames that are two messages.
    pub(crate) frames: [FrameId; 2],
}

impl Source {
    /// # Errors
    /// In words, if there is no such flow or no switch at its source.
    pub(crate) fn new(plan: &Plan, name: &str, frames: &mut impl Frames) -> Result<Self, String> {
        let index = plan.network.flows.iter().position(|f| f.name == name);
        let index = index.ok_or_else(|| format!("there is no flow {name}"))?;
        let flow = &plan.network.flows[index];
        let entry = plan.network.ends_of(&flow.source).find_map(|(_, far, _)| {
            let place = plan.switches.iter().position(|d| d.switch == far.node)?;
            Some((place, far.port))
        });
        let (switch, port) =
            entry.ok_or_else(|| format!("{} is attached to no switch", flow.source))?;
        let level = u8::try_from(flow.level).map_err(|error| error.to_string())?;
        Ok(Self {
            flow: name.to_owned(),
            switch,
            port,
            cookie: index as u64 + 1,
            level,
            frames: [message(plan, index, 1, frames)?, message(plan, index, 2, frames)?],
        })
    }
}

/// A message of one frame.
fn message(
    plan: &Plan,
    flow: usize,
    message_id: u32,
    frames: &mut impl Frames,
) -> Result<FrameId, String> {
    let address = Addressing::new(&plan.network).flow(flow);
    let mut buffer = [0; 256];
    let frame = assemble::udp_frame(&address, SHIM_BYTES + 64);
    let written = frame.emit(&mut buffer).map_err(|error| error.to_string())?;
    let shim = ShimRepr { message_id, message_bytes: 64, sequence: 0 };
    shim.emit(&mut buffer[written.payload]);
    frames.insert(&buffer[..written.len]).ok_or_else(|| "no room for a frame".to_owned())
}
