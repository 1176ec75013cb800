//! The small programs that ports and virtual NICs need inside the kernel, as constant instructions of the BPF
//! machine (RFC 9669), loaded with bpf(2): no compiler and no library is needed for them.

use super::{check, own};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// `enum bpf_cmd`, `bpf_map_type`, `bpf_prog_type` and `bpf_attach_type` of <linux/bpf.h>.
const MAP_CREATE: libc::c_int = 0;
const MAP_LOOK_UP: libc::c_int = 1;
const MAP_UPDATE: libc::c_int = 2;
const PROGRAM_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const MAP_TYPE_CPUMAP: u32 = 16;
const MAP_TYPE_XSKMAP: u32 = 17;
pub(super) const PROGRAM_SCHED_CLS: u32 = 3;
const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
pub(super) const ATTACH_TCX_INGRESS: u32 = 46;
pub(super) const ATTACH_TCX_EGRESS: u32 = 47;
/// `XDP_FLAGS_...` of <linux/if_link.h>: the program runs on the kernel's buffers, or in the driver.
const GENERIC_MODE: u32 = 1 << 1;
const DRIVER_MODE: u32 = 1 << 2;

/// One instruction: opcode, source and destination register, offset, immediate value.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Instruction {
    pub(super) opcode: u8,
    registers: u8,
    pub(super) offset: i16,
    immediate: i32,
}

pub(super) const fn instruction(
    opcode: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
) -> Instruction {
    Instruction { opcode, registers, offset, immediate }
}

const LOAD_WORD: u8 = 0x61;
const LOAD_IMMEDIATE: u8 = 0x18;
const MOVE: u8 = 0xb7;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// Source register that marks the immediate value as the descriptor of a map.
const MAP_DESCRIPTOR: u8 = 0x10;
/// Offset of `rx_queue_index` in `struct xdp_md`.
const QUEUE_AT: i16 = 16;
const XDP_DROP: i32 = 1;
const XDP_PASS: i32 = 2;
const REDIRECT_MAP: i32 = 51;
const TCX_DROP: i32 = 2;

/// `return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_DROP)`: to the socket of the queue; what
/// has none is dropped, for frames of a port are never the kernel's.
fn redirect_program(map: RawFd) -> [Instruction; 6] {
    [
        instruction(LOAD_WORD, 0x12, QUEUE_AT, 0),
        instruction(LOAD_IMMEDIATE, MAP_DESCRIPTOR | 1, 0, map),
        instruction(0, 0, 0, 0),
        instruction(MOVE, 3, 0, XDP_DROP),
        instruction(CALL, 0, 0, REDIRECT_MAP),
        instruction(EXIT, 0, 0, 0),
    ]
}

/// `return TCX_DROP`: packet sockets have their copy before it, the kernel's stack comes after it.
const DROP_PROGRAM: [Instruction; 2] =
    [instruction(MOVE, 0, 0, TCX_DROP), instruction(EXIT, 0, 0, 0)];

#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    program_type: u32,
    instructions_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
    relative: u32,
    padding: u32,
    revision: u64,
}

/// `return bpf_redirect_map(&map, processor, XDP_PASS)`: to the ring of a processor; what finds none there
/// goes on as usual.
fn processor_program(map: RawFd, processor: i32) -> [Instruction; 6] {
    [
        instruction(LOAD_IMMEDIATE, MAP_DESCRIPTOR | 1, 0, map),
        instruction(0, 0, 0, 0),
        instruction(MOVE, 2, 0, processor),
        instruction(MOVE, 3, 0, XDP_PASS),
        instruction(CALL, 0, 0, REDIRECT_MAP),
        instruction(EXIT, 0, 0, 0),
    ]
}

/// Rings by processor, for the program that [`attach_cpumap`] attaches.
pub(crate) struct CpuMap(OwnedFd);

impl CpuMap {
    /// With room for the processors up to `processor`.
    pub(crate) fn new(processor: u32) -> io::Result<Self> {
        make_map(MAP_TYPE_CPUMAP, 4, processor.saturating_add(1)).map(Self)
    }

    /// Makes the ring of a processor, and the thread of the kernel that empties it.
    pub(crate) fn set(&self, processor: u32, ring_frames: u32) -> io::Result<()> {
        let request = MapUpdate {
            map: number(self.0.as_raw_fd()),
            padding: 0,
            key: address(&processor),
            value: address(&ring_frames),
            flags: 0,
        };
        call(MAP_UPDATE, &request)?;
        Ok(())
    }
}

/// Attaches the program that hands every frame to the ring of `processor`, in the driver of an interface,
/// until the link that is returned is closed.
pub(crate) fn attach_cpumap(interface: u32, map: &CpuMap, processor: u32) -> io::Result<OwnedFd> {
    let processor = i32::try_from(processor).map_err(io::Error::other)?;
    let instructions = processor_program(map.0.as_raw_fd(), processor);
    let program = load(PROGRAM_XDP, ATTACH_XDP, &instructions)?;
    link(&program, interface, ATTACH_XDP, DRIVER_MODE)
}

/// Where the XDP program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum XdpHook {
    /// In the driver, before the kernel has made a buffer of the frame.
    Driver,
    /// On the kernel's buffers, with every driver.
    Generic,
}

/// Sockets by queue, for the program that [`attach_xdp`] attaches.
pub(crate) struct SocketMap(OwnedFd);

impl SocketMap {
    pub(crate) fn new(queues: u32) -> io::Result<Self> {
        let entries = queues.max(1);
        let request =
            MapCreate { map_type: MAP_TYPE_XSKMAP, key_bytes: 4, value_bytes: 4, entries };
        make(MAP_CREATE, &request).map(Self)
    }

    /// Frames of `queue` go to `socket` from now on, until it is closed.
    pub(crate) fn set(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        let value = socket.as_raw_fd();
        let request = MapUpdate {
            map: number(self.0.as_raw_fd()),
            padding: 0,
            key: address(&queue),
            value: address(&value),
            flags: 0,
        };
        call(MAP_UPDATE, &request)?;
        Ok(())
    }
}

/// Attaches the redirecting program to an interface, until the link that is returned is closed.
pub(crate) fn attach_xdp(interface: u32, hook: XdpHook, map: &SocketMap) -> io::Result<OwnedFd> {
    let instructions = redirect_program(map.0.as_raw_fd());
    let program = load(PROGRAM_XDP, ATTACH_XDP, &instructions)?;
    let flags = match hook {
        XdpHook::Driver => DRIVER_MODE,
        XdpHook::Generic => GENERIC_MODE,
    };
    link(&program, interface, ATTACH_XDP, flags)
}

/// Keeps what an interface receives from the kernel's own stack, until the link that is returned is
/// closed. Linux 6.6.
pub(crate) fn attach_drop(interface: u32) -> io::Result<OwnedFd> {
    let program = load(PROGRAM_SCHED_CLS, ATTACH_TCX_INGRESS, &DROP_PROGRAM)?;
    link(&program, interface, ATTACH_TCX_INGRESS, 0)
}

/// Whether the redirecting program can be loaded.
pub(crate) fn probe_xdp(map: &SocketMap) -> io::Result<()> {
    load(PROGRAM_XDP, ATTACH_XDP, &redirect_program(map.0.as_raw_fd())).map(drop)
}

/// Whether the dropping program can be loaded.
pub(crate) fn probe_drop() -> io::Result<()> {
    load(PROGRAM_SCHED_CLS, ATTACH_TCX_INGRESS, &DROP_PROGRAM).map(drop)
}

/// Loads a program.
pub(super) fn load(
    program_type: u32,
    attach_type: u32,
    program: &[Instruction],
) -> io::Result<OwnedFd> {
    let license = c"Dual MIT/GPL";
    let mut name = [0; 16];
    name[..6].copy_from_slice(b"tenuto");
    make(
        PROGRAM_LOAD,
        &ProgramLoad {
            program_type,
            instructions_count: u32::try_from(program.len()).expect("a few"),
            instructions: program.as_ptr().expose_provenance() as u64,
            license: license.as_ptr().expose_provenance() as u64,
            log_level: 0,
            log_bytes: 0,
            log: 0,
            kernel_version: 0,
            flags: 0,
            name,
            interface: 0,
            attach_type,
        },
    )
}

/// Attaches a program to an interface, until the link that is returned is closed.
pub(super) fn link(
    program: &OwnedFd,
    interface: u32,
    attach_type: u32,
    flags: u32,
) -> io::Result<OwnedFd> {
    let program = number(program.as_raw_fd());
    let (relative, padding, revision) = (0, 0, 0);
    let request =
        LinkCreate { program, interface, attach_type, flags, relative, padding, revision };
    make(LINK_CREATE, &request)
}

/// A map with keys of four bytes.
pub(super) fn make_map(map_type: u32, value_bytes: u32, entries: u32) -> io::Result<OwnedFd> {
    make(MAP_CREATE, &MapCreate { map_type, key_bytes: 4, value_bytes, entries })
}

/// Reads the value under key 0 of a map whose values are as long as `value`.
pub(super) fn look_up<const N: usize>(map: &OwnedFd, value: &mut [u64; N]) -> io::Result<()> {
    let key = 0_u32;
    let request = MapUpdate {
        map: number(map.as_raw_fd()),
        padding: 0,
        key: address(&key),
        value: std::ptr::from_mut(value).expose_provenance() as u64,
        flags: 0,
    };
    call(MAP_LOOK_UP, &request).map(drop)
}

fn number(fd: RawFd) -> u32 {
    u32::try_from(fd).expect("open descriptors are not negative")
}

fn address<T>(value: &T) -> u64 {
    std::ptr::from_ref(value).expose_provenance() as u64
}

/// A command that makes a descriptor.
fn make<T>(command: libc::c_int, request: &T) -> io::Result<OwnedFd> {
    own(call(command, request)?)
}

fn call<T>(command: libc::c_int, request: &T) -> io::Result<libc::c_int> {
    let request: *const T = request;
    // SAFETY: `request` is the live structure of that command, without hidden padding; the
    // addresses in it are of values that live in the callers' frames and have the lengths that the
    // command takes them for. Only MAP_LOOK_UP writes to one,
    // which `look_up` borrows for that. Needed: std has no bpf(2).
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, request, size_of::<T>()) };
    check(libc::c_int::try_from(result).unwrap_or(-1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_end_and_take_eight_bytes_an_instruction() {
        assert_eq!(size_of::<Instruction>(), 8);
        for program in [&redirect_program(3)[..], &processor_program(3, 1), &DROP_PROGRAM] {
            assert_eq!(program.last().expect("not empty").opcode, EXIT);
        }
    }
}
