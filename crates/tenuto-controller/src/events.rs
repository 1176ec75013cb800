//! Events that the controller reports to its owner.

use crate::difference::Difference;
use crate::outcome::{InstallFailure, InstallKind};
use crate::session::SessionError;
use core::net::IpAddr;
use std::fmt;
use tenuto_openflow::{ModeEvent, ModeStatus, PacketIn, QueueConfig, QueueDetail, ReplyBody};

/// A control connection, as its owner numbers them; a number is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// Why a connection was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoPlace {
    /// Its number is in use.
    NumberInUse,
    /// There are as many as allowed.
    Full {
        /// How many that is.
        most: usize,
    },
    /// There are as many as allowed from its address.
    SourceFull {
        /// How many that is.
        most: usize,
    },
}

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NumberInUse => f.write_str("its number is in use"),
            Self::Full { most } => write!(f, "{most} are open, which is the most"),
            Self::SourceFull { most } => {
                write!(f, "{most} are open from its address, which is the most")
            }
        }
    }
}

/// Something that a proactive controller does not expect of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Anomaly {
    /// A packet was sent to the controller; no entry of ours does that.
    PacketIn,
    /// An entry went without being deleted.
    FlowRemoved,
    /// A message that nothing asked for.
    Unexpected,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ControllerEvent {
    /// A connection was not taken.
    Refused {
        /// The connection.
        conn: ConnId,
        /// Where it was made from, if that is known.
        source: Option<IpAddr>,
        /// Why not.
        why: NoPlace,
    },
    /// A switch is there, and installing begins.
    Up {
        /// The connection.
        conn: ConnId,
        /// The switch.
        dpid: u64,
    },
    /// A second connection claims a datapath id; it is closed, the first one stays.
    DuplicateDatapath {
        /// The newer connection.
        conn: ConnId,
        /// The datapath id.
        dpid: u64,
    },
    /// A switch that this controller does not manage; its connection is closed.
    UnknownDatapath {
        /// The connection.
        conn: ConnId,
        /// The datapath id.
        dpid: u64,
    },
    /// A connection claims a datapath id that is known to be at another address; it is closed.
    WrongSource {
        /// The connection.
        conn: ConnId,
        /// The datapath id.
        dpid: u64,
    },
    /// A session ended: by the transport (`error` is `None`), or for a reason.
    Closed {
        /// The connection.
        conn: ConnId,
        /// The switch, if the handshake had told it.
        dpid: Option<u64>,
        /// Why.
        error: Option<SessionError>,
    },
    /// The switch does not take this controller as its master, or has another one by now: nothing is sent to it until this
    /// controller leads by a newer generation.
    RoleRefused {
        /// The switch.
        dpid: u64,
        /// Whether it knows a newer generation or another master, and not merely no roles.
        is_stale: bool,
        /// The OpenFlow error, by name.
        why: String,
    },
    /// The switch refused a command.
    CommandRefused {
        /// The switch.
        dpid: u64,
        /// The command, by name.
        command: String,
        /// The OpenFlow error, by name.
        error: String,
    },
    /// The switch has not what it shall have.
    Differs {
        /// The switch.
        dpid: u64,
        /// Field by field.
        differences: Vec<Difference>,
    },
    /// The switch is confirmed to have what it shall have.
    Installed {
        /// The switch.
        dpid: u64,
        /// How it came to be.
        kind: InstallKind,
    },
    /// A switch refused its part of a change, and every switch goes back to what it had.
    ChangeRefused {
        /// The switch.
        dpid: u64,
        /// Why.
        failure: InstallFailure,
    },
    /// The switch cannot be brought to what it shall have.
    InstallFailed {
        /// The switch.
        dpid: u64,
        /// Why.
        failure: InstallFailure,
    },
    /// A mode was activated at the switch and confirmed.
    Activated {
        /// The switch.
        dpid: u64,
        /// The epoch.
        epoch: u64,
        /// The level.
        level: u8,
    },
    /// Every managed switch is installed and confirmed, and the modes have been started.
    Ready,
    /// A switch tells of a violation or mode change.
    Mode {
        /// The switch.
        dpid: u64,
        /// What happened there.
        event: ModeEvent,
    },
    /// The mode of a switch, asked for after a restart.
    Status {
        /// The switch.
        dpid: u64,
        /// Its mode.
        status: ModeStatus,
    },
    /// Counters of ports or meters, or features of tables, meters or groups, that were asked for, or a part of them.
    Statistics {
        /// The switch.
        dpid: u64,
        /// Its answer.
        body: ReplyBody,
    },
    /// What frames waited in queues, asked for, or a part of it.
    Delays {
        /// The switch.
        dpid: u64,
        /// Its answer.
        queues: Vec<QueueDetail>,
    },
    /// The queues of all ports, asked for.
    Queues {
        /// The switch.
        dpid: u64,
        /// Its answer.
        config: QueueConfig,
    },
    /// A frame that a switch shows, where links are watched.
    PacketIn {
        /// The switch.
        dpid: u64,
        /// The frame, or its beginning, and where it came in.
        packet_in: PacketIn,
    },
    /// A port changed its state.
    PortChanged {
        /// The switch.
        dpid: u64,
        /// The port.
        port: u32,
        /// Whether it is up: neither administratively down nor without link.
        is_up: bool,
    },
    /// Something unexpected, counted; equal ones that follow each other are told once.
    Anomaly {
        /// The switch.
        dpid: u64,
        /// What.
        kind: Anomaly,
        /// How often it happened at this switch.
        count: u64,
    },
    /// Events between those that are told were lost, as they were not taken in time.
    EventsLost {
        /// How many.
        count: u64,
    },
}

impl fmt::Display for ControllerEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { conn, source: Some(source), why } => {
                write!(f, "connection {} from {source}: refused, {why}", conn.0)
            }
            Self::Refused { conn, why, .. } => write!(f, "connection {}: refused, {why}", conn.0),
            Self::Up { dpid, .. } => write!(f, "switch {dpid:#x}: connected"),
            Self::DuplicateDatapath { conn, dpid } => write!(
                f,
                "connection {}: datapath id {dpid:#x} is connected already; give each switch its own",
                conn.0
            ),
            Self::UnknownDatapath { conn, dpid } => {
                write!(f, "connection {}: datapath id {dpid:#x} is not in the plan", conn.0)
            }
            Self::WrongSource { conn, dpid } => write!(
                f,
                "connection {}: datapath id {dpid:#x} is expected from another address",
                conn.0
            ),
            Self::Closed { dpid: Some(dpid), error: Some(error), .. } => {
                write!(f, "switch {dpid:#x}: session closed: {error}")
            }
            Self::Closed { dpid: Some(dpid), .. } => write!(f, "switch {dpid:#x}: disconnected"),
            Self::Closed { conn, error: Some(error), .. } => {
                write!(f, "connection {}: session closed: {error}", conn.0)
            }
            Self::Closed { conn, .. } => write!(f, "connection {}: disconnected", conn.0),
            Self::RoleRefused { dpid, is_stale: true, why } => {
                write!(f, "switch {dpid:#x}: follows another controller: {why}")
            }
            Self::RoleRefused { dpid, why, .. } => {
                write!(f, "switch {dpid:#x}: takes nobody as its master: {why}")
            }
            Self::CommandRefused { dpid, command, error } => {
                write!(f, "switch {dpid:#x}: refused {command}: {error}")
            }
            Self::Differs { dpid, differences } => {
                write!(f, "switch {dpid:#x}: is not what it shall be")?;
                differences.iter().try_for_each(|difference| write!(f, "\n  {difference}"))
            }
            Self::Installed { dpid, kind } => {
                let how = match kind {
                    InstallKind::Fresh => "installed",
                    InstallKind::Adopted => "has everything already",
                    InstallKind::Updated => "updated",
                    InstallKind::Repaired => "held something else, repaired",
                };
                write!(f, "switch {dpid:#x}: {how}, read back and equal")
            }
            Self::ChangeRefused { dpid, failure } => {
                write!(f, "switch {dpid:#x}: {failure}; the change is undone everywhere")
            }
            Self::InstallFailed { dpid, failure } => write!(f, "switch {dpid:#x}: {failure}"),
            Self::Activated { dpid, epoch, level } => {
                write!(f, "switch {dpid:#x}: mode level {level} in force, epoch {epoch}")
            }
            Self::Ready => f.write_str("every switch is installed and confirmed"),
            Self::Mode { dpid, event } => {
                let (from, to) = (event.from_level, event.to_level);
                write!(f, "switch {dpid:#x}: {:?}, level {from} to {to}", event.kind)
            }
            Self::Status { dpid, status } => {
                let (level, epoch) = (status.level, status.epoch);
                write!(f, "switch {dpid:#x}: is in mode level {level}, epoch {epoch}")
            }
            Self::Statistics { dpid, .. } => write!(f, "switch {dpid:#x}: counters"),
            Self::Delays { dpid, .. } => write!(f, "switch {dpid:#x}: delays"),
            Self::Queues { dpid, .. } => write!(f, "switch {dpid:#x}: queues"),
            Self::PacketIn { dpid, .. } => write!(f, "switch {dpid:#x}: shows a frame"),
            Self::PortChanged { dpid, port, is_up } => {
                let state = if *is_up { "up" } else { "down" };
                write!(f, "switch {dpid:#x}: port {port} is {state}")
            }
            Self::Anomaly { dpid, kind, count } => {
                let what = match kind {
                    Anomaly::PacketIn => "packet sent to the controller",
                    Anomaly::FlowRemoved => "entry gone without being deleted",
                    Anomaly::Unexpected => "message that nothing asked for",
                };
                write!(f, "switch {dpid:#x}: {what} ({count} so far)")
            }
            Self::EventsLost { count } => {
                write!(f, "{count} events of the controller are not told: too many at once")
            }
        }
    }
}
