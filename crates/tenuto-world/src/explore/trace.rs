//! Counterexamples: what happened, step by step, as a file that can be replayed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One thing that can happen in an explored world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum Action {
    /// The first frame on a link arrives.
    Deliver {
        /// Sending switch.
        from: String,
        /// Receiving switch.
        to: String,
    },
    /// The first frame on a link, a mode signal, is lost.
    Lose {
        /// Sending switch.
        from: String,
        /// Receiving switch.
        to: String,
    },
    /// A switch loses its power, with all that waits in it, and starts again with its tables.
    Crash {
        /// Switch.
        switch: String,
    },
    /// A port hands its frame over to the link.
    Send {
        /// Switch.
        switch: String,
        /// Port.
        port: u32,
    },
    /// The mode agent's time has come.
    Think {
        /// Switch.
        switch: String,
    },
    /// A watched flow exceeds every contract but its highest at its monitor.
    Exceed {
        /// Flow.
        flow: String,
    },
    /// A frame of a flow that has no place in higher modes arrives at its edge.
    Arrive {
        /// Flow.
        flow: String,
    },
    /// A tick of time passes.
    Tick,
}

/// One step of a trace with what it led to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What happened.
    pub action: Action,
    /// Tick at which it happened.
    pub tick: u64,
    /// Mode of every switch afterwards: `sw1 LO/LO@3` is forwarding/admitted@epoch.
    pub modes: Vec<String>,
}

/// A run that violates a property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Always `tenuto-trace/1`.
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
            Self::Deliver { from, to } => write!(f, "{to} receives a frame from {from}"),
            Self::Lose { from, to } => write!(f, "a signal from {from} to {to} is lost"),
            Self::Crash { switch } => write!(f, "{switch} loses its power and starts again"),
            Self::Send { switch, port } => write!(f, "{switch} sends through port {port}"),
            Self::Think { switch } => write!(f, "{switch}: timer of the mode agent"),
            Self::Exceed { flow } => write!(f, "{flow} exceeds its contract"),
            Self::Arrive { flow } => write!(f, "a frame of {flow} arrives at its edge"),
            Self::Tick => f.write_str("a tick passes"),
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.property, self.finding)?;
        let mut before: &[String] = &[];
        for (number, step) in (1..).zip(&self.steps) {
            if step.action == Action::Tick {
                continue;
            }
            write!(f, "{number:>4}  tick {:<4} {}", step.tick, step.action)?;
            if step.modes != before {
                write!(f, "   [{}]", step.modes.join(", "))?;
                before = &step.modes;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
