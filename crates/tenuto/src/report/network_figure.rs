//! The network with the load of every direction: one drawing per redundant network and mode.

use super::network_layout::{Graph, HOST, Layout, SWITCH, lay_out};
use super::page::Part;
use super::svg::{Anchor, Svg, WIDTH};
use super::table::{Cell, Table};
use super::text::{percent_up, rate, shorten};
use std::collections::BTreeMap;
use tenuto_model::{Link, Network, Plan, Port, PortRow, Transition};

/// More switches than this cannot be told apart on a page.
const SWITCHES_DRAWN_MAX: usize = 60;
/// Hosts of one drawing.
const HOSTS_DRAWN_MAX: usize = 400;

/// What one drawing shows.
struct Scene<'a> {
    network: &'a Network,
    switches: Vec<&'a str>,
    layout: Layout,
    graph: Graph,
    loads: BTreeMap<&'a Port, &'a PortRow>,
}

pub(super) fn part(plan: &Plan) -> Part {
    let network = &plan.network;
    let mut part = Part::new("network", "Network and load");
    part.lead(
        "Load of each direction on the wire, preambles and gaps included, as a share of the link \
         rate. Hosts: ▲ what they send, ▼ what they receive.",
    );
    part.key(&[("k-l1", "below 50 %"), ("k-l2", "from 50 %"), ("k-l3", "from 80 %")]);
    let networks: Vec<Option<&String>> = match network.networks.is_empty() {
        true => vec![None],
        false => network.networks.iter().map(Some).collect(),
    };
    for (level, mode) in (0u8..).zip(&network.modes) {
        for copy in &networks {
            let caption = caption(network, mode, *copy);
            match scene(plan, *copy, Transition::Steady(level)) {
                Some(scene) => part.figure(&caption, &draw(&scene)),
                None => part.paragraph(&format!(
                    "{caption}: too large to be drawn; the loads are in the table."
                )),
            }
        }
    }
    part.table_folded(&table(plan));
    part
}

fn caption(network: &Network, mode: &str, copy: Option<&String>) -> String {
    let mut words = Vec::new();
    words.extend(copy.map(|copy| format!("network {copy}")));
    if network.modes.len() > 1 {
        words.push(format!("mode {mode}"));
    }
    words.join(", ")
}

fn scene<'a>(plan: &'a Plan, copy: Option<&String>, mode: Transition) -> Option<Scene<'a>> {
    let network = &plan.network;
    let switches: Vec<&str> = network
        .switches
        .iter()
        .filter(|s| copy.is_none() || s.network.as_ref() == copy)
        .map(|s| s.name.as_str())
        .collect();
    let numbers: BTreeMap<&str, usize> =
        switches.iter().enumerate().map(|(n, name)| (*name, n)).collect();
    let is_source =
        |host: usize| network.flows.iter().any(|flow| flow.source == network.hosts[host].name);
    let mut graph = Graph {
        switches: switches.len(),
        trunks: Vec::new(),
        hosts: vec![Vec::new(); switches.len()],
    };
    let hosts: BTreeMap<&str, usize> =
        network.hosts.iter().enumerate().map(|(n, host)| (host.name.as_str(), n)).collect();
    for link in &network.links {
        let (a, b) = (link.a.node.as_str(), link.b.node.as_str());
        match (numbers.get(a), numbers.get(b)) {
            (Some(a), Some(b)) => graph.trunks.push((*a, *b)),
            (Some(switch), None) => graph.hosts[*switch].extend(hosts.get(b)),
            (None, Some(switch)) => graph.hosts[*switch].extend(hosts.get(a)),
            (None, None) => {}
        }
    }
    let drawn: usize = graph.hosts.iter().map(Vec::len).sum();
    if switches.len() > SWITCHES_DRAWN_MAX || drawn > HOSTS_DRAWN_MAX {
        return None;
    }
    for list in &mut graph.hosts {
        list.sort_by_key(|host| (!is_source(*host), *host));
    }
    let rows = plan.port_rows.iter().filter(|row| row.mode == mode);
    let loads = rows.map(|row| (&row.port, row)).collect();
    Some(Scene { network, switches, layout: lay_out(&graph), graph, loads })
}

impl Scene<'_> {
    fn load(&self, node: &str, port: u32) -> Option<&PortRow> {
        self.loads.get(&Port { node: node.to_owned(), port }).copied()
    }

    fn centre(&self, node: &str, other: &str) -> Option<(f64, f64)> {
        let number = |name: &str| self.switches.iter().position(|s| *s == name);
        if let Some(switch) = number(node) {
            return Some(self.layout.switches[switch]);
        }
        let host = self.network.hosts.iter().position(|h| h.name == node)?;
        self.layout.hosts.get(&(number(other)?, host)).copied()
    }
}

fn draw(scene: &Scene<'_>) -> String {
    let width = scene.layout.width.max(WIDTH);
    let shift = (width - scene.layout.width) / 2.0;
    let mut svg = Svg::new();
    for link in &scene.network.links {
        draw_link(&mut svg, scene, link, shift);
    }
    for (switch, hosts) in scene.graph.hosts.iter().enumerate() {
        let (x, y) = scene.layout.switches[switch];
        let name = scene.switches[switch];
        svg.titled(name, |svg| {
            svg.rect(x + shift - SWITCH.0 / 2.0, y - SWITCH.1 / 2.0, SWITCH.0, SWITCH.1, "switch");
            svg.text(x + shift, y + 4.0, Anchor::Middle, "strong", &shorten(name, 10));
        });
        for host in hosts {
            if let Some(&(x, y)) = scene.layout.hosts.get(&(switch, *host)) {
                draw_host(&mut svg, scene, *host, name, (x + shift, y));
            }
        }
    }
    svg.finish(width, scene.layout.height, "The network and the load of every direction")
}

fn draw_host(svg: &mut Svg, scene: &Scene<'_>, host: usize, switch: &str, at: (f64, f64)) {
    let name = &scene.network.hosts[host].name;
    let ends = scene.network.ends_of(name).find(|(_, far, _)| far.node == switch);
    let share = |row: Option<&PortRow>| {
        row.map_or_else(|| "0 %".to_owned(), |row| percent_up(row.rate_bps, row.capacity_bps))
    };
    let (out, back) = ends.map_or((None, None), |(own, far, _)| {
        (scene.load(name, own.port), scene.load(switch, far.port))
    });
    let words = format!("▲ {}  ▼ {}", share(out), share(back));
    let (x, y) = (at.0 - HOST.0 / 2.0, at.1 - HOST.1 / 2.0);
    svg.titled(&format!("{name}: {words}"), |svg| {
        svg.rect(x, y, HOST.0, HOST.1, "node");
        svg.text(at.0, at.1 - 2.0, Anchor::Middle, "", &shorten(name, 14));
        svg.text(at.0, at.1 + 10.0, Anchor::Middle, "tiny", &words);
    });
}

fn draw_link(svg: &mut Svg, scene: &Scene<'_>, link: &Link, shift: f64) {
    let (a, b) = (&link.a, &link.b);
    let ends = scene.centre(&a.node, &b.node).zip(scene.centre(&b.node, &a.node));
    let Some(((ax, ay), (bx, by))) = ends else { return };
    let (ax, bx) = (ax + shift, bx + shift);
    let is_trunk = [a, b].iter().all(|end| scene.switches.contains(&end.node.as_str()));
    let length = (bx - ax).hypot(by - ay).max(1.0);
    let (nx, ny) = ((by - ay) / length, (ax - bx) / length);
    for (row, sign) in [(scene.load(&a.node, a.port), 1.0), (scene.load(&b.node, b.port), -1.0)] {
        let apart = 2.6 * sign;
        let from = (ax + nx * apart, ay + ny * apart);
        let to = (bx + nx * apart, by + ny * apart);
        let Some(row) = row else {
            svg.line(from, to, "load-0");
            continue;
        };
        let title = format!(
            "{}: {} of {}, {}",
            scene.network.port_label(&row.port),
            rate(row.rate_bps),
            rate(row.capacity_bps),
            percent_up(row.rate_bps, row.capacity_bps)
        );
        svg.titled(&title, |svg| svg.line(from, to, load_class(row)));
        if is_trunk {
            // Near the sender, on the outside of its own line, with an arrow along it.
            let share = if sign > 0.0 { 0.36 } else { 0.64 };
            let (x, y) = (ax + (bx - ax) * share, ay + (by - ay) * share);
            let (away_x, away_y) = (nx * sign * 17.0, ny * sign * 12.0);
            let arrow = arrow((bx - ax) * sign, (by - ay) * sign);
            let words = format!("{arrow} {}", percent_up(row.rate_bps, row.capacity_bps));
            svg.text(x + away_x, y + away_y + 3.5, Anchor::Middle, "tiny", &words);
        }
    }
}

fn arrow(dx: f64, dy: f64) -> char {
    if dx.abs() * 3.0 < dy.abs() {
        return if dy > 0.0 { '↓' } else { '↑' };
    }
    match (dx > 0.0, dy.abs() * 3.0 > dx.abs(), dy > 0.0) {
        (true, false, _) => '→',
        (false, false, _) => '←',
        (true, true, true) => '↘',
        (true, true, false) => '↗',
        (false, true, true) => '↙',
        (false, true, false) => '↖',
    }
}

fn load_class(row: &PortRow) -> &'static str {
    let (rate, capacity) = (u128::from(row.rate_bps), u128::from(row.capacity_bps));
    if rate == 0 {
        "load-0"
    } else if rate * 2 < capacity {
        "load-1"
    } else if rate * 5 < capacity * 4 {
        "load-2"
    } else {
        "load-3"
    }
}

fn table(plan: &Plan) -> Table {
    let header = vec![
        "port",
        "mode",
        "rate_bps",
        "link_rate_bps",
        "load_ppm",
        "backlog_bound_bits",
        "buffer_limit_bits",
    ];
    let mut table = Table::new("load", header);
    let mut rows: Vec<&PortRow> = plan.port_rows.iter().collect();
    let load =
        |row: &PortRow| u128::from(row.rate_bps) * 1_000_000 / u128::from(row.capacity_bps.max(1));
    rows.sort_by_key(|row| std::cmp::Reverse(load(row)));
    for row in rows {
        table.push(vec![
            Cell::text(plan.network.port_label(&row.port)),
            Cell::text(row.mode.label(&plan.network.modes)),
            Cell::shown(row.rate_bps, rate),
            Cell::shown(row.capacity_bps, rate),
            Cell::shown(u64::try_from(load(row)).unwrap_or(u64::MAX), |ppm| {
                percent_up(ppm, 1_000_000)
            }),
            Cell::bits(row.backlog_bound_bits),
            Cell::bits(row.buffer_limit_bits),
        ]);
    }
    table
}
