//! What a stand-alone switch tells whoever started it.

use std::fmt::{self, Display, Formatter};
use tenuto_units::counted;

/// Something that an operator wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchNews {
    /// Every port is open.
    Up {
        /// Its name.
        name: String,
        /// Its datapath id.
        datapath_id: u64,
        /// Its ports.
        ports: usize,
    },
    /// A slice of the switch is there.
    Slice {
        /// Its name.
        name: String,
        /// Its datapath id.
        datapath_id: u64,
    },
    /// A slice was refused messages, or frames that it was to send.
    SliceRefused {
        /// Its name.
        name: String,
        /// Messages that reach out of it, since the last such news.
        messages: u64,
        /// Messages and packet-ins that are more than its budget.
        limited: u64,
        /// Frames that are not its own.
        frames: u64,
    },
    /// It can be connected to here.
    Listening(String),
    /// A connection is there.
    Connected(String),
    /// A connection is gone, or was refused.
    Lost {
        /// Whose.
        peer: String,
        /// Why.
        why: String,
        /// Asynchronous messages that it did not read.
        unread: u64,
    },
    /// Further connections that were made to the switch are gone or were refused: more than are
    /// told one by one.
    LostMore(u64),
    /// A controller cannot be reached; told when the reason changes.
    Unreachable {
        /// Which.
        peer: String,
        /// Why.
        why: String,
    },
    /// A link came up or went down.
    Link {
        /// The port's interface.
        interface: String,
        /// Whether frames can leave.
        is_up: bool,
    },
    /// A port is out of service, as its interface is gone.
    PortLost {
        /// The port's interface.
        interface: String,
        /// Why.
        why: String,
    },
    /// The device of a port reads and writes the switch's own memory.
    ZeroCopy(String),
    /// A port is in service again: an interface of its name is there.
    PortBack(String),
    /// An interface is there again and cannot be opened; told when the reason changes.
    PortNotBack {
        /// The port's interface.
        interface: String,
        /// Why.
        why: String,
    },
    /// A capture has ended.
    TapEnded {
        /// The port's interface.
        interface: String,
        /// Why.
        why: String,
    },
    /// Something that does not stop the switch.
    Warning(String),
    /// News that are not told, as those before them were not read.
    Untold(u64),
}

impl Display for SwitchNews {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slice { name, datapath_id } => {
                write!(f, "slice {name} is up: datapath {datapath_id:#x}")
            }
            Self::SliceRefused { name, messages, limited, frames } => write!(
                f,
                "slice {name} was refused {} and {} that reach out of it, and {} above its budget",
                counted(*messages, "message"),
                counted(*frames, "frame"),
                counted(*limited, "message")
            ),
            Self::Up { name, datapath_id, ports } => {
                let ports = counted(*ports as u64, "port");
                write!(f, "{name} is up: datapath 0x{datapath_id:016x}, {ports}")
            }
            Self::Listening(at) => write!(f, "listening at {at}"),
            Self::Connected(peer) => write!(f, "connected: {peer}"),
            Self::Lost { peer, why, unread: 0 } => write!(f, "lost: {peer}: {why}"),
            Self::Lost { peer, why, unread } => {
                let unread = counted(*unread, "asynchronous message");
                write!(f, "lost: {peer}: {why}; it left {unread} unread")
            }
            Self::LostMore(count) => {
                write!(f, "lost: {count} more connections that were made to the switch")
            }
            Self::Unreachable { peer, why } => write!(f, "not reached: {peer}: {why}"),
            Self::Link { interface, is_up } => {
                write!(f, "link {interface} is {}", if *is_up { "up" } else { "down" })
            }
            Self::PortLost { interface, why } => write!(f, "port {interface} is lost: {why}"),
            Self::ZeroCopy(interface) => write!(f, "port {interface}: native zero-copy"),
            Self::PortBack(interface) => write!(f, "port {interface} is back"),
            Self::PortNotBack { interface, why } => {
                write!(f, "port {interface} is not back: {why}; it is tried again")
            }
            Self::TapEnded { interface, why } => write!(f, "capture of {interface} ended: {why}"),
            Self::Warning(text) => write!(f, "warning: {text}"),
            Self::Untold(count) => {
                write!(f, "warning: {} missing here, not read in time", counted(*count, "line"))
            }
        }
    }
}
