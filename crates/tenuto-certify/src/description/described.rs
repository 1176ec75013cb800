//! What a description must say to be one: names that tell things apart, contracts that hosts
//! without knowledge of the mode can keep, classes that switches have.
//!
//! The reading of network files asks for all of this too; a plan from elsewhere need not come from
//! there.

use crate::description::net::{Contract, Flow, Net};
use crate::description::read::{self, OtherTraffic, Size};
use crate::finding::{Findings, rule};
use std::collections::BTreeSet;
use tenuto_units::{FRAME_BYTES_MAX, FRAME_BYTES_MIN};

/// Queues of a port.
pub(crate) const QUEUES_MAX: u8 = 64;
/// Characters of a name.
const NAME_CHARS_MAX: usize = 64;

/// Checks names and numbers that have to be one thing's only.
pub(crate) fn check_names(raw: &read::Network, findings: &Findings) {
    let hosts = raw.hosts.iter().map(|host| &host.name);
    let switches = raw.switches.iter().map(|switch| &switch.name);
    let flows = raw.flows.iter().map(|flow| &flow.name);
    let controllers = raw.controllers.iter().map(|controller| &controller.name);
    let others = raw.modes.iter().chain(&raw.networks).chain(raw.profiles.keys());
    for name in hosts.chain(switches).chain(flows).chain(controllers).chain(others) {
        if !is_name(name) {
            let found = "1 to 64 characters, none of them a control character or : > , \" `";
            findings.add(rule::DESCRIPTION, name, "a name", found);
        }
    }
    for name in raw.modes.iter().filter(|name| name.contains(char::is_whitespace)) {
        findings.add(rule::DESCRIPTION, name, "a mode", "one word");
    }
    for (what, names) in [("a mode", &raw.modes), ("a redundant network", &raw.networks)] {
        let mut seen = BTreeSet::new();
        for name in names.iter().filter(|name| !seen.insert(*name)) {
            findings.add(rule::DESCRIPTION, name, what, "the name is taken");
        }
    }
    let mut ids = BTreeSet::new();
    for switch in raw.switches.iter().filter(|switch| !ids.insert(switch.datapath_id)) {
        let claim = format!("datapath id {}", switch.datapath_id);
        findings.add(rule::DESCRIPTION, &switch.name, claim, "it is another switch's too");
    }
    for switch in raw.switches.iter().filter(|switch| switch.datapath_id == 0) {
        findings.add(rule::DESCRIPTION, &switch.name, "datapath id 0", "numbers from 1");
    }
}

fn is_name(name: &str) -> bool {
    let is_odd = |c: char| c.is_control() || matches!(c, ':' | '>' | ',' | '"' | '`');
    // A cut is enough to tell that it is too long.
    let count = name.chars().take(NAME_CHARS_MAX + 1).count();
    (1..=NAME_CHARS_MAX).contains(&count) && !name.contains(is_odd)
}

/// What is wrong with the contracts of a flow taken together, lowest mode first.
pub(crate) fn contracts_flaw(raw: &read::Flow, contracts: &[Contract]) -> Option<&'static str> {
    let pairs = || contracts.windows(2);
    let shrinks = |pair: &[Contract]| {
        pair[1].packets.wire_bits() < pair[0].packets.wire_bits()
            || pair[1].period_ns > pair[0].period_ns
            || pair[1].jitter_ps < pair[0].jitter_ps
    };
    if pairs().any(shrinks) {
        // Hosts do not know the mode, and what a mode is analysed with is its own contract.
        return Some("what a mode allows every higher one allows: hosts do not know the mode");
    }
    if pairs().any(|pair| pair[0].class != pair[1].class) {
        return Some("one priority in all modes, or frames overtake others of their flow");
    }
    let has_shims = |size: &Size| matches!(size, Size::Message(_));
    let shims = raw.contracts.iter().filter(|contract| has_shims(&contract.size)).count();
    let is_mixed = shims > 0 && shims < raw.contracts.len();
    if is_mixed && contracts.iter().any(|contract| !contract.packets.is_one_frame()) {
        return Some("messages in all modes, or frames in all: a monitor counts one or the other");
    }
    None
}

/// Other traffic goes below every flow, in a class that every switch has.
pub(crate) fn check_other_traffic(net: &Net<'_>, flows: &[Flow<'_>]) {
    let OtherTraffic::Carry { priority, rate_bps, frame_bytes_max } = net.raw.other_traffic else {
        return;
    };
    let mut classes = flows.iter().flat_map(|flow| &flow.contracts).map(|contract| contract.class);
    if classes.any(|class| class >= priority)
        || priority >= net.queues_least()
        || !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&frame_bytes_max)
        || rate_bps == 0
    {
        let found = "a class below every flow that switches have, frames that an Ethernet can \
                     carry, a rate above zero";
        net.wrong(rule::DESCRIPTION, "other traffic", format!("class {priority}"), found);
    }
}
