//! Mode changes: what each switch did when, against the terms of the bound.

use super::page::Part;
use super::svg::{Anchor, Axis, Svg, WIDTH, float, place, time_tick};
use super::table::{Cell, Table};
use super::text::{seconds, shorten, time_ns};
use tenuto_world::{ModeChangeRow, RunDocument, SwitchSwap};

/// Changes drawn; those closest to their bound.
const DRAWN_MAX: usize = 6;
/// Switches of one drawing: the last to be ready.
const SWITCHES_DRAWN_MAX: usize = 24;

const LEFT: f64 = 150.0;
const RIGHT: f64 = 244.0;
const ROW: f64 = 20.0;
const TOP: f64 = 26.0;

pub(super) fn part(run: &RunDocument) -> Option<Part> {
    if run.mode_changes.is_empty() {
        return None;
    }
    let mut part = Part::new("changes", "Mode changes");
    part.lead(
        "From the trigger: until the first switch swaps it is detected, from there the signal is \
         on its way; a swap includes the purge. Below, the terms that make up the bound.",
    );
    part.key(&[
        ("k-soft", "detect (of a return: quiet)"),
        ("k-bound", "signal"),
        ("k-max", "swap and purge"),
        ("k-host", "until its edges admit"),
        ("k-limit", "bound"),
    ]);
    let share = |change: &&ModeChangeRow| match (change.observed_ns, change.bound_ns) {
        (Some(seen), Some(bound)) if bound > 0 => {
            u64::try_from(u128::from(seen) * 1_000_000 / u128::from(bound)).unwrap_or(u64::MAX)
        }
        _ => u64::MAX,
    };
    let mut worst: Vec<&ModeChangeRow> = run.mode_changes.iter().collect();
    worst.sort_by_key(|change| std::cmp::Reverse(share(change)));
    worst.truncate(DRAWN_MAX);
    worst.sort_by_key(|change| change.at_ns);
    for change in &worst {
        part.figure(&caption(change), &draw(change));
    }
    if run.mode_changes.len() > worst.len() {
        let all = run.mode_changes.len();
        part.paragraph(&format!("The {DRAWN_MAX} closest to their bound, of {all}."));
    }
    part.table_folded(&table(run));
    Some(part)
}

fn caption(change: &ModeChangeRow) -> String {
    let seen = change.observed_ns.map_or_else(|| "not complete".to_owned(), time_ns);
    let bound = change.bound_ns.map_or_else(|| "none".to_owned(), time_ns);
    format!(
        "{}>{} at {}: {}; {seen}, bound {bound}; {} frames purged",
        change.from,
        change.to,
        seconds(change.at_ns),
        change.trigger,
        change.purged_frames
    )
}

fn draw(change: &ModeChangeRow) -> String {
    let mut swaps: Vec<&SwitchSwap> = change.switches.iter().collect();
    swaps.sort_by_key(|s| s.at_ns);
    let skipped = swaps.len().saturating_sub(SWITCHES_DRAWN_MAX);
    let first = swaps.first().map_or(0, |s| since(change, s.at_ns.saturating_sub(s.took_ns)));
    let swaps = &swaps[skipped..];
    let (axis, origin) = axis(change, swaps, first);
    let rows = swaps.len() + 1;
    let bottom = TOP + ROW * place(rows) + 4.0;
    let mut svg = Svg::new();
    draw_grid(&mut svg, &axis, origin, bottom);
    for (row, swap) in swaps.iter().enumerate() {
        draw_swap(&mut svg, change, swap, &axis, first, TOP + ROW * place(row));
    }
    draw_terms(&mut svg, change, &axis, TOP + ROW * place(rows - 1));
    if let Some(bound) = change.bound_ns {
        let x = axis.at(bound);
        svg.line((x, TOP - 2.0), (x, bottom), "limit");
    }
    svg.finish(WIDTH, bottom + 6.0, &caption(change))
}

/// Time since the trigger.
const fn since(change: &ModeChangeRow, at_ns: u64) -> u64 {
    at_ns.saturating_sub(change.at_ns)
}

/// From an instant at or after the trigger, which is given too, to the end of all that is drawn.
fn axis(change: &ModeChangeRow, swaps: &[&SwitchSwap], first: u64) -> (Axis, u64) {
    let ends =
        swaps.iter().map(|s| since(change, s.admitted_at_ns.unwrap_or(s.at_ns).max(s.at_ns)));
    let bound = change.bound_ns.unwrap_or(0);
    let terms: u64 = change.terms.iter().map(|t| t.bound_ns).fold(0, u64::saturating_add);
    let high = ends.max().unwrap_or(0).max(bound).max(terms);
    // A return waits for quiet first: what follows is drawn larger, the wait is cut off.
    let origin = if first / 2 > high / 4 { first - high.saturating_sub(first) / 3 } else { 0 };
    let origin = origin.min(first) / 1_000 * 1_000;
    let axis = Axis::linear(LEFT, WIDTH - RIGHT, float(high - origin) * 1.04).beginning_at(origin);
    (axis, origin)
}

fn draw_grid(svg: &mut Svg, axis: &Axis, origin: u64, bottom: f64) {
    for tick in axis.ticks() {
        let x = axis.at(tick);
        svg.line((x, TOP - 4.0), (x, bottom), "grid-line");
        let words = match (origin, tick - origin) {
            (0, since) => time_tick(since),
            (origin, 0) => time_tick(origin),
            (_, since) => format!("+{}", time_tick(since)),
        };
        svg.text(x, TOP - 9.0, Anchor::Middle, "dim", &words);
    }
}

/// One switch: detection until `first` anywhere, signal, swap, edges.
fn draw_swap(
    svg: &mut Svg,
    change: &ModeChangeRow,
    swap: &SwitchSwap,
    axis: &Axis,
    first: u64,
    y: f64,
) {
    let begun = since(change, swap.at_ns.saturating_sub(swap.took_ns));
    let done = since(change, swap.at_ns);
    let admitted = swap.admitted_at_ns.map_or(done, |at| since(change, at)).max(done);
    let detected = first.min(begun);
    svg.text(LEFT - 8.0, y + 14.0, Anchor::End, "", &shorten(&swap.switch, 22));
    let title = format!("{}: swapped {} after the trigger", swap.switch, time_ns(done));
    svg.titled(&title, |svg| {
        let mut piece = |from: u64, to: u64, class: &str| {
            let (from, to) = (axis.at(from), axis.at(to));
            svg.rect(from, y + 5.0, to - from, ROW - 10.0, class);
        };
        piece(0, detected, "soft");
        piece(detected, begun, "bound");
        piece(done, admitted, "host");
        let (from, to) = (axis.at(begun), axis.at(done));
        svg.rect(from - 1.0, y + 3.0, (to - from).max(2.5), ROW - 6.0, "seen");
    });
    let mut words = time_ns(done);
    if admitted > done {
        words = format!("{words}, admits {}", time_ns(admitted));
    }
    if swap.purged_frames > 0 {
        words = format!("{words}, {} purged", swap.purged_frames);
    }
    svg.text(WIDTH - RIGHT + 14.0, y + 14.0, Anchor::Start, "", &shorten(&words, 40));
}

/// The terms of the bound, one after the other.
fn draw_terms(svg: &mut Svg, change: &ModeChangeRow, axis: &Axis, y: f64) {
    svg.text(LEFT - 8.0, y + 14.0, Anchor::End, "dim", "terms");
    let mut from = 0u64;
    for (number, term) in change.terms.iter().enumerate() {
        let to = from.saturating_add(term.bound_ns);
        let (x, end) = (axis.at(from), axis.at(to));
        let class = if number % 2 == 0 { "soft" } else { "bound" };
        let title = format!("{} ≤ {}", term.name, time_ns(term.bound_ns));
        svg.titled(&title, |svg| svg.rect(x, y + 5.0, end - x, ROW - 8.0, class));
        if end - x > 60.0 {
            svg.text((x + end) / 2.0, y + 14.5, Anchor::Middle, "tiny", &shorten(&term.name, 12));
        }
        from = to;
    }
    if let Some(bound) = change.bound_ns {
        let words = format!("bound {}", time_ns(bound));
        svg.text(WIDTH - RIGHT + 14.0, y + 14.0, Anchor::Start, "dim", &words);
    }
}

fn table(run: &RunDocument) -> Table {
    let header = vec![
        "from",
        "to",
        "trigger",
        "at_ns",
        "what",
        "name",
        "observed_ns",
        "bound_ns",
        "purged_frames",
    ];
    let mut table = Table::new("mode-changes", header);
    for change in &run.mode_changes {
        let mut push = |what: &str, name: &str, seen: Option<u64>, bound: Option<u64>, purged| {
            table.push(vec![
                Cell::text(&change.from),
                Cell::text(&change.to),
                Cell::text(&change.trigger),
                Cell::at(change.at_ns),
                Cell::text(what),
                Cell::text(name),
                Cell::ns(seen),
                Cell::ns(bound),
                Cell::maybe(purged),
            ]);
        };
        let purged = Some(change.purged_frames);
        push("change", "", change.observed_ns, change.bound_ns, purged);
        for term in &change.terms {
            push("term", &term.name, term.observed_ns, Some(term.bound_ns), None);
        }
        for swap in &change.switches {
            let since = since(change, swap.at_ns);
            push("swap", &swap.switch, Some(since), None, Some(u64::from(swap.purged_frames)));
        }
    }
    table
}
