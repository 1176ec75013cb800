//! Where nodes are drawn: switches in columns by distance, hosts around them. No forces, no
//! chance: the same network always looks the same.
//!
//! Columns are the distances from one end of a longest shortest path, so a trunk spans at most one
//! column. Hosts of the first column lie left of it, those of the last right of it, others above
//! or below, so that trunks have the space between.

use std::collections::{BTreeMap, VecDeque};

pub(super) const SWITCH: (f64, f64) = (72.0, 32.0);
pub(super) const HOST: (f64, f64) = (92.0, 30.0);
const HOST_STEP: (f64, f64) = (100.0, 37.0);
const ARM: f64 = 44.0;
const COLUMN_GAP: f64 = 120.0;
const ROW_GAP: f64 = 46.0;
const HOSTS_PER_STACK: usize = 8;

/// What is to be laid out. Nodes are indices of the caller's.
pub(super) struct Graph {
    pub(super) switches: usize,
    /// Pairs of switches.
    pub(super) trunks: Vec<(usize, usize)>,
    /// Hosts of each switch, those that send first.
    pub(super) hosts: Vec<Vec<usize>>,
}

/// Centres of the nodes.
pub(super) struct Layout {
    pub(super) switches: Vec<(f64, f64)>,
    /// (switch, host) to the host's centre.
    pub(super) hosts: BTreeMap<(usize, usize), (f64, f64)>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// One switch with its hosts, as a box: how much space on each side of the switch's centre.
struct Cell {
    switch: usize,
    left: f64,
    right: f64,
    above: f64,
    below: f64,
    /// Hosts, relative to the switch.
    hosts: Vec<(usize, (f64, f64))>,
}

pub(super) fn lay_out(graph: &Graph) -> Layout {
    let cells = cells(graph);
    let mut layout = Layout {
        switches: vec![(0.0, 0.0); graph.switches],
        hosts: BTreeMap::new(),
        width: 0.0,
        height: cells.iter().map(|column| height(column)).fold(0.0, f64::max) + 24.0,
    };
    let mut x = 10.0;
    for column in &cells {
        let left = column.iter().map(|c| c.left).fold(0.0, f64::max);
        let right = column.iter().map(|c| c.right).fold(0.0, f64::max);
        let mut y = (layout.height - height(column)) / 2.0;
        for cell in column {
            let centre = (x + left, y + cell.above);
            layout.switches[cell.switch] = centre;
            for (host, (dx, dy)) in &cell.hosts {
                layout.hosts.insert((cell.switch, *host), (centre.0 + dx, centre.1 + dy));
            }
            y += cell.above + cell.below + ROW_GAP;
        }
        x += left + right + COLUMN_GAP;
    }
    layout.width = x - COLUMN_GAP + 10.0;
    layout
}

/// A box for every switch, column by column; hosts are on the outer side where there is one.
fn cells(graph: &Graph) -> Vec<Vec<Cell>> {
    let columns = columns(graph);
    let last = columns.len().saturating_sub(1);
    let cells = |(column, switches): (usize, &Vec<usize>)| {
        let count = switches.len();
        let cell = |(row, &switch): (usize, &usize)| {
            let hosts = &graph.hosts[switch];
            if last == 0 && count == 1 {
                both_sides(switch, hosts)
            } else if column == 0 && last > 0 {
                beside(switch, hosts, -1.0)
            } else if column == last {
                beside(switch, hosts, 1.0)
            } else {
                stacked(switch, hosts, row * 2 >= count && count > 1)
            }
        };
        switches.iter().enumerate().map(cell).collect()
    };
    columns.iter().enumerate().map(cells).collect()
}

fn height(column: &[Cell]) -> f64 {
    let cells: f64 = column.iter().map(|c| c.above + c.below).sum();
    cells + ROW_GAP * super::svg::place(column.len().saturating_sub(1))
}

/// Switches by distance from an end of the network, each column in the order of its neighbours.
fn columns(graph: &Graph) -> Vec<Vec<usize>> {
    let mut neighbours = vec![Vec::new(); graph.switches];
    for &(a, b) in &graph.trunks {
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let mut columns: Vec<Vec<usize>> = Vec::new();
    let mut placed = vec![false; graph.switches];
    for first in 0..graph.switches {
        if placed[first] {
            continue;
        }
        let far = |from: usize| {
            let distances = distances(&neighbours, from);
            let best = (0..graph.switches).filter_map(|s| Some((distances[s]?, s)));
            best.max_by_key(|&(d, s)| (d, std::cmp::Reverse(s))).map_or(from, |(_, s)| s)
        };
        let one = far(first);
        let root = one.min(far(one));
        let distances = distances(&neighbours, root);
        let mut row_of: BTreeMap<usize, usize> = BTreeMap::new();
        for distance in 0.. {
            let mut column: Vec<usize> =
                (0..graph.switches).filter(|s| distances[*s] == Some(distance)).collect();
            if column.is_empty() {
                break;
            }
            // Twice the mean place of the neighbours on the left, in whole numbers.
            column.sort_by_key(|s| {
                let places: Vec<usize> =
                    neighbours[*s].iter().filter_map(|n| row_of.get(n).copied()).collect();
                (places.iter().sum::<usize>() * 16 / places.len().max(1), *s)
            });
            row_of = column.iter().enumerate().map(|(row, s)| (*s, row)).collect();
            column.iter().for_each(|s| placed[*s] = true);
            columns.push(column);
        }
    }
    columns
}

fn distances(neighbours: &[Vec<usize>], from: usize) -> Vec<Option<usize>> {
    let mut distances = vec![None; neighbours.len()];
    distances[from] = Some(0);
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for &next in &neighbours[node] {
            if distances[next].is_none() {
                distances[next] = distances[node].map(|d| d + 1);
                queue.push_back(next);
            }
        }
    }
    distances
}

/// Hosts in stacks at one side: −1 left, 1 right.
fn beside(switch: usize, hosts: &[usize], side: f64) -> Cell {
    let stacks = hosts.len().div_ceil(HOSTS_PER_STACK).max(1);
    let rows = hosts.len().div_ceil(stacks).max(1);
    let place = |number: usize| {
        let (stack, row) = (super::svg::place(number / rows), super::svg::place(number % rows));
        let in_stack = (hosts.len() - number / rows * rows).min(rows);
        let x = SWITCH.0 / 2.0 + ARM + HOST.0 / 2.0 + stack * HOST_STEP.0;
        let y = (row - (super::svg::place(in_stack) - 1.0) / 2.0) * HOST_STEP.1;
        (side * x, y)
    };
    let half = (super::svg::place(rows) * HOST_STEP.1).max(SWITCH.1) / 2.0;
    let reach = match hosts.len() {
        0 => SWITCH.0 / 2.0,
        _ => SWITCH.0 / 2.0 + ARM + super::svg::place(stacks) * HOST_STEP.0,
    };
    Cell {
        switch,
        left: if side < 0.0 { reach } else { SWITCH.0 / 2.0 },
        right: if side < 0.0 { SWITCH.0 / 2.0 } else { reach },
        above: half,
        below: half,
        hosts: hosts.iter().enumerate().map(|(n, h)| (*h, place(n))).collect(),
    }
}

/// The only switch: its first half of hosts to the left, the others to the right.
fn both_sides(switch: usize, hosts: &[usize]) -> Cell {
    let (left, right) = hosts.split_at(hosts.len().div_ceil(2));
    let left = beside(switch, left, -1.0);
    let right = beside(switch, right, 1.0);
    Cell {
        switch,
        left: left.left,
        right: right.right,
        above: left.above.max(right.above),
        below: left.below.max(right.below),
        hosts: left.hosts.into_iter().chain(right.hosts).collect(),
    }
}

/// Hosts in rows above or below.
fn stacked(switch: usize, hosts: &[usize], is_below: bool) -> Cell {
    let per_row = if hosts.len() <= 4 { hosts.len().max(1) } else { hosts.len().isqrt() + 1 };
    let rows = hosts.len().div_ceil(per_row);
    let sign = if is_below { 1.0 } else { -1.0 };
    let place = |number: usize| {
        let row = number / per_row;
        let in_row = super::svg::place((hosts.len() - row * per_row).min(per_row));
        let column = super::svg::place(number % per_row);
        let y = SWITCH.1 / 2.0 + 24.0 + HOST.1 / 2.0 + super::svg::place(row) * HOST_STEP.1;
        ((column - (in_row - 1.0) / 2.0) * HOST_STEP.0, sign * y)
    };
    let half_width =
        (super::svg::place(per_row.min(hosts.len())) * HOST_STEP.0).max(SWITCH.0) / 2.0;
    let near = SWITCH.1 / 2.0;
    let far = match rows {
        0 => near,
        _ => near + 24.0 + super::svg::place(rows) * HOST_STEP.1,
    };
    Cell {
        switch,
        left: half_width,
        right: half_width,
        above: if is_below { near } else { far },
        below: if is_below { far } else { near },
        hosts: hosts.iter().enumerate().map(|(n, h)| (*h, place(n))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_of_four_is_a_diamond_and_nothing_overlaps() {
        let graph = Graph {
            switches: 4,
            trunks: vec![(0, 1), (1, 2), (2, 3), (3, 0)],
            hosts: vec![vec![0, 1], vec![2, 3, 4], vec![5; 1], (6..30).collect()],
        };
        assert_eq!(columns(&graph), [vec![0], vec![1, 3], vec![2]]);
        let layout = lay_out(&graph);
        let hosts: Vec<_> = layout.hosts.values().collect();
        for (n, a) in hosts.iter().enumerate() {
            assert!(a.0 > 0.0 && a.0 < layout.width && a.1 > 0.0 && a.1 < layout.height, "{a:?}");
            for b in &hosts[..n] {
                let apart = (a.0 - b.0).abs() >= HOST.0 || (a.1 - b.1).abs() >= HOST.1;
                assert!(apart, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn parts_without_a_link_between_them_follow_each_other() {
        let graph = Graph { switches: 3, trunks: vec![(1, 2)], hosts: vec![Vec::new(); 3] };
        assert_eq!(columns(&graph), [vec![0], vec![1], vec![2]]);
        let none = Graph { switches: 0, trunks: Vec::new(), hosts: Vec::new() };
        assert!(lay_out(&none).height > 0.0);
    }
}
