//! The words of a key that the Ethernet header fills, for tables that ask for nothing else.
//!
//! To read a whole key takes longer than to look it up, and virtual links are told apart by what stands in
//! the first bytes of a frame.

use super::key::{PacketKey, VLAN_PRESENT, mac};
use tenuto_wire::EtherType;

/// Tags that are not looked behind here.
const SERVICE_TAG: u16 = 0x88a8;

/// Something that masks can be laid over, word by word.
pub(in crate::switch) trait Words {
    /// The word of this number; those that are not there are zero.
    fn word(&self, place: u8) -> u64;
}

/// Port, type, tag and addresses, as they stand in the first words of a [`PacketKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct EthernetKey([u64; 4]);

impl Words for EthernetKey {
    #[inline]
    fn word(&self, place: u8) -> u64 {
        self.0[usize::from(place & 3)]
    }
}

impl EthernetKey {
    /// Reads it from a frame that entered at `in_port`; `None` if that takes a closer look: it is too
    /// short, states a length instead of a type, or has several tags.
    #[inline]
    pub(in crate::switch) fn read(frame: &[u8], in_port: u32) -> Option<Self> {
        let &[a, b, c, d, e, f, g, h, i, j, k, l, m, n] = frame.first_chunk::<14>()?;
        let (mut eth_type, mut tag) = (u16::from_be_bytes([m, n]), 0);
        if eth_type == EtherType::VLAN.0 {
            let &[high, low, m, n] = frame[14..].first_chunk::<4>()?;
            tag = u64::from(u16::from_be_bytes([high, low])) | VLAN_PRESENT;
            eth_type = u16::from_be_bytes([m, n]);
        }
        let is_plain = eth_type >= EtherType::TYPE_MIN
            && eth_type != EtherType::VLAN.0
            && eth_type != SERVICE_TAG;
        let first = u64::from(in_port) << 32 | u64::from(eth_type) << 16 | tag;
        let (dst, src) = (mac([a, b, c, d, e, f]), mac([g, h, i, j, k, l]));
        is_plain.then_some(Self([first, dst << 16, src << 16, 0]))
    }

    /// What the frame carries, behind its tag.
    #[allow(clippy::cast_possible_truncation)] // sixteen bits of the word
    #[inline]
    pub(in crate::switch) const fn eth_type(&self) -> u16 {
        (self.0[0] >> 16) as u16
    }

    /// Whether a mask asks for nothing that is not in here.
    pub(in crate::switch) fn answers(mask: &PacketKey) -> bool {
        let [_, dst, src, rest @ ..] = mask.words();
        dst & 0xffff == 0 && src & 0xffff == 0 && rest.iter().all(|word| *word == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::actions::packet::Layers;
    use proptest::prelude::*;

    /// Header bytes that are often those that matter.
    fn frame() -> impl Strategy<Value = Vec<u8>> {
        let kind = prop_oneof![
            Just([0x81, 0x00]),
            Just([0x88, 0xa8]),
            Just([0x08, 0x00]),
            Just([0x88, 0x47]),
            Just([0x88, 0xe7]),
            any::<[u8; 2]>()
        ];
        let tag = (kind.clone(), any::<[u8; 2]>());
        let tags = prop::collection::vec(tag, 0..3);
        (any::<[u8; 12]>(), tags, kind, prop::collection::vec(any::<u8>(), 0..60)).prop_map(
            |(addresses, tags, last, payload)| {
                let tags = tags.iter().flat_map(|(kind, tag)| [*kind, *tag]).flatten();
                addresses.into_iter().chain(tags).chain(last).chain(payload).collect()
            },
        )
    }

    proptest! {
        #[test]
        fn it_says_what_the_whole_keys_say(frame in frame(), in_port: u32, cut in 0_usize..90) {
            let frame = &frame[..frame.len().min(cut)];
            let Some(quick) = EthernetKey::read(frame, in_port) else { return Ok(()) };
            let mut planned = PacketKey::default();
            prop_assert!(planned.read(frame, in_port));
            let general = Layers::locate(frame).key(frame, in_port);
            for whole in [Some(planned), general] {
                let whole = whole.expect("there is a header");
                prop_assert_eq!(quick.eth_type(), whole.eth_type());
                prop_assert_eq!(quick.word(0), whole.word(0));
                for place in 1..3 {
                    prop_assert_eq!(quick.word(place), whole.word(place) & !0xffff);
                }
            }
        }
    }
}
