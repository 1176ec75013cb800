//! The receive ring of a packet socket: TPACKET_V2 of <linux/if_packet.h>.
//!
//! Never TPACKET_V3: it hands over blocks of frames, after a timer of a millisecond.

use super::mapping::Mapping;
use super::socket;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

/// Room in front of a received frame, into which a stripped VLAN tag can be put back.
pub(crate) const HEADROOM_BYTES: usize = 4;
/// Blocks are allocated each in one piece; 64 kB are to be had on any machine.
const BLOCK_BYTES: usize = 1 << 16;
/// Header, address and alignment in front of a frame, with room to spare.
const OVERHEAD_BYTES: usize = 96;
const SLOT_BYTES_MIN: usize = 256;
/// `enum tpacket_versions`.
const TPACKET_V2: libc::c_int = 1;
/// `struct tpacket2_hdr`.
const HEADER_BYTES: usize = size_of::<libc::tpacket2_hdr>();

/// A ring that the kernel fills with received frames.
///
/// A slot is the kernel's, or *taken*: ours from [`Self::take`] until [`Self::release`].
pub(crate) struct ReceiveRing {
    map: Mapping,
    slot_bytes: usize,
    slots: usize,
    /// The slot that is taken next, and its number.
    next: usize,
    number: usize,
    /// Slots that are taken: those in front of `next`.
    taken: usize,
}

/// One received frame, still in its slot.
#[derive(Clone, Copy, Default)]
pub(crate) struct RingFrame {
    /// Which slot, counted from the start of the ring's life.
    number: usize,
    /// Where in the ring its bytes lie, [`HEADROOM_BYTES`] of room in front.
    from: usize,
    bytes: usize,
    /// The frame's own length, which may be more than the slot holds.
    pub(crate) frame_bytes: usize,
    /// `TP_STATUS_...`.
    pub(crate) status: u32,
    /// When it entered the kernel, in CLOCK_REALTIME.
    pub(crate) stamp_realtime_ns: u64,
    /// Control word and EtherType of a tag that the kernel took off, if the status says so.
    pub(crate) vlan: (u16, u16),
}

impl RingFrame {
    /// [`HEADROOM_BYTES`] of room, and what the slot holds of the frame.
    pub(crate) const fn slot_bytes(&self) -> usize {
        self.bytes
    }
}

impl ReceiveRing {
    /// Gives an unbound packet socket a ring of at least `frames` slots for frames of up to
    /// `frame_bytes`.
    pub(crate) fn new(
        socket: BorrowedFd<'_>,
        frames: usize,
        frame_bytes: usize,
    ) -> io::Result<Self> {
        let slot_bytes = (frame_bytes + OVERHEAD_BYTES).next_power_of_two();
        let slot_bytes = slot_bytes.clamp(SLOT_BYTES_MIN, BLOCK_BYTES);
        let blocks = (frames * slot_bytes).div_ceil(BLOCK_BYTES).max(1);
        let slots = blocks * (BLOCK_BYTES / slot_bytes);
        let small = |value: usize| libc::c_uint::try_from(value).map_err(io::Error::other);
        let packet = |name, value| socket::set_int(socket, libc::SOL_PACKET, name, value);
        packet(libc::PACKET_VERSION, TPACKET_V2)?;
        packet(libc::PACKET_RESERVE, libc::c_int::try_from(HEADROOM_BYTES).expect("4"))?;
        let request = libc::tpacket_req {
            tp_block_size: small(BLOCK_BYTES)?,
            tp_block_nr: small(blocks)?,
            tp_frame_size: small(slot_bytes)?,
            tp_frame_nr: small(slots)?,
        };
        socket::set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let map = Mapping::of_socket(socket, blocks * BLOCK_BYTES, 0)?;
        Ok(Self { map, slot_bytes, slots, next: 0, number: 0, taken: 0 })
    }

    pub(crate) const fn slots(&self) -> usize {
        self.slots
    }

    fn status(&self) -> u32 {
        // The status is the first word of a slot; acquired, so that what the kernel wrote before
        // it is seen.
        self.map.word(self.next * self.slot_bytes).load(Ordering::Acquire)
    }

    /// Whether a frame waits.
    pub(crate) fn has_frame(&self) -> bool {
        self.taken < self.slots && self.status() & libc::TP_STATUS_USER != 0
    }

    /// Takes the next frame, if one waits.
    pub(crate) fn take(&mut self) -> Option<RingFrame> {
        // All of them taken: the next one is the first of ours, whose status says nothing new.
        if self.taken == self.slots {
            return None;
        }
        let status = self.status();
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let start = self.next * self.slot_bytes;
        let header = self.map.at(start, HEADER_BYTES).cast::<libc::tpacket2_hdr>();
        // SAFETY: inside the ring, aligned as slots are, and ours until released: the kernel
        // writes no slot whose status says USER. Every bit pattern is a valid header. Needed: the
        // memory is shared, so no Rust value lives there.
        let header = unsafe { header.read() };
        // What the kernel says is held against the slot: nothing outside of it is touched.
        let wide = |value: u32| usize::try_from(value).unwrap_or(0);
        let first =
            usize::from(header.tp_mac).clamp(HEADER_BYTES + HEADROOM_BYTES, self.slot_bytes);
        let held = wide(header.tp_snaplen).min(self.slot_bytes - first);
        // Another processor has just written it, and clocks are read before it is looked at.
        super::prefetch(self.map.at(start + first, held).as_ptr());
        let frame = RingFrame {
            number: self.number,
            from: start + first - HEADROOM_BYTES,
            bytes: HEADROOM_BYTES + held,
            frame_bytes: wide(header.tp_len),
            status,
            stamp_realtime_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
            vlan: (header.tp_vlan_tci, header.tp_vlan_tpid),
        };
        self.number = self.number.wrapping_add(1);
        self.next = if self.next + 1 == self.slots { 0 } else { self.next + 1 };
        self.taken += 1;
        Some(frame)
    }

    /// The bytes of a frame whose slot is taken.
    ///
    /// # Panics
    ///
    /// When it is released already.
    pub(crate) fn slot(&self, frame: &RingFrame) -> &[u8] {
        let start = self.place(frame);
        // SAFETY: inside the ring, apart from the status word, and ours until released, which the
        // shared borrow of `self` puts off. Needed: the memory is shared with the kernel.
        unsafe { std::slice::from_raw_parts(start, frame.bytes) }
    }

    /// The same, to be changed.
    ///
    /// # Panics
    ///
    /// As above.
    pub(crate) fn slot_mut(&mut self, frame: &RingFrame) -> &mut [u8] {
        let start = self.place(frame);
        // SAFETY: as above, and the exclusive borrow of `self` keeps every other reference off.
        // Needed: as above.
        unsafe { std::slice::from_raw_parts_mut(start, frame.bytes) }
    }

    fn place(&self, frame: &RingFrame) -> *mut u8 {
        let age = self.number.wrapping_sub(frame.number);
        assert!((1..=self.taken).contains(&age), "its slot is taken");
        self.map.at(frame.from, frame.bytes).as_ptr()
    }

    /// Gives every taken slot back to the kernel.
    pub(crate) fn release(&mut self) {
        let mut slot = (self.next + self.slots - self.taken) % self.slots;
        for _ in 0..std::mem::take(&mut self.taken) {
            let word = self.map.word(slot * self.slot_bytes);
            // Released, so that the kernel writes there only after we have read.
            word.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            slot = if slot + 1 == self.slots { 0 } else { slot + 1 };
        }
    }
}
