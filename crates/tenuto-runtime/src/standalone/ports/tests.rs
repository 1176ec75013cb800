//! More frames than the device of a port takes, whoever serves it.

use super::*;
use crate::forwarding::{Forwarding, Witness};
use std::sync::Arc;
use tenuto_dataplane::switch::{
    ClassifierKind, GeneralConfig, HashKey, PortConfig, PortRole, Switch, SwitchConfig,
};
use tenuto_dataplane::{EgressConfig, UNPACED_BPS};
use tenuto_io::{FlushReport, Interest, PortWait, RelayEnd, WaitPolicy, serve_relays};
use tenuto_openflow::{Action, Body, FlowMod, FlowModCommand, Instruction, Match, Message, Oxm};
use tenuto_units::Rate;

/// Frames of the lowest priority, which come first, and of the highest.
const FLOOD: u32 = 1_000;
const VICTIMS: u32 = 200;
const FRAMES: usize = 1_300;
const FRAME_BYTES: usize = 60;
const WIRE_BYTES: u64 = 84;

/// All frames are stored.
struct Stored;

impl Witness for Stored {
    fn not_stored(&mut self, port: u32, bytes: usize) {
        panic!("a frame of {bytes} B from port {port} finds no room");
    }
}

/// Frames that a device holds which is served here.
const DEVICE_FRAMES: usize = 8;

/// A switch whose ports 1 and 2 send to port 3, at the lowest and at the highest priority.
struct Overloaded {
    core: Forwarding,
    ports: Vec<SwitchPort>,
    /// The far ends of all three.
    far: Vec<MemoryPort>,
    end: Option<RelayEnd>,
    poll: PollSet,
}

impl Overloaded {
    /// A thread is to serve the device of port 3, which takes all that it sends.
    fn relayed(buffer_frames: u64) -> Self {
        let (device, far) = MemoryPort::pair(FRAMES).expect("descriptors");
        let (relay, end) = RelayPort::before(Box::new(device), "lo").expect("descriptors");
        let mut it = Self::over(buffer_frames, Carrier::Relayed(Box::new(relay)), far);
        it.core.ask_lanes();
        it.end = Some(end);
        it
    }

    /// The device of port 3 has room for a few frames and is served here.
    fn own(buffer_frames: u64) -> Self {
        let (device, far) = MemoryPort::pair(DEVICE_FRAMES).expect("descriptors");
        Self::over(buffer_frames, Carrier::Own(Box::new(device)), far)
    }

    fn over(buffer_frames: u64, third: Carrier, third_far: MemoryPort) -> Self {
        let mut poll = PollSet::new();
        let (near, mut far): (Vec<MemoryPort>, Vec<MemoryPort>) =
            (0..2).map(|_| MemoryPort::pair(FRAMES).expect("descriptors")).unzip();
        far.push(third_far);
        let own = near.into_iter().map(|port| Carrier::Own(Box::new(port)));
        let carriers = own.chain([third]);
        let as_port = |(number, carrier): (u32, Carrier)| SwitchPort {
            number,
            interface: "lo".to_owned(),
            kind: None,
            key: Some(poll.add_port(carrier.port()).expect("pollable")),
            carrier,
            tap: None,
            far: None,
            _claim: None,
            lost_before: DeviceLosses::default(),
            lost_now: DeviceLosses::default(),
            is_mtu_told: false,
            refused: 0,
            told: 0,
            doubt: false,
            asked_at: Instant::ZERO,
            backpressure: Backpressure::default(),
        };
        let ports = (1..).zip(carriers).map(as_port).collect();
        let switch = Switch::new(Arc::new(config(buffer_frames)));
        let mut core = Forwarding::new(switch, FRAMES);
        let Forwarding { switch, pool, fx, .. } = &mut core;
        switch.connected(fx);
        let mut bytes = Vec::new();
        [(1, 7), (2, 0)].into_iter().for_each(|way| entry(way).emit(&mut bytes));
        fx.clear();
        assert!(switch.control(MonotonicClock::now(), &bytes, pool, fx), "well-formed");
        assert!(fx.control.is_empty(), "nothing is refused");
        Self { core, ports, far, end: None, poll }
    }

    /// Sends frames in at a port, all of which wait before the first is taken.
    fn send(&mut self, place: usize, count: u32) {
        for number in 0..count {
            let frame = numbered(place, number);
            let sent = self.far[place].transmit(&[&frame]).expect("there");
            assert_eq!(sent, FlushReport { sent: 1, refused: 0 });
        }
    }

    /// Takes in all that waits.
    fn take_in(&mut self) {
        for place in 0..2 {
            while self.core.receive(&mut self.ports, place, &mut Stored) > 0 {
                self.core.transmit(&mut self.ports, false, &mut Stored);
            }
        }
        assert!(self.core.lost.is_empty());
    }

    /// Has a thread serve the device.
    fn serve(&mut self) -> std::thread::JoinHandle<io::Result<()>> {
        let end = self.end.take().expect("once");
        let work = || serve_relays(vec![end], PortWait::new(WaitPolicy::Block));
        std::thread::spawn(work)
    }

    /// Hands over until so many frames have come out; of each, where and as which it came in.
    fn take_out(&mut self, count: usize) -> Vec<(u8, u32)> {
        let mut out = Vec::with_capacity(count);
        let end = MonotonicClock::now() + Span::from_s(60);
        while out.len() < count {
            assert!(MonotonicClock::now() < end, "{} of {count}", out.len());
            self.core.fire(&mut self.ports);
            self.core.transmit(&mut self.ports, false, &mut Stored);
            self.far[2].receive(64, &mut |_, frame| out.push(number_of(frame))).expect("there");
        }
        out
    }
}

fn config(buffer_frames: u64) -> SwitchConfig {
    let rate = Rate::from_bps(UNPACED_BPS).expect("not zero");
    let buffer_bits = buffer_frames * WIRE_BYTES * 8;
    let egress = EgressConfig { rate, queues: 8, buffer_bits, unpromised_from: None };
    SwitchConfig {
        datapath_id: 1,
        ports: (1..=3).map(|port| PortConfig { port, role: PortRole::Host, egress }).collect(),
        tables: 1,
        entries_max: 8,
        meters_max: 0,
        groups_max: 0,
        meter_extra_bytes: 4,
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::fixed(),
        boot_seed: 1,
        mode_retry: Span::from_ms(10),
        general: Some(GeneralConfig::default()),
    }
}

fn entry((in_port, queue): (u32, u32)) -> Message {
    let actions = vec![Action::SetQueue(queue), Action::Output { port: 3, max_len: 0 }];
    Message::new(
        1,
        Body::FlowMod(FlowMod {
            match_: Match::from(vec![Oxm::InPort(in_port)]),
            instructions: vec![Instruction::ApplyActions(actions)],
            ..FlowMod::new(FlowModCommand::Add, 0)
        }),
    )
}

fn numbered(place: usize, number: u32) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    (frame[0], frame[6], frame[12], frame[13]) = (2, 2, 0x88, 0xb5);
    frame[14] = u8::try_from(place).expect("small");
    frame[15..19].copy_from_slice(&number.to_be_bytes());
    frame
}

fn number_of(frame: &[u8]) -> (u8, u32) {
    (frame[14], u32::from_be_bytes(*frame[15..].first_chunk().expect("60 bytes")))
}

/// What comes out where behind the queues stand one burst of the flood and the frame whose slot has begun.
fn by_priority() -> impl Iterator<Item = (u8, u32)> {
    let before = u32::try_from(BURST_FRAMES).expect("small") + 1;
    let flood = |range: std::ops::Range<u32>| range.map(|number| (0, number));
    let victims = (0..VICTIMS).map(|number| (1, number));
    flood(0..before).chain(victims).chain(flood(before..FLOOD))
}

/// Behind the queues stands one burst of the flood and the frame whose slot has begun, and nothing
/// that finds no room there is lost.
#[test]
fn a_flood_waits_by_priority_while_its_device_is_busy() {
    let mut it = Overloaded::relayed(FRAMES as u64);
    it.send(0, FLOOD);
    it.send(1, VICTIMS);
    it.take_in();
    let thread = it.serve();
    let out = it.take_out((FLOOD + VICTIMS) as usize);
    assert!(out.iter().copied().eq(by_priority()), "{:?}", &out[..100]);
    assert_eq!(it.ports[2].take_last_refused(), 0);
    drop(it);
    thread.join().expect("no panic").expect("it ends with its port");
}

/// A flood where the device is served here and says that it is full by taking no more.
#[test]
fn a_flood_waits_by_priority_while_its_device_is_full() {
    let mut it = Overloaded::own(FRAMES as u64);
    it.send(0, FLOOD);
    it.send(1, VICTIMS);
    it.take_in();
    assert_eq!(it.core.kept(), BURST_FRAMES - DEVICE_FRAMES);
    let out = it.take_out((FLOOD + VICTIMS) as usize);
    assert!(out.iter().copied().eq(by_priority()), "{:?}", &out[..100]);
    assert_eq!((it.ports[2].take_last_refused(), it.core.kept(), it.core.pool.in_use()), (0, 0, 0));
    // With room for all of them ports are not asked any more.
    it.core.fire(&mut it.ports);
    assert_eq!(it.core.retry_at(), None);
    assert_eq!(it.core.switch.room(3), None);
}

/// Its queues are full, too.
#[test]
fn a_flood_gives_way_in_front_of_a_full_device() {
    let mut it = Overloaded::own(300);
    it.send(0, FLOOD);
    it.send(1, VICTIMS);
    it.take_in();
    let out = it.take_out(BURST_FRAMES + 300);
    let victims = out.iter().filter(|(place, _)| *place == 1).map(|(_, number)| *number);
    assert!(victims.eq(0..VICTIMS), "all of them, in order");
    assert_eq!(it.ports[2].take_last_refused(), 0);
}

/// A full device tells nobody that it has room: it is looked for after a while.
#[test]
fn what_waits_for_a_full_device_goes_on_by_itself() {
    let mut it = Overloaded::own(FRAMES as u64);
    it.send(0, FLOOD);
    it.take_in();
    let mut wait = PortWait::new(WaitPolicy::Block);
    let (end, mut heard) = (MonotonicClock::now() + Span::from_s(60), 0);
    while heard < FLOOD as usize {
        assert!(MonotonicClock::now() < end, "{heard} of {FLOOD}");
        let Overloaded { core, ports, poll, far, .. } = &mut it;
        let due = core.switch.next_deadline().map(|(_, at)| at);
        let first = [due, core.retry_at()].into_iter().flatten().min();
        assert!(first.is_some(), "nothing else wakes it");
        let mut pending = |look| SwitchPort::pending(&ports[2..], look);
        wait.wait(poll, first, &mut pending).expect("poll");
        core.fire(ports);
        core.transmit(ports, false, &mut Stored);
        // All of it: what was handed over last wakes nobody.
        loop {
            match far[2].receive(FRAMES, &mut |_, _| ()).expect("there") {
                0 => break,
                count => heard += count,
            }
        }
    }
}

/// Waiting for a full device costs no allocation once the queues have grown.
#[test]
fn waiting_for_a_full_device_allocates_nothing() {
    let mut it = Overloaded::own(FRAMES as u64);
    it.send(0, FLOOD);
    it.take_in();
    it.take_out(FLOOD as usize);
    it.send(0, FLOOD);
    let taken = allocation_counter::measure(|| it.take_in());
    // One for where the numbers are kept.
    let given = allocation_counter::measure(|| drop(it.take_out(FLOOD as usize)));
    assert_eq!((taken.count_total, given.count_total), (0, 1));
}

/// What was left of a burst when its device is lost is refused, and counted.
#[test]
fn a_lost_device_refuses_what_was_kept_for_it() {
    let mut it = Overloaded::own(FRAMES as u64);
    it.send(0, 100);
    it.take_in();
    it.ports[2].lose(&mut it.poll);
    it.core.fire(&mut it.ports);
    it.core.transmit(&mut it.ports, false, &mut Stored);
    let kept = (BURST_FRAMES - DEVICE_FRAMES) as u64;
    assert_eq!((it.ports[2].take_last_refused(), it.core.kept()), (kept, 0));
}

/// Nothing else comes any more: who waits for room sleeps, and is woken whenever there is some.
#[test]
fn what_waits_for_its_device_goes_on_by_itself() {
    let mut it = Overloaded::relayed(FRAMES as u64);
    it.send(0, FLOOD);
    it.take_in();
    let thread = it.serve();
    let mut wait = PortWait::new(WaitPolicy::Block);
    it.poll.add(it.far[2].poll_fd().expect("pollable"), Interest::Read);
    let (end, mut heard) = (MonotonicClock::now() + Span::from_s(60), 0);
    while heard < FLOOD as usize {
        assert!(MonotonicClock::now() < end, "{heard} of {FLOOD}");
        // As the data path does.
        let Overloaded { core, ports, poll, far, .. } = &mut it;
        let due = core.switch.next_deadline().map(|(_, at)| at);
        let mut pending = |look| SwitchPort::pending(&ports[2..], look);
        wait.wait(poll, due.or(Some(end)), &mut pending).expect("poll");
        if due.is_some() || ports.iter().any(SwitchPort::is_held) {
            core.fire(ports);
            core.transmit(ports, false, &mut Stored);
        }
        if ports[2].is_ready(poll) {
            core.receive(ports, 2, &mut Stored);
        }
        heard += far[2].receive(FRAMES, &mut |_, _| ()).expect("there");
    }
    drop(it);
    thread.join().expect("no panic").expect("it ends with its port");
}

/// Where the queues are full, too, the flood loses frames and nobody else.
#[test]
fn a_flood_gives_way_in_full_queues() {
    let mut it = Overloaded::relayed(300);
    it.send(0, FLOOD);
    it.send(1, VICTIMS);
    it.take_in();
    let thread = it.serve();
    // The lane, and what the buffer holds.
    let out = it.take_out(BURST_FRAMES + 300);
    let victims: Vec<u32> =
        out.iter().filter(|(place, _)| *place == 1).map(|(_, number)| *number).collect();
    assert!(victims.into_iter().eq(0..VICTIMS), "all of them, in order");
    assert_eq!(it.ports[2].take_last_refused(), 0);
    let (_, _, egress) = it.core.switch.ports().nth(2).expect("three");
    let refused: Vec<u64> = egress.queue_stats().iter().map(|queue| queue.refused).collect();
    let lost = u64::from(FLOOD + VICTIMS) - (BURST_FRAMES as u64 + 300);
    assert_eq!(refused, [0, 0, 0, 0, 0, 0, 0, lost]);
    drop(it);
    thread.join().expect("no panic").expect("it ends with its port");
}

/// What waits for its device costs no allocation once the queues have grown.
#[test]
fn waiting_for_a_device_allocates_nothing() {
    let mut it = Overloaded::relayed(FRAMES as u64);
    it.send(0, FLOOD);
    it.take_in();
    let thread = it.serve();
    it.take_out(FLOOD as usize);
    it.send(0, FLOOD);
    let taken = allocation_counter::measure(|| it.take_in());
    // One for where the numbers are kept.
    let given = allocation_counter::measure(|| drop(it.take_out(FLOOD as usize)));
    assert_eq!((taken.count_total, given.count_total), (0, 1));
    drop(it);
    thread.join().expect("no panic").expect("it ends with its port");
}

/// What waits for a device that is lost waits no longer.
#[test]
fn a_lost_device_keeps_nothing_waiting() {
    let mut it = Overloaded::relayed(FRAMES as u64);
    it.send(0, 100);
    it.take_in();
    let backlog = |it: &Overloaded| {
        it.core.switch.ports().map(|(_, _, egress)| egress.backlog_bits()).sum::<u64>()
    };
    assert!(backlog(&it) > 0);
    it.ports[2].lose(&mut it.poll);
    it.core.switch.set_room(MonotonicClock::now(), 3, None);
    it.core.fire(&mut it.ports);
    it.core.transmit(&mut it.ports, false, &mut Stored);
    assert_eq!((backlog(&it), it.core.pool.in_use()), (0, 0));
}

/// What a refused user is told to grant is all that a port of its kind asks for.
#[test]
fn what_is_to_be_granted_is_told_whole() {
    let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
    let always = "setcap cap_net_raw,cap_net_admin,cap_bpf";
    for kind in [None, Some(PortKind::Packet), Some(PortKind::PacketRing), Some(PortKind::Tap)] {
        let text = taught("eth1", kind, refused()).to_string();
        assert!(text.contains(&format!("{always}+ep $(which tenuto)")), "{kind:?}: {text}");
    }
    let text = taught("eth1", Some(PortKind::Xdp), refused()).to_string();
    assert!(text.contains(&format!("{always},cap_ipc_lock+ep $(which tenuto)")), "{text}");
}

/// What the device of a port loses is counted, also when another device has taken its place.
#[test]
fn what_devices_lose_is_counted_over_all_of_them() {
    let mut it = Overloaded::own(8);
    let flood = |far: &mut MemoryPort| {
        let frame = [0_u8; FRAME_BYTES];
        let report = far.transmit(&vec![&frame[..]; FRAMES + 100]).expect("memory");
        assert_eq!((report.sent, report.refused), (FRAMES, 100));
    };
    flood(&mut it.far[0]);
    let losses = |no_room| DeviceLosses { no_room, unfit: 0 };
    assert_eq!(it.ports[0].losses(), losses(100));
    let (near, mut far) = MemoryPort::pair(FRAMES).expect("descriptors");
    it.ports[0].put_back(Box::new(near), &mut it.poll).expect("pollable");
    assert_eq!(it.ports[0].losses(), losses(100));
    flood(&mut far);
    assert_eq!((it.ports[0].losses(), it.ports[0].losses()), (losses(200), losses(200)));
}
