//! What is asked of a store that several controllers share: transactions over keys that have revisions.
//!
//! It is etcd's model, and no more of it than is used. Tests play it with lost and late answers.

use std::fmt;

/// Why a transaction has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KvError {
    /// Nobody answered in time: it was carried out, will be, or never is.
    Unanswered(String),
    /// It was refused, and changed nothing.
    Refused(String),
}

impl fmt::Display for KvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswered(why) => write!(f, "etcd does not answer: {why}"),
            Self::Refused(why) => write!(f, "etcd refuses: {why}"),
        }
    }
}

/// A key was last changed at this revision; 0 where it is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Is {
    pub(crate) key: String,
    pub(crate) revision: u64,
}

/// What a transaction does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Gives a key a value.
    Put(String, Vec<u8>),
    /// Reads a key.
    Get(String),
    /// Reads keys from the first on, before the second, and no more than so many.
    GetRange(String, String, u32),
}

/// A key that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) key: String,
    pub(crate) value: Vec<u8>,
    /// At which it was last changed.
    pub(crate) revision: u64,
}

/// What came of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// Whether all that was compared was so: then the first list was carried out, else the second.
    pub(crate) is_so: bool,
    /// The revision of the store then; of what was put, if anything was.
    pub(crate) revision: u64,
    /// What was read, by operation that reads.
    pub(crate) found: Vec<Vec<Found>>,
}

impl Done {
    /// The key that the `place`-th reading found.
    pub(crate) fn one(&self, place: usize) -> Option<&Found> {
        self.found.get(place)?.first()
    }
}

/// Keys with revisions, linearizable.
pub(crate) trait Kv: Send + Sync {
    /// Carries out `then` if all of `compares` is so, else `otherwise`: one attempt, which is over in a time that the store sets.
    ///
    /// # Errors
    /// Nobody answered, or it was refused.
    fn transact(&self, compares: &[Is], then: &[Op], otherwise: &[Op]) -> Result<Done, KvError>;
}
