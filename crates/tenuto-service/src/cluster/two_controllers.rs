//! Two controllers, the keys that they share and three switches in virtual time, with the code that runs live.
//!
//! At every point of every change the one that leads is killed, cut off, or asleep until another one leads. What is asked:
//!
//! - at no moment do two decide;
//! - what was answered with yes is there, and of what had no answer all or nothing;
//! - flows that no change names are forwarded at every moment;
//! - at rest both have the same set, and every switch holds it and nothing else.

use super::beginning::Beginning;
use super::course::Course;
use super::kv::Kv;
use super::member::{Joining, Member, Ways};
use super::played::{Fate, Played};
use super::pulse::{Pace, Watch};
use super::register::Register;
use crate::answer::Denied;
use crate::change::Change;
use crate::crashes::peer::{counts, outputs};
use crate::crashes::routes::{Links, Probe, Reached};
use crate::crashes::{DPIDS, FILE, script};
use crate::decide::Planning;
use crate::keeper::Keeper;
use crate::played_switch::played_switch;
use crate::service::{Request, Service};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant as Moment};
use tenuto_controller::ConnId;
use tenuto_dataplane::switch::{ConnectionId, Switch, SwitchEvent};
use tenuto_dataplane::{Effects, FramePool};
use tenuto_model::{Flow, MemorySources, Network, read_network};
use tenuto_openflow::{Body, ErrorMessage, FlowModFailed, Framer, Message};
use tenuto_units::Instant;

const PACE: Pace = Pace { lease: Duration::from_millis(600) };
const TICK: Duration = Duration::from_millis(50);
/// A settled network has come to rest after so many ticks, or it never does.
const TICKS_MAX: usize = 2_000;

/// What happens to the one that leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Gone at once.
    Killed,
    /// The keys do not answer it, switches do.
    CutOff,
    /// It does nothing for a while, and then goes on as if nothing had been.
    Asleep,
}

/// Bytes under way between a controller and a switch.
struct Line {
    conn: ConnId,
    id: ConnectionId,
    to_switch: Vec<u8>,
    to_controller: Vec<u8>,
    framer: Framer,
}

struct Node {
    keys: Played,
    course: Arc<Course>,
    watch: Watch,
    joining: Option<Joining>,
    service: Option<(Service, Member, Keeper)>,
    lines: BTreeMap<u64, Line>,
    is_asleep: bool,
}

struct World {
    network: Network,
    keys: Played,
    clock: Arc<Mutex<Moment>>,
    began: Moment,
    nodes: [Node; 2],
    switches: BTreeMap<u64, (Switch, FramePool)>,
    links: Links,
    conn_next: u16,
    /// Flows that are in force, as far as was answered.
    flows: Vec<Flow>,
    /// What may be in force besides.
    unknown: Option<Vec<Change>>,
    /// Flows that every switch forwards at every moment.
    steady: Vec<(String, Probe)>,
    commands: u64,
    takeovers: u64,
    latest: Option<usize>,
    /// The next command is refused by its switch.
    refuses: bool,
    /// Sets that were in force; one of them may be again, once a switch has refused something.
    earlier: Vec<Vec<Flow>>,
    has_refused: bool,
    undone: u64,
}

fn node(keys: Played, clock: &Arc<Mutex<Moment>>, which: usize) -> Node {
    let kv: Arc<dyn Kv> = Arc::new(keys.clone());
    let register = Register::new(kv, "a");
    let clock = Arc::clone(clock);
    let clock = Arc::new(move || *clock.lock().unwrap());
    let course = Course::new(register.clone(), PACE, &format!("http://node-{which}"), clock);
    let (writing, reading, patience) = (register.clone(), register, Duration::ZERO);
    let ways = Ways { writing, reading, patience, course: Arc::clone(&course) };
    let (joining, lines) = (Some(Joining::new(ways)), BTreeMap::new());
    Node { keys, course, watch: Watch::default(), joining, service: None, lines, is_asleep: false }
}

impl World {
    fn new() -> Self {
        let sources = MemorySources::new().with("row.yaml", FILE);
        let network = read_network(&sources, "row.yaml").expect("read").0;
        let (keys, began) = (Played::default(), Moment::now());
        let clock = Arc::new(Mutex::new(began));
        let nodes = [0, 1].map(|which| node(keys.of_another(), &clock, which));
        let plan = Planning::default().settle(&network).expect("it holds").1;
        let steady = ["FIRST", "SECOND"].map(|it| (it.to_owned(), Probe::of(&plan, it)));
        let mut world = Self {
            links: Links::of(&network, &plan),
            flows: plan.network.flows.clone(),
            network,
            keys,
            clock,
            began,
            nodes,
            switches: DPIDS.map(|it| (it, (played_switch(it, 4), FramePool::new(256)))).into(),
            conn_next: 1,
            unknown: None,
            steady: Vec::new(),
            commands: 0,
            takeovers: 0,
            latest: None,
            refuses: false,
            earlier: Vec::new(),
            has_refused: false,
            undone: 0,
        };
        world.settle();
        world.steady = steady.into();
        world
    }

    fn now(&self) -> Instant {
        let passed = self.clock.lock().unwrap().duration_since(self.began);
        Instant::from_ns(1_000_000_000 + u64::try_from(passed.as_nanos()).expect("not long"))
    }

    fn leader(&self) -> Option<usize> {
        let decides = |node: &Node| node.service.is_some() && node.course.standing().decides();
        let leading: Vec<usize> = (0..2).filter(|it| decides(&self.nodes[*it])).collect();
        assert!(leading.len() < 2, "two decide");
        leading.first().copied()
    }

    /// Time goes on by a tick, and everybody who is awake does what there is to do.
    fn tick(&mut self) {
        *self.clock.lock().unwrap() += TICK;
        for which in 0..2 {
            self.think(which);
            let leader = self.leader();
            if leader.is_some() && leader != self.latest {
                self.takeovers += u64::from(self.latest.is_some());
                self.latest = leader;
            }
        }
    }

    fn think(&mut self, which: usize) {
        let now = self.now();
        let node = &mut self.nodes[which];
        if node.is_asleep {
            return;
        }
        node.course.step(&mut node.watch);
        if let Some(joining) = &mut node.joining {
            let planning = Planning::default();
            let (network, checker): (_, crate::service::Checker) = (&self.network, |_| Vec::new());
            let beginning = Beginning { network, file: FILE, planning, checker };
            let joined = joining.turn(&node.course.turn(), beginning);
            let Ok((service, member)) = joined.expect("one network") else { return };
            service.inner.has_keeper.store(true, std::sync::atomic::Ordering::Release);
            let keeper = Keeper::new(service.view(), Arc::downgrade(&service.inner), None);
            (node.joining, node.service) = (None, Some((service, member, keeper)));
        }
        if let Some((_, member, keeper)) = &mut node.service {
            member.turn(&node.course.turn());
            keeper.controller.fire_due(now);
        }
        self.connect(which);
        self.go_on(which);
    }

    fn connect(&mut self, which: usize) {
        let now = self.now();
        let node = &mut self.nodes[which];
        let Some((_, _, keeper)) = &mut node.service else { return };
        for (dpid, (switch, _)) in &mut self.switches {
            if node.lines.contains_key(dpid) {
                continue;
            }
            let (conn, id) = (ConnId(self.conn_next.into()), ConnectionId(self.conn_next));
            self.conn_next += 1;
            keeper.controller.connected(now, conn);
            let mut fx: Effects<SwitchEvent> = Effects::new();
            switch.connected_to(id, None, &mut fx).expect("room for two controllers");
            let to_controller = fx.channels.iter().flat_map(|it| it.1.clone()).collect();
            let (to_switch, framer) = (Vec::new(), Framer::new());
            node.lines.insert(*dpid, Line { conn, id, to_switch, to_controller, framer });
        }
    }

    /// A controller does what follows, and what it has to say is under way.
    fn go_on(&mut self, which: usize) {
        let now = self.now();
        let node = &mut self.nodes[which];
        let Some((service, _, keeper)) = &mut node.service else { return };
        let stands = *service.inner.leadership.borrow();
        keeper.stand(now, stands);
        keeper.go_on(now);
        if let Some(undo) = keeper.take_undo() {
            undo.carry_out(&service.inner);
        }
        for line in node.lines.values_mut() {
            if let Some(output) = keeper.controller.output(line.conn) {
                line.to_switch.append(output);
            }
            assert!(!keeper.controller.wants_close(line.conn), "nobody ends a session here");
        }
    }

    /// One message reaches a switch, and one its controller; whether there was any.
    fn deliver(&mut self, which: usize, dpid: u64) -> bool {
        let now = self.now();
        let node = &mut self.nodes[which];
        if node.is_asleep {
            return false;
        }
        let Some(line) = node.lines.get_mut(&dpid) else { return false };
        let count = line
            .to_switch
            .get(2..4)
            .map_or(0, |it| usize::from(u16::from_be_bytes([it[0], it[1]])));
        let bytes: Vec<u8> = line.to_switch.drain(..count).collect();
        let mut is_command = false;
        if count > 0 {
            let (switch, frames) = self.switches.get_mut(&dpid).expect("one of three");
            line.framer.push(&bytes).expect("one message");
            let message: Message = line.framer.next().expect("one").expect("OpenFlow");
            is_command =
                matches!(message.body, Body::FlowMod(_) | Body::MeterMod(_) | Body::GroupMod(_));
            if is_command && std::mem::take(&mut self.refuses) {
                self.has_refused = true;
                let error = ErrorMessage::new(FlowModFailed::TableFull.into(), &bytes);
                let line = self.nodes[which].lines.get_mut(&dpid).expect("it is there");
                Message::new(message.xid, Body::Error(error)).emit(&mut line.to_controller);
                return true;
            }
            let mut fx: Effects<SwitchEvent> = Effects::new();
            assert!(switch.control_from(line.id, now, &bytes, frames, &mut fx));
            for (id, bytes) in fx.channels {
                let to = self
                    .nodes
                    .iter_mut()
                    .flat_map(|it| it.lines.get_mut(&dpid))
                    .find(|it| it.id.0 == id);
                if let Some(line) = to {
                    line.to_controller.extend(bytes);
                }
            }
        }
        let node = &mut self.nodes[which];
        let line = node.lines.get_mut(&dpid).expect("it is there");
        let heard = std::mem::take(&mut line.to_controller);
        if let Some((_, _, keeper)) = &mut node.service {
            keeper.controller.received(now, line.conn, &heard);
        }
        self.go_on(which);
        if is_command {
            self.commands += 1;
            self.look();
        }
        count > 0 || !heard.is_empty()
    }

    fn reached(&self, probe: &Probe) -> Reached {
        let now = self.now();
        self.links
            .walk_by(probe, |dpid, port| outputs(&self.switches[&dpid].0, now, port, &probe.bytes))
    }

    /// Flows that nothing was asked about are forwarded.
    fn look(&self) {
        for (name, probe) in &self.steady {
            assert_eq!(self.reached(probe), Reached::Hosts(probe.targets.clone()), "{name} stays");
        }
    }

    fn submit(&mut self, changes: Vec<Change>, fates: &[Fate]) {
        let Some(leader) = self.leader() else { return };
        let (service, _, _) = self.nodes[leader].service.as_ref().expect("it leads");
        self.keys.set_fates(fates.iter().copied());
        let request = Request { changes, who: "test".to_owned(), ..Request::default() };
        let answer = service.submit(&request);
        self.keys.set_fates([]);
        self.earlier.push(self.flows.clone());
        match answer {
            Ok(_) => self.flows.clone_from(&service.view().network.flows),
            Err(Denied::NotLeading { .. } | Denied::NotStored(_)) => {
                self.unknown = Some(request.changes);
            }
            // It does not fit what is there, since what came before it was not answered.
            Err(_) => {}
        }
        self.go_on(leader);
    }

    fn fault(&mut self, fault: Fault) -> Option<usize> {
        let leader = self.leader()?;
        match fault {
            Fault::Killed => {
                let keys = self.keys.of_another();
                let node =
                    std::mem::replace(&mut self.nodes[leader], node(keys, &self.clock, leader));
                for (dpid, line) in &node.lines {
                    self.switches.get_mut(dpid).expect("one of three").0.disconnected_from(line.id);
                }
            }
            Fault::CutOff => self.nodes[leader].keys.set_cut(true),
            Fault::Asleep => self.nodes[leader].is_asleep = true,
        }
        Some(leader)
    }

    fn heal(&mut self, which: usize) {
        self.nodes[which].keys.set_cut(false);
        self.nodes[which].is_asleep = false;
        self.keys.deliver_late();
    }

    /// Until nothing is under way and both know the same.
    fn settle(&mut self) {
        for round in 0..TICKS_MAX {
            if round % 20 == 19 {
                // What had failed is tried again.
                let now = self.now();
                for (_, _, keeper) in self.nodes.iter_mut().flat_map(|it| &mut it.service) {
                    keeper.audit(now);
                }
            }
            let mut is_quiet = false;
            while !is_quiet {
                is_quiet = true;
                for which in 0..2 {
                    for dpid in DPIDS {
                        is_quiet &= !self.deliver(which, dpid);
                    }
                }
            }
            self.tick();
            if self.is_at_rest() {
                return self.judge();
            }
        }
        let stands = self.nodes.each_ref().map(|it| it.course.standing());
        let views = self.nodes.each_ref().map(|it| {
            it.service
                .as_ref()
                .map(|it| (it.0.view().decision, it.0.view().installed, it.0.view().alarms.clone()))
        });
        panic!("it never settles: {stands:?} {views:?}");
    }

    fn is_at_rest(&self) -> bool {
        let Some(leader) = self.leader() else { return false };
        let views = self.nodes.each_ref().map(|it| it.service.as_ref().map(|it| it.0.view()));
        let [Some(one), Some(two)] = &views else { return false };
        let leads = [one, two][leader];
        let is_ready =
            |node: &Node| node.service.as_ref().is_some_and(|it| it.2.controller.is_ready());
        let is_empty = |it: &Line| it.to_switch.is_empty() && it.to_controller.is_empty();
        one.decision == two.decision
            && leads.installed == Some(leads.decision)
            && is_ready(&self.nodes[leader])
            && self.nodes.iter().all(|it| it.lines.values().all(is_empty))
    }

    fn judge(&mut self) {
        let leader = self.leader().expect("it is at rest");
        let views = self.nodes.each_ref().map(|it| it.service.as_ref().expect("it runs").0.view());
        assert_eq!(views[0].network, views[1].network, "both know the same");
        assert_eq!(views[0].plan.plan_hash, views[1].plan.plan_hash);
        let view = &views[leader];
        match self.unknown.take() {
            _ if self.has_refused
                && view.network.flows != self.flows
                && self.earlier.contains(&view.network.flows) =>
            {
                // Undone everywhere, in the log too: nobody was told that switches have it.
                self.flows.clone_from(&view.network.flows);
                self.undone += 1;
            }
            Some(changes) if view.network.flows != self.flows => {
                let named = |it: &&Flow| changes.iter().any(|change| change.name() == it.name);
                let rest =
                    |all: &[Flow]| all.iter().filter(|it| !named(it)).cloned().collect::<Vec<_>>();
                assert_eq!(rest(&view.network.flows), rest(&self.flows), "others stay");
                for change in &changes {
                    let flow = view.network.flow(change.name());
                    let is_gone = matches!(change, Change::Remove { .. });
                    assert_eq!(flow.is_none(), is_gone, "all of {changes:?} or nothing");
                }
                self.flows.clone_from(&view.network.flows);
            }
            _ => assert_eq!(view.network.flows, self.flows, "what was answered is there"),
        }
        for flow in &view.network.flows {
            let probe = Probe::of(&view.plan, &flow.name);
            assert_eq!(
                self.reached(&probe),
                Reached::Hosts(probe.targets.clone()),
                "{}",
                flow.name
            );
        }
        let now = self.now();
        for switch in &view.plan.switches {
            let held = counts(&self.switches[&switch.datapath_id].0, now);
            let wanted = (switch.entries.len(), switch.groups.len(), switch.meters.len());
            assert_eq!(held, wanted, "entries, groups and meters of {}", switch.switch);
        }
    }
}

/// Plays the script with a fault after so many deliveries, and a refusal by a switch so many before it; whether the script was
/// over before, how often somebody else led, and how often something was undone.
fn with_fault_at(
    point: usize,
    (fault, refusal): (Fault, Option<usize>),
    fates: &[Fate],
) -> (bool, u64, u64) {
    let (mut world, mut left) = (World::new(), point);
    let mut is_over = true;
    for (place, changes) in script().into_iter().enumerate() {
        world.submit(changes, if place == point % 3 { fates } else { &[] });
        let mut waits = 0;
        while waits < 3 {
            let mut is_quiet = true;
            for which in 0..2 {
                for dpid in DPIDS {
                    if !world.deliver(which, dpid) {
                        continue;
                    }
                    is_quiet = false;
                    world.refuses |= is_over && refusal == Some(left);
                    if left == 0
                        && is_over
                        && let Some(hit) = world.fault(fault)
                    {
                        is_over = false;
                        // Long enough for another one to lead, with bytes carried on for whoever is awake.
                        for _ in 0..40 {
                            world.tick();
                            for dpid in DPIDS {
                                (0..2).for_each(|which| {
                                    world.deliver(which, dpid);
                                });
                            }
                        }
                        world.heal(hit);
                        world.settle();
                    }
                    left = left.saturating_sub(1);
                }
            }
            if is_quiet {
                world.tick();
                waits += 1;
            }
        }
        world.settle();
    }
    (is_over, world.takeovers, world.undone)
}

/// Every kind of fault at every `stride`-th point, without a refusal and with one so many messages before it.
fn points(limit: Duration, stride: usize) {
    let began = Moment::now();
    let fates: [&[Fate]; 4] = [&[], &[Fate::AnswerLost], &[Fate::Late], &[Fate::Lost]];
    let refusals = [None, Some(1), Some(4), Some(8)];
    let (mut tried, mut takeovers, mut undone) = (0, 0, 0);
    for (place, point) in (0..).step_by(stride).enumerate() {
        let mut goes_on = false;
        for (turn, fault) in [Fault::Killed, Fault::CutOff, Fault::Asleep].into_iter().enumerate() {
            for number in 0..fates.len() * refusals.len() {
                // One after the other where not every point is tried.
                let chosen = (place * 5 + turn * 7) % (fates.len() * refusals.len());
                if stride > 1 && number != chosen {
                    continue;
                }
                let fates = fates[number % fates.len()];
                let refusal = refusals[number / 4 % refusals.len()];
                let told = with_fault_at(point, (fault, refusal), fates);
                goes_on |= !told.0;
                (tried, takeovers, undone) = (tried + 1, takeovers + told.1, undone + told.2);
            }
        }
        if !goes_on || began.elapsed() >= limit {
            break;
        }
    }
    let told = format!("{tried} faults, {takeovers} times another one led, {undone} times undone");
    println!("{told}");
    assert!(tried >= 30 && takeovers >= 30 && undone > 0, "{told}");
}

#[test]
fn leadership_moves_at_points_of_a_change_and_nothing_is_lost_or_half_there() {
    points(Duration::from_secs(20), 2);
}

#[test]
#[ignore = "long: make campaign"]
fn leadership_moves_at_every_point_of_every_change() {
    points(Duration::MAX, 1);
}

/// What the one that leads was told by others is known to the next: keys of requests, and the network file as it was read anew.
#[test]
fn keys_and_a_newer_file_are_known_to_the_next_one_that_leads() {
    let mut world = World::new();
    let first = world.leader().expect("it is at rest");
    let keyed = |name: &str, key: &str| Request {
        changes: vec![Change::Add {
            name: name.to_owned(),
            flow: serde_json::json!({
            "source": "h1", "targets": ["h2"], "message": "1 kB", "period": "20 ms", "priority": 2}),
        }],
        who: "test".to_owned(),
        key: Some(key.to_owned()),
        advice: false,
    };
    let submit = |world: &World, which: usize, name: &str| {
        world.nodes[which].service.as_ref().expect("it runs").0.submit(&keyed(name, "k"))
    };
    let answer = submit(&world, first, "A").expect("it fits");
    let text = FILE.replace("message: 2 kB", "message: 3 kB");
    let newer =
        read_network(&MemorySources::new().with("row.yaml", &text), "row.yaml").expect("read").0;
    let reloaded = world.nodes[first].service.as_ref().expect("it runs").0.reload(&newer, &text);
    assert_eq!(reloaded.expect("it fits").decision, Some(answer.decision + 1));
    let view = world.nodes[first].service.as_ref().expect("it runs").0.view();
    world.flows.clone_from(&view.network.flows);
    world.steady.retain(|(name, _)| name == "FIRST");
    world.settle();
    world.fault(Fault::Asleep);
    (0..40).for_each(|_| world.tick());
    let next = world.leader().expect("another one");
    assert_ne!(next, first);
    let again = submit(&world, next, "A").expect("the same");
    assert_eq!((again.decision, &again.plan_hash), (answer.decision, &answer.plan_hash));
    assert_eq!(submit(&world, next, "B"), Err(Denied::KeyReused));
    // The newer file again: nothing differs. The older one: what differs goes back.
    let reload = |world: &World, network: &Network, text: &str| {
        world.nodes[next].service.as_ref().expect("it runs").0.reload(network, text)
    };
    assert_eq!(reload(&world, &newer, &text).expect("it fits").differences, Vec::<String>::new());
    let older = world.network.clone();
    assert_eq!(reload(&world, &older, FILE).expect("it fits").differences.len(), 1);
}
