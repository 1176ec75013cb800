//! The memory that AF_XDP ports of one process share with their devices.

use super::{KEPT_FRAMES, RECEIVE_FRAMES};
use crate::sys::xdp::FrameMemory;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Chunks per port: a full receive ring, a full transmit ring, what a device keeps of what it has sent, and
/// what a port keeps at hand.
const CHUNKS_PER_PORT: usize = RECEIVE_FRAMES as usize + 64 + KEPT_FRAMES + 192;

/// Memory for frames, shared by the ports that are opened with it and by their devices, so that a
/// frame that one port received is sent through another without a copy.
///
/// Each chunk is either free (in the pool, or at hand at one port), with a device, or held by who
/// handles its frame and by every port that still sends it.
pub struct XdpMemory {
    pub(super) frames: FrameMemory,
    /// Who holds each chunk; at most 255 ports send the same frame at a time.
    holders: Box<[AtomicU8]>,
    free: Mutex<Vec<u32>>,
    /// Sockets of the ports, any of which lets another one join.
    sockets: Mutex<Vec<Weak<OwnedFd>>>,
    zero_copy: AtomicBool,
}

impl XdpMemory {
    /// Memory for that many ports, about 7 MB each; it stays in place, which needs CAP_IPC_LOCK or
    /// a sufficient RLIMIT_MEMLOCK.
    ///
    /// # Errors
    ///
    /// When there is not so much memory.
    pub fn new(ports: usize) -> io::Result<Arc<Self>> {
        let frames = FrameMemory::new(ports.max(1) * CHUNKS_PER_PORT)?;
        let count = u32::try_from(frames.chunks()).map_err(io::Error::other)?;
        Ok(Arc::new(Self {
            holders: (0..count).map(|_| AtomicU8::new(0)).collect(),
            // Popped from the end: lowest first.
            free: Mutex::new((0..count).rev().collect()),
            sockets: Mutex::new(Vec::new()),
            zero_copy: AtomicBool::new(false),
            frames,
        }))
    }

    /// Whether there is enough for one more port.
    pub fn has_room(&self) -> bool {
        lock(&self.free).len() >= CHUNKS_PER_PORT
    }

    /// Sockets that use this memory; locked while one joins and while one leaves, so that no
    /// socket outlives its port.
    pub(super) fn sockets(&self) -> MutexGuard<'_, Vec<Weak<OwnedFd>>> {
        lock(&self.sockets)
    }

    pub(super) fn is_zero_copy(&self) -> bool {
        self.zero_copy.load(Ordering::Relaxed)
    }

    pub(super) fn set_zero_copy(&self, is: bool) {
        self.zero_copy.store(is, Ordering::Relaxed);
    }

    /// Moves up to `count` chunks from the pool to `target`.
    pub(super) fn take(&self, target: &mut Vec<u32>, count: usize) {
        let mut free = lock(&self.free);
        let left = free.len().saturating_sub(count);
        target.extend(free.drain(left..));
    }

    /// Moves the last `count` chunks of `source` to the pool.
    pub(super) fn give(&self, source: &mut Vec<u32>, count: usize) {
        let left = source.len().saturating_sub(count);
        // The pool was made with room for all.
        lock(&self.free).extend(source.drain(left..));
    }

    /// One more holder of a chunk; `false` when there are as many as can be counted.
    pub(super) fn hold(&self, chunk: u32) -> bool {
        let more = |holders: u8| holders.checked_add(1);
        self.holder(chunk).fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    /// One holder less; `true` when that was the last, to whom the chunk now belongs.
    pub(super) fn let_go(&self, chunk: u32) -> bool {
        self.holder(chunk).fetch_sub(1, Ordering::AcqRel) == 1
    }

    fn holder(&self, chunk: u32) -> &AtomicU8 {
        &self.holders[usize::try_from(chunk).expect("a small number")]
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind the locks is whole between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_wander_between_pool_and_ports() {
        let memory = XdpMemory::new(1).expect("7 MB");
        assert!(memory.has_room());
        let mut own = Vec::new();
        memory.take(&mut own, 3);
        assert_eq!((own.as_slice(), memory.has_room()), (&[2, 1, 0][..], false));
        memory.give(&mut own, 2);
        assert_eq!(own, [2]);
        memory.take(&mut own, usize::MAX);
        assert_eq!((own.len(), lock(&memory.free).len()), (CHUNKS_PER_PORT, 0));
        memory.give(&mut own, usize::MAX);
        assert!(own.is_empty() && memory.has_room());
    }

    #[test]
    fn the_last_holder_of_a_chunk_gets_it() {
        let memory = XdpMemory::new(1).expect("7 MB");
        for _ in 0..255 {
            assert!(memory.hold(7));
        }
        assert!(!memory.hold(7), "no more can be counted");
        for left in (0..255).rev() {
            assert_eq!(memory.let_go(7), left == 0);
        }
    }
}
