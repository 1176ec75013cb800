//! A limit of frames and bits at an interface of the kernel, where its other side cannot reach it.

use crate::interface::Interface;
use crate::links::LinkName;
use crate::sys::policer::{Costs, Policer};
use std::io;

/// How long a burst at the full rate of the sender may last that has had time to save up: what passes in
/// a time t is at most rate · (t + this), and one frame of the stack.
pub const POLICER_DEPTH_NS: u64 = 10_000_000;

/// Rates of a policer; `None` for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// Frames in a second.
    pub packets: Option<u64>,
    /// Bits of frames, headers included, in a second.
    pub bps: Option<u64>,
}

/// Frames of which side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// That come in at the interface.
    In,
    /// That go out.
    Out,
}

/// Drops frames above a rate, until it is dropped itself; the kernel removes it with the process.
pub struct NicPolicer {
    policer: Policer,
}

impl NicPolicer {
    /// At an interface of the present network namespace.
    ///
    /// # Errors
    ///
    /// Where the process lacks CAP_BPF and CAP_NET_ADMIN outside of any user namespace, before Linux
    /// 6.6, and when there is no such interface.
    pub fn new(name: &LinkName, crossing: Crossing, limits: RateLimits) -> io::Result<Self> {
        // Rounded up, so that no more passes than was asked for.
        const BITS_SCALED: u64 = 8_000_000_000 << 16;
        let costs = Costs {
            frame_ns: limits.packets.map(|rate| 1_000_000_000_u64.div_ceil(rate.max(1))),
            byte_ns_scaled: limits.bps.map(|rate| BITS_SCALED.div_ceil(rate.max(1))),
            depth_ns: POLICER_DEPTH_NS,
        };
        let interface = Interface::find(name.as_str())?.index();
        let policer = Policer::attach(interface, crossing == Crossing::In, costs)?;
        Ok(Self { policer })
    }

    /// Frames that were dropped so far.
    ///
    /// # Errors
    ///
    /// Those of the kernel.
    pub fn dropped(&self) -> io::Result<u64> {
        self.policer.dropped()
    }
}
