//! The way of a user's own programs into the network and out of it.
//!
//! Programs of a host speak through `app0`, an ordinary interface with the host's addresses. Its
//! other end, `app1`, is served here: what a program sends in a flow of this host (payload and
//! frame flows: a message of many frames needs our shim) is released at most once per period of
//! the flow's contract; what arrives is handed to the program.

use crate::app_refusals::{Refusal, Refusals};
use crate::host_node::HostNode;
use crate::node_ports::{NodePort, RECEIVE_BURST};
use crate::program_stamp::{self, Arrived};
use crate::protocol::NodeReport;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use tenuto_dataplane::endsystem::{Behaviour, EndSystemConfig, FlowHeader, Form};
use tenuto_io::{MonotonicClock, PollSet};
use tenuto_model::{Addressing, OtherTraffic, Plan};
use tenuto_units::Instant;
use tenuto_wire::{FlowKey, IpProtocol};
use tenuto_world::{Observation, PROGRAM_MESSAGES};

/// The interface of programs, and its other end.
pub(crate) const APP_INTERFACE: &str = "app0";
pub(crate) const APP_PEER: &str = "app1";
/// Frames of one flow that wait for their release.
const WAITING_MAX: usize = 64;
/// Bytes of addresses at the start of a frame.
const ETH_DST: std::ops::Range<usize> = 0..6;
const ETH_SRC: std::ops::Range<usize> = 6..12;
/// Where the type of an ICMP message stands behind an IPv4 header without options, and that of a
/// ping.
const ICMP_TYPE: usize = 34;
const ECHO_REQUEST: u8 = 8;

/// Flows of a host that are named to a program that meets none of them.
const FLOWS_NAMED: usize = 8;
const NOT_CARRIED: &str =
    " the network carries no other traffic: give it `other_traffic` for what is of no flow";
/// How lines of the log begin that say why a program's frames are refused.
pub(crate) const REFUSED_LOG: &str = "refused: ";

struct AppFlow {
    flow: u16,
    name: String,
    header: FlowHeader,
    form: Form,
    /// Ports that a copy leaves through, with the source address there.
    ports: Vec<(u32, [u8; 6])>,
    waiting: VecDeque<Vec<u8>>,
    next: Option<Instant>,
    released: u64,
    is_judged: bool,
}

/// The inner port of a host.
pub(crate) struct AppPort {
    port: NodePort,
    mac: [u8; 6],
    flows: Vec<AppFlow>,
    /// Queue of what belongs to no flow, where the network carries it.
    other: Option<u8>,
    first_port: Option<(u32, [u8; 6])>,
    refusals: Refusals,
    /// UDP and TCP frames that belong to no flow: sent as other traffic, and refused.
    sent_data: u64,
    refused_data: u64,
    /// Frames of any kind that found the buffer between programs and this host full.
    overflowed: u64,
    delivered: u64,
    /// Numbers of datagrams of programs from elsewhere, by flow; of flows that are judged.
    arrived: BTreeMap<u16, Arrived>,
    scratch: Vec<u8>,
}

impl AppPort {
    pub(crate) fn open(
        plan: &Plan,
        config: &EndSystemConfig,
        poll: &mut PollSet,
    ) -> io::Result<Self> {
        let address = Addressing::new(&plan.network).host(usize::from(config.host));
        let mac_at = |number: u32| {
            config.ports.iter().find(|p| p.port == number).map_or(address.mac, |p| p.mac)
        };
        let flows = config.senders.iter().map(|sender| AppFlow {
            flow: sender.flow,
            name: plan.network.flows[usize::from(sender.flow)].name.clone(),
            header: sender.header,
            form: sender.form,
            ports: sender.ports.iter().map(|&port| (port, mac_at(port))).collect(),
            waiting: VecDeque::new(),
            next: None,
            released: 0,
            is_judged: is_judged(plan, sender.flow),
        });
        let arrived = config.receivers.iter().map(|it| it.flow).filter(|it| is_judged(plan, *it));
        let arrived = arrived.map(|flow| (flow, Arrived::default())).collect();
        Ok(Self {
            port: NodePort::of_programs(APP_PEER, poll)?,
            mac: address.mac,
            flows: flows.collect(),
            other: match plan.network.other_traffic {
                OtherTraffic::Carry { priority, .. } => Some(priority),
                OtherTraffic::Drop => None,
            },
            first_port: config.ports.first().map(|p| (p.port, p.mac)),
            refusals: Refusals::default(),
            sent_data: 0,
            refused_data: 0,
            overflowed: 0,
            delivered: 0,
            arrived,
            scratch: Vec::new(),
        })
    }

    /// When the next frame of a program may be released.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let waits = self.flows.iter().filter(|f| !f.waiting.is_empty());
        waits.filter_map(|f| f.next).min()
    }

    /// Hands a frame from the network to the programs; whether it is meant for this host.
    pub(crate) fn deliver(&mut self, frame: &[u8]) -> bool {
        let Some(dst) = frame.get(ETH_DST) else { return false };
        let is_group = dst[0] & 1 == 1;
        // The address of network B differs in its last byte.
        if !is_group && dst[..5] != self.mac[..5] {
            return false;
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(frame);
        match FlowKey::extract(frame).and_then(|key| key.ip) {
            Some(ip) if is_group && ip.dst[0] & 0xf0 == 224 => {
                let [_, b, c, d] = ip.dst;
                self.scratch[ETH_DST].copy_from_slice(&[1, 0, 0x5e, b & 0x7f, c, d]);
            }
            _ if is_group => {}
            _ => self.scratch[ETH_DST].copy_from_slice(&self.mac),
        }
        self.delivered += 1;
        self.port.send(&self.scratch).is_ok()
    }

    /// The message id of a program's datagram where its source has numbered it; each once.
    pub(crate) fn message_of(&mut self, flow: u16, frame: &[u8]) -> Option<u32> {
        let number = program_stamp::read(frame)?;
        let whole = self.arrived.get_mut(&flow)?.take(number)?;
        Some(PROGRAM_MESSAGES | whole)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.port.flush()
    }

    /// Takes what programs have sent, and releases what may go.
    pub(crate) fn turn(&mut self, host: &mut HostNode<'_>) -> io::Result<()> {
        if host.desk.poll.readiness(self.port.key).readable {
            let mut taken = Vec::new();
            self.port.port.receive(RECEIVE_BURST, &mut |_, frame| taken.push(frame.to_vec()))?;
            for frame in taken {
                self.take(frame, host);
            }
        }
        let now = MonotonicClock::now();
        for flow in &mut self.flows {
            while flow.next.is_some_and(|at| at <= now)
                && let Some(mut frame) = flow.waiting.pop_front()
            {
                let Some(behaviour) = host.core.behaviour(flow.flow) else { break };
                let number = u32::try_from(flow.released).unwrap_or(u32::MAX);
                let low = u16::try_from(number & 0xffff).unwrap_or(0);
                if flow.is_judged && program_stamp::write(&mut frame, low) {
                    let message = PROGRAM_MESSAGES | number;
                    let payload = frame.len().saturating_sub(tenuto_wire::build::UDP_PAYLOAD_START);
                    let bytes = u32::try_from(payload).unwrap_or(u32::MAX);
                    let (flow, at_ns) = (flow.flow, now.as_ns());
                    let seen = Observation::Released { flow, message, at_ns, bytes };
                    host.desk.reporter.observe(now, &seen);
                }
                for (port, mac) in &flow.ports {
                    frame[ETH_DST].copy_from_slice(&flow.header.eth_dst);
                    frame[ETH_SRC].copy_from_slice(mac);
                    let HostNode { core, pool, fx, .. } = host;
                    core.inject(now, *port, behaviour.queue, &frame, pool, fx);
                }
                flow.released += 1;
                flow.next = Some(now + behaviour.period);
            }
        }
        Ok(())
    }

    fn take(&mut self, frame: Vec<u8>, host: &mut HostNode<'_>) {
        let key = FlowKey::extract(&frame);
        let found = key.as_ref().and_then(|key| {
            let ip = key.ip.filter(|ip| ip.proto == IpProtocol::UDP)?;
            let port = key.l4?.dst;
            let is_it = |f: &AppFlow| f.header.ip_dst == ip.dst && f.header.udp_port == port;
            self.flows.iter().position(is_it)
        });
        let Some(place) = found else { return self.take_other(&frame, host) };
        let flow = &mut self.flows[place];
        let Some(behaviour) = host.core.behaviour(flow.flow) else {
            if self.refusals.note(Some(flow.flow), Refusal::Mode) {
                say_refused(&format!("{} sends nothing in this mode", flow.name), host);
            }
            return;
        };
        let payload = frame.len().saturating_sub(tenuto_wire::build::UDP_PAYLOAD_START);
        let limit = usize::try_from(behaviour.bytes_max).unwrap_or(usize::MAX);
        let refused = if flow.form == Form::Message {
            Some(Refusal::Shim)
        } else if payload > limit && frame.len() > 60 {
            Some(Refusal::Size)
        } else {
            (flow.waiting.len() >= WAITING_MAX).then_some(Refusal::Policed)
        };
        if let Some(reason) = refused {
            if self.refusals.note(Some(flow.flow), reason) {
                say_refused(&of_contract(&flow.name, reason, payload, &behaviour), host);
            }
            return;
        }
        if flow.next.is_none() {
            // The program takes the flow over from our own sender.
            let now = MonotonicClock::now();
            let _ = host.core.stop_flow(flow.flow);
            let earlier = host.core.sender_counters(flow.flow).is_some_and(|c| c.messages > 0);
            flow.next = Some(if earlier { now + behaviour.period } else { now });
            let text = format!("a program sends flow {} from now on", flow.name);
            host.desk.reporter.event(now, text);
            let taken = Observation::TakenOver { flow: flow.flow, at_ns: now.as_ns() };
            host.desk.reporter.observe(now, &taken);
        }
        flow.waiting.push_back(frame);
    }

    fn take_other(&mut self, frame: &[u8], host: &mut HostNode<'_>) {
        let key = FlowKey::extract(frame);
        let proto = key.as_ref().and_then(|key| key.ip).map(|ip| ip.proto);
        // The kernel's own words (ARP, IGMP, most of ICMP) are no work of a program.
        let is_data = matches!(proto, Some(IpProtocol::UDP | IpProtocol::TCP));
        let is_ping =
            proto == Some(IpProtocol::ICMP) && frame.get(ICMP_TYPE) == Some(&ECHO_REQUEST);
        let (Some(queue), Some((port, _))) = (self.other, self.first_port) else {
            self.refused_data += u64::from(is_data);
            if is_ping && self.refusals.note(None, Refusal::Ping) {
                say_refused(&format!("a ping is of no flow, and{NOT_CARRIED}"), host);
            }
            if is_data && self.refusals.note(None, Refusal::Port) {
                say_refused(&self.of_no_flow(key.as_ref()), host);
            }
            return;
        };
        let HostNode { core, pool, fx, .. } = host;
        let drops = fx.drops.len();
        let is_sent = core.inject(MonotonicClock::now(), port, queue, frame, pool, fx);
        fx.drops.truncate(drops);
        self.refused_data += u64::from(is_data && !is_sent);
        self.sent_data += u64::from(is_data && is_sent);
        if is_data && !is_sent && self.refusals.note(None, Refusal::Full) {
            say_refused("the port has no room for more traffic of no flow", host);
        }
    }

    /// What a frame of no flow was for, and what the flows of this host are for.
    fn of_no_flow(&self, key: Option<&FlowKey>) -> String {
        let dst = key.and_then(|key| Some((key.ip?.dst, key.l4?.dst)));
        let dst = dst.map_or_else(|| "?".to_owned(), |(ip, port)| address(ip, port));
        let flow = |flow: &AppFlow| {
            format!("{} (UDP to {})", flow.name, address(flow.header.ip_dst, flow.header.udp_port))
        };
        let flows: Vec<String> = self.flows.iter().take(FLOWS_NAMED).map(flow).collect();
        let flows = match flows.len() {
            0 => "it sends no flow".to_owned(),
            _ => format!("its flows are {}", flows.join(", ")),
        };
        format!("{dst} is of no flow of this host ({flows}), and{NOT_CARRIED}")
    }

    /// Takes what programs have sent and nobody will: nothing of them is released any more.
    pub(crate) fn close(&mut self) {
        self.overflowed += self.port.take_overflows();
        for flow in &mut self.flows {
            for _ in flow.waiting.drain(..) {
                self.refusals.note(Some(flow.flow), Refusal::Ended);
            }
        }
    }

    /// What became of the frames of programs.
    pub(crate) fn told(&self, host: &str, now: Instant) -> Observation {
        let released = self.flows.iter().map(|flow| flow.released).sum::<u64>() + self.sent_data;
        let of_flows = self.flows.iter().map(|flow| self.refusals.of_flow(Some(flow.flow)));
        let refused = of_flows.sum::<u64>() + self.refused_data + self.overflowed;
        Observation::Program { host: host.to_owned(), released, refused, at_ns: now.as_ns() }
    }

    /// What programs sent, in words; nothing if there were none.
    pub(crate) fn summary(&self, host: &str) -> Vec<String> {
        let flows = self.flows.iter().filter_map(|f| {
            let (name, released, flow) = (&f.name, f.released, Some(f.flow));
            let (refused, why) = (self.refusals.of_flow(flow), self.refusals.words(flow));
            (released + refused > 0).then(|| {
                format!(
                    "programs of {host} sent {released} frames of {name}, {refused} refused{why}"
                )
            })
        });
        let others = self.refusals.of_flow(None);
        let others = (others > 0).then(|| {
            let why = self.refusals.words(None);
            format!("programs of {host} had {others} other frames refused{why}")
        });
        let lost = (self.overflowed > 0).then(|| {
            let frames = self.overflowed;
            format!("programs of {host} had {frames} frames that found the buffer before it full: they sent faster than it takes")
        });
        let handed = (self.delivered > 0)
            .then(|| format!("programs of {host} were handed {} frames", self.delivered));
        flows.chain(others).chain(lost).chain(handed).collect()
    }
}

/// Whether what programs send in a flow is judged: a switch that drops it in a mode in which the flow
/// has no place could not say which datagram that was.
fn is_judged(plan: &Plan, flow: u16) -> bool {
    let network = &plan.network;
    network.flows.get(usize::from(flow)).is_some_and(|it| it.level + 1 == network.modes.len())
}

fn address(ip: [u8; 4], port: u16) -> String {
    format!("{}:{port}", std::net::Ipv4Addr::from(ip))
}

/// Why a frame of a flow is not what the contract lets go.
fn of_contract(name: &str, reason: Refusal, payload: usize, contract: &Behaviour) -> String {
    match reason {
        Refusal::Shim => format!(
            "{name} has messages of many frames, whose shim header only Tenuto's own end system \
             writes; a flow for programs has `payload` or `frame` for its size"
        ),
        Refusal::Size => format!(
            "{payload} B of payload, and the contract of {name} has {} B",
            contract.bytes_max
        ),
        _ => format!(
            "{WAITING_MAX} frames of {name} wait already: its contract lets one go per {}",
            contract.period
        ),
    }
}

/// Says why frames are refused: in the events of the run, and in the log of the lab, from which
/// `exec` has it.
fn say_refused(words: &str, host: &mut HostNode<'_>) {
    let reporter = &mut host.desk.reporter;
    reporter.tell(&NodeReport::Log { text: format!("{REFUSED_LOG}{words}") });
    let text = format!("frames of programs of {} are refused: {words}", reporter.node());
    reporter.event(MonotonicClock::now(), text);
}
