//! Where the log is kept.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes that are appended to, and are there after a loss of power once that was confirmed.
pub trait Store: Send {
    /// Everything that is there.
    ///
    /// # Errors
    /// Whatever reading says.
    fn load(&mut self) -> io::Result<Vec<u8>>;

    /// Puts bytes behind all others; when it returns, they are on the medium.
    ///
    /// # Errors
    /// Then any part of the bytes may be there, or none.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Takes away what is behind the first `length` bytes.
    ///
    /// # Errors
    /// Whatever writing says.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

/// A file of this machine, for one process at a time.
#[derive(Debug)]
pub struct FileStore {
    file: File,
}

impl FileStore {
    /// Opens the file, makes it if there is none, and keeps every other process out.
    ///
    /// # Errors
    /// The file cannot be had; `WouldBlock` where another process has it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let is_new = !path.exists();
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        file.try_lock().map_err(|error| match error {
            std::fs::TryLockError::WouldBlock => {
                io::Error::new(io::ErrorKind::WouldBlock, "another process has this state open")
            }
            std::fs::TryLockError::Error(error) => error,
        })?;
        if is_new {
            // The name of a file is on the medium only when its folder is.
            let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(Self { file })
    }
}

impl Store for FileStore {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(bytes)?;
        self.file.sync_all()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.sync_all()
    }
}

/// Nothing is kept.
pub(super) struct NoStore;

impl Store for NoStore {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn cut(&mut self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
