//! Where a file has flows only: the hosts it names, on one switch, or on a given topology.

use super::assembly::Assembly;
use super::{Import, topology};
use crate::yaml::Place;
use std::collections::BTreeMap;

/// Name of the only switch.
const SWITCH: &str = "sw";

/// The topology of `--topology`, or a star of these hosts with the places that name them.
pub(super) fn base(it: &mut Import<'_>, hosts: &BTreeMap<String, Place>) -> Option<Assembly> {
    if let Some(path) = it.options.topology {
        return topology::of_file(it, path);
    }
    let name = it.stem();
    let mut assembly = Assembly::new(&name);
    let rate = assembly.rate_or_option(it, None, Place::default())?;
    assembly.switch(it, SWITCH, 0, Place::default());
    for (host, place) in hosts {
        assembly.host(it, host, *place);
        assembly.link(it, [host, SWITCH], rate, 0, *place);
    }
    it.note(format!(
        "the file has no topology: its hosts are on one switch, {SWITCH} (--topology)"
    ));
    Some(assembly)
}
