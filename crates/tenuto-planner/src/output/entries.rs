//! Flow entries of one switch, in the three tables of the deployment.
//!
//! An entry without output and next table drops, and counts, under its flow's cookie: that is how
//! out-of-mode frames are told from unknown ones, which miss every entry.

use tenuto_model::{
    Addressing, EntrySpec, GroupOutput, GroupSpec, MatchSpec, Network, OutputSpec, PortRole,
    SwitchDeployment, TABLE_FORWARD, TABLE_POLICE, TABLE_WATCH,
};

/// Precedence of entries of a flow.
pub(crate) const OF_A_FLOW: u16 = 100;
/// Precedence of what trunks bring: it was policed where it came in.
const OF_TRUNKS: u16 = OF_A_FLOW - 1;
/// Precedence of entries that take what no flow's entry took.
pub(crate) const OF_THE_REST: u16 = 1;

/// One tree at one switch.
#[derive(Clone, Debug)]
pub(crate) struct Crossing {
    pub(crate) tree: usize,
    pub(crate) flow: usize,
    /// Port that it comes in by.
    pub(crate) in_port: u32,
    /// Whether it comes straight from its source.
    pub(crate) is_first: bool,
    /// Whether another copy of the flow crosses the switch: the port that they come in by tells them
    /// apart.
    pub(crate) is_shared: bool,
    /// Ports that it leaves by.
    pub(crate) outputs: Vec<u32>,
    /// The hop that leads here.
    pub(crate) through: usize,
}

/// The entries of one flow that crosses the switch.
pub(crate) fn flow(
    network: &Network,
    to: &mut SwitchDeployment,
    crossing: &Crossing,
    meter: Option<u32>,
    monitor: Option<u32>,
) {
    let flow = &network.flows[crossing.flow];
    let matching = Addressing::new(network).matching(crossing.flow);
    let arriving = MatchSpec { in_port: Some(crossing.in_port), ..matching };
    let entry = |table: u8, level: Option<u8>, matching: MatchSpec| EntrySpec {
        table,
        level,
        precedence: OF_A_FLOW,
        cookie: crossing.flow as u64 + 1,
        flow: Some(flow.name.clone()),
        matching,
        monitor: None,
        meter: None,
        output: None,
        goto: None,
    };
    if monitor.is_some() {
        let watched = entry(TABLE_WATCH, None, arriving);
        to.entries.push(EntrySpec { monitor, goto: Some(TABLE_POLICE), ..watched });
    }
    for level in 0..levels(network) {
        let contract = flow.contract(usize::from(level));
        if crossing.is_first {
            let policed = entry(TABLE_POLICE, Some(level), arriving);
            let goto = contract.map(|_| TABLE_FORWARD);
            to.entries.push(EntrySpec { meter: meter.filter(|_| goto.is_some()), goto, ..policed });
        }
        let forwarded = if crossing.is_shared { arriving } else { matching };
        let forwarded = entry(TABLE_FORWARD, Some(level), forwarded);
        let output = contract.map(|c| output(to, &crossing.outputs, c.priority));
        to.entries.push(EntrySpec { output, ..forwarded });
    }
}

/// One port, or a group that copies to several; groups with the same outputs are one.
pub(crate) fn output(to: &mut SwitchDeployment, ports: &[u32], queue: u8) -> OutputSpec {
    let outputs: Vec<GroupOutput> = ports.iter().map(|&port| GroupOutput { port, queue }).collect();
    if let [only] = outputs.as_slice() {
        return OutputSpec::Port(*only);
    }
    if let Some(known) = to.groups.iter().find(|group| group.outputs == outputs) {
        return OutputSpec::Group(known.id);
    }
    let id = next_id(to.groups.len());
    to.groups.push(GroupSpec { id, outputs });
    OutputSpec::Group(id)
}

/// Mode levels of a network.
pub(crate) fn levels(network: &Network) -> u8 {
    u8::try_from(network.modes.len()).unwrap_or(u8::MAX).max(1)
}

/// Entries of no flow: on to policing, and past it for what was policed before. Only the watching
/// table is the same in every level; the policing table has its trunks' entries in each.
pub(crate) fn frame(to: &mut SwitchDeployment, levels: u8) {
    let rest = |table: u8, level: Option<u8>, in_port: Option<u32>, goto: u8| EntrySpec {
        table,
        level,
        precedence: OF_THE_REST,
        cookie: 0,
        flow: None,
        matching: MatchSpec { in_port, ..MatchSpec::default() },
        monitor: None,
        meter: None,
        output: None,
        goto: Some(goto),
    };
    to.entries.push(rest(TABLE_WATCH, None, None, TABLE_POLICE));
    for port in to.ports.iter().filter(|port| port.role == PortRole::Trunk) {
        let entry = |level| EntrySpec {
            precedence: OF_TRUNKS,
            ..rest(TABLE_POLICE, Some(level), Some(port.port), TABLE_FORWARD)
        };
        to.entries.extend((0..levels).map(entry));
    }
    to.entries.sort_by_key(|e| (e.table, e.level, std::cmp::Reverse(e.precedence), e.cookie));
}

pub(crate) fn next_id(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX - 1) + 1
}
