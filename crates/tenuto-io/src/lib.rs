//! Ports, clocks and namespaces of Linux: the only crate with unsafe code.
//!
//! Owns what touches the kernel: frame ports ([`Port`]), the monotonic clock, waiting on
//! descriptors with nanosecond deadlines, signals as descriptors, namespaces and links of the lab,
//! and the self-test of the host's own stalls. It decides nothing about frames, starts no thread
//! and no asynchronous task, and knows no network description.
//!
//! Unsafe code is denied everywhere but in the private module `sys`, whose functions are safe to
//! call; each of its unsafe blocks states why it is sound and why it is needed.

pub mod clock;
mod frame_fit;
mod host_stack;
mod interface;
pub mod link_watch;
pub mod links;
pub mod memory_port;
pub mod namespaces;
mod open_ports;
pub mod packet_port;
mod packet_socket;
pub mod poll;
pub mod port;
pub mod realtime;
pub mod ring_port;
pub mod service_probe;
pub mod signals;
#[allow(unsafe_code)]
mod sys;
pub mod tap_port;
pub mod xdp_port;

pub use clock::MonotonicClock;
pub use host_stack::{HostBarrier, HostStack};
pub use memory_port::MemoryPort;
pub use open_ports::{OpenedPort, PortOpener, PortSettings, RING_FRAMES};
pub use packet_port::PacketPort;
pub use poll::{Interest, PollKey, PollSet, Readiness, WaitPolicy};
pub use port::{
    BURST_FRAMES, Capabilities, FRAME_BYTES_LIMIT, FlushReport, LinkState, Port, PortKind,
    PortStatistics,
};
pub use ring_port::RingPort;
pub use tap_port::TapPort;
pub use xdp_port::{XdpMemory, XdpMode, XdpPort};
