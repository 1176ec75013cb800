//! Which switches are near to the destinations of what a decision changes.

use std::collections::{BTreeMap, BTreeSet};
use tenuto_model::{Plan, Route};

/// Datapath ids of the switches of changed flows in waves, those next to destinations first: none before what lies behind it on
/// the way of any such flow. Where flows go against each other and no order is that of all, the switch with the fewest between
/// it and its farthest destination comes first.
pub(crate) fn nearest(old: &Plan, new: &Plan) -> Vec<Vec<u64>> {
    let mut between: BTreeMap<&str, usize> = BTreeMap::new();
    let mut behind: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for route in differing(old, new).chain(differing(new, old)) {
        for path in &route.paths {
            let mut next = None;
            // The first port is the source's own.
            for (count, port) in path.ports.iter().skip(1).rev().enumerate() {
                let known = between.entry(port.node.as_str()).or_default();
                *known = count.max(*known);
                behind.entry(port.node.as_str()).or_default().extend(next);
                next = Some(port.node.as_str());
            }
        }
    }
    let dpid = |name: &&str| new.switches.iter().find(|it| it.switch == **name);
    let ids = |wave: &Vec<&str>| wave.iter().filter_map(dpid).map(|it| it.datapath_id).collect();
    waves(behind, &between).iter().map(ids).collect()
}

/// Each wave is all that has nothing left behind it.
fn waves<'a>(
    mut behind: BTreeMap<&'a str, BTreeSet<&'a str>>,
    between: &BTreeMap<&str, usize>,
) -> Vec<Vec<&'a str>> {
    let mut waves = Vec::new();
    while !behind.is_empty() {
        let free = behind.iter().filter(|(_, left)| left.is_empty()).map(|(name, _)| *name);
        let mut wave: Vec<&str> = free.collect();
        if wave.is_empty() {
            // They lie behind one another.
            wave.extend(behind.keys().copied().min_by_key(|name| between.get(name)));
        }
        for name in &wave {
            behind.remove(name);
            for left in behind.values_mut() {
                left.remove(name);
            }
        }
        waves.push(wave);
    }
    waves
}

/// Routes of flows that the other plan has not, or not so.
fn differing<'a>(plan: &'a Plan, other: &'a Plan) -> impl Iterator<Item = &'a Route> {
    plan.routes.iter().filter(move |route| {
        let is_same = plan.network.flow(&route.flow) == other.network.flow(&route.flow);
        !is_same || !other.routes.contains(route)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waves_of(ways: &[&[&'static str]]) -> Vec<Vec<&'static str>> {
        let (mut behind, mut between) = (BTreeMap::new(), BTreeMap::new());
        for way in ways {
            for (place, name) in way.iter().enumerate() {
                let left: &mut BTreeSet<&str> = behind.entry(*name).or_default();
                left.extend(way.get(place + 1));
                let count: &mut usize = between.entry(*name).or_default();
                *count = (way.len() - 1 - place).max(*count);
            }
        }
        waves(behind, &between)
    }

    #[test]
    fn a_switch_waits_for_what_lies_behind_it_on_any_way() {
        // Each of s1 and s2 has one switch behind it, but s1 has s2.
        assert_eq!(waves_of(&[&["s1", "s2"], &["s2", "s3"]]), [["s3"], ["s2"], ["s1"]]);
    }

    #[test]
    fn flows_against_each_other_have_some_order() {
        assert_eq!(waves_of(&[&["s1", "s2", "s3"], &["s2", "s1"]]), [["s3"], ["s2"], ["s1"]]);
        assert_eq!(waves_of(&[&["s1", "s2"], &["s2", "s1"]]), [["s1"], ["s2"]]);
    }
}
