//! Modes: the experimenter messages of shadow tables, of the mode agent and of monitors.

use super::task::{LevelChange, Sweep, Task};
use super::{Done, Request};
use crate::switch::classifier::key::Pattern;
use crate::switch::mode::{self, ModeAgent, ModeConfig};
use crate::switch::tables::TABLE_WATCH;
use crate::switch::{PortConfig, PortRole, Switch, SwitchEvent};
use crate::{Effects, Frames};
use tenuto_openflow::{
    BadRequest, Body, Experimenter, FlowMod, FlowModCommand, FlowModFailed, FlowStatsRequest,
    ModeStatus, ModesMessage, MonitorStats,
};
use tenuto_units::{Instant, Span};

impl Switch {
    pub(super) fn modes(
        &mut self,
        request: Request,
        message: &ModesMessage,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let now = request.now;
        let reply = |switch: &Self, message: ModesMessage, fx: &mut Effects<SwitchEvent>| {
            switch.answer(request, Body::Experimenter(Experimenter::Modes(message)), fx);
        };
        match message {
            ModesMessage::ShadowFlowMod { level, flow_mod } => {
                self.shadow_flow_mod(request, *level, flow_mod, fx)?;
            }
            ModesMessage::MonitorMod(monitor_mod) => self.monitor_mod(request, monitor_mod, fx)?,
            ModesMessage::ModeConfig(config) => self.mode_config(request, config, frames, fx)?,
            ModesMessage::ModeActivate { generation, epoch, level } => {
                let Some(agent) = &mut self.agent else {
                    return Err(BadRequest::BadType.into());
                };
                if agent.generation() == *generation {
                    agent.activate(now, *epoch, *level, &mut self.mode_actions);
                    self.carry_out(now, None, frames, fx);
                }
            }
            ModesMessage::ModeStatusRequest => {
                reply(self, ModesMessage::ModeStatusReply(self.mode_status()), fx);
            }
            ModesMessage::MonitorStatsRequest => {
                reply(self, ModesMessage::MonitorStatsReply(self.monitor_stats()), fx);
            }
            ModesMessage::ShadowStatsRequest { level } => {
                let (all, task) = (Pattern::default(), Task::Read(FlowStatsRequest::ALL));
                if *level == 0 || self.put_off(request, *level, &all, task).is_some() {
                    let stats = match *level {
                        0 => Vec::new(),
                        level => self.flow_stats(now, level, None),
                    };
                    for message in ModesMessage::shadow_stats_replies(*level, stats) {
                        reply(self, message, fx);
                    }
                }
            }
            _ => return Err(BadRequest::BadType.into()),
        }
        Ok(())
    }

    fn shadow_flow_mod(
        &mut self,
        request: Request,
        level: u8,
        flow_mod: &FlowMod,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        if level == 0 || level >= self.tables.levels() {
            // Nothing is there to delete; anything else needs the level to exist.
            return match flow_mod.command {
                FlowModCommand::Delete | FlowModCommand::DeleteStrict => Ok(()),
                _ => Err(FlowModFailed::BadTableId.into()),
            };
        }
        if flow_mod.table_id == TABLE_WATCH {
            return Err(FlowModFailed::BadTableId.into());
        }
        if !self.puts_off(request, level, flow_mod)? {
            self.flow_mod(request.now, Some(level), flow_mod, None, fx)?;
        }
        Ok(())
    }

    fn monitor_stats(&self) -> Vec<MonitorStats> {
        let stats = self.monitors().map(|(monitor_id, state)| MonitorStats {
            monitor_id,
            messages: state.messages(),
            violations: state.violations,
        });
        stats.collect()
    }

    fn mode_config(
        &mut self,
        request: Request,
        config: &tenuto_openflow::ModeConfig,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let levels_fit = (1..=mode::LEVELS_MAX).contains(&usize::from(config.levels));
        if !levels_fit || config.members.len() > mode::MEMBERS_MAX || config.signal_copies == 0 {
            return Err(BadRequest::BadLen.into());
        }
        let levels = config.levels;
        let mut members = config.members.clone();
        members.sort_unstable();
        members.dedup();
        let config = ModeConfig {
            generation: config.generation,
            levels: config.levels,
            quiet: Span::from_ns(config.quiet_ns),
            retry: self.config.mode_retry,
            copies: config.signal_copies,
            members: members.into(),
        };
        if self.agent.as_ref().is_some_and(|agent| *agent.config() == config) {
            return Ok(());
        }
        let change = Task::Levels(Box::new(LevelChange { config, sweep: Sweep::default() }));
        let limit = self.entries_at_once().unwrap_or(usize::MAX);
        let is_long = levels != self.tables.levels() && self.tables.entries() > limit;
        let now = if is_long { self.note_down(request, change) } else { Some(change) };
        if let Some(Task::Levels(change)) = now {
            self.take_mode_config(request.now, change.config, frames, fx);
        }
        Ok(())
    }

    /// Goes a step on with a change of the number of levels; true if it is done.
    pub(super) fn change_levels_on(
        &mut self,
        now: Instant,
        change: &mut LevelChange,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let levels = change.config.levels;
        if !self.sweep(&mut change.sweep, |_, level, _| level >= levels) {
            return false;
        }
        let limit = self.entries_at_once().unwrap_or(usize::MAX);
        if levels > 1 && !self.tables.note_places(limit) {
            return false;
        }
        self.take_mode_config(now, change.config.clone(), frames, fx);
        true
    }

    /// From now on there are these modes. Entries in the way are gone and places known, but for those
    /// that came meanwhile.
    fn take_mode_config(
        &mut self,
        now: Instant,
        config: ModeConfig,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) {
        self.tables.set_levels(config.levels);
        let nonce_seed = self.agent.as_ref().map_or(self.config.boot_seed, ModeAgent::nonce_next);
        let is_trunk = |port: &&PortConfig| matches!(port.role, PortRole::Trunk(_));
        let trunks = self.config.ports.iter().filter(is_trunk).map(|port| port.port).collect();
        let agent = ModeAgent::new(self.config.datapath_id, config, trunks, nonce_seed, now);
        #[cfg(feature = "mutants")]
        let agent = agent.broken(self.mutant);
        (self.level, self.admitted) = (agent.level(), agent.admitted());
        self.agent = Some(agent);
        // Back at the highest level until it has joined: what has no place there leaves the queues.
        let queued = self.purge_all(frames, fx);
        let buffered = self.purge_buffers(self.level, frames, fx);
        self.purged += u64::from(queued + buffered);
    }

    fn mode_status(&self) -> ModeStatus {
        let (level, admitted_level, epoch) = self.mode();
        let steady = self.agent.as_ref().is_none_or(ModeAgent::is_steady);
        ModeStatus {
            generation: self.agent.as_ref().map_or(0, ModeAgent::generation),
            epoch,
            level,
            admitted_level,
            phase: u8::from(!steady) + u8::from(!self.has_joined()),
            is_standalone: self.is_standalone(),
            purged_frames: self.purged,
            raises: self.raises,
            returns: self.returns,
            signals_rejected: self.ports.iter().map(|p| p.counters.signals_rejected).sum(),
        }
    }
}
