//! Putting a server graph together from the parts that other tools' files have.

use super::Import;
use super::advice::{ONCE, PIECES, RATE};
use super::decimal::{Decimal, Toward};
use crate::read::network::FLOWS_MAX;
use crate::read::reader::shown;
use crate::servers::{PIECES_MAX, SERVERS_MAX, Tree, TreeError, name_problem};
use crate::yaml::Place;
use std::collections::BTreeMap;
use tenuto_calculus::{Bucket, GraphFlow, GraphServer, GraphTarget, RateLatency, ServerGraph};
use tenuto_units::Picos;

/// Largest value of the file format, in its smallest units.
const FINE_MAX: u64 = 10_000_000_000_000_000_000;
/// Longest time, ps: ten days.
const TIME_PS_MAX: u64 = 864_000_000_000_000_000;

/// Most steps of all paths together.
const STEPS_MAX: usize = 500_000;

/// A server graph in the making.
#[derive(Default)]
pub(crate) struct ServerDraft {
    graph: ServerGraph,
    steps: usize,
    names: BTreeMap<String, usize>,
    flow_lines: BTreeMap<String, u32>,
}

/// A path of a flow.
pub(crate) struct PathParts {
    pub(crate) name: String,
    pub(crate) servers: Vec<usize>,
    pub(crate) deadline: Option<Picos>,
    pub(crate) place: Place,
}

impl ServerDraft {
    pub(crate) fn new(name: &str) -> Self {
        let graph = ServerGraph { name: shown(name), ..ServerGraph::default() };
        Self { graph, ..Self::default() }
    }

    /// The index of a server; an unknown one is reported.
    pub(crate) fn index(&self, it: &mut Import<'_>, name: &str, place: Place) -> Option<usize> {
        let found = self.names.get(name).copied();
        if found.is_none() {
            let near = it.reader.nearest(name, self.names.keys().map(String::as_str));
            let hint = near.map_or_else(String::new, |near| format!("did you mean {near}?"));
            it.error(place, format!("there is no server `{}`", shown(name)), &hint);
        }
        found
    }

    /// The index of a server, if there is one of that name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// Whether the paths have more steps than are read.
    pub(crate) const fn is_full(&self) -> bool {
        self.steps > STEPS_MAX
    }

    /// How many servers there are.
    pub(crate) fn servers(&self) -> usize {
        self.graph.servers.len()
    }

    pub(crate) fn server(&mut self, it: &mut Import<'_>, server: GraphServer, place: Place) {
        check_name(it, &server.name, place);
        if self.graph.servers.len() >= SERVERS_MAX {
            it.error(place, "there are too many servers", "at most 65000");
            return;
        }
        if server.service.iter().all(|piece| piece.rate_ubps == 0) {
            it.error(place, format!("server `{}` serves nothing", shown(&server.name)), RATE);
        }
        if self.names.insert(server.name.clone(), self.graph.servers.len()).is_some() {
            let message = format!("two servers are called `{}`", shown(&server.name));
            it.error(place, message, "each has a name of its own");
        }
        self.graph.servers.push(server);
    }

    /// Adds a flow. A path that meets another one of the flow again is a flow of its own.
    pub(crate) fn flow(
        &mut self,
        it: &mut Import<'_>,
        name: &str,
        arrival: Vec<Bucket>,
        paths: Vec<PathParts>,
        place: Place,
    ) {
        check_name(it, name, place);
        if let Some(first) = self.flow_lines.insert(name.to_owned(), place.line) {
            let message = format!("two flows are called `{}`", shown(name));
            it.error(place, message, &format!("the first is in line {first}"));
            return;
        }
        self.steps = paths.iter().fold(self.steps, |sum, path| sum + path.servers.len());
        if self.is_full() {
            it.error(place, "the paths are too long together", "at most 500000 steps");
            return;
        }
        let (tree, targets, apart) = self.join(it, name, paths);
        if !targets.is_empty() {
            let visits = tree.into_visits();
            self.push(
                it,
                GraphFlow {
                    name: name.to_owned(),
                    arrival: arrival.clone(),
                    visits,
                    targets,
                    is_lossy: false,
                },
                place,
            );
        }
        for path in apart {
            let name = format!("{name}#{}", path.name);
            self.flow(it, &name, arrival.clone(), vec![path], place);
        }
    }

    /// The paths as one tree with its targets, and those that meet another again.
    fn join(
        &self,
        it: &mut Import<'_>,
        flow: &str,
        paths: Vec<PathParts>,
    ) -> (Tree, Vec<GraphTarget>, Vec<PathParts>) {
        let mut tree = Tree::default();
        let mut targets: Vec<GraphTarget> = Vec::new();
        let mut apart = Vec::new();
        let server = |at: usize| shown(&self.graph.servers[at].name);
        for path in paths {
            check_name(it, &path.name, path.place);
            if targets.iter().any(|target| target.name == path.name) {
                let message = format!("two paths are called `{}`", shown(&path.name));
                it.error(path.place, message, "each has a name of its own");
                continue;
            }
            match tree.add(&path.servers) {
                Ok(visit) => targets.push(GraphTarget {
                    name: path.name,
                    visit,
                    deadline: path.deadline,
                    constant: Picos(0),
                }),
                Err(TreeError::Twice(at)) => {
                    it.error(path.place, format!("the path visits `{}` twice", server(at)), ONCE);
                }
                Err(TreeError::Rejoins(at)) => {
                    let (path_name, flow, server) = (shown(&path.name), shown(flow), server(at));
                    let message = format!(
                        "path `{path_name}` meets another path of `{flow}` again at `{server}`"
                    );
                    it.warn(path.place, message, "it is a flow of its own, counted besides");
                    apart.push(path);
                }
            }
        }
        (tree, targets, apart)
    }

    fn push(&mut self, it: &mut Import<'_>, flow: GraphFlow, place: Place) {
        if self.graph.flows.len() < FLOWS_MAX {
            self.graph.flows.push(flow);
        } else {
            it.error(place, "there are too many flows", "at most 65000");
        }
    }

    /// The graph; one without servers or flows is reported.
    pub(crate) fn finish(self, it: &mut Import<'_>) -> ServerGraph {
        let is_read = !it.reader.diagnostics.has_errors();
        if is_read && (self.graph.servers.is_empty() || self.graph.flows.is_empty()) {
            let hint = "a server graph has servers, and flows through them";
            it.error(Place::default(), "there is nothing to analyse", hint);
        }
        self.graph
    }
}

fn check_name(it: &mut Import<'_>, name: &str, place: Place) {
    if let Some(why) = name_problem(name) {
        it.error(place, why, &shown(name));
    }
}

/// The pieces of a curve from its two columns; where one is longer, the rest of it is left out,
/// which makes no curve of minima or maxima wrong.
pub(crate) fn pairs<A: Copy, B: Copy>(
    it: &mut Import<'_>,
    first: &[A],
    second: &[B],
    place: Place,
    of: &str,
) -> Vec<(A, B)> {
    if first.is_empty() || second.is_empty() {
        it.error(place, format!("the curve of `{}` has no piece", shown(of)), PIECES);
    }
    if first.len() != second.len() {
        let message = format!(
            "the curve of `{}` has {} and {} values: the longer list is cut",
            shown(of),
            first.len(),
            second.len()
        );
        it.warn(place, message, "a piece has one of each");
    }
    if first.len().min(second.len()) > PIECES_MAX {
        it.error(place, format!("the curve of `{}` has too many pieces", shown(of)), "at most 64");
    }
    first.iter().copied().zip(second.iter().copied()).take(PIECES_MAX).collect()
}

/// Takes the capacity of a line for the service of the port in front of it where that is stated to
/// be faster. Both as they stand contradict each other: programs that use both would prove bounds
/// that a port exceeds, whichever of the two it keeps.
pub(crate) fn serve_no_faster(
    it: &mut Import<'_>,
    service: &mut [RateLatency],
    capacity_ubps: u64,
    place: Place,
) {
    let capacity_ubps = i128::from(capacity_ubps);
    let faster = service.iter_mut().filter(|piece| piece.rate_ubps > capacity_ubps);
    let mut is_slower = false;
    for piece in faster {
        piece.rate_ubps = capacity_ubps;
        is_slower = true;
    }
    if is_slower {
        it.warn(
            place,
            "the capacity is below the service rate: what is served cannot all leave",
            "taken to serve at its capacity; without a capacity it serves as stated",
        );
    }
}

/// What a file without units is taken in: megabits and seconds. A burst of 1 and a rate of 1 are
/// then exact to 10⁻¹², and a delay of 1 is a second.
#[derive(Clone, Copy)]
pub(crate) struct WithoutUnits;

impl WithoutUnits {
    /// The note that says so.
    pub(crate) const NOTE: &'static str = "the file has no units: a burst of 1 is taken as 1 Mbit, \
        a rate of 1 as 1 Mbit/s, a delay of 1 as 1 s; rounded by at most 1e-12 of these";

    pub(crate) fn bucket(burst: Decimal, rate: Decimal) -> Option<Bucket> {
        let burst_ubit = fine(burst, 1, 12, 1, Toward::Up)?;
        Some(Bucket { burst_ubit, rate_ubps: fine(rate, 1, 12, 1, Toward::Up)? })
    }

    pub(crate) fn rate_latency(rate: Decimal, latency: Decimal) -> Option<RateLatency> {
        let rate_ubps = fine(rate, 1, 12, 1, Toward::Down)?;
        Some(RateLatency { rate_ubps, latency: picos(latency, 12, 1)? })
    }
}

/// A number in 10⁻⁶ bit or bit/s; `None` beyond what a file can hold.
pub(crate) fn fine(
    number: Decimal,
    factor: u64,
    power: i32,
    divisor: u64,
    toward: Toward,
) -> Option<i128> {
    let value = number.scaled(factor, power, divisor, toward)?;
    (value <= FINE_MAX).then_some(i128::from(value))
}

/// A latency in picoseconds, rounded up; `None` beyond what a file can hold.
pub(crate) fn picos(number: Decimal, power: i32, factor: u64) -> Option<Picos> {
    let value = number.scaled(factor, power, 1, Toward::Up)?;
    (value <= TIME_PS_MAX).then_some(Picos(i128::from(value)))
}
