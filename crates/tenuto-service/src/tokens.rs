//! Who may do what: bearer tokens, of which only hashes are kept.
//!
//! A line of the file is `ROLE NAME HASH [UNTIL]`: the hash is the SHA-256 of the token in hex, the end in
//! seconds since 1970. The file is read at every request, so that a line that is taken out counts at once. Tokens
//! are drawn at random with 256 bits, so a plain hash does not help whoever reads the file.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What a token allows; each allows what those before it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// To look, and to ask what if.
    Read,
    /// To add, change and remove flows.
    Admit,
    /// To see who did what.
    Administer,
}

impl Role {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Admit => "admit",
            Self::Administer => "administer",
        }
    }

    /// The role of a word.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Read, Self::Admit, Self::Administer].into_iter().find(|role| role.word() == word)
    }
}

/// The tokens of a file.
#[derive(Clone, Debug)]
pub struct Tokens {
    path: PathBuf,
}

impl Tokens {
    /// Those of a file, which need not be there yet.
    pub const fn of(path: PathBuf) -> Self {
        Self { path }
    }

    /// Role and name of a token; `None` if it is not known, or over.
    pub fn role_of(&self, token: &str, now_s: u64) -> Option<(Role, String)> {
        let text = fs::read_to_string(&self.path).ok()?;
        let hash = hash(token);
        let found = text.lines().find_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let (role, name, known) = (words.next()?, words.next()?, words.next()?);
            let until = words.next().map(str::parse::<u64>);
            let is_over = until.is_some_and(|until| until.map_or(true, |until| now_s >= until));
            (known == hash && !is_over).then(|| Some((Role::of(role)?, name.to_owned())))
        });
        found.flatten()
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        fs::read_to_string(&self.path).map_or(true, |text| text.trim().is_empty())
    }

    /// Adds a token.
    ///
    /// # Errors
    /// The file cannot be written, or the name is no single word.
    pub fn add(&self, token: &str, role: Role, name: &str, until_s: Option<u64>) -> io::Result<()> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_word) {
            let why = "a token's name has 1 to 64 letters, digits and - _ . @";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let until = until_s.map_or_else(String::new, |until| format!(" {until}"));
        let line = format!("{} {name} {}{until}\n", role.word(), hash(token));
        let mut options = fs::OpenOptions::new();
        let mut file = options.append(true).create(true).mode(0o600).open(&self.path)?;
        file.write_all(line.as_bytes())?;
        file.sync_all()
    }
}

fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string");
        text
    })
}

/// A token that nobody guesses.
///
/// # Errors
/// The machine has no random source.
pub fn new_token() -> io::Result<String> {
    let mut bytes = [0; 32];
    fs::File::open(Path::new("/dev/urandom"))?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}
