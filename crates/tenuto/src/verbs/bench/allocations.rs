//! How many more flows an allocation accepts that was chosen for them.

use super::loko::{FRAME, RING, model};
use super::sheet::{Sheet, rounded};
use serde::Deserialize;
use std::path::PathBuf;
use tenuto_planner::loko::{
    Allocation, Demand, SwitchModel, admit, between_hosts, optimised, ring,
};
use tenuto_units::Draws;

const ENTRIES: u32 = 17;
/// Lists of flows for which an allocation is chosen, and others by which it is judged.
pub(super) const LISTS: u64 = 64;
/// Rounds of the search over single switches.
const ROUNDS: usize = 1;
const HOPS: [usize; 6] = [0, 1, 3, 5, 10, 20];
/// Flows asked for in the wind park.
const ASKED: [usize; 3] = [50, 100, 200];

/// A topology that others published: names of hosts and switches, pairs of them.
#[derive(Deserialize)]
struct Published {
    switches: Vec<String>,
    links: Vec<(String, String)>,
}

pub(super) fn sheets() -> Vec<Sheet> {
    let columns = ["asked", "full-rate", "half-rate", "fifth-rate", "chosen", "more than best %"];
    let model = model(ENTRIES, FRAME);
    let mut rings = Sheet::new(
        "flows accepted on Loko's ring of 31 Zodiac FX, mean of 64 lists of 100",
        &[&["hops"], &columns[..]].concat(),
    );
    for hops in HOPS {
        let list = |draws: &mut Draws| ring(RING, hops, 100, FRAME, draws);
        rings.push(row(hops.into(), 100, &vec![model; RING], &list));
    }
    rings.note("chosen for 64 lists drawn alike, counted on 64 others");
    let mut sheets = vec![rings];
    let mut wind = Sheet::new(
        "flows accepted between hosts of wind-oss (60 hosts, 40 switches, each a Zodiac FX)",
        &[&["network"], &columns[..]].concat(),
    );
    match published() {
        Some(it) => {
            for asked in ASKED {
                let list = |draws: &mut Draws| {
                    between_hosts(&it.links, it.switches, &it.hosts, asked, FRAME, draws)
                };
                wind.push(row("wind-oss".into(), asked, &vec![model; it.switches], &list));
            }
        }
        None => wind.note("skipped: wind-oss/topology.json is not there (set TENUTO_DATA)"),
    }
    sheets.push(wind);
    sheets
}

fn row(
    name: serde_json::Value,
    asked: usize,
    models: &[SwitchModel],
    list: &dyn Fn(&mut Draws) -> Vec<Demand>,
) -> Vec<serde_json::Value> {
    let lists = |seed: u64| -> Vec<Vec<Demand>> {
        let mut draws = Draws::new(seed);
        (0..LISTS).map(|_| list(&mut draws)).collect()
    };
    let judged = lists(2);
    let mean = |allocations: &[Option<Allocation>]| {
        let all: usize = judged.iter().map(|list| admit(allocations, list).accepted).sum();
        all as f64 / LISTS as f64
    };
    let share = |k: u64| mean(&models.iter().map(|model| model.share(k)).collect::<Vec<_>>());
    let shares = [share(1), share(2), share(5)];
    let chosen = mean(&optimised(models, &lists(1), ROUNDS));
    let best = shares.iter().copied().fold(0.0, f64::max);
    let mut row = vec![name, asked.into()];
    row.extend(shares.iter().chain([&chosen]).map(|&mean| rounded(mean, 1)));
    row.push(rounded((chosen / best - 1.0) * 100.0, 1));
    row
}

/// A topology by index: links between switches, the switch of every host.
pub(super) struct Indexed {
    pub(super) links: Vec<(usize, usize)>,
    pub(super) hosts: Vec<usize>,
    pub(super) switches: usize,
}

pub(super) fn published() -> Option<Indexed> {
    let root =
        std::env::var_os("TENUTO_DATA").map_or_else(|| "../shared/data".into(), PathBuf::from);
    let text = std::fs::read_to_string(root.join("wind-oss/topology.json")).ok()?;
    let it: Published = serde_json::from_str(&text).ok()?;
    let place = |name: &String| it.switches.iter().position(|switch| switch == name);
    let (mut links, mut hosts) = (Vec::new(), Vec::new());
    for (a, b) in &it.links {
        match (place(a), place(b)) {
            (Some(a), Some(b)) => links.push((a, b)),
            (Some(switch), None) | (None, Some(switch)) => hosts.push(switch),
            (None, None) => {}
        }
    }
    Some(Indexed { links, hosts, switches: it.switches.len() })
}
