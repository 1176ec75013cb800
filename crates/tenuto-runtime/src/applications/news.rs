//! What is told of an application that runs.

use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;

/// Something that is told while an application runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppNews {
    /// Switches may connect.
    Listening(SocketAddr),
    /// A switch is there.
    Up {
        /// Its datapath id.
        datapath: u64,
        /// From where it has connected.
        from: SocketAddr,
    },
    /// A connection is over.
    Down {
        /// The switch, if it has said which it is.
        datapath: Option<u64>,
        /// Why.
        why: String,
    },
    /// A switch has refused a message.
    Refused {
        /// The switch.
        datapath: u64,
        /// Its answer.
        why: String,
    },
    /// A line of the application.
    Note(String),
    /// The application has failed.
    Fault(String),
}

impl Display for AppNews {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening(at) => write!(f, "listening at tcp:{at}"),
            Self::Up { datapath, from } => write!(f, "switch {datapath:#x} is up, from {from}"),
            Self::Down { datapath: Some(datapath), why } => {
                write!(f, "switch {datapath:#x} is down: {why}")
            }
            Self::Down { datapath: None, why } => write!(f, "a connection is over: {why}"),
            Self::Refused { datapath, why } => {
                write!(f, "switch {datapath:#x} refuses a message: {why}")
            }
            Self::Note(text) => f.write_str(text),
            Self::Fault(text) => write!(f, "application: {text}"),
        }
    }
}
