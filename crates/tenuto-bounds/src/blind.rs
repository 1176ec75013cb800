//! Bounds by the program of [`crate::any_order`]: whose trees, and how large.

use crate::any_order::{Of, program};
use crate::grouping::Grouping;
use crate::outcome::Options;
use crate::program::Objective;
use crate::prove::{Proved, Solved, prove};
use crate::surroundings::{Known, survey};
use crate::topology::Stop;
use crate::tree::Tree;
use tenuto_calculus::Multiplexing;

/// The least bound of the delay of a flow to its visit at the last server of `trunk`, constants
/// not included.
pub(crate) fn delay(
    known: &Known<'_>,
    trunk: &[usize],
    stop: Stop,
    options: &Options,
    solved: &mut Solved<'_>,
) -> Option<Proved> {
    let objective = Objective::Delay { from: trunk.len().checked_sub(1)? };
    bound(known, trunk, Of::Delay(stop), objective, options, solved)
}

fn bound(
    known: &Known<'_>,
    trunk: &[usize],
    of: Of,
    objective: Objective,
    options: &Options,
    solved: &mut Solved<'_>,
) -> Option<Proved> {
    let is_burst = matches!(of, Of::Burst(_));
    let (graph, topology, order) = (known.graph, known.topology, Multiplexing::Arbitrary);
    let servers_max = options.tree_servers_max;
    let mut tree = Tree::unfold(graph, topology, trunk, servers_max, is_burst, order)?;
    survey(known, &mut tree)?;
    let (Of::Delay(stop) | Of::Burst(stop)) = of;
    let grouping = Grouping::new(known, &tree, Some(stop.flow))?;
    let tree = tree.with_service_dates();
    let program = program(known, &tree, &grouping, of)?;
    prove(solved, &program, &tree, objective)
}
