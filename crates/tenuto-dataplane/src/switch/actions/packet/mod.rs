//! Frames as the general pipeline sees them: where their headers are, what they match, and how
//! actions change them (OpenFlow 1.3.5, sections 5.12 and 7.2.5).
//!
//! Everything works on bytes in place. Reading is total: a header that is cut off is not there, so
//! that entries that ask for it do not match and actions on it do nothing.

mod buffer;
mod checksum;
mod edit;
mod edit_set;
mod ipv6;
mod layers;
mod set_field;

pub(in crate::switch) use buffer::Buffer;
pub(in crate::switch) use edit::TtlExpired;
pub(in crate::switch) use edit_set::EditSet;
pub use ipv6::BehindExtensions;
pub(in crate::switch) use layers::Layers;

use tenuto_openflow::Oxm;

/// A change of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edit {
    /// Copy the time to live outwards.
    CopyTtlOut,
    /// Copy the time to live inwards.
    CopyTtlIn,
    /// Set the time to live of the outermost label.
    SetMplsTtl(u8),
    /// Decrement it.
    DecMplsTtl,
    /// Push a VLAN tag of this EtherType.
    PushVlan(u16),
    /// Pop the outermost VLAN tag.
    PopVlan,
    /// Push an MPLS label of this EtherType.
    PushMpls(u16),
    /// Pop the outermost label; this EtherType is behind it.
    PopMpls(u16),
    /// Push a service tag of provider backbone bridging of this EtherType.
    PushPbb(u16),
    /// Pop the outermost one.
    PopPbb,
    /// Set the time to live of the IP header.
    SetNwTtl(u8),
    /// Decrement it.
    DecNwTtl,
    /// Set a field.
    SetField(FieldValue),
}

/// A field of the basic class and the value to set it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldValue {
    /// The field's number (`OFPXMT_OFB_*`).
    pub field: u8,
    /// The value, big-endian, at the end.
    pub value: [u8; 16],
}

impl FieldValue {
    /// The field and value of a condition without mask; `None` for anything else.
    pub fn of(oxm: &Oxm) -> Option<Self> {
        let value = oxm.value_bits()?.to_be_bytes();
        (!oxm.has_mask()).then_some(Self { field: oxm.number()?, value })
    }

    /// The last N bytes of the value.
    fn tail<const N: usize>(&self) -> [u8; N] {
        let mut tail = [0; N];
        tail.copy_from_slice(&self.value[16 - N..]);
        tail
    }

    fn byte(&self) -> u8 {
        self.value[15]
    }

    fn short(&self) -> u16 {
        u16::from_be_bytes(self.tail())
    }

    fn long(&self) -> u32 {
        u32::from_be_bytes(self.tail())
    }

    /// The value as a number of up to 64 bits.
    pub(in crate::switch) fn number(&self) -> u64 {
        u64::from_be_bytes(self.tail())
    }
}
