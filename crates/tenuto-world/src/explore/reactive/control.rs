//! Messages between switches and the controller: what is asked, decided and told.

use super::fixed::{Fixed, NOW};
use super::messages::{Flow, OnItsWay, flow_of, packet_in};
use super::packets::PacketName;
use super::property::Property;
use super::setup::Protocol;
use super::world::World;
use std::hash::{Hash, Hasher};
use tenuto_controller::reactive::Reaction;
use tenuto_openflow::{Body, Message};

impl World {
    /// The controller takes the first message of a switch; its answer is on its way at once.
    pub(super) fn decide(&mut self, place: usize, fixed: &Fixed) -> Option<()> {
        let heard = self.to_controller[place].pop_front()?;
        self.look_at_question(place, &heard, fixed);
        self.answers += 1;
        let datapath = fixed.datapath(place);
        if matches!(*heard.body, Body::BarrierReply) {
            let released = self.gate.confirmed(datapath, heard.xid);
            for (datapath, xid, body) in released {
                self.on_its_way(datapath, xid, body, heard.flow, fixed);
            }
            return Some(());
        }
        let reaction = self.controller.receive(NOW, datapath, &heard.body);
        self.react(Some(datapath), reaction, flow_of(&heard.body), fixed);
        Some(())
    }

    /// What a question of a switch says about properties.
    fn look_at_question(&mut self, place: usize, heard: &OnItsWay, fixed: &Fixed) {
        let name = &fixed.switches[place].name;
        if let Body::Error(error) = &*heard.body {
            let text = format!("{name} refuses a message: {error}");
            self.findings.push((Property::Completes, text.clone()));
            self.findings.push((Property::NoRefusal, text));
        }
        let flow = flow_of(&heard.body).filter(|(_, dst)| dst[0] & 1 == 0);
        if let Some(flow) = flow.filter(|_| fixed.looks_at(Property::DirectPaths)) {
            let first = *self.history.asked.entry(flow).or_insert(place);
            if first != place {
                let before = &fixed.switches[first].name;
                let text = format!("{name} asks about what {before} has asked about before");
                self.findings.push((Property::DirectPaths, text));
            }
        }
    }

    /// What the application has caused is on its way; `asked_by` is the switch that it answers.
    pub(super) fn react(
        &mut self,
        asked_by: Option<u64>,
        reaction: Reaction,
        flow: Option<Flow>,
        fixed: &Fixed,
    ) {
        if let Some(fault) = reaction.fault {
            self.findings.push((Property::NoFailure, format!("the application fails: {fault}")));
        }
        let is_elsewhere = |(to, _): &(u64, Body)| asked_by.is_some_and(|asked| asked != *to);
        if fixed.decides_by_switch() && reaction.messages.iter().any(is_elsewhere) {
            let text = "the application answers another switch, and has said that it never does";
            self.findings.push((Property::NoFailure, text.to_owned()));
        }
        let messages = match (fixed.protocol, asked_by) {
            (Protocol::OpenflowBarrier, Some(asked_by)) => {
                self.gate.admit(asked_by, reaction.messages)
            }
            _ => reaction.messages.into_iter().map(|(to, body)| (to, 0, body)).collect(),
        };
        for (datapath, xid, body) in messages {
            self.on_its_way(datapath, xid, body, flow, fixed);
        }
    }

    pub(super) fn on_its_way(
        &mut self,
        datapath: u64,
        xid: u32,
        body: Body,
        flow: Option<Flow>,
        fixed: &Fixed,
    ) {
        if let Some(place) = fixed.of_datapath(datapath) {
            let flow = flow.filter(|_| fixed.tells_flows());
            let sent = OnItsWay::new(xid, body, self.answers, flow);
            self.to_switch[place].push_back(sent);
        }
    }

    /// A switch says something.
    pub(super) fn hear(&mut self, place: usize, message: Message, fixed: &Fixed) {
        let Message { xid, body } = message;
        let name = || fixed.switches[place].name.clone();
        let flow = flow_of(&body);
        if flow.is_some_and(|flow| self.is_known(place, flow)) {
            let text = format!("{} asks although an answer is on its way", name());
            self.findings.push((Property::OnePacketIn, text));
        }
        let packet = packet_in(&body).and_then(|it| PacketName::of(&it.data));
        if let Some(packet) = packet.filter(|packet| self.history.strict.contains(packet)) {
            let text = format!("{} asks about {}", name(), fixed.describe(packet));
            self.findings.push((Property::StrictDirectPaths, text));
        }
        // Only a barrier reply is found again by its number.
        let xid = if matches!(body, Body::BarrierReply) { xid } else { 0 };
        self.to_controller[place].push_back(OnItsWay::new(xid, body, 0, None));
    }

    /// Whether a flow was asked about already, and the switch not yet told everything.
    fn is_known(&self, place: usize, flow: Flow) -> bool {
        self.to_controller[place].iter().any(|heard| flow_of(&heard.body) == Some(flow))
            || self.to_switch[place].iter().any(|sent| sent.flow == Some(flow))
    }

    /// Messages in both directions, and the order of answers among themselves.
    pub(super) fn identify_messages(&self, fixed: &Fixed, hasher: &mut impl Hasher) {
        let tells_numbers = !fixed.reductions.numbers;
        // Without threads the first message of a switch is next, whichever answer it is of.
        let tells_answers = tells_numbers || fixed.threads;
        for (place, switch) in self.switches.iter().enumerate() {
            let (heard, told) = (&self.to_controller[place], &self.to_switch[place]);
            (heard.len(), told.len()).hash(hasher);
            if tells_numbers {
                switch.identify_kept_numbers(NOW, hasher);
                let named = heard.iter().chain(told).map(OnItsWay::buffer_id);
                named.for_each(|number| number.hash(hasher));
            }
            heard.iter().for_each(|message| message.identify(switch, hasher));
            let mut answers: Vec<u32> = Vec::new();
            for message in told {
                message.identify(switch, hasher);
                if !tells_answers {
                    continue;
                }
                let rank = answers.iter().position(|answer| *answer == message.answer);
                rank.hash(hasher);
                if rank.is_none() {
                    answers.push(message.answer);
                }
            }
        }
    }
}
