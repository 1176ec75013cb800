//! Ports, clocks and namespaces of Linux: the only crate with unsafe code.
//!
//! Owns what touches the kernel: frame ports ([`Port`], opened by kind with [`PortOpener`]), the
//! monotonic clock, waiting for ports, descriptors and nanosecond deadlines ([`PortWait`]), signals
//! as descriptors, namespaces and links of the lab and of tenants, mounts and what a sandbox gives
//! up ([`confine`]), policers and receive paths of virtual NICs, the self-test of the host's own stalls, and the
//! measurement of what forwards frames ([`measure`]). It decides nothing about frames, starts no
//! thread but those of a measurement, and knows no network description. Ports may be served by one
//! thread and used by another ([`RelayPort`]).
//!
//! Unsafe code is denied everywhere but in the private module `sys`, whose functions are safe to
//! call; each of its unsafe blocks states why it is sound and why it is needed.

mod backpressure;
pub mod clock;
pub mod confine;
mod device_clock;
mod frame_fit;
mod host_stack;
mod interface;
mod kernel_threads;
mod link_features;
mod link_watch;
pub mod links;
pub mod measure;
pub mod memory_port;
pub mod mounts;
pub mod namespaces;
mod offloads;
mod open_ports;
mod own_sysfs;
pub mod packet_port;
mod packet_socket;
mod peer_user;
mod policer;
pub mod poll;
pub mod port;
mod port_probe;
mod random;
pub mod realtime;
mod receive_split;
pub mod relay_port;
pub mod ring_port;
pub mod service_probe;
pub mod signals;
mod stamped_port;
pub mod stamped_stream;
#[allow(unsafe_code)]
mod sys;
pub mod tap_port;
mod thread_settings;
mod wait;
pub mod xdp_port;

pub use backpressure::Backpressure;
pub use clock::MonotonicClock;
pub use device_clock::{DeviceClock, device_clock_of, stamps_departures};
pub use host_stack::{HostBarrier, HostStack};
pub use kernel_threads::{KernelSchedule, KernelThread};
pub use link_features::{LinkFeatures, LinkModes, LinkSpeed, Medium, driver_of, link_features};
pub use link_watch::LinkWatch;
pub use memory_port::MemoryPort;
pub use open_ports::{OpenedPort, PortOpener, PortSettings, RING_FRAMES, interface_index};
pub use packet_port::PacketPort;
pub use peer_user::{own_group, own_user, user_of_peer};
pub use policer::{Crossing, NicPolicer, POLICER_DEPTH_NS, RateLimits};
pub use poll::{ADAPTIVE_SPIN, Interest, PollKey, PollSet, Readiness, WaitPolicy};
pub use port::{
    BURST_FRAMES, Capabilities, FRAME_BYTES_LIMIT, FlushReport, Lent, LinkState, Offer, Port,
    PortKind, PortStatistics,
};
pub use port_probe::{probe_host_barrier, probe_port};
pub use random::random_bytes;
pub use receive_split::{DEVICE_RING_FRAMES, ReceiveSplit, Split};
pub use relay_port::{RelayEnd, RelayPort, serve_relays};
pub use ring_port::RingPort;
pub use stamped_port::StampedPort;
pub use stamped_stream::StampedStream;
pub use tap_port::TapPort;
pub use thread_settings::ThreadSettings;
pub use wait::{Look, Pending, PortWait};
pub use xdp_port::{XdpMemory, XdpMode, XdpPort};
