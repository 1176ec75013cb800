//! Interleavings of Attendre's Figs. 2 and 3 as pictures of our own exploration.

use crate::failure::Failure;
use crate::output;
use std::fmt::Write;
use std::path::Path;
use tenuto_world::explore::classic::apps::{Redundant, RouteFlow};
use tenuto_world::explore::classic::graph::{Graph, graph};
use tenuto_world::explore::classic::lines::line;
use tenuto_world::explore::classic::{Counting, Protocol, Role, Setup};

const COLUMN_PX: usize = 230;
const ROW_PX: usize = 86;
const RADIUS_PX: usize = 14;

/// Figures by name: protocol, switches, packets.
const FIGURES: [(&str, Protocol, u8, u8); 4] = [
    ("figure-2a", Protocol::OpenFlow, 1, 2),
    ("figure-2b", Protocol::OpenFlow, 2, 1),
    ("figure-3a", Protocol::Attendre, 1, 2),
    ("figure-3b", Protocol::Attendre, 2, 1),
];

/// Writes the four pictures into a folder, and tells of each.
pub(super) fn write(folder: &Path) -> Result<Vec<String>, Failure> {
    output::make_folder(folder)?;
    FIGURES
        .iter()
        .map(|(name, protocol, switches, packets)| {
            let graph = interleavings(*protocol, *switches, *packets);
            let path = folder.join(format!("{name}.svg"));
            output::write_file(&path, &svg(&graph))?;
            let (states, transitions) = (graph.depths.len(), graph.edges.len());
            Ok(format!("{}: {states} states, {transitions} transitions", path.display()))
        })
        .collect()
}

/// Route flow on a line, the far host silent; states that differ in anything are apart.
fn interleavings(protocol: Protocol, switches: u8, packets: u8) -> Graph {
    let setup = line(switches, packets, false).with_protocol(protocol);
    let counting = Counting {
        has_queue_order: true,
        has_learned: true,
        has_commands: true,
        ..Counting::default()
    };
    let mut setup = Setup { counting, ..setup };
    setup.hosts[1].role = Role::Server { has_statistics: false };
    graph(&setup, RouteFlow::new(switches.into(), Redundant::Mixed))
}

/// States in rows by depth; what leads on stands beside its line.
fn svg(graph: &Graph) -> String {
    let rows = graph.depths.iter().max().map_or(1, |depth| depth + 1);
    let mut filled = vec![0_usize; rows];
    let places: Vec<(usize, usize)> = graph
        .depths
        .iter()
        .map(|depth| {
            filled[*depth] += 1;
            (filled[*depth] * COLUMN_PX - COLUMN_PX / 2, depth * ROW_PX + ROW_PX / 2)
        })
        .collect();
    let width = filled.iter().max().copied().unwrap_or(1) * COLUMN_PX + COLUMN_PX / 2;
    let height = rows * ROW_PX;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"9\">\n"
    );
    for edge in &graph.edges {
        let ((x1, y1), (x2, y2)) = (places[edge.from], places[edge.to]);
        let (x, y) = ((x1 + 2 * x2) / 3 + 4, (y1 + 2 * y2) / 3);
        let _ = writeln!(
            out,
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"#888\"/>\
             <text x=\"{x}\" y=\"{y}\">{}</text>",
            escaped(&edge.label)
        );
    }
    for (number, (x, y)) in places.iter().enumerate() {
        let _ = writeln!(
            out,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{RADIUS_PX}\" fill=\"#fff\" stroke=\"#000\"/>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">q{number}</text>",
            y + 3
        );
    }
    out.push_str("</svg>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
