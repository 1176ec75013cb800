//! What a controller sends and asks to watch links, queues and modes.

use super::Controller;
use crate::compile::ours;
use tenuto_openflow::constants::{NO_BUFFER, meter, port, queue};
use tenuto_openflow::{
    Action, Body, Experimenter, ModesMessage, MultipartRequest, PacketOut, QueuesMessage,
    RequestBody,
};

impl Controller {
    /// Has a switch send a frame through a port, in a queue of that port; whether it is connected.
    pub fn send_frame(&mut self, dpid: u64, (port, queue): (u32, u8), data: Vec<u8>) -> bool {
        let actions = vec![Action::SetQueue(u32::from(queue)), Action::Output { port, max_len: 0 }];
        let (buffer_id, in_port) = (NO_BUFFER, port::CONTROLLER);
        let packet_out = PacketOut { buffer_id, in_port, actions, data };
        self.send(dpid, Body::PacketOut(packet_out)).is_some()
    }

    /// Whether a switch is confirmed to have what it shall have.
    pub fn is_installed(&self, dpid: u64) -> bool {
        self.members.by_dpid.get(&dpid).is_some_and(|it| it.conn.is_some() && it.is_installed)
    }

    /// Asks every connected switch for the counters of its ports and meters; the answers are
    /// [`ControllerEvent::Statistics`](crate::ControllerEvent::Statistics).
    pub fn ask_counters(&mut self) {
        let dpids: Vec<u64> = self.members.by_dpid.keys().copied().collect();
        for dpid in dpids {
            let of_ports = RequestBody::PortStats { port_no: port::ANY };
            let of_meters = RequestBody::Meter { meter_id: meter::ALL };
            for body in [of_ports, of_meters] {
                self.send(dpid, Body::MultipartRequest(MultipartRequest { flags: 0, body }));
            }
        }
    }

    /// Asks a switch what it can hold: tables, meters, groups ([`ControllerEvent::Statistics`](crate::ControllerEvent::Statistics)), and the queues of its
    /// ports ([`ControllerEvent::Queues`](crate::ControllerEvent::Queues)). It may tell none of these.
    pub fn ask_limits(&mut self, dpid: u64) {
        let features = [
            RequestBody::MeterFeatures,
            RequestBody::GroupFeatures,
            RequestBody::TableFeatures(Vec::new()),
            RequestBody::PortDescription,
        ];
        for body in features {
            self.send(dpid, Body::MultipartRequest(MultipartRequest { flags: 0, body }));
        }
        self.ask_queues(dpid);
    }

    /// Asks connected switches what frames waited in their queues; the answers are [`ControllerEvent::Delays`](crate::ControllerEvent::Delays).
    pub fn ask_delays(&mut self) {
        let (port, queue) = (port::ANY, queue::ALL);
        let request = QueuesMessage::DetailRequest { port, queue };
        for channel in self.channels.values_mut() {
            if channel.switch.is_some() && !channel.tells_no_delays {
                channel.session.send(Body::Experimenter(Experimenter::Queues(request.clone())));
            }
        }
    }

    /// Asks every connected switch for its mode; the answers are [`ControllerEvent::Status`](crate::ControllerEvent::Status).
    pub fn ask_modes(&mut self) {
        if self.members.uses_modes() {
            let dpids: Vec<u64> = self.members.by_dpid.keys().copied().collect();
            for dpid in dpids {
                self.send(dpid, ours(ModesMessage::ModeStatusRequest));
            }
        }
    }

    /// Asks a switch for the queues of its ports: they are made beside OpenFlow, so they may come and go.
    pub fn ask_queues(&mut self, dpid: u64) {
        self.send(dpid, Body::QueueGetConfigRequest { port: port::ANY });
    }
}
