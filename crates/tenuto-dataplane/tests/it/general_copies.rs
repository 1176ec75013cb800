//! How often one frame is sent at most: nobody else waits for it longer than that.

use support::general::{any, config, entry, group_of};
use support::{Bench, frame, output};
use tenuto_dataplane::DropReason;
use tenuto_dataplane::switch::{GeneralConfig, SwitchConfig};
use tenuto_openflow::constants::port;
use tenuto_openflow::*;

use crate::support;

fn bench(change: impl FnOnce(&mut GeneralConfig)) -> Bench {
    let SwitchConfig { general, .. } = config();
    let mut general = general.expect("a general switch");
    change(&mut general);
    Bench::with(SwitchConfig { general: Some(general), ..config() })
}

/// A group that sends to port 2 so many times.
fn copying(command: GroupModCommand, id: u32, buckets: usize) -> Body {
    group_of(command, GroupType::All, id, vec![Bucket::new(vec![output(2)]); buckets])
}

#[test]
fn buckets_of_a_group_are_limited() {
    use GroupModCommand::{Add, Modify};
    let mut most = bench(|_| ());
    most.install([copying(Add, 1, 256), copying(Modify, 1, 256)]);
    most.refused_on(0, copying(Add, 2, 257), GroupModFailed::OutOfBuckets);
    most.refused_on(0, copying(Modify, 1, 257), GroupModFailed::OutOfBuckets);
    let mut few = bench(|it| it.buckets_max = 3);
    few.install([copying(Add, 1, 3)]);
    few.refused_on(0, copying(Add, 2, 4), GroupModFailed::OutOfBuckets);
    // Whatever it is told to take, it could not be read back in one message.
    let mut many = bench(|it| it.buckets_max = usize::MAX);
    many.install([copying(Add, 1, 1_000)]);
    many.refused_on(0, copying(Add, 2, 1_001), GroupModFailed::OutOfBuckets);
}

/// What a few frames are sent as, and why they go no further.
fn sent(bench: &mut Bench) -> Vec<(usize, Vec<DropReason>)> {
    // The first is walked with, and lays the way of the others if there can be one.
    let one = |bench: &mut Bench| {
        bench.receive(1, &frame(3, 100));
        (bench.drain().len(), bench.drops())
    };
    (0..3).map(|_| one(bench)).collect()
}

#[test]
fn a_frame_is_sent_so_many_times_and_goes_no_further() {
    let add = GroupModCommand::Add;
    let write = |actions| {
        let instructions = vec![Instruction::WriteActions(actions)];
        Body::FlowMod(FlowMod { instructions, ..any(1, vec![]) })
    };
    let chain = || {
        let to_first = Bucket::new(vec![Action::Group(1)]);
        group_of(add, GroupType::All, 2, vec![to_first; 3])
    };
    let source = |n| Oxm::EthSrc { value: [2, 0, 0, 0, 0, n], mask: None };
    let changed = |n| vec![Action::SetField(source(n)), output(2)];
    let changing = (0..7).flat_map(changed).chain(vec![output(3); 4]).collect();
    let ways: [(&str, Vec<Body>); 4] = [
        ("a list", vec![entry(vec![], vec![output(2); 11])]),
        ("a list of groups", vec![copying(add, 1, 4), entry(vec![], vec![Action::Group(1); 3])]),
        ("a chain", vec![copying(add, 1, 4), chain(), write(vec![Action::Group(2)])]),
        ("a list that changes", vec![entry(vec![], changing)]),
    ];
    for (what, bodies) in ways {
        let mut limited = bench(|it| it.copies_max = 10);
        limited.install(bodies.clone());
        let expected = (10, vec![DropReason::Spent]);
        assert_eq!(sent(&mut limited), vec![expected; 3], "{what}");
        // It has gone on, though not as often as asked for: what is received is sent or dropped.
        let (_, counters, _) = limited.switch.ports().next().expect("port 1");
        assert_eq!((counters.received, counters.spent, counters.unknown), (3, 3, 0), "{what}");
        let mut ample = bench(|it| it.copies_max = 12);
        ample.install(bodies);
        let all = sent(&mut ample);
        assert!(
            all.iter().all(|(count, drops)| *count > 10 && drops.is_empty()),
            "{what}: {all:?}"
        );
    }
}

#[test]
fn every_port_is_reached_however_many_there_are() {
    let mut bench = bench(|it| it.copies_max = 1);
    let ports = bench.switch.ports().count();
    assert!(ports > 2);
    bench.install([entry(vec![], vec![output(port::ALL)])]);
    assert_eq!(sent(&mut bench), vec![(ports - 1, vec![]); 3]);
}
