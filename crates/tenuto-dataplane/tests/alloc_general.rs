//! A general switch allocates nothing per frame that no controller hears of.

use support::general::{any, config, entry, group_of};
use support::{Bench, frame, output};
use tenuto_dataplane::switch::Burst;
use tenuto_openflow::constants::{meter_flag, port};
use tenuto_openflow::*;
use tenuto_units::Span;

mod support;

/// Every other round is one burst.
fn run(bench: &mut Bench, burst: &mut Burst, frames: &[Vec<u8>], rounds: u32) -> usize {
    let mut sent = 0;
    for round in 0..rounds {
        bench.take_all(burst, frames, round % 2 == 1);
        while let Some((timer, at)) = bench.switch.next_deadline() {
            if matches!(timer, tenuto_dataplane::TimerId::FlowExpiry) {
                break;
            }
            sent += bench.fire_and_release(timer, at);
        }
        bench.fx.clear();
        bench.wait(Span::from_ms(1));
    }
    sent
}

#[test]
fn nothing_is_allocated_per_frame() {
    let mut bench = Bench::with(config());
    let bucket = |weight, actions| Bucket { weight, ..Bucket::new(actions) };
    let tagged = |to| vec![Action::PushVlan(0x8100), Action::SetField(Oxm::VlanPcp(3)), output(to)];
    let watching =
        |to| Bucket { watch_port: to, ..bucket(0, vec![Action::PushPbb(0x88e7), output(to)]) };
    let add = GroupModCommand::Add;
    let bands = vec![
        MeterBand::DscpRemark { rate: 100, burst_size: 10, prec_level: 1 },
        MeterBand::Drop { rate: 100_000, burst_size: 1_000 },
    ];
    let flags = meter_flag::PKTPS | meter_flag::BURST;
    let goto = |body: Body| match body {
        Body::FlowMod(mut flow_mod) => {
            flow_mod.instructions.insert(0, Instruction::Meter(1));
            flow_mod.instructions.push(Instruction::GotoTable(1));
            flow_mod.idle_timeout = 60_000;
            Body::FlowMod(flow_mod)
        }
        other => other,
    };
    let ip = || vec![Oxm::EthType(0x0800)];
    let to_flow = |flow, actions| {
        Body::FlowMod(FlowMod { match_: support::to_flow(flow), ..any(200, actions) })
    };
    let source = Oxm::Ipv4Src { value: [10, 9, 8, 7], mask: None };
    bench.install([
        Body::MeterMod(MeterMod { command: MeterModCommand::Add, flags, meter_id: 1, bands }),
        group_of(add, GroupType::All, 1, vec![bucket(0, tagged(2)), bucket(0, tagged(3))]),
        group_of(
            add,
            GroupType::Select,
            2,
            vec![bucket(1, vec![Action::Group(1)]), bucket(1, vec![output(4)])],
        ),
        group_of(add, GroupType::FastFailover, 3, vec![watching(2), watching(3)]),
        goto(entry(ip(), vec![Action::DecNwTtl, Action::SetField(source), Action::Group(2)])),
        Body::FlowMod(FlowMod {
            table_id: 1,
            instructions: vec![Instruction::WriteActions(vec![
                Action::PushMpls(0x8847),
                Action::CopyTtlOut,
                Action::Group(3),
            ])],
            ..any(1, vec![])
        }),
        Body::FlowMod(any(0, vec![output(port::NORMAL)])),
        // What follows a track.
        Body::FlowMod(FlowMod { match_: support::to_flow(17), ..any(200, vec![output(2)]) }),
        to_flow(16, vec![output(2), Action::SetQueue(1), output(3)]),
        to_flow(15, vec![Action::DecNwTtl, Action::Group(1)]),
        to_flow(14, vec![Action::Group(2), Action::Group(3)]),
    ]);
    let mut frames: Vec<Vec<u8>> = (0..20).map(|flow| frame(flow, 300)).collect();
    // The last two are for the bridge.
    for bytes in &mut frames[18..] {
        bytes[12..14].copy_from_slice(&[0x12, 0x34]);
    }
    let mut burst = Burst::new();
    run(&mut bench, &mut burst, &frames, 20);
    let mut sent = 0;
    let allocations =
        allocation_counter::measure(|| sent = run(&mut bench, &mut burst, &frames, 200));
    assert!(sent > 8_000, "{sent} frames");
    assert_eq!(allocations.count_total, 0, "over {sent} frames");
    let (_, meter) = bench.switch.meters().next().expect("there is one");
    assert!(meter.bands[0].applied.frames > 1_000, "it remarks");
}
