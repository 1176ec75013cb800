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

use crate::support;

const LEVELS: u8 = 3;
const TABLES: u8 = 4;

/// One change of the tables.
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
        _ => {}
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
            let expected = naive(&tables, group);
            // One level is never changed to another: nobody asks.
            for (level, places) in (0..).zip(&expected).filter(|_| tables.levels() > 1) {
                for cookie in 0..4 {
                    let found = tables.place(level, cookie, |_| Some(group));
                    prop_assert_eq!(found, places.get(&cookie).copied(), "{} {}", level, cookie);
                }
            }
        }
    }
}

/// A flow of very many entries, of which the deciding one comes and goes each time.
#[test]
fn a_flow_of_very_many_entries_is_as_any_other() {
    const ENTRIES: u16 = 20_000;
    let config = SwitchConfig { entries_max: 30_000, ..(*config()).clone() };
    let mut tables = Tables::new(Arc::new(config));
    tables.set_levels(2);
    let place = |tables: &Tables| tables.place(1, 5, |_| None);
    let queue = |flow: u16| u8::try_from(flow % 5).expect("small");
    // The canonical order is by falling precedence: each of them is the last.
    for flow in 0..ENTRIES {
        let steps = vec![ActionStep::SetQueue(queue(flow).into()), ActionStep::Output(1)];
        let entry = entry(flow, ENTRIES - flow, 5, steps);
        tables.add(Instant::ZERO, 1, 2, entry).expect("there is room");
        assert_eq!(place(&tables), Some(Some(queue(flow))));
    }
    for flow in (0..ENTRIES).rev() {
        assert_eq!(place(&tables), Some(Some(queue(flow))));
        let (_, gone) = pattern(flow);
        tables.remove(1, 2, Scope::Exact(&gone, ENTRIES - flow), |_| true);
    }
    assert_eq!(place(&tables), None);
}

#[test]
fn flows_with_the_first_and_last_cookie_have_places() {
    let mut tables = Tables::new(config());
    tables.set_levels(2);
    for (flow, cookie) in [(1, 1), (2, u64::MAX), (3, u64::MAX), (4, u64::MAX - 1)] {
        let steps = vec![ActionStep::SetQueue(flow.into()), ActionStep::Output(1)];
        tables.add(Instant::ZERO, 1, 3, entry(flow, 1, cookie, steps)).expect("there is room");
    }
    let place = |cookie| tables.place(1, cookie, |_| None).flatten();
    let found = [0, 1, 2, u64::MAX - 1, u64::MAX].map(place);
    assert_eq!(found, [None, Some(1), None, Some(4), Some(3)]);
}
