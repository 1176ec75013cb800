//! The one port interface: where frames enter and leave a node.

use std::io;
use std::os::fd::RawFd;
use tenuto_units::Instant;

/// Frames of one burst: what a single call of the kernel receives or sends at most.
///
/// Small on purpose: at 2 us per frame a burst of 32 already blocks its thread for 64 us.
pub const BURST_FRAMES: usize = 32;

/// The largest frame a port carries, without FCS: a tagged frame of 1518 B and room to spare.
pub const FRAME_BYTES_LIMIT: usize = 2044;

/// What became of the frames of one burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushReport {
    /// Frames handed over to the device.
    pub sent: usize,
    /// Frames that the device did not take (full, down, or too long for it): dropped.
    pub refused: usize,
}

/// What a port can do, for choosing a clock and for the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Arrivals are stamped by the kernel when the frame entered it; otherwise when it was
    /// fetched, which includes the wake-up of the receiver.
    pub kernel_stamps: bool,
    /// The port can be waited on through [`Port::poll_fd`].
    pub pollable: bool,
    /// Frames that wait in [`Port::send`] until [`Port::flush`], at most.
    pub burst_frames: usize,
    /// The largest frame in bytes, without FCS.
    pub frame_bytes_limit: usize,
}

/// A port of a node: an in-memory pair, or an interface of the kernel.
///
/// Frames are without FCS. No call ever blocks.
pub trait Port {
    /// Receives at most `budget` frames, hands each with its arrival to `sink`, returns how many.
    ///
    /// An arrival is never later than now and never earlier than the one before it on this port.
    /// A link that is down, or a frame that is unfit, is counted by the port and is no error.
    ///
    /// # Errors
    ///
    /// When the port itself is lost, for instance because the interface was removed.
    fn receive(&mut self, budget: usize, sink: &mut dyn FnMut(Instant, &[u8]))
    -> io::Result<usize>;

    /// Copies `frame` into the burst; `false` when the burst is full and wants a flush first.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] for a frame shorter than an Ethernet header or longer than
    /// [`Capabilities::frame_bytes_limit`].
    fn send(&mut self, frame: &[u8]) -> io::Result<bool>;

    /// Hands the burst to the device; what it does not take at once is dropped and counted.
    ///
    /// # Errors
    ///
    /// When the port itself is lost; the burst is then empty.
    fn flush(&mut self) -> io::Result<FlushReport>;

    /// The descriptor that is readable when frames wait, for a [`crate::PollSet`].
    fn poll_fd(&self) -> Option<RawFd>;

    /// What this port can do.
    fn capabilities(&self) -> Capabilities;
}

/// Refuses a frame that no port carries.
pub(crate) fn check_frame(frame: &[u8]) -> io::Result<()> {
    const HEADER_BYTES: usize = 14;
    if (HEADER_BYTES..=FRAME_BYTES_LIMIT).contains(&frame.len()) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("a frame of {} B: {HEADER_BYTES} to {FRAME_BYTES_LIMIT} can be sent", frame.len()),
    ))
}
