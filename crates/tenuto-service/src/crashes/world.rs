//! Service, keeper, switches and medium in virtual time: each step is one thing that happens, a fault among them.

use super::medium::{Fate, Medium};
use super::model::Model;
use super::peer::Peer;
use super::routes::{Links, Probe, Reached};
use crate::change::Change;
use crate::decide::Planning;
use crate::keeper::{Keeper, Undo};
use crate::service::{Request, Service};
use std::collections::BTreeMap;
use std::sync::Arc;
use tenuto_controller::ConnId;
use tenuto_model::{MemorySources, Network, read_network};
use tenuto_units::{Instant, Span};

/// Three switches in a row. The first flow has two targets, so that groups are in it.
pub(crate) const FILE: &str = "tenuto: 1
name: row
hosts: {h1: {}, h2: {}, h3: {}, h4: {}}
switches: {sw1: {profile: tenuto, dpid: 1}, sw2: {profile: tenuto, dpid: 2}, sw3: {profile: tenuto, dpid: 3}}
defaults: {link: {rate: 100 Mbit/s}}
links: [{ends: [h1, sw1]}, {ends: [h3, sw1]}, {ends: [sw1, sw2]}, {ends: [h4, sw2]}, {ends: [sw2, sw3]}, {ends: [sw3, h2]}]
flows:
  FIRST: {source: h1, targets: [h2, h4], message: 10 kB, period: 10 ms, priority: 1}
  SECOND: {source: h3, targets: [h2], message: 2 kB, period: 20 ms, priority: 2}
";
pub(crate) const DPIDS: [u64; 3] = [1, 2, 3];
/// A settled network has come to rest after so many rounds, or it never does.
const ROUNDS_MAX: usize = 20_000;

/// One thing that happens.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Bytes reach a switch: this share of what is under way, in 256.
    ToSwitch(u64, u8),
    /// The first message under way reaches a switch.
    OneToSwitch(u64),
    /// Bytes reach the controller.
    ToController(u64, u8),
    /// Time goes on until something is due, or for so long.
    Time(Span),
    /// Somebody asks for changes; the next write has a fate.
    Submit(Vec<Change>, Option<Fate>),
    /// A refusal is written down; the write has a fate.
    Undo(Option<Fate>),
    /// The service is killed and started anew.
    Kill,
    /// A connection is cut.
    Cut(u64),
    /// A switch connects, if it does not have a connection.
    Connect(u64),
    /// A switch loses its power.
    PowerOff(u64),
    /// A switch refuses the so manieth command from now on.
    Refuse(u64, u64),
    /// All switches are read again.
    Audit,
}

pub(super) struct World {
    network: Network,
    medium: Medium,
    service: Option<Service>,
    keeper: Option<Keeper>,
    undo: Option<Undo>,
    pub(super) peers: BTreeMap<u64, Peer>,
    links: Links,
    now: Instant,
    conn_next: u64,
    pub(super) model: Model,
    /// A switch has lost its tables since all were as they should be.
    is_wiped: bool,
    /// A connection or the controller was lost since then.
    is_disturbed: bool,
    /// Undisturbed steps of which something was looked at.
    pub(super) looks: u64,
}

impl World {
    pub(super) fn new() -> Self {
        let sources = MemorySources::new().with("row.yaml", FILE);
        let network = read_network(&sources, "row.yaml").expect("read").0;
        let medium = Medium::default();
        let service = open(&network, &medium);
        let view = service.view();
        let links = Links::of(&network, &view.plan);
        let mut world = Self {
            links,
            model: Model::new(&view),
            network,
            medium,
            service: None,
            keeper: None,
            undo: None,
            peers: DPIDS.map(|dpid| (dpid, Peer::new(dpid))).into(),
            now: Instant::from_ns(1_000_000_000),
            conn_next: 1,
            is_wiped: true,
            is_disturbed: true,
            looks: 0,
        };
        world.serve(service);
        world.settle();
        world
    }

    fn serve(&mut self, service: Service) {
        service.inner.show(|view| view.keeps_switches = true);
        self.keeper = Some(Keeper::new(service.view(), Arc::downgrade(&service.inner), None));
        self.service = Some(service);
    }

    pub(super) fn step(&mut self, step: &Step) {
        let mut has_changed = false;
        match step {
            Step::ToSwitch(dpid, share) => has_changed = self.deliver(*dpid, *share),
            Step::OneToSwitch(dpid) => {
                let count = first_message(&self.peers[dpid].to_switch);
                has_changed = count > 0
                    && self.peers.get_mut(dpid).expect("one of three").receive(self.now, count);
            }
            Step::ToController(dpid, share) => self.hear(*dpid, *share),
            Step::Time(most) => self.pass(*most),
            Step::Submit(changes, fate) => self.submit(changes, *fate),
            Step::Undo(fate) => self.carry_out_undo(*fate),
            Step::Kill => self.restart(),
            Step::Cut(dpid) => self.cut(*dpid),
            Step::Connect(dpid) => self.connect(*dpid),
            Step::PowerOff(dpid) => {
                self.cut(*dpid);
                self.peers.get_mut(dpid).expect("one of three").lose_power();
                self.is_wiped = true;
            }
            Step::Refuse(dpid, count) => {
                self.peers.get_mut(dpid).expect("one of three").refuse_in = Some(*count);
                // What a switch refuses is not there until that is undone.
                self.is_disturbed = true;
            }
            Step::Audit => {
                if let Some(keeper) = &mut self.keeper {
                    keeper.audit(self.now);
                }
            }
        }
        if self.medium.is_off() {
            self.restart();
        }
        self.go_on();
        if has_changed {
            self.look();
        }
    }

    /// The keeper goes on, and what it has to say is under way.
    fn go_on(&mut self) {
        let Some(keeper) = &mut self.keeper else { return };
        keeper.go_on(self.now);
        if let Some(undo) = keeper.take_undo() {
            assert!(self.undo.is_none(), "one refusal after the other");
            self.undo = Some(undo);
        }
        for peer in self.peers.values_mut() {
            let Some(conn) = peer.conn else { continue };
            if let Some(output) = keeper.controller.output(conn) {
                peer.to_switch.append(output);
            }
            if keeper.controller.wants_close(conn) {
                keeper.controller.closed(self.now, conn);
                peer.disconnect();
                self.is_disturbed = true;
            }
        }
        if let Some(service) = &self.service {
            self.model.observe(&service.view());
        }
    }

    fn deliver(&mut self, dpid: u64, share: u8) -> bool {
        let now = self.now;
        let peer = self.peers.get_mut(&dpid).expect("one of three");
        let count = part(peer.to_switch.len(), share);
        count > 0 && peer.receive(now, count)
    }

    fn hear(&mut self, dpid: u64, share: u8) {
        let peer = self.peers.get_mut(&dpid).expect("one of three");
        let count = part(peer.to_controller.len(), share);
        let bytes: Vec<u8> = peer.to_controller.drain(..count).collect();
        if let (Some(conn), Some(keeper)) = (peer.conn, &mut self.keeper) {
            keeper.controller.received(self.now, conn, &bytes);
        }
    }

    fn pass(&mut self, most: Span) {
        let Some(keeper) = &mut self.keeper else { return };
        let due = keeper.controller.next_deadline().unwrap_or(self.now + most);
        self.now = self.now.max(due.min(self.now + most));
        keeper.controller.fire_due(self.now);
    }

    fn submit(&mut self, changes: &[Change], fate: Option<Fate>) {
        let Some(service) = &self.service else { return };
        if let Some(fate) = fate {
            self.medium.set_next(fate);
        }
        let changes = changes.to_vec();
        let request = Request { changes, who: "test".to_owned(), ..Request::default() };
        let answer = service.submit(&request);
        match (&answer, self.medium.is_off()) {
            // Nobody was told.
            (_, true) => self.model.may_have(&request.changes),
            (Ok(accepted), false) => {
                self.model.accepted(accepted.decision, &request.changes, &service.view());
            }
            (Err(_), false) => {
                assert_eq!(service.view().decision, self.model.decision(), "refused: nothing");
            }
        }
    }

    fn carry_out_undo(&mut self, fate: Option<Fate>) {
        let (Some(undo), Some(service)) = (self.undo.take(), &self.service) else { return };
        if let Some(fate) = fate {
            self.medium.set_next(fate);
        }
        undo.carry_out(&service.inner);
        if self.medium.is_off() {
            self.model.may_have_undone();
        }
    }

    /// The service is gone at once, connections with it; the next one reads what the medium has.
    fn restart(&mut self) {
        (self.keeper, self.undo) = (None, None);
        drop(self.service.take());
        self.medium.start();
        self.peers.values_mut().for_each(Peer::disconnect);
        self.is_disturbed = true;
        let service = open(&self.network, &self.medium);
        self.model.restarted(&service.view());
        self.serve(service);
    }

    fn cut(&mut self, dpid: u64) {
        let peer = self.peers.get_mut(&dpid).expect("one of three");
        if let (Some(conn), Some(keeper)) = (peer.conn, &mut self.keeper) {
            keeper.controller.closed(self.now, conn);
        }
        peer.disconnect();
        self.is_disturbed = true;
    }

    fn connect(&mut self, dpid: u64) {
        let Some(keeper) = &mut self.keeper else { return };
        let peer = self.peers.get_mut(&dpid).expect("one of three");
        if peer.conn.is_none() {
            let conn = ConnId(self.conn_next);
            self.conn_next += 1;
            keeper.controller.connected(self.now, conn);
            peer.connect(conn);
        }
    }

    /// Nothing goes wrong any more: everything is delivered, and audits repair what had failed.
    pub(super) fn settle(&mut self) {
        self.peers.values_mut().for_each(|it| it.refuse_in = None);
        let mut audits = 0;
        for _ in 0..ROUNDS_MAX {
            // A log that broke wants a restart.
            if self.service.as_ref().is_some_and(|it| it.view().stopped.is_some()) {
                self.restart();
            }
            for dpid in DPIDS {
                self.step(&Step::Connect(dpid));
                self.step(&Step::ToController(dpid, u8::MAX));
                self.step(&Step::ToSwitch(dpid, u8::MAX));
            }
            self.step(&Step::Undo(None));
            let is_quiet = self
                .peers
                .values()
                .all(|it| it.to_controller.is_empty() && it.to_switch.is_empty());
            if !is_quiet {
                continue;
            }
            let view = self.service.as_ref().expect("it runs").view();
            if view.installed == Some(view.decision)
                && self.keeper.as_ref().is_some_and(|it| it.controller.is_ready())
            {
                if audits >= 1 {
                    return self.judge();
                }
                audits += 1;
                self.step(&Step::Audit);
                continue;
            }
            self.step(&Step::Time(Span::from_s(10)));
            if audits < 50 {
                // What had failed is tried again.
                audits += 1;
                self.step(&Step::Audit);
            }
        }
        let alarms = self.service.as_ref().map(|it| it.view().alarms.clone());
        panic!("the network never settles: {alarms:?}");
    }

    /// All is quiet: every flow of the set is in all of its switches, and nothing else is in any.
    fn judge(&mut self) {
        (self.is_wiped, self.is_disturbed) = (false, false);
        let view = self.service.as_ref().expect("it runs").view();
        self.model.is_as(&view);
        for (name, probe) in self.model.probes() {
            let reached = self.links.walk(self.now, &self.peers, probe);
            let is_in = view
                .network
                .flow(name)
                .is_some_and(|_| self.model.current_probe(name) == Some(probe));
            let wanted = match is_in {
                true => Reached::Hosts(probe.targets.clone()),
                false => Reached::Nothing,
            };
            assert_eq!(reached, wanted, "{name} at rest");
        }
        for switch in &view.plan.switches {
            let held = self.peers[&switch.datapath_id].counts(self.now);
            let wanted = (switch.entries.len(), switch.groups.len(), switch.meters.len());
            assert_eq!(held, wanted, "entries, groups and meters of {}", switch.switch);
        }
    }

    /// A switch has carried something out: flows that stay are forwarded at every moment; one that comes or goes is all there or
    /// dropped where it enters, as long as nothing but the change has happened.
    fn look(&mut self) {
        if self.is_wiped {
            return;
        }
        self.looks += 1;
        let stays = self.model.stays();
        for (name, probe) in self.model.probes() {
            let reached = self.links.walk(self.now, &self.peers, probe);
            let whole = Reached::Hosts(probe.targets.clone());
            if stays.contains(name) && self.model.current_probe(name) == Some(probe) {
                assert_eq!(reached, whole, "{name} stays");
            } else if !self.is_disturbed {
                let is_whole_or_nothing = reached == whole || reached == Reached::Nothing;
                assert!(is_whole_or_nothing, "{name} is half there: {reached:?}");
            }
        }
    }

    /// Judges without coming to rest before.
    pub(super) fn judge_as_it_is(&mut self) {
        self.judge();
    }

    /// Whether a refusal waits to be written down.
    pub(super) const fn has_undo(&self) -> bool {
        self.undo.is_some()
    }
}

/// Bytes of the first message (OpenFlow 1.3.5, section 7.1.1); 0 without any.
fn first_message(bytes: &[u8]) -> usize {
    bytes.get(2..4).map_or(0, |length| usize::from(u16::from_be_bytes([length[0], length[1]])))
}

fn part(length: usize, share: u8) -> usize {
    (length * (usize::from(share) + 1)).div_ceil(256)
}

fn open(network: &Network, medium: &Medium) -> Service {
    let store = Box::new(medium.clone());
    let service = Service::open_with(network, FILE, store, Planning::default(), |_| Vec::new());
    service.unwrap_or_else(|error| panic!("what was stored is opened again: {error}"))
}

/// A probe belongs to a definition of a flow.
impl Model {
    /// The probe of a flow as it is in the latest set.
    pub(super) fn current_probe(&self, name: &str) -> Option<&Probe> {
        self.latest().get(name).map(|(_, probe)| probe)
    }
}
