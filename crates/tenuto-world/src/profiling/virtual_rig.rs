//! A virtual device on the bench.

use super::rig::{Rig, Stamps};
use crate::device::{DeviceModel, Seen, VirtualDevice};
use tenuto_units::Instant;

/// A virtual device with taps that are exact.
#[derive(Debug)]
pub struct VirtualRig {
    device: VirtualDevice,
}

impl VirtualRig {
    /// Puts a device on the bench; `seed` decides its draws.
    pub fn new(model: DeviceModel, seed: u64) -> Self {
        Self { device: VirtualDevice::new(model, seed) }
    }
}

impl Rig for VirtualRig {
    fn now(&self) -> Instant {
        self.device.now()
    }

    fn control(&mut self, at: Instant, bytes: &[u8]) -> Vec<Instant> {
        self.device.control(at, bytes)
    }

    fn frame(&mut self, at: Instant, port: u32, bytes: &[u8]) {
        self.device.frame(at, port, bytes);
    }

    fn run_until(&mut self, at: Instant) -> Vec<Seen> {
        self.device.run_until(at)
    }

    fn controller(&mut self, is_there: bool) {
        if is_there { self.device.connect() } else { self.device.disconnect() }
    }

    fn rate_bps(&self) -> u64 {
        self.device.model().rate_bps
    }

    fn stamps(&self) -> Stamps {
        let source = "virtual time".into();
        Stamps { source, resolution_ns: 1, noise_ns: 0, is_exact: true }
    }
}
