//! Programs with few dates over all servers in front of a way: what the search with more dates has
//! to cut off where many ways share its effort (docs/theory/end-to-end.md, "Whole trees").

use crate::outcome::{Method, Options};
use crate::prove::{Proved, Solved};
use crate::search::largest;
use crate::surroundings::Known;

/// The least bound of the delay along a trunk of servers that the polynomial program of its whole
/// tree proves, or that with the dates of all parts of the trunk, each as far as `rows_max` allows;
/// `None` if that is not below `limit_ps`.
pub(crate) fn delay(
    known: &Known<'_>,
    trunk: &[usize],
    options: &Options,
    rows_max: usize,
    solved: &Solved<'_>,
    limit_ps: Option<i128>,
) -> Option<(Method, Proved)> {
    let options =
        Options { tree_servers_max: options.whole_servers_max, dates_max: rows_max, ..*options };
    largest(known, trunk, &options, rows_max, solved, limit_ps)
}
