//! A frame on its way through the tables, and what has been decided about it.

use crate::switch::classifier::key::PacketKey;
use crate::switch::tables::entry::ActionStep;
use crate::{FrameId, Work};
use tenuto_units::Instant;

/// A frame on its way, and what has been decided about it.
#[derive(Clone)]
pub(in crate::switch) struct PacketContext {
    pub(in crate::switch) now: Instant,
    pub(in crate::switch) arrival: Instant,
    /// The port that it entered by; `None` for a packet of a controller that names none.
    pub(in crate::switch) place: Option<usize>,
    /// The number of that port, as entries see it.
    pub(in crate::switch) in_port: u32,
    pub(in crate::switch) frame: FrameId,
    /// Bytes with FCS, as it is now.
    pub(in crate::switch) frame_bytes: u32,
    pub(in crate::switch) cookie: u64,
    pub(in crate::switch) queue: u32,
    pub(in crate::switch) outputs: u32,
    pub(in crate::switch) work: Work,
    pub(in crate::switch) key: PacketKey,
    /// The table of the entry at hand, its cookie while its own actions are carried out, else
    /// [`NO_COOKIE`], and whether it is a table-miss entry.
    pub(in crate::switch) table: u8,
    pub(in crate::switch) entry_cookie: u64,
    pub(in crate::switch) is_miss: bool,
    /// Whether actions have changed the frame: it is then in the switch's own buffer.
    pub(in crate::switch) edited: bool,
    /// The changed frame in the store, held until it changes again.
    pub(in crate::switch) copy: Option<FrameId>,
    /// Groups around the action at hand.
    pub(in crate::switch) depth: usize,
    /// Whether it has cost as much as a frame may: then even copies of it go no further.
    pub(in crate::switch) spent: bool,
    /// Level and slot of the entry at hand; a slot of [`NO_SLOT`] before the first.
    pub(in crate::switch) level: u8,
    pub(in crate::switch) slot: u32,
    /// Commands for other switches that it takes along.
    pub(in crate::switch) commands: u8,
    /// Whether it comes back from the controller that was asked about it, ahead of those that wait.
    pub(in crate::switch) is_first: bool,
    /// The buffer that it just left.
    pub(in crate::switch) left: Option<u16>,
    /// The meter that its release has been charged to.
    pub(in crate::switch) paid: Option<u32>,
}

/// What a packet-in says where no single entry has caused it: in a bucket, in the action set, in a
/// packet-out (OpenFlow 1.3.5, section 7.4.1).
pub(in crate::switch) const NO_COOKIE: u64 = u64::MAX;

/// The slot of a frame that no entry has matched.
pub(in crate::switch) const NO_SLOT: u32 = u32::MAX;

impl PacketContext {
    #[inline]
    pub(in crate::switch) fn new(
        (now, arrival): (Instant, Instant),
        (place, in_port): (Option<usize>, u32),
        frame: FrameId,
        size: u32,
    ) -> Self {
        Self {
            now,
            arrival,
            place,
            in_port,
            frame,
            frame_bytes: size,
            cookie: 0,
            queue: 0,
            outputs: 0,
            work: Work { bytes: size, ..Work::default() },
            key: PacketKey::default(),
            table: 0,
            entry_cookie: NO_COOKIE,
            is_miss: false,
            edited: false,
            copy: None,
            depth: 0,
            spent: false,
            level: 0,
            slot: NO_SLOT,
            commands: 0,
            is_first: false,
            left: None,
            paid: None,
        }
    }
}

/// The action set: at most one of each kind (OpenFlow 1.3.5, section 5.10). Changes of the frame
/// are kept apart, as only general switches have them.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(in crate::switch) struct ActionSet {
    pub(in crate::switch) queue: Option<u32>,
    pub(in crate::switch) group: Option<u32>,
    /// An output, be it to the controllers.
    pub(in crate::switch) output: Option<ActionStep>,
}

impl ActionSet {
    /// Whether there is nothing in it.
    pub(in crate::switch) const fn is_empty(&self) -> bool {
        self.queue.is_none() && self.group.is_none() && self.output.is_none()
    }
}
