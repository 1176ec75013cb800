//! What an Attendre command carries, and the version of the message set that it announces
//! (\[Attendre\] section IV).

use crate::error::ErrorCode;
use crate::oxm::Match;
use crate::wire::{Reader, Writer};

/// Names a message set. Versions grow: by counter, and with every start of the controller by
/// generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Start of the controller.
    pub generation: u64,
    /// Set of that start.
    pub counter: u64,
}

/// What the next switch on the way shall keep: the content of an Attendre command, and the port
/// ahead of whose first packet it travels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Encap {
    /// The output port.
    pub port: u32,
    /// The message set that the next switch gets.
    pub version: Version,
    /// Messages in it.
    pub messages: u16,
    /// The earliest table that the set changes.
    pub table_id: u8,
    /// The priority of the entry there.
    pub priority: u16,
    /// The match of the entry there.
    pub match_: Match,
}

impl Version {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        Ok(Self { generation: r.u64()?, counter: r.u64()? })
    }

    pub(crate) fn write(self, w: &mut Writer<'_>) {
        w.u64(self.generation);
        w.u64(self.counter);
    }
}

impl Encap {
    /// From behind the subtype of the action to its end.
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let (messages, port, version) = (r.u16()?, r.u32()?, Version::read(r)?);
        let table_id = r.u8()?;
        r.skip(1)?;
        let priority = r.u16()?;
        r.skip(4)?;
        Ok(Self { port, version, messages, table_id, priority, match_: Match::read(r)? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u16(self.messages);
        w.u32(self.port);
        self.version.write(w);
        w.u8(self.table_id);
        w.zeros(1);
        w.u16(self.priority);
        w.zeros(4);
        self.match_.write(w);
    }
}
