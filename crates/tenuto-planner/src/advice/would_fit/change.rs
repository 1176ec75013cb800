//! One change of a description: its words, and what it makes of a network.

use tenuto_model::Network;

/// A change that may be tried.
pub(super) struct Change {
    /// Its words, as a line of *would fit* has them.
    pub(super) text: String,
    edit: Box<dyn Fn(&mut Network)>,
}

impl Change {
    /// A change that edits a copy of the network once it is tried.
    pub(super) fn new(text: String, edit: impl Fn(&mut Network) + 'static) -> Self {
        Self { text, edit: Box::new(edit) }
    }

    /// A change whose outcome is known.
    pub(super) fn to(text: String, changed: Network) -> Self {
        Self::new(text, move |network| network.clone_from(&changed))
    }

    /// The changed network.
    pub(super) fn of(&self, network: &Network) -> Network {
        let mut changed = network.clone();
        (self.edit)(&mut changed);
        changed
    }
}
