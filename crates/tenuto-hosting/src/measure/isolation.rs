//! The claim that matters: one tenant's virtual NIC is flooded, and what that does to another one.

use super::client::Talk;
use super::environment::Environment;
use super::figures::{Row, Series};
use super::plane::{Attacker, Contender, Plane};
use super::requests::{MESSAGE_BYTES, contender};
use super::surroundings::Surroundings;
use super::window::{Scheduling, talk_window};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use tenuto_io::links::{LinkName, receive_on};
use tenuto_io::namespaces::within_netns;
use tenuto_io::{MonotonicClock, RateLimits, realtime};
use tenuto_model::{NicReceive, ReceivePath, ReceivePriority};

/// Of the thread that floods: below the victim's.
const FLOOD_PRIORITY: u8 = 5;
/// What a policer lets through.
const POLICED_PACKETS: u64 = 20_000;

/// A tenant that is flooded.
struct Flooded {
    name: &'static str,
    plane: Plane,
}

/// A victim before all others: what the kernel does before it.
pub(super) fn measure(with: &Surroundings<'_>) -> io::Result<Series> {
    let mut notes = vec![
        "victim and switches run under SCHED_FIFO, before neighbours and threads of nice 19: what is shown is what the kernel \
         does before them, not how usual threads share a processor"
            .into(),
    ];
    let (name, title) =
        ("isolation", "A victim's messages while another tenant's virtual NIC is flooded, 384 B");
    measured(with, Scheduling::RealTime, (name, title), &mut notes)
}

/// A victim of usual priority: the kernel, and how threads share a processor.
pub(super) fn measure_usual(with: &Surroundings<'_>) -> io::Result<Series> {
    let mut notes = vec![
        "victim and switches have the usual priority, as whatever else runs on the machine: what that takes of their processor is in every row"
            .into(),
    ];
    let (name, title) = (
        "neighbours",
        "A victim of usual priority while another tenant's virtual NIC is flooded, 384 B",
    );
    measured(with, Scheduling::Usual, (name, title), &mut notes)
}

fn measured(
    with: &Surroundings<'_>,
    scheduling: Scheduling,
    (name, title): (&str, &str),
    notes: &mut Vec<String>,
) -> io::Result<Series> {
    let mut victim = contender(with, 0, "victim", Environment::Sandbox, NicReceive::INLINE)?;
    if scheduling == Scheduling::Usual {
        // The one before lets it go on when it is dropped.
        victim.subject = victim.plane.usual_subject(with.processors[1])?;
        victim.subject.rest()?;
    }
    let all = flooded(with, notes)?;
    let mut blocks = Vec::new();
    for (words, talk) in [
        ("1 × 1", Talk { connections: 1, outstanding: 1, bytes: MESSAGE_BYTES }),
        ("16 × 1", Talk { connections: 16, outstanding: 1, bytes: MESSAGE_BYTES }),
    ] {
        let row = |name: &str| Row { setting: format!("{words}, {name}"), rounds: Vec::new() };
        let mut rows =
            vec![row("nothing beside it"), row("a neighbour spins, forks, fills memory")];
        rows.extend(all.iter().map(|it| row(it.name)));
        let mut sent = vec![Vec::new(); all.len()];
        for _ in 0..with.settings.rounds {
            rows[0].rounds.push(of_victim(with, &mut victim, (talk, scheduling))?);
            let attacker = Attacker::start(&with.host, &with.groups)?;
            rows[1].rounds.push(of_victim(with, &mut victim, (talk, scheduling))?);
            drop(attacker);
            for (number, it) in all.iter().enumerate() {
                let (observed, kpps) = under_flood((with, scheduling), it.plane.address, || {
                    of_victim(with, &mut victim, (talk, scheduling))
                })?;
                rows[number + 2].rounds.push(observed);
                sent[number].push(kpps);
            }
        }
        for (it, kpps) in all.iter().zip(sent) {
            let words = kpps.iter().map(|it| format!("{it:.0}")).collect::<Vec<_>>().join(", ");
            notes.push(format!("{}: flooded with {words} thousand frames in a second", it.name));
        }
        blocks.push(rows);
    }
    notes.push("the victim and its switches are on the processor on which the flood is received; it is sent from the other one, and held back by a full ring where that is not emptied".into());
    let (name, title, notes) = (name.to_owned(), title.to_owned(), std::mem::take(notes));
    Ok(Series { name, title, blocks, notes })
}

/// Tenants by receive path, and one whose frames are steered to the victim's processor as an interrupt's would be.
fn flooded(with: &Surroundings<'_>, notes: &mut Vec<String>) -> io::Result<Vec<Flooded>> {
    let processor = with.processors[1];
    let of = |path| NicReceive {
        path,
        processor: u32::try_from(processor).ok(),
        priority: ReceivePriority::Nice(19),
        ring_frames: NicReceive::RING_FRAMES,
    };
    let wanted = [
        ("flood received in interrupts of the victim's processor", NicReceive::INLINE),
        ("flood received threaded", of(ReceivePath::Threaded)),
        ("flood received by cpumap", of(ReceivePath::Cpumap)),
        ("flood policed", NicReceive::INLINE),
    ];
    let mut all = Vec::new();
    for (number, (name, receive)) in wanted.into_iter().enumerate() {
        let started = flooded_one(with, number, name, receive);
        match started {
            Ok(it) => all.push(it),
            Err(error) => notes.push(format!("{name} cannot be had here: {error}")),
        }
    }
    Ok(all)
}

fn flooded_one(
    with: &Surroundings<'_>,
    number: usize,
    name: &'static str,
    receive: NicReceive,
) -> io::Result<Flooded> {
    let (processor, own) =
        (with.processors[1], u8::try_from(10 + number).map_err(io::Error::other)?);
    let environment = Environment::Sandbox;
    let mut plane = Plane::start(&with.host, own, environment, receive, &with.groups)?;
    match name {
        "flood policed" => {
            let limits = RateLimits { packets: Some(POLICED_PACKETS), bps: None };
            plane.limit(limits)?;
        }
        _ if receive == NicReceive::INLINE => {
            let eth0 = LinkName::new(crate::setup::NIC_NAME).map_err(io::Error::other)?;
            let processor = u32::try_from(processor).map_err(io::Error::other)?;
            within_netns(plane.pid, || receive_on(&eth0, processor))??;
        }
        _ => {}
    }
    Ok(Flooded { name, plane })
}

fn of_victim(
    with: &Surroundings<'_>,
    victim: &mut Contender,
    (talk, scheduling): (Talk, Scheduling),
) -> io::Result<super::figures::Observed> {
    let alone = std::slice::from_mut(victim);
    talk_window(alone, talk, with.processors[1], (scheduling, with.settings.window()))
}

/// Floods an address from the other processor while `work` is done; frames that were sent, in thousands a second.
fn under_flood<T>(
    (with, scheduling): (&Surroundings<'_>, Scheduling),
    to: SocketAddr,
    work: impl FnOnce() -> io::Result<T>,
) -> io::Result<(T, f64)> {
    let socket = UdpSocket::bind(("0.0.0.0", 0))?;
    socket.connect(to)?;
    let is_over = AtomicBool::new(false);
    let flood = || -> io::Result<f64> {
        realtime::pin_to(&[with.processors[0]])?;
        if scheduling == Scheduling::RealTime {
            // Without the right to it, neighbours slow the flood down, which its rate shows. Beside usual threads it
            // is one itself: before them it would drive all neighbours to the victim's processor.
            let _ = realtime::try_fifo(FLOOD_PRIORITY);
        }
        let (began, mut sent) = (MonotonicClock::now(), 0_u64);
        let frame = [0; MESSAGE_BYTES - HEADERS_BYTES];
        while !is_over.load(Ordering::Relaxed) {
            for _ in 0..32 {
                // Some kernels tell a sender of a policer's drop.
                let _ = socket.send(&frame);
                sent += 1;
            }
        }
        let ns = MonotonicClock::now().since(began).as_ns();
        Ok(sent as f64 * 1e6 / ns.max(1) as f64)
    };
    std::thread::scope(|scope| {
        let flood = scope.spawn(flood);
        let result = work();
        is_over.store(true, Ordering::Relaxed);
        let kpps = flood.join().map_err(|_| io::Error::other("the flood panicked"))??;
        Ok((result?, kpps))
    })
}

/// Ethernet, IPv4 and UDP.
const HEADERS_BYTES: usize = 42;
