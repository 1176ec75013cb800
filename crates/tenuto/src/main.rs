//! Tenuto: plans, proves and enforces latency guarantees on small switched Ethernet networks.

#[cfg_attr(not(test), expect(dead_code, reason = "no verb calls it yet"))]
mod report;

fn main() {}
