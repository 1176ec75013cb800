//! The OpenFlow channel, seen from the switch.
//!
//! Messages of a connection are handled in order, each to its end, on the thread of the data path: a
//! barrier reply therefore means *in effect*, not merely accepted. Whatever a message changes is put
//! into effect before the next frame is looked up, but for what touches so many entries that frames
//! get a turn in between ([`long_work`]).

mod actions;
mod attendre;
mod connecting;
pub(in crate::switch) mod connection;
mod features;
mod flow_mods;
mod group_stats;
mod long_work;
mod meter_stats;
mod modes;
mod objects;
mod packets;
mod ports;
mod queues;
mod read_back;
mod sweep;
mod table_features;
pub(in crate::switch) mod task;

use self::connection::ConnectionId;
use crate::switch::{Switch, SwitchEvent};
use crate::{Effects, Frames};
use tenuto_openflow::constants::config_flag;
use tenuto_openflow::{
    AttendreMessage, BadRequest, Body, EXPERIMENTER_ID, ErrorCode, ErrorMessage, Experimenter,
    Features, Framer, Hello, HelloFailed, Message, ModesMessage, QueuesMessage, Role,
    SlicesMessage, SwitchConfigFailed, SwitchConfigMsg,
};
use tenuto_units::Instant;

type Done = Result<(), ErrorCode>;

/// Where a request came from, and how it is answered.
#[derive(Clone, Copy, Debug)]
struct Request {
    now: Instant,
    connection: ConnectionId,
    xid: u32,
}

impl Switch {
    /// Bytes from the controller. Returns false if the stream cannot be followed any more and
    /// the session must be closed; nothing of what could not be read has changed anything.
    pub fn control(
        &mut self,
        now: Instant,
        bytes: &[u8],
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        self.control_from(ConnectionId::FIRST, now, bytes, frames, fx)
    }

    /// The same of any of several connections.
    pub fn control_from(
        &mut self,
        id: ConnectionId,
        now: Instant,
        bytes: &[u8],
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let Some(connection) = self.connection(id) else { return false };
        let mut framer = std::mem::take(&mut connection.framer);
        let mut alive = true;
        // However much was read at once: a segment always fits when all before it was taken out.
        for segment in bytes.chunks(Framer::PUSH_BYTES_MAX) {
            alive = alive && framer.push(segment).is_ok();
            while alive && let Some(next) = framer.next() {
                match next {
                    Ok(message) => alive = self.message(now, id, &message, frames, fx),
                    Err(error) => {
                        alive = !error.is_fatal();
                        if self.charges_malformed(now)
                            && let Some(Message { xid, body }) = error.answer()
                        {
                            self.emit(id, xid, body, fx);
                        }
                    }
                }
            }
        }
        match (alive, self.connection(id)) {
            (true, Some(connection)) => connection.framer = framer,
            (true, None) => {}
            (false, _) => self.connections.retain(|connection| connection.id != id),
        }
        alive
    }

    /// Returns whether the session goes on.
    fn message(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        message: &Message,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        self.finish_work(connection, now, frames, fx);
        let request = Request { now, connection, xid: message.xid };
        let within = self.judge_slice(now, &message.body);
        let done = within.and_then(|()| match self.is_denied(connection, &message.body) {
            true => Err(BadRequest::IsSlave.into()),
            false => self.handle(request, &message.body, frames, fx),
        });
        if let Err(code) = done {
            self.answer_error(request, code, message, fx);
        }
        done != Err(HelloFailed::Incompatible.into())
    }

    fn answer_error(
        &self,
        request: Request,
        code: ErrorCode,
        message: &Message,
        fx: &mut Effects<SwitchEvent>,
    ) {
        let mut head = message.to_bytes();
        head.truncate(64);
        self.answer(request, Body::Error(ErrorMessage::new(code, &head)), fx);
    }

    fn answer(&self, request: Request, body: Body, fx: &mut Effects<SwitchEvent>) {
        self.emit(request.connection, request.xid, body, fx);
    }

    /// Whether this is a change of state from a slave (OpenFlow 1.3.5, section 6.3.4).
    fn is_denied(&mut self, connection: ConnectionId, body: &Body) -> bool {
        use tenuto_openflow::RequestBody as R;
        let is_slave = self.connection(connection).is_some_and(|connection| connection.is_slave());
        is_slave
            && match body {
                Body::PacketOut(_) | Body::FlowMod(_) | Body::GroupMod(_) | Body::PortMod(_) => {
                    true
                }
                Body::TableMod(_) | Body::MeterMod(_) => true,
                Body::MultipartRequest(request) => {
                    matches!(&request.body, R::TableFeatures(list) if !list.is_empty())
                }
                Body::Experimenter(Experimenter::Modes(message)) => !matches!(
                    message,
                    ModesMessage::ModeStatusRequest
                        | ModesMessage::MonitorStatsRequest
                        | ModesMessage::ShadowStatsRequest { .. }
                ),
                Body::Experimenter(Experimenter::Queues(message)) => {
                    !matches!(message, QueuesMessage::DetailRequest { .. })
                }
                Body::Experimenter(Experimenter::Attendre(message)) => {
                    !matches!(message, AttendreMessage::BuffersRequest)
                }
                _ => false,
            }
    }

    fn handle(
        &mut self,
        request: Request,
        body: &Body,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let now = request.now;
        let says_what_it_hears =
            matches!(body, Body::SetConfig(_) | Body::SetAsync(_) | Body::RoleRequest(_));
        if says_what_it_hears && let Some(connection) = self.connection(request.connection) {
            connection.listens = true;
        }
        match body {
            Body::Hello(hello) if Hello::default().negotiate(hello).is_none() => {
                return Err(HelloFailed::Incompatible.into());
            }
            Body::Hello(_) | Body::Error(_) | Body::EchoReply(_) => {}
            Body::EchoRequest(data) => self.answer(request, Body::EchoReply(data.clone()), fx),
            Body::FeaturesRequest => {
                let features = self.features(request.connection);
                self.answer(request, Body::FeaturesReply(features), fx);
            }
            Body::SetConfig(config) => self.set_config(*config)?,
            Body::GetConfigRequest => {
                self.answer(request, Body::GetConfigReply(self.get_config()), fx);
            }
            Body::BarrierRequest => self.answer(request, Body::BarrierReply, fx),
            Body::RoleRequest(role) => {
                let role = self.role(request.connection, role)?;
                self.answer(request, Body::RoleReply(role), fx);
            }
            Body::FlowMod(flow_mod) => {
                self.check_waiting(flow_mod)?;
                if self.puts_off(request, 0, flow_mod)? {
                    return Ok(());
                }
                self.flow_mod(now, None, flow_mod, None, fx)?;
                self.release_waiting(now, flow_mod, false, frames, fx)?;
            }
            Body::GroupMod(group_mod) => self.group_mod(request, group_mod, fx)?,
            Body::MeterMod(meter_mod) => self.meter_mod(request, meter_mod, fx)?,
            Body::MultipartRequest(multipart) => self.multipart(request, multipart, fx)?,
            Body::Experimenter(Experimenter::Modes(modes)) => {
                self.modes(request, modes, frames, fx)?;
            }
            Body::Experimenter(Experimenter::Attendre(message)) => {
                self.attendre_message(request, message, frames, fx)?;
            }
            Body::Experimenter(Experimenter::Queues(message)) => {
                self.queues(request, message, fx)?;
            }
            Body::Experimenter(Experimenter::Slices(SlicesMessage::Request)) => {
                self.tell_slices(request, fx);
            }
            Body::Experimenter(Experimenter::Slices(SlicesMessage::Reply { .. })) => {
                return Err(BadRequest::BadType.into());
            }
            Body::Experimenter(Experimenter::Unknown { experimenter: EXPERIMENTER_ID, .. }) => {
                return Err(BadRequest::BadExpType.into());
            }
            Body::Experimenter(Experimenter::Unknown { .. }) => {
                return Err(BadRequest::BadExperimenter.into());
            }
            _ if self.policy.is_general() => self.handle_general(request, body, frames, fx)?,
            _ => return Err(BadRequest::BadType.into()),
        }
        Ok(())
    }

    /// Tells the operator of the slices; in a slice there is none to tell of.
    fn tell_slices(&self, request: Request, fx: &mut Effects<SwitchEvent>) {
        let slices = self.general.as_ref().map_or_else(Vec::new, |it| it.slices.clone());
        for reply in SlicesMessage::replies(slices) {
            self.answer(request, Body::Experimenter(Experimenter::Slices(reply)), fx);
        }
    }

    /// What only a general switch answers.
    fn handle_general(
        &mut self,
        request: Request,
        body: &Body,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        match body {
            Body::PacketOut(packet_out) => {
                self.packet_out(request.now, packet_out, false, frames, fx)?;
            }
            Body::PortMod(port_mod) => self.port_mod(port_mod, fx)?,
            Body::TableMod(table_mod) => self.table_mod(*table_mod)?,
            Body::QueueGetConfigRequest { port } => {
                let config = self.queue_config(*port)?;
                self.answer(request, Body::QueueGetConfigReply(config), fx);
            }
            Body::GetAsyncRequest => {
                let wants = self.connection(request.connection).map(|c| c.wants);
                self.answer(request, Body::GetAsyncReply(wants.unwrap_or_default()), fx);
            }
            Body::SetAsync(wants) => {
                if let Some(connection) = self.connection(request.connection) {
                    connection.wants = *wants;
                }
            }
            _ => return Err(BadRequest::BadType.into()),
        }
        Ok(())
    }

    fn role(&mut self, connection: ConnectionId, role: &Role) -> Result<Role, ErrorCode> {
        match self.policy.has_roles() {
            true => Ok(self.role_request(connection, role)?),
            false => Ok(*role),
        }
    }

    fn set_config(&mut self, config: SwitchConfigMsg) -> Done {
        let Some(general) = &mut self.general else { return Ok(()) };
        if config.flags & !config_flag::FRAG_DROP != 0 {
            return Err(SwitchConfigFailed::BadFlags.into());
        }
        (general.flags, general.miss_send_len) = (config.flags, config.miss_send_len);
        Ok(())
    }

    fn get_config(&self) -> SwitchConfigMsg {
        let general = self.general.as_ref();
        let (flags, miss_send_len) = general.map_or((0, 0), |g| (g.flags, g.miss_send_len));
        SwitchConfigMsg { flags, miss_send_len }
    }

    fn features(&mut self, connection: ConnectionId) -> Features {
        let auxiliary = self.connection(connection).and_then(|c| c.auxiliary);
        Features {
            datapath_id: self.config.datapath_id,
            n_buffers: self.policy.buffers_max.into(),
            n_tables: self.config.tables,
            auxiliary_id: auxiliary.map_or(0, |(_, number)| number),
            capabilities: self.policy.capabilities,
        }
    }
}
