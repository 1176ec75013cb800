//! Buffers for `recvmmsg` and `sendmmsg`, allocated once and never moved.
//!
//! Headers point into the block that holds them, so that a call costs no set-up. The block lives
//! behind a raw pointer, because a `Box` would claim to be the only way to reach it.

use super::check;
use crate::port::{BURST_FRAMES, FRAME_BYTES_LIMIT};
use std::io;
use std::mem::offset_of;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// Room in front of a received frame, into which a stripped VLAN tag can be put back.
pub(crate) const HEADROOM_BYTES: usize = 4;
const SLOT_BYTES: usize = HEADROOM_BYTES + FRAME_BYTES_LIMIT;
/// Words for the ancillary data: stamps (64 B at most) and auxiliary data (40 B), with room to spare.
const CONTROL_WORDS: usize = 16;
const CONTROL_BYTES: usize = CONTROL_WORDS * 8;

/// Memory of one burst; all zeros is a valid value.
struct Block {
    headers: [libc::mmsghdr; BURST_FRAMES],
    vectors: [libc::iovec; BURST_FRAMES],
    control: [[u64; CONTROL_WORDS]; BURST_FRAMES],
    slots: [[u8; SLOT_BYTES]; BURST_FRAMES],
}

/// Owner of a block whose headers point into it.
struct Pinned(NonNull<Block>);

// SAFETY: the block is reached through its one owner only; no thread-bound state is in it.
// Needed: raw pointers are not Send by themselves, and a port may move to its thread.
unsafe impl Send for Pinned {}

impl Pinned {
    /// A block whose message `i` uses vector `i`, which covers slot `i` from `offset` on.
    fn new(offset: usize, control: bool) -> Self {
        // SAFETY: null pointers, zero lengths and zero bytes are valid for every field of `Block`.
        // Needed: the kernel's structures have no constructor.
        let block: Box<Block> = unsafe { Box::new_zeroed().assume_init() };
        let mut pinned = Self(NonNull::from(Box::leak(block)));
        // Addresses only, for the kernel; derived from the block's own pointer, not a reference.
        let base = pinned.0.as_ptr();
        let field = |offset: usize| base.wrapping_byte_add(offset);
        let vectors = field(offset_of!(Block, vectors)).cast::<libc::iovec>();
        let controls = field(offset_of!(Block, control)).cast::<[u64; CONTROL_WORDS]>();
        let slots = field(offset_of!(Block, slots)).cast::<[u8; SLOT_BYTES]>();
        for i in 0..BURST_FRAMES {
            let slot = slots.wrapping_add(i).wrapping_byte_add(offset);
            let block = pinned.get();
            block.vectors[i].iov_base = slot.cast();
            block.vectors[i].iov_len = SLOT_BYTES - offset;
            let header = &mut block.headers[i].msg_hdr;
            header.msg_iov = vectors.wrapping_add(i);
            header.msg_iovlen = 1;
            if control {
                header.msg_control = controls.wrapping_add(i).cast();
                header.msg_controllen = CONTROL_BYTES;
            }
        }
        pinned
    }

    fn get(&mut self) -> &mut Block {
        // SAFETY: the pointer came from a leaked box, is freed in `drop` only, and `&mut self`
        // makes this the only reference. Needed: the block is behind a raw pointer (see above).
        unsafe { self.0.as_mut() }
    }
}

impl Pinned {
    fn look(&self) -> &Block {
        // SAFETY: as in `get`; a shared reference excludes an exclusive one, and the kernel writes
        // there during calls that take an exclusive one. Needed: as there.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a leaked box and is not used again. Needed: to free it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// One received message, still as the kernel delivered it.
pub(crate) struct Message<'a> {
    /// The slot: [`HEADROOM_BYTES`] of room, then the frame, cut to its length.
    pub(crate) slot: &'a mut [u8],
    /// The ancillary data.
    pub(crate) control: &'a [u8],
    /// The frame was longer than its slot.
    pub(crate) truncated: bool,
}

/// Buffers for receiving.
pub(crate) struct ReceiveBurst {
    block: Pinned,
    used: usize,
}

impl ReceiveBurst {
    pub(crate) fn new() -> Self {
        Self { block: Pinned::new(HEADROOM_BYTES, true), used: 0 }
    }

    /// Receives at most `count` messages without blocking.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>, count: usize) -> io::Result<usize> {
        self.receive_with(socket, count, 0)
    }

    /// The same of the socket's errors, among which are frames that have left, with their stamps.
    pub(crate) fn receive_sent(
        &mut self,
        socket: BorrowedFd<'_>,
        count: usize,
    ) -> io::Result<usize> {
        self.receive_with(socket, count, libc::MSG_ERRQUEUE)
    }

    fn receive_with(
        &mut self,
        socket: BorrowedFd<'_>,
        count: usize,
        more: libc::c_int,
    ) -> io::Result<usize> {
        let used = std::mem::take(&mut self.used);
        let block = self.block.get();
        for header in &mut block.headers[..used] {
            header.msg_hdr.msg_controllen = CONTROL_BYTES;
        }
        let count = libc::c_uint::try_from(count.min(BURST_FRAMES)).expect("at most 32");
        let headers = block.headers.as_mut_ptr();
        let (fd, flags) = (socket.as_raw_fd(), libc::MSG_DONTWAIT | more);
        // SAFETY: `headers` has at least `count` entries, each pointing to one vector, one slot
        // and one control area of the same live block; no reference into it is alive meanwhile.
        // Needed: std has no recvmmsg.
        let received = unsafe { libc::recvmmsg(fd, headers, count, flags, std::ptr::null_mut()) };
        self.used = usize::try_from(check(received)?).expect("check() left no negatives");
        Ok(self.used)
    }

    /// The bytes of slot `i` from `start` on, `bytes` of them.
    pub(crate) fn bytes(&self, i: usize, start: usize, bytes: usize) -> &[u8] {
        &self.block.look().slots[i][start..start + bytes]
    }

    /// Message `i` of the last call of [`Self::receive`].
    pub(crate) fn message(&mut self, i: usize) -> Message<'_> {
        assert!(i < self.used, "only received messages can be looked at");
        let block = self.block.get();
        let header = &block.headers[i];
        let frame_bytes = usize::try_from(header.msg_len).unwrap_or(0).min(FRAME_BYTES_LIMIT);
        let control: *const [u64; CONTROL_WORDS] = &raw const block.control[i];
        let control_bytes = header.msg_hdr.msg_controllen.min(CONTROL_BYTES);
        Message {
            slot: &mut block.slots[i][..HEADROOM_BYTES + frame_bytes],
            // SAFETY: the control area has CONTROL_BYTES initialised bytes, of which no more are
            // taken, and it overlaps no other field that is borrowed here. Needed: the area is
            // words, for the kernel's alignment, but is read as bytes.
            control: unsafe { std::slice::from_raw_parts(control.cast(), control_bytes) },
            truncated: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
        }
    }
}

/// Headers for sending frames from where they are, without a copy of our own.
pub(crate) struct Gather {
    headers: Box<[libc::mmsghdr; BURST_FRAMES]>,
    vectors: Box<[libc::iovec; BURST_FRAMES]>,
}

// SAFETY: the pointers inside are written anew for each call, before the kernel reads them, and
// never read by us. Needed: raw pointers are not Send by themselves.
unsafe impl Send for Gather {}

impl Gather {
    pub(crate) fn new() -> Self {
        // SAFETY: null pointers and zero lengths are valid for both. Needed: the kernel's
        // structures have no constructor.
        let headers = unsafe { Box::new_zeroed().assume_init() };
        // SAFETY: as above. Needed: as above.
        let vectors = unsafe { Box::new_zeroed().assume_init() };
        Self { headers, vectors }
    }

    /// Sends up to [`BURST_FRAMES`] frames without blocking; returns how many the kernel took.
    pub(crate) fn send(&mut self, socket: BorrowedFd<'_>, frames: &[&[u8]]) -> io::Result<usize> {
        let frames = &frames[..frames.len().min(BURST_FRAMES)];
        let vectors = self.vectors.as_mut_ptr();
        for (place, frame) in frames.iter().enumerate() {
            // The kernel only reads what is sent.
            let base = frame.as_ptr().cast_mut().cast();
            self.vectors[place] = libc::iovec { iov_base: base, iov_len: frame.len() };
            let header = &mut self.headers[place].msg_hdr;
            header.msg_iov = vectors.wrapping_add(place);
            header.msg_iovlen = 1;
        }
        let count = libc::c_uint::try_from(frames.len()).expect("at most 32");
        let (fd, flags) = (socket.as_raw_fd(), libc::MSG_DONTWAIT);
        let headers = self.headers.as_mut_ptr();
        // SAFETY: `headers` has `count` entries, each pointing to one vector, which covers a frame
        // that is borrowed until after the call. Needed: std has no sendmmsg.
        let sent = unsafe { libc::sendmmsg(fd, headers, count, flags) };
        check(sent).map(|sent| usize::try_from(sent).expect("check() left no negatives"))
    }
}

/// Buffers for sending.
pub(crate) struct SendBurst {
    block: Pinned,
    count: usize,
}

impl SendBurst {
    pub(crate) fn new() -> Self {
        Self { block: Pinned::new(0, false), count: 0 }
    }

    /// Frames in the burst.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Copies a frame of at most [`FRAME_BYTES_LIMIT`] into the burst; `false` when it is full.
    pub(crate) fn push(&mut self, frame: &[u8]) -> bool {
        if self.count == BURST_FRAMES {
            return false;
        }
        let block = self.block.get();
        block.slots[self.count][..frame.len()].copy_from_slice(frame);
        block.vectors[self.count].iov_len = frame.len();
        self.count += 1;
        true
    }

    /// Forgets all frames.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    /// Sends the frames of `range` without blocking; returns how many the kernel took.
    pub(crate) fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        range: Range<usize>,
    ) -> io::Result<usize> {
        assert!(range.end <= self.count, "only frames of the burst can be sent");
        let headers = &mut self.block.get().headers[range];
        let count = libc::c_uint::try_from(headers.len()).expect("at most 32");
        let (fd, flags) = (socket.as_raw_fd(), libc::MSG_DONTWAIT);
        // SAFETY: `headers` has `count` entries, each pointing to one vector, whose slot holds
        // `iov_len` initialised bytes of the same live block. Needed: std has no sendmmsg.
        let sent = unsafe { libc::sendmmsg(fd, headers.as_mut_ptr(), count, flags) };
        check(sent).map(|sent| usize::try_from(sent).expect("check() left no negatives"))
    }
}
