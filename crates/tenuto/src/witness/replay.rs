//! The replay of witnesses in the switch core: what it shows is what is reported.

use super::hop_delays::{Victim, victim};
use super::schedule_file::written;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tenuto_model::Plan;
use tenuto_witness::layout::Layout;
use tenuto_witness::rows::{Row, Subject};
use tenuto_witness::schedule::Schedule;
use tenuto_world::RunDocument;
use tenuto_world::clockwork::{self, Transmission, Witness, play_schedule};

/// A schedule and what the switch core showed.
pub(crate) struct Replayed {
    pub(crate) schedule: clockwork::Schedule,
    pub(crate) run: RunDocument,
    /// The message of the row that it was made for; none of a backlog.
    pub(crate) victim: Option<Victim>,
}

/// Replays one schedule.
pub(crate) fn replay(
    plan: &Plan,
    layout: &Layout,
    row: Row,
    found: &Schedule,
) -> Result<(Replayed, Vec<Transmission>), String> {
    let mut schedule = written(plan, layout, found);
    let (run, sent) = play_schedule(plan, &schedule).map_err(|error| error.to_string())?;
    let mut seen = None;
    if let Subject::Delay(leaf) = row.subject {
        let mut witness = witness_of(layout, row, leaf);
        witness.witness_delay_ns = delay_of(&run, &witness).unwrap_or(0);
        seen = victim(plan, &schedule, &witness, &sent);
        schedule.witness = Some(witness);
    }
    Ok((Replayed { schedule, run, victim: seen }, sent))
}

/// The row as a schedule names it.
pub(crate) fn witness_of(layout: &Layout, row: Row, leaf: usize) -> Witness {
    let of = &layout.leaves[leaf];
    Witness {
        flow: layout.flows[of.flow].name.clone(),
        target: of.target.clone(),
        copy: of.copy.clone(),
        mode: layout.transition_labels[row.transition].clone(),
        witness_delay_ns: 0,
        delay_bound_ns: layout.bounds.get(row).unwrap_or(0).div_ceil(1_000),
    }
}

/// The largest delay that a run shows of a row, ns; nothing of hosts that keep no contract.
pub(crate) fn delay_of(run: &RunDocument, of: &Witness) -> Option<u64> {
    let is_row = |it: &&tenuto_world::FlowRow| {
        it.flow == of.flow && it.target == of.target && it.mode == of.mode && !it.is_misbehaving
    };
    let row = run.flows.iter().find(is_row)?;
    match &of.copy {
        Some(name) => row.copies.iter().find(|it| it.network == *name)?.observed_delay_ns_max,
        None => row.observed_delay_ns_max,
    }
}

/// Does something with every place of a list, by so many threads; results in the order of the list.
pub(crate) fn for_each_place<T: Send>(
    count: usize,
    threads: usize,
    act: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(slot) = done.get(place) else { return };
                    let result = act(place);
                    if let Ok(mut slot) = slot.lock() {
                        *slot = Some(result);
                    }
                }
            });
        }
    });
    done.into_iter().filter_map(|it| it.into_inner().ok().flatten()).collect()
}
