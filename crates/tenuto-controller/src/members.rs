//! The managed switches, and when modes are started at them.
//!
//! A switch with modes starts in the highest level and forwards no lower one until it has joined
//! (docs/theory/modes.md, "Raise"). Who lets it join:
//!
//! - *First start.* When every managed switch is installed and none is running yet, the controller
//!   activates the start level everywhere, in one epoch above all that it has seen.
//! - *Restart of the controller.* Switches that still run the plan are adopted, and nothing is
//!   activated: an activation would undo a raise that they agreed on.
//! - *Restart of a switch.* If another managed switch is connected and has joined, the newcomer
//!   learns the mode by challenging its neighbours, which know it at first hand; the controller, whose
//!   knowledge may be old, asks them all for their mode and tells its owner. If there is none, nobody
//!   could answer the challenge: the controller activates the *highest* level, in an epoch above
//!   all that it has seen. That is the safe direction: it can only be more restrictive than what the
//!   network is in, and the switches return by themselves after the quiet window.

use crate::compile::ModeSettings;
use crate::events::ConnId;
use crate::outcome::InstallKind;
use crate::target::Target;
use std::collections::BTreeMap;
use tenuto_openflow::ModeStatus;

/// One managed switch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Member {
    pub(crate) target: Target,
    pub(crate) conn: Option<ConnId>,
    /// Installed and read back, and never disconnected since.
    pub(crate) is_installed: bool,
    /// Knows the network's mode, or is being told, as far as the controller can tell.
    pub(crate) has_joined: bool,
    /// Anomalies by kind.
    pub(crate) anomalies: [u64; 3],
}

impl Member {
    pub(crate) const fn new(target: Target) -> Self {
        let (conn, is_installed, has_joined) = (None, false, false);
        Self { target, conn, is_installed, has_joined, anomalies: [0; 3] }
    }

    /// The connection is gone: what the switch holds and knows must be found out again.
    pub(crate) const fn lost(&mut self) {
        self.conn = None;
        self.is_installed = false;
        self.has_joined = false;
    }
}

/// A mode to activate at switches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Activation {
    pub(crate) dpids: Vec<u64>,
    pub(crate) epoch: u64,
    pub(crate) level: u8,
}

/// All managed switches and what is known of the network's mode.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Members {
    pub(crate) by_dpid: BTreeMap<u64, Member>,
    pub(crate) modes: ModeSettings,
    start_level: u8,
    epoch_first: u64,
    /// Highest epoch seen in this generation.
    epoch_seen: u64,
    /// Modes have been started, by this controller or before it.
    is_started: bool,
}

impl Members {
    pub(crate) const fn new(
        by_dpid: BTreeMap<u64, Member>,
        modes: ModeSettings,
        start_level: u8,
        epoch_first: u64,
    ) -> Self {
        Self { by_dpid, modes, start_level, epoch_first, epoch_seen: 0, is_started: false }
    }

    /// Other modes: they are started afresh when every switch has them.
    pub(crate) fn set_modes(&mut self, modes: ModeSettings) {
        if modes != self.modes {
            self.epoch_seen =
                if modes.generation == self.modes.generation { self.epoch_seen } else { 0 };
            self.modes = modes;
            self.is_started = false;
            self.by_dpid.values_mut().for_each(|member| member.has_joined = false);
        }
    }

    /// Nothing is known of what switches hold and are in: another controller may have led meanwhile.
    pub(crate) fn begin_again(&mut self, modes: ModeSettings) {
        (self.modes, self.epoch_seen, self.is_started) = (modes, 0, false);
        for member in self.by_dpid.values_mut() {
            (member.is_installed, member.has_joined) = (false, false);
        }
    }

    /// An epoch was seen at a switch.
    pub(crate) fn saw_epoch(&mut self, generation: u64, epoch: u64) {
        if generation == self.modes.generation {
            self.epoch_seen = self.epoch_seen.max(epoch);
        }
    }

    /// A switch refused its activation.
    pub(crate) fn refused_activation(&mut self, dpid: u64) {
        if let Some(member) = self.by_dpid.get_mut(&dpid) {
            member.is_installed = false;
            member.has_joined = false;
        }
    }

    /// A switch told its mode.
    pub(crate) fn saw_status(&mut self, dpid: u64, status: &ModeStatus) {
        self.saw_epoch(status.generation, status.epoch);
        let is_running = status.generation == self.modes.generation && status.epoch > 0;
        if let Some(member) = self.by_dpid.get_mut(&dpid) {
            member.has_joined |= is_running;
        }
    }

    /// A switch is installed. Returns what is to be activated now, if anything.
    pub(crate) fn installed(
        &mut self,
        dpid: u64,
        kind: InstallKind,
        status: Option<&ModeStatus>,
    ) -> Option<Activation> {
        if let Some(member) = self.by_dpid.get_mut(&dpid) {
            member.is_installed = true;
        }
        if let Some(status) = status {
            self.saw_status(dpid, status);
        }
        // A switch that was running before this controller knew it: so is the network.
        // One that was changed by differences alone is such a one too.
        let was_running = kind != InstallKind::Fresh && self.has_joined(dpid);
        self.is_started |= was_running;
        if !self.uses_modes() {
            return None;
        }
        match self.is_started {
            false if self.all_installed() => Some(self.start()),
            true if !self.has_joined(dpid) => self.rejoin(dpid),
            _ => None,
        }
    }

    /// Whether there is a level to choose.
    pub(crate) const fn uses_modes(&self) -> bool {
        self.modes.levels > 1
    }

    pub(crate) fn all_installed(&self) -> bool {
        self.by_dpid.values().all(|member| member.is_installed)
    }

    fn has_joined(&self, dpid: u64) -> bool {
        self.by_dpid.get(&dpid).is_some_and(|member| member.has_joined)
    }

    /// Other switches that are connected and know the mode.
    pub(crate) fn joined_others(&self, dpid: u64) -> Vec<u64> {
        let others = self.by_dpid.iter().filter(|(id, member)| {
            **id != dpid && member.conn.is_some() && member.is_installed && member.has_joined
        });
        others.map(|(id, _)| *id).collect()
    }

    fn start(&mut self) -> Activation {
        self.is_started = true;
        let epoch = self.epoch_first.max(self.epoch_seen.saturating_add(1));
        self.activation(self.by_dpid.keys().copied().collect(), epoch, self.start_level)
    }

    fn rejoin(&mut self, dpid: u64) -> Option<Activation> {
        let is_alone = self.joined_others(dpid).is_empty();
        let epoch = self.epoch_first.max(self.epoch_seen.saturating_add(1));
        let highest = self.modes.levels.saturating_sub(1);
        is_alone.then(|| self.activation(vec![dpid], epoch, highest))
    }

    fn activation(&mut self, dpids: Vec<u64>, epoch: u64, level: u8) -> Activation {
        self.epoch_seen = self.epoch_seen.max(epoch);
        for dpid in &dpids {
            // As good as joined: a newcomer asks its neighbours until one can answer.
            if let Some(member) = self.by_dpid.get_mut(dpid) {
                member.has_joined = true;
            }
        }
        Activation { dpids, epoch, level }
    }
}
