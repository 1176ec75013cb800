//! What one switch shall hold, worked out once.

use crate::compile::{ModeSettings, compile, needs_modes};
use crate::difference::FlowNames;
use crate::tables::SwitchTables;
use crate::watching::watching;
use tenuto_model::SwitchDeployment;
use tenuto_openflow::Body;

/// What one switch shall hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    pub(crate) commands: Vec<Body>,
    pub(crate) tables: SwitchTables,
    pub(crate) names: FlowNames,
    /// Number of mode levels, where the switch must know modes.
    pub(crate) levels: Option<u8>,
    pub(crate) generation: u64,
    clashes: usize,
}

impl Target {
    /// What the deployment asks for, and what watches links beside it, if that is wanted.
    pub(crate) fn new(
        deployment: &SwitchDeployment,
        modes: &ModeSettings,
        watches_links: bool,
    ) -> Self {
        let mut commands = compile(deployment, modes);
        if watches_links {
            commands.extend(watching(deployment));
        }
        let flows = deployment.entries.iter();
        let names = flows.filter_map(|entry| Some((entry.cookie, entry.flow.clone()?))).collect();
        let tables = SwitchTables::after(&commands);
        Self {
            clashes: clashes(&commands, &tables),
            tables,
            commands,
            names,
            levels: needs_modes(deployment, modes).then_some(modes.levels.max(1)),
            generation: modes.generation,
        }
    }

    /// Whether the switch must know modes.
    pub(crate) const fn needs_modes(&self) -> bool {
        self.levels.is_some()
    }

    /// How many commands name something that another command names as well. The deployment is then
    /// ambiguous: the later would silently replace the earlier.
    pub(crate) const fn clashes(&self) -> usize {
        self.clashes
    }
}

fn clashes(commands: &[Body], tables: &SwitchTables) -> usize {
    let SwitchTables { meters, groups, monitors, mode_config, entries } = tables;
    let named = meters.len() + groups.len() + monitors.len() + entries.len();
    commands.len() - named - usize::from(mode_config.is_some())
}
