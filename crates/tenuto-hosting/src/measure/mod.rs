//! Figures of environments and receive paths on this machine, in our setting those of \[SE2\]: short windows
//! that take turns, so that what the machine does beside them is in all of them alike.

mod batches;
mod client;
pub(crate) mod echo;
mod environment;
mod figures;
mod forwarding;
mod isolation;
mod plane;
mod planes;
mod requests;
mod run;
mod settings;
mod surroundings;
mod window;
mod within;

pub use figures::{Observed, Ratio, Row, Series};
pub use run::{MEASUREMENTS, measure};
pub(crate) use run::{ROLE, main};
pub use settings::MeasureSettings;
