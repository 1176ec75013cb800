//! Hello: the first message either way, and version negotiation (OpenFlow 1.3.5, section 7.5.1).

use crate::constants::OFP_VERSION;
use crate::error::ErrorCode;
use crate::wire::{Reader, Writer, padding};

/// `OFPHET_VERSIONBITMAP`
const VERSION_BITMAP: u16 = 1;
const ELEMENT_HEADER_LEN: usize = 4;

/// What a side of the connection offers to speak.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hello {
    /// The version in the header: the highest that the sender speaks. A hello is the one message
    /// that is decoded whatever its version.
    pub version: u8,
    /// Bit *n* set: wire version *n* is spoken. It stands for a bitmap of one word that is the
    /// first element, as everybody sends it; any other bitmap is kept in `elements`, and
    /// [`Hello::offers`] knows both.
    pub version_bitmap: Option<u32>,
    /// The other elements, in the order they came.
    pub elements: Vec<HelloElement>,
}

/// An element of a hello that this codec keeps as bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HelloElement {
    /// Its type (`OFPHET_*`).
    pub type_: u16,
    /// Its content without header and padding.
    pub data: Vec<u8>,
    /// Whether zeros fill it up to 8 bytes, as section 7.5.1 says and not everybody does.
    pub is_padded: bool,
}

impl Default for Hello {
    /// Offers OpenFlow 1.3 and nothing else.
    fn default() -> Self {
        Self { version: OFP_VERSION, version_bitmap: Some(1 << OFP_VERSION), elements: Vec::new() }
    }
}

impl Hello {
    /// Whether the sender speaks the wire version `version`: its bitmap decides, or without one,
    /// that the header's version is no lower (section 6.3.1).
    pub fn offers(&self, version: u8) -> bool {
        if let Some(bitmap) = self.version_bitmap {
            return 1_u32.checked_shl(version.into()).is_some_and(|bit| bitmap & bit != 0);
        }
        match self.elements.iter().find(|element| element.type_ == VERSION_BITMAP) {
            Some(bitmap) => bitmap_word(&bitmap.data, version),
            None => self.version >= version,
        }
    }

    /// The wire version to speak after this hello of ours and that of the peer: the highest in both
    /// bitmaps, or where one side sent none the lower of the two headers' (section 6.3.1). `None`
    /// if we do not speak it; the answer is then `OFPHFC_INCOMPATIBLE`.
    pub fn negotiate(&self, peer: &Self) -> Option<u8> {
        if self.has_bitmap() && peer.has_bitmap() {
            return (0..=u8::MAX)
                .rev()
                .find(|&version| self.offers(version) && peer.offers(version));
        }
        let version = self.version.min(peer.version);
        self.offers(version).then_some(version)
    }

    fn has_bitmap(&self) -> bool {
        self.version_bitmap.is_some()
            || self.elements.iter().any(|element| element.type_ == VERSION_BITMAP)
    }

    pub(crate) fn read(version: u8, r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let mut elements = r.list(HelloElement::read)?;
        let version_bitmap = elements.first().and_then(HelloElement::as_version_bitmap);
        if version_bitmap.is_some() {
            elements.remove(0);
        }
        Ok(Self { version, version_bitmap, elements })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        if let Some(bitmap) = self.version_bitmap {
            w.tlv(VERSION_BITMAP, |w| w.bytes(&bitmap.to_be_bytes()));
        }
        for element in &self.elements {
            let start = w.tlv(element.type_, |w| w.bytes(&element.data));
            if element.is_padded {
                w.pad(start);
            }
        }
    }
}

/// Whether the bit of `version` is set in a bitmap of 32-bit words, lowest versions first.
fn bitmap_word(words: &[u8], version: u8) -> bool {
    let (words, _) = words.as_chunks::<4>();
    let word = words.get(usize::from(version / 32)).copied().unwrap_or_default();
    u32::from_be_bytes(word) & 1 << (version % 32) != 0
}

impl HelloElement {
    fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let type_ = r.u16()?;
        let len = usize::from(r.u16()?);
        let data = r.bytes(len.checked_sub(ELEMENT_HEADER_LEN).ok_or(r.bad_len())?)?.to_vec();
        let pad = padding(len);
        let mut ahead = *r;
        let is_padded = ahead.bytes(pad).is_ok_and(|zeros| zeros.iter().all(|&zero| zero == 0));
        r.skip(if is_padded { pad } else { 0 })?;
        Ok(Self { type_, data, is_padded })
    }

    fn as_version_bitmap(&self) -> Option<u32> {
        let word: [u8; 4] = self.data.as_slice().try_into().ok()?;
        (self.type_ == VERSION_BITMAP).then(|| u32::from_be_bytes(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_decides_over_the_header() {
        let newer = Hello { version: 6, version_bitmap: Some(1 << 6 | 1 << 1), elements: vec![] };
        assert!(newer.offers(6) && newer.offers(1) && !newer.offers(4) && !newer.offers(40));
        let bare = Hello { version: 6, version_bitmap: None, elements: vec![] };
        assert!(bare.offers(4) && !bare.offers(7));
    }

    #[test]
    fn bitmaps_decide_over_headers_and_headers_without_them() {
        let ours = Hello::default();
        let of = |version, version_bitmap| Hello { version, version_bitmap, elements: vec![] };
        assert_eq!(ours.negotiate(&of(6, Some(1 << 6 | 1 << 4 | 1 << 1))), Some(4));
        assert_eq!(ours.negotiate(&of(6, Some(1 << 6 | 1 << 1))), None);
        assert_eq!(ours.negotiate(&of(6, None)), Some(4));
        assert_eq!(ours.negotiate(&of(1, None)), None);
        let several = of(6, Some(1 << 6 | 1 << 4 | 1 << 1));
        assert_eq!(several.negotiate(&of(5, Some(1 << 5 | 1 << 4 | 1 << 1))), Some(4));
        assert_eq!(several.negotiate(&of(5, None)), None, "it speaks no version 5");
    }

    #[test]
    fn a_long_bitmap_is_kept_and_understood() {
        let data = vec![0, 0, 0, 0x10, 0, 0, 0, 1];
        let elements = vec![HelloElement { type_: 1, data, is_padded: true }];
        let hello = Hello { version: 4, version_bitmap: None, elements };
        assert!(hello.offers(4) && hello.offers(32) && !hello.offers(5) && !hello.offers(200));
    }
}
