//! Ports: their state, what is counted at them, and what controllers are told of them.

mod description;
pub(in crate::switch) mod features;
pub(in crate::switch) mod index;

use super::SwitchEvent;
use super::config::PortConfig;
use super::mode::credit::Credit;
use crate::{Dropped, Effects, Egress};
use tenuto_openflow::constants::port_config;
use tenuto_wire::ReplayWindow;

/// Frames that the device of a port was offered and that the switch never saw, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceLosses {
    /// Frames that found the ring, or the buffer, of the device full.
    pub no_room: u64,
    /// Frames that the port does not carry: too long, or shorter than an Ethernet header.
    pub unfit: u64,
}

/// Frames that entered a port, and what became of those that went no further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames that came and are not among the received ones, as the device lost them.
    pub device: DeviceLosses,
    /// Frames that came and are not among the received ones, as the store of frames was full.
    pub not_stored: u64,
    /// Frames that came and are not among the received ones, as they are longer than the store takes.
    pub too_long: u64,
    /// Frames received.
    pub received: u64,
    /// Their bytes, FCS included.
    pub received_bytes: u64,
    /// Dropped by a meter.
    pub policed: u64,
    /// Dropped for want of an entry.
    pub unknown: u64,
    /// Cut short, as they were sent or changed as often as one frame may be.
    pub spent: u64,
    /// Dropped because their flow is not in the mode.
    pub out_of_mode: u64,
    /// Malformed.
    pub malformed: u64,
    /// Refused by a full egress buffer after entering here.
    pub buffer_full: u64,
    /// Mode signals that were not accepted.
    pub signals_rejected: u64,
    /// Attendre commands that were not accepted.
    pub commands_rejected: u64,
    /// Frames that were to leave here while the port was down or closed, or that had become too long.
    pub not_sent: u64,
    /// Frames that were handed over to leave here and that the device did not take.
    pub not_taken: u64,
}

#[derive(Clone, Debug)]
pub(in crate::switch) struct PortState {
    pub(in crate::switch) number: u32,
    /// `OFPPC_*`
    pub(in crate::switch) config: u32,
    pub(in crate::switch) is_up: bool,
    pub(in crate::switch) egress: Egress,
    pub(in crate::switch) counters: PortCounters,
    /// Sequence number of the last signal sent and accepted here.
    pub(in crate::switch) signal_sent: u64,
    pub(in crate::switch) signal_seen: u64,
    /// Sequence number of the last Attendre command sent, and those seen here.
    pub(in crate::switch) command_sent: u64,
    pub(in crate::switch) command_seen: ReplayWindow,
    /// Signals that may still be sent, in nanoseconds of the dwell time.
    pub(in crate::switch) signal_credit: Credit,
}

impl PortState {
    pub(in crate::switch) fn new(port: &PortConfig, boot_seed: u64) -> Self {
        Self {
            number: port.port,
            config: 0,
            is_up: true,
            egress: Egress::new(port.egress),
            counters: PortCounters::default(),
            signal_sent: boot_seed,
            signal_seen: 0,
            command_sent: boot_seed,
            command_seen: ReplayWindow::default(),
            signal_credit: Credit::default(),
        }
    }

    /// Whether frames can leave by it: what watches it is live.
    pub(in crate::switch) const fn is_live(&self) -> bool {
        self.is_up && self.config & port_config::PORT_DOWN == 0
    }

    /// Whether no frame enters by it.
    #[inline]
    pub(in crate::switch) const fn takes_nothing(&self) -> bool {
        self.config & (port_config::PORT_DOWN | port_config::NO_RECV) != 0
    }

    /// Whether no frame leaves by it.
    #[inline]
    pub(in crate::switch) const fn is_closed(&self) -> bool {
        self.config & (port_config::PORT_DOWN | port_config::NO_FWD) != 0 || !self.is_up
    }
}

/// Counts a drop of a frame that entered at `place`, or was sent by a controller, and reports it.
pub(in crate::switch) fn report(
    ports: &mut [PortState],
    drop: Dropped,
    place: Option<usize>,
    fx: &mut Effects<SwitchEvent>,
) {
    use crate::DropReason as R;
    if let Some(place) = place {
        let counters = &mut ports[place].counters;
        match drop.reason {
            R::Policed => counters.policed += 1,
            R::OutOfMode => counters.out_of_mode += 1,
            R::Unknown | R::NoOutput => counters.unknown += 1,
            R::Spent => counters.spent += 1,
            R::Malformed => counters.malformed += 1,
            R::BufferFull => counters.buffer_full += 1,
            R::SignalRejected => counters.signals_rejected += 1,
            R::CommandRejected => counters.commands_rejected += 1,
            R::Purged | R::PoolFull | R::Duplicate | R::OutOfSlice => {}
        }
    }
    fx.drops.push(drop);
}
