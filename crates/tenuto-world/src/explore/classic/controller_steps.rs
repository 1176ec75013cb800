//! What the controller does: handle reports, send commands, wait for barriers.

use super::answers::{Answer, Answers, Load};
use super::application::Application;
use super::controller::Held;
use super::memory::Event;
use super::message::{Command, MessageSet, Order, PacketIn, Report};
use super::property::Property;
use super::setup::Protocol;
use super::step::Step;
use super::transition::Enabled;

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
