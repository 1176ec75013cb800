//! The places of flows against a naive twin, and what settling costs.

use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use tenuto_dataplane::switch::{
    ActionStep, Behaviour, Entry, Pattern, Scope, SwitchConfig, Tables,
};
use tenuto_openflow::{Match, Oxm};
use tenuto_units::Instant;

mod support;

const LEVELS: u8 = 3;
const TABLES: u8 = 4;

/// One change of the tables, and whether they are settled behind it.
#[derive(Clone, Debug)]
enum Change {
    Add {
        level: u8,
        table: u8,
        flow: u16,
        precedence: u16,
        cookie: u64,
        apply: Vec<ActionStep>,
    },
    Modify {
        level: u8,
        table: u8,
        cookie: u64,
        apply: Vec<ActionStep>,
    },
    Remove {
        level: u8,
        table: u8,
        flow: u16,
    },
    Group(u8),
    Levels(u8),
    /// Preparing for more levels, by so many looks.
    Prepare(usize),
    Settle,
}

fn steps() -> impl Strategy<Value = Vec<ActionStep>> {
    let step = prop_oneof![
        (0_u32..5).prop_map(ActionStep::SetQueue),
        (1_u32..3).prop_map(ActionStep::Output),
        Just(ActionStep::Group(1)),
    ];
    vec(step, 0..3)
}

fn change() -> impl Strategy<Value = Change> {
    let place = || (0..LEVELS, 0..TABLES);
    prop_oneof![
        6 => (place(), 0_u16..6, 1_u16..3, 0_u64..4, steps()).prop_map(
            |((level, table), flow, precedence, cookie, apply)| {
                Change::Add { level, table, flow, precedence, cookie, apply }
            }
        ),
        2 => (place(), 0_u64..4, steps()).prop_map(|((level, table), cookie, apply)| {
            Change::Modify { level, table, cookie, apply }
        }),
        2 => (place(), 0_u16..6)
            .prop_map(|((level, table), flow)| Change::Remove { level, table, flow }),
        1 => (0_u8..5).prop_map(Change::Group),
        1 => (1..=LEVELS).prop_map(Change::Levels),
        2 => (1_usize..4).prop_map(Change::Prepare),
        3 => Just(Change::Settle),
    ]
}

fn pattern(flow: u16) -> (Match, Pattern) {
    let matching = Match::from(vec![Oxm::InPort(u32::from(flow) + 1)]);
    let pattern = Pattern::from_match(&matching).expect("well-formed");
    (matching, pattern)
}

fn entry(flow: u16, precedence: u16, cookie: u64, apply: Vec<ActionStep>) -> Entry {
    let (matching, pattern) = pattern(flow);
    let mut behaviour = Behaviour::default();
    behaviour.apply = apply;
    Entry {
        pattern,
        precedence,
        cookie,
        flags: 0,
        idle_timeout: 0,
        hard_timeout: 0,
        behaviour,
        version: None,
        matching,
        instructions: Vec::new(),
    }
}

/// The queue that an entry sends through.
fn queue(entry: &Entry, group: u8) -> Option<u8> {
    let mut queue = 0;
    for step in &entry.behaviour.apply {
        match *step {
            ActionStep::SetQueue(id) => queue = u8::try_from(id).expect("small"),
            ActionStep::Output(_) => return Some(queue),
            ActionStep::Group(_) => return Some(group),
            _ => {}
        }
    }
    None
}

/// All places, looked for in all entries.
fn naive(tables: &Tables, group: u8) -> Vec<BTreeMap<u64, Option<u8>>> {
    let of_level = |level| {
        let states = (2..TABLES).filter_map(move |table| tables.get(level, table));
        let entries = states.flat_map(|state| state.table().entries().iter());
        entries.filter(|e| e.cookie != 0).map(|e| (e.cookie, queue(e, group))).collect()
    };
    (0..tables.levels()).map(of_level).collect()
}

fn config() -> Arc<SwitchConfig> {
    Arc::new(SwitchConfig { tables: TABLES, entries_max: 10_000, ..support::config() })
}

fn apply_change(tables: &mut Tables, group: &mut u8, change: Change) {
    let levels = tables.levels();
    match change {
        Change::Add { level, table, flow, precedence, cookie, apply } if level < levels => {
            let entry = entry(flow, precedence, cookie, apply);
            tables.add(Instant::ZERO, level, table, entry).expect("there is room");
        }
        Change::Modify { level, table, cookie, apply } if level < levels => {
            let change = |e: &mut Entry| e.behaviour.apply.clone_from(&apply);
            let changed = tables.modify(
                (level, table),
                Scope::All,
                |e| e.cookie == cookie,
                (change, 0),
                false,
            );
            changed.expect("there is room");
        }
        Change::Remove { level, table, flow } if level < levels => {
            let (_, pattern) = pattern(flow);
            tables.remove(level, table, Scope::Within(&pattern), |_| true);
        }
        Change::Group(queue) => *group = queue,
        Change::Levels(levels) => tables.set_levels(levels),
        Change::Prepare(looks) => {
            tables.note_places(looks);
        }
        _ => {
            tables.settle();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn places_are_those_that_a_look_at_all_entries_finds(
        first in 1..=LEVELS,
        changes in vec(change(), 1..60),
    ) {
        let mut tables = Tables::new(config());
        tables.set_levels(first);
        let mut group = 0;
        for change in changes {
            apply_change(&mut tables, &mut group, change);
            let mut settled = tables.clone();
            settled.settle();
            let expected = naive(&settled, group);
            // One level is never changed to another: nobody asks.
            for (level, places) in (0..).zip(&expected).filter(|_| settled.levels() > 1) {
                for cookie in 0..4 {
                    let found = settled.place(level, cookie, |_| Some(group));
                    prop_assert_eq!(found, places.get(&cookie).copied(), "{} {}", level, cookie);
                }
            }
        }
    }
}

#[test]
fn settling_looks_at_the_flows_that_have_changed_and_no_others() {
    let mut tables = Tables::new(config());
    tables.set_levels(2);
    let send = vec![ActionStep::Output(1)];
    for level in 0..2 {
        for flow in 0..1_000 {
            let entry = entry(flow, 1, u64::from(flow) + 1, send.clone());
            tables.add(Instant::ZERO, level, 2, entry).expect("there is room");
        }
    }
    assert_eq!(tables.settle(), 2_000, "levels are new");
    assert_eq!(tables.settle(), 0);
    tables.add(Instant::ZERO, 1, 2, entry(2_000, 1, 5, send)).expect("there is room");
    let (_, gone) = pattern(7);
    tables.remove(0, 2, Scope::Exact(&gone, 1), |_| true);
    assert_eq!(tables.settle(), 2);
    let place = |level| tables.place(level, 8, |_| None);
    assert_eq!((place(0), place(1)), (None, Some(Some(0))));
}
