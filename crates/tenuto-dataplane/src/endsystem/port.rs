//! A port of an end system: its egress, and how frames get into it.

use super::config::EndPort;
use crate::{
    DropReason, Dropped, Effects, Egress, FRAME_CAPACITY, FrameId, Frames, QueueFull, Queued,
};
use tenuto_units::Instant;
use tenuto_wire::frame_bytes;

#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) number: u32,
    pub(super) mac: [u8; 6],
    pub(super) egress: Egress,
}

/// Whose frame it is: flow and message id, if anyone's.
pub(super) type Owner = Option<(u16, u32)>;

impl Port {
    pub(super) fn new(config: &EndPort) -> Self {
        Self { number: config.port, mac: config.mac, egress: Egress::new(config.egress) }
    }

    /// Puts a frame into a queue, or reports why not. Gives its bytes if it is in.
    pub(super) fn send<E>(
        &mut self,
        now: Instant,
        queue: u8,
        bytes: &[u8],
        owner: Owner,
        frames: &mut impl Frames,
        fx: &mut Effects<E>,
    ) -> Option<u32> {
        let frame_bytes = frame_bytes(bytes.len());
        let cookie = owner.map_or(0, |(flow, _)| cookie(flow));
        let (port, message) = (self.number, owner);
        let refused = |reason| Dropped { reason, port, cookie, message, frame_bytes };
        if bytes.len() > FRAME_CAPACITY {
            fx.drops.push(refused(DropReason::Malformed));
            return None;
        }
        let Some(frame) = frames.insert(bytes) else {
            fx.drops.push(refused(DropReason::PoolFull));
            return None;
        };
        if self.enqueue(now, queue, frame, frame_bytes, cookie).is_err() {
            frames.release(frame);
            fx.drops.push(refused(DropReason::BufferFull));
            return None;
        }
        Some(frame_bytes)
    }

    fn enqueue(
        &mut self,
        now: Instant,
        queue: u8,
        frame: FrameId,
        frame_bytes: u32,
        cookie: u64,
    ) -> Result<(), QueueFull> {
        let wire_bits = u32::try_from(tenuto_units::wire_bits(frame_bytes))
            .expect("a frame of the store has far fewer bits");
        self.egress.enqueue(queue, Queued { frame, wire_bits, cookie, since: now })
    }
}

/// The cookie that names a flow: its index plus one, as in the entries of switches.
pub(super) fn cookie(flow: u16) -> u64 {
    u64::from(flow) + 1
}
