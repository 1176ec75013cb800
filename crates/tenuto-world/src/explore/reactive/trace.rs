//! Counterexamples: what happened, step by step, as a file that can be replayed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing that can happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum Action {
    /// A host sends its next packet, which is at its switch at once.
    Emit {
        /// The host.
        host: String,
    },
    /// A host replies to a packet that it got.
    Reply {
        /// The host.
        host: String,
    },
    /// A host is elsewhere, and tells all others.
    Move {
        /// The host.
        host: String,
    },
    /// A port hands its frame over.
    HandOver {
        /// The switch.
        switch: String,
        /// The port.
        port: u32,
    },
    /// The first frame on a link arrives.
    Deliver {
        /// Sending switch.
        from: String,
        /// Receiving switch.
        to: String,
    },
    /// The first frame on a link is lost.
    Lose {
        /// Sending switch.
        from: String,
        /// Receiving switch.
        to: String,
    },
    /// The first frame on a link comes twice.
    Double {
        /// Sending switch.
        from: String,
        /// Receiving switch.
        to: String,
    },
    /// A link is cut for good.
    Cut {
        /// One end.
        from: String,
        /// The other end.
        to: String,
    },
    /// A switch starts again with empty tables.
    Fail {
        /// The switch.
        switch: String,
    },
    /// The controller starts again and remembers nothing.
    Crash,
    /// A timer of the application is due.
    Timer {
        /// Its name.
        name: String,
    },
    /// The controller takes the first message of a switch and answers.
    Decide {
        /// The switch.
        switch: String,
    },
    /// A switch carries out the next message of an answer.
    Obey {
        /// The switch.
        switch: String,
        /// The answer, from 1.
        answer: u32,
    },
    /// The time of a buffer is over.
    Expire {
        /// The switch.
        switch: String,
        /// The place of the buffer.
        buffer: u16,
    },
}

/// One step of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What happened.
    pub action: Action,
    /// The packet or message of it.
    pub note: String,
    /// Between whom: sender and receiver, or the one where it happens.
    #[serde(default)]
    pub between: Vec<String>,
    /// Hosts that get a packet in this step.
    #[serde(default)]
    pub reaches: Vec<String>,
}

/// A run that violates a property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// `tenuto-reactive-trace/1`.
    pub schema: String,
    /// The property.
    pub property: String,
    /// What is wrong at the end.
    pub finding: String,
    /// The steps from the start state.
    pub steps: Vec<Step>,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Emit { host } => write!(f, "{host} sends"),
            Self::HandOver { switch, port } => write!(f, "{switch} sends through port {port}"),
            Self::Deliver { from, to } => write!(f, "{to} receives from {from}"),
            Self::Lose { from, to } => write!(f, "a frame from {from} to {to} is lost"),
            Self::Reply { host } => write!(f, "{host} replies"),
            Self::Move { host } => write!(f, "{host} moves, and tells all others"),
            Self::Double { from, to } => write!(f, "a frame from {from} to {to} is doubled"),
            Self::Cut { from, to } => write!(f, "the link from {from} to {to} is cut"),
            Self::Fail { switch } => write!(f, "{switch} starts again with empty tables"),
            Self::Crash => f.write_str("the controller starts again"),
            Self::Timer { name } => write!(f, "the controller: timer {name}"),
            Self::Decide { switch } => write!(f, "the controller hears {switch}"),
            Self::Obey { switch, answer } => write!(f, "{switch} obeys answer {answer}"),
            Self::Expire { switch, buffer } => write!(f, "{switch}: time of buffer {buffer}"),
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.property, self.finding)?;
        for (number, Step { action, note, reaches, .. }) in (1..).zip(&self.steps) {
            write!(f, "{number:>4}  {action}")?;
            if !note.is_empty() {
                write!(f, ": {note}")?;
            }
            match reaches.is_empty() {
                true => writeln!(f)?,
                false => writeln!(f, "   [reaches {}]", reaches.join(", "))?,
            }
        }
        Ok(())
    }
}
