//! Links watched over switches of ours, with frames on cables, in virtual time.

use super::*;
use crate::decide::Planning;
use crate::keeper::Keeper;
use crate::log::Store;
use crate::played_switch::played_switch;
use crate::service::Service;
use std::io;
use std::sync::Arc;
use tenuto_controller::ConnId;
use tenuto_dataplane::switch::{Switch, SwitchEvent};
use tenuto_dataplane::{Effects, FramePool, Frames};
use tenuto_model::{MemorySources, read_network};
use tenuto_units::{Instant, Span};

const FILE: &str = "tenuto: 1
name: pair
hosts: {h1: {}, h2: {}}
switches: {sw1: {profile: tenuto, dpid: 1}, sw2: {profile: tenuto, dpid: 2}}
defaults: {link: {rate: 100 Mbit/s}}
other_traffic: {priority: 5, rate: 64 kbit/s, frame: 128 B}
links: [{ends: [h1, sw1]}, {ends: [sw1, sw2]}, {ends: [sw2, h2]}]
flows:
  FIRST: {source: h1, targets: [h2], message: 10 kB, period: 10 ms, priority: 1}
";
const PORTS: u32 = 3;

/// Kept nowhere.
struct Memory(Vec<u8>);

impl Store for Memory {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend(bytes);
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.0.truncate(usize::try_from(length).unwrap());
        Ok(())
    }
}

struct Played {
    service: Service,
    keeper: Keeper,
    switches: BTreeMap<u64, Switch>,
    cables: BTreeMap<End, End>,
    frames: FramePool,
    now: Instant,
    /// Frames that left by a port without a cable.
    left: Vec<(End, Vec<u8>)>,
}

impl Played {
    fn new(cables: &[(End, End)]) -> Self {
        let sources = MemorySources::new().with("pair.yaml", FILE);
        let network = read_network(&sources, "pair.yaml").expect("read").0;
        let store = Box::new(Memory(Vec::new()));
        let service =
            Service::open_with(&network, FILE, store, Planning::default(), |_| Vec::new());
        let service = service.expect("it opens");
        let view = service.view();
        let watch = LinkWatch::new(&view.plan, 5, [9; 32]).expect("other traffic is carried");
        let keeper = Keeper::new(view, Arc::downgrade(&service.inner), Some(watch));
        let mut played = Self {
            service,
            keeper,
            switches: [1, 2].map(|dpid| (dpid, played_switch(dpid, PORTS))).into(),
            cables: cables.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect(),
            frames: FramePool::new(256),
            now: Instant::from_ns(1_000_000_000),
            left: Vec::new(),
        };
        for dpid in [1, 2] {
            played.keeper.controller.connected(played.now, ConnId(dpid));
            played.act(dpid, |switch, _, _, fx| switch.connected(fx));
        }
        (0..200).for_each(|_| played.pass(Span::from_ms(20)));
        assert!(played.keeper.controller.is_ready(), "{:?}", played.service.view().alarms);
        played
    }

    /// Calls on a switch, and carries on what it causes.
    fn act(
        &mut self,
        dpid: u64,
        call: impl FnOnce(&mut Switch, Instant, &mut FramePool, &mut Effects<SwitchEvent>),
    ) {
        let mut fx = Effects::new();
        let switch = self.switches.get_mut(&dpid).expect("one of two");
        call(switch, self.now, &mut self.frames, &mut fx);
        for sent in fx.transmits {
            let bytes = self.frames.bytes(sent.frame).to_vec();
            self.frames.release(sent.frame);
            match self.cables.get(&(dpid, sent.port)).copied() {
                Some((far, port)) => self.arrive(far, port, &bytes),
                None => self.left.push(((dpid, sent.port), bytes)),
            }
        }
        self.keeper.controller.received(self.now, ConnId(dpid), &fx.control);
    }

    fn arrive(&mut self, dpid: u64, port: u32, bytes: &[u8]) {
        let frame = self.frames.insert(bytes).expect("room for it");
        self.act(dpid, |switch, now, frames, fx| {
            switch.receive(now, now, port, frame, frames, fx);
        });
    }

    /// Time passes, and bytes go to and fro.
    fn pass(&mut self, span: Span) {
        self.now += span;
        self.keeper.controller.fire_due(self.now);
        for _ in 0..20 {
            self.keeper.go_on(self.now);
            for dpid in [1, 2] {
                let output = self.keeper.controller.output(ConnId(dpid)).map(std::mem::take);
                let output = output.unwrap_or_default();
                self.act(dpid, |switch, now, frames, fx| {
                    assert!(switch.control(now, &output, frames, fx), "OpenFlow");
                    switch.fire_due(now, frames, fx);
                });
            }
        }
    }

    /// Looks at links so often.
    fn rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.keeper.look_at_links();
            (0..20).for_each(|_| self.pass(Span::from_ms(250)));
        }
    }

    fn raised(&self) -> Vec<(String, String)> {
        let view = self.service.view();
        let raised = view.alarms.iter().filter(|it| it.is_raised);
        let mut raised: Vec<_> = raised.map(|it| (it.kind.clone(), it.place.clone())).collect();
        raised.sort_unstable();
        raised
    }
}

fn own(kind: &str, place: &str) -> (String, String) {
    (kind.to_owned(), place.to_owned())
}

#[test]
fn switches_find_their_links_and_what_lies_otherwise_is_told_until_it_is_mended() {
    let right = [((1, 2), (2, 1))];
    let mut played = Played::new(&right);
    played.rounds(6);
    // Ports of the cores that the file does not know are up.
    let spare = [own(PORT_UP, "sw1:3"), own(PORT_UP, "sw2:3")];
    assert_eq!(played.raised(), spare);
    let of_host = played.left.iter().filter(|(end, _)| *end == (1, 1)).count();
    assert!(of_host >= 6, "a frame of each round leaves by the port of the host: {of_host}");
    assert!(played.left.iter().all(|(_, bytes)| bytes.len() == 60), "the least of Ethernet");

    played.cables = [((1, 3), (2, 1)), ((2, 1), (1, 3))].into();
    played.rounds(6);
    let mut wrong = spare.to_vec();
    wrong.extend([
        own(MISSING, "sw1:2"),
        own(MISSING, "sw2:1"),
        own(UNDESCRIBED, "sw1:3"),
        own(UNDESCRIBED, "sw2:1"),
    ]);
    wrong.sort_unstable();
    assert_eq!(played.raised(), wrong);
    played.cables = right.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
    played.rounds(6);
    assert_eq!(played.raised(), spare);
}

#[test]
fn a_stranger_asks_for_addresses_and_is_told_and_a_flood_of_it_is_metered() {
    let mut played = Played::new(&[((1, 2), (2, 1))]);
    played.rounds(1);
    let mut arp = vec![0xff; 6];
    arp.extend([
        2, 0, 0, 0, 0, 0x99, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 0x99, 10, 0, 0, 77,
    ]);
    arp.resize(60, 0);
    let before = played.left.len();
    for _ in 0..1_000 {
        played.arrive(1, 1, &arp);
    }
    (0..10).for_each(|_| played.pass(Span::from_ms(20)));
    let view = played.service.view();
    let alarm = view.alarms.iter().find(|it| it.kind == STRANGER).expect("an alarm");
    assert_eq!((alarm.place.as_str(), alarm.count), ("sw1:1", 1));
    assert!(
        alarm.text.contains("02:00:00:00:00:99") && alarm.text.contains("10.0.0.77"),
        "{}",
        alarm.text
    );
    // It goes where it would go without being shown, as far as meters let it.
    let reached = played.left[before..].iter().filter(|(end, _)| *end == (2, 2)).count();
    assert!((1..100).contains(&reached), "{reached} of a thousand");
}
