//! Ports as OpenFlow sees them: what they are, and what changes (OpenFlow 1.3.5, sections 7.2.1 and
//! 7.4.3).

use super::DeviceLosses;
use super::features::PortFeatures;
use crate::switch::control::connection::Asynchronous;
use crate::switch::path_cache::invalidation::Change;
use crate::switch::{Switch, SwitchEvent};
use crate::{Effects, FRAME_CAPACITY, UNPACED_BPS};
use tenuto_openflow::constants::port_state;
use tenuto_openflow::{Body, FixedText, Port, PortReason, PortStatus};
use tenuto_units::Instant;

impl Switch {
    /// From now on tells of a port of a general switch that its link is able to do so much; of a port that
    /// is paced, its pace is told all the same.
    pub fn set_features(&mut self, number: u32, features: PortFeatures) {
        if let Some(general) = &mut self.general {
            general.features.insert(number, features);
        }
    }

    /// The link of a port came up or went down. Frames for a port without link are dropped, and
    /// what watches it goes elsewhere; the controllers are told.
    pub fn set_link(&mut self, number: u32, is_up: bool, fx: &mut Effects<SwitchEvent>) {
        let Some(&place) = self.port_index.get(&number) else { return };
        if self.ports[place].is_up != is_up {
            self.ports[place].is_up = is_up;
            self.forget_choices();
            self.tell_port(place, fx);
        }
    }

    /// Whether the link of a port is up; `None` if there is no such port.
    pub fn is_link_up(&self, number: u32) -> Option<bool> {
        self.port_index.get(&number).map(|&place| self.ports[place].is_up)
    }

    /// Frames that were handed over to leave by a port, and that its device did not take.
    pub fn not_taken(&mut self, number: u32, frames: u64) {
        if let Some(&place) = self.port_index.get(&number) {
            self.ports[place].counters.not_taken += frames;
        }
    }

    /// What the device of a port has lost so far.
    pub fn set_device_losses(&mut self, number: u32, losses: DeviceLosses) {
        if let Some(&place) = self.port_index.get(&number) {
            self.ports[place].counters.device = losses;
        }
    }

    /// A frame of so many bytes, without FCS, has come in at a port and does not get into the store: it is
    /// full, or the frame is too long for it.
    #[cold]
    pub fn not_stored(&mut self, number: u32, bytes: usize) {
        let Some(&place) = self.port_index.get(&number) else { return };
        let counters = &mut self.ports[place].counters;
        match bytes > FRAME_CAPACITY {
            true => counters.too_long += 1,
            false => counters.not_stored += 1,
        }
    }

    /// The device of a port takes so many more frames (`None`: however many there are); what it has no
    /// room for waits in the queues of the port ([`crate::Egress::set_room`]).
    pub fn set_room(&mut self, now: Instant, number: u32, frames: Option<u32>) {
        if let Some(&place) = self.port_index.get(&number) {
            self.ports[place].egress.set_room(now, frames);
        }
    }

    /// Frames that the device of a port still takes, if it says ([`crate::Egress::room`]).
    pub fn room(&self, number: u32) -> Option<u32> {
        self.port_index.get(&number).and_then(|&place| self.ports[place].egress.room())
    }

    /// What is live has changed: groups that choose by it may choose otherwise.
    pub(in crate::switch) fn forget_choices(&mut self) {
        if !self.groups.is_empty() {
            self.tables.invalidate_paths(Change::Any);
        }
    }

    /// Says that some attribute of a port has changed.
    pub(in crate::switch) fn tell_port(&self, place: usize, fx: &mut Effects<SwitchEvent>) {
        let (reason, port) = (PortReason::Modify, self.described_port(place));
        let body = Body::PortStatus(PortStatus { reason, port });
        self.notify(Asynchronous::PortStatus, reason.to_wire(), &body, fx);
    }

    /// The hardware address of a port: that of the switch; of a general switch, another for each port,
    /// and for each of the switches that a controller numbers one by one.
    pub(in crate::switch) fn port_address(&self, place: usize) -> [u8; 6] {
        if !self.policy.has_port_addresses() {
            return self.config.mac().0;
        }
        let id = self.config.datapath_id;
        let [.., a, b, c] = (id ^ id >> 24 ^ id >> 48).to_be_bytes();
        let [.., high, low] = self.ports[place].number.to_be_bytes();
        [0x06, a, b, c, high, low]
    }

    pub(in crate::switch) fn described_port(&self, place: usize) -> Port {
        let state = &self.ports[place];
        let told = self.general.as_ref().and_then(|it| it.features.get(&state.number)).copied();
        let mut told = told.unwrap_or_default();
        // A port that is not paced has the rate of its link.
        if let bps @ ..UNPACED_BPS = state.egress.config().rate.as_bps() {
            let kbps = u32::try_from(bps / 1_000).unwrap_or(u32::MAX);
            told = PortFeatures {
                curr_speed_kbps: kbps,
                max_speed_kbps: kbps,
                ..PortFeatures::default()
            };
        }
        let names = self.config.general.as_ref().map(|general| &general.port_names);
        let name = names.and_then(|names| names.get(&state.number));
        let live = if state.is_live() { port_state::LIVE } else { 0 };
        let down = if state.is_up { 0 } else { port_state::LINK_DOWN };
        Port {
            port_no: state.number,
            hw_addr: self.port_address(place),
            name: match name {
                Some(name) => FixedText::new(name),
                None => FixedText::new(&format!("p{}", state.number)),
            },
            config: state.config,
            state: live | down,
            curr: told.curr,
            advertised: told.advertised,
            supported: told.supported,
            peer: told.peer,
            curr_speed: told.curr_speed_kbps,
            max_speed: told.max_speed_kbps,
        }
    }
}
