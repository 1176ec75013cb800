//! Modes and the changes between them, in the order of analysis.

use tenuto_model::{Network, Transition};

/// Every steady mode, then every raise; one that can come before another is before it.
pub(crate) fn transitions(network: &Network) -> Vec<Transition> {
    let modes = u8::try_from(network.modes.len()).unwrap_or(u8::MAX).max(1);
    let steady = (0..modes).map(Transition::Steady);
    let raises = (0..modes).flat_map(|to| (0..to).map(move |from| Transition::Raise { from, to }));
    steady.chain(raises).collect()
}

/// The lowest and the highest mode whose contracts are in force.
pub(crate) fn span(transition: Transition) -> (usize, usize) {
    match transition {
        Transition::Steady(mode) => (usize::from(mode), usize::from(mode)),
        Transition::Raise { from, to } | Transition::Return { from: to, to: from } => {
            (usize::from(from), usize::from(to))
        }
    }
}
