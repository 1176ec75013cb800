//! Control planes by environment and receive path: requests and answers of one size.

use super::client::Talk;
use super::environment::Environment;
use super::figures::{Row, Series};
use super::plane::{Contender, Plane};
use super::surroundings::Surroundings;
use super::window::{PRIORITY, Scheduling, talk_window};
use std::io;
use tenuto_model::{NicReceive, ReceivePath, ReceivePriority};

/// A message of the paper's last figure.
pub(super) const MESSAGE_BYTES: usize = 384;

/// A path whose thread runs on the processor of the control plane, and gives way to it.
pub(super) fn split(path: ReceivePath, processor: usize, ring_frames: u32) -> NicReceive {
    let processor = u32::try_from(processor).ok();
    let priority = ReceivePriority::Fifo(PRIORITY - 1);
    match path {
        ReceivePath::Inline | ReceivePath::Auto => NicReceive::INLINE,
        _ => NicReceive { path, processor, priority, ring_frames },
    }
}

/// Starts one, the virtual NIC of which has the number `number`.
pub(super) fn contender(
    with: &Surroundings<'_>,
    number: usize,
    name: &str,
    environment: Environment,
    receive: NicReceive,
) -> io::Result<Contender> {
    let number = u8::try_from(number + 1).map_err(io::Error::other)?;
    let plane = Plane::start(&with.host, number, environment, receive, &with.groups)?;
    let subject = plane.subject(with.processors[1])?;
    Ok(Contender { name: name.to_owned(), plane, subject })
}

/// Starts those that the machine gives; notes say which it does not.
pub(super) fn contenders(
    with: &Surroundings<'_>,
    wanted: &[(&str, Environment, NicReceive)],
    notes: &mut Vec<String>,
) -> io::Result<Vec<Contender>> {
    let mut all = Vec::new();
    for (number, &(name, environment, receive)) in wanted.iter().enumerate() {
        match contender(with, number, name, environment, receive) {
            Ok(it) => all.push(it),
            // Without the plain path there is nothing to hold others against.
            Err(error) if number == 0 => return Err(error),
            Err(error) => notes.push(format!("{name} cannot be had here: {error}")),
        }
    }
    Ok(all)
}

/// Lets all of them have their windows by turns, in `rounds` rounds.
pub(super) fn by_turns(
    with: &Surroundings<'_>,
    all: &mut [Contender],
    talk: Talk,
    words: &str,
) -> io::Result<Vec<Row>> {
    let row = |it: &Contender| Row { setting: format!("{words}, {}", it.name), rounds: Vec::new() };
    let mut rows: Vec<Row> = all.iter().map(row).collect();
    for _ in 0..with.settings.rounds {
        for (contender, row) in all.iter_mut().zip(&mut rows) {
            let alone = std::slice::from_mut(contender);
            let window = (Scheduling::RealTime, with.settings.window());
            row.rounds.push(talk_window(alone, talk, with.processors[0], window)?);
        }
    }
    Ok(rows)
}

/// The paper's Fig. 6: sizes, by environment.
pub(super) fn environments(with: &Surroundings<'_>) -> io::Result<Series> {
    let mut notes = Vec::new();
    let processor = with.processors[1];
    let of = |path| split(path, processor, NicReceive::RING_FRAMES);
    let wanted = [
        ("native, inline", Environment::Native, NicReceive::INLINE),
        ("sandbox, inline", Environment::Sandbox, NicReceive::INLINE),
        ("sandbox, threaded", Environment::Sandbox, of(ReceivePath::Threaded)),
        ("sandbox, cpumap", Environment::Sandbox, of(ReceivePath::Cpumap)),
    ];
    let mut all = contenders(with, &wanted, &mut notes)?;
    let mut blocks = Vec::new();
    for bytes in [64, 256, 384, 1_024, 1_500] {
        let talk = Talk { connections: 16, outstanding: 8, bytes };
        blocks.push(by_turns(with, &mut all, talk, &format!("{bytes} B"))?);
    }
    notes.push("16 connections with 8 messages each on their way".into());
    let title = "Environments by size of message (Fig. 6)".into();
    Ok(Series { name: "environments".into(), title, blocks, notes })
}

/// How many messages are on their way decides which path serves.
pub(super) fn measure(with: &Surroundings<'_>) -> io::Result<Series> {
    let mut notes = Vec::new();
    let processor = with.processors[1];
    let of = |path| split(path, processor, NicReceive::RING_FRAMES);
    let wanted = [
        ("inline", Environment::Sandbox, NicReceive::INLINE),
        ("threaded", Environment::Sandbox, of(ReceivePath::Threaded)),
        ("cpumap, ring 512", Environment::Sandbox, of(ReceivePath::Cpumap)),
    ];
    let mut all = contenders(with, &wanted, &mut notes)?;
    let mut blocks = Vec::new();
    for (connections, outstanding) in [(1, 1), (64, 1), (64, 8)] {
        let talk = Talk { connections, outstanding, bytes: MESSAGE_BYTES };
        blocks.push(by_turns(with, &mut all, talk, &format!("{connections} × {outstanding}"))?);
    }
    let title =
        "Receive paths by messages on their way (connections × messages each), 384 B".into();
    Ok(Series { name: "requests".into(), title, blocks, notes })
}
