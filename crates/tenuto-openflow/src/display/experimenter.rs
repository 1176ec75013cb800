//! Experimenter messages as text.

use super::syntax::Join;
use crate::experimenter::{
    Experimenter, ModeConfig, ModeEvent, ModeStatus, ModesMessage, MonitorContract, MonitorMod,
    MonitorStats,
};
use std::fmt::{self, Display, Formatter};

impl Display for Experimenter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Modes(message) => message.fmt(f),
            Self::Attendre(message) => message.fmt(f),
            Self::Queues(message) => message.fmt(f),
            Self::Slices(message) => message.fmt(f),
            Self::Unknown { experimenter, exp_type, data } => {
                write!(f, "id=0x{experimenter:08x} type={exp_type} {} bytes", data.len())
            }
        }
    }
}

impl Display for ModesMessage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShadowFlowMod { level, flow_mod } => {
                write!(f, "SHADOW_FLOW_MOD level={level} {flow_mod}")
            }
            Self::MonitorMod(monitor_mod) => write!(f, "MONITOR_MOD {monitor_mod}"),
            Self::ModeConfig(config) => write!(f, "MODE_CONFIG {config}"),
            Self::ModeActivate { generation, epoch, level } => {
                write!(f, "MODE_ACTIVATE generation={generation} epoch={epoch} level={level}")
            }
            Self::ModeStatusRequest => f.write_str("MODE_STATUS_REQUEST"),
            Self::ModeStatusReply(status) => write!(f, "MODE_STATUS_REPLY {status}"),
            Self::ModeEvent(event) => write!(f, "MODE_EVENT {event}"),
            Self::MonitorStatsRequest => f.write_str("MONITOR_STATS_REQUEST"),
            Self::MonitorStatsReply(list) => {
                write!(f, "MONITOR_STATS_REPLY [{}]", Join("; ", list.iter()))
            }
            Self::ShadowStatsRequest { level } => write!(f, "SHADOW_STATS_REQUEST level={level}"),
            Self::ShadowStatsReply { level, more, entries } => {
                let more = if *more { " (more)" } else { "" };
                let entries = Join("; ", entries.iter());
                write!(f, "SHADOW_STATS_REPLY level={level} [{entries}]{more}")
            }
        }
    }
}

impl Display for MonitorMod {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} monitor={} per={}", self.command, self.monitor_id, self.kind)?;
        self.contracts.iter().try_for_each(|contract| write!(f, " {contract}"))
    }
}

impl Display for MonitorContract {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { level, bytes_max, period_ns, jitter_ns } = self;
        write!(f, "level={level}:{bytes_max}B/{period_ns}ns+{jitter_ns}ns")
    }
}

impl Display for ModeConfig {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { generation, levels, quiet_ns, signal_copies, dwell_ns, members } = self;
        write!(f, "generation={generation} levels={levels} quiet_ns={quiet_ns}")?;
        write!(f, " dwell_ns={dwell_ns} signal_copies={signal_copies}")?;
        write!(f, " members={}", Join(",", members.iter().map(|id| format!("{id:016x}"))))
    }
}

impl Display for ModeStatus {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "generation={} epoch={} level={}", self.generation, self.epoch, self.level)?;
        write!(f, " admitted_level={} phase={}", self.admitted_level, self.phase)?;
        write!(f, " purged_frames={} raises={}", self.purged_frames, self.raises)?;
        write!(f, " returns={} signals_rejected={}", self.returns, self.signals_rejected)?;
        if self.is_standalone { f.write_str(" standalone") } else { Ok(()) }
    }
}

impl Display for ModeEvent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} generation={} epoch={}", self.kind, self.generation, self.epoch)?;
        write!(f, " level={}->{} monitor={}", self.from_level, self.to_level, self.monitor_id)?;
        write!(f, " at_ns={} purged_frames={}", self.at_ns, self.purged_frames)
    }
}

impl Display for MonitorStats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { monitor_id, messages, violations } = self;
        write!(f, "monitor={monitor_id} messages={messages} violations={violations}")
    }
}
