//! Why `exact` can hold fewer flows than fixed delays: it takes whoever fits, however long the way, and
//! fixed delays turn long ways away.

use super::allocations::{Indexed, LISTS};
use super::loko::{FRAME, model};
use super::loko_admission::{Switches, brim_ns, decided, open};
use super::sheet::{Sheet, rounded};
use crate::progress::{Progress, bar};
use serde_json::Value;
use tenuto_admission::Method;
use tenuto_planner::loko::{Allocation, Demand, admit, between_hosts, optimised};
use tenuto_units::Draws;

const ENTRIES: u32 = 17;
const ASKED: usize = 200;
const SEEDS: [u64; 3] = [1, 2, 3];

/// Flows held, and the switches that they cross.
#[derive(Clone, Copy, Default)]
struct Held {
    flows: usize,
    crossed: usize,
}

pub(super) fn sheet() -> Sheet {
    let mut progress = Progress::new();
    let title =
        format!("flows held on drawn networks of Zodiac FX, mean of {LISTS} lists of {ASKED}");
    let columns = [
        "network",
        "switches",
        "chosen",
        "crossed",
        "exact",
        "crossed",
        "chosen, short ways first",
        "exact, short ways first",
    ];
    let mut sheet = Sheet::new(title, &columns);
    for (done, seed) in SEEDS.into_iter().enumerate() {
        progress.say(|| {
            let bar = bar(done as u64, SEEDS.len() as u64);
            format!("drawn networks   {bar} {done}/{}", SEEDS.len())
        });
        sheet.push(row(seed));
    }
    sheet.note("crossed: switches on the ways of the flows held, all together");
    sheet.note(
        "exact takes whoever fits when asked: flows over many switches too, each of which costs \
         several others their place; the chosen allocation has no room for them. Asked in the order \
         of their ways, shortest first, exact holds more",
    );
    sheet
}

fn row(seed: u64) -> Vec<Value> {
    let it = drawn(seed);
    let model = model(ENTRIES, FRAME);
    let lists = |seed: u64| -> Vec<Vec<Demand>> {
        let mut draws = Draws::new(seed);
        let list = |draws: &mut Draws| {
            between_hosts(&it.links, it.switches, &it.hosts, ASKED, FRAME, draws)
        };
        (0..LISTS).map(|_| list(&mut draws)).collect()
    };
    let (expected, mut judged) = (lists(1), lists(2));
    let chosen = optimised(&vec![model; it.switches], &expected, 1);
    let switches = Switches::of(&it);
    let network = switches.network(&model);
    let brim_ns = brim_ns(&model);
    let exact = |list: &Vec<Demand>| {
        let requests = switches.requests(list, brim_ns);
        let engine = decided(&open(Method::Exact), &network, &requests);
        let ways = engine.held().map(|(_, visits)| visits.len() / 2);
        Held { flows: engine.len(), crossed: ways.sum() }
    };
    let sum = |judged: &[Vec<Demand>], of: &dyn Fn(&Vec<Demand>) -> Held| {
        judged.iter().map(of).fold(Held::default(), |a, b| Held {
            flows: a.flows + b.flows,
            crossed: a.crossed + b.crossed,
        })
    };
    let fixed = |list: &Vec<Demand>| allocated(&chosen, list);
    let as_asked = [sum(&judged, &fixed), sum(&judged, &exact)];
    judged.iter_mut().for_each(|list| list.sort_by_key(|demand| demand.path.len()));
    let short_first = [sum(&judged, &fixed), sum(&judged, &exact)];
    let mean = |count: usize| rounded(count as f64 / LISTS as f64, 1);
    let mut row = vec![format!("drawn, seed {seed}").into(), it.switches.into()];
    row.extend(as_asked.into_iter().flat_map(|held| [mean(held.flows), mean(held.crossed)]));
    row.extend(short_first.map(|held| mean(held.flows)));
    row
}

/// What an allocation holds of a list, one flow after the other.
fn allocated(chosen: &[Option<Allocation>], list: &[Demand]) -> Held {
    let mut held: Vec<Demand> = Vec::new();
    for demand in list {
        held.push(demand.clone());
        if admit(chosen, &held).accepted < held.len() {
            held.pop();
        }
    }
    Held { flows: held.len(), crossed: held.iter().map(|demand| demand.path.len()).sum() }
}

/// A drawn tree of 25 to 41 switches with a tenth to three tenths as many links more, and one or two
/// hosts at each: ways are long, and few are equally long.
fn drawn(seed: u64) -> Indexed {
    let mut draws = Draws::new(seed.wrapping_mul(77) + 5);
    let mut below = |limit| draws.index(limit);
    let switches = 25 + below(17);
    let mut links: Vec<(usize, usize)> = (1..switches).map(|at| (below(at), at)).collect();
    for _ in 0..switches / 10 + below(switches) / 5 {
        let (a, b) = (below(switches), below(switches));
        let link = (a.min(b), a.max(b));
        if a != b && !links.contains(&link) {
            links.push(link);
        }
    }
    let hosts = (0..switches).flat_map(|at| vec![at; 1 + below(2)]).collect();
    Indexed { links, hosts, switches }
}
