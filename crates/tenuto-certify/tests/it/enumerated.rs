//! What the checker says of tables is what a look at every frame says, one after the other: over the
//! hand-written car, its tables changed at random.

use crate::support;

use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use support::{car, find, list, sealed};
use tenuto_certify::certify;

/// Values that frames have beside those that anybody names.
const FRESH_TYPE: u64 = 0x86dd;
const FRESH_PROTO: u64 = 6;
const FRESH_PORT: u64 = 9;
const FRESH_IP: [u8; 4] = [10, 0, 0, 200];

/// Fields of a frame: the port of entry, then those that the car's entries ask for.
type Frame = [u64; 6];
const FIELDS: [&str; 6] = ["in_port", "eth_type", "ip_src", "ip_dst", "ip_proto", "udp_dst"];

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A field as a number; addresses too.
fn number(value: &Value) -> Option<u64> {
    let parts = items(value).iter().map(|part| part.as_u64().expect("a byte"));
    value.as_u64().or_else(|| parts.reduce(|sum, part| sum << 8 | part))
}

/// Every frame of the universe but for its port.
fn frames() -> Vec<Frame> {
    let address = |ip: [u8; 4]| u64::from(u32::from_be_bytes(ip));
    let ips = [[10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 3], [239, 1, 0, 0], FRESH_IP].map(address);
    let mut all = Vec::new();
    for (eth_type, ip_proto) in [(0x0800, 17), (0x0800, FRESH_PROTO), (FRESH_TYPE, 17)] {
        for ip_src in ips {
            for ip_dst in ips {
                for udp_dst in [20_000, 20_001, 20_002, FRESH_PORT] {
                    all.push([0, eth_type, ip_src, ip_dst, ip_proto, udp_dst]);
                }
            }
        }
    }
    all
}

/// Values that a match asks for.
fn asked(matching: &Value) -> [Option<u64>; 6] {
    FIELDS.map(|name| number(&matching[name]))
}

fn is_within(asked: &[Option<u64>; 6], frame: &Frame) -> bool {
    asked.iter().zip(frame).all(|(asked, value)| asked.is_none_or(|asked| asked == *value))
}

/// An entry of a switch, with the outputs of its group.
struct Entry {
    table: u64,
    level: Option<u64>,
    precedence: u64,
    cookie: u64,
    asked: [Option<u64>; 6],
    checks: Vec<(&'static str, u64)>,
    outputs: Vec<(u64, u64)>,
    goto: Option<u64>,
}

fn entries(switch: &Value) -> Vec<Entry> {
    let output = |it: &Value| number(&it["port"]).zip(number(&it["queue"]));
    let entry = |it: &Value| {
        let groups = items(&switch["groups"]).iter();
        let groups = groups.filter(|group| group["id"] == it["output"]["group"]);
        let grouped = groups.flat_map(|group| items(&group["outputs"]));
        let check = |kind| Some((kind, number(&it[kind])?));
        Entry {
            table: number(&it["table"]).expect("a table"),
            level: number(&it["level"]),
            precedence: number(&it["precedence"]).expect("a precedence"),
            cookie: number(&it["cookie"]).expect("a cookie"),
            asked: asked(&it["match"]),
            checks: ["meter", "monitor"].into_iter().filter_map(check).collect(),
            outputs: [&it["output"]["port"]]
                .into_iter()
                .chain(grouped)
                .filter_map(output)
                .collect(),
            goto: number(&it["goto"]),
        }
    };
    items(&switch["entries"]).iter().map(entry).collect()
}

/// What a frame meets in order: checks by kind and number, then its outputs; whether it left first.
#[derive(Clone, Default)]
struct Fate {
    checks: Vec<(&'static str, u64)>,
    outputs: Vec<(u64, u64)>,
    is_late: bool,
    /// The flow that it counts for, by the last cookie above 0, and for whom it counted when it was sent.
    cookie: u64,
    sent_as: Vec<u64>,
    /// It came to a table that has nothing for it.
    is_missed: bool,
}

fn fates(
    all: &[Entry],
    frame: &Frame,
    levels: [u64; 3],
    (table, so_far): (u64, Fate),
) -> Vec<Fate> {
    let level = levels[usize::try_from(table).expect("three tables")];
    let is_hit = |entry: &&Entry| {
        entry.table == table
            && entry.level.is_none_or(|own| own == level)
            && is_within(&entry.asked, frame)
    };
    let highest = all.iter().filter(is_hit).map(|entry| entry.precedence).max();
    let Some(highest) = highest else { return vec![Fate { is_missed: true, ..so_far }] };
    let mut found = Vec::new();
    for entry in all.iter().filter(is_hit).filter(|entry| entry.precedence == highest) {
        let mut fate = so_far.clone();
        fate.is_late |= !entry.checks.is_empty() && !fate.outputs.is_empty();
        fate.checks.extend(&entry.checks);
        fate.outputs.extend(&entry.outputs);
        fate.cookie = if entry.cookie == 0 { fate.cookie } else { entry.cookie };
        fate.sent_as.extend((!entry.outputs.is_empty()).then_some(fate.cookie));
        match entry.goto {
            Some(goto) if goto > table => found.extend(fates(all, frame, levels, (goto, fate))),
            _ => found.push(fate),
        }
    }
    found
}

/// The flows of the car, as they are in the plan: name, what identifies them, level, and per switch
/// that they cross the port of entry and those that they leave by.
struct Crossing {
    flow: usize,
    level: u64,
    in_port: u64,
    outputs: Vec<(u64, u64)>,
    is_first: bool,
    is_watching: bool,
}

/// The fields of a flow's frames.
fn identity(flow: usize) -> Value {
    [
        json!({"eth_type": 0x0800, "ip_src": [10, 0, 0, 1], "ip_dst": [239, 1, 0, 0],
            "ip_proto": 17, "udp_dst": 20_000}),
        json!({"eth_type": 0x0800, "ip_src": [10, 0, 0, 2], "ip_dst": [10, 0, 0, 3],
            "ip_proto": 17, "udp_dst": 20_001}),
        json!({"eth_type": 0x0800, "ip_src": [10, 0, 0, 3], "ip_dst": [10, 0, 0, 1],
            "ip_proto": 17, "udp_dst": 20_002}),
    ][flow]
        .clone()
}

/// Who crosses s1 and s2, whose trunk is port 3 at both.
fn crossings(switch: usize) -> Vec<Crossing> {
    let one = |flow, level, in_port, outputs: &[(u64, u64)], is_first, is_watching| Crossing {
        flow,
        level,
        in_port,
        outputs: outputs.to_vec(),
        is_first,
        is_watching,
    };
    match switch {
        0 => vec![
            one(0, 1, 1, &[(3, 0)], true, true),
            one(1, 0, 2, &[(3, 1)], true, false),
            one(2, 1, 3, &[(1, 1)], false, false),
        ],
        _ => vec![
            one(0, 1, 3, &[(1, 0), (2, 0)], false, false),
            one(1, 0, 3, &[(1, 1)], false, false),
            one(2, 1, 1, &[(3, 1)], true, false),
        ],
    }
}

/// Whether what happens to a frame of a flow where it comes by is as it should be.
fn is_right(of: &Crossing, fate: &Fate, is_built: bool, admitted: u64, forwarding: u64) -> bool {
    let own = u64::try_from(of.flow).expect("few") + 1;
    let mut wanted = Vec::new();
    wanted.extend(of.is_watching.then_some(("monitor", own)));
    wanted.extend(of.is_first.then_some(("meter", own)));
    let must_pass = admitted <= of.level;
    let may_pass = if of.is_first { must_pass } else { forwarding <= of.level };
    let mut outputs = fate.outputs.clone();
    outputs.sort_unstable();
    let distinct: BTreeSet<_> = fate.checks.iter().collect();
    if outputs.is_empty() {
        let is_seen = fate.checks.contains(&("monitor", own)) || !of.is_watching;
        return fate.checks.iter().all(|check| wanted.contains(check))
            && distinct.len() == fate.checks.len()
            && !(is_built && (must_pass || !is_seen || fate.is_missed || fate.cookie != own));
    }
    fate.sent_as.iter().all(|cookie| *cookie == own)
        && may_pass
        && outputs == of.outputs
        && fate.checks == wanted
        && !fate.is_late
}

/// Whether frames that wait at a change of modes belong where they should: every flow crosses both switches.
fn is_waiting_right(entries: &[Entry]) -> bool {
    let flows = [(1_u64, 1_u64, 0_u64), (2, 0, 1), (3, 1, 1)];
    flows.into_iter().all(|(cookie, highest, class)| {
        (0..2_u64).all(|level| {
            let own = entries.iter().filter(|it| {
                it.table == 2 && it.cookie == cookie && it.level.is_none_or(|own| own == level)
            });
            let wanted = (level <= highest).then_some(class);
            let is_wanted = |entry: &Entry| match entry.outputs.as_slice() {
                [] => wanted.is_none(),
                outputs => outputs.iter().all(|(_, queue)| Some(*queue) == wanted),
            };
            let answers: Vec<bool> = own.map(is_wanted).collect();
            !answers.is_empty() && answers.into_iter().all(|is_wanted| is_wanted)
        })
    })
}

/// Whether every frame that any port can bring goes where it should, and nowhere else.
fn is_tight(plan: &Value) -> bool {
    let frames = frames();
    let identities = [0, 1, 2].map(|flow| asked(&identity(flow)));
    for (number, switch) in items(&plan["switches"]).iter().enumerate() {
        let (crossings, entries) = (crossings(number), entries(switch));
        if !is_waiting_right(&entries) {
            return false;
        }
        for (in_port, frame) in
            (0..=3_u64).flat_map(|port| frames.iter().map(move |frame| (port, frame)))
        {
            let mut frame = *frame;
            frame[0] = in_port;
            let flow = (0..3).find(|flow| is_within(&identities[*flow], &frame));
            let coming = crossings.iter().find(|it| it.in_port == in_port && Some(it.flow) == flow);
            if in_port == 3 && flow.is_some() && coming.is_none() {
                // The other switch sends it by no trunk.
                continue;
            }
            for (admitted, forwarding) in [(0, 0), (1, 0), (1, 1)] {
                let levels = [admitted, admitted, forwarding];
                for fate in fates(&entries, &frame, levels, (0, Fate::default())) {
                    let is_fine = match coming {
                        // All fields that tables know are those of its identity, so it is built.
                        Some(it) => is_right(it, &fate, true, admitted, forwarding),
                        None => fate.checks.is_empty() && fate.outputs.is_empty(),
                    };
                    if !is_fine {
                        return false;
                    }
                }
            }
        }
    }
    true
}

/// One change: a new entry, or a field of one that is there.
#[derive(Clone, Debug)]
enum Change {
    New(Value),
    Field(prop::sample::Index, &'static str, Value),
    Member(prop::sample::Index, &'static str, Value),
    Gone(prop::sample::Index),
}

fn matching() -> impl Strategy<Value = Value> {
    let port = prop::option::weighted(0.6, 1_u64..4);
    let flow = prop::option::weighted(0.5, 0_usize..3);
    let kept = prop::collection::vec(prop::bool::weighted(0.7), 5);
    (port, flow, kept).prop_map(|(port, flow, kept)| {
        let mut fields = json!({"in_port": port});
        let own = flow.map_or_else(|| json!({}), identity);
        for (field, is_kept) in own.as_object().expect("fields").iter().zip(kept) {
            if is_kept {
                fields[field.0] = field.1.clone();
            }
        }
        fields
    })
}

fn change() -> impl Strategy<Value = Change> {
    let id = || prop::option::weighted(0.3, 1_u64..4).prop_map(|id| json!(id));
    let output = prop_oneof![
        2 => Just(json!(null)),
        1 => (1_u64..4, 0_u64..2).prop_map(|(port, queue)| {
            json!({"port": {"port": port, "queue": queue}})
        }),
    ];
    let place = (0_u64..3, prop::sample::select(vec![0, 5, 10, 15, 20, 30]), 0_u64..2);
    let goto = prop::option::weighted(0.6, 1_u64..3);
    let new = (place, matching(), id(), id(), output, goto).prop_map(
        |((table, precedence, level), matching, monitor, meter, output, goto)| {
            let level = (table > 0).then_some(level);
            Change::New(json!({"table": table, "level": level, "precedence": precedence,
                "cookie": 0, "flow": null, "match": matching, "monitor": monitor, "meter": meter,
                "output": output, "goto": goto.filter(|goto| *goto > table)}))
        },
    );
    let field = prop::sample::select(vec![
        ("in_port", json!(null)),
        ("in_port", json!(1)),
        ("in_port", json!(2)),
        ("in_port", json!(3)),
        ("udp_dst", json!(null)),
        ("udp_dst", json!(20_001)),
        ("ip_dst", json!(null)),
        ("ip_src", json!(null)),
    ]);
    let member = prop::sample::select(vec![
        ("precedence", json!(5)),
        ("precedence", json!(10)),
        ("precedence", json!(20)),
        ("meter", json!(null)),
        ("meter", json!(1)),
        ("monitor", json!(null)),
        ("output", json!(null)),
        ("goto", json!(null)),
        ("goto", json!(2)),
    ]);
    let at = any::<prop::sample::Index>;
    prop_oneof![
        6 => new,
        2 => (at(), field).prop_map(|(at, (name, value))| Change::Field(at, name, value)),
        2 => (at(), member).prop_map(|(at, (name, value))| Change::Member(at, name, value)),
        1 => at().prop_map(Change::Gone),
    ]
}

fn apply(plan: &mut Value, (switch, change): &(usize, Change)) {
    let entries = list(&mut plan["switches"][*switch]["entries"]);
    match change {
        Change::New(entry) => entries.push(entry.clone()),
        Change::Field(at, name, value) => {
            let at = at.index(entries.len());
            entries[at]["match"][*name] = value.clone();
        }
        Change::Member(at, name, value) => {
            let at = at.index(entries.len());
            entries[at][*name] = value.clone();
        }
        Change::Gone(at) => {
            let at = at.index(entries.len());
            entries.remove(at);
        }
    }
}

#[test]
fn the_car_is_tight() {
    let plan = car().plan();
    assert!(is_tight(&plan));
    certify(&sealed(plan)).expect("it holds");
    let mut leaking = car().plan();
    find(&mut leaking["switches"][0]["entries"], |it| it["precedence"] == 10)["goto"] = json!(2);
    assert!(!is_tight(&leaking));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn tables_are_refused_exactly_where_some_frame_goes_astray(
        changes in prop::collection::vec((0_usize..2, change()), 1..4),
    ) {
        let mut plan = car().plan();
        plan["assumptions"] = json!([]);
        changes.iter().for_each(|change| apply(&mut plan, change));
        let findings = certify(&plan.to_string()).expect_err("it says nothing of what it assumes");
        let is_refused = findings.iter().any(|it| it.rule == "walk through the tables");
        prop_assert_eq!(is_refused, !is_tight(&plan));
    }
}
