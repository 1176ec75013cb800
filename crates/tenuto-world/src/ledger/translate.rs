//! From what cores say to what the ledger hears: the same in every world.

use super::Observation;
use tenuto_dataplane::DropReason;
use tenuto_dataplane::endsystem::HostEvent;
use tenuto_dataplane::switch::SwitchEvent;

impl Observation {
    /// What an end system's event tells; `None` if nothing that counts.
    pub fn of_host(host: u16, event: HostEvent) -> Option<Self> {
        Some(match event {
            HostEvent::Released { flow, message_id: message, actual, bytes, .. } => {
                Self::Released { flow, message, at_ns: actual.as_ns(), bytes }
            }
            HostEvent::Delivered { flow, message_id: message, release, at, .. } => {
                let (release_ns, at_ns) = (release.as_ns(), at.as_ns());
                Self::Delivered { flow, message, host, release_ns, at_ns }
            }
            HostEvent::CopyArrived { flow, message_id: message, port, release, at } => {
                let delay_ns = at.since(release).as_ns();
                Self::Copy { flow, message, host, port, delay_ns }
            }
            HostEvent::SecondCopy { flow, message_id: message, skew, .. }
            | HostEvent::SkewExceeded { flow, message_id: message, skew, .. } => {
                Self::Skew { flow, message, host, skew_ns: skew.as_ns() }
            }
            _ => return None,
        })
    }

    /// What a switch's event tells; `None` if nothing that counts. `took_ns`: how long the call
    /// took that caused it, 0 in virtual time.
    pub fn of_switch(switch: &str, event: SwitchEvent, took_ns: u64) -> Option<Self> {
        let switch = switch.to_owned();
        Some(match event {
            SwitchEvent::Violation { monitor, arrival, wanted, .. } => {
                Self::Violation { switch, monitor, wanted, at_ns: arrival.as_ns() }
            }
            SwitchEvent::Swapped { at, epoch, from, to, admitted, purged } => {
                let at_ns = at.as_ns() + took_ns;
                Self::Swapped { switch, epoch, from, to, admitted, purged, at_ns, took_ns }
            }
            SwitchEvent::SignalRejected { .. } => return None,
        })
    }

    /// The word for a reason.
    pub const fn reason(reason: DropReason) -> &'static str {
        match reason {
            DropReason::Policed => "policed",
            DropReason::OutOfMode => "out_of_mode",
            DropReason::Purged => "purged",
            DropReason::Unknown => "unknown",
            DropReason::Malformed => "malformed",
            DropReason::BufferFull => "buffer_full",
            DropReason::PoolFull => "pool_full",
            DropReason::SignalRejected => "signal_rejected",
            DropReason::CommandRejected => "command_rejected",
            DropReason::NoOutput => "no_output",
            DropReason::Spent => "spent",
            DropReason::Duplicate => "duplicate",
            DropReason::OutOfSlice => "out-of-slice",
        }
    }
}
