//! The tree of servers that the paths of one flow make together.

use std::collections::BTreeMap;
use tenuto_calculus::GraphVisit;

/// Paths of a flow, their common beginnings shared.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    visits: Vec<GraphVisit>,
    /// The visit of each server.
    of_server: BTreeMap<usize, usize>,
}

/// Why a path is not part of the tree: the index of the server where it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeError {
    /// The path visits the server twice.
    Twice(usize),
    /// Another path reaches the server over another one.
    Rejoins(usize),
}

impl Tree {
    /// Adds a path, which is not empty; gives its last visit. A path that does not fit changes
    /// nothing.
    pub(crate) fn add(&mut self, path: &[usize]) -> Result<usize, TreeError> {
        let mut seen = std::collections::BTreeSet::new();
        let mut parent = None;
        let mut is_new = false;
        for server in path {
            if !seen.insert(*server) {
                return Err(TreeError::Twice(*server));
            }
            match self.of_server.get(server) {
                Some(visit) if !is_new && self.visits[*visit].parent == parent => {
                    parent = Some(*visit);
                }
                Some(_) => return Err(TreeError::Rejoins(*server)),
                None => is_new = true,
            }
        }
        let mut parent = None;
        for server in path {
            let visit = *self.of_server.entry(*server).or_insert_with(|| {
                self.visits.push(GraphVisit { server: *server, parent });
                self.visits.len() - 1
            });
            parent = Some(visit);
        }
        Ok(parent.unwrap_or_default())
    }

    /// The visits, parents first.
    pub(crate) fn into_visits(self) -> Vec<GraphVisit> {
        self.visits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_beginnings_are_shared_and_other_meetings_refused() {
        let mut tree = Tree::default();
        assert_eq!(tree.add(&[0, 1, 2]), Ok(2));
        assert_eq!(tree.add(&[0, 1, 3]), Ok(3));
        assert_eq!(tree.add(&[0]), Ok(0));
        assert_eq!(tree.add(&[0, 4, 3]), Err(TreeError::Rejoins(3)));
        assert_eq!(tree.add(&[1, 2]), Err(TreeError::Rejoins(1)));
        assert_eq!(tree.add(&[5, 6, 5]), Err(TreeError::Twice(5)));
        assert_eq!(tree.add(&[7]), Ok(4), "another source");
        assert_eq!(tree.into_visits().len(), 5);
    }
}
