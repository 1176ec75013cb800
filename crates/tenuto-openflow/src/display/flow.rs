//! Flow entries as text.

use super::syntax::{Instructions, PortNo};
use crate::constants::{NO_BUFFER, flow_flag, group, port, table};
use crate::flow::{FlowMod, FlowRemoved};
use crate::oxm::Match;
use std::fmt::{self, Display, Formatter};

/// Names of the flags that are set, each followed by a space.
pub(super) fn write_flow_flags(f: &mut Formatter<'_>, flags: u16) -> fmt::Result {
    const NAMES: [(u16, &str); 5] = [
        (flow_flag::SEND_FLOW_REM, "send_flow_rem"),
        (flow_flag::CHECK_OVERLAP, "check_overlap"),
        (flow_flag::RESET_COUNTS, "reset_counts"),
        (flow_flag::NO_PKT_COUNTS, "no_packet_counts"),
        (flow_flag::NO_BYT_COUNTS, "no_byte_counts"),
    ];
    for (flag, name) in NAMES {
        if flags & flag != 0 {
            write!(f, "{name} ")?;
        }
    }
    let others = NAMES.iter().fold(flags, |rest, (flag, _)| rest & !flag);
    if others == 0 { Ok(()) } else { write!(f, "flags:0x{others:x} ") }
}

/// The time-outs that are set, each followed by a space.
pub(super) fn write_timeouts(f: &mut Formatter<'_>, idle: u16, hard: u16) -> fmt::Result {
    for (name, seconds) in [("idle", idle), ("hard", hard)] {
        if seconds != 0 {
            write!(f, "{name}_timeout={seconds} ")?;
        }
    }
    Ok(())
}

/// Priority and match, which together identify an entry.
pub(super) fn write_entry(f: &mut Formatter<'_>, priority: u16, match_: &Match) -> fmt::Result {
    write!(f, "priority={priority}")?;
    if match_.oxms.is_empty() { Ok(()) } else { write!(f, ",{match_}") }
}

/// The filters of deletions and statistics that are set, each behind a space.
pub(super) fn write_filters(f: &mut Formatter<'_>, out_port: u32, out_group: u32) -> fmt::Result {
    if out_port != port::ANY {
        write!(f, " out_port={}", PortNo(out_port))?;
    }
    if out_group != group::ANY { write!(f, " out_group={out_group}") } else { Ok(()) }
}

impl Display for FlowMod {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} table:{} ", self.command, TableId(self.table_id))?;
        write_entry(f, self.priority, &self.match_)?;
        if self.cookie_mask != 0 {
            write!(f, " cookie:0x{:x}/0x{:x}", self.cookie, self.cookie_mask)?;
        } else if self.cookie != 0 {
            write!(f, " cookie:0x{:x}", self.cookie)?;
        }
        f.write_str(" ")?;
        write_timeouts(f, self.idle_timeout, self.hard_timeout)?;
        if self.buffer_id != NO_BUFFER {
            write!(f, "buf:0x{:x} ", self.buffer_id)?;
        }
        write_flow_flags(f, self.flags)?;
        write!(f, "actions={}", Instructions(&self.instructions))?;
        write_filters(f, self.out_port, self.out_group)
    }
}

impl Display for FlowRemoved {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_entry(f, self.priority, &self.match_)?;
        write!(f, " reason={} table_id={}", self.reason, self.table_id)?;
        write!(
            f,
            " cookie=0x{:x} duration={} ",
            self.cookie,
            Seconds(self.duration_sec, self.duration_nsec)
        )?;
        write_timeouts(f, self.idle_timeout, self.hard_timeout)?;
        write!(f, "n_packets={} n_bytes={}", self.packet_count, self.byte_count)
    }
}

/// A table number.
pub(super) struct TableId(pub(super) u8);

impl Display for TableId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 == table::ALL { f.write_str("ALL") } else { write!(f, "{}", self.0) }
    }
}

/// Seconds and nanoseconds, to the millisecond.
pub(super) struct Seconds(pub(super) u32, pub(super) u32);

impl Display for Seconds {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}s", self.0, self.1 / 1_000_000)
    }
}
