//! Why not: the queue, what is scarce there, how much was needed and how much there is.

use crate::network::PortId;

/// A resource that ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// Delay of a queue, ns: it would exceed what flows in it can bear.
    Delay,
    /// Room of a queue, bits.
    Buffer,
    /// Rate of a line, bit/s.
    Rate,
    /// The flow's own deadline, ns: the best way known takes longer.
    Deadline,
    /// Work: the decision checked as many inequalities as one may, and gave up.
    Effort,
}

/// One queue that cannot take the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scarce {
    /// The port.
    pub port: PortId,
    /// The queue of that port.
    pub queue: u8,
    /// The resource that is scarce.
    pub resource: Resource,
    /// How much the flow would have needed, in the unit of the resource.
    pub needed: i64,
    /// How much there is.
    pub available: i64,
    /// Flows in that queue.
    pub flows: u32,
}

/// Why a request was not accepted. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A queue on every way that was tried is full; this is the last of them.
    Scarce(Scarce),
    /// There is no way from the source to a target.
    Unreachable,
    /// The number is held by another flow, or by one that is still leaving.
    IdInUse,
    /// Earlier flows are being moved: nothing can be said until that is over.
    Changing,
    /// A value is outside of the range in which the engine is exact.
    OutOfRange(&'static str),
}
