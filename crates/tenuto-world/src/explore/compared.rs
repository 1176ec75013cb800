//! Cases that are counted both ways: as the classic tool counts, and natively, with the code that runs live.

use super::classic::apps::{MacLearning, Redundant, RouteFlow as ClassicRouteFlow};
use super::classic::{self, Count, lines};
use super::reactive::{Move, Property, Reductions, Send, Setup, Trace, explore_on};
use super::search::Outcome;
use tenuto_controller::reactive::{Hop, LearningSwitch, ReactiveApp, RouteFlow};
use tenuto_model::{Addressing, MemorySources, Network, read_network};

/// The free port to which the replier of a learning case may move.
const SPARE_PORT: u32 = 9;
/// Addresses that the learning switch remembers.
const ADDRESSES_MAX: usize = 65_536;
/// Native states of a case at most.
const STATES_MAX: usize = 20_000_000;

/// What the controller runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Application {
    /// MAC learning; the replier may move.
    Learning,
    /// Route flow; every packet-in has the rest of the way installed.
    RouteFlow,
}

/// Pings over a line of switches, with a host at each end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    application: Application,
    switches: u8,
    packets: u8,
}

impl Case {
    /// Those of the paper's tables that the classic tool was run on, and with `all` the larger ones.
    pub fn shipped(all: bool) -> Vec<Self> {
        use Application::{Learning, RouteFlow};
        let case = |application| {
            move |&(switches, packets): &(u8, u8)| Self { application, switches, packets }
        };
        let (mut learning, mut routes) = (
            vec![(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)],
            vec![(1, 1), (2, 1), (3, 1), (1, 2), (1, 3), (2, 2)],
        );
        if all {
            learning.extend([(1, 4), (2, 3), (3, 1), (3, 2)]);
            routes.extend([(4, 1), (1, 4), (3, 2)]);
        }
        let learning = learning.iter().map(case(Learning));
        learning.chain(routes.iter().map(case(RouteFlow))).collect()
    }

    /// Its name.
    pub fn name(&self) -> String {
        let what = match self.application {
            Application::Learning => "MAC learning",
            Application::RouteFlow => "route flow",
        };
        format!("{what}, {} switches, {} packets", self.switches, self.packets)
    }

    /// Counted as the classic tool does.
    pub fn classic(&self) -> Count {
        let Self { switches, packets, .. } = *self;
        match self.application {
            Application::Learning => {
                classic::explore(&lines::line(switches, packets, true), MacLearning::default())
            }
            Application::RouteFlow => {
                let route = ClassicRouteFlow::new(switches.into(), Redundant::Reinstall);
                classic::explore(&lines::line(switches, packets, false), route)
            }
        }
    }

    /// Explored natively.
    ///
    /// # Errors
    /// In words, if the case cannot be set up.
    pub fn native(&self, reductions: Reductions) -> Result<Outcome<Trace>, String> {
        let network = line(self.switches)?;
        explore_on(&network, self.app(&network), &self.setup(reductions), &mut |_, _| {})
    }

    fn app(&self, network: &Network) -> Box<dyn ReactiveApp> {
        if self.application == Application::Learning {
            return Box::new(LearningSwitch::new(ADDRESSES_MAX));
        }
        let addressing = Addressing::new(network);
        let switches = 1..=u64::from(self.switches);
        let there = switches.clone().map(|datapath| Hop { datapath, port: 2 }).collect();
        let back = switches.rev().map(|datapath| Hop { datapath, port: 1 }).collect();
        let (first, last) = (addressing.host(0).mac, addressing.host(1).mac);
        Box::new(RouteFlow::new().with_way(last, there).with_way(first, back))
    }

    fn setup(&self, reductions: Reductions) -> Setup {
        let to = |switch: u8| format!("s{switch}");
        let moves = vec![Move { host: "h2".into(), switch: to(self.switches), port: SPARE_PORT }];
        Setup {
            sends: vec![Send { from: "h1".into(), to: "h2".into(), packets: self.packets }],
            replies: vec!["h2".into()],
            moves: if self.application == Application::Learning { moves } else { Vec::new() },
            // No property of the classic runs tells packets apart either.
            properties: vec![Property::NoFailure],
            reductions,
            states_max: STATES_MAX,
            ..Setup::default()
        }
    }
}

/// Switches `s1`, `s2`, … in a row, each with port 1 towards `h1` and port 2 towards `h2`.
fn line(switches: u8) -> Result<Network, String> {
    let names: Vec<String> = (1..=switches).map(|number| format!("s{number}")).collect();
    let nodes: Vec<String> = names.iter().map(|it| format!("{it}: {{profile: tenuto}}")).collect();
    let way: Vec<&str> =
        std::iter::once("h1").chain(names.iter().map(String::as_str)).chain(["h2"]).collect();
    let links: Vec<String> = way
        .windows(2)
        .map(|ends| format!("  - {{ends: [{}, {}], rate: 100 Mbit/s}}\n", ends[0], ends[1]))
        .collect();
    let text = format!(
        "tenuto: 1\nname: line\nhosts: {{h1: {{}}, h2: {{}}}}\nswitches: {{{}}}\nlinks:\n{}flows:\n  f: {{source: h1, \
         targets: [h2], message: 1 kB, period: 10 ms, deadline: 9 ms}}\n",
        nodes.join(", "),
        links.concat(),
    );
    let sources = MemorySources::new().with("line.yaml", &text);
    let read = read_network(&sources, "line.yaml").map_err(|problems| problems.to_string())?;
    Ok(read.0)
}
