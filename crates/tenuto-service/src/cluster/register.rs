//! What controllers of one network share: who leads, a sign of life of it, and the head of the log.
//!
//! ```text
//!  PREFIX/term    who leads; its revision is the generation id: it is written by taking over, and by nothing else
//!  PREFIX/beat    changed by who leads for as long as it does
//!  PREFIX/head    how many pieces the log has, and bytes
//!  PREFIX/log/N   the pieces
//! ```
//!
//! Whoever writes compares the revision of `term` in the same transaction, so one that was deposed cannot write,
//! whatever it believes. No lease of etcd is used: the least that one may have is two seconds, and a lease alone
//! keeps nobody from writing who has been asleep.

use super::kv::{Done, Found, Is, Kv, KvError, Op};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Who leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Leader {
    /// Where it is spoken to.
    pub(crate) api: String,
    /// Tells one attempt to lead from every other.
    pub(crate) nonce: String,
}

/// A term of somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) generation: u64,
    pub(crate) leader: Leader,
}

/// Where the log ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) pieces: u64,
    pub(crate) bytes: u64,
    /// How often something was taken away: what was read before may be gone then.
    pub(crate) cuts: u64,
    /// Tells one attempt to write from every other.
    pub(crate) nonce: String,
}

/// What is seen of all that at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) term: Option<Term>,
    /// Revision of the sign of life; 0 without one.
    pub(crate) beat: u64,
    /// Who leads says that it leaves.
    pub(crate) is_leaving: bool,
    /// The head and its revision.
    pub(crate) head: (u64, Head),
}

impl Look {
    /// The generation of who leads; 0 of nobody.
    pub(crate) fn generation(&self) -> u64 {
        self.term.as_ref().map_or(0, |it| it.generation)
    }
}

/// The keys of one network.
#[derive(Clone)]
pub(crate) struct Register {
    pub(super) kv: Arc<dyn Kv>,
    prefix: String,
}

const LEAVING: &[u8] = b"leaving";
const HERE: &[u8] = b"here";

fn of_json<T: for<'a> Deserialize<'a>>(found: &Found) -> Result<T, KvError> {
    serde_json::from_slice(&found.value)
        .map_err(|error| KvError::Refused(format!("{} is not of a controller: {error}", found.key)))
}

impl Register {
    pub(crate) fn new(kv: Arc<dyn Kv>, prefix: &str) -> Self {
        Self { kv, prefix: prefix.to_owned() }
    }

    fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix)
    }

    /// The key of a piece; they are in order.
    pub(super) fn piece(&self, number: u64) -> String {
        format!("{}/log/{number:016x}", self.prefix)
    }

    pub(super) fn head_key(&self) -> String {
        self.key("head")
    }

    /// That somebody's term is not over.
    pub(super) fn is_term(&self, generation: u64) -> Is {
        Is { key: self.key("term"), revision: generation }
    }

    fn all(&self) -> [Op; 3] {
        ["term", "beat", "head"].map(|it| Op::Get(self.key(it)))
    }

    pub(super) fn looked(done: &Done) -> Result<Look, KvError> {
        let term = done.one(0).map(|it| {
            let leader = of_json(it)?;
            Ok(Term { generation: it.revision, leader })
        });
        let head = match done.one(2) {
            Some(it) => (it.revision, of_json(it)?),
            None => (0, Head::default()),
        };
        let (beat, is_leaving) =
            done.one(1).map_or((0, false), |it| (it.revision, it.value == LEAVING));
        Ok(Look { term: term.transpose()?, beat, is_leaving, head })
    }

    /// What is so now.
    ///
    /// # Errors
    /// Nobody answers, or the keys are of something else.
    pub(crate) fn look(&self) -> Result<Look, KvError> {
        Self::looked(&self.kv.transact(&[], &self.all(), &[])?)
    }

    /// Takes over, if nobody has since `seen` and who led gave no sign of life: the generation, or `None` where somebody did.
    ///
    /// # Errors
    /// Nobody answers: the term may have begun all the same, and [`Register::look`] tells it by the nonce.
    pub(crate) fn claim(&self, seen: &Look, leader: &Leader) -> Result<Option<u64>, KvError> {
        let compares =
            [self.is_term(seen.generation()), Is { key: self.key("beat"), revision: seen.beat }];
        let value = serde_json::to_vec(leader).expect("texts");
        let then = [Op::Put(self.key("term"), value), Op::Put(self.key("beat"), HERE.to_vec())];
        let done = self.kv.transact(&compares, &then, &self.all())?;
        if done.is_so {
            return Ok(Some(done.revision));
        }
        // An attempt before this one may have had no answer.
        let term = Self::looked(&done)?.term.filter(|it| it.leader.nonce == leader.nonce);
        Ok(term.map(|it| it.generation))
    }

    /// Gives a sign of life, or the last one: whether the term goes on, and the head of the log.
    ///
    /// # Errors
    /// Nobody answers.
    pub(crate) fn beat(&self, generation: u64, is_leaving: bool) -> Result<bool, KvError> {
        let value = if is_leaving { LEAVING } else { HERE };
        let put = [Op::Put(self.key("beat"), value.to_vec())];
        Ok(self.kv.transact(&[self.is_term(generation)], &put, &[])?.is_so)
    }
}
