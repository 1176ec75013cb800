//! Devices that exist in virtual time only: the switch core behind a device's costs.
//!
//! The OpenFlow bytes are those of a live switch, since the same core answers them. What differs is when: a
//! message, a frame, a miss and the firmware's own work each take processor time by the device's cost functions.

mod agenda;
mod costs;
mod firmware_table;
mod model;
mod virtual_device;

pub use costs::{MessageCosts, OwnWork, SoftwareTable};
pub use firmware_table::{FirmwareTable, Walk};
pub use model::DeviceModel;
pub(crate) use virtual_device::message_frame_bytes;
pub use virtual_device::{Seen, VirtualDevice};
