use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Values of a field in entries and classes; frames have one more, which nobody names.
const NAMED: [u16; 2] = [1, 2];
const FRAMES: [u16; 3] = [1, 2, 3];

/// Sets over three of the fields.
fn set() -> impl Strategy<Value = Match> {
    let value = || prop::option::weighted(0.5, prop::sample::select(&NAMED[..]));
    (value(), value(), value()).prop_map(|(port, eth_type, udp_dst)| Match {
        in_port: port.map(u32::from),
        eth_type,
        udp_dst,
        ..Match::default()
    })
}

/// Entries of three tables and two levels; precedences that tie.
fn entry() -> impl Strategy<Value = Entry> {
    let id = || prop::option::weighted(0.4, 1_u32..4);
    let output = prop_oneof![
        3 => Just(None),
        1 => (1_u32..3, 0_u8..2).prop_map(|(port, queue)| {
            Some(Output::Port(PortQueue { port, queue }))
        }),
        1 => Just(Some(Output::Group(1))),
    ];
    let place = (0_u8..3, prop::option::of(0_u8..2), 0_u16..4, 0_u64..3);
    let goto = prop::option::weighted(0.7, 1_u8..3);
    (place, set(), id(), id(), output, goto).prop_map(
        |((table, level, precedence, cookie), matching, monitor, meter, output, goto)| Entry {
            table,
            level,
            precedence,
            cookie,
            flow: None,
            matching,
            monitor,
            meter,
            output,
            goto,
        },
    )
}

fn deployment(entries: Vec<Entry>) -> read::SwitchDeployment {
    let outputs = vec![PortQueue { port: 7, queue: 1 }, PortQueue { port: 5, queue: 0 }];
    read::SwitchDeployment {
        switch: "s".into(),
        datapath_id: 1,
        ports: vec![],
        entries,
        groups: vec![read::Group { id: 1, outputs }],
        meters: vec![],
        monitors: vec![],
        usage: read::Usage { entries: 0, shadow: 0, meters: 0, groups: 0, queues: 0 },
    }
}

/// Every frame of the small universe.
fn frames() -> impl Iterator<Item = Match> {
    FRAMES.into_iter().flat_map(|port| {
        FRAMES.into_iter().flat_map(move |eth_type| {
            FRAMES.into_iter().map(move |udp_dst| Match {
                in_port: Some(port.into()),
                eth_type: Some(eth_type),
                udp_dst: Some(udp_dst),
                ..Match::default()
            })
        })
    })
}

/// What can happen to one frame from a table on, entry by entry.
fn fates(
    of: &read::SwitchDeployment,
    frame: Match,
    levels: [u8; 3],
    (table, so_far): (u8, Outcome),
    found: &mut BTreeSet<Outcome>,
) {
    let matches = |entry: &&Entry| {
        entry.table == table
            && entry.level.is_none_or(|level| level == levels[usize::from(table)])
            && entry.matching.covers(frame)
    };
    let hit: Vec<&Entry> = of.entries.iter().filter(matches).collect();
    let highest = hit.iter().map(|entry| entry.precedence).max();
    for entry in hit.iter().filter(|entry| Some(entry.precedence) == highest) {
        let mut next = so_far.clone();
        for check in [entry.meter.map(Check::Meter), entry.monitor.map(Check::Monitor)] {
            next.is_checked_late |= check.is_some() && !next.outputs.is_empty();
            next.checks.extend(check);
        }
        next.cookie = if entry.cookie == 0 { next.cookie } else { entry.cookie };
        next.sent_as.extend(entry.output.map(|_| next.cookie));
        match entry.output {
            Some(Output::Port(one)) => next.outputs.push(one),
            Some(Output::Group(_)) => next.outputs.extend(&of.groups[0].outputs),
            None => {}
        }
        match entry.goto.filter(|goto| *goto > table) {
            Some(goto) => fates(of, frame, levels, (goto, next), found),
            None => {
                next.outputs.sort_unstable();
                found.insert(next);
            }
        }
    }
    if hit.is_empty() {
        let mut dropped = Outcome { is_missed: true, ..so_far };
        dropped.outputs.sort_unstable();
        found.insert(dropped);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_class_meets_what_its_frames_meet_one_by_one(
        entries in prop::collection::vec(entry(), 0..14),
        headers in set(),
        without in prop::collection::vec(set(), 0..3),
        admitted in 0_usize..2,
        forwarding in 0_usize..2,
    ) {
        let of = deployment(entries);
        let mut left_out = HeaderIndex::default();
        without.iter().for_each(|set| left_out.add(*set, ()));
        let class = Class { headers, without: Some(&left_out) };
        let levels = InForce { admitted, forwarding };
        let walked = Tables::new(&of, 2).walk(class, levels, &mut 0).expect("it is short");
        let mut found = BTreeSet::new();
        let by_table = [admitted, admitted, forwarding].map(|it| u8::try_from(it).expect("0 or 1"));
        let is_in = |frame: &Match| {
            headers.covers(*frame) && !without.iter().any(|set| set.covers(*frame))
        };
        for frame in frames().filter(is_in) {
            fates(&of, frame, by_table, (0, Outcome::default()), &mut found);
        }
        prop_assert_eq!(walked.into_iter().collect::<BTreeSet<_>>(), found);
    }
}

#[test]
fn entries_that_multiply_end_the_walk() {
    let sets = |table: u8, goto: Option<u8>, of: fn(u16) -> Match| {
        (0..2_000).map(move |value| Entry {
            table,
            level: None,
            precedence: 1,
            cookie: 0,
            flow: None,
            matching: of(value),
            monitor: None,
            meter: None,
            output: None,
            goto,
        })
    };
    let first = sets(0, Some(1), |udp| Match { udp_dst: Some(udp), ..Match::default() });
    let second = sets(1, None, |it| Match { eth_type: Some(it), ..Match::default() });
    let of = deployment(first.chain(second).collect());
    let tables = Tables::new(&of, 1);
    let levels = InForce { admitted: 0, forwarding: 0 };
    assert!(tables.walk(Class::of(Match::default()), levels, &mut 0).is_err());
}
