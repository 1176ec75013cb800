//! A virtual device on the bench.

use super::mark::number_of;
use super::rig::{Event, ProfileError, Rig, Stamps, line_time};
use crate::device::{DeviceModel, Seen, VirtualDevice, message_frame_bytes};
use tenuto_units::Instant;

const PREAMBLE_BYTES: u64 = 8;

/// A virtual device with taps that are exact: stamps are those of the start of frame delimiter (\[Loko\] section 3.2.1).
#[derive(Debug)]
pub struct VirtualRig {
    device: VirtualDevice,
    sent: Vec<Event>,
}

impl VirtualRig {
    /// Puts a device on the bench; `seed` decides its draws.
    pub fn new(model: DeviceModel, seed: u64) -> Self {
        Self { device: VirtualDevice::new(model, seed), sent: Vec::new() }
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
        let at = at.max(self.device.now());
        self.sent.extend(number_of(bytes).map(|number| Event::Sent { at, number }));
        self.device.frame(at, port, bytes);
    }

    fn run_until(&mut self, at: Instant) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.sent);
        events.extend(self.device.run_until(at).into_iter().map(|seen| match seen {
            Seen::Control { at, bytes } => Event::Control { at, bytes },
            Seen::Frame { at, port, bytes } => Event::Frame { at, port, bytes },
        }));
        events
    }

    fn controller(&mut self, is_there: bool) -> Result<(), ProfileError> {
        if is_there {
            self.device.connect()
        } else {
            self.device.disconnect()
        }
        Ok(())
    }

    fn ports(&self) -> Vec<u32> {
        (1..=self.device.model().ports).collect()
    }

    fn rate_bps(&self) -> u64 {
        self.device.model().rate_bps
    }

    fn outside_ns(&self, frame_bytes: u32) -> u64 {
        line_time(self.rate_bps(), u64::from(frame_bytes) + PREAMBLE_BYTES).as_ns()
    }

    fn control_outside_ns(&self, message_bytes: usize) -> (u64, u64) {
        let time = |bytes| line_time(self.rate_bps(), bytes).as_ns();
        (time(message_frame_bytes(message_bytes)), time(PREAMBLE_BYTES))
    }

    fn is_exact(&self) -> bool {
        true
    }

    /// Draws from typical costs are no worst ones, however exact the stamps.
    fn is_typical(&self) -> bool {
        self.device.model().profile.has_typical_times()
    }

    fn stamps(&self) -> Stamps {
        let source = "virtual time".into();
        Stamps { source, resolution_ns: 1, noise_ns: 0, is_exact: true, host: None }
    }
}
