//! Opening the ports of a node by kind and interface.

use crate::interface::Interface;
use crate::links::LinkName;
use crate::offloads::OffloadsOff;
use crate::{
    HostBarrier, HostStack, PacketPort, Port, PortKind, RingPort, TapPort, XdpMemory, XdpMode,
    XdpPort,
};
use std::io;
use std::sync::Arc;

/// Frames that wait in a receive ring before one is lost, unless said otherwise: 8 MB a port.
pub const RING_FRAMES: usize = 4_096;

/// What carries the frames of a node's ports, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// The kind; `None` for `packet-ring`, and `packet` where there is no memory for a ring.
    pub kind: Option<PortKind>,
    /// Who else gets the frames, for ports on AF_PACKET.
    pub host_stack: HostStack,
    /// Frames that wait in the ring of a `packet-ring` port.
    pub ring_frames: usize,
    /// Ways of AF_XDP, in the order in which they are tried.
    pub xdp_modes: Vec<XdpMode>,
    /// Switch the offloads of the interfaces off while their ports are open, so that every frame is as it was on
    /// the wire.
    pub offloads_off: bool,
}

impl Default for PortSettings {
    fn default() -> Self {
        Self {
            kind: None,
            host_stack: HostStack::default(),
            ring_frames: RING_FRAMES,
            xdp_modes: XdpMode::ALL.to_vec(),
            offloads_off: true,
        }
    }
}

/// A port, and what is less than was wished.
pub struct OpenedPort {
    /// The port.
    pub port: Box<dyn Port + Send>,
    /// For the user, each a sentence.
    pub notes: Vec<String>,
}

/// Index of the interface that has this name in the present network namespace, if there is one.
pub fn interface_index(name: &str) -> Option<u32> {
    Interface::find(name).ok().map(|found| found.index())
}

/// Opens the ports of one node.
///
/// Ports of kind `xdp` share their memory, so that frames pass from one to another without a copy.
pub struct PortOpener {
    settings: PortSettings,
    ports: usize,
    memory: Option<Arc<XdpMemory>>,
}

impl PortOpener {
    /// For a node with that many ports.
    pub fn new(settings: PortSettings, ports: usize) -> Self {
        Self { settings, ports, memory: None }
    }

    /// Opens the interface `name` of the present network namespace.
    ///
    /// # Errors
    ///
    /// As those of the kind; `memory` ports are not opened by name (see
    /// [`crate::MemoryPort::pair`]).
    pub fn open(&mut self, name: &str) -> io::Result<OpenedPort> {
        let mut notes = Vec::new();
        let port: Box<dyn Port + Send> = match self.settings.kind {
            None => match self.ring(name, &mut notes) {
                Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                    notes.push(format!("{name}: {error}: received without a ring"));
                    self.packet(name, &mut notes)?
                }
                port => port?,
            },
            Some(PortKind::PacketRing) => self.ring(name, &mut notes)?,
            Some(PortKind::Packet) => self.packet(name, &mut notes)?,
            Some(PortKind::Xdp) => self.xdp(name, &mut notes)?,
            Some(PortKind::Tap) => Box::new(TapPort::open(name)?),
            Some(PortKind::Memory) => {
                let text = format!("{name}: memory ports join two nodes of one process");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        };
        Ok(OpenedPort { port, notes })
    }

    fn ring(&self, name: &str, notes: &mut Vec<String>) -> io::Result<Box<dyn Port + Send>> {
        let offloads = self.quieten(name, notes);
        let mut port = RingPort::open(name, self.settings.ring_frames)?;
        port.keep_off(offloads);
        port.set_barrier(self.barrier(name, port.interface_index(), notes));
        Ok(Box::new(port))
    }

    fn packet(&self, name: &str, notes: &mut Vec<String>) -> io::Result<Box<dyn Port + Send>> {
        let offloads = self.quieten(name, notes);
        let mut port = PacketPort::open(name)?;
        port.keep_off(offloads);
        port.set_barrier(self.barrier(name, port.interface_index(), notes));
        Ok(Box::new(port))
    }

    fn xdp(&mut self, name: &str, notes: &mut Vec<String>) -> io::Result<Box<dyn Port + Send>> {
        let offloads = self.quieten(name, notes);
        let memory = match &self.memory {
            Some(memory) => memory,
            None => self.memory.insert(XdpMemory::new(self.ports)?),
        };
        let mut port = XdpPort::open(name, &self.settings.xdp_modes, Some(memory))?;
        port.keep_off(offloads);
        if Some(&port.mode()) != self.settings.xdp_modes.first() {
            let why = port.refusals().join("; ");
            notes.push(format!("{name}: AF_XDP in mode {} ({why})", port.mode().name()));
        }
        Ok(Box::new(port))
    }

    /// Switches offloads off; a reason why not is only told. Put back where no port is opened then.
    fn quieten(&self, name: &str, notes: &mut Vec<String>) -> Option<OffloadsOff> {
        if !self.settings.offloads_off {
            return None;
        }
        let done = LinkName::new(name).map_err(io::Error::other);
        match done.and_then(|name| OffloadsOff::of(&name)) {
            Ok(offloads) => Some(offloads),
            // An interface that does not exist is told by who opens it.
            Err(error)
                if error.raw_os_error() == Some(libc::ENODEV)
                    || error.kind() == io::ErrorKind::NotFound =>
            {
                None
            }
            Err(error) => {
                notes.push(format!("{name}: frames may come merged or without checksums: {error}"));
                None
            }
        }
    }

    fn barrier(&self, name: &str, index: u32, notes: &mut Vec<String>) -> Option<HostBarrier> {
        if self.settings.host_stack == HostStack::Share {
            return None;
        }
        match HostBarrier::new(index) {
            Ok(barrier) => Some(barrier),
            Err(error) => {
                notes.push(format!(
                    "{name}: the kernel's own stack sees its frames too ({error}): keep it \
                     without addresses and with IPv6 disabled"
                ));
                None
            }
        }
    }
}
