//! Control connections and their messages, carried out between two bursts of frames: each connection in
//! turn, what touches very many entries a step at a time.

use super::super::channel::Channel;
use super::super::control::{Change, Purpose};
use super::DataPath;
use crate::forwarding::Forwarding;
use std::io;
use tenuto_dataplane::switch::{ConnectionId, Datapath};
use tenuto_io::MonotonicClock;
use tenuto_openflow::constants::multipart_type::PORT_STATS;
use tenuto_units::{Instant, Span};

/// Messages are carried out for so long before frames get a turn, however many connections there are.
const MESSAGES_TIME: Span = Span::from_us(50);

/// Whether a message is a request for the statistics of ports (`OFPMP_PORT_STATS`).
fn asks_for_ports(message: &[u8]) -> bool {
    const MULTIPART_REQUEST: u8 = 18;
    let kind = message.get(8..10);
    message.get(1) == Some(&MULTIPART_REQUEST) && kind == Some(&PORT_STATS.to_be_bytes()[..])
}

impl<D: Datapath> DataPath<'_, D> {
    /// Whether there is control work that waits for nothing but its turn.
    pub(super) fn has_work(&self) -> bool {
        let is_paused = |id| {
            self.control.channels.iter().any(|channel| channel.id == id && channel.is_paused())
        };
        let now = MonotonicClock::now();
        let goes_on = |id| !is_paused(id) && self.core.switch.work_at(id, now) <= now;
        self.core.switch.at_work().any(goes_on)
            || self.control.channels.iter().any(|channel| {
                channel.has_message()
                    && channel.budget_at.is_none()
                    && self.core.switch.at_work().all(|id| id != channel.id)
            })
    }

    /// When the first message, or step, is within the budget of its slice that has to wait for that.
    pub(super) fn budget_at(&self) -> Option<Instant> {
        let now = MonotonicClock::now();
        let is_paused = |id: &ConnectionId| {
            self.control.channels.iter().any(|channel| channel.id == *id && channel.is_paused())
        };
        let works = self.core.switch.at_work().filter(|id| !is_paused(id));
        let steps = works.map(|id| self.core.switch.work_at(id, now));
        self.control.channels.iter().filter_map(|channel| channel.budget_at).chain(steps).min()
    }

    /// Whether the next message of a connection is within the budget of its slice; if not, it waits until then.
    fn is_within_budget(&mut self, place: usize) -> bool {
        let channel = &mut self.control.channels[place];
        let now = MonotonicClock::now();
        let at = self.core.switch.message_at(channel.id, now, channel.next_bytes());
        channel.budget_at = (at > now && channel.has_message()).then_some(at);
        channel.budget_at.is_none()
    }

    /// Goes a step on with what takes several of them: of each connection in turn, for no longer than
    /// frames may wait.
    fn work(&mut self, until: Instant) {
        let mut works: Vec<ConnectionId> = self.core.switch.at_work().collect();
        let first = self.first_work.unwrap_or(ConnectionId(0));
        let behind = works.partition_point(|id| *id < first);
        works.rotate_left(behind);
        for (done, &id) in works.iter().enumerate() {
            let now = MonotonicClock::now();
            if done > 0 && now >= until {
                self.first_work = Some(id);
                return;
            }
            let channel = self.control.channels.iter().find(|channel| channel.id == id);
            if !channel.is_some_and(Channel::is_paused) {
                let Forwarding { switch, pool, fx, .. } = &mut self.core;
                switch.work_on(id, now, pool, fx);
            }
        }
        self.first_work = None;
    }

    /// Gives every connection what the core has for it.
    pub(super) fn hand_out(&mut self) -> io::Result<()> {
        for (id, bytes) in &mut self.core.fx.channels {
            let channel = self.control.channels.iter_mut().find(|channel| channel.id.0 == *id);
            if let Some(channel) = channel {
                channel.queue(bytes);
            }
            bytes.clear();
        }
        for place in (0..self.control.channels.len()).rev() {
            let channel = &mut self.control.channels[place];
            if let Err(why) = channel.flush(&mut self.poll) {
                let id = channel.id;
                self.changes.push(Change::Gone(id));
                self.control.close(id, &why, &mut self.poll, self.news);
            }
        }
        Ok(())
    }

    /// Connections and their messages.
    pub(super) fn take_control(&mut self) -> io::Result<()> {
        // What those who have gone have asked for is changed all the same, and counts as their places.
        let switch = &self.core.switch;
        self.control.keep_at_work(|id| switch.at_work().any(|at_work| at_work == id));
        self.control.turn(&mut self.poll, &mut self.changes, self.news);
        self.carry_changes()?;
        let until = MonotonicClock::now() + MESSAGES_TIME;
        self.work(until);
        // One connection at least has its turn, and each is the first in one of the next turns.
        let count = self.control.channels.len();
        let first = self.first_channel % count.max(1);
        self.first_channel = first + 1;
        for turn in 0..count {
            let now = MonotonicClock::now();
            if turn > 0 && now >= until {
                break;
            }
            self.first_channel = first + turn + 1;
            // What is carried out for one connection may end others.
            let count = self.control.channels.len();
            let Some(channel) = self.control.channels.get_mut((first + turn) % count.max(1)) else {
                break;
            };
            let id = channel.id;
            let is_readable = self.poll.readiness(channel.key).readable;
            let read = if is_readable { channel.read(now) } else { Ok(()) };
            let followed = self.take_messages(id, until);
            let ended = read.and(followed);
            self.hand_out()?;
            if let Err(why) = ended {
                self.changes.push(Change::Gone(id));
                self.control.close(id, &why, &mut self.poll, self.news);
            }
            self.carry_changes()?;
        }
        self.control.start_auxiliaries(&mut self.poll, self.news);
        self.settle()
    }

    /// Carries out the messages of one connection, one at least, as long as its answers are read, but
    /// not for longer than frames may wait.
    fn take_messages(&mut self, id: ConnectionId, until: Instant) -> Result<(), String> {
        let Some(place) = self.control.channels.iter().position(|channel| channel.id == id) else {
            return Ok(());
        };
        let mut message = std::mem::take(&mut self.message);
        let (mut is_followed, mut is_over) = (true, false);
        while is_followed
            && !is_over
            && self.core.switch.at_work().all(|other| other != id)
            && self.is_within_budget(place)
            && self.control.channels[place].next_message(&mut message)
        {
            if asks_for_ports(&message) {
                self.learn_losses();
            }
            let Forwarding { switch, pool, fx, .. } = &mut self.core;
            is_followed = switch.control_from(id, MonotonicClock::now(), &message, pool, fx);
            let own = fx.channels.iter_mut().filter(|(number, _)| *number == id.0);
            for (_, bytes) in own {
                self.control.channels[place].queue(bytes);
                bytes.clear();
            }
            is_over = MonotonicClock::now() >= until;
        }
        self.message = message;
        match is_followed {
            true => Ok(()),
            false => Err("what it sent is no OpenFlow 1.3".into()),
        }
    }

    fn carry_changes(&mut self) -> io::Result<()> {
        for change in std::mem::take(&mut self.changes) {
            match change {
                Change::Gone(id) => {
                    for other in self.core.switch.disconnected_from(id) {
                        let why = "its main connection is gone";
                        self.control.close(other, why, &mut self.poll, self.news);
                    }
                    self.core.fx.channels.retain(|(number, _)| *number != id.0);
                }
                Change::New(id, slice, purpose) => {
                    let Forwarding { switch, fx, .. } = &mut self.core;
                    let taken = match purpose {
                        Purpose::Controller => switch.connected_in(slice, id, None, fx),
                        Purpose::Auxiliary(main, number) => {
                            switch.connected_in(slice, id, Some((main, number)), fx)
                        }
                        Purpose::Service => switch.serve_in(slice, id, fx),
                    };
                    if taken.is_err() {
                        let why = "there is no room for it";
                        self.control.close(id, why, &mut self.poll, self.news);
                    }
                }
            }
        }
        Ok(())
    }
}
