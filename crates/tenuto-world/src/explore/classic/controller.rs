//! The controller: a queue of reports per switch, one application, one handler at a time.

use super::answers::{Answer, Answers, Load};
use super::key::{Keyed, Mixer, multiset};
use super::message::{Command, MessageSet, Order, PacketIn, Report};
use super::properties::{Event, Property};
use super::setup::{Loads, Protocol};
use super::step::{Application, Step};
use super::transition::Enabled;

/// Commands for the switch that asked, until others have confirmed theirs.
#[derive(Clone, Debug)]
struct Held {
    awaited: Vec<usize>,
    switch: usize,
    orders: Vec<Order>,
}

/// The state of the controller.
#[derive(Clone, Debug)]
pub(super) struct Controller<A> {
    /// What it can do.
    pub(super) enabled: Vec<Enabled>,
    /// What switches told it, by switch.
    pub(super) queues: Vec<Vec<Report>>,
    application: A,
    versions: u8,
    held: Vec<Held>,
}

impl<A: Application> Controller<A> {
    /// At the start.
    pub(super) fn new(application: A, switches: usize, callbacks: &[u8]) -> Self {
        Self {
            enabled: callbacks.iter().map(|number| Enabled::Callback(*number)).collect(),
            queues: vec![Vec::new(); switches],
            application,
            versions: 0,
            held: Vec::new(),
        }
    }

    /// Adds its part of the key.
    pub(super) fn key(&self, has_learned: bool, mixer: &mut Mixer) {
        multiset(self.enabled.iter().copied(), mixer);
        for queue in &self.queues {
            queue.as_slice().key(mixer);
        }
        self.application.key(has_learned, mixer);
        for held in &self.held {
            mixer.word(held.switch as u64 | (held.orders.len() as u64) << 8);
            for order in &held.orders {
                Command { order: *order, set: MessageSet::default() }.key(mixer);
            }
            for switch in &held.awaited {
                mixer.word(*switch as u64);
            }
        }
    }

    /// Adds what the application knows.
    pub(super) fn outcome(&self, mixer: &mut Mixer) {
        self.application.key(true, mixer);
    }

    /// The loads that a switch's statistics may show now.
    fn loads(&self, switch: usize, loads: &Loads) -> Vec<u16> {
        match loads {
            Loads::Given(values) => values.clone(),
            Loads::Found => Load::classes(|load| self.application.clone().statistics(switch, load)),
        }
    }

    /// Takes a barrier reply of a switch; what is held no longer.
    fn confirmed(&mut self, switch: usize) -> Option<Held> {
        let at = self.held.iter().position(|held| held.awaited.contains(&switch))?;
        self.held[at].awaited.retain(|awaited| *awaited != switch);
        self.held[at].awaited.is_empty().then(|| self.held.remove(at))
    }
}

impl<A: Application> Step<'_, A> {
    /// A transition of the controller; whether it is no longer enabled.
    pub(super) fn controller(&mut self, enabled: Enabled) -> bool {
        let mut answers = Answers::default();
        match enabled {
            Enabled::ProcessReport(switch) => return self.process_report(switch.into()),
            Enabled::RequestStatistics(switch) => {
                let setup = self.setup;
                let controller = self.controller_mut();
                let loads = controller.loads(switch.into(), &setup.loads);
                let statistics = loads.iter().map(|load| Enabled::Statistics(switch, *load));
                controller.enabled.extend(statistics);
            }
            Enabled::Statistics(switch, value) => {
                let controller = self.controller_mut();
                controller.application.statistics(switch.into(), &mut Load::new(value));
                controller.enabled.retain(|it| !matches!(it, Enabled::Statistics(..)));
                return false;
            }
            Enabled::Callback(number) => {
                self.controller_mut().application.callback(number, &mut answers);
                self.send_answers(None, &answers);
            }
            _ => {}
        }
        true
    }

    fn process_report(&mut self, switch: usize) -> bool {
        match self.controller_mut().queues[switch].remove(0) {
            Report::PacketIn(asked) => self.handle(switch, &asked),
            Report::BarrierReply => {
                if let Some(held) = self.controller_mut().confirmed(switch) {
                    self.send_orders(held.switch, &held.orders);
                }
            }
        }
        self.controller_mut().queues[switch].is_empty()
    }

    fn handle(&mut self, switch: usize, asked: &PacketIn) {
        self.tell(&Event::AskedAbout { switch, packet: &asked.packet });
        let mut answers = Answers::default();
        self.controller_mut().application.packet_in(switch, asked, &mut answers);
        self.send_answers(Some(switch), &answers);
        if self.setup.properties.contains(&Property::UseCorrectRoutingTable)
            && let Some(text) = self.controller_mut().application.wrong_route(&asked.packet)
        {
            self.violate(Property::UseCorrectRoutingTable, text);
        }
    }

    fn send_answers(&mut self, asker: Option<usize>, answers: &Answers) {
        let protocol = self.setup.protocol;
        let waits = asker.filter(|_| protocol == Protocol::OpenFlowBarrier);
        if let Some(last) = answers.last.or(waits) {
            return self.send_with_barriers(last, &answers.list);
        }
        if protocol == Protocol::Attendre && asker.is_some() {
            return self.send_sets(&answers.list);
        }
        for answer in &answers.list {
            self.send_orders(answer.switch, &[answer.order]);
        }
    }

    fn send_orders(&mut self, switch: usize, orders: &[Order]) {
        for order in orders {
            self.command(switch, Command { order: *order, set: MessageSet::default() });
        }
    }

    /// One version for the message sets of an answer; a set is what one switch is sent.
    fn send_sets(&mut self, answers: &[Answer]) {
        let controller = self.controller_mut();
        controller.versions = controller.versions.saturating_add(1);
        let version = controller.versions;
        for answer in answers {
            let size = answers.iter().filter(|it| it.switch == answer.switch).count();
            let size = u8::try_from(size).unwrap_or(u8::MAX);
            let set = MessageSet { version, size, has_command: answer.goes_on };
            self.command(answer.switch, Command { order: answer.order, set });
        }
    }

    /// The others first, each with a barrier; the asker when all have replied.
    fn send_with_barriers(&mut self, asker: usize, answers: &[Answer]) {
        let mut awaited: Vec<usize> = Vec::new();
        for answer in answers.iter().filter(|it| it.switch != asker) {
            self.send_orders(answer.switch, &[answer.order]);
            if !awaited.contains(&answer.switch) {
                awaited.push(answer.switch);
            }
        }
        for switch in &awaited {
            self.send_orders(*switch, &[Order::Barrier]);
        }
        let orders: Vec<Order> =
            answers.iter().filter(|it| it.switch == asker).map(|it| it.order).collect();
        if awaited.is_empty() {
            return self.send_orders(asker, &orders);
        }
        if !orders.is_empty() {
            self.controller_mut().held.push(Held { awaited, switch: asker, orders });
        }
    }
}
