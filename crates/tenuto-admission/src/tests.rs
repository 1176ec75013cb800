//! What has to hold whatever is asked, in whatever order.

mod decisions;
mod incremental;
mod leaving;
mod networks;
mod processors;
mod sequences;
mod twins;
