//! Attendre commands on the data path (docs/theory/attendre.md, "What waits, where, for what"):
//! one switch tells the next to keep a flow's
//! packets until the entries for it are there.
//!
//! A command is a frame of its own, directly ahead of the packet that it speaks of: in the same
//! queue, through the same port. Every field has a fixed place but the match, whose length is
//! stated, and the tag behind it. The tag is the keyed MAC of the link, as under a mode signal
//! ([`crate::signal`]): a command cannot be forged, changed or moved to another link. `sequence`
//! tells a command from its replay; commands of several queues can overtake each other, so the
//! receiver keeps a [`ReplayWindow`].
//!
//! The match is OpenFlow's (the fields of an `ofp_match`, without its header and padding) and
//! opaque here.

use crate::bytes::{array, be_u16, be_u64};
use crate::error::{EmitError, WireError};
use crate::ethernet::{EtherType, FRAME_LEN_MIN, MacAddress, emit_header};
use crate::link_key::{LinkKey, TAG_BYTES};
use std::fmt;

/// The EtherType of Attendre commands.
pub(crate) const ETHER_TYPE: EtherType = EtherType::ATTENDRE;
/// Where commands go: to the neighbour, whoever it is. Locally administered multicast.
pub const COMMAND_DST: MacAddress = MacAddress([0x03, 0x00, 0x00, 0x00, 0x0f, 0x01]);
/// The longest match that a command carries: every field of OpenFlow 1.3 with a mask takes less.
pub const MATCH_BYTES_MAX: usize = 512;
/// Length in memory of a command without a match; it needs no padding.
const COMMAND_LEN_MIN: usize = field::MATCH + TAG_BYTES;
/// Length in memory of the longest command.
pub const COMMAND_LEN_MAX: usize = COMMAND_LEN_MIN + MATCH_BYTES_MAX;
const _: () = assert!(COMMAND_LEN_MIN >= FRAME_LEN_MIN);

const WHAT: &str = "Attendre command";
const VERSION: u8 = 1;

mod field {
    use std::ops::Range;

    pub(super) const SRC: Range<usize> = 6..12;
    pub(super) const ETHER_TYPE: Range<usize> = 12..14;
    pub(super) const VERSION: usize = 14;
    pub(super) const TABLE: usize = 15;
    pub(super) const PRIORITY: Range<usize> = 16..18;
    pub(super) const MESSAGES: Range<usize> = 18..20;
    pub(super) const MATCH_LEN: Range<usize> = 20..22;
    pub(super) const GENERATION: Range<usize> = 22..30;
    pub(super) const COUNTER: Range<usize> = 30..38;
    pub(super) const SEQUENCE: Range<usize> = 38..46;
    pub(super) const MATCH: usize = 46;
}

/// What a command says: keep what matches here until the message set is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommandRepr<'a> {
    /// The table of the receiver.
    pub table: u8,
    /// The priority of the entry that its packets will match.
    pub priority: u16,
    /// Messages in the set.
    pub messages: u16,
    /// Generation of the controller: first part of the version of the set.
    pub generation: u64,
    /// Number of the set in that generation: second part.
    pub counter: u64,
    /// Different for each command of a sender and link, growing.
    pub sequence: u64,
    /// OpenFlow match fields, at most [`MATCH_BYTES_MAX`].
    pub matching: &'a [u8],
}

impl CommandRepr<'_> {
    /// Length of the frame in memory.
    pub const fn frame_len(&self) -> usize {
        COMMAND_LEN_MIN + self.matching.len()
    }

    /// Writes the whole frame, tag included, at the start of `buffer` and returns its length.
    ///
    /// `source` is the sender's address on this link; it is under the tag.
    ///
    /// # Errors
    /// If the match is longer than [`MATCH_BYTES_MAX`], or the buffer shorter than the frame. The
    /// buffer is then untouched.
    pub fn emit(
        &self,
        source: MacAddress,
        key: &LinkKey,
        buffer: &mut [u8],
    ) -> Result<usize, EmitError> {
        let (bytes, bytes_max) = (self.matching.len(), MATCH_BYTES_MAX);
        let Some(match_len) = u16::try_from(bytes).ok().filter(|_| bytes <= bytes_max) else {
            return Err(EmitError::PayloadTooLong { bytes, bytes_max });
        };
        let (needed, given) = (self.frame_len(), buffer.len());
        let frame = buffer.get_mut(..needed).ok_or(EmitError::BufferTooSmall { needed, given })?;
        emit_header(frame, COMMAND_DST, source, ETHER_TYPE);
        frame[field::VERSION] = VERSION;
        frame[field::TABLE] = self.table;
        frame[field::PRIORITY].copy_from_slice(&self.priority.to_be_bytes());
        frame[field::MESSAGES].copy_from_slice(&self.messages.to_be_bytes());
        frame[field::MATCH_LEN].copy_from_slice(&match_len.to_be_bytes());
        frame[field::GENERATION].copy_from_slice(&self.generation.to_be_bytes());
        frame[field::COUNTER].copy_from_slice(&self.counter.to_be_bytes());
        frame[field::SEQUENCE].copy_from_slice(&self.sequence.to_be_bytes());
        let tag_start = field::MATCH + bytes;
        frame[field::MATCH..tag_start].copy_from_slice(self.matching);
        let tag = key.tag(&frame[field::SRC.start..tag_start]);
        frame[tag_start..].copy_from_slice(&tag);
        Ok(needed)
    }
}

impl fmt::Display for CommandRepr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, priority, messages, generation, counter, sequence, matching } = self;
        write!(
            f,
            "Attendre command set {generation}.{counter} of {messages}, table {table}, \
             priority {priority}, match of {} B, seq {sequence}",
            matching.len()
        )
    }
}

/// A well-formed command as it was received. Nothing in it is to be believed before
/// [`CommandFrame::verify`].
#[derive(Clone, Copy, Debug)]
pub struct CommandFrame<'a> {
    /// Exactly the frame.
    bytes: &'a [u8],
    repr: CommandRepr<'a>,
}

impl<'a> CommandFrame<'a> {
    /// Reads an untagged frame of EtherType 0x0f01 that ends with its tag.
    ///
    /// # Errors
    /// If it is too short or too long for the match that it states, or of another EtherType or
    /// version.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        WireError::check_len(WHAT, COMMAND_LEN_MIN, bytes.len())?;
        let refuse = |field, value| Err(WireError::Field { what: WHAT, field, value });
        let ether_type = be_u16(bytes, field::ETHER_TYPE);
        if ether_type != ETHER_TYPE.0 {
            return refuse("ethertype", ether_type.into());
        }
        if bytes[field::VERSION] != VERSION {
            return refuse("version", bytes[field::VERSION].into());
        }
        let stated = be_u16(bytes, field::MATCH_LEN);
        let match_len = usize::from(stated);
        if match_len > MATCH_BYTES_MAX {
            return refuse("match length", stated.into());
        }
        WireError::check_len(WHAT, COMMAND_LEN_MIN + match_len, bytes.len())?;
        // Bytes behind the tag are nobody's word.
        if bytes.len() != COMMAND_LEN_MIN + match_len {
            return refuse("match length", stated.into());
        }
        let repr = CommandRepr {
            table: bytes[field::TABLE],
            priority: be_u16(bytes, field::PRIORITY),
            messages: be_u16(bytes, field::MESSAGES),
            generation: be_u64(bytes, field::GENERATION),
            counter: be_u64(bytes, field::COUNTER),
            sequence: be_u64(bytes, field::SEQUENCE),
            matching: &bytes[field::MATCH..field::MATCH + match_len],
        };
        Ok(Self { bytes, repr })
    }

    /// Address of the sender on this link.
    pub fn src(&self) -> MacAddress {
        MacAddress(array(self.bytes, field::SRC))
    }

    /// What the command says.
    pub const fn repr(&self) -> CommandRepr<'a> {
        self.repr
    }

    /// Whether the tag was made with `key`, compared in constant time.
    ///
    /// Not checked here: that the sender is not the receiver itself, and that the sequence is new.
    pub fn verify(&self, key: &LinkKey) -> bool {
        let tag = self.bytes.len() - TAG_BYTES;
        key.verify(&self.bytes[field::SRC.start..tag], array(self.bytes, tag..tag + TAG_BYTES))
    }
}

/// Which sequence numbers of a link have been seen: each is accepted once, in whatever order, if
/// it is at most 63 below the highest (as the anti-replay window of RFC 4303, section 3.4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayWindow {
    highest: u64,
    /// Bit n: `highest - n` was seen.
    seen: u64,
}

impl ReplayWindow {
    /// Whether a number is new; it is not any more afterwards.
    pub const fn accept(&mut self, sequence: u64) -> bool {
        if sequence > self.highest {
            let ahead = sequence - self.highest;
            self.seen = if ahead < 64 { self.seen << ahead | 1 } else { 1 };
            self.highest = sequence;
            return true;
        }
        let behind = self.highest - sequence;
        if behind >= 64 || self.seen >> behind & 1 == 1 || sequence == 0 {
            return false;
        }
        self.seen |= 1 << behind;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: LinkKey = LinkKey::new([0x5a; 16]);
    const SOURCE: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
    const COMMAND: CommandRepr<'_> = CommandRepr {
        table: 3,
        priority: 0x8001,
        messages: 2,
        generation: 5,
        counter: 6,
        sequence: 7,
        matching: &[0x80, 0, 0, 4, 0, 0, 0, 1],
    };

    fn command() -> [u8; 70] {
        let mut bytes = [0xee; 70];
        assert_eq!(COMMAND.emit(SOURCE, &KEY, &mut bytes), Ok(70));
        bytes
    }

    #[test]
    fn a_command_is_written_byte_for_byte() {
        let bytes = command();
        #[rustfmt::skip]
        let fields = [
            3, 0, 0, 0, 0x0f, 1, 2, 0, 0, 0, 0, 9, 0x0f, 0x01, // ethernet
            1, 3, 0x80, 1, 0, 2, 0, 8, // version, table, priority, messages, match length
            0, 0, 0, 0, 0, 0, 0, 5, // generation
            0, 0, 0, 0, 0, 0, 0, 6, // counter
            0, 0, 0, 0, 0, 0, 0, 7, // sequence
            0x80, 0, 0, 4, 0, 0, 0, 1, // match
        ];
        assert_eq!(bytes[..54], fields);
        assert_eq!(bytes[54..], KEY.tag(&bytes[6..54]));
    }

    #[test]
    fn it_is_read_back_and_printed() {
        let bytes = command();
        let frame = CommandFrame::parse(&bytes).expect("valid");
        assert_eq!((frame.repr(), frame.src()), (COMMAND, SOURCE));
        assert!(frame.verify(&KEY) && !frame.verify(&LinkKey::new([0x5b; 16])));
        assert_eq!(
            frame.repr().to_string(),
            "Attendre command set 5.6 of 2, table 3, priority 32769, match of 8 B, seq 7"
        );
    }

    #[test]
    fn any_changed_bit_under_the_tag_or_in_it_is_noticed() {
        for bit in 6 * 8..70 * 8 {
            let mut bytes = command();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let believed = CommandFrame::parse(&bytes).is_ok_and(|frame| frame.verify(&KEY));
            assert!(!believed, "bit {bit}");
        }
    }

    #[test]
    fn what_is_no_command_is_refused_by_field() {
        let broken = |at: usize, value: u8| {
            let mut bytes = command();
            bytes[at] = value;
            CommandFrame::parse(&bytes).map(|frame| frame.src())
        };
        let field = |field, value| Err(WireError::Field { what: WHAT, field, value });
        let short = |needed, found| Err(WireError::Truncated { what: WHAT, needed, found });
        assert_eq!(broken(13, 0), field("ethertype", 0x0f00));
        assert_eq!(broken(14, 2), field("version", 2));
        assert_eq!(broken(21, 9), short(71, 70));
        assert_eq!(broken(21, 7), field("match length", 7));
        assert_eq!(broken(20, 0xff), field("match length", 0xff08));
        assert_eq!(CommandFrame::parse(&command()[..61]).map(|f| f.src()), short(62, 61));
    }

    #[test]
    fn a_match_that_is_too_long_is_not_sent() {
        let matching = [0; MATCH_BYTES_MAX + 1];
        let mut buffer = [0; COMMAND_LEN_MAX + 1];
        let long = CommandRepr { matching: &matching, ..COMMAND };
        let refused = EmitError::PayloadTooLong { bytes: 513, bytes_max: 512 };
        assert_eq!(long.emit(SOURCE, &KEY, &mut buffer), Err(refused));
        let longest = CommandRepr { matching: &matching[1..], ..COMMAND };
        assert_eq!(longest.emit(SOURCE, &KEY, &mut buffer), Ok(COMMAND_LEN_MAX));
        let refused = EmitError::BufferTooSmall { needed: 70, given: 69 };
        assert_eq!(COMMAND.emit(SOURCE, &KEY, &mut [0; 69]), Err(refused));
    }

    #[test]
    fn a_number_is_accepted_once_and_not_when_it_is_old() {
        let mut window = ReplayWindow::default();
        let accepted = [5, 3, 5, 3, 4, 68, 4, 5, 6, 0, 70, 69, 200, 137, 136, 137, 200]
            .map(|n| window.accept(n));
        let expected = [1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0].map(|bit| bit == 1);
        assert_eq!(accepted, expected);
    }
}
