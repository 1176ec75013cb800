//! Mode signals: how switches tell one another of a raise and of the way back (docs/theory/modes.md,
//! "Raise" and "Return").
//!
//! One frame, every field in a fixed place, the tag last. The tag is a keyed MAC per link over
//! source address, EtherType and fields, so a signal cannot be forged, changed, moved to another
//! link, or sent back to where it came from as long as the receiver knows its neighbour's address.
//! It can be *replayed*: the receiver keeps the last `sequence` per link and takes only larger
//! ones, and a `Challenge` carries a fresh nonce that its `Answer` repeats.
//! The destination is a constant and is not authenticated: switches ask that it is this one.

use crate::bytes::{array, be_u16, be_u64};
use crate::error::WireError;
use crate::ethernet::{EtherType, FRAME_LEN_MIN, MacAddress, emit_header};
use crate::link_key::{LinkKey, TAG_BYTES};
use std::fmt;

/// The EtherType of mode signals.
pub(crate) const ETHER_TYPE: EtherType = EtherType::MODE_SIGNAL;
/// Where mode signals go: to the neighbour, whoever it is. Locally administered multicast.
pub const SIGNAL_DST: MacAddress = MacAddress([0x03, 0x00, 0x00, 0x00, 0x0f, 0x00]);
/// Length of a signal in memory; it needs no padding.
pub const SIGNAL_FRAME_LEN: usize = field::TAG.end;
const _: () = assert!(SIGNAL_FRAME_LEN >= FRAME_LEN_MIN);

const WHAT: &str = "mode signal";
const VERSION: u8 = 1;

mod field {
    use super::TAG_BYTES;
    use std::ops::Range;

    pub(super) const SRC: Range<usize> = 6..12;
    pub(super) const ETHER_TYPE: Range<usize> = 12..14;
    pub(super) const VERSION: usize = 14;
    pub(super) const KIND: usize = 15;
    pub(super) const LEVEL: usize = 16;
    pub(super) const FROM_LEVEL: usize = 17;
    /// None is defined in version 1: zero.
    pub(super) const FLAGS: Range<usize> = 18..20;
    pub(super) const HOPS: Range<usize> = 20..22;
    pub(super) const GENERATION: Range<usize> = 22..30;
    pub(super) const EPOCH: Range<usize> = 30..38;
    pub(super) const ORIGIN: Range<usize> = 38..46;
    pub(super) const NONCE: Range<usize> = 46..54;
    pub(super) const SEQUENCE: Range<usize> = 54..62;
    pub(super) const TAG: Range<usize> = 62..62 + TAG_BYTES;
    /// What the tag is over.
    pub(super) const TAGGED: Range<usize> = SRC.start..TAG.start;
}

/// What a signal says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum SignalKind {
    /// Go up to `level` now.
    Raise = 1,
    /// The leader proposes to return to `level`.
    Propose = 2,
    /// The origin was quiet long enough to return.
    Vote = 3,
    /// All voted: return.
    Commit = 4,
    /// The origin has returned.
    Confirm = 5,
    /// Sources may send by the lower level's contracts again.
    Resume = 6,
    /// What is your mode? Sent with a fresh nonce after a start.
    Challenge = 7,
    /// The origin's mode, with the nonce of the challenge.
    Answer = 8,
    /// The origin's mode, repeated until the neighbour reports the same.
    State = 9,
    /// The origin's mode, in answer to a raise, an answer or a state.
    Known = 10,
}

impl SignalKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Raise,
        Self::Propose,
        Self::Vote,
        Self::Commit,
        Self::Confirm,
        Self::Resume,
        Self::Challenge,
        Self::Answer,
        Self::State,
        Self::Known,
    ];

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Raise => "raise",
            Self::Propose => "propose",
            Self::Vote => "vote",
            Self::Commit => "commit",
            Self::Confirm => "confirm",
            Self::Resume => "resume",
            Self::Challenge => "challenge",
            Self::Answer => "answer",
            Self::State => "state",
            Self::Known => "known",
        }
    }
}

impl fmt::Display for SignalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A mode signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SignalRepr {
    /// What it says.
    pub kind: SignalKind,
    /// The criticality level that it speaks of.
    pub level: u8,
    /// The level of the origin when it first sent this.
    pub from_level: u8,
    /// Links that the signal has crossed before this one.
    pub hops: u16,
    /// Generation of the plan.
    pub generation: u64,
    /// Number of the mode change, monotone over power cycles.
    pub epoch: u64,
    /// Datapath id of the switch that this began at, not of the one that passed it on.
    pub origin: u64,
    /// Ties an answer to its challenge; numbers the floods of a return; in a state or known, the
    /// highest epoch that the origin has heard of; otherwise zero.
    pub nonce: u64,
    /// Strictly increasing per sender and link.
    pub sequence: u64,
}

impl SignalRepr {
    /// What decides between two signals: the greater one holds (docs/theory/modes.md, "Raise").
    pub const fn order(&self) -> (u64, u64, u8) {
        (self.generation, self.epoch, self.level)
    }

    /// Writes the whole frame, tag included, at the start of `buffer` and returns its length,
    /// [`SIGNAL_FRAME_LEN`].
    ///
    /// `source` is the sender's address on this link: it is under the tag, and the receiver
    /// compares it with its neighbour's.
    ///
    /// # Panics
    /// If `buffer` is shorter than [`SIGNAL_FRAME_LEN`].
    pub fn emit(&self, source: MacAddress, key: &LinkKey, buffer: &mut [u8]) -> usize {
        let frame = &mut buffer[..SIGNAL_FRAME_LEN];
        emit_header(frame, SIGNAL_DST, source, ETHER_TYPE);
        frame[field::VERSION] = VERSION;
        frame[field::KIND] = self.kind as u8;
        frame[field::LEVEL] = self.level;
        frame[field::FROM_LEVEL] = self.from_level;
        frame[field::FLAGS].fill(0);
        frame[field::HOPS].copy_from_slice(&self.hops.to_be_bytes());
        frame[field::GENERATION].copy_from_slice(&self.generation.to_be_bytes());
        frame[field::EPOCH].copy_from_slice(&self.epoch.to_be_bytes());
        frame[field::ORIGIN].copy_from_slice(&self.origin.to_be_bytes());
        frame[field::NONCE].copy_from_slice(&self.nonce.to_be_bytes());
        frame[field::SEQUENCE].copy_from_slice(&self.sequence.to_be_bytes());
        let tag = key.tag(&frame[field::TAGGED]);
        frame[field::TAG].copy_from_slice(&tag);
        SIGNAL_FRAME_LEN
    }
}

impl fmt::Display for SignalRepr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, level, from_level, hops, generation, epoch, origin, nonce, sequence } =
            self;
        write!(
            f,
            "mode {kind} level {level} from {from_level}, generation {generation}, epoch {epoch}, \
             origin {origin:016x}, hops {hops}, seq {sequence}"
        )?;
        if *nonce == 0 { Ok(()) } else { write!(f, ", nonce {nonce:016x}") }
    }
}

/// A well-formed signal as it was received. Nothing in it is to be believed before
/// [`SignalFrame::verify`].
#[derive(Clone, Copy, Debug)]
pub struct SignalFrame<'a> {
    /// At least [`SIGNAL_FRAME_LEN`] bytes.
    bytes: &'a [u8],
    repr: SignalRepr,
}

impl<'a> SignalFrame<'a> {
    /// Reads an untagged frame of EtherType 0x0f00; bytes behind the signal are ignored.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        WireError::check_len(WHAT, SIGNAL_FRAME_LEN, bytes.len())?;
        let refuse = |field, value| Err(WireError::Field { what: WHAT, field, value });
        let ether_type = be_u16(bytes, field::ETHER_TYPE);
        if ether_type != ETHER_TYPE.0 {
            return refuse("ethertype", ether_type.into());
        }
        if bytes[field::VERSION] != VERSION {
            return refuse("version", bytes[field::VERSION].into());
        }
        let flags = be_u16(bytes, field::FLAGS);
        if flags != 0 {
            return refuse("flags", flags.into());
        }
        match SignalKind::from_byte(bytes[field::KIND]) {
            Some(kind) => Ok(Self { bytes, repr: read_fields(bytes, kind) }),
            None => refuse("kind", bytes[field::KIND].into()),
        }
    }

    /// Address of the sender on this link.
    pub fn src(&self) -> MacAddress {
        MacAddress(array(self.bytes, field::SRC))
    }

    /// What the signal says.
    pub fn repr(&self) -> SignalRepr {
        self.repr
    }

    /// Whether the tag was made with `key`, compared in constant time.
    ///
    /// Not checked here: that [`Self::src`] is the neighbour on this link (else a sender's own
    /// signal could be played back to it), and that the sequence is new.
    pub fn verify(&self, key: &LinkKey) -> bool {
        key.verify(&self.bytes[field::TAGGED], array(self.bytes, field::TAG))
    }
}

impl fmt::Display for SignalFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {SIGNAL_DST}, {}", self.src(), self.repr)
    }
}

fn read_fields(bytes: &[u8], kind: SignalKind) -> SignalRepr {
    SignalRepr {
        kind,
        level: bytes[field::LEVEL],
        from_level: bytes[field::FROM_LEVEL],
        hops: be_u16(bytes, field::HOPS),
        generation: be_u64(bytes, field::GENERATION),
        epoch: be_u64(bytes, field::EPOCH),
        origin: be_u64(bytes, field::ORIGIN),
        nonce: be_u64(bytes, field::NONCE),
        sequence: be_u64(bytes, field::SEQUENCE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: LinkKey = LinkKey::new([0x5a; 16]);
    const SOURCE: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
    const RAISE: SignalRepr = SignalRepr {
        kind: SignalKind::Raise,
        level: 1,
        from_level: 0,
        hops: 2,
        generation: 3,
        epoch: 7,
        origin: 0x11,
        nonce: 0,
        sequence: 9,
    };

    fn raise() -> [u8; SIGNAL_FRAME_LEN] {
        let mut bytes = [0xee; SIGNAL_FRAME_LEN];
        assert_eq!(RAISE.emit(SOURCE, &KEY, &mut bytes), SIGNAL_FRAME_LEN);
        bytes
    }

    #[test]
    fn a_raise_is_written_byte_for_byte() {
        let bytes = raise();
        #[rustfmt::skip]
        let fields = [
            3, 0, 0, 0, 0x0f, 0, 2, 0, 0, 0, 0, 9, 0x0f, 0x00, // ethernet
            1, 1, 1, 0, 0, 0, 0, 2, // version, kind, levels, flags, hops
            0, 0, 0, 0, 0, 0, 0, 3, // generation
            0, 0, 0, 0, 0, 0, 0, 7, // epoch
            0, 0, 0, 0, 0, 0, 0, 0x11, // origin
            0, 0, 0, 0, 0, 0, 0, 0, // nonce
            0, 0, 0, 0, 0, 0, 0, 9, // sequence
        ];
        assert_eq!(bytes[..62], fields);
        assert_eq!(bytes[62..], KEY.tag(&bytes[6..62]));
        assert_eq!(bytes.len(), 78);
    }

    #[test]
    fn it_is_read_back_and_printed() {
        let bytes = raise();
        let frame = SignalFrame::parse(&bytes).expect("valid");
        assert_eq!((frame.repr(), frame.src()), (RAISE, SOURCE));
        assert!(frame.verify(&KEY));
        assert!(!frame.verify(&LinkKey::new([0x5b; 16])));
        assert_eq!(
            frame.to_string(),
            "02:00:00:00:00:09 > 03:00:00:00:0f:00, mode raise level 1 from 0, generation 3, \
             epoch 7, origin 0000000000000011, hops 2, seq 9"
        );
    }

    #[test]
    fn any_changed_bit_under_the_tag_or_in_it_is_noticed() {
        for bit in 6 * 8..SIGNAL_FRAME_LEN * 8 {
            let mut bytes = raise();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let believed = SignalFrame::parse(&bytes).is_ok_and(|frame| frame.verify(&KEY));
            assert!(!believed, "bit {bit}");
        }
    }

    #[test]
    fn what_is_no_signal_is_refused_by_field() {
        let broken = |at: usize, value: u8| {
            let mut bytes = raise();
            bytes[at] = value;
            SignalFrame::parse(&bytes).map(|frame| frame.repr())
        };
        let field = |field, value| Err(WireError::Field { what: "mode signal", field, value });
        assert_eq!(broken(13, 1), field("ethertype", 0x0f01));
        assert_eq!(broken(14, 2), field("version", 2));
        assert_eq!(broken(15, 0), field("kind", 0));
        assert_eq!(broken(15, 11), field("kind", 11));
        assert_eq!(broken(19, 4), field("flags", 4));
        assert_eq!(
            SignalFrame::parse(&raise()[..77]).map(|frame| frame.repr()),
            Err(WireError::Truncated { what: "mode signal", needed: 78, found: 77 })
        );
    }

    #[test]
    fn kinds_are_one_to_ten() {
        for byte in 0..=255 {
            let kind = SignalKind::from_byte(byte);
            assert_eq!(kind.map(|kind| kind as u8), (1..=10).contains(&byte).then_some(byte));
        }
    }

    #[test]
    fn generation_decides_before_epoch_before_level() {
        let base = RAISE.order();
        assert!(SignalRepr { level: 2, ..RAISE }.order() > base);
        assert!(SignalRepr { epoch: 8, level: 0, ..RAISE }.order() > base);
        assert!(SignalRepr { generation: 4, epoch: 0, level: 0, ..RAISE }.order() > base);
    }
}
