//! What has to hold whatever is asked, in whatever order.

mod ceilings;
mod decisions;
mod incremental;
mod leaving;
mod networks;
mod played;
mod processors;
mod sequences;
mod signals;
mod twins;
mod whole_frames;
mod yielding;
