//! Ports on TAP interfaces: for virtual machines, and for programs behind the kernel's own stack.
//!
//! One call of the kernel per frame, each way. Frames are whole: a tag is in its place, checksums
//! are filled in and nothing is longer than the MTU, for the port asks for no offload.

use crate::frame_fit::{Fit, check_frame, fit};
use crate::interface::Interface;
use crate::packet_socket::step;
use crate::sys::tap;
use crate::{
    BURST_FRAMES, Capabilities, FRAME_BYTES_LIMIT, FlushReport, Lent, LinkState, MonotonicClock,
    Offer, Port, PortKind, PortStatistics,
};
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use tenuto_units::Instant;

const DEVICE: &str = "/dev/net/tun";
/// Frames that one call reads, at most: a flood of unfit ones does not keep it.
const SEEN_MAX: usize = 2 * BURST_FRAMES;

/// The program's side of a TAP interface, which is switched on.
pub struct TapPort {
    device: File,
    interface: Interface,
    received: Vec<(usize, [u8; FRAME_BYTES_LIMIT + 1])>,
    burst: Vec<(usize, [u8; FRAME_BYTES_LIMIT])>,
    burst_count: usize,
    latest: Instant,
    statistics: PortStatistics,
    /// What the interface had dropped before, nobody being there to read.
    dropped_before: u64,
}

impl TapPort {
    /// Opens the TAP interface `name`: an existing one that no program holds, or a new one, which
    /// goes with the port.
    ///
    /// # Errors
    ///
    /// When there is no /dev/net/tun, CAP_NET_ADMIN is missing, or the name is taken by another
    /// kind of interface; the message names the interface and the failed step.
    pub fn open(name: &str) -> io::Result<Self> {
        let step = |what| step(name, what);
        let c_name = CString::new(name).map_err(io::Error::other).map_err(step("name it"))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
        let device = options.open(DEVICE).map_err(step("open /dev/net/tun"))?;
        tap::attach(&device, &c_name).map_err(step("make a TAP interface (CAP_NET_ADMIN)"))?;
        let interface = Interface::find(name).map_err(step("find it"))?;
        interface.set_up().map_err(step("switch it on"))?;
        Ok(Self {
            device,
            dropped_before: interface.transmit_drops(),
            interface,
            received: vec![(0, [0; FRAME_BYTES_LIMIT + 1]); BURST_FRAMES],
            burst: vec![(0, [0; FRAME_BYTES_LIMIT]); BURST_FRAMES],
            burst_count: 0,
            latest: Instant::ZERO,
            statistics: PortStatistics::default(),
        })
    }
}

/// What became of a frame.
enum Written {
    Sent,
    /// There is no room for it at present.
    Full,
    Refused,
}

/// Writes a frame, whole or not at all.
fn write(mut device: &File, interface: &Interface, frame: &[u8]) -> io::Result<Written> {
    // The kernel would take a frame of any length.
    let is_fit = check_frame(frame, FRAME_BYTES_LIMIT).is_ok()
        && fit(frame, interface.mtu_bytes()) == Fit::Fits;
    if !is_fit {
        return Ok(Written::Refused);
    }
    let Err(error) = device.write_all(frame) else { return Ok(Written::Sent) };
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => Ok(Written::Full),
        // Down: the frame is lost, as it would be on a wire.
        Some(libc::EIO) => Ok(Written::Refused),
        Some(libc::EBADFD) => Err(interface.gone()),
        _ => Err(error),
    }
}

impl Port for TapPort {
    fn lend(&mut self, budget: usize, take: &mut dyn FnMut(Lent<'_>)) -> io::Result<usize> {
        let mtu_bytes = self.interface.mtu_bytes();
        let most = budget.min(BURST_FRAMES);
        let mut arrivals = [Instant::ZERO; BURST_FRAMES];
        let (mut count, mut seen) = (0, 0);
        while count < most && seen < SEEN_MAX {
            let (length, slot) = &mut self.received[count];
            let bytes = match self.device.read(&mut slot[..]) {
                Ok(bytes) => bytes,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => continue,
                    Some(libc::EAGAIN) => break,
                    Some(libc::EBADFD) => return Err(self.interface.gone()),
                    _ => return Err(error),
                },
            };
            seen += 1;
            self.latest = self.latest.max(MonotonicClock::now());
            // One byte more than any frame has tells a cut one.
            if self.statistics.admit(fit(&slot[..bytes], mtu_bytes)) {
                *length = bytes;
                arrivals[count] = self.latest;
                count += 1;
            }
        }
        if count > 0 {
            let mut frames: [&[u8]; BURST_FRAMES] = [&[]; BURST_FRAMES];
            for (target, (length, slot)) in frames.iter_mut().zip(&self.received[..count]) {
                *target = &slot[..*length];
            }
            let fetched = self.latest;
            take(Lent { fetched, arrivals: &arrivals[..count], frames: &frames[..count] });
        }
        Ok(count)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        check_frame(frame, FRAME_BYTES_LIMIT)?;
        let Some((length, slot)) = self.burst.get_mut(self.burst_count) else { return Ok(false) };
        slot[..frame.len()].copy_from_slice(frame);
        *length = frame.len();
        self.burst_count += 1;
        Ok(true)
    }

    fn flush(&mut self) -> io::Result<FlushReport> {
        let mut report = FlushReport::default();
        for place in 0..std::mem::take(&mut self.burst_count) {
            let (length, slot) = &self.burst[place];
            match write(&self.device, &self.interface, &slot[..*length])? {
                Written::Sent => report.sent += 1,
                Written::Full | Written::Refused => report.refused += 1,
            }
        }
        self.statistics.sent += report.sent as u64;
        self.statistics.refused += report.refused as u64;
        Ok(report)
    }

    fn offer(&mut self, frames: &[&[u8]]) -> io::Result<Offer> {
        let mut report = FlushReport::default();
        for frame in frames {
            match write(&self.device, &self.interface, frame)? {
                Written::Sent => report.sent += 1,
                Written::Refused => report.refused += 1,
                Written::Full => break,
            }
        }
        self.statistics.sent += report.sent as u64;
        self.statistics.refused += report.refused as u64;
        Ok(Offer { report, left: frames.len() - report.sent - report.refused })
    }

    fn poll_fd(&self) -> Option<RawFd> {
        Some(self.device.as_raw_fd())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: PortKind::Tap,
            kernel_stamps: false,
            pollable: true,
            peekable: false,
            zero_copy: false,
            exclusive: true,
            burst_frames: BURST_FRAMES,
            frame_bytes_limit: FRAME_BYTES_LIMIT,
        }
    }

    fn mtu_bytes(&self) -> Option<usize> {
        Some(self.interface.mtu_bytes())
    }

    /// The kernel counts frames that found the queue full (1000 by default) as dropped by the
    /// interface.
    fn statistics(&mut self) -> io::Result<PortStatistics> {
        let dropped = self.interface.transmit_drops();
        self.statistics.overflowed = dropped.saturating_sub(self.dropped_before);
        Ok(self.statistics)
    }

    fn link(&mut self) -> io::Result<LinkState> {
        self.interface.refresh()
    }
}
