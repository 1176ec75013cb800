//! The log of decisions: what is in it is in force, and nothing else is.
//!
//! A record is on the medium before anybody is told of it. Reading it again gives the same set, bit for
//! bit. Only the last record can be torn, since each is confirmed before the next is begun:
//! a torn end is cut off and told, damage before it is refused.

mod record;
mod store;

use crate::change::{Settled, carry_out};
use serde::{Deserialize, Serialize};
use std::fmt;
use store::NoStore;
pub use store::{FileStore, Store};
use tenuto_model::Network;

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Entry {
    /// The first: the network file as it was read, and the set with its routes written down.
    Opened {
        /// SHA-256 of the network that the file describes.
        digest: String,
        /// The text of the file: its defaults are those of flows that come.
        file: String,
        /// The set.
        network: Box<Network>,
    },
    /// Changes that were accepted together.
    Accepted(Decision),
}

/// Changes that were accepted together, by whom, and what was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Decision {
    /// Name of the token.
    pub(crate) who: String,
    /// Milliseconds since 1970, for people.
    pub(crate) at_ms: u64,
    /// The changes, in order.
    pub(crate) changes: Vec<Settled>,
    /// Hash of the plan that the set is since.
    pub(crate) plan_hash: String,
    /// Key of the request and SHA-256 of what was asked, if it had one.
    pub(crate) key: Option<(String, String)>,
    /// How long deciding took, microseconds: an answer given again is the same.
    pub(crate) took_us: u64,
    /// The set is that of this decision again: what came since was refused by a switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) undoes_to: Option<u64>,
    /// The network file that the flows come from now: SHA-256 of what it describes, and its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<(String, String)>,
}

/// Why a log is not read.
#[derive(Debug)]
pub enum LogError {
    /// The medium says no.
    Medium(std::io::Error),
    /// A record does not hold, and there are later ones.
    Damaged {
        /// Number of the record.
        number: u64,
        /// Where it begins, bytes.
        at: usize,
        /// Where a later one begins, bytes.
        later: usize,
    },
    /// A record holds, but says what cannot be.
    Foreign {
        /// Number of the record.
        number: u64,
        /// Why.
        why: String,
    },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Medium(error) => write!(f, "the log cannot be read or written: {error}"),
            Self::Damaged { number, at, later } => write!(
                f,
                "record {number} at byte {at} of the log is damaged, and a later one begins at byte {later}: \
                 restore the file from a copy"
            ),
            Self::Foreign { number, why } => {
                write!(f, "record {number} of the log cannot be carried out: {why}")
            }
        }
    }
}

impl std::error::Error for LogError {}

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Digest of the description that the log began with; `None` of an empty log.
    pub digest: Option<String>,
    /// The text of that file.
    pub file: String,
    /// The set in force.
    pub network: Option<Network>,
    /// The set that the log began with.
    first: Option<Network>,
    /// Decisions so far.
    pub(crate) decisions: Vec<Decision>,
    /// Bytes of records that hold.
    pub length: usize,
    /// Bytes behind them, of a record that was not finished.
    pub torn: usize,
}

/// Reads what a log says.
///
/// # Errors
/// Damage before the end, or records that cannot be carried out.
pub fn replay(bytes: &[u8]) -> Result<Replayed, LogError> {
    let mut state = Replayed::default();
    state.read_on(bytes)?;
    Ok(state)
}

impl Replayed {
    /// Reads what comes behind.
    ///
    /// # Errors
    /// As [`replay`].
    pub(crate) fn read_on(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        self.torn = 0;
        let before = self.length;
        while self.length - before < bytes.len() {
            let (number, rest) = (self.records(), &bytes[self.length - before..]);
            let Some((payload, length)) = record::decode(rest, number) else {
                if let Some(later) = record::later(rest, number) {
                    let at = self.length;
                    return Err(LogError::Damaged { number, at, later: at + later });
                }
                self.torn = rest.len();
                break;
            };
            let foreign = |why| LogError::Foreign { number, why };
            let entry: Entry =
                serde_json::from_slice(payload).map_err(|error| foreign(error.to_string()))?;
            self.take(entry).map_err(foreign)?;
            self.length += length;
        }
        Ok(())
    }

    /// How many records there are.
    fn records(&self) -> u64 {
        self.decisions.len() as u64 + u64::from(self.network.is_some())
    }

    fn take(&mut self, entry: Entry) -> Result<(), String> {
        match (entry, &mut self.network) {
            (Entry::Opened { digest, file, network }, empty @ None) => {
                self.first = Some(Network::clone(&network));
                *empty = Some(*network);
                (self.digest, self.file) = (Some(digest), file);
                Ok(())
            }
            (Entry::Opened { .. }, Some(_)) => Err("the log begins twice".to_owned()),
            (Entry::Accepted(decision), Some(network)) => {
                carry_out(network, &decision.changes)?;
                if let Some(to) = decision.undoes_to {
                    *network = set_of(self.first.as_ref(), &self.decisions, to)?;
                }
                if let Some((digest, file)) = &decision.file {
                    (self.digest, self.file) = (Some(digest.clone()), file.clone());
                }
                self.decisions.push(decision);
                Ok(())
            }
            (Entry::Accepted(_), None) => Err("the log has no beginning".to_owned()),
        }
    }
}

/// The set of an earlier decision: what is undone in between counts for nothing.
fn set_of(first: Option<&Network>, decisions: &[Decision], to: u64) -> Result<Network, String> {
    let wrong = || format!("there is no decision {to} to go back to");
    let mut network = first.ok_or_else(wrong)?.clone();
    let count = usize::try_from(to).ok().filter(|count| *count <= decisions.len());
    let mut counted: Vec<Vec<usize>> = vec![Vec::new()];
    for (place, decision) in decisions[..count.ok_or_else(wrong)?].iter().enumerate() {
        let next = match decision.undoes_to {
            Some(to) => {
                let to = usize::try_from(to).ok().and_then(|to| counted.get(to).cloned());
                to.ok_or_else(wrong)?
            }
            None => counted[place].iter().copied().chain([place]).collect(),
        };
        counted.push(next);
    }
    for place in counted.pop().unwrap_or_default() {
        carry_out(&mut network, &decisions[place].changes)?;
    }
    Ok(network)
}

/// A log that is written to.
pub struct Log {
    store: Box<dyn Store>,
    number: u64,
    length: u64,
    /// Why nothing can be written any more.
    broken: Option<String>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Log of {} records", self.number)
    }
}

impl Log {
    /// Reads a store and cuts a torn end off.
    ///
    /// # Errors
    /// As [`replay`], or the medium says no.
    pub fn open(mut store: Box<dyn Store>) -> Result<(Self, Replayed), LogError> {
        let state = replay(&store.load().map_err(LogError::Medium)?)?;
        let length = state.length as u64;
        if state.torn > 0 {
            store.cut(length).map_err(LogError::Medium)?;
        }
        Ok((Self { store, number: state.records(), length, broken: None }, state))
    }

    /// A log that nothing is written to, and why.
    pub(crate) fn closed(why: &str) -> Self {
        let (number, length, broken) = (0, 0, Some(why.to_owned()));
        Self { store: Box::new(NoStore), number, length, broken }
    }

    /// Goes on behind what was read of a store.
    pub(crate) fn behind(store: Box<dyn Store>, read: &Replayed) -> Self {
        let (number, length) = (read.records(), read.length as u64);
        Self { store, number, length, broken: None }
    }

    /// Writes a record; when it returns, the record is on the medium.
    ///
    /// # Errors
    /// Nothing was written, in a sentence. Should what was begun not go away either, nothing is written any more.
    pub(crate) fn append(&mut self, entry: &Entry) -> Result<(), String> {
        if let Some(why) = &self.broken {
            return Err(why.clone());
        }
        let payload = serde_json::to_vec(entry).map_err(|error| error.to_string())?;
        if payload.len() > record::PAYLOAD_BYTES_MAX {
            return Err("the decision is larger than a record may be, 64 MB".to_owned());
        }
        let bytes = record::encode(self.number, &payload);
        if let Err(error) = self.store.append(&bytes) {
            // Whether it is on the medium is not known: it is taken back, or this log is left alone.
            if let Err(second) = self.store.cut(self.length) {
                self.broken = Some(format!("the log broke ({error}; {second}): start again"));
            }
            return Err(format!("the log cannot be written: {error}"));
        }
        self.number += 1;
        self.length += bytes.len() as u64;
        Ok(())
    }
}
