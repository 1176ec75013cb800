//! What hosts do.

use super::application::Application;
use super::host::Connection;
use super::memory::Event;
use super::packet::{Ip, Mac, Name, Packet, PacketId, Payload};
use super::setup::Role;
use super::step::Step;
use super::transition::Enabled;

impl<A: Application> Step<'_, A> {
    /// A host's transition; whether it is no longer enabled.
    pub(super) fn host(&mut self, host: usize, enabled: Enabled) -> bool {
        match enabled {
            Enabled::SendPacket(number) => self.send_ping(host, number),
            Enabled::SendReply(_, to) => self.send_from(host, Name::Reply, to, Payload::Empty),
            Enabled::Move => self.move_host(host),
            Enabled::StartConnection(number) => self.start_connection(host, number),
            _ => return self.receive(host),
        }
        true
    }

    fn send_from(&mut self, host: usize, name: Name, destination: Mac, payload: Payload) {
        let state = self.host_mut(host);
        let id = PacketId { node: u8::try_from(host).unwrap_or(u8::MAX), count: state.made };
        state.made = state.made.saturating_add(1);
        let source = self.setup.hosts[host].mac;
        let packet =
            Packet { name, source, destination, payload, is_settled: false, id, command: None };
        let packet = self.tell_sent(packet);
        self.put(self.host_peer(host), packet);
    }

    fn send_ping(&mut self, host: usize, number: u8) {
        let Role::Sender { to, packets, is_sequential } = self.setup.hosts[host].role else {
            return;
        };
        self.send_from(host, Name::Ping(number), to, Payload::Empty);
        if !is_sequential && number < packets {
            self.host_mut(host).enabled.push(Enabled::SendPacket(number + 1));
        }
    }

    fn move_host(&mut self, host: usize) {
        self.move_to_spare();
        self.tell(&Event::Moved);
        self.send_from(host, Name::Announcement, Mac::BROADCAST, Payload::Empty);
    }

    fn receive(&mut self, host: usize) -> bool {
        let Some(packet) = self.host_mut(host).queue.pop() else { return true };
        let setup = self.setup;
        let at = &setup.hosts[host];
        self.tell(&Event::Received { mac: at.mac, packet: &packet });
        match &at.role {
            Role::Sender { packets, is_sequential, .. } => {
                self.received(host);
                let state = self.host_mut(host);
                if *is_sequential && state.next < *packets {
                    state.next += 1;
                    let next = state.next;
                    state.enabled.push(Enabled::SendPacket(next));
                }
            }
            Role::Replier { .. } => self.answer(host, &packet),
            Role::Client { .. } => {
                self.received(host);
                self.client(host, &packet);
            }
            Role::Server { has_statistics } => {
                self.received(host);
                self.server(host, &packet);
                if *has_statistics {
                    self.request_statistics(0);
                }
            }
        }
        self.host_mut(host).queue.is_empty()
    }

    fn received(&mut self, host: usize) {
        let state = self.host_mut(host);
        state.received = state.received.saturating_add(1);
    }

    fn answer(&mut self, host: usize, packet: &Packet) {
        if packet.destination != self.setup.hosts[host].mac {
            return;
        }
        let state = self.host_mut(host);
        state.enabled.push(Enabled::SendReply(state.next, packet.source));
        state.next = state.next.saturating_add(1);
        if state.may_move {
            state.may_move = false;
            state.enabled.push(Enabled::Move);
        }
    }

    fn start_connection(&mut self, host: usize, number: u8) {
        let setup = self.setup;
        let Role::Client { servers, connections } = &setup.hosts[host].role else { return };
        let state = self.host_mut(host);
        if usize::from(number) == state.connections.len() {
            state.connections.push(Connection::Closed);
        }
        let server = servers[usize::from(state.target)];
        let Some(mac) = state.mac_of(server) else {
            if state.connections[usize::from(number)] == Connection::Closed {
                state.connections[usize::from(number)] = Connection::AwaitsAddress;
            }
            let sender = setup.hosts[host].ip;
            let payload = Payload::Arp { is_reply: false, sender, target: server };
            return self.send_from(host, Name::ArpQuery(server), Mac::BROADCAST, payload);
        };
        state.connections[usize::from(number)] = Connection::SynSent;
        if state.started < *connections {
            let next = state.started;
            state.started += 1;
            state.target = (state.target + 1) % u8::try_from(servers.len()).unwrap_or(u8::MAX);
            state.enabled.push(Enabled::StartConnection(next));
        }
        self.tell(&Event::ConnectionStarted { connection: number, source: setup.hosts[host].mac });
        self.send_tcp(host, Name::TcpSyn, mac, server, number);
    }

    fn send_tcp(&mut self, host: usize, name: Name, to: Mac, destination: Ip, connection: u8) {
        let source = self.setup.hosts[host].ip;
        self.send_from(host, name, to, Payload::Tcp { source, destination, connection });
    }

    /// Whether a packet is for a host at all.
    fn is_for(&self, host: usize, packet: &Packet) -> bool {
        packet.destination == Mac::BROADCAST || packet.destination == self.setup.hosts[host].mac
    }

    fn arp(&mut self, host: usize, packet: &Packet) {
        let Payload::Arp { is_reply, sender, target } = packet.payload else { return };
        let my_ip = self.setup.hosts[host].ip;
        self.host_mut(host).learn(packet.source, sender, target == my_ip);
        if target == my_ip && !is_reply {
            let payload = Payload::Arp { is_reply: true, sender: my_ip, target: sender };
            self.send_from(host, Name::ArpReply, packet.source, payload);
        }
    }

    fn client(&mut self, host: usize, packet: &Packet) {
        if !self.is_for(host, packet) {
            return;
        }
        self.arp(host, packet);
        if matches!(packet.payload, Payload::Arp { is_reply: true, .. }) {
            self.go_on_connecting(host);
        }
        let Payload::Tcp { source, destination, connection } = packet.payload else { return };
        let at = usize::from(connection);
        let is_awaited = self.host_mut(host).connections.get(at) == Some(&Connection::SynSent);
        let is_mine = destination == self.setup.hosts[host].ip;
        if is_mine && is_awaited && packet.name == Name::TcpSynAck {
            self.host_mut(host).connections[at] = Connection::Open;
            self.send_tcp(host, Name::TcpAck, packet.source, source, connection);
        }
    }

    fn go_on_connecting(&mut self, host: usize) {
        let state = self.host_mut(host);
        for (number, connection) in (0..).zip(&state.connections) {
            let start = Enabled::StartConnection(number);
            if *connection == Connection::AwaitsAddress && !state.enabled.contains(&start) {
                state.enabled.push(start);
            }
        }
    }

    fn server(&mut self, host: usize, packet: &Packet) {
        if !self.is_for(host, packet) {
            return;
        }
        self.arp(host, packet);
        let Payload::Tcp { source, destination, connection } = packet.payload else { return };
        let at = &self.setup.hosts[host];
        if destination != at.ip {
            return;
        }
        let mac = at.mac;
        if packet.name == Name::TcpAck {
            self.tell(&Event::AckReceived { connection, mac, packet });
        } else {
            self.tell(&Event::SynReceived { connection, packet });
            self.send_tcp(host, Name::TcpSynAck, packet.source, source, connection);
        }
    }
}
