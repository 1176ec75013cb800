//! What nodes tell about a run: the same words live and simulated.

use serde::{Deserialize, Serialize};

/// Ids of messages that a user's own program sends in a flow begin here; those of our end system are
/// below.
pub const PROGRAM_MESSAGES: u32 = 1 << 31;

/// Something seen at a node. Instants are nanoseconds of the run's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "see")]
pub enum Observation {
    /// A source released a message at its shaper.
    Released {
        /// Index of the flow in the network.
        flow: u16,
        /// Message id.
        message: u32,
        /// When; the delay counts from here.
        at_ns: u64,
        /// Bytes of the message, or of the datagram's payload.
        #[serde(default)]
        bytes: u32,
    },
    /// A target has every frame of a message, by its first complete copy.
    Delivered {
        /// Index of the flow in the network.
        flow: u16,
        /// Message id.
        message: u32,
        /// Index of the target host in the network.
        host: u16,
        /// When it was released, from its stamp.
        release_ns: u64,
        /// When the last bit of its last frame arrived.
        at_ns: u64,
    },
    /// One copy of a message is complete at a target (A/B networks).
    Copy {
        /// Index of the flow in the network.
        flow: u16,
        /// Message id.
        message: u32,
        /// Index of the target host in the network.
        host: u16,
        /// Port at the target: tells the network.
        port: u32,
        /// Delay of this copy.
        delay_ns: u64,
    },
    /// The second copy of a message came so long after the first.
    Skew {
        /// Index of the flow in the network.
        flow: u16,
        /// Message id.
        message: u32,
        /// Index of the target host in the network.
        host: u16,
        /// Difference of their arrivals.
        skew_ns: u64,
    },
    /// Frames went no further.
    Dropped {
        /// Node that dropped.
        node: String,
        /// Port of entry, or of the queue.
        port: u32,
        /// `policed`, `out_of_mode`, `purged`, `unknown`, `malformed`, `buffer_full`,
        /// `pool_full`, `signal_rejected`, `no_output`.
        reason: String,
        /// Cookie of the entry that decided: index of the flow plus one, or 0.
        cookie: u64,
        /// Flow index and message id from the frame's stamp.
        message: Option<(u16, u32)>,
        /// How many such frames this line stands for.
        frames: u64,
        /// When.
        at_ns: u64,
    },
    /// A monitor saw a message above the start level's contract.
    Violation {
        /// Switch.
        switch: String,
        /// Monitor id of its deployment.
        monitor: u32,
        /// Level that the message asks for.
        wanted: u8,
        /// Arrival of the frame: the trigger.
        at_ns: u64,
    },
    /// Tables of a level came into effect at a switch.
    Swapped {
        /// Switch.
        switch: String,
        /// Epoch.
        epoch: u64,
        /// Forwarding level before.
        from: u8,
        /// Forwarding level after.
        to: u8,
        /// Level that its edges admit.
        admitted: u8,
        /// Frames that lost their place.
        purged: u32,
        /// When.
        at_ns: u64,
        /// How long swapping took (live); 0 in virtual time.
        took_ns: u64,
    },
    /// A switch has started afresh: it comes up in its highest level.
    Restarted {
        /// Switch.
        switch: String,
        /// When.
        at_ns: u64,
    },
    /// Counters of a directed egress at the end.
    Port {
        /// Node.
        node: String,
        /// Port.
        port: u32,
        /// Largest backlog, bits on the wire.
        backlog_bits_max: u64,
        /// Frames sent.
        frames: u64,
    },
    /// A thread of the data plane did not run for longer than the allowance (live).
    Stall {
        /// Node.
        node: String,
        /// From when.
        from_ns: u64,
        /// For how long.
        length_ns: u64,
    },
    /// A fault or event of the scenario, or from outside.
    Event {
        /// In words.
        text: String,
        /// When.
        at_ns: u64,
        /// Whether the plan's fault model tolerates it (`None`: not a fault).
        tolerated: Option<bool>,
        /// Flows that misbehave from now on because of it.
        misbehaving: Vec<u16>,
    },
    /// A node or a program of the user's own ended without being asked, could not be started, or
    /// did not answer at the end.
    Died {
        /// Node, or host of the program; `lab` for what holds all of them.
        who: String,
        /// In words, without the name: `died`.
        what: String,
        /// Since when it may be gone.
        at_ns: u64,
        /// Whether the plan's fault model covers it.
        tolerated: bool,
    },
    /// What was gone is there again: a link that is healed.
    Returned {
        /// As it was told to be gone.
        who: String,
        /// When.
        at_ns: u64,
    },
    /// The next mode signals over a link are lost.
    SignalsLost {
        /// The switch that sends them.
        from: String,
        /// Its neighbour.
        to: String,
        /// How many.
        frames: u32,
        /// From when on.
        at_ns: u64,
    },
    /// A node saw more than it could tell: what is missing may have been seen.
    Unseen {
        /// Node.
        node: String,
        /// How many of its observations are lost.
        lines: u64,
        /// What it saw before was told.
        from_ns: u64,
    },
    /// An event of the scenario that could not be carried out.
    NotPlayed {
        /// The event and why, in words.
        text: String,
        /// When.
        at_ns: u64,
    },
    /// A program took a flow over from the end system: what is sent of it is the program's doing.
    TakenOver {
        /// Index of the flow in the network.
        flow: u16,
        /// When.
        at_ns: u64,
    },
    /// A datagram of a program has arrived at a target. Its source told of it as
    /// [`Observation::Released`]; it has no stamp that would say when that was.
    Handed {
        /// Index of the flow in the network.
        flow: u16,
        /// Message id, from [`PROGRAM_MESSAGES`] on.
        message: u32,
        /// Index of the target host in the network.
        host: u16,
        /// When it arrived.
        at_ns: u64,
    },
    /// What became of the frames of a host's program, at the end.
    Program {
        /// Host.
        host: String,
        /// UDP and TCP frames that were sent into the network.
        released: u64,
        /// UDP and TCP frames that belong to no flow of the host, or are above its contract.
        refused: u64,
        /// When.
        at_ns: u64,
    },
    /// A change of mode that a controller makes, beside those of the switches, has come so far.
    ByController {
        /// The switch or the controller.
        node: String,
        /// How far.
        step: ControlStep,
        /// When.
        at_ns: u64,
    },
}

/// How far a change of mode by a controller has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlStep {
    /// The controller has heard of the excess and begins.
    Raising,
    /// Every switch has answered.
    Raised,
    /// The controller begins to bring the lowest mode back.
    Lowering,
    /// Every switch has answered that.
    Lowered,
    /// A switch has carried out its barrier.
    CarriedOut {
        /// Frames without a place in the highest mode that it has queued.
        out_of_mode: u64,
    },
    /// A switch is rid of those.
    Drained,
}
