//! What control messages and the firmware's own work take of a processor that the ports of a switch share.

use crate::device::{DeviceModel, FirmwareTable, MessageCosts, OwnWork};
use tenuto_model::Profile;
use tenuto_openflow::{Body, Message};

/// How switches behave as the devices of their profiles, beyond what a plan believes of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Devices {
    /// The firmware does its own work too: that of the Zodiac FX, where a device states none.
    pub has_timers: bool,
    /// Echo requests that a controller sends each switch per second, besides its own messages.
    pub control_per_s: u64,
}

/// The firmware of one device.
#[derive(Clone, Debug)]
pub(super) struct Firmware {
    messages: MessageCosts,
    pub(super) own: Option<OwnWork>,
    table: FirmwareTable,
    entries_max: usize,
}

impl Firmware {
    /// The firmware of a profile with a processor.
    pub(super) fn of(profile: &Profile, devices: Devices) -> Self {
        let model = DeviceModel::of(profile.clone());
        let timers = DeviceModel::built_in("zodiac-fx-timers").and_then(|it| it.own_work);
        Self {
            messages: model.messages,
            own: model.own_work.or(timers).filter(|_| devices.has_timers),
            table: FirmwareTable::default(),
            entries_max: profile.entries_max as usize,
        }
    }

    /// The most that a message takes, picoseconds.
    pub(super) fn message_ps(&self, bytes: &[u8]) -> u64 {
        match Message::parse(bytes) {
            Ok(message) => self.messages.of(&message, &self.table),
            Err(_) => self.messages.other_ps,
        }
    }

    /// A message has been carried out.
    pub(super) fn carried_out(&mut self, bytes: &[u8]) {
        if let Ok(Message { body: Body::FlowMod(it), .. }) = Message::parse(bytes) {
            self.table.apply(&it, self.entries_max);
        }
    }

    /// Its power was off.
    pub(super) fn forget(&mut self) {
        self.table = FirmwareTable::default();
    }
}

/// Messages one by one.
pub(super) fn messages(bytes: &[u8]) -> Vec<Vec<u8>> {
    const HEADER_BYTES: usize = 8;
    let (mut rest, mut all) = (bytes, Vec::new());
    while rest.len() >= HEADER_BYTES {
        let len = usize::from(u16::from_be_bytes([rest[2], rest[3]])).max(HEADER_BYTES);
        let (message, behind) = rest.split_at(len.min(rest.len()));
        all.push(message.to_vec());
        rest = behind;
    }
    all
}
