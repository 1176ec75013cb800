//! Between two plans: what holds while flows are in both, and how long the old one lingers.
//!
//! Theory of admission, "Moving". While frames of a moved flow may be in its old and in its new
//! place, both are counted in full: a vector u ≥ F(u) over that union proves the change itself.
//! When the last old frame is gone and every busy period that it was part of is over, frames that
//! enter a queue wait at most F(u), F without the old places; one such round later at most F(F(u)),
//! and so on. Rounds are counted until the vector is at or below what the new plan reserves.

use crate::books::{Books, signed};
use crate::engine::Move;
use crate::fit::{Limits, Work};
use crate::network::PortId;
use crate::request::Visit;
use crate::reservation::Reservation;
use std::collections::BTreeMap;
use tenuto_units::Span;

/// Passes and rounds at most.
const PASSES_MAX: u32 = 200;
/// A delay that falls by less than one part in so many counts as settled.
const SETTLED: i64 = 1_000;
/// What a whole network may take to settle.
const UNION: Limits = Limits { raises_max: 20_000, checks_max: 200_000, is_eased: false };

/// How long after the deletion of the old entries the books `new` are in force; `None` if some flow
/// might miss its deadline, or a queue its room, on the way.
pub(crate) fn wait(old: &Books, new: &mut Books, moves: &[Move]) -> Option<Span> {
    let mut union = old.emptied();
    enter_both(&mut union, old, moves);
    // Started empty, with only those two sets ever in it, the network keeps every vector u ≥ F(u) of
    // their union: the least. Where others were in it before, it is known from the floors on.
    for (port, queue) in old.queues_in_use() {
        union.reserve(port, queue, old.floor_ns(port, queue), |_, _| {});
    }
    let is_in_time = |books: &Books| {
        books.slots().all(|(_, held)| books.promised_ns(held) <= signed(held.request.deadline_ns))
    };
    let mut work = Work::default();
    work.begin(&union, (0_u32..).map(|port| (PortId(port), 0)).take(union.network.ports().len()));
    if !is_in_time(&union) || work.settle(&mut union, &Reservation::none(), UNION).is_err() {
        return None;
    }
    debug_assert!(is_in_time(&union), "a raise that a flow cannot bear is refused");
    let mut after = new.clone();
    for (port, queue) in new.queues_in_use() {
        after.reserve(port, queue, union.delay_ns(port, queue), |_, _| {});
    }
    let rounds = rounds_until(&mut after, new)?;
    for (port, queue) in new.queues_in_use() {
        new.set_floor(port, queue, after.delay_ns(port, queue));
    }
    let wait_ns = union.longest_ns().checked_mul(i64::from(rounds) + 1)?;
    Some(Span::from_ns(u64::try_from(wait_ns).ok()?))
}

/// Every flow, and those who move in both places: as one tree where both begin alike.
fn enter_both(union: &mut Books, old: &Books, moves: &[Move]) {
    let moved: BTreeMap<u64, &Move> = moves.iter().map(|one| (one.id, one)).collect();
    for (slot, held) in old.slots() {
        let visits: Vec<Visit> = old.visits(slot).collect();
        match moved.get(&held.request.id) {
            None => drop(union.enter(held.request.clone(), &visits)),
            Some(to) => match both(&visits, &to.visits) {
                Some(tree) => drop(union.enter(held.request.clone(), &tree)),
                None => {
                    union.enter(held.request.clone(), &visits);
                    union.enter(held.request.clone(), &to.visits);
                }
            },
        }
    }
}

/// Two paths as one tree: a frame takes either branch, and each is counted in full.
fn both(old: &[Visit], new: &[Visit]) -> Option<Vec<Visit>> {
    let is_path = |visits: &[Visit]| {
        (0..).zip(visits).all(|(at, visit): (u16, &Visit)| visit.parent == at.checked_sub(1))
    };
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    if !is_path(old) || !is_path(new) || same == 0 {
        return None;
    }
    let mut tree = old.to_vec();
    let shift = u16::try_from(old.len() - same).ok()?;
    let branch = new[same..].iter().enumerate().map(|(at, visit)| Visit {
        parent: visit.parent.map(|parent| if at == 0 { parent } else { parent + shift }),
        ..*visit
    });
    tree.extend(branch);
    Some(tree)
}

/// Rounds of F from what `books` reserves until it is nowhere above what `target` does, and hardly
/// falls any more.
fn rounds_until(books: &mut Books, target: &Books) -> Option<u32> {
    let queues = target.queues_in_use();
    for round in 0..PASSES_MAX {
        let mut is_there = true;
        let mut next = Vec::with_capacity(queues.len());
        for (port, queue) in &queues {
            let known = books.delay_ns(*port, *queue);
            let lower = books.needed_ns(*port, *queue, known).map_or(known, |d| d.min(known));
            is_there &= known <= target.delay_ns(*port, *queue) && known - lower <= known / SETTLED;
            next.push(lower);
        }
        if is_there {
            return Some(round);
        }
        for ((port, queue), delay_ns) in queues.iter().zip(next) {
            books.reserve(*port, *queue, delay_ns, |_, _| {});
        }
    }
    None
}

/// Lowers every reserved delay to what is needed: x ≥ F(x) gives F(x) ≥ F(F(x)), so each step is
/// proved by the one before it.
pub(crate) fn tighten(books: &mut Books) {
    for _ in 0..PASSES_MAX {
        let mut most = 0;
        for (port, queue) in books.queues_in_use() {
            let reserved = books.delay_ns(port, queue);
            let Some(needed) = books.needed_ns(port, queue, reserved) else { continue };
            let needed = needed.max(books.floor_ns(port, queue));
            if needed < reserved {
                books.reserve(port, queue, needed, |_, _| {});
                most = most.max((reserved - needed) * 10_000 / reserved.max(1));
            }
        }
        if most == 0 {
            break;
        }
    }
    books.keep();
}
