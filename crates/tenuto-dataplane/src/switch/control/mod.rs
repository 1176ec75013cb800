//! The OpenFlow channel, seen from the switch.
//!
//! Messages are handled in order, each to its end, on the thread of the data path: a barrier reply
//! therefore means *in effect*, not merely accepted. Whatever a message changes is put into effect
//! (indices rebuilt) before the next frame is looked up.

mod flow_mods;
mod modes;
mod objects;
mod read_back;

pub(super) use objects::GroupState;

use super::{Switch, SwitchEvent};
use crate::{Effects, Frames};
use tenuto_openflow::constants;
use tenuto_openflow::{
    BadRequest, Body, EXPERIMENTER_ID, ErrorCode, ErrorMessage, Experimenter, Features, Framer,
    Hello, HelloFailed, Message,
};
use tenuto_units::Instant;

type Done = Result<(), ErrorCode>;

/// Actions of one list, and over all buckets of one group; and buckets. With these limits whatever
/// is accepted can be read back in one message.
const ACTIONS_MAX: usize = 1_000;

impl Switch {
    /// A controller has connected: says hello.
    pub fn connected(&mut self, fx: &mut Effects<SwitchEvent>) {
        self.channel = Some(Framer::default());
        Message { xid: 0, body: Body::Hello(Hello::default()) }.emit(&mut fx.control);
    }

    /// The session is lost. Fail-secure: every entry stays, the unknown is dropped as before.
    pub fn disconnected(&mut self) {
        self.channel = None;
    }

    /// Bytes from the controller. Returns false if the stream cannot be followed any more and
    /// the session must be closed; nothing of what could not be read has changed anything.
    pub fn control(
        &mut self,
        now: Instant,
        bytes: &[u8],
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let Some(mut framer) = self.channel.take() else { return false };
        let mut alive = true;
        // However much was read at once: a segment always fits when all before it was taken out.
        for segment in bytes.chunks(Framer::PUSH_BYTES_MAX) {
            alive = alive && framer.push(segment).is_ok();
            while alive && let Some(next) = framer.next() {
                match next {
                    Ok(message) => alive = self.message(now, message, frames, fx),
                    Err(error) => {
                        alive = !error.is_fatal();
                        if let Some(answer) = error.answer() {
                            answer.emit(&mut fx.control);
                        }
                    }
                }
            }
        }
        self.settle();
        if alive {
            self.channel = Some(framer);
        }
        alive
    }

    fn settle(&mut self) {
        let groups = self.groups.clone();
        self.tables.settle(|id| groups.get(&id).and_then(GroupState::queue));
    }

    /// Returns whether the session goes on.
    fn message(
        &mut self,
        now: Instant,
        message: Message,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> bool {
        let xid = message.xid;
        // Mode events of this very message must find the channel open.
        self.channel = Some(Framer::default());
        let done = self.handle(now, xid, &message.body, frames, fx);
        self.channel = None;
        if let Err(code) = done {
            let mut head = message.to_bytes();
            head.truncate(64);
            let body = Body::Error(ErrorMessage::new(code, &head));
            Message { xid, body }.emit(&mut fx.control);
        }
        done != Err(HelloFailed::Incompatible.into())
    }

    fn handle(
        &mut self,
        now: Instant,
        xid: u32,
        body: &Body,
        frames: &mut impl Frames,
        fx: &mut Effects<SwitchEvent>,
    ) -> Done {
        let mut reply = |body: Body| Message { xid, body }.emit(&mut fx.control);
        match body {
            Body::Hello(hello) if !hello.offers(constants::OFP_VERSION) => {
                return Err(HelloFailed::Incompatible.into());
            }
            Body::Hello(_) | Body::Error(_) | Body::EchoReply(_) | Body::SetConfig(_) => {}
            Body::EchoRequest(data) => reply(Body::EchoReply(data.clone())),
            Body::FeaturesRequest => reply(Body::FeaturesReply(self.features())),
            Body::GetConfigRequest => {
                reply(Body::GetConfigReply(tenuto_openflow::SwitchConfigMsg {
                    flags: 0,
                    miss_send_len: 0,
                }));
            }
            Body::BarrierRequest => {
                self.settle();
                reply(Body::BarrierReply);
            }
            Body::RoleRequest(role) => reply(Body::RoleReply(*role)),
            Body::FlowMod(flow_mod) => self.flow_mod(None, flow_mod)?,
            Body::GroupMod(group_mod) => self.group_mod(group_mod)?,
            Body::MeterMod(meter_mod) => self.meter_mod(meter_mod)?,
            Body::MultipartRequest(request) => self.multipart(xid, request, fx)?,
            Body::Experimenter(Experimenter::Modes(modes)) => {
                self.modes(now, xid, modes, frames, fx)?;
            }
            Body::Experimenter(Experimenter::Unknown { experimenter: EXPERIMENTER_ID, .. }) => {
                return Err(BadRequest::BadExpType.into());
            }
            Body::Experimenter(Experimenter::Unknown { .. }) => {
                return Err(BadRequest::BadExperimenter.into());
            }
            _ => return Err(BadRequest::BadType.into()),
        }
        Ok(())
    }

    fn features(&self) -> Features {
        Features {
            datapath_id: self.config.datapath_id,
            n_buffers: 0,
            n_tables: self.config.tables,
            auxiliary_id: 0,
            capabilities: constants::capability::FLOW_STATS
                | constants::capability::PORT_STATS
                | constants::capability::GROUP_STATS,
        }
    }
}
