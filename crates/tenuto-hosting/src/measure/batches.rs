//! The paper's Fig. 7 in our setting: what is handed over at once, and how long the ring is.
//!
//! The kernel's hand-over has a fixed batch of 8 (the optimum of the paper); what varies here is how many messages
//! of a connection come at once, and how many frames the ring holds.

use super::client::Talk;
use super::environment::Environment;
use super::figures::Series;
use super::requests::{MESSAGE_BYTES, by_turns, contenders, split};
use super::surroundings::Surroundings;
use std::io;
use tenuto_model::{NicReceive, ReceivePath};

pub(super) fn measure(with: &Surroundings<'_>) -> io::Result<Series> {
    let mut notes = vec!["16 connections; a batch is what a connection has on its way".to_owned()];
    let processor = with.processors[1];
    let ring = |frames| split(ReceivePath::Cpumap, processor, frames);
    let wanted = [
        ("inline", Environment::Native, NicReceive::INLINE),
        ("threaded", Environment::Native, split(ReceivePath::Threaded, processor, 0)),
        ("cpumap, ring 64", Environment::Native, ring(64)),
        ("cpumap, ring 512", Environment::Native, ring(512)),
        ("cpumap, ring 2048", Environment::Native, ring(2_048)),
    ];
    let mut all = contenders(with, &wanted, &mut notes)?;
    let mut blocks = Vec::new();
    for outstanding in [1, 2, 4, 8, 16, 32] {
        let talk = Talk { connections: 16, outstanding, bytes: MESSAGE_BYTES };
        blocks.push(by_turns(with, &mut all, talk, &format!("batch {outstanding}"))?);
    }
    let title = "Batches and rings (Fig. 7), 384 B".into();
    Ok(Series { name: "batches".into(), title, blocks, notes })
}
