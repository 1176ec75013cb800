//! A port without room for a frame: what waits there at lower levels gives way, if that was asked for.

use crate::switch::pipeline::message_of;
use crate::switch::{PortState, SwitchEvent, report};
use crate::{DropReason, Dropped, Effects, Frames, QueueFull, Queued};
use tenuto_wire::frame_bytes;

/// Queues a frame that its port has just refused in place of others, which are dropped.
///
/// # Errors
/// When these are not enough: nothing has changed then.
#[cold]
#[inline(never)]
fn displace(
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

impl PortState {
    /// Queues a frame. Where there is no room, what waits at lower levels gives way, if that was asked
    /// for.
    ///
    /// # Errors
    /// If there is no room all the same: nothing has changed then.
    #[inline(always)]
    pub(in crate::switch) fn enqueue(
        &mut self,
        queue: u8,
        queued: Queued,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Result<(), QueueFull> {
        let taken = self.egress.enqueue(queue, queued);
        taken.or_else(|_| displace(self, queue, queued, frames, fx))
    }
}

/// A frame that a port has no room for.
#[derive(Clone, Copy)]
pub(in crate::switch) struct Refused {
    /// The place of the port that it entered by, if it did.
    pub(in crate::switch) entered: Option<usize>,
    /// The place of the port that has no room.
    pub(in crate::switch) place: usize,
    /// With FCS.
    pub(in crate::switch) frame_bytes: u32,
}

/// Reports the drop of a frame that a port has no room for.
#[cold]
#[inline(never)]
pub(in crate::switch) fn report_refused(
    ports: &mut [PortState],
    Refused { entered, place, frame_bytes }: Refused,
    Queued { frame, cookie, .. }: Queued,
    frames: &impl Frames,
    fx: &mut Effects<SwitchEvent>,
) {
    let dropped = Dropped {
        reason: DropReason::BufferFull,
        port: ports[place].number,
        cookie,
        message: message_of(frames.bytes(frame), cookie),
        frame_bytes,
    };
    report(ports, dropped, entered, fx);
}
