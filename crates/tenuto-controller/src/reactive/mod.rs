//! Reactive applications: what to do with a packet that no entry knows.
//!
//! An application decides, in terms of OpenFlow, with an [`Answer`] to fill. Whether that answer
//! goes out as plain flow-mods and packet-outs or as Attendre's message sets is not its concern:
//! a numbered packet-in is answered by sets, each complete, an empty one included (docs/theory/attendre.md,
//! "Why it always ends"); a
//! plain packet-in by plain messages. [`Reactive`] is the frame around an application; it owns no
//! socket and no clock, so that the same code runs live, simulated and explored.
//!
//! Applications here work by Ethernet addresses and hold no timers.

mod answer;
mod firewall;
mod learning_switch;
mod load_balancer;
mod route_flow;

pub use answer::{Answer, Numbered};
pub use firewall::Firewall;
pub use learning_switch::LearningSwitch;
pub use load_balancer::{LoadBalancer, Replica};
pub use route_flow::{Hop, RouteFlow};

use tenuto_openflow::constants::port;
use tenuto_openflow::{
    Action, AttendreConfig, AttendreMessage, Body, Experimenter, FlowMod, FlowModCommand,
    Instruction, Match, Oxm, PacketIn,
};

/// Bytes of a packet that the controller is shown, where the switch can keep the rest: addresses
/// and EtherType behind a few tags.
const ASK_BYTES: u16 = 64;

/// An application that is asked about packets.
pub trait ReactiveApp {
    /// A packet that no entry of the switch `datapath` knows. What is left out of the answer does
    /// not happen; an answer without messages drops the packet.
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer);
}

/// What an application is told of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The message itself.
    pub message: &'a PacketIn,
    /// The port of entry.
    pub in_port: u32,
    /// Its destination.
    pub dst: [u8; 6],
    /// Its source.
    pub src: [u8; 6],
}

impl<'a> Packet<'a> {
    /// `None` if the message names no port or holds no Ethernet header.
    pub fn of(message: &'a PacketIn) -> Option<Self> {
        let in_port = message.match_.oxms.iter().find_map(|oxm| match oxm {
            Oxm::InPort(port) => Some(*port),
            _ => None,
        })?;
        let (dst, rest) = message.data.split_first_chunk::<6>()?;
        let src = rest.first_chunk::<6>()?;
        Some(Self { message, in_port, dst: *dst, src: *src })
    }

    /// Packets of the same source and destination, through whatever port.
    pub fn addresses(&self) -> Match {
        between(self.src, self.dst)
    }
}

/// Packets from one address to another.
fn between(src: [u8; 6], dst: [u8; 6]) -> Match {
    let (value, mask) = (dst, None);
    Match::from(vec![Oxm::EthDst { value, mask }, Oxm::EthSrc { value: src, mask }])
}

/// An entry of table 0.
fn entry(match_: Match, actions: Vec<Action>) -> FlowMod {
    let instructions = match actions.is_empty() {
        true => Vec::new(),
        false => vec![Instruction::ApplyActions(actions)],
    };
    FlowMod { match_, instructions, ..FlowMod::new(FlowModCommand::Add, 0) }
}

const fn output(port: u32) -> Action {
    Action::Output { port, max_len: 0 }
}

/// An application, and the versions of the message sets that it answers with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reactive<A> {
    app: A,
    /// Of the controller's start: above that of every start before.
    generation: u64,
    /// Sets so far.
    counter: u64,
}

impl<A: ReactiveApp> Reactive<A> {
    /// `generation` must be above that of every earlier start (docs/theory/attendre.md,
    /// "What waits, where, for what").
    pub const fn new(app: A, generation: u64) -> Self {
        Self { app, generation, counter: 0 }
    }

    /// What a switch is told before anything else: what no entry knows goes to the controller, and
    /// with `attendre` later packets of the same headers wait for the answer. A switch that does
    /// not know Attendre refuses that and works on as one of plain OpenFlow.
    pub fn start(attendre: Option<AttendreConfig>) -> Vec<Body> {
        let ask = Action::Output { port: port::CONTROLLER, max_len: ASK_BYTES };
        let miss = FlowMod { priority: 0, ..entry(Match::ANY, vec![ask]) };
        let config = attendre.map(|config| {
            Body::Experimenter(Experimenter::Attendre(AttendreMessage::Config(config)))
        });
        config.into_iter().chain([Body::FlowMod(miss)]).collect()
    }

    /// A message of a switch; what is sent because of it, by switch, in order. Messages that are
    /// no packet-in cause nothing.
    pub fn message(&mut self, datapath: u64, body: &Body) -> Vec<(u64, Body)> {
        let (number, packet_in) = match body {
            Body::PacketIn(packet_in) => (None, packet_in),
            Body::Experimenter(Experimenter::Attendre(AttendreMessage::PacketIn {
                number,
                packet_in,
            })) => (Some(*number), packet_in),
            _ => return Vec::new(),
        };
        let numbered = number.map(|number| {
            self.counter += 1;
            let (generation, counter) = (self.generation, self.counter);
            Numbered { number, version: tenuto_openflow::Version { generation, counter } }
        });
        let mut answer = Answer::new(datapath, numbered);
        if let Some(packet) = Packet::of(packet_in) {
            self.app.packet_in(datapath, &packet, &mut answer);
        }
        answer.finish()
    }

    /// The application.
    pub const fn app(&self) -> &A {
        &self.app
    }
}
