//! A port without room for a frame: what waits there at lower levels gives way, if that was asked for.

use super::pipeline::message_of;
use super::{PortState, SwitchEvent};
use crate::{DropReason, Dropped, Effects, Frames, QueueFull, Queued};
use tenuto_wire::frame_bytes;

/// Queues a frame that its port has just refused in place of others, which are dropped.
///
/// # Errors
/// When these are not enough: nothing has changed then.
#[cold]
#[inline(never)]
pub(super) fn displace(
    port: &mut PortState,
    queue: u8,
    queued: Queued,
    frames: &mut impl Frames,
    fx: &mut Effects<SwitchEvent>,
) -> Result<(), QueueFull> {
    let number = port.number;
    port.egress.displace(queue, queued, |gone| {
        let bytes = frames.bytes(gone.frame);
        fx.drops.push(Dropped {
            reason: DropReason::BufferFull,
            port: number,
            cookie: gone.cookie,
            message: message_of(bytes, gone.cookie),
            frame_bytes: frame_bytes(bytes.len()),
        });
        frames.release(gone.frame);
    })
}
