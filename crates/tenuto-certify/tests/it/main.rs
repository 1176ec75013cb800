//! What the checker accepts and refuses. One program, since every program is linked by itself.

mod accepted;
mod described;
mod enumerated;
mod graphs_mended;
mod lines;
mod mended;
mod never_panics;
mod size;
mod support;
mod tampers;
