//! Frame views and builders, Tenuto's headers, and the keyed MAC of mode signals and Attendre commands.
//!
//! Everything here is bytes in, values out, and back: no clock, no socket, no allocation. A
//! decoder is total: any bytes give a value or a typed error, never a panic.
//!
//! Frames in memory are **without FCS**, as packet sockets give them: [`FRAME_LEN_MIN`] to
//! [`FRAME_LEN_MAX`] bytes. [`frame_bytes`] is the way to the size that the network is planned
//! with (FCS and padding counted).
//!
//! Two shapes of format. Where a header has variable parts there is a *view* (`Ipv4Packet<T>`),
//! which checks length once and then reads fields in place. Fixed headers of our own have only a
//! *representation* (`ShimRepr`), a plain value with `parse` and `emit`: `parse(emit(x)) == x`.
//! Values that have no byte form cannot be built, or are refused by `emit` with [`EmitError`].
//!
//! Not supported: nested VLAN tags, IPv6, IP reassembly, anything of TCP but its ports.

pub mod afdx;
pub mod attendre;
pub mod build;
mod bytes;
pub mod checksum;
mod error;
pub mod ethernet;
pub mod ipv4;
pub mod key;
mod link_key;
pub mod ports;
pub mod shim;
pub mod signal;
pub mod stamp;
pub mod udp;

pub use attendre::{CommandFrame, CommandRepr, ReplayWindow};
pub use build::{UdpFrame, Written};
pub use error::{AddressError, EmitError, KeyError, WireError};
pub use ethernet::{
    EtherType, EthernetFrame, FRAME_LEN_MAX, FRAME_LEN_MIN, MacAddress, VlanTag, frame_bytes,
};
pub use ipv4::{IpProtocol, Ipv4Packet, Ipv4Repr};
pub use key::{FlowKey, Ipv4Key};
pub use link_key::{LinkKey, TAG_BYTES};
pub use ports::Ports;
pub use shim::ShimRepr;
pub use signal::{SignalFrame, SignalKind, SignalRepr};
pub use stamp::Stamp;
pub use udp::UdpPacket;
