//! What becomes of ports: links that come and go, interfaces that are lost and opened again, losses of
//! devices, captures that end.

use super::super::news::SwitchNews;
use super::super::reopening::{self, Attempt};
use super::DataPath;
use std::io;
use tenuto_dataplane::switch::Datapath;
use tenuto_io::{LinkState, MonotonicClock, OpenedPort};
use tenuto_units::Span;

/// Captures that have ended, and what devices of other threads have lost, are looked for so often.
const LOOK_AT_PORTS: Span = Span::from_s(1);
/// What devices have lost is asked for no more often, however often a controller asks.
const LOSSES_KEPT: Span = Span::from_ms(1);

impl<D: Datapath> DataPath<'_, D> {
    /// Asks every port for its link.
    pub(super) fn look_at_links(&mut self) {
        (0..self.ports.len()).for_each(|place| self.look_at_link(place));
    }

    pub(super) fn look_at_link(&mut self, place: usize) {
        let port = &mut self.ports[place];
        match port.link() {
            None => {}
            Some(Ok(LinkState::Gone)) => {
                self.lose_port(place, "its interface was removed".into());
            }
            Some(Ok(state)) => {
                if let Some(text) = port.mtu_warning() {
                    (self.news)(SwitchNews::Warning(text));
                }
                let (number, is_up) = (port.number, state == LinkState::Up);
                let interface = port.interface.clone();
                if self.core.switch.is_link_up(number) != Some(is_up) {
                    self.learn_features(place);
                    self.core.switch.set_link(number, is_up, &mut self.core.fx);
                    (self.news)(SwitchNews::Link { interface, is_up });
                }
            }
            Some(Err(error)) => self.lose_port(place, error.to_string()),
        }
    }

    pub(super) fn lose_port(&mut self, place: usize, why: String) {
        let port = &mut self.ports[place];
        if port.key.is_none() {
            return;
        }
        port.lose(&mut self.poll);
        let (number, interface) = (port.number, port.interface.clone());
        // What waits there has nothing to wait for.
        self.core.switch.set_room(MonotonicClock::now(), number, None);
        self.core.switch.set_link(number, false, &mut self.core.fx);
        (self.news)(SwitchNews::PortLost { interface, why });
        // Of another one of its name that is there already nothing more is told.
        if self.ports[place].is_interface_gone() {
            self.reopen(place);
        }
    }

    /// Looks for the interfaces of ports that have lost theirs.
    pub(super) fn reopen_lost(&mut self) {
        (0..self.ports.len()).for_each(|place| self.reopen(place));
    }

    fn reopen(&mut self, place: usize) {
        let port = &self.ports[place];
        let Some(kind) = port.lost_kind() else { return };
        let interface = port.interface.clone();
        let attempt = move || reopening::attempt(&interface, kind);
        if let Err(error) = self.reopening.begin(place, attempt) {
            (self.news)(SwitchNews::Warning(format!("{}: {error}", port.interface)));
        }
    }

    /// Puts ports back into service whose interfaces were opened.
    pub(super) fn take_reopened(&mut self) -> io::Result<()> {
        if !self.poll.readiness(self.reopening.key).readable {
            return Ok(());
        }
        for (place, attempt, once_more) in self.reopening.take() {
            match attempt {
                Attempt::Opened(opened) => self.put_back(place, opened),
                Attempt::Refused(why) => {
                    let interface = self.ports[place].interface.clone();
                    (self.news)(SwitchNews::PortNotBack { interface, why });
                }
                Attempt::Absent if once_more => self.reopen(place),
                // The kernel tells when it comes.
                Attempt::Absent => {}
            }
        }
        self.settle()
    }

    fn put_back(&mut self, place: usize, opened: OpenedPort) {
        let port = &mut self.ports[place];
        let interface = port.interface.clone();
        let is_zero_copy = opened.port.capabilities().zero_copy;
        if let Err(error) = port.put_back(opened.port, &mut self.poll) {
            return (self.news)(SwitchNews::Warning(format!("{interface}: {error}")));
        }
        if is_zero_copy {
            (self.news)(SwitchNews::ZeroCopy(interface.clone()));
        }
        (self.news)(SwitchNews::PortBack(interface));
        opened.notes.into_iter().for_each(|note| (self.news)(SwitchNews::Warning(note)));
        self.learn_features(place);
        self.look_at_link(place);
    }

    /// Has the core tell what a port's link is able to do.
    pub(super) fn learn_features(&mut self, place: usize) {
        let port = &self.ports[place];
        self.core.switch.set_features(port.number, port.features());
    }

    /// Has the core count what the devices have lost.
    pub(super) fn learn_losses(&mut self) {
        let now = MonotonicClock::now();
        if self.losses_at.is_some_and(|at| now.since(at) < LOSSES_KEPT) {
            return;
        }
        self.losses_at = Some(now);
        for port in &mut self.ports {
            self.core.switch.set_device_losses(port.number, port.losses());
        }
    }

    pub(super) fn look_at_ports(&mut self) {
        let now = MonotonicClock::now();
        if self.ports_at.is_none_or(|at| now < at) {
            return;
        }
        self.ports_at = Some(now + LOOK_AT_PORTS);
        self.learn_losses();
        self.tell_refusals();
        for port in &mut self.ports {
            if let Some(why) = port.tap_end() {
                (self.news)(SwitchNews::TapEnded { interface: port.interface.clone(), why });
            }
        }
    }

    /// Tells what slices were refused since it was last told.
    fn tell_refusals(&mut self) {
        let Self { core, refused, news, .. } = self;
        core.switch.for_each_slice(&mut |name, all, counted| {
            let limited = all.limited + all.packet_ins_limited;
            let now = [all.refused, limited, counted.escaped];
            let told = refused.entry(name.to_owned()).or_default();
            if now != *told {
                let [messages, limited, frames] = [0, 1, 2].map(|place| now[place] - told[place]);
                *told = now;
                let name = name.to_owned();
                news(SwitchNews::SliceRefused { name, messages, limited, frames });
            }
        });
    }
}
