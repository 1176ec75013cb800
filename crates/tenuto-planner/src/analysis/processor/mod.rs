//! Processors that ports share: what enters them, and how long it takes there (theory, "A
//! processor that the ports share").

mod bound;
mod builder;
mod changes;
mod costs;
mod flooded;
mod site;
mod sites;
mod stream;

pub(crate) use bound::Held;
pub(crate) use changes::{Changing, SIGNAL_WIRE_UBIT};
pub(crate) use costs::{Costs, frame_sizes};
pub(crate) use site::{Line, Site};
pub(crate) use sites::Processors;
