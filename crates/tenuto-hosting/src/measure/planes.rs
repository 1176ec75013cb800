//! The paper's Fig. 8: one to five control planes at once.

use super::client::Talk;
use super::environment::Environment;
use super::figures::{Observed, Row, Series};
use super::requests::{Contender, MESSAGE_BYTES, contenders, split};
use super::run::Surroundings;
use super::window::talk_window;
use std::io;
use tenuto_model::{NicReceive, ReceivePath};

/// As many as the paper has.
const PLANES_MAX: usize = 5;

pub(super) fn measure(with: &Surroundings<'_>) -> io::Result<Series> {
    let mut notes = Vec::new();
    let mut blocks = Vec::new();
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
                row.rounds.push(together(with, &mut all[..=count])?);
            }
        }
        blocks.push(rows);
    }
    notes.push("sums over the control planes; 16 connections with 8 messages each, clients and control planes each share a processor".into());
    let title = "Control planes at once (Fig. 8), 384 B, in sandboxes".into();
    Ok(Series { name: "planes".into(), title, blocks, notes })
}

/// All of them in one window; the sums, and the worst round trips.
fn together(with: &Surroundings<'_>, all: &mut [Contender]) -> io::Result<Observed> {
    let talk = Talk { connections: 16, outstanding: 8, bytes: MESSAGE_BYTES };
    let window = with.settings.window();
    let seen: Vec<io::Result<Observed>> = std::thread::scope(|scope| {
        let one = |it: &'_ mut Contender| {
            let Contender { plane, subject, .. } = it;
            talk_window(plane, subject, talk, with.processors[0], window)
        };
        let threads: Vec<_> = all.iter_mut().map(|it| scope.spawn(move || one(it))).collect();
        let gone = |_| Err(io::Error::other("a client panicked"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(gone)).collect()
    });
    let mut sum = Observed { is_real_time: true, ..Observed::default() };
    for one in seen {
        let one = one?;
        sum.messages += one.messages;
        sum.cpu_ns += one.cpu_ns;
        sum.receive_cpu_ns += one.receive_cpu_ns;
        sum.ns = sum.ns.max(one.ns);
        sum.p50_ns = sum.p50_ns.max(one.p50_ns);
        sum.p99_ns = sum.p99_ns.max(one.p99_ns);
        sum.p999_ns = sum.p999_ns.max(one.p999_ns);
        sum.is_real_time &= one.is_real_time;
    }
    Ok(sum)
}
