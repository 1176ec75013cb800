//! What an observer of a switch may want to know.

use tenuto_units::Instant;

/// Something that happened at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchEvent {
    /// A monitor saw a message that asks for more than the start level, whatever is in force.
    Violation {
        /// The monitor.
        monitor: u32,
        /// Arrival stamp of the violating frame.
        arrival: Instant,
        /// When it was seen.
        at: Instant,
        /// The level that it asks for.
        wanted: u8,
    },
    /// The tables of a level came into effect.
    Swapped {
        /// When.
        at: Instant,
        /// Epoch of the mode.
        epoch: u64,
        /// Forwarding level before.
        from: u8,
        /// Forwarding level after.
        to: u8,
        /// Level that edges admit from now on.
        admitted: u8,
        /// Queued frames that lost their place.
        purged: u32,
    },
    /// A mode signal was not accepted.
    SignalRejected {
        /// Port of entry.
        port: u32,
        /// When.
        at: Instant,
    },
}
