//! What enters a processor.

use tenuto_calculus::Bucket;
use tenuto_model::{Processor, ReceiveBuffer};

/// A stream at the end of the line over which it enters a processor.
///
/// Its buckets are those of a stream that was never late; they grow by how late it can be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entering {
    /// `None` for mode signals, whose buckets have all their lateness in them.
    pub(crate) visit: Option<usize>,
    /// Ports that it leaves by.
    pub(crate) outputs: u32,
    pub(crate) frame_bytes_max: u32,
    pub(crate) frame_bytes_min: u32,
    /// Processor time, 10⁻⁶ ns and 10⁻⁶ ns per second.
    pub(crate) work: Bucket,
    /// 10⁻⁶ frames and 10⁻⁶ frames per second.
    pub(crate) frames: Bucket,
    /// 10⁻⁶ units of the receive buffer, and per second.
    pub(crate) units: Bucket,
}

/// One switch with a processor, and everything that enters it.
#[derive(Debug)]
pub(crate) struct Site<'a> {
    pub(crate) processor: &'a Processor,
    pub(crate) buffer: Option<ReceiveBuffer>,
    /// Incoming lines that carry streams, or whose host may babble.
    pub(crate) lines: Vec<Line>,
    /// What control may take, in processor time.
    pub(crate) control: Bucket,
    /// What waits for nobody's turn: mode changes (signals that go out, swaps and purges), and control
    /// messages of slices, which are counted when they are carried out.
    pub(crate) unasked: Bucket,
    /// Largest frame that can enter, bytes.
    pub(super) frame_bytes_max: u32,
    /// cost(L⁻): the cost of the least frame that can enter.
    pub(super) cost_least: i128,
}

/// What enters over one incoming line.
#[derive(Debug)]
pub(crate) struct Line {
    /// The egress upstream.
    pub(crate) line: usize,
    /// Whether its host may send anything at line rate.
    pub(crate) is_babbling: bool,
    pub(crate) streams: Vec<Entering>,
    /// The most ports that any of them leaves by.
    pub(super) outputs: u32,
    /// Processor time of its largest frame.
    pub(super) cost_max: i128,
    /// Processor time that the line itself can bring, per frame and per bit.
    pub(crate) work: Bucket,
    /// Frames that the line itself can bring.
    pub(super) frames: Bucket,
}
