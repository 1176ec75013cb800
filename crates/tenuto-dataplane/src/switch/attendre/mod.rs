//! Attendre: packets wait in the switch for the commands that are on their way to it (\[Attendre\]
//! section IV; docs/theory/attendre.md).
//!
//! Buffers stand *over* the tables, not in them: no flow-mod can take one away or be hidden by it
//! for good, entries stay unwritten, and a change of mode moves nothing. A packet that a table
//! would give to an entry of no higher precedence than a matching buffer waits in it, and is looked
//! up again in that table, in order, when the message set is complete.
//!
//! While no buffer is open the pipeline pays one comparison. Opening a buffer allocates, as adding
//! an entry does; keeping and releasing frames does not.

mod buffers;
mod command;
mod commands;
mod release;
mod sets;

pub(super) use buffers::{Asked, KeptBuffer};
pub(super) use command::Command;

use crate::switch::actions::packet::EditSet;
use crate::switch::classifier::hash_key::HashKey;
use crate::switch::classifier::key::{PacketKey, Pattern};
use crate::switch::classifier::table::{ClassifierKind, Table};
use crate::switch::config::AttendreLimits;
use crate::switch::tables::entry::{Behaviour, Entry};
use command::Outgoing;
use sets::Sets;
use std::collections::BTreeMap;
use std::hash::Hash;
use tenuto_openflow::{BufferTotals, Match, Version};
use tenuto_units::{Instant, Span};

/// Broken variants, to show that exploration notices; with feature `mutants` only there is any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AttendreMutant {
    /// As it should be.
    #[default]
    None,
    /// Buffers are released last frame first.
    #[cfg(feature = "mutants")]
    ReleasesOutOfOrder,
    /// A complete message set releases nothing.
    #[cfg(feature = "mutants")]
    ForgetsCompletion,
    /// A command leaves behind its packet instead of ahead of it.
    #[cfg(feature = "mutants")]
    CommandBehindPacket,
    /// A buffer whose time is over drops its frames.
    #[cfg(feature = "mutants")]
    TimeoutDrops,
}

/// Whether this is the broken variant: never without the feature.
macro_rules! is_mutant {
    ($attendre:expr, $variant:ident) => {{
        #[cfg(feature = "mutants")]
        let found = $attendre.mutant == $crate::switch::AttendreMutant::$variant;
        #[cfg(not(feature = "mutants"))]
        let found = false;
        found
    }};
}
pub(super) use is_mutant;

/// The longest time that a buffer waits, whatever a controller says.
const TIMEOUT_MAX: Span = Span::from_s(60);

/// Commands that one frame can carry, over all ports.
const COMMANDS_MAX: usize = 64;

/// State of Attendre.
#[derive(Clone, Debug)]
pub(super) struct Attendre {
    limits: AttendreLimits,
    /// The meter at whose rate buffers are released.
    pub(super) meter: Option<u32>,
    pub(super) timeout: Span,
    buffers: Vec<Option<KeptBuffer>>,
    /// Frames in all buffers.
    frames: usize,
    /// Buffers by what they match, one table over each table that has any.
    over: BTreeMap<u8, Table>,
    hash_key: HashKey,
    sets: Sets,
    /// The number of the next packet-in.
    next_number: u64,
    /// Commands of the packet-out at hand.
    pub(super) listed: Vec<Command>,
    /// Commands that the frame at hand takes along.
    outgoing: Vec<Outgoing>,
    /// Room for changes in the action set of frames that wait, to be used again.
    #[allow(clippy::vec_box)] // they move into frames that wait and back, whole
    spare_edits: Vec<Box<EditSet>>,
    pub(super) totals: BufferTotals,
    #[cfg(feature = "mutants")]
    pub(super) mutant: AttendreMutant,
}

impl Attendre {
    pub(super) fn new(limits: AttendreLimits, hash_key: HashKey) -> Self {
        Self {
            meter: None,
            timeout: limits.timeout,
            buffers: Vec::new(),
            frames: 0,
            over: BTreeMap::new(),
            hash_key,
            sets: Sets::new(limits.sets_max.into()),
            next_number: 1,
            listed: Vec::new(),
            outgoing: Vec::with_capacity(COMMANDS_MAX),
            spare_edits: Vec::new(),
            totals: BufferTotals::default(),
            #[cfg(feature = "mutants")]
            mutant: AttendreMutant::None,
            limits,
        }
    }

    /// Whether any buffer is open.
    pub(super) fn is_keeping(&self) -> bool {
        !self.over.is_empty()
    }

    /// The buffer that a packet waits in instead of being handled by an entry of this precedence.
    /// A packet that is just being released does not wait in the buffer that it came from.
    pub(super) fn keeper(
        &self,
        table: u8,
        precedence: Option<u16>,
        key: &PacketKey,
        left: Option<u16>,
    ) -> Option<u16> {
        let over = self.over.get(&table)?;
        let best = match left {
            None => over.entry(over.look_up(key).0?),
            Some(_) => {
                // In order of precedence; releases are rare enough to look at every buffer.
                let mut entries = over.entries().iter();
                entries.find(|entry| entry.pattern.matches(key) && slot_of(entry) != left)?
            }
        };
        let wins = precedence.is_none_or(|found| best.precedence >= found);
        slot_of(best).filter(|_| wins)
    }

    /// Armed timers: of each buffer, by place.
    pub(super) fn for_each_deadline(&self, mut visit: impl FnMut(u16, Instant)) {
        if self.is_keeping() {
            for (place, buffer) in (0..).zip(&self.buffers) {
                if let Some(buffer) = buffer {
                    visit(place, buffer.until);
                }
            }
        }
    }

    pub(super) fn get(&self, place: u16) -> Option<&KeptBuffer> {
        self.buffers.get(usize::from(place))?.as_ref()
    }

    fn get_mut(&mut self, place: u16) -> Option<&mut KeptBuffer> {
        self.buffers.get_mut(usize::from(place))?.as_mut()
    }

    /// How long buffers opened from now on wait; zero for the switch's own time.
    pub(super) fn set_timeout(&mut self, timeout: Span) {
        self.timeout = match timeout {
            Span::ZERO => self.limits.timeout,
            stated => stated.min(TIMEOUT_MAX),
        };
    }

    /// Buffers and the frames in them.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.buffers.iter().flatten().count(), self.frames)
    }

    /// Buffers in order of table, precedence and pattern.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (u8, &Entry, &KeptBuffer)> {
        let entries = self
            .over
            .iter()
            .flat_map(|(table, over)| over.entries().iter().map(move |entry| (*table, entry)));
        entries.filter_map(|(table, entry)| Some((table, entry, self.get(slot_of(entry)?)?)))
    }

    pub(super) fn is_complete(&self, version: Version) -> bool {
        self.sets.is_complete(version)
    }

    pub(super) fn done(&self, version: Version) -> u16 {
        self.sets.done(version)
    }

    pub(super) const fn sets(&self) -> &impl Hash {
        &self.sets
    }

    pub(super) const fn next_number(&self) -> u64 {
        self.next_number
    }

    /// The place of the buffer with exactly this table, precedence and pattern.
    fn find(&self, table: u8, precedence: u16, pattern: &Pattern) -> Option<u16> {
        let over = self.over.get(&table)?;
        slot_of(over.entry(over.find(pattern, precedence)?))
    }

    /// Puts a new buffer over a table; `None` if there are as many as there may be.
    fn open(
        &mut self,
        table: u8,
        precedence: u16,
        pattern: Pattern,
        buffer: KeptBuffer,
    ) -> Option<u16> {
        let free = self.buffers.iter().position(Option::is_none);
        let place = match free {
            Some(place) => place,
            None if self.buffers.len() < usize::from(self.limits.buffers_max) => {
                self.buffers.push(None);
                self.buffers.len() - 1
            }
            None => return None,
        };
        let number = u16::try_from(place).ok()?;
        self.buffers[place] = Some(buffer);
        let over = self
            .over
            .entry(table)
            .or_insert_with(|| Table::new(ClassifierKind::ByMask, self.hash_key.clone()));
        over.insert(Entry {
            pattern,
            precedence,
            cookie: number.into(),
            flags: 0,
            idle_timeout: 0,
            hard_timeout: 0,
            behaviour: Behaviour::default(),
            version: None,
            matching: Match::ANY,
            instructions: Vec::new(),
        });
        Some(number)
    }

    /// Takes a buffer away, with what is still in it.
    fn close(&mut self, place: u16) -> Option<KeptBuffer> {
        let buffer = self.buffers.get_mut(usize::from(place))?.take()?;
        self.frames -= buffer.frames.len();
        if let Some(over) = self.over.get_mut(&buffer.table) {
            if let Some(slot) = over.find(&buffer.pattern, buffer.precedence) {
                over.remove(slot);
            }
            if over.entries().is_empty() {
                self.over.remove(&buffer.table);
            }
        }
        Some(buffer)
    }
}

/// The buffer that an entry over a table stands for.
fn slot_of(entry: &Entry) -> Option<u16> {
    u16::try_from(entry.cookie).ok()
}
