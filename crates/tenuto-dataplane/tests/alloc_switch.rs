//! Switches allocate nothing per frame once they have run for a while.

use support::{
    Bench, add, apply, config, exact_meter, group, message_frame, mode_config, monitor, output,
    shadow,
};
use tenuto_dataplane::switch::Burst;
use tenuto_dataplane::{Effects, FramePool};
use tenuto_openflow::{Action, GroupModCommand, Instruction, MonitorKind};
use tenuto_units::Span;

mod support;

/// Rounds of forwarding, metering, monitoring with a raise and a way back, queueing and multicast;
/// every other round is one burst.
fn run(bench: &mut Bench, burst: &mut Burst, frames: &[Vec<u8>], rounds: u32) -> usize {
    let mut sent = 0;
    for round in 0..rounds {
        bench.take_all(burst, frames, round % 2 == 1);
        while let Some((timer, at)) = bench.switch.next_deadline() {
            sent += bench.fire_and_release(timer, at);
            if matches!(timer, tenuto_dataplane::TimerId::Mode) {
                break;
            }
        }
        bench.fx.clear();
        bench.wait(Span::from_ms(200));
    }
    sent
}

#[test]
fn nothing_is_allocated_per_frame() {
    let mut bench = Bench::new();
    let to = |queue: u32, port| vec![Action::SetQueue(queue), output(port)];
    bench.install([
        group(GroupModCommand::Add, 1, vec![to(0, 2), to(0, 3), to(0, 4)]),
        exact_meter(1, 1_000_001, 2_501),
        monitor(MonitorKind::Message, 1, &[(2_000, 500), (9_000, 20)]),
        // The only member leads its own returns.
        mode_config(2, &[2]),
        add(0, 1, vec![apply(vec![Action::Monitor(1)]), Instruction::GotoTable(1)]),
        add(0, 2, vec![Instruction::GotoTable(1)]),
        add(1, 1, vec![Instruction::Meter(1), Instruction::GotoTable(2)]),
        add(1, 2, vec![Instruction::GotoTable(2)]),
        add(2, 1, vec![apply(vec![Action::Group(1)])]),
        add(2, 2, vec![apply(to(1, 3))]),
        shadow(1, 1, 1, vec![Instruction::Meter(1), Instruction::GotoTable(2)]),
        shadow(1, 2, 1, vec![apply(vec![Action::Group(1)])]),
    ]);
    bench.ask(support::activate(1, 0));
    let mut frames = Vec::new();
    for id in 0..3 {
        frames.extend(
            [(2, 300), (1, 1_300), (2, 300), (9, 100)].map(|(f, n)| message_frame(f, id, n)),
        );
    }
    let mut burst = Burst::new();
    let warm_up =
        allocation_counter::measure(|| assert!(run(&mut bench, &mut burst, &frames, 20) > 100));
    assert!(warm_up.count_total > 0, "queues grow at first, or nothing is counted");
    let before = bench.switch.clone();
    let mut sent = 0;
    let allocations =
        allocation_counter::measure(|| sent = run(&mut bench, &mut burst, &frames, 500));
    assert!(sent > 1_000, "{sent} frames");
    assert_eq!(allocations.count_total, 0, "over {sent} frames");
    // All of it did happen.
    let (before, after) = (before.monitors().next(), bench.switch.monitors().next());
    let [before, after] = [before, after].map(|m| m.expect("there is one").1.violations);
    assert!(after > before);
    let (_, meter) = bench.switch.meters().next().expect("there is one");
    assert!(meter.dropped.frames > 100 && meter.seen.frames > meter.dropped.frames);
    let status = bench.status();
    assert!(status.raises > 10 && status.returns > 10, "{status:?}");
}

/// However deep queues grow for the first time, and whatever gives way there.
#[test]
fn nothing_is_allocated_where_queues_fill() {
    const FRAMES: usize = 1_000;
    let frames = [0, 1, 2, 3].map(|queue| support::frame(queue, 46));
    for config in [config(), support::general::config()] {
        let mut bench = Bench::with(config);
        bench.frames = FramePool::set_aside(FRAMES, FRAMES);
        bench.fx = Effects::with_room(2 * FRAMES);
        bench.switch.set_aside(FRAMES);
        let to =
            |queue| vec![Action::SetQueue(queue), output(3), Action::SetQueue(queue), output(4)];
        bench.install((0..4).map(|queue| add(0, queue, vec![apply(to(queue.into()))])));
        let flood = |bench: &mut Bench| {
            for frame in frames.iter().rev() {
                (0..200).for_each(|_| _ = bench.receive(1, frame));
            }
            let waiting = bench.frames.in_use();
            while let Some((timer, at)) = bench.switch.next_deadline() {
                bench.fire_and_release(timer, at);
            }
            waiting
        };
        // The first frame after a change finds out what becomes of its entry's frames.
        frames.iter().for_each(|frame| _ = bench.receive(1, frame));
        let mut waiting = 0;
        let allocations = allocation_counter::measure(|| waiting = flood(&mut bench));
        assert!(waiting > 70 && !bench.fx.drops.is_empty(), "{waiting} waited at once");
        assert_eq!(allocations.count_total, 0);
    }
}
