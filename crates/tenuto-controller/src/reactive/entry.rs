//! Flow-mods and actions in short.

use tenuto_openflow::constants::{port, port_config, port_state};
use tenuto_openflow::{
    Action, FlowMod, FlowModCommand, Instruction, Match, PortReason, PortStatus,
};

/// An entry of table 0 with the usual priority; without actions it drops. Other tables, priorities,
/// time-outs: `FlowMod { idle_timeout: 10, ..entry(match_, actions) }`.
pub fn entry(match_: Match, actions: Vec<Action>) -> FlowMod {
    let instructions = match actions.is_empty() {
        true => Vec::new(),
        false => vec![Instruction::ApplyActions(actions)],
    };
    FlowMod { match_, instructions, ..FlowMod::new(FlowModCommand::Add, 0) }
}

/// Deletes the entries of table 0 that the match covers; with a port only those that output there.
pub fn deletion(match_: Match, out_port: Option<u32>) -> FlowMod {
    let out_port = out_port.unwrap_or(port::ANY);
    FlowMod { match_, out_port, ..FlowMod::new(FlowModCommand::Delete, 0) }
}

/// The whole packet through a port.
pub const fn output(port: u32) -> Action {
    Action::Output { port, max_len: 0 }
}

/// Whether nothing can leave through the port any more.
pub fn is_gone(status: &PortStatus) -> bool {
    let is_down = status.port.state & port_state::LINK_DOWN != 0
        || status.port.config & port_config::PORT_DOWN != 0;
    status.reason == PortReason::Delete || is_down
}
