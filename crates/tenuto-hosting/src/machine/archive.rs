//! The archive that a guest's kernel unpacks as its root: cpio in the form "newc" (initramfs, Documentation/driver-api/
//! early-userspace/buffer-format.rst of Linux).

use std::io::{self, Write};

/// Types and rights of files, as in `st_mode`.
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const END: &str = "TRAILER!!!";

/// An archive that is being written.
pub(super) struct Archive<W: Write> {
    to: W,
    /// Bytes written, for padding.
    at: u64,
    files: u32,
    names: std::collections::BTreeSet<String>,
    bytes_max: u64,
}

impl<W: Write> Archive<W> {
    /// An archive of at most so many bytes.
    pub(super) fn new(to: W, bytes_max: u64) -> Self {
        Self { to, at: 0, files: 0, names: std::collections::BTreeSet::new(), bytes_max }
    }

    /// Whether a name, without a slash in front, is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// A folder, with those above it; one that is there stays.
    pub(super) fn folder(&mut self, name: &str, rights: u32) -> io::Result<()> {
        if name.is_empty() || self.has(name) {
            return Ok(());
        }
        if let Some((above, _)) = name.rsplit_once('/') {
            self.folder(above, 0o755)?;
        }
        self.entry(name, FOLDER | rights, &[])
    }

    /// A file, with the folders above it; one that is there stays.
    pub(super) fn file(&mut self, name: &str, rights: u32, bytes: &[u8]) -> io::Result<()> {
        self.within(name)?;
        if self.has(name) { Ok(()) } else { self.entry(name, FILE | rights & 0o777, bytes) }
    }

    /// A symbolic link, likewise.
    pub(super) fn link(&mut self, name: &str, to: &str) -> io::Result<()> {
        self.within(name)?;
        if self.has(name) { Ok(()) } else { self.entry(name, LINK | 0o777, to.as_bytes()) }
    }

    fn within(&mut self, name: &str) -> io::Result<()> {
        name.rsplit_once('/').map_or(Ok(()), |(above, _)| self.folder(above, 0o755))
    }

    /// Ends the archive; its bytes.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        self.entry(END, 0, &[])?;
        self.to.flush()?;
        Ok(self.at)
    }

    fn entry(&mut self, name: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        let long =
            |what: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{name}: {what}"));
        let length = u32::try_from(bytes.len()).map_err(|_| long("too long for an archive"))?;
        let name_length = u32::try_from(name.len() + 1).map_err(|_| long("too long a name"))?;
        if self.at + u64::from(length) > self.bytes_max {
            let most = self.bytes_max / 1_000_000;
            return Err(long(&format!("with it the image is larger than {most} MB")));
        }
        self.files += 1;
        // Number, mode, user, group, links, time, size, device twice two, length of the name, no sum.
        let number = if name == END { 0 } else { self.files };
        let fields = [number, mode, 0, 0, 1, 0, length, 0, 0, 0, 0, name_length, 0];
        let fields: String = fields.iter().map(|field| format!("{field:08x}")).collect();
        self.put(format!("070701{fields}{name}\0").as_bytes())?;
        self.pad()?;
        self.put(bytes)?;
        self.pad()?;
        self.names.insert(name.to_owned());
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.to.write_all(bytes)
    }

    fn pad(&mut self) -> io::Result<()> {
        let missing = usize::try_from(self.at.wrapping_neg() % 4).unwrap_or(0);
        self.put(&[0; 3][..missing])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_an_archive() {
        let mut bytes = Vec::new();
        let mut archive = Archive::new(&mut bytes, 1_000_000);
        archive.file("a/b/c", 0o755, b"hello").expect("memory");
        archive.file("a/b/c", 0o755, b"again").expect("it stays");
        archive.link("a/d", "b/c").expect("memory");
        let length = archive.finish().expect("memory");
        assert_eq!(length, bytes.len() as u64);
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("070701").count(), 5, "two folders, a file, a link, the end");
        assert!(text.contains("hello") && !text.contains("again"));
        assert!(text.starts_with("07070100000001000041ed"), "a folder that all may enter");
        assert_eq!(bytes.len() % 4, 0);
    }

    #[test]
    fn an_image_has_a_limit() {
        let mut archive = Archive::new(Vec::new(), 100);
        let error = archive.file("a", 0o644, &[0; 101]).expect_err("too much").to_string();
        assert!(error.contains("a: with it the image is larger"), "{error}");
    }
}
