//! What an application says: orders in their sequence, and the statistics that it compares.

use super::message::{Order, PacketIn, Sent};
use super::packet::Packet;
use super::rule::{Actions, Match, Rule};

/// An order to a switch.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// The switch, by number from 0.
    pub switch: usize,
    /// The order.
    pub order: Order,
    /// Whether the packet goes on to a switch that is told of its flow in the same answer: with
    /// Attendre it takes a command there.
    pub goes_on: bool,
}

/// Orders of one handler, in their sequence.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// The orders.
    pub list: Vec<Answer>,
    /// The switch whose orders wait until all others have confirmed theirs.
    pub last: Option<usize>,
}

impl Answers {
    fn push(&mut self, switch: usize, order: Order, goes_on: bool) {
        self.list.push(Answer { switch, order, goes_on });
    }

    /// Adds a rule.
    pub fn add(&mut self, switch: usize, rule: Rule) {
        self.push(switch, Order::Add { rule, buffer: None }, false);
    }

    /// Adds a rule, then looks the asked packet up.
    pub fn add_and_release(&mut self, switch: usize, rule: Rule, asked: &PacketIn) {
        self.push(switch, Order::Add { rule, buffer: Some(asked.buffer) }, false);
    }

    /// Sends the asked packet.
    pub fn packet_out(&mut self, switch: usize, asked: &PacketIn, actions: Actions) {
        self.push(switch, Order::PacketOut { sent: Sent::Buffer(asked.buffer), actions }, false);
    }

    /// Sends a packet as if it had come in at a port.
    pub fn send(&mut self, switch: usize, packet: Packet, port: u8, actions: Actions) {
        self.push(switch, Order::PacketOut { sent: Sent::Packet { packet, port }, actions }, false);
    }

    /// Takes rules of exactly these attributes away.
    pub fn delete(&mut self, switch: usize, matching: Match) {
        self.push(switch, Order::Delete { matching, priority: None }, false);
    }

    /// Takes rules of exactly these attributes and this priority away.
    pub fn delete_of_priority(&mut self, switch: usize, matching: Match, priority: u16) {
        self.push(switch, Order::Delete { matching, priority: Some(priority) }, false);
    }

    /// Has a switch carry all that was ordered so far out before what follows.
    pub fn barrier(&mut self, switch: usize) {
        self.push(switch, Order::Barrier, false);
    }

    /// Holds the orders of a switch back until all others have confirmed theirs.
    pub fn after_all_others(&mut self, switch: usize) {
        self.last = Some(switch);
    }

    /// Says of the last order that its packet goes on.
    pub fn goes_on(&mut self) {
        if let Some(last) = self.list.last_mut() {
            last.goes_on = true;
        }
    }
}

/// What a port has sent, megabytes; it notes what it is compared with.
#[derive(Clone, Debug, Default)]
pub struct Load {
    value: u16,
    compared: Vec<(u16, bool)>,
}

impl Load {
    /// A value.
    pub const fn new(value: u16) -> Self {
        Self { value, compared: Vec::new() }
    }

    /// The value, to be kept and not to be compared.
    pub const fn value(&self) -> u16 {
        self.value
    }

    /// Whether more than `threshold` was sent since `before`.
    pub fn exceeds(&mut self, before: u16, threshold: u16) -> bool {
        let border = before.saturating_add(threshold);
        let answer = self.value > border;
        self.compared.push((border, answer));
        answer
    }

    /// One load for each way through the comparisons of `handle`: each comparison is answered both
    /// ways, by the value at its border and the one above.
    pub fn classes(mut handle: impl FnMut(&mut Self)) -> Vec<u16> {
        let mut waiting = vec![0_u16];
        let (mut tried, mut ways, mut classes) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(value) = waiting.pop() {
            if tried.contains(&value) {
                continue;
            }
            tried.push(value);
            let mut load = Self::new(value);
            handle(&mut load);
            waiting.extend(load.compared.iter().flat_map(|(at, _)| [*at, at.saturating_add(1)]));
            let way: Vec<bool> = load.compared.iter().map(|(_, answer)| *answer).collect();
            if !ways.contains(&way) {
                ways.push(way);
                classes.push(value);
            }
        }
        classes.sort_unstable();
        classes
    }
}
