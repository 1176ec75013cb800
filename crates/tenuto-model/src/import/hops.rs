//! Routes out of hops: the links that a flow uses, in whatever order a file lists them.

use std::collections::{BTreeMap, VecDeque};

/// The nodes between source and target over these hops, shortest way; `None` if they do not lead
/// there.
pub(super) fn route(hops: &[(String, String)], source: &str, target: &str) -> Option<Vec<String>> {
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in hops {
        next.entry(from).or_default().push(to);
    }
    let mut open = VecDeque::from([source]);
    while let Some(node) = open.pop_front() {
        for to in next.get(node).into_iter().flatten() {
            if *to != source && !before.contains_key(to) {
                before.insert(to, node);
                open.push_back(to);
            }
        }
    }
    let mut route = Vec::new();
    let mut node = *before.get(target)?;
    while node != source {
        route.push(node.to_owned());
        node = before.get(node)?;
    }
    route.reverse();
    Some(route)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_lead_from_source_to_target_in_any_order() {
        let hops = [("b", "t"), ("s", "a"), ("a", "b"), ("a", "u"), ("b", "a"), ("x", "y")];
        let hops = hops.map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(route(&hops, "s", "t"), Some(vec!["a".into(), "b".into()]));
        assert_eq!(route(&hops, "s", "u"), Some(vec!["a".into()]));
        assert_eq!(route(&hops, "s", "y"), None);
        assert_eq!(route(&hops, "s", "s"), None);
    }
}
