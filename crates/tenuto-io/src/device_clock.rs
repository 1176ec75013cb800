//! The clock of a network device that stamps frames by itself (a PTP hardware clock), and switching its stamps on.

use crate::MonotonicClock;
use crate::sys::{ethtool, hardware_stamps, socket};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicI64, Ordering};
use tenuto_units::Instant;

/// Looks of which the narrowest counts.
const LOOKS: usize = 8;

/// The number of the clock by which the interface `name` can stamp every frame, in both directions; `None` if it cannot.
/// Interfaces of one number need no synchronisation.
///
/// # Errors
///
/// When the process has no descriptors left.
pub fn device_clock_of(name: &str) -> io::Result<Option<u32>> {
    let name = CString::new(name).map_err(io::Error::other)?;
    let any = socket::control_socket()?;
    let Ok(told) = ethtool::stamping(any.as_fd(), &name) else { return Ok(None) };
    Ok(told.can_stamp_all().then(|| u32::try_from(told.clock).ok()).flatten())
}

/// Whether the driver of the interface `name` has the kernel stamp what leaves.
///
/// # Errors
///
/// When the process has no descriptors left.
pub fn stamps_departures(name: &str) -> io::Result<bool> {
    let name = CString::new(name).map_err(io::Error::other)?;
    let any = socket::control_socket()?;
    Ok(ethtool::stamping(any.as_fd(), &name).is_ok_and(|it| it.has_kernel_stamp_departures()))
}

/// A clock of a device, brought to the monotonic one.
#[derive(Debug)]
pub struct DeviceClock {
    file: File,
    /// CLOCK_MONOTONIC less the device's, nanoseconds.
    offset_ns: AtomicI64,
}

impl DeviceClock {
    /// Opens the clock of this number.
    ///
    /// # Errors
    ///
    /// When there is none, or it may not be read.
    pub fn open(number: u32) -> io::Result<Self> {
        let path = format!("/dev/ptp{number}");
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
        let file = File::open(&path).map_err(named)?;
        let it = Self { file, offset_ns: AtomicI64::new(0) };
        it.adjust().map_err(named)?;
        Ok(it)
    }

    /// Looks at both clocks anew. Differences of stamps are exact only between two looks: it is for moments at which no
    /// frame is under way.
    ///
    /// # Errors
    ///
    /// When the clock is gone.
    pub fn adjust(&self) -> io::Result<()> {
        let mut best: Option<(u64, i128)> = None;
        for _ in 0..LOOKS {
            let before = MonotonicClock::now().as_ns();
            let device = hardware_stamps::clock_ns(self.file.as_fd())?;
            let width = MonotonicClock::now().as_ns() - before;
            let offset = i128::from(before + width / 2) - i128::from(device);
            if best.is_none_or(|(narrowest, _)| width < narrowest) {
                best = Some((width, offset));
            }
        }
        let offset = best.map_or(0, |(_, offset)| offset);
        self.offset_ns.store(i64::try_from(offset).unwrap_or(0), Ordering::Relaxed);
        Ok(())
    }

    /// An instant of the device's clock.
    pub(crate) fn monotonic(&self, device_ns: u64) -> Instant {
        let ns = i128::from(device_ns) + i128::from(self.offset_ns.load(Ordering::Relaxed));
        Instant::from_ns(u64::try_from(ns.max(0)).unwrap_or(u64::MAX))
    }
}

/// Keeps a device stamping every frame; what was set before is put back at its end.
#[derive(Debug)]
pub(crate) struct StampingGuard {
    any: OwnedFd,
    name: CString,
    before: hardware_stamps::Config,
}

impl StampingGuard {
    pub(crate) fn start(name: &str) -> io::Result<Self> {
        let name = CString::new(name).map_err(io::Error::other)?;
        let any = socket::control_socket()?;
        // A driver that cannot tell begins with nothing stamped.
        let before = hardware_stamps::config(any.as_fd(), &name).unwrap_or_default();
        hardware_stamps::set_config(any.as_fd(), &name, hardware_stamps::Config::ALL)?;
        Ok(Self { any, name, before })
    }
}

impl Drop for StampingGuard {
    fn drop(&mut self) {
        // The device may be gone.
        let _ = hardware_stamps::set_config(self.any.as_fd(), &self.name, self.before);
    }
}
