//! Networks of the time-sensitive SDN evaluations (Stuttgart): a list of links, one `(a b)` per
//! direction, and a list of flows, `(source target … period)` with periods in base periods.

use super::assembly::{Assembly, FlowParts, target};
use super::{Import, topology};
use crate::read::network::Draft;
use crate::read::reader::shown;
use crate::yaml::Place;
use crate::{Contract, Size};
use std::collections::BTreeSet;
use tenuto_units::FRAME_BYTES_MAX;

/// A base period, where `--cycle` names none, nanoseconds.
const BASE_NS: u64 = 1_000_000;
/// Most links, and most flows.
const LINES_MAX: usize = 100_000;
/// The longest period, in base periods.
const PERIOD_MAX: u64 = 1_000_000;

/// Links are the file itself, flows that of `--flows`.
pub(super) fn read(it: &mut Import<'_>) -> Option<Draft> {
    let name = it.stem();
    let mut assembly = Assembly::new(&name);
    let links = tuples(it, 0, it.text)?;
    if links.is_empty() {
        it.error(
            Place { line: 1, ..Place::default() },
            "the file has no link",
            "write (h1 s1), one a line",
        );
        return None;
    }
    let rate = assembly.rate_or_option(it, None, Place::default())?;
    let mut known = BTreeSet::new();
    for (place, words) in &links {
        let [a, b] = words.as_slice() else {
            it.error(*place, "a link has two ends", "write (h1 s1)");
            continue;
        };
        for node in [a, b] {
            if known.insert(*node) {
                match topology::kind_by_name(node) {
                    topology::Kind::Host => assembly.host(it, node, *place),
                    topology::Kind::Switch => assembly.switch(it, node, 0, *place),
                }
            }
        }
        let ends = (assembly.node(it, a, *place), assembly.node(it, b, *place));
        if let (Some(a), Some(b)) = ends {
            assembly.link(it, [&a, &b], rate, 0, *place);
        }
    }
    it.note("nodes named h1, host… are hosts, the others switches");
    let Some(path) = it.options.flows else {
        it.note("the file has no flows: name that of the flows with --flows FILE");
        return Some(assembly.finish(it));
    };
    let text = topology::load(it, path)?;
    let file = it.reader.add_file(path, &text);
    add_flows(it, &mut assembly, file, &text)?;
    Some(assembly.finish(it))
}

fn add_flows(it: &mut Import<'_>, assembly: &mut Assembly, file: usize, text: &str) -> Option<()> {
    let base_ns = it.options.cycle_ns.unwrap_or(BASE_NS);
    it.note(format!(
        "a base period is {} (--cycle); flows state no size: each is taken as one frame of \
         {FRAME_BYTES_MAX} B per period",
        crate::quantity::format_time(base_ns)
    ));
    it.assume_deadlines("the period, as flows state none");
    it.note("flows are sporadic: no time slots are planned");
    for (number, (place, words)) in tuples(it, file, text)?.into_iter().enumerate() {
        let [source, hosts @ .., period] = words.as_slice() else { continue };
        let periods = period.parse::<u64>().ok().filter(|n| (1..=PERIOD_MAX).contains(n));
        let Some(periods) = periods.filter(|_| !hosts.is_empty()) else {
            let message = format!("`{}` is no flow", shown(&words.join(" ")));
            it.error(place, message, "write (source target period), the period in base periods");
            continue;
        };
        let period_ns = base_ns.saturating_mul(periods);
        let source = assembly.node(it, source, place)?;
        let mut targets = Vec::new();
        for host in hosts {
            targets.push(target(&assembly.node(it, host, place)?, period_ns, None));
        }
        let size = Size::FrameBytes(FRAME_BYTES_MAX);
        let contract =
            Contract { period_ns, size, frame_bytes_min: None, jitter_ns: 0, priority: 0 };
        let name = format!("f{}", number + 1);
        let parts = FlowParts { name, source, targets, contract, vl: None, place };
        assembly.flow(it, parts);
    }
    Some(())
}

/// The words of every line, which are in parentheses.
fn tuples<'t>(
    it: &mut Import<'_>,
    file: usize,
    text: &'t str,
) -> Option<Vec<(Place, Vec<&'t str>)>> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = Place { file, line: number, ..Place::default() };
        let inner = line.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        let Some(inner) = inner else {
            it.error(place, "a line is not in parentheses", "write (a b)");
            return None;
        };
        if found.len() == LINES_MAX {
            it.error(place, "there are too many lines", "at most 100000");
            return None;
        }
        found.push((place, inner.split_whitespace().collect()));
    }
    Some(found)
}
