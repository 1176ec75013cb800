//! The one port interface: where frames enter and leave a node.

use std::fmt;
use std::io;
use std::os::fd::RawFd;
use std::str::FromStr;
use tenuto_units::Instant;

/// Frames of one burst: what a single call of the kernel receives or sends at most.
///
/// Small on purpose: at 2 us per frame a burst of 32 already blocks its thread for 64 us.
pub const BURST_FRAMES: usize = 32;

/// The largest frame a port carries, without FCS: a tagged frame of 1518 B and room to spare.
pub const FRAME_BYTES_LIMIT: usize = 2044;

/// What carries the frames of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PortKind {
    /// Two ends joined in the memory of this process.
    Memory,
    /// AF_PACKET, a burst per call of the kernel.
    Packet,
    /// AF_PACKET, received frames looked up in memory shared with the kernel (TPACKET_V2).
    PacketRing,
    /// AF_XDP: frames taken before the kernel's own stack sees them.
    Xdp,
    /// A TAP interface, whose other end is the kernel or a virtual machine.
    Tap,
}

impl PortKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Memory, Self::Packet, Self::PacketRing, Self::Xdp, Self::Tap];

    /// How settings name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Packet => "packet",
            Self::PacketRing => "packet-ring",
            Self::Xdp => "xdp",
            Self::Tap => "tap",
        }
    }
}

impl fmt::Display for PortKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PortKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("no kind of port is called {text:?}; there are {names}")
        })
    }
}

/// What became of the frames of one burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushReport {
    /// Frames handed over to the device.
    pub sent: usize,
    /// Frames that the device did not take (full, down, or too long for it): dropped.
    pub refused: usize,
}

impl std::ops::AddAssign for FlushReport {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.refused += other.refused;
    }
}

/// What became of frames that were offered to a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// What was sent and what was refused.
    pub report: FlushReport,
    /// Frames at the end, as many, that found no room: neither sent nor refused.
    pub left: usize,
}

/// What a port can do, for choosing a clock and for the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// What carries the frames.
    pub kind: PortKind,
    /// Arrivals are stamped by the kernel when the frame entered it; otherwise when it was
    /// fetched, which includes the wake-up of the receiver.
    pub kernel_stamps: bool,
    /// The port can be waited on through [`Port::poll_fd`].
    pub pollable: bool,
    /// [`Port::pending`] knows without a call of the kernel whether frames wait.
    pub peekable: bool,
    /// The device reads and writes the port's own memory: no copy at all.
    pub zero_copy: bool,
    /// Frames are kept from the kernel's own stack, which else might answer them.
    pub exclusive: bool,
    /// Frames that wait in [`Port::send`] until [`Port::flush`], at most.
    pub burst_frames: usize,
    /// The largest frame in bytes, without FCS, that fits; the MTU of the interface may allow less.
    pub frame_bytes_limit: usize,
}

/// Frames of a port since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStatistics {
    /// Frames handed to the sink of [`Port::receive`].
    pub received: u64,
    /// Frames that the device took.
    pub sent: u64,
    /// Frames that found the receive ring, or buffer, full.
    pub overflowed: u64,
    /// Received frames longer than the MTU allows, and dropped: the sender, or this interface,
    /// leaves cutting them to size to an offload; see [`crate::links::offloads_off`].
    pub oversized: u64,
    /// Received frames too short for an Ethernet header, and dropped.
    pub runts: u64,
    /// Received frames whose sender left the checksum to its device, which is a veth end and fills
    /// none in: passed on as they are, and refused by whoever checks them.
    pub checksums_missing: u64,
    /// Frames that the device did not take, but for those that were offered and left.
    pub refused: u64,
    /// How often the interface was found down while receiving.
    pub link_downs: u64,
    /// How often CLOCK_REALTIME was set, so that a burst was stamped on being fetched.
    pub clock_steps: u64,
}

/// What an interface is able to do at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// Frames pass.
    Up,
    /// Switched on, but the other end is off or missing.
    NoCarrier,
    /// Switched off.
    Down,
    /// The interface does not exist any more: the port is of no use.
    Gone,
}

/// Frames of one burst that a port lends: they lie where it received them, until it is told to go on.
#[derive(Clone, Copy, Debug)]
pub struct Lent<'a> {
    /// The clock after they were fetched: not before any arrival.
    pub fetched: Instant,
    /// When each arrived, never decreasing.
    pub arrivals: &'a [Instant],
    /// The frames, as many.
    pub frames: &'a [&'a [u8]],
}

/// A port of a node: an in-memory pair, or an interface of the kernel.
///
/// Frames are without FCS. No call ever blocks.
pub trait Port {
    /// Receives at most `budget` frames, and [`BURST_FRAMES`], lends them to `take` in one call if
    /// there are any, and returns how many. Their memory is received into again afterwards.
    ///
    /// An arrival is never later than now and never earlier than the one before it on this port.
    /// A link that is down, or a frame that is unfit, is counted by the port and is no error.
    ///
    /// # Errors
    ///
    /// When the port itself is lost, for instance because the interface was removed. Where finding
    /// out costs a call of the kernel, the first of several calls without frames tells.
    fn lend(&mut self, budget: usize, take: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize>;

    /// Receives at most `budget` frames, hands each with its arrival to `sink`, returns how many;
    /// [`Port::lend`] for who takes them one by one. More may wait where some were unfit.
    ///
    /// # Errors
    ///
    /// As those of [`Port::lend`].
    fn receive(
        &mut self,
        budget: usize,
        sink: &mut dyn FnMut(Instant, &[u8]),
    ) -> io::Result<usize> {
        let mut delivered = 0;
        while delivered < budget {
            let wanted = (budget - delivered).min(BURST_FRAMES);
            let count = self.lend(wanted, &mut |lent| {
                for (&arrival, frame) in lent.arrivals.iter().zip(lent.frames) {
                    sink(arrival, frame);
                }
            })?;
            delivered += count;
            if count < wanted {
                break;
            }
        }
        Ok(delivered)
    }

    /// Whether frames wait, where that is known without a call of the kernel.
    fn pending(&self) -> Option<bool> {
        None
    }

    /// Takes `frame` into the burst; `false` when the burst is full and wants a flush first.
    ///
    /// The bytes are copied, unless they lie in memory that both ports share with their devices
    /// ([`crate::XdpPort`]): such a frame may be passed on from within the sink without a copy.
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

    /// Sends `frames` at once, from where they are if the kind allows it: as if each was given to
    /// [`Port::send`], with a flush whenever the burst is full and at the end. Frames that no port
    /// carries are refused.
    ///
    /// # Errors
    ///
    /// When the port itself is lost.
    fn transmit(&mut self, frames: &[&[u8]]) -> io::Result<FlushReport> {
        let mut report = FlushReport::default();
        let mut unfit = 0;
        for frame in frames {
            loop {
                match self.send(frame) {
                    Ok(true) => break,
                    Ok(false) => report += self.flush()?,
                    Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                        unfit += 1;
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        report += self.flush()?;
        report.refused += unfit;
        Ok(report)
    }

    /// As [`Port::transmit`], up to the first frame that the device has no room for: that one and those
    /// behind it are left to the caller, who may offer them again. Nobody tells when, see
    /// [`crate::Backpressure`]. Without an own way of a kind, none is left.
    ///
    /// # Errors
    ///
    /// When the port itself is lost.
    fn offer(&mut self, frames: &[&[u8]]) -> io::Result<Offer> {
        Ok(Offer { report: self.transmit(frames)?, left: 0 })
    }

    /// Frames that it takes at once without refusing any for want of room, where it can say; whoever
    /// has sent so many is woken, as by a frame, when there is room for more.
    fn room(&mut self) -> Option<usize> {
        None
    }

    /// As [`Port::pending`], to be asked last before a sleep: if nothing waits, the next frame makes
    /// [`Port::poll_fd`] readable. Of the kernel's ports it always does.
    fn pending_at_rest(&self) -> Option<bool> {
        self.pending()
    }

    /// The descriptor that is readable when frames wait, for a [`crate::PollSet`].
    fn poll_fd(&self) -> Option<RawFd>;

    /// What this port can do.
    fn capabilities(&self) -> Capabilities;

    /// The MTU of its interface, as it was when [`Port::link`] was asked for last; `None` if there is none.
    fn mtu_bytes(&self) -> Option<usize> {
        None
    }

    /// What passed and what was lost so far. A frame that came is in one of `received`, `overflowed`,
    /// `oversized` and `runts`; one that was sent is in `sent` or `refused`.
    ///
    /// # Errors
    ///
    /// Those of the kernel, whose own counts are read.
    fn statistics(&mut self) -> io::Result<PortStatistics>;

    /// The state of the link; also takes note of a changed MTU. One or two calls of the kernel: for
    /// every second, not for every burst.
    ///
    /// # Errors
    ///
    /// Those of the kernel; a removed interface is a state, no error.
    fn link(&mut self) -> io::Result<LinkState>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_as_they_are_written() {
        for kind in PortKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "dpdk".parse::<PortKind>().expect_err("not ours");
        assert!(error.contains("\"dpdk\"") && error.contains("packet-ring"), "{error}");
    }
}
