//! Attendre commands on the data path: only what a switch needs to know them by.
//!
//! A command travels in the same queue, port and thread directly ahead of the packet that it
//! speaks of, one per output port, authenticated, and is accepted on trunk ports only (theory
//! T28). Its body is described where it is built and read; here its EtherType is reserved, so
//! that switches can tell it from traffic and drop it at host ports.

use crate::ethernet::EtherType;

/// The EtherType of Attendre commands.
pub const ETHER_TYPE: EtherType = EtherType::ATTENDRE;
