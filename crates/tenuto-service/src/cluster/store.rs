//! The log of decisions in a store that several controllers share.
//!
//! It is cut into pieces, since a request to etcd has a limit. Pieces behind the head are nothing yet: the
//! transaction that moves the head makes all of a record count at once. It compares the term of who writes
//! and the revision of the head, so that neither a deposed controller nor a request that comes late changes anything.

use super::kv::{KvError, Op};
use super::register::{Head, Register};
use crate::log::Store;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a piece; etcd takes requests of 1.5 MiB unless told otherwise.
const PIECE_BYTES: usize = 512 << 10;
/// Pieces that are read at once.
const PAGE: u32 = 32;
/// Attempts at one write, so that a store that answers at once and never well is not asked for ever.
const ATTEMPTS_MAX: u32 = 1_000;

/// What is known of a term by those who write in it.
#[derive(Debug)]
pub(crate) struct Tenure {
    pub(crate) generation: u64,
    /// A write had no answer, or somebody else leads: nothing more is written in this term.
    is_over: AtomicBool,
}

impl Tenure {
    pub(crate) fn new(generation: u64) -> Arc<Self> {
        Arc::new(Self { generation, is_over: AtomicBool::new(false) })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

/// Tells attempts apart, within this process and from those of others.
pub(crate) fn nonce() -> String {
    use std::hash::{BuildHasher, RandomState};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let random = RandomState::new();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}{:016x}", random.hash_one(count), random.hash_one(std::process::id()))
}

/// A log that is read, and as far as it has been.
#[derive(Clone)]
pub(crate) struct LogReader {
    register: Register,
    pub(crate) head: Head,
    pub(crate) head_revision: u64,
    sizes: Vec<u64>,
}

impl LogReader {
    pub(crate) const fn new(register: Register) -> Self {
        Self {
            register,
            head: Head { pieces: 0, bytes: 0, cuts: 0, nonce: String::new() },
            head_revision: 0,
            sizes: Vec::new(),
        }
    }

    /// What has come since it was read last. `false` where something was taken away meanwhile: then it is all that there is.
    ///
    /// # Errors
    /// Nobody answers, or what is there is not a log. Then nothing counts as read.
    pub(crate) fn read_on(&mut self) -> Result<(bool, Vec<u8>), KvError> {
        let mut further = self.clone();
        let read = further.read_pages()?;
        *self = further;
        Ok(read)
    }

    fn read_pages(&mut self) -> Result<(bool, Vec<u8>), KvError> {
        let (mut goes_on, mut bytes) = (true, Vec::new());
        loop {
            let from = self.sizes.len() as u64;
            let pages = [
                Op::Get(self.register.head_key()),
                Op::GetRange(self.register.piece(from), self.register.piece(u64::MAX), PAGE),
            ];
            let done = self.register.kv.transact(&[], &pages, &[])?;
            let (revision, head) = match done.one(0) {
                Some(it) => {
                    let head: Head = serde_json::from_slice(&it.value)
                        .map_err(|error| KvError::Refused(format!("{}: {error}", it.key)))?;
                    (it.revision, head)
                }
                None => (0, Head::default()),
            };
            if head.cuts != self.head.cuts || head.pieces < from {
                *self = Self::new(self.register.clone());
                self.head.cuts = head.cuts;
                (goes_on, bytes) = (false, Vec::new());
                continue;
            }
            let counts = head.pieces - from;
            let page = done.found.get(1).map_or(&[][..], Vec::as_slice);
            for (found, number) in page.iter().zip(from..head.pieces) {
                if found.key != self.register.piece(number) {
                    let why = format!("{} of the log is missing", self.register.piece(number));
                    return Err(KvError::Refused(why));
                }
                bytes.extend(&found.value);
                self.sizes.push(found.value.len() as u64);
            }
            (self.head, self.head_revision) = (head, revision);
            if counts <= page.len() as u64 {
                let length = self.sizes.iter().sum::<u64>();
                return match length == self.head.bytes {
                    true => Ok((goes_on, bytes)),
                    false => Err(KvError::Refused(format!(
                        "the log has {length} B in {}, and its head says {}",
                        self.register.head_key(),
                        self.head.bytes
                    ))),
                };
            }
            if page.is_empty() {
                return Err(KvError::Refused(format!(
                    "{} of the log is missing",
                    self.register.piece(from)
                )));
            }
        }
    }
}

/// The log as who leads writes it.
pub(crate) struct ClusterStore {
    reader: LogReader,
    /// The same keys, where nobody is waited for as long as for a reading.
    register: Register,
    tenure: Arc<Tenure>,
    /// A write is tried for so long.
    patience: Duration,
}

impl ClusterStore {
    pub(crate) const fn new(
        reader: LogReader,
        register: Register,
        tenure: Arc<Tenure>,
        patience: Duration,
    ) -> Self {
        Self { reader, register, tenure, patience }
    }

    /// Carries `puts` out and moves the head, once: while nobody answers it is tried again, and an attempt that was carried out
    /// without an answer is told by its nonce.
    fn write(&mut self, puts: Vec<Op>, head: &Head) -> io::Result<()> {
        if self.tenure.is_over() {
            return Err(io::Error::other("this controller does not lead any more"));
        }
        let register = &self.register;
        let mut compares = vec![register.is_term(self.tenure.generation)];
        compares
            .push(super::kv::Is { key: register.head_key(), revision: self.reader.head_revision });
        let value = serde_json::to_vec(head).expect("numbers and a text");
        let mut then = puts;
        then.push(Op::Put(register.head_key(), value));
        let otherwise = [register.is_term(0).key, register.head_key()].map(Op::Get);
        let began = Instant::now();
        let (mut may_be_there, mut attempts) = (false, 0);
        loop {
            attempts += 1;
            match register.kv.transact(&compares, &then, &otherwise) {
                Ok(done) if done.is_so => {
                    (self.reader.head, self.reader.head_revision) = (head.clone(), done.revision);
                    return Ok(());
                }
                Ok(done) => {
                    let found = done.one(1).map(|it| {
                        let head = serde_json::from_slice::<Head>(&it.value);
                        (it.revision, head.map(|it| it.nonce).unwrap_or_default())
                    });
                    if let Some((revision, nonce)) = found
                        && nonce == head.nonce
                    {
                        (self.reader.head, self.reader.head_revision) = (head.clone(), revision);
                        // Written in this term: whoever leads by now has read it.
                        return Ok(());
                    }
                    self.tenure.end();
                    let why = match may_be_there {
                        false => "another controller leads: nothing was written",
                        true => {
                            "another controller leads, and whether this was written before is to be read there"
                        }
                    };
                    return Err(io::Error::other(why));
                }
                Err(KvError::Refused(why)) if !may_be_there => return Err(io::Error::other(why)),
                Err(error) => {
                    may_be_there = true;
                    if began.elapsed() >= self.patience || attempts >= ATTEMPTS_MAX {
                        // It may still be carried out: the next term begins by reading.
                        self.tenure.end();
                        return Err(io::Error::new(io::ErrorKind::TimedOut, error.to_string()));
                    }
                }
            }
        }
    }
}

impl Store for ClusterStore {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        self.reader = LogReader::new(self.reader.register.clone());
        let read = self.reader.read_on().map_err(|error| io::Error::other(error.to_string()))?;
        Ok(read.1)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let first = self.reader.head.pieces;
        let chunks: Vec<&[u8]> = bytes.chunks(PIECE_BYTES).collect();
        let (last, before) = match chunks.split_last() {
            Some((last, before)) => (*last, before),
            None => return Ok(()),
        };
        // These are behind the head, and count for nothing until it moves. Each moves its revision, so that an
        // attempt that comes late finds another one.
        for (chunk, number) in before.iter().zip(first..) {
            let head = Head { nonce: nonce(), ..self.reader.head.clone() };
            self.write(vec![Op::Put(self.reader.register.piece(number), chunk.to_vec())], &head)?;
        }
        let head = Head {
            pieces: first + chunks.len() as u64,
            bytes: self.reader.head.bytes + bytes.len() as u64,
            cuts: self.reader.head.cuts,
            nonce: nonce(),
        };
        let place = self.reader.register.piece(head.pieces - 1);
        self.write(vec![Op::Put(place, last.to_vec())], &head)?;
        self.reader.sizes.extend(chunks.iter().map(|it| it.len() as u64));
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        if length >= self.reader.head.bytes {
            return match self.tenure.is_over() {
                // What was tried last may yet be there.
                true => Err(io::Error::other("this controller does not lead any more")),
                false => Ok(()),
            };
        }
        let (mut pieces, mut kept) = (0, 0);
        while kept + self.reader.sizes[pieces] <= length {
            kept += self.reader.sizes[pieces];
            pieces += 1;
        }
        let mut puts = Vec::new();
        let rest = length - kept;
        if rest > 0 {
            let key = self.reader.register.piece(pieces as u64);
            let read = self.reader.register.kv.transact(&[], &[Op::Get(key.clone())], &[]);
            let read = read.map_err(|error| io::Error::other(error.to_string()))?;
            let found =
                read.one(0).ok_or_else(|| io::Error::other("a piece of the log is missing"))?;
            let rest = usize::try_from(rest).unwrap_or(usize::MAX).min(found.value.len());
            puts.push(Op::Put(key, found.value[..rest].to_vec()));
        }
        let head = Head {
            pieces: (pieces + puts.len()) as u64,
            bytes: length,
            cuts: self.reader.head.cuts + 1,
            nonce: nonce(),
        };
        self.write(puts, &head)?;
        self.reader.sizes.truncate(pieces);
        self.reader.sizes.extend((rest > 0).then_some(rest));
        Ok(())
    }
}
