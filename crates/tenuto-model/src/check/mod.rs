//! Whether a description as a whole can be: every rule, every violation.

mod between;
mod flows;
mod topology;

use crate::read::network::Draft;
use crate::read::reader::Reader;
use topology::Topology;

/// Judges a complete draft; parts that could not be read in full are left out, so that one slip
/// is reported once.
pub(crate) fn judge(reader: &mut Reader, draft: &Draft) {
    let topology = Topology::new(&draft.network);
    topology::judge_topology(reader, draft, &topology);
    flows::judge_flows(reader, draft, &topology);
    flows::judge_policies(reader, draft);
}
