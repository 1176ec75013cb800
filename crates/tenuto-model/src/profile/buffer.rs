//! Room for frames that wait for a processor, in the device's own unit.

use serde::{Deserialize, Serialize};

/// The buffer in front of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveBuffer {
    /// How much there is, in `unit`.
    pub count: u64,
    /// What is counted.
    pub unit: BufferUnit,
    /// Whether every port has its own, or all share one.
    pub is_per_port: bool,
    /// Whether the frame being processed has a place of its own besides.
    pub has_place_in_service: bool,
}

/// What a device counts its buffer in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BufferUnit {
    /// Cells of so many bytes; a frame takes whole cells.
    Cells(u32),
    /// Frames of any size.
    Frames,
    /// Bytes of frames with FCS.
    Bytes,
}

impl BufferUnit {
    /// How many of it a frame takes.
    pub fn of_frame(self, frame_bytes: u32) -> u64 {
        match self {
            Self::Cells(bytes) => u64::from(frame_bytes.div_ceil(bytes.max(1))),
            Self::Frames => 1,
            Self::Bytes => frame_bytes.into(),
        }
    }

    /// Its name in the plural.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Cells(_) => "cells",
            Self::Frames => "frames",
            Self::Bytes => "B",
        }
    }
}

impl ReceiveBuffer {
    /// Whole frames of one size that fit, the one in service included (\[Loko\] section 3.5, with
    /// the division rounded down: a frame that does not fit whole does not fit).
    pub fn frames(&self, frame_bytes: u32) -> u64 {
        let waiting = self.count / self.unit.of_frame(frame_bytes).max(1);
        waiting + u64::from(self.has_place_in_service)
    }
}
