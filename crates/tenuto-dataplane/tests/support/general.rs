//! A general switch on the bench: what its tests need beyond those of a planned one.

use super::Bench;
use std::collections::BTreeMap;
use tenuto_dataplane::Dropped;
use tenuto_dataplane::switch::{ConnectionId, FailMode, GeneralConfig, SwitchConfig};
use tenuto_openflow::constants::{group, meter, meter_flag, port, queue};
use tenuto_openflow::{
    Action, Body, Bucket, ErrorCode, FlowMod, FlowModCommand, FlowStatsRequest, Framer, GroupMod,
    GroupModCommand, GroupType, Instruction, Match, Message, MeterBand, MeterMod, MeterModCommand,
    MultipartRequest, Oxm, PortMod, ReplyBody, RequestBody,
};

pub(crate) fn config() -> SwitchConfig {
    let general = GeneralConfig {
        bands_max: 3,
        buffers_max: 2,
        connections_max: 4,
        fail_mode: FailMode::Secure,
        packet_ins_per_s: None,
        learned_max: 16,
        description: "on the bench".into(),
        port_names: BTreeMap::from([(1, "left".into())]),
        ..GeneralConfig::default()
    };
    SwitchConfig { general: Some(general), tables: 64, ..super::config() }
}

pub(crate) fn bench() -> Bench {
    Bench::with(config())
}

/// An entry of table 0 for every frame, at this precedence.
pub(crate) fn any(priority: u16, actions: Vec<Action>) -> FlowMod {
    let instructions = vec![Instruction::ApplyActions(actions)];
    FlowMod { priority, instructions, ..FlowMod::new(FlowModCommand::Add, 0) }
}

pub(crate) fn entry(oxms: Vec<Oxm>, actions: Vec<Action>) -> Body {
    Body::FlowMod(FlowMod { match_: Match::from(oxms), ..any(100, actions) })
}

pub(crate) const fn to_controller(max_len: u16) -> Action {
    Action::Output { port: port::CONTROLLER, max_len }
}

pub(crate) fn group_of(
    command: GroupModCommand,
    type_: GroupType,
    id: u32,
    buckets: Vec<Bucket>,
) -> Body {
    Body::GroupMod(GroupMod { command, type_, group_id: id, buckets })
}

/// A meter of one band in frames per second, which drops or remarks.
pub(crate) fn meter_of(command: MeterModCommand, meter_id: u32, rate: u32, remarks: bool) -> Body {
    let band = match remarks {
        true => MeterBand::DscpRemark { rate, burst_size: 2, prec_level: 1 },
        false => MeterBand::Drop { rate, burst_size: 2 },
    };
    let flags = meter_flag::PKTPS | meter_flag::BURST;
    Body::MeterMod(MeterMod { command, flags, meter_id, bands: vec![band] })
}

/// What became of frames: those sent, those dropped, and messages.
pub(crate) type Left = (Vec<(u32, Vec<u8>)>, Vec<Dropped>, Vec<Body>);

impl Bench {
    /// Sends a message over a connection and gives what comes back over it.
    pub(crate) fn ask_on(&mut self, id: u16, body: Body) -> Vec<Body> {
        let bytes = Message::new(77, body).to_bytes();
        let (now, frames, fx) = (self.now, &mut self.frames, &mut self.fx);
        assert!(self.switch.control_from(ConnectionId(id), now, &bytes, frames, fx));
        self.heard(id)
    }

    /// What came over a connection since it was last asked.
    pub(crate) fn heard(&mut self, id: u16) -> Vec<Body> {
        let bytes = match id {
            0 => std::mem::take(&mut self.fx.control),
            _ => {
                let mut found = Vec::new();
                self.fx.channels.retain_mut(|(number, bytes)| {
                    let ours = *number == id;
                    if ours {
                        found.append(bytes);
                    }
                    !ours
                });
                found
            }
        };
        let (mut framer, mut bodies) = (Framer::new(), Vec::new());
        for part in bytes.chunks(Framer::PUSH_BYTES_MAX) {
            framer.push(part).expect("everything was taken out");
            while let Some(message) = framer.next() {
                bodies.push(message.expect("well-formed").body);
            }
        }
        bodies
    }

    pub(crate) fn connect(&mut self, id: u16) {
        self.switch.connected_to(ConnectionId(id), None, &mut self.fx).expect("there is room");
        assert!(matches!(self.heard(id)[..], [Body::Hello(_)]));
    }

    #[track_caller]
    pub(crate) fn refused_on(&mut self, id: u16, body: Body, code: impl Into<ErrorCode>) {
        let answers = self.ask_on(id, body);
        let [Body::Error(error)] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!(error.error().map(ErrorCode::name), Some(code.into().name()));
    }

    pub(crate) fn reply(&mut self, body: RequestBody) -> ReplyBody {
        let request = Body::MultipartRequest(MultipartRequest::new(body));
        match self.ask_on(0, request).remove(0) {
            Body::MultipartReply(reply) => reply.body,
            other => panic!("{other:?}"),
        }
    }

    /// Everything that a controller can read of what was counted.
    pub(crate) fn counted(&mut self) -> Vec<ReplyBody> {
        let all = FlowStatsRequest::ALL;
        let requests = [
            RequestBody::Flow(all.clone()),
            RequestBody::Aggregate(all),
            RequestBody::Table,
            RequestBody::PortStats { port_no: port::ANY },
            RequestBody::Queue { port_no: port::ANY, queue_id: queue::ALL },
            RequestBody::Group { group_id: group::ALL },
            RequestBody::Meter { meter_id: meter::ALL },
        ];
        requests.into_iter().map(|request| self.reply(request)).collect()
    }

    /// The change of a port's settings in a mask.
    pub(crate) fn port_mod(&mut self, port_no: u32, config: u32, mask: u32) -> Body {
        let described = self.reply(RequestBody::PortDescription);
        let ReplyBody::PortDescription(ports) = described else { panic!("{described:?}") };
        let hw_addr = ports.iter().find(|it| it.port_no == port_no).expect("there").hw_addr;
        Body::PortMod(PortMod { port_no, hw_addr, config, mask, advertise: 0 })
    }

    /// What left by ports, by their numbers, what did not, and what a controller heard.
    pub(crate) fn what_left(&mut self) -> Left {
        let mut sent = self.take_transmits();
        sent.sort_by_key(|(port, _)| *port);
        (sent, std::mem::take(&mut self.fx.drops), self.heard(0))
    }

    /// Ports that a frame leaves by.
    pub(crate) fn ports_of(&mut self, from: u32, bytes: &[u8]) -> Vec<u32> {
        self.receive(from, bytes);
        let mut ports: Vec<u32> = self.drain().into_iter().map(|(port, _)| port).collect();
        ports.sort_unstable();
        self.drops();
        ports
    }

    /// Frames held by nobody but the bench.
    pub(crate) fn is_idle(&self) -> bool {
        self.frames.in_use() == 0
    }
}
