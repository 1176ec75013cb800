//! AF_XDP sockets and their four rings (<linux/if_xdp.h>).

use super::mapping::Mapping;
use super::{check, own, socket, socklen_of};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// Frames lie in chunks of this size, at the kernel's headroom of 256 B.
pub(crate) const CHUNK_BYTES: usize = 2_048;
const HEADROOM_BYTES: usize = 256;
/// What a chunk has room for.
pub(crate) const FRAME_BYTES_MAX: usize = CHUNK_BYTES - HEADROOM_BYTES;
/// A bit that means nothing to any kernel: a descriptor with it is skipped.
const SENSELESS_OPTION: u32 = 1 << 31;

/// Memory for frames that ports share with their devices.
pub(crate) struct FrameMemory {
    map: Mapping,
}

impl FrameMemory {
    pub(crate) fn new(chunks: usize) -> io::Result<Self> {
        Ok(Self { map: Mapping::anonymous(chunks * CHUNK_BYTES)? })
    }

    pub(crate) const fn chunks(&self) -> usize {
        self.map.bytes() / CHUNK_BYTES
    }

    /// Where in this memory `frame` lies, if it does.
    pub(crate) fn offset_of(&self, frame: &[u8]) -> Option<u64> {
        let offset = (frame.as_ptr().addr() as u64).checked_sub(self.map.address())?;
        let end = usize::try_from(offset).ok()?.checked_add(frame.len())?;
        (end <= self.map.bytes()).then_some(offset)
    }

    /// The bytes of a received frame; an empty slice where the kernel would point outside.
    ///
    /// The caller holds the chunk: it has taken its descriptor from a receive ring, and gives the
    /// chunk to no fill ring while the slice is in use.
    pub(crate) fn frame(&self, descriptor: Descriptor) -> &[u8] {
        let Some((at, bytes)) = self.within(descriptor) else { return &[] };
        let start = self.map.at(at, bytes).as_ptr();
        // SAFETY: inside one chunk, which the kernel writes only while it is in a fill ring; who
        // holds it does not write to it either while others read. Needed: the memory is shared, so
        // no Rust value lives there.
        unsafe { std::slice::from_raw_parts(start, bytes) }
    }

    /// Has the first bytes of a received frame brought near, from the cache of the processor that wrote
    /// them, while other work goes on.
    pub(crate) fn prefetch(&self, descriptor: Descriptor) {
        let Some((at, bytes)) = self.within(descriptor) else { return };
        super::prefetch(self.map.at(at, bytes).as_ptr());
    }

    /// Copies a frame of at most [`FRAME_BYTES_MAX`] into a chunk that the caller alone holds.
    pub(crate) fn fill(&self, chunk: u32, frame: &[u8]) -> Descriptor {
        assert!(frame.len() <= FRAME_BYTES_MAX, "checked by the port");
        let chunk = usize::try_from(chunk).expect("a small number");
        let at = chunk * CHUNK_BYTES + HEADROOM_BYTES;
        let target = self.map.at(at, frame.len()).as_ptr();
        // SAFETY: inside one chunk that nobody else reads or writes, and `frame` is not in it.
        // Needed: as above.
        unsafe { std::ptr::copy_nonoverlapping(frame.as_ptr(), target, frame.len()) };
        let length = u32::try_from(frame.len()).expect("below a chunk");
        Descriptor(libc::xdp_desc { addr: at as u64, len: length, options: 0 })
    }

    fn within(&self, descriptor: Descriptor) -> Option<(usize, usize)> {
        let at = usize::try_from(descriptor.0.addr).ok()?;
        let bytes = usize::try_from(descriptor.0.len).ok()?;
        let is_inside = at < self.map.bytes() && at % CHUNK_BYTES + bytes <= CHUNK_BYTES;
        is_inside.then_some((at, bytes))
    }

    /// Tells the kernel of this memory, for the first socket that uses it.
    fn register(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let request = libc::xdp_umem_reg {
            addr: self.map.address(),
            len: self.map.bytes() as u64,
            chunk_size: u32::try_from(CHUNK_BYTES).expect("2048"),
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        socket::set_option(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &request)
    }
}

/// Where a frame lies.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Descriptor(libc::xdp_desc);

impl Descriptor {
    /// A frame of `bytes` at `offset` of the memory.
    pub(crate) fn at(offset: u64, bytes: usize) -> Self {
        let len = u32::try_from(bytes).expect("below a chunk");
        Self(libc::xdp_desc { addr: offset, len, options: 0 })
    }

    /// The same, such that the kernel skips it.
    fn senseless() -> Self {
        Self(libc::xdp_desc { addr: 0, len: 0, options: SENSELESS_OPTION })
    }

    pub(crate) fn chunk(self) -> u32 {
        chunk_at(self.0.addr)
    }
}

/// The chunk that `offset` lies in.
pub(crate) fn chunk_at(offset: u64) -> u32 {
    u32::try_from(offset / CHUNK_BYTES as u64).unwrap_or(u32::MAX)
}

/// Offset of the start of a chunk.
pub(crate) fn start_of(chunk: u32) -> u64 {
    u64::from(chunk) * CHUNK_BYTES as u64
}

/// What a ring holds: plain data of the kernel's, of which every bit pattern is a value.
pub(crate) trait Entry: Copy {}
impl Entry for u64 {}
impl Entry for Descriptor {}

/// A ring with one producer and one consumer, one of which is the kernel.
struct Ring<T> {
    map: Mapping,
    producer_at: usize,
    consumer_at: usize,
    flags_at: usize,
    entries_at: usize,
    size: u32,
    entry: PhantomData<T>,
}

impl<T: Entry> Ring<T> {
    /// Maps the ring of `size` entries, a power of two, that the kernel has made.
    fn new(
        socket: BorrowedFd<'_>,
        offsets: &libc::xdp_ring_offset,
        size: u32,
        page_offset: libc::off_t,
    ) -> io::Result<Self> {
        let place = |offset: u64| usize::try_from(offset).map_err(io::Error::other);
        let entries_at = place(offsets.desc)?;
        let bytes = entries_at + usize::try_from(size).expect("small") * size_of::<T>();
        Ok(Self {
            map: Mapping::of_socket(socket, bytes, page_offset)?,
            producer_at: place(offsets.producer)?,
            consumer_at: place(offsets.consumer)?,
            flags_at: place(offsets.flags)?,
            entries_at,
            size,
            entry: PhantomData,
        })
    }

    fn producer(&self) -> &AtomicU32 {
        self.map.word(self.producer_at)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.map.word(self.consumer_at)
    }

    fn wants_wakeup(&self) -> bool {
        self.map.word(self.flags_at).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    fn place(&self, index: u32) -> *mut T {
        let nth = usize::try_from(index & (self.size - 1)).expect("small");
        let at = self.entries_at + nth * size_of::<T>();
        self.map.at(at, size_of::<T>()).as_ptr().cast::<T>()
    }

    fn write(&self, index: u32, entry: T) {
        // SAFETY: inside the ring and aligned as the kernel lays it out; the callers write entries
        // that are the producer's, which is us. Needed: the memory is shared with the kernel.
        unsafe { self.place(index).write(entry) };
    }

    fn read(&self, index: u32) -> T {
        // SAFETY: as above; the callers read entries that the producer has published, and every
        // bit pattern is a valid entry. Needed: as above.
        unsafe { self.place(index).read() }
    }
}

/// A ring that we put entries into: fill, or transmit.
pub(crate) struct ProducerRing<T> {
    ring: Ring<T>,
    /// Where our next entry goes; published by [`Self::publish`].
    next: u32,
}

impl<T: Entry> ProducerRing<T> {
    /// Entries that fit.
    pub(crate) fn room(&self) -> u32 {
        // Acquired, so that we overwrite an entry only after the kernel has read it.
        let consumed = self.ring.consumer().load(Ordering::Acquire);
        self.ring.size - self.next.wrapping_sub(consumed).min(self.ring.size)
    }

    /// Puts an entry into the ring, for which there must be room.
    pub(crate) fn push(&mut self, entry: T) {
        self.ring.write(self.next, entry);
        self.next = self.next.wrapping_add(1);
    }

    /// Shows the kernel what was put in.
    pub(crate) fn publish(&mut self) {
        self.ring.producer().store(self.next, Ordering::Release);
    }

    /// Entries that the kernel has not taken.
    pub(crate) fn waiting(&self) -> u32 {
        self.ring.size - self.room()
    }

    pub(crate) fn wants_wakeup(&self) -> bool {
        self.ring.wants_wakeup()
    }
}

impl ProducerRing<Descriptor> {
    /// Visits what the kernel has not taken, and makes it skip all of it. Only where it looks at
    /// the ring during our own calls, as in copy mode.
    pub(crate) fn spoil(&mut self, mut visit: impl FnMut(Descriptor)) {
        for back in 1..=self.waiting() {
            let index = self.next.wrapping_sub(back);
            visit(self.ring.read(index));
            self.ring.write(index, Descriptor::senseless());
        }
    }
}

impl Descriptor {
    /// Whether it was made to be skipped.
    pub(crate) fn is_senseless(self) -> bool {
        self.0.options == SENSELESS_OPTION
    }
}

/// A ring that we take entries from: receive, or completion.
pub(crate) struct ConsumerRing<T> {
    ring: Ring<T>,
    /// Our next entry; the place is given back by [`Self::release`].
    next: u32,
}

impl<T: Entry> ConsumerRing<T> {
    pub(crate) fn has_entry(&self) -> bool {
        // Acquired, so that the entry and its frame are seen.
        self.ring.producer().load(Ordering::Acquire) != self.next
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        if !self.has_entry() {
            return None;
        }
        let entry = self.ring.read(self.next);
        self.next = self.next.wrapping_add(1);
        Some(entry)
    }

    /// Gives the places of what was taken back to the kernel.
    pub(crate) fn release(&mut self) {
        self.ring.consumer().store(self.next, Ordering::Release);
    }
}

/// The four rings of a socket.
pub(crate) struct Rings {
    pub(crate) fill: ProducerRing<u64>,
    pub(crate) completion: ConsumerRing<u64>,
    pub(crate) receive: ConsumerRing<Descriptor>,
    pub(crate) transmit: ProducerRing<Descriptor>,
}

/// Sizes of the rings, powers of two.
pub(crate) struct RingSizes {
    pub(crate) receive: u32,
    pub(crate) transmit: u32,
    pub(crate) completion: u32,
}

/// An unbound socket with its rings, the first of its memory if `memory` is to be registered.
pub(crate) fn open(
    memory: Option<&FrameMemory>,
    sizes: &RingSizes,
) -> io::Result<(OwnedFd, Rings)> {
    // SAFETY: no pointers are passed. Needed: std has no AF_XDP.
    let fd = own(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
    let socket = fd.as_fd();
    if let Some(memory) = memory {
        memory.register(socket)?;
    }
    let size = |name, size: u32| socket::set_option(socket, libc::SOL_XDP, name, &size);
    size(libc::XDP_UMEM_FILL_RING, sizes.receive)?;
    size(libc::XDP_UMEM_COMPLETION_RING, sizes.completion)?;
    size(libc::XDP_RX_RING, sizes.receive)?;
    size(libc::XDP_TX_RING, sizes.transmit)?;
    let nowhere = libc::xdp_ring_offset { producer: 0, consumer: 0, desc: 0, flags: 0 };
    let offsets = libc::xdp_mmap_offsets { rx: nowhere, tx: nowhere, fr: nowhere, cr: nowhere };
    let offsets = socket::get_option(socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, offsets)?;
    let page = |offset: u64| libc::off_t::try_from(offset).map_err(io::Error::other);
    let fill_page = page(libc::XDP_UMEM_PGOFF_FILL_RING)?;
    let completion_page = page(libc::XDP_UMEM_PGOFF_COMPLETION_RING)?;
    let (receive, transmit) = (sizes.receive, sizes.transmit);
    let fill = Ring::new(socket, &offsets.fr, receive, fill_page)?;
    let completion = Ring::new(socket, &offsets.cr, sizes.completion, completion_page)?;
    let rx = Ring::new(socket, &offsets.rx, receive, libc::XDP_PGOFF_RX_RING)?;
    let tx = Ring::new(socket, &offsets.tx, transmit, libc::XDP_PGOFF_TX_RING)?;
    let rings = Rings {
        fill: ProducerRing { ring: fill, next: 0 },
        completion: ConsumerRing { ring: completion, next: 0 },
        receive: ConsumerRing { ring: rx, next: 0 },
        transmit: ProducerRing { ring: tx, next: 0 },
    };
    Ok((fd, rings))
}

/// How a socket is bound.
#[derive(Clone, Copy)]
pub(crate) enum Binding<'a> {
    /// The first of its memory; `XDP_COPY` or `XDP_ZEROCOPY`.
    First { mode: u16 },
    /// With the memory, and in the way, of another socket.
    Shared { with: BorrowedFd<'a> },
}

/// Binds a socket to one queue of an interface.
pub(crate) fn bind(
    socket: BorrowedFd<'_>,
    interface: u32,
    queue: u32,
    binding: Binding<'_>,
) -> io::Result<()> {
    let (flags, with) = match binding {
        Binding::First { mode } => (mode | libc::XDP_USE_NEED_WAKEUP, 0),
        Binding::Shared { with } => (libc::XDP_SHARED_UMEM, with.as_raw_fd()),
    };
    let address = libc::sockaddr_xdp {
        sxdp_family: u16::try_from(libc::AF_XDP).expect("44"),
        sxdp_flags: flags,
        sxdp_ifindex: interface,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: u32::try_from(with).map_err(io::Error::other)?,
    };
    let length = socklen_of::<libc::sockaddr_xdp>();
    // SAFETY: `address` is a live sockaddr_xdp of `length` bytes. Needed: std binds no AF_XDP.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(())
}

/// Whether a bound socket works without any copy.
pub(crate) fn is_zero_copy(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let options = socket::get_option(socket, libc::SOL_XDP, libc::XDP_OPTIONS, 0_u32)?;
    Ok(options & libc::XDP_OPTIONS_ZEROCOPY != 0)
}

/// Frames that the kernel had for the socket and found no room for.
pub(crate) fn overflows(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let none = libc::xdp_statistics {
        rx_dropped: 0,
        rx_invalid_descs: 0,
        tx_invalid_descs: 0,
        rx_ring_full: 0,
        rx_fill_ring_empty_descs: 0,
        tx_ring_empty_descs: 0,
    };
    let found = socket::get_option(socket, libc::SOL_XDP, libc::XDP_STATISTICS, none)?;
    Ok(found.rx_dropped + found.rx_ring_full)
}

/// Has the kernel look at the transmit ring; in copy mode it sends at most 32 frames a call.
pub(crate) fn kick(socket: BorrowedFd<'_>) -> io::Result<()> {
    let (fd, flags) = (socket.as_raw_fd(), libc::MSG_DONTWAIT);
    let nothing = std::ptr::null();
    // SAFETY: no bytes and no address are passed. Needed: std has no sendto for AF_XDP.
    let sent = unsafe { libc::sendto(fd, nothing, 0, flags, std::ptr::null(), 0) };
    check(libc::c_int::try_from(sent).unwrap_or(-1))?;
    Ok(())
}

/// Has the kernel look at the fill ring.
pub(crate) fn wake_receiver(socket: BorrowedFd<'_>) {
    let (fd, flags) = (socket.as_raw_fd(), libc::MSG_DONTWAIT);
    let (nothing, nobody) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: no room and no address are passed. Needed: std has no recvfrom for AF_XDP. Its
    // outcome says nothing that the rings do not show.
    unsafe { libc::recvfrom(fd, nothing, 0, flags, nobody, std::ptr::null_mut()) };
}
