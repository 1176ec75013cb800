//! What happens in a run: traffic, events, faults. Apart from what the network is.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run: how flows send, and what happens when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// Length of the run, nanoseconds; a command line may override it.
    pub duration_ns: u64,
    /// Its length as written, nanoseconds, where a command line has it end before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_from_ns: Option<u64>,
    /// Seed of every random choice in the run.
    pub seed: u64,
    /// How flows send where no event says otherwise.
    pub traffic: Traffic,
    /// Program to run in a host instead of our end system: host name to command line.
    pub programs: BTreeMap<String, String>,
    /// Events in order of time.
    pub events: Vec<Event>,
    /// What the run is expected to show, if stated; anything else is a violation.
    pub expect: Expect,
}

/// How flows send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// First release of each flow.
    pub offsets: Offsets,
    /// Message sizes.
    pub sizes: Sizes,
}

/// First release of each flow within its first period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offsets {
    /// Drawn from the seed.
    Random,
    /// All at once at the start: often close to the worst case.
    Zero,
}

/// Message sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// Always the largest that the contract allows.
    Largest,
    /// Drawn from the seed, up to the largest.
    Random,
}

/// Something that happens at a stated time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, nanoseconds after traffic starts.
    pub at_ns: u64,
    /// What.
    pub action: EventAction,
    /// A note that reports carry.
    pub note: Option<String>,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum EventAction {
    /// The flow sends at its contract of `mode` from now on.
    Behave {
        /// Flow name.
        flow: String,
        /// Mode index.
        mode: usize,
    },
    /// The flow sends `percent` of its highest contract's rate.
    Oversend {
        /// Flow name.
        flow: String,
        /// Rate in percent of the highest contract.
        percent: u32,
    },
    /// The flow stops sending.
    StopFlow {
        /// Flow name.
        flow: String,
    },
    /// The flow sends again.
    StartFlow {
        /// Flow name.
        flow: String,
    },
    /// The host sends frames of these flows as fast as `rate_bps` (line rate if `None`).
    Babble {
        /// Host name.
        host: String,
        /// Flows whose headers the frames carry; empty means all that it sources.
        flows: Vec<String>,
        /// Frame size, bytes with FCS.
        frame_bytes: u32,
        /// Offered rate on the wire; `None` is line rate.
        rate_bps: Option<u64>,
        /// For how long, nanoseconds; `None` is to the end of the run.
        for_ns: Option<u64>,
    },
    /// The host sends frames of random bytes.
    Garbage {
        /// Host name.
        host: String,
        /// Frames per second.
        frames_per_s: u32,
        /// For how long, nanoseconds; `None` is to the end of the run.
        for_ns: Option<u64>,
    },
    /// The host sends mode signals that it has no right to.
    Forge {
        /// Host name.
        host: String,
    },
    /// Both directions of the link between two nodes carry nothing from now on.
    CutLink {
        /// The two node names.
        ends: [String; 2],
    },
    /// The link carries again.
    HealLink {
        /// The two node names.
        ends: [String; 2],
    },
    /// The node dies without a word.
    KillNode {
        /// Switch or controller name.
        node: String,
    },
    /// The node is shut down in order.
    StopNode {
        /// Switch or controller name.
        node: String,
    },
    /// The node starts afresh.
    StartNode {
        /// Switch or controller name.
        node: String,
    },
    /// The next mode signal frames on a trunk are lost.
    LoseSignals {
        /// Sending switch.
        from: String,
        /// Receiving switch.
        to: String,
        /// How many frames.
        frames: u32,
    },
}

/// What the run is expected to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// Number of raises of the mode.
    pub raises: Option<u32>,
    /// Number of returns to the start mode.
    pub returns: Option<u32>,
}

impl Scenario {
    /// The run of a network without a scenario file: all flows at their contract, random offsets.
    pub fn plain(duration_ns: u64, seed: u64) -> Self {
        Self {
            duration_ns,
            cut_from_ns: None,
            seed,
            traffic: Traffic { offsets: Offsets::Random, sizes: Sizes::Largest },
            programs: BTreeMap::new(),
            events: Vec::new(),
            expect: Expect::default(),
        }
    }

    /// The scenario played for another time. One that ends before its own end is cut: what it
    /// expects by its end is not judged.
    #[must_use]
    pub fn played_for(mut self, duration_ns: u64) -> Self {
        let whole_ns = self.cut_from_ns.unwrap_or(self.duration_ns);
        self.cut_from_ns = (duration_ns < whole_ns).then_some(whole_ns);
        self.duration_ns = duration_ns;
        self
    }

    /// Its length as written, nanoseconds.
    pub fn whole_ns(&self) -> u64 {
        self.cut_from_ns.unwrap_or(self.duration_ns)
    }
}
