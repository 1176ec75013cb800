//! A change of mode that a controller makes of the same network in Open vSwitch: what \[MC-SDN\] held
//! its switches against (sections III-A and VII-A).
//!
//! Every switch is a bridge of the userspace datapath, all of one daemon, with the same links, entries,
//! groups and meters; the request is a frame that an entry of the first one sends to the controller.
//! The controllers are ours and os-ken, one after the other. All of it is in namespaces of its own, in a
//! process of its own.

mod controllers;
mod inside;
mod network;

pub(crate) use inside::main;

use super::apart;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;
use tenuto_model::Plan;

/// First argument of the process inside.
pub(crate) const ROLE: &str = "__bridges";

/// What is to be measured; the first line that the process inside is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BridgeOrder {
    /// The network and its entries.
    pub plan: Plan,
    /// The host whose line the request comes by.
    pub requester: String,
    /// Changes by each controller.
    pub changes: u32,
    /// A Python that has os-ken, if it is to be measured too.
    pub os_ken: Option<PathBuf>,
}

/// What came of one controller's changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeChanges {
    /// From the sending of the request to the last reply to a barrier, nanoseconds.
    pub delays_ns: Vec<u64>,
    /// Changes that did not come to their end within seconds.
    pub unfinished: u32,
}

/// What was found, or why nothing was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeReport {
    /// Of our controller.
    pub own: Result<BridgeChanges, String>,
    /// Of os-ken; `None` if it was not to be measured.
    pub os_ken: Option<Result<BridgeChanges, String>>,
}

/// Measures in namespaces of its own.
///
/// # Errors
///
/// When namespaces are not allowed here, or Open vSwitch is missing or does not take the network; the text
/// says which.
pub fn measure_bridges(order: &BridgeOrder) -> io::Result<BridgeReport> {
    let mut guardian = apart::start(&[ROLE], Stdio::piped())?;
    let missing = || io::Error::other("no pipe");
    let mut stdin = guardian.stdin.take().ok_or_else(missing)?;
    let mut line = serde_json::to_vec(order)?;
    line.push(b'\n');
    stdin.write_all(&line)?;
    let mut text = String::new();
    BufReader::new(guardian.stdout.take().ok_or_else(missing)?).read_line(&mut text)?;
    guardian.wait()?;
    if text.is_empty() {
        return Err(io::Error::other("the measuring process ended without a result"));
    }
    let found: Result<BridgeReport, String> = serde_json::from_str(&text)?;
    found.map_err(io::Error::other)
}
