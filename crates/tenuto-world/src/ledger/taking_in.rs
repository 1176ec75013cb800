//! What each observation changes in the books.

use super::timeline::Timeline;
use super::{
    AtTarget, Death, EventRow, Fate, Ledger, MessageRecord, Observation, PROGRAM_MESSAGES, Release,
    SignalLoss, StallRow, Unseen,
};

impl Ledger<'_> {
    /// Takes in what a node has seen. What names nothing of this network changes nothing.
    pub fn observe(&mut self, observation: &Observation) {
        match observation {
            Observation::Released { flow, message, at_ns, bytes } => {
                // What a program sends cannot be repeated with our frames.
                if *message < PROGRAM_MESSAGES {
                    self.releases.push(Release { at_ns: *at_ns, flow: *flow, bytes: *bytes });
                }
                if let Some(record) = self.record(*flow, *message) {
                    record.release_ns = *at_ns;
                }
                self.take_handed((*flow, *message));
            }
            Observation::Delivered { flow, message, host, release_ns, at_ns } => {
                self.observe_delivery((*flow, *message), *host, *release_ns, *at_ns);
            }
            Observation::Copy { flow, message, host, port, delay_ns } => {
                self.observe_copy((*flow, *message), *host, *port, *delay_ns);
            }
            Observation::Skew { flow, message, host, skew_ns } => {
                if let Some(at) = self.at_target((*flow, *message), *host) {
                    at.skew_ns = at.skew_ns.or(Some(*skew_ns));
                }
            }
            Observation::Dropped { .. } => self.observe_drop(observation),
            Observation::Violation { switch, monitor, wanted, at_ns } => {
                self.with_timeline(switch, |t| t.violation(switch, *monitor, *wanted, *at_ns));
            }
            Observation::Swapped { switch, .. } => {
                self.with_timeline(switch, |timeline| timeline.swapped(observation));
            }
            Observation::Restarted { switch, .. } => {
                self.with_timeline(switch, |timeline| timeline.restarted(switch));
            }
            Observation::Port { node, port, backlog_bits_max, frames } => {
                self.packet_hops += frames;
                self.ports.insert((node.clone(), *port), (*backlog_bits_max, *frames));
            }
            Observation::Stall { node, from_ns, length_ns } => {
                self.observe_stall(node, *from_ns, *length_ns);
            }
            Observation::Event { text, at_ns, tolerated, misbehaving } => {
                let at_ns = self.since_start(*at_ns);
                misbehaving.iter().for_each(|flow| self.note_misbehaviour(*flow, at_ns));
                self.events.push(EventRow { at_ns, text: text.clone(), tolerated: *tolerated });
            }
            Observation::Died { who, what, at_ns, tolerated } => {
                self.observe_death(who, what, *at_ns, *tolerated);
            }
            Observation::Returned { who, at_ns } => {
                let at_ns = self.since_start(*at_ns);
                let gone = self.deaths.iter_mut().filter(|it| it.who == *who);
                gone.for_each(|it| it.until_ns = it.until_ns.or(Some(at_ns)));
            }
            Observation::SignalsLost { from, to, frames, at_ns } => {
                self.signals_lost.push(SignalLoss {
                    who: format!("link {from} - {to}"),
                    switch: from.clone(),
                    frames: *frames,
                    at_ns: self.since_start(*at_ns),
                })
            }
            Observation::Unseen { node, lines, from_ns } => {
                self.observe_unseen(node, *lines, *from_ns);
            }
            Observation::NotPlayed { text, at_ns } => {
                let at_ns = self.since_start(*at_ns);
                self.not_played.push(EventRow { at_ns, text: text.clone(), tolerated: None });
            }
            Observation::TakenOver { flow, .. } => {
                self.taken_over.insert(*flow);
            }
            Observation::Handed { flow, message, host, at_ns } => {
                let known = self.messages.get(usize::from(*flow));
                let is_released = known.is_some_and(|it| it.contains_key(&u64::from(*message)));
                let _ = self.handed.entry((*flow, *message, *host)).or_insert(*at_ns);
                if is_released {
                    self.take_handed((*flow, *message));
                }
            }
            Observation::Program { host, released, refused, .. } => {
                let (all_released, all_refused) = self.programs.entry(host.clone()).or_default();
                *all_released += released;
                *all_refused += refused;
            }
            // Nothing is promised of it.
            Observation::ByController { .. } => {}
        }
    }

    fn record(&mut self, flow: u16, message: u32) -> Option<&mut MessageRecord> {
        let targets = self.plan.network.flows.get(usize::from(flow))?.targets.len();
        let record = self.messages[usize::from(flow)].entry(u64::from(message)).or_default();
        record.targets.resize(targets, AtTarget::default());
        Some(record)
    }

    /// Arrivals of a message whose release is known; of copies the first counts.
    fn take_handed(&mut self, (flow, message): (u16, u32)) {
        let of_message = (flow, message, 0)..=(flow, message, u16::MAX);
        let handed: Vec<_> = self.handed.range(of_message).map(|(key, at)| (*key, *at)).collect();
        for (key, at_ns) in handed {
            self.handed.remove(&key);
            if let Some(at) = self.at_target((flow, message), key.2) {
                at.delivered_ns.get_or_insert(at_ns);
            }
        }
    }

    fn target_place(&self, flow: u16, host: u16) -> Option<usize> {
        let name = &self.plan.network.hosts.get(usize::from(host))?.name;
        let flow = self.plan.network.flows.get(usize::from(flow))?;
        flow.targets.iter().position(|target| target.host == *name)
    }

    /// What is known of a message, flow and id, at a target host.
    fn at_target(&mut self, (flow, id): (u16, u32), host: u16) -> Option<&mut AtTarget> {
        let place = self.target_place(flow, host)?;
        self.record(flow, id).map(|record| &mut record.targets[place])
    }

    fn with_timeline(&mut self, switch: &str, change: impl FnOnce(&mut Timeline)) {
        self.timelines.iter_mut().find(|timeline| timeline.knows(switch)).map(change);
    }

    fn observe_delivery(&mut self, (flow, id): (u16, u32), host: u16, release_ns: u64, at_ns: u64) {
        let Some(place) = self.target_place(flow, host) else { return };
        if let Some(record) = self.record(flow, id) {
            record.release_ns = release_ns;
            record.targets[place].delivered_ns = Some(at_ns);
        }
    }

    fn observe_copy(&mut self, message: (u16, u32), host: u16, port: u32, delay_ns: u64) {
        let network = self.networks.get(&(host, port)).copied();
        let Some(at) = self.at_target(message, host) else { return };
        if let Some(copy) = network.and_then(|n| at.copies.get_mut(n)) {
            *copy = Some(delay_ns);
        }
    }

    /// What was over before traffic started has nothing to do with it.
    fn observe_stall(&mut self, node: &str, from_ns: u64, length_ns: u64) {
        let start_ns = self.settings.start_ns;
        let end_ns = from_ns + length_ns;
        if end_ns > start_ns {
            let at_ns = from_ns.saturating_sub(start_ns);
            let length_ns = end_ns - start_ns.max(from_ns);
            self.stalls.push(StallRow { node: node.to_owned(), at_ns, length_ns });
        }
    }

    fn observe_death(&mut self, who: &str, what: &str, at_ns: u64, tolerated: bool) {
        let at_ns = self.since_start(at_ns);
        let text = format!("{who} {what}");
        self.events.push(EventRow { at_ns, text, tolerated: Some(tolerated) });
        let is_known = |it: &Death| it.who == who && it.what == what && it.until_ns.is_none();
        if !tolerated && !self.deaths.iter().any(is_known) {
            let (who, what) = (who.to_owned(), what.to_owned());
            self.deaths.push(Death { who, what, at_ns, until_ns: None });
        }
    }

    fn observe_unseen(&mut self, node: &str, lines: u64, from_ns: u64) {
        let at_ns = self.since_start(from_ns);
        let text = format!("{lines} observations of {node} are lost");
        self.events.push(EventRow { at_ns, text, tolerated: None });
        self.unseen.push(Unseen { node: node.to_owned(), lines, at_ns });
    }

    fn note_misbehaviour(&mut self, flow: u16, at_ns: u64) {
        self.misbehaving.entry(flow).or_insert(at_ns);
        if let Some(flow) = self.plan.network.flows.get(usize::from(flow)) {
            self.misbehaving_hosts.entry(flow.source.clone()).or_insert(at_ns);
        }
    }

    fn observe_drop(&mut self, observation: &Observation) {
        let Observation::Dropped { node, port, reason, cookie, message, frames, at_ns } =
            observation
        else {
            return;
        };
        // What switches turn away before they are set up is no news of the run.
        if *at_ns < self.settings.start_ns {
            return;
        }
        let at = self.dropped.entry((node.clone(), *port, reason.clone(), *cookie)).or_default();
        at.add(at_ns.saturating_sub(self.settings.start_ns), *frames);
        let Some((flow, id)) = *message else { return };
        let (fate, words) = match reason.as_str() {
            "policed" => (Fate::Policed, "over contract"),
            "out_of_mode" | "purged" => (Fate::OutOfMode, "out of mode"),
            "duplicate" => return,
            "buffer_full" => (Fate::Lost, "buffer full"),
            "unknown" => (Fate::Lost, "no entry"),
            _ => (Fate::Lost, "dropped"),
        };
        let number = self.node_number(node);
        if let Some(record) = self.record(flow, id) {
            record.fate = record.fate.max(Some(fate));
            record.place = record.place.or(Some((number, words)));
        }
    }

    fn node_number(&mut self, node: &str) -> u32 {
        let place = self.nodes.iter().position(|n| n == node).unwrap_or_else(|| {
            self.nodes.push(node.to_owned());
            self.nodes.len() - 1
        });
        u32::try_from(place).unwrap_or(u32::MAX)
    }
}
