//! Connections come and go, and each is told what it wants to hear.

use super::connection::{Asynchronous, Connection, ConnectionId, ConnectionRefused};
use crate::Effects;
use crate::switch::{FailMode, Switch, SwitchEvent};
use tenuto_openflow::{Body, ControllerRole, Hello, Message, Role, RoleRequestFailed};

impl Switch {
    /// A controller has connected: says hello.
    pub fn connected(&mut self, fx: &mut Effects<SwitchEvent>) {
        self.connections.retain(|c| c.id != ConnectionId::FIRST);
        self.connections.insert(0, Connection::new(ConnectionId::FIRST, None));
        self.emit(ConnectionId::FIRST, 0, Body::Hello(Hello::default()), fx);
    }

    /// The session is lost. Fail-secure: every entry stays, the unknown is dropped as before.
    /// A switch that fails standalone becomes a bridge when the last session is lost.
    pub fn disconnected(&mut self) {
        self.disconnected_from(ConnectionId::FIRST);
    }

    /// Another controller has connected; or with `auxiliary`, a further connection of one that is
    /// there. Says hello.
    ///
    /// # Errors
    /// If there are as many connections as there may be, the number is taken, or the main
    /// connection is not there.
    pub fn connected_to(
        &mut self,
        id: ConnectionId,
        auxiliary: Option<(ConnectionId, u8)>,
        fx: &mut Effects<SwitchEvent>,
    ) -> Result<(), ConnectionRefused> {
        let is_full = self.connections.len() >= usize::from(self.policy.connections_max);
        let has = |id| self.connections.iter().any(|c| c.id == id && c.auxiliary.is_none());
        let has_main = auxiliary.is_none_or(|(main, number)| has(main) && number > 0);
        if is_full || !has_main || self.connections.iter().any(|c| c.id == id) {
            return Err(ConnectionRefused);
        }
        self.connections.push(Connection::new(id, auxiliary));
        self.connections.sort_by_key(|c| c.id);
        self.emit(id, 0, Body::Hello(Hello::default()), fx);
        Ok(())
    }

    /// A tool has connected, or a controller that the switch was not told of. Says hello. It may do
    /// what a controller may, but is none whose loss counts (see [`FailMode`]), and hears
    /// asynchronous messages once it has sent a set-config, a set-async or a role request.
    ///
    /// # Errors
    /// As [`Switch::connected_to`].
    pub fn serve(
        &mut self,
        id: ConnectionId,
        fx: &mut Effects<SwitchEvent>,
    ) -> Result<(), ConnectionRefused> {
        self.connected_to(id, None, fx)?;
        if let Some(connection) = self.connection(id) {
            (connection.is_service, connection.listens) = (true, false);
        }
        Ok(())
    }

    /// A connection is lost, and with a main one its auxiliary ones: those are to be closed, and
    /// are given back (section 6.3.5).
    pub fn disconnected_from(&mut self, id: ConnectionId) -> Vec<ConnectionId> {
        let goes = |c: &Connection| c.id == id || c.auxiliary.is_some_and(|(main, _)| main == id);
        let gone = self.connections.iter().filter(|c| goes(c)).map(|c| c.id);
        let gone = gone.filter(|other| *other != id).collect();
        self.connections.retain(|c| !goes(c));
        self.forget_readers();
        gone
    }

    /// The connections there are, with their roles.
    pub fn connections(&self) -> impl Iterator<Item = (ConnectionId, ControllerRole)> {
        self.connections.iter().map(|c| (c.id, c.role))
    }

    /// Whether it forwards as a bridge for want of a controller, whatever the role of those that
    /// are connected.
    pub fn is_standalone(&self) -> bool {
        self.policy.fail_mode == FailMode::Standalone
            && self.connections.iter().all(|c| c.is_service)
    }

    pub(in crate::switch) fn connection(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.iter_mut().find(|c| c.id == id)
    }

    /// Sends a message over one connection.
    pub(in crate::switch) fn emit(
        &self,
        id: ConnectionId,
        xid: u32,
        body: Body,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let message = Message { xid, body };
        if id == ConnectionId::FIRST {
            return message.emit(&mut fx.control);
        }
        match fx.channels.iter_mut().find(|(number, _)| *number == id.0) {
            Some((_, bytes)) => message.emit(bytes),
            None => fx.channels.push((id.0, message.to_bytes())),
        }
    }

    /// Sends an asynchronous message to every controller that wants it.
    pub(in crate::switch) fn notify(
        &self,
        kind: Asynchronous,
        reason: u8,
        body: &Body,
        fx: &mut Effects<SwitchEvent>,
    ) {
        for connection in self.connections.iter().filter(|c| c.wants(kind, reason)) {
            self.emit(connection.id, 0, body.clone(), fx);
        }
    }

    /// The connections that want such a message.
    pub(in crate::switch) fn hearers(&self, kind: Asynchronous, reason: u8) -> Vec<ConnectionId> {
        let hearers = self.connections.iter().filter(|c| c.wants(kind, reason));
        hearers.map(|connection| connection.id).collect()
    }

    /// Whether any controller wants such a message: it is not made otherwise.
    pub(in crate::switch) fn is_wanted(&self, kind: Asynchronous, reason: u8) -> bool {
        self.connections.iter().any(|c| c.wants(kind, reason))
    }

    /// Changes the role of a controller (section 6.3.4). A new master makes the one before a slave.
    pub(in crate::switch) fn role_request(
        &mut self,
        id: ConnectionId,
        wanted: &Role,
    ) -> Result<Role, RoleRequestFailed> {
        let changes = matches!(wanted.role, ControllerRole::Master | ControllerRole::Slave);
        if changes {
            let older = |known: u64| wanted.generation_id.wrapping_sub(known).cast_signed() < 0;
            if self.generation.is_some_and(older) {
                return Err(RoleRequestFailed::Stale);
            }
            self.generation = Some(wanted.generation_id);
        }
        // A role is a controller's, so its auxiliary connections have it too.
        let main = self.connection(id).and_then(|c| c.auxiliary).map_or(id, |(main, _)| main);
        let is_of = |c: &Connection, main| {
            c.id == main || c.auxiliary.is_some_and(|(other, _)| other == main)
        };
        for connection in &mut self.connections {
            if is_of(connection, main) {
                if wanted.role != ControllerRole::NoChange {
                    connection.role = wanted.role;
                }
            } else if wanted.role == ControllerRole::Master
                && connection.role == ControllerRole::Master
            {
                connection.role = ControllerRole::Slave;
            }
        }
        let role = self.connection(main).map_or(ControllerRole::Equal, |c| c.role);
        // All ones: no generation is known yet.
        Ok(Role { role, generation_id: self.generation.unwrap_or(u64::MAX) })
    }
}
