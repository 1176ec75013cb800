//! The process inside: makes the bridges, has them changed, and tells.

use super::controllers::{by_os_ken, by_ours};
use super::network::Bridges;
use super::{BridgeOrder, BridgeReport};
use crate::assemble;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use tenuto_controller::ModeCommands;
use tenuto_io::links::{IpBatch, LinkName};
use tenuto_io::realtime;

/// Where a frame is the request to change the mode: "discard", which no flow uses.
pub(super) const REQUEST_UDP_PORT: u16 = 9;

/// Plays the role; the order is the first line of its input.
pub(crate) fn main() -> ExitCode {
    let found = measured().map_err(|error| error.to_string());
    if let Ok(text) = serde_json::to_string(&found) {
        // Whoever does not listen any more has ended us too.
        let _ = writeln!(io::stdout(), "{text}");
    }
    ExitCode::SUCCESS
}

fn measured() -> io::Result<BridgeReport> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let order: BridgeOrder = serde_json::from_str(&line)?;
    // Control channels are local.
    let loopback = LinkName::new("lo").map_err(io::Error::other)?;
    IpBatch::new().up(&loopback).run().map_err(io::Error::other)?;
    let processors = realtime::allowed_processors()?;
    let own = processors.last().copied().filter(|_| processors.len() > 1);
    let mut bridges = Bridges::start(&order, own)?;
    // As the switches of a lab, the daemon has a processor for itself, where there are two.
    if own.is_some() {
        realtime::pin_to(&processors[..processors.len() - 1])?;
    }
    let modes = assemble::modes(&order.plan).settings();
    let commands: Vec<ModeCommands> = order
        .plan
        .switches
        .iter()
        .map(|it| ModeCommands::without_monitors(it, &modes, REQUEST_UDP_PORT))
        .collect();
    let ours = by_ours(&mut bridges, &commands, order.changes);
    let os_ken = order.os_ken.as_ref().map(|python| {
        by_os_ken(&mut bridges, &commands, order.changes, python).map_err(|it| it.to_string())
    });
    Ok(BridgeReport { own: ours.map_err(|error| error.to_string()), os_ken })
}
