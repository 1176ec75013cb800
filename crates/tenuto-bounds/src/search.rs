//! Which linear programs are tried for a target.

use crate::outcome::{Effort, Method, Options};
use crate::program::{Objective, program};
use crate::prove::{Proved, prove};
use crate::solver::InteriorPoint;
use crate::surroundings::{Known, survey};
use crate::tree::{Dates, Tree};

/// The least bound of the delay along a trunk of servers that a linear program within the
/// options proves, constants not included.
pub(crate) fn delay(
    known: &Known<'_>,
    trunk: &[usize],
    options: &Options,
) -> Option<(Method, Proved)> {
    let mut tree = Tree::unfold(known.graph, known.topology, trunk, options.tree_servers_max)?;
    survey(known, &mut tree)?;
    let objective = Objective::Delay { from: trunk.len() - 1 };
    let mut best: Option<(Method, Proved)> = None;
    let ladder: &[Dates] = match options.effort {
        Effort::Tfa => &[],
        Effort::Plp => &[Dates::Polynomial],
        Effort::Tight => &[Dates::Polynomial, Dates::Switches(1), Dates::Switches(usize::MAX)],
    };
    let mut dates_before = 0;
    for &dates in ladder {
        let tree = tree.clone().with_dates(dates);
        if tree.dates() > options.dates_max || tree.dates() == dates_before {
            break;
        }
        dates_before = tree.dates();
        let Some(program) = program(known, &tree, objective, options.rows_max) else {
            break;
        };
        let t = std::time::Instant::now();
        let Some(proved) = prove(&InteriorPoint, &program, &tree, objective) else { continue };
        eprintln!(
            "{dates:?}: dates {} unknowns {} rows {} terms {} bound {} in {:?}",
            tree.dates(),
            program.unknowns.len(),
            program.rows.len(),
            proved.proof.terms.len(),
            proved.bound as f64 / 1e9,
            t.elapsed()
        );
        let method = if dates == Dates::Polynomial { Method::Plp } else { Method::Elp };
        if best.as_ref().is_none_or(|(_, b)| proved.bound < b.bound) {
            best = Some((method, proved));
        }
    }
    best
}
