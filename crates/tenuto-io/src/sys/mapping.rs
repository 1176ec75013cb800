//! Memory that is shared with the kernel: mapped once, unmapped with its owner.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// A mapping of this process.
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is unmapped by its one owner.
// Needed: raw pointers are not Send by themselves.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference gives out atomics and pointers only; who turns a pointer into a slice
// says why nobody else writes there. Needed: raw pointers are not Sync by themselves.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` of a socket's ring at `offset`, present from the start.
    pub(crate) fn of_socket(
        socket: BorrowedFd<'_>,
        bytes: usize,
        offset: libc::off_t,
    ) -> io::Result<Self> {
        Self::map(bytes, libc::MAP_SHARED | libc::MAP_POPULATE, socket.as_raw_fd(), offset)
    }

    /// Zeroed memory of this process alone, aligned to pages.
    pub(crate) fn anonymous(bytes: usize) -> io::Result<Self> {
        Self::map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    fn map(
        bytes: usize,
        flags: libc::c_int,
        fd: libc::c_int,
        offset: libc::off_t,
    ) -> io::Result<Self> {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping where the kernel likes overlaps nothing. Needed: std has no mmap.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, flags, fd, offset) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at zero"))?;
        Ok(Self { base, bytes })
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn address(&self) -> u64 {
        self.base.as_ptr().expose_provenance() as u64
    }

    /// Where `bytes` bytes at `offset` begin.
    ///
    /// # Panics
    ///
    /// When they are not inside.
    pub(crate) fn at(&self, offset: usize, bytes: usize) -> NonNull<u8> {
        let end = offset.checked_add(bytes);
        assert!(end.is_some_and(|end| end <= self.bytes), "{bytes} B at {offset} are inside");
        // SAFETY: `offset` is within the mapping, as was just checked. Needed: an address in it.
        unsafe { self.base.add(offset) }
    }

    /// The word at `offset`, which the kernel reads and writes as well.
    ///
    /// # Panics
    ///
    /// When it is not inside, or not aligned.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU32 {
        let word = self.at(offset, size_of::<AtomicU32>());
        assert!(word.as_ptr().addr().is_multiple_of(align_of::<AtomicU32>()), "aligned");
        // SAFETY: inside and aligned, alive as long as `self`; all sides access it atomically.
        // Needed: the memory is the kernel's, so no Rust value lives there.
        unsafe { word.cast::<AtomicU32>().as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length, and reached through `self` only. Needed: std
        // has no munmap. It cannot fail for a whole mapping.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
