//! Virtual devices: the bytes of a live switch, at the times of a device.

use tenuto_model::{Action, MatchType, Position, PriorityOrder, Processor, Profile, Use};
use tenuto_openflow::{Body, FlowMod, FlowModCommand, Hello, Message};
use tenuto_units::{Instant, Span};
use tenuto_world::device::{DeviceModel, FirmwareTable, MessageCosts, Seen, VirtualDevice};
use tenuto_world::profiling::Scene;

fn exact(name: &str) -> DeviceModel {
    let mut model = DeviceModel::built_in(name).expect("it is built in");
    if let Some(processor) = &mut model.profile.processor {
        processor.spread_percent = 0;
    }
    model.profile.latency_ns_max = model.profile.latency_ns_min;
    model
}

fn ready(model: DeviceModel, scene: &Scene) -> VirtualDevice {
    let mut device = VirtualDevice::new(model, 1);
    device.connect();
    device.control(Instant::ZERO, &Message::new(1, Body::Hello(Hello::default())).to_bytes());
    for entry in scene.entries() {
        let now = device.now();
        device.control(now, &Message::new(2, Body::FlowMod(entry)).to_bytes());
    }
    device.run_until(Instant::ZERO + Span::from_s(1));
    device
}

/// From the last bit in to the delimiter out, of one frame.
fn traversal(device: &mut VirtualDevice, scene: &Scene) -> Span {
    let now = device.now();
    let frame = scene.frame();
    device.frame(now, 1, &frame);
    let seen = device.run_until(now + Span::from_ms(100));
    let [Seen::Frame { at, port: 2, .. }] = seen.as_slice() else { panic!("{seen:?}") };
    at.since(now + Span::from_ns(80 * u64::from(scene.used.frame_bytes)))
}

#[test]
fn a_frame_takes_what_its_place_in_the_table_says() {
    let base = Use::worst(MatchType::FiveTuple, Action::Output, 17, 306);
    let first = Use { position: Position::First, order: PriorityOrder::Decreasing, ..base };
    let zodiac = exact("zodiac-fx").profile.processor.expect("it has one");
    for used in [base, first, Use { order: PriorityOrder::Decreasing, ..base }] {
        let scene = Scene::new(used);
        let took = traversal(&mut ready(exact("zodiac-fx"), &scene), &scene).as_ns();
        // The delimiter is 8 B behind the first bit; two passes of the line round up by a nanosecond each.
        let stated = zodiac.service(&used).traversal_ps / 1_000 + 640;
        assert!(took.abs_diff(stated) <= 3, "{used:?}: {took} {stated}");
    }
}

#[test]
fn the_receive_buffer_holds_whole_frames_in_cells() {
    for (bytes, held) in [(64, 25), (306, 9), (1_516, 3)] {
        let scene = Scene::new(Use::worst(MatchType::All, Action::Output, 128, bytes));
        let mut device = ready(exact("zodiac-fx"), &scene);
        let start = device.now();
        for nth in 0..60 {
            device.frame(start, 1, &scene.frame());
            let _ = nth;
        }
        let seen = device.run_until(start + Span::from_s(1));
        // All at one instant: they stand before the processor as fast as its line brings them, 1.6 ms and more per frame.
        let line = 60 * (u64::from(bytes) + 21) * 80;
        let served = line / 1_500_000;
        let through = seen.len() as u64;
        assert!(through >= held && through <= held + served + 1, "{bytes} B: {through}");
    }
}

#[test]
fn control_messages_take_the_processor_from_frames() {
    let scene = Scene::new(Use::worst(MatchType::FiveTuple, Action::Output, 17, 306));
    let model = exact("zodiac-fx");
    let echo = Span::from_ns(model.messages.echo_ps / 1_000);
    let mut device = ready(model, &scene);
    let alone = traversal(&mut device, &scene);
    let now = device.now();
    let request = Message::new(9, Body::EchoRequest(vec![])).to_bytes();
    for _ in 0..5 {
        device.control(now, &request);
    }
    device.frame(now, 1, &scene.frame());
    let seen = device.run_until(now + Span::from_ms(100));
    let frame = seen.iter().find_map(|it| match it {
        Seen::Frame { at, .. } => Some(*at),
        Seen::Control { .. } => None,
    });
    let took = frame.expect("it left").since(now + Span::from_ns(80 * 306));
    assert!(took > alone + echo.times(3), "{took} {alone}");
    assert_eq!(seen.iter().filter(|it| matches!(it, Seen::Control { .. })).count(), 5);
}

#[test]
fn a_miss_costs_its_message_and_reaches_the_controller() {
    let scene = Scene::new(Use::worst(MatchType::FiveTuple, Action::Output, 1, 64));
    let mut device = ready(exact("zodiac-fx"), &scene);
    let now = device.now();
    // Without a table-miss entry a frame is dropped, and has been looked up all the same.
    device.frame(now, 1, &scene.frame_for(9));
    device.frame(now + Span::from_us(30), 1, &scene.frame());
    let seen = device.run_until(now + Span::from_ms(10));
    let [Seen::Frame { at, .. }] = seen.as_slice() else { panic!("{seen:?}") };
    let miss = DeviceModel::built_in("zodiac-fx").expect("built in").messages.packet_in_ps;
    assert!(at.since(now).as_ns() > miss / 1_000, "{at:?}");
}

#[test]
fn entries_beyond_the_hardware_are_slow_and_lossy() {
    let mut model = exact("hp-e3800");
    model.profile.entries_max = 4_096;
    let software = model.software.expect("it has a software table");
    let used =
        |position| Use { position, ..Use::worst(MatchType::FiveTuple, Action::Output, 513, 64) };
    let fast = Scene::new(used(Position::First));
    let slow = Scene::new(used(Position::Last));
    let mut device = ready(model, &slow);
    let quick = traversal(&mut device, &fast);
    assert!(quick < Span::from_us(20), "{quick}");
    let took = traversal(&mut device, &slow);
    let least = software.latency_ns.0 + software.frame_ps / 1_000;
    assert!(took.as_ns() >= least && took.as_ns() <= software.latency_ns.1 + 110_000, "{took}");
    for (per_s, losses) in [(1_800, false), (5_000, true), (20_000, true)] {
        let (start, step) = (device.now(), Span::from_ns(1_000_000_000 / per_s));
        for nth in 0..per_s {
            device.frame(start + step.times(nth), 1, &slow.frame());
        }
        let through = device.run_until(start + Span::from_ms(1_100)).len() as u64;
        assert_eq!(through < per_s, losses, "{per_s} frames/s: {through} through");
        assert!(through <= 10_100, "{through}");
    }
}

#[test]
fn every_built_in_device_answers_the_bytes_of_our_switch() {
    let scene = Scene::new(Use::worst(MatchType::FiveTuple, Action::Output, 3, 306));
    for name in DeviceModel::names() {
        let model = DeviceModel::built_in(name).expect("it is built in");
        let mut device = ready(model, &scene);
        let now = device.now();
        let mut bytes = Message::new(7, Body::EchoRequest(vec![1, 2, 3])).to_bytes();
        Message::new(8, Body::BarrierRequest).emit(&mut bytes);
        device.control(now, &bytes);
        let mut answers = Vec::new();
        for seen in device.run_until(now + Span::from_s(1)) {
            if let Seen::Control { bytes, .. } = seen {
                answers.push(Message::parse(&bytes).expect("whole messages"));
            }
        }
        let expected =
            [Message::new(7, Body::EchoReply(vec![1, 2, 3])), Message::new(8, Body::BarrierReply)];
        assert_eq!(answers, expected, "{name}");
        let took = traversal(&mut device, &scene);
        let profile = device.model().profile.clone();
        let through = profile.processor.as_ref().map_or(0, |it| {
            it.planned_ps(306, 3, 1) + 2 * it.link.map_or(0, |link| link.passed_ps(306))
        });
        assert!(took.as_ns() <= through / 1_000 + profile.latency_ns_max + 642, "{name}: {took}");
    }
}

#[test]
fn the_same_seed_gives_the_same_stamps() {
    let scene = Scene::new(Use::worst(MatchType::FiveTuple, Action::Output, 17, 306));
    let stamps = |seed| {
        let mut device =
            VirtualDevice::new(DeviceModel::built_in("zodiac-fx").expect("it is"), seed);
        device.connect();
        for entry in scene.entries() {
            let now = device.now();
            device.control(now, &Message::new(2, Body::FlowMod(entry)).to_bytes());
        }
        let start = device.now() + Span::from_ms(50);
        for nth in 0..20 {
            device.frame(start + Span::from_us(150 * nth), 1, &scene.frame());
        }
        device.run_until(start + Span::from_s(1))
    };
    assert_eq!(stamps(3), stamps(3));
    assert_ne!(stamps(3), stamps(4), "draws follow the seed");
}

#[test]
fn the_table_of_firmware_is_changed_as_openflow_says() {
    let costs = MessageCosts {
        change_ps: 1,
        loose_entry_ps: 10,
        deleted_ps: 100,
        ..MessageCosts::default()
    };
    let scene = Scene::new(Use::worst(MatchType::TpDst, Action::Output, 5, 64));
    let mut table = FirmwareTable::default();
    let price = |mod_: &FlowMod, table: &FirmwareTable| {
        costs.of(&Message::new(1, Body::FlowMod(mod_.clone())), table)
    };
    for entry in scene.entries() {
        table.apply(&entry, 128);
    }
    table.apply(&scene.entry(0), 128);
    assert_eq!(table.len(), 5, "an equal entry takes the place of the old one");
    let one = FlowMod { command: FlowModCommand::DeleteStrict, ..scene.entry(4) };
    assert_eq!(price(&one, &table), 1 + 100, "one is found, bit by bit");
    let all = FlowMod::new(FlowModCommand::Delete, 0);
    assert_eq!(price(&all, &table), 1 + 5 * 10 + 5 * 100);
    let costs = Processor {
        per_entry_ps: Profile::built_in("zodiac-fx")
            .expect("it is")
            .processor
            .expect("one")
            .per_entry_ps,
        ..Processor::FREE
    };
    let walk = table.walk(&scene.frame(), 1, &costs);
    assert_eq!((walk.place, walk.compared_ps), (Some(4), 5 * 9_860_000));
    table.apply(&one, 128);
    assert_eq!(table.walk(&scene.frame(), 1, &costs).place, None);
    table.apply(&all, 128);
    assert!(table.is_empty());
}
