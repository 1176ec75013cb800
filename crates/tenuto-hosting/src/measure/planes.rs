//! The paper's Fig. 8: one to five control planes at once.

use super::client::Talk;
use super::environment::Environment;
use super::figures::{Row, Series};
use super::requests::{MESSAGE_BYTES, contenders, split};
use super::surroundings::Surroundings;
use super::window::{Scheduling, talk_window};
use std::io;
use tenuto_model::{NicReceive, ReceivePath};

/// As many as the paper has.
const PLANES_MAX: usize = 5;

pub(super) fn measure(with: &Surroundings<'_>) -> io::Result<Series> {
    let mut notes = Vec::new();
    let mut blocks = Vec::new();
    let talk = Talk { connections: 16, outstanding: 8, bytes: MESSAGE_BYTES };
    let processor = with.processors[1];
    for path in [ReceivePath::Inline, ReceivePath::Threaded] {
        let receive = split(path, processor, NicReceive::RING_FRAMES);
        let wanted = [("", Environment::Sandbox, receive); PLANES_MAX];
        let mut all = contenders(with, &wanted, &mut notes)?;
        let row = |count| Row {
            setting: format!("{count} at once, {}", path.name()),
            rounds: Vec::new(),
        };
        let mut rows: Vec<Row> = (1..=all.len()).map(row).collect();
        for _ in 0..with.settings.rounds {
            for (count, row) in rows.iter_mut().enumerate() {
                let these = &mut all[..=count];
                let window = (Scheduling::RealTime, with.settings.window());
                row.rounds.push(talk_window(these, talk, with.processors[0], window)?);
            }
        }
        blocks.push(rows);
    }
    notes.push("sums over the control planes; 16 connections to each with 8 messages each; their switches are one thread, and all control planes share a processor".into());
    let title = "Control planes at once (Fig. 8), 384 B, in sandboxes".into();
    Ok(Series { name: "planes".into(), title, blocks, notes })
}
