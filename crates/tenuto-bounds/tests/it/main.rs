//! Bounds of server graphs, held against published figures and play. One program, since every program is linked by itself.

mod any_order;
mod circles;
mod full_load;
mod networks;
mod peers;
mod peers_refuted;
mod simulated;
mod tampered;
mod tandems;
mod total_flow;
