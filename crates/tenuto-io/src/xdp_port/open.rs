//! Opening an AF_XDP port: the hook, the socket, and the ways that are tried.

use super::{
    AT_HAND, COMPLETION_FRAMES, RECEIVE_FRAMES, TRANSMIT_FRAMES, XdpMemory, XdpMode, XdpPort,
};
use crate::interface::Interface;
use crate::packet_socket::step;
use crate::sys::bpf::{self, SocketMap, XdpHook};
use crate::sys::socket;
use crate::sys::xdp::{self, Binding, FRAME_BYTES_MAX, RingSizes};
use crate::{LinkState, MonotonicClock, PollSet, PortStatistics};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};
use tenuto_units::{Instant, Span};

/// The one queue that is served.
const QUEUE: u32 = 0;
const SIZES: RingSizes =
    RingSizes { receive: RECEIVE_FRAMES, transmit: TRANSMIT_FRAMES, completion: COMPLETION_FRAMES };
/// Header and two tags.
const OVERHEAD_BYTES: usize = 22;
/// A queue stays busy for some milliseconds after its socket was closed.
const BUSY_PATIENCE: Span = Span::from_ms(500);
const BUSY_PAUSE: Span = Span::from_ms(2);

pub(super) fn open(
    name: &str,
    modes: &[XdpMode],
    memory: Option<&Arc<XdpMemory>>,
) -> io::Result<XdpPort> {
    check(name)?;
    let shared = memory.filter(|memory| memory.has_room());
    let mut reasons = Vec::new();
    for &mode in modes {
        if let Some(memory) = shared {
            match open_with(name, mode, memory) {
                Ok(port) => return Ok(after(port, &reasons)),
                Err(error) => reasons.push(error),
            }
        }
        // Memory that nobody uses yet takes any mode; otherwise its own is tried too.
        if shared.is_none_or(|memory| !memory.sockets().is_empty()) {
            match XdpMemory::new(1).and_then(|memory| open_with(name, mode, &memory)) {
                Ok(port) => return Ok(after(port, &reasons)),
                Err(error) => reasons.push(error),
            }
        }
    }
    let kind = reasons.last().map_or(io::ErrorKind::Unsupported, io::Error::kind);
    let texts: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    Err(io::Error::new(kind, texts.join("; ")))
}

/// A port that was opened after other ways were refused.
fn after(mut port: XdpPort, reasons: &[io::Error]) -> XdpPort {
    port.refusals = reasons.iter().map(ToString::to_string).collect();
    port
}

/// What no way of opening can change.
fn check(name: &str) -> io::Result<()> {
    let interface = Interface::find(name).map_err(step(name, "find it"))?;
    let mtu_bytes = interface.mtu_bytes();
    if mtu_bytes + OVERHEAD_BYTES > FRAME_BYTES_MAX {
        let most = FRAME_BYTES_MAX - OVERHEAD_BYTES;
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "interface {name}: its MTU is {mtu_bytes} B, and a port of kind xdp carries up \
                 to {most} B: ip link set dev {name} mtu {most}, or use packet-ring"
            ),
        ));
    }
    let queues = queues_in_use(name);
    if queues > 1 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "interface {name}: it spreads frames over {queues} receive queues, of which one \
                 is served: ethtool -L {name} combined 1"
            ),
        ));
    }
    Ok(())
}

/// Receive queues in use, as sysfs tells where it shows this namespace; 1 where it does not.
fn queues_in_use(name: &str) -> usize {
    let Ok(entries) = std::fs::read_dir(format!("/sys/class/net/{name}/queues")) else { return 1 };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with("rx-")).count().max(1)
}

fn open_with(name: &str, mode: XdpMode, memory: &Arc<XdpMemory>) -> io::Result<XdpPort> {
    let step = |what| {
        let inner = step(name, what);
        move |error| inner(explain(error, mode))
    };
    let mut interface = Interface::find(name).map_err(step("find it"))?;
    if interface.refresh()? == LinkState::Gone {
        return Err(interface.gone());
    }
    let promiscuous = promiscuous(&interface).map_err(step("enter promiscuous mode"))?;
    // Locked: no other port of this memory joins or leaves meanwhile.
    let mut sockets = memory.sockets();
    let partner = sockets.iter().find_map(Weak::upgrade);
    if partner.is_some() && memory.is_zero_copy() != (mode == XdpMode::NativeZeroCopy) {
        let error = io::Error::other("the shared memory is used in another way");
        return Err(step("share memory")(error));
    }
    let map = SocketMap::new(QUEUE + 1).map_err(step("make a map (CAP_BPF, CAP_NET_ADMIN)"))?;
    let hook = if mode == XdpMode::Generic { XdpHook::Generic } else { XdpHook::Driver };
    let hook =
        bpf::attach_xdp(interface.index(), hook, &map).map_err(step("attach the XDP program"))?;
    let registered = partner.is_none().then_some(&memory.frames);
    let (socket, rings) = xdp::open(registered, &SIZES).map_err(step("make an AF_XDP socket"))?;
    let binding = match &partner {
        Some(partner) => Binding::Shared { with: partner.as_fd() },
        None if mode == XdpMode::NativeZeroCopy => Binding::First { mode: libc::XDP_ZEROCOPY },
        None => Binding::First { mode: libc::XDP_COPY },
    };
    let chunks = memory.frames.chunks();
    let mut port = XdpPort {
        hook: Some(hook),
        socket: Some(Arc::new(socket)),
        rings,
        memory: Arc::clone(memory),
        interface,
        // Until it is bound no device has any of its chunks.
        mode: XdpMode::NativeCopy,
        at_hand: Vec::with_capacity(2 * AT_HAND),
        with_kernel: vec![false; chunks],
        with_kernel_count: 0,
        sending: vec![0; chunks],
        burst_count: 0,
        burst_refused: 0,
        is_full: false,
        latest: Instant::ZERO,
        statistics: PortStatistics::default(),
        idle_calls: 0,
        refusals: Vec::new(),
        _promiscuous: promiscuous,
        offloads: None,
    };
    // Before it is bound: some drivers look once, and ask no more of an empty ring.
    port.refill();
    let bound = bind(port.fd(), port.interface.index(), binding)
        .map_err(step("bind the AF_XDP socket"))
        .and_then(|()| xdp::is_zero_copy(port.fd()).map_err(step("ask for its mode")));
    if let Ok(is_zero_copy) = bound {
        memory.set_zero_copy(is_zero_copy);
        port.mode = if is_zero_copy { XdpMode::NativeZeroCopy } else { mode };
        sockets.extend(port.socket.as_ref().map(Arc::downgrade));
    }
    // In this order: no socket is held by others when the lock is free, which a port takes at its end.
    drop(partner);
    drop(sockets);
    bound?;
    port.wake_receiver();
    // Last: from now on frames come.
    map.set(QUEUE, port.fd()).map_err(step("lead frames to the socket"))?;
    Ok(port)
}

/// Cards drop what is not addressed to them before any program sees it. A packet socket that hears
/// nothing keeps them from it.
fn promiscuous(interface: &Interface) -> io::Result<OwnedFd> {
    let socket = socket::packet_socket()?;
    socket::join_promiscuous(socket.as_fd(), interface.index())?;
    Ok(socket)
}

/// Binds a socket as soon as the queue is free.
fn bind(socket: BorrowedFd<'_>, interface: u32, binding: Binding<'_>) -> io::Result<()> {
    let deadline = MonotonicClock::now() + BUSY_PATIENCE;
    loop {
        match xdp::bind(socket, interface, QUEUE, binding) {
            Err(error)
                if error.raw_os_error() == Some(libc::EBUSY)
                    && MonotonicClock::now() < deadline =>
            {
                // The kernel tells nobody when it is free.
                PollSet::new().wait(Some(MonotonicClock::now() + BUSY_PAUSE))?;
            }
            bound => return bound,
        }
    }
}

/// Adds what helps to reasons that are known.
fn explain(error: io::Error, mode: XdpMode) -> io::Error {
    let help = match error.raw_os_error() {
        Some(libc::EBUSY | libc::EEXIST) => {
            "; another program has this hook or queue, `ip link` shows it as xdp"
        }
        Some(libc::EPERM | libc::EACCES) => {
            "; it needs CAP_NET_ADMIN and CAP_BPF outside of any user namespace"
        }
        // Which of the two is left to drivers.
        Some(libc::EOPNOTSUPP | libc::EINVAL) if mode == XdpMode::NativeZeroCopy => {
            "; its driver has no zero-copy, or none with these settings of the interface"
        }
        Some(libc::ENOBUFS) => "; raise RLIMIT_MEMLOCK (ulimit -l) or run with CAP_IPC_LOCK",
        _ => "",
    };
    io::Error::new(error.kind(), format!("{}: {error}{help}", mode.name()))
}
