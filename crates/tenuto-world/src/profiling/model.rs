//! From samples to a cost model that covers them (docs/theory/measured-models.md).

use super::fit::least_squares;
use super::forwarding::Cell;
use super::messages::ps_up;
use super::rig::ProfileError;
use tenuto_model::{Action, ActionCosts, MatchCosts, MatchType, Processor, ProcessorLink, Use};

/// Of the seen range of a latency, what a later draw may lie above its end.
const LATENCY_GUARD: f64 = 0.02;
/// Of n samples of a uniform spread, the dearest falls short of its end by 2 / (n + 1) of half the spread on average; twice
/// that is added, and this part of it at least.
const SPREAD_GUARD: f64 = 0.05;
/// Standard errors of a mean, by which costs are raised.
const STANDARD_ERRORS: f64 = 4.0;
/// Likewise, by which the base is lifted above what the fit leaves.
const LIFT_ERRORS: f64 = 3.0;
/// What a link's rate may be below its estimate.
const LINK_GUARD: f64 = 0.997;
/// The tag of frames on a processor's line is not told apart from its latency; none is larger.
const TAG_BYTES: u32 = 4;
/// Below this, a byte is not said to cross a line of its own, nanoseconds.
const LINE_NS_PER_BYTE_MIN: f64 = 0.5;
/// Uses that have to keep the processor busy before it is said to be there.
const BUSY_MIN: usize = 4;

/// What was found of the processor and its surroundings.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// `None`: every port is served by itself.
    pub(super) processor: Option<Processor>,
    /// Least and largest latency besides, nanoseconds.
    pub(super) latency_ns: (u64, u64),
    /// The largest distance of a mean from the fitted cost, nanoseconds.
    pub(super) residual_ns: f64,
    /// How much the dearest frame of a use costs more than the mean one.
    pub(super) above_mean: f64,
}

/// A column of the regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Base,
    Byte,
    Entry(MatchType),
    Does(Action),
}

impl Column {
    fn of(self, used: &Use) -> f64 {
        match self {
            Self::Base => 1.0,
            Self::Byte => f64::from(used.frame_bytes),
            Self::Entry(kind) if kind == used.matching => f64::from(used.compared()),
            Self::Does(action) if action == used.action => 1.0,
            Self::Entry(_) | Self::Does(_) => 0.0,
        }
    }
}

/// Those of which some use says something.
fn columns(cells: &[&Cell]) -> Vec<Column> {
    let entries = MatchType::ALL.into_iter().map(Column::Entry);
    let actions = Action::ALL.into_iter().skip(1).map(Column::Does);
    let all = [Column::Base, Column::Byte].into_iter().chain(entries).chain(actions);
    all.filter(|column| cells.iter().any(|cell| column.of(&cell.used) > 0.0)).collect()
}

/// A linear cost, nanoseconds.
#[derive(Clone, Debug)]
struct Linear {
    columns: Vec<Column>,
    weights: Vec<f64>,
}

impl Linear {
    fn fit(cells: &[&Cell], values: &[f64], has_sizes: bool) -> Option<Self> {
        let mut columns = columns(cells);
        columns.retain(|column| has_sizes || *column != Column::Byte);
        let row = |cell: &&Cell| columns.iter().map(|it| it.of(&cell.used)).collect();
        let rows: Vec<Vec<f64>> = cells.iter().map(row).collect();
        least_squares(&rows, values).map(|weights| Self { columns, weights })
    }

    fn weight(&self, column: Column) -> Option<f64> {
        let place = self.columns.iter().position(|it| *it == column)?;
        Some(self.weights[place])
    }

    fn at(&self, used: &Use) -> f64 {
        self.columns
            .iter()
            .zip(&self.weights)
            .map(|(column, weight)| column.of(used) * weight)
            .sum()
    }
}

/// The model that covers samples with stamps that are not exact: costs are those of the samples without their tails, and
/// what any of the whole samples took longer is latency. Where lines, or what sends over them, were slower than the
/// processor, it is charged as slow as they were: no more was tried.
pub(super) fn noisy_model_of(cells: &[Cell]) -> Result<Found, ProfileError> {
    let judged: Vec<Cell> = cells.iter().map(Cell::without_tails).collect();
    let found = if busy_of(&judged).len() < BUSY_MIN {
        let each = judged.iter().filter_map(Cell::spacing_ns).fold(0.0, f64::max);
        of_all_ports(&judged, each)
    } else {
        model_of(&judged, None)?
    };
    let latency_ns = match &found.processor {
        Some(processor) => (0, latency_beside(cells, processor)),
        None => by_port(cells).latency_ns,
    };
    Ok(Found { latency_ns, ..found })
}

/// The model that covers the samples.
pub(super) fn model_of(cells: &[Cell], at_once_ns: Option<f64>) -> Result<Found, ProfileError> {
    let busy = busy_of(cells);
    if busy.len() < BUSY_MIN {
        return Ok(at_once_ns.map_or_else(|| by_port(cells), |each| of_all_ports(cells, each)));
    }
    let undetermined = ProfileError::Undetermined("what a frame costs");
    let all: Vec<&Cell> = cells.iter().collect();
    let traversals: Vec<f64> = all.iter().map(|cell| cell.traversal.mean_ns).collect();
    let traversal = Linear::fit(&all, &traversals, true).ok_or(undetermined.clone())?;
    let means: Vec<f64> = busy.iter().filter_map(|cell| cell.spacing.mean_ns()).collect();
    let has_sizes = busy.iter().any(|cell| cell.used.frame_bytes != busy[0].used.frame_bytes);
    let mut cost = Linear::fit(&busy, &means, has_sizes).ok_or(undetermined)?;
    cost.weights.iter_mut().for_each(|it| *it = it.max(0.0));
    let (mut lift, mut residual_ns) = (0.0_f64, 0.0_f64);
    for (cell, mean) in busy.iter().zip(&means) {
        let residual = mean - cost.at(&cell.used);
        lift = lift.max(standard_error(cell).mul_add(LIFT_ERRORS, residual));
        residual_ns = residual_ns.max(residual.abs());
    }
    cost.weights[0] += lift;
    let byte = |it: &Linear| it.weight(Column::Byte).unwrap_or(0.0);
    let link = if has_sizes {
        link_of(byte(&traversal) - byte(&cost))
    } else {
        // Only one size kept the processor busy: what a byte takes alone is charged to the processor.
        cost.columns.push(Column::Byte);
        cost.weights.push(byte(&traversal).max(0.0));
        None
    };
    let above_mean = above_mean(&busy, &cost);
    let processor = processor_of(&cost, 1.0 + above_mean, link);
    let latency_ns = (0, latency_beside(cells, &processor));
    Ok(Found { processor: Some(processor), latency_ns, residual_ns, above_mean })
}

/// Uses that kept the processor busy.
pub(super) fn busy_of(cells: &[Cell]) -> Vec<&Cell> {
    cells.iter().filter(|cell| cell.spacing.mean_ns().is_some()).collect()
}

/// Whether one port cannot keep the processor busy.
pub(super) fn is_faster_than_a_line(cells: &[Cell]) -> bool {
    busy_of(cells).len() < BUSY_MIN
}

/// What remains of traversals beside the processor, nanoseconds.
fn latency_beside(cells: &[Cell], processor: &Processor) -> u64 {
    let rest = cells.iter().map(|cell| {
        let stated = processor.service(&cell.used).traversal_ps as f64 / 1e3;
        cell.traversal.most_ns - stated
    });
    let latency = rest.fold(0.0, f64::max);
    // The dearest draw of a cost and the largest latency meet rarely: of n sums of two uniform draws, the largest falls short
    // by a part of 1 / sqrt(n). Uses of much the same cost, a sixth of all, sample the same sum.
    let ranges = cells.iter().map(|it| it.traversal.most_ns - it.traversal.least_ns);
    let range = ranges.fold(f64::INFINITY, f64::min);
    let samples: usize = cells.iter().map(|it| it.traversal.count).sum();
    let rare = 2.0 * range / (samples as f64 / 6.0).max(1.0).sqrt();
    ps_up((LATENCY_GUARD.mul_add(latency, latency) + rare).ceil()) / 1_000
}

/// A processor that only all ports together keep busy: every frame is charged what one took in the largest table.
fn of_all_ports(cells: &[Cell], each_ns: f64) -> Found {
    let processor =
        Processor { base_ps: ps_up(each_ns), per_output_ps: ps_up(each_ns), ..Processor::FREE };
    let latency_ns = (0, latency_beside(cells, &processor));
    Found { processor: Some(processor), latency_ns, residual_ns: 0.0, above_mean: 0.0 }
}

/// Ports that do not wait for a processor: a latency that covers all.
fn by_port(cells: &[Cell]) -> Found {
    let least = cells.iter().map(|cell| cell.traversal.least_ns).fold(f64::INFINITY, f64::min);
    let most = cells.iter().map(|cell| cell.traversal.most_ns).fold(0.0, f64::max);
    let guard = (most - least).max(0.0) * LATENCY_GUARD;
    let least = ps_up((least - guard).max(0.0)) / 1_000;
    let latency_ns = (least, ps_up((most + guard).ceil()) / 1_000);
    Found { processor: None, latency_ns, residual_ns: guard, above_mean: 0.0 }
}

/// Every byte crosses the processor's line twice.
fn link_of(ns_per_byte: f64) -> Option<ProcessorLink> {
    if ns_per_byte < LINE_NS_PER_BYTE_MIN {
        return None;
    }
    let bps = 16e9 / ns_per_byte * LINK_GUARD;
    let step = 10_f64.powf(bps.log10().floor() - 2.0);
    let rate_bps = ps_up((bps / step).floor() * step / 1e3);
    Some(ProcessorLink { rate_bps, tag_bytes: TAG_BYTES })
}

/// How much more than the mean the dearest frame costs: what grows with the cost is the processor's, what does not is
/// latency. Where all uses cost the same, bursts tell.
fn above_mean(busy: &[&Cell], cost: &Linear) -> f64 {
    let costs: Vec<f64> = busy.iter().map(|cell| cost.at(&cell.used)).collect();
    let (least, most) = costs
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), it| (least.min(*it), most.max(*it)));
    let found = if most > 1.5 * least {
        let rows: Vec<Vec<f64>> = costs.iter().map(|it| vec![1.0, *it]).collect();
        let above: Vec<f64> =
            busy.iter().map(|cell| cell.traversal.most_ns - cell.traversal.mean_ns).collect();
        least_squares(&rows, &above).map_or(0.0, |fit| fit[1])
    } else {
        let bursts = busy.iter().zip(&costs).filter_map(|(cell, cost)| match &cell.spacing {
            super::Cost::Busy(it) => Some(it.most_ns / cost - 1.0),
            _ => None,
        });
        bursts.fold(0.0, f64::max)
    };
    let errors = busy.iter().zip(&costs).map(|(cell, cost)| standard_error(cell) / cost);
    let error = errors.fold(0.0, f64::max) * STANDARD_ERRORS;
    let samples = busy.iter().map(|cell| cell.traversal.count).min().unwrap_or(1);
    let guard = (4.0 / (samples as f64 + 1.0)).max(SPREAD_GUARD);
    guard.mul_add(found.max(0.0), found.max(0.0)) + error
}

/// Of the mean of a use's bursts, nanoseconds.
fn standard_error(cell: &Cell) -> f64 {
    match &cell.spacing {
        super::Cost::Busy(it) => it.deviation_ns / (it.count as f64).sqrt(),
        super::Cost::LineBound(_) | super::Cost::Unknown => 0.0,
    }
}

fn processor_of(cost: &Linear, factor: f64, link: Option<ProcessorLink>) -> Processor {
    let weight = |column| cost.weight(column).map(|it| ps_up(it * factor));
    let kinds = MatchType::ALL.map(|kind| weight(Column::Entry(kind)));
    // What no frame kept the processor busy with is charged as the dearest of its kind.
    let dearest = kinds.into_iter().flatten().max().unwrap_or(0);
    let entry = |place: usize| kinds[place].unwrap_or(dearest);
    let actions = Action::ALL.map(|action| weight(Column::Does(action)));
    let dear = actions.into_iter().flatten().max().unwrap_or(0);
    let action = |place: usize| actions[place].unwrap_or(dear);
    let base_ps = weight(Column::Base).unwrap_or(0);
    let spread = 100.0 * 2.0 * (factor - 1.0) / factor;
    Processor {
        base_ps,
        per_byte_ps: weight(Column::Byte).unwrap_or(0),
        per_entry_ps: MatchCosts {
            port: entry(0),
            tp_dst: entry(1),
            dl_dst: entry(2),
            masked_nw_dst: entry(3),
            five_tuple: entry(4),
            all: entry(5),
        },
        actions_ps: ActionCosts {
            set_vlan_id: action(1),
            set_vlan_pcp: action(2),
            strip_vlan: action(3),
            set_dl_src: action(4),
            set_nw_src: action(5),
            set_nw_tos: action(6),
            set_tp_src: action(7),
        },
        // A further copy is charged as a whole frame without its look-up.
        per_output_ps: base_ps,
        spread_percent: u32::try_from(ps_up(spread.ceil() / 1e3) + 1).unwrap_or(99).min(99),
        link,
        ..Processor::FREE
    }
}
