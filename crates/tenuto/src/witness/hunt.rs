//! The search over all rows: portions of work that threads take one after the other.
//!
//! A row's search depends on its seed and its plays only, so threads and time decide when it is done, not what
//! it finds. Every row gets a first portion before any gets a second one: whenever the time is over, each has
//! a witness.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tenuto_witness::layout::Layout;
use tenuto_witness::play::Player;
use tenuto_witness::row_search::RowSearch;
use tenuto_witness::rows::{Row, ratio_ppm};

/// Plays of a row in its first portions; the last one is what was asked for.
const PORTIONS: [u64; 3] = [48, 160, 480];
const PATIENCE: Duration = Duration::from_millis(100);

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Schedules played per row.
    pub(crate) plays: u64,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    /// When to stop, done or not.
    pub(crate) until: Option<Instant>,
}

/// How the search is going.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    /// Portions done, of all.
    pub(crate) done: usize,
    pub(crate) of: usize,
    /// Rows with a witness, and the median of their tightness, parts per million.
    pub(crate) witnessed: usize,
    pub(crate) median_ppm: u64,
}

/// What was found.
pub(crate) struct Hunted {
    /// One per row asked for.
    pub(crate) searches: Vec<RowSearch>,
    /// Whether every row had all its plays.
    pub(crate) is_complete: bool,
}

/// Searches for a witness of each row; `rows` have their number among all rows of the plan.
pub(crate) fn hunt(
    layout: &Layout,
    rows: &[(usize, Row)],
    effort: Effort,
    say: &mut dyn FnMut(&Standing),
) -> Hunted {
    let seed = |number: usize| effort.seed.wrapping_mul(1_000_003).wrapping_add(number as u64);
    let new = |&(number, row): &(usize, Row)| Mutex::new(RowSearch::new(row, seed(number)));
    let searches: Vec<Mutex<RowSearch>> = rows.iter().map(new).collect();
    let mut portions: Vec<u64> = PORTIONS.into_iter().filter(|it| *it < effort.plays).collect();
    portions.push(effort.plays);
    let (next, (sender, receiver)) = (AtomicUsize::new(0), channel());
    let tasks = rows.len() * portions.len();
    let mut standing = Standing { done: 0, of: tasks, witnessed: 0, median_ppm: 0 };
    std::thread::scope(|scope| {
        for _ in 0..effort.threads.max(1) {
            let (sender, next, searches, portions) = (sender.clone(), &next, &searches, &portions);
            scope.spawn(move || work(layout, searches, portions, next, effort.until, &sender));
        }
        drop(sender);
        let mut best = vec![0; rows.len()];
        loop {
            match receiver.recv_timeout(PATIENCE) {
                Ok((place, ppm)) => {
                    standing.done += 1;
                    best[place] = ppm;
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            standing.witnessed = best.iter().filter(|it| **it > 0).count();
            standing.median_ppm = median(&best);
            say(&standing);
        }
    });
    let searches =
        searches.into_iter().map(|it| it.into_inner().unwrap_or_else(|it| it.into_inner()));
    Hunted { searches: searches.collect(), is_complete: standing.done == tasks }
}

/// Takes portions until there are none left, or the time is over.
fn work(
    layout: &Layout,
    searches: &[Mutex<RowSearch>],
    portions: &[u64],
    next: &AtomicUsize,
    until: Option<Instant>,
    sender: &Sender<(usize, u64)>,
) {
    let mut player = Player::new(layout);
    while until.is_none_or(|until| Instant::now() < until) {
        let task = next.fetch_add(1, Ordering::Relaxed);
        let Some(&plays) = portions.get(task / searches.len().max(1)) else { return };
        let place = task % searches.len();
        let Ok(mut search) = searches[place].lock() else { return };
        search.search(layout, &mut player, plays);
        let seen = search.best().map_or(0, |it| it.1);
        let bound = layout.bounds.get(search.row).unwrap_or(u64::MAX);
        if sender.send((place, ratio_ppm(seen, bound))).is_err() {
            return;
        }
    }
}

/// The median of those that are not zero.
pub(crate) fn median(of: &[u64]) -> u64 {
    let mut sorted: Vec<u64> = of.iter().copied().filter(|it| *it > 0).collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}
