//! Networks whose switches serve what they receive, in the order in which it came, with one
//! processor each: all classes as one server graph (theory, "Processors in order of arrival").

use super::claim::Claim;
use crate::description::device::Device;
use crate::description::read::{Mode, Receive};
use crate::description::slices::slice_work;
use crate::kernel::server_graph::{
    Bucket as Plain, Flow, Graph, Net, RateLatency as Latency, Server, Visit,
};
use crate::rows::context::Context;
use crate::streams::stream::Stream;
use num_bigint::BigInt;
use std::collections::{BTreeMap, BTreeSet};
use tenuto_units::FRAME_BYTES_MIN;

const PS_PER_S: i128 = 1_000_000_000_000;
const MILLION: i128 = 1_000_000;
const NS_PER_S: i128 = 1_000_000_000;
/// The weight of a frame that costs what the least one does.
const LEAST_WEIGHT: i128 = 1_000_000_000;
/// A port is a delay; as a service it may have any rate. It is given so many times that of the
/// fastest processor.
const PORT_RATES: i128 = 16;

/// Processors and ports of one mode, and every stream as a flow over them.
pub(super) struct ProcessorGraph {
    pub(super) graph: Graph,
    pub(super) delays: Vec<Option<i128>>,
    /// By stream and server: the visit of the stream's flow.
    visits: BTreeMap<(usize, usize), usize>,
    /// By stream: its flow.
    flows: BTreeMap<usize, usize>,
    numbers: Numbers,
    mode: Mode,
}

/// What servers are called: ports once per class, then processors by the first port that leaves them.
#[derive(Clone, Copy)]
struct Numbers {
    ports: usize,
    classes: usize,
}

impl Numbers {
    const fn port(self, port: usize, class: u8) -> usize {
        class as usize * self.ports + port
    }

    fn processor(self, context: &Context<'_>, node: usize) -> Option<usize> {
        let first = context.net.ports.iter().position(|port| port.node == node)?;
        Some(self.classes * self.ports + first)
    }
}

/// What no flow visits.
fn idle() -> Server {
    let nothing = Latency { rate_ubps: 0, latency_ps: 0 };
    Server::fifo(vec![nothing], None, 0)
}

fn ceil(a: i128, b: i128) -> Option<i128> {
    Some(a.checked_add(b.checked_sub(1)?)?.div_euclid(b))
}

impl ProcessorGraph {
    /// The graph of a mode.
    ///
    /// # Errors
    /// In words, why what passes there is no order of arrival, or no bound.
    pub(super) fn new(context: &Context<'_>, mode: Mode) -> Result<Self, &'static str> {
        let net = context.net;
        if net.has_modes() || net.is_babbling() || !context.is_for_frames() {
            return Err("whole paths over shared processors: of one mode, trusted sources, frames");
        }
        let contracts = net.flows.iter().flat_map(|flow| &flow.contracts);
        let classes = contracts.map(|c| usize::from(c.class) + 1).max().unwrap_or(0);
        let numbers = Numbers { ports: net.ports.len(), classes };
        let servers = numbers.ports * (classes + 1);
        let mut this = Self {
            graph: Graph { servers: vec![idle(); servers], ..Graph::default() },
            delays: vec![None; servers],
            visits: BTreeMap::new(),
            flows: BTreeMap::new(),
            numbers,
            mode,
        };
        let mut entered: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (index, stream) in context.streams.iter().enumerate() {
            this.add(context, index, stream, &mut entered)?;
        }
        this.serve(context, &entered)?;
        Ok(this)
    }

    fn add(
        &mut self,
        context: &Context<'_>,
        index: usize,
        stream: &Stream,
        entered: &mut BTreeMap<usize, BTreeSet<usize>>,
    ) -> Result<(), &'static str> {
        let net = context.net;
        let contract = net.flows[stream.flow].contracts.first().ok_or("a flow without contract")?;
        let mut visits: Vec<Visit> = Vec::new();
        // Per place that leads to a switch: the visit of its processor.
        let mut inside: BTreeMap<usize, usize> = BTreeMap::new();
        let mut devices: Vec<(Device<'_>, u32)> = Vec::new();
        for (place, at) in stream.tree.iter().enumerate() {
            let info = &net.ports[at.port];
            let mut before = None;
            if let Some(parent) = at.parent {
                let server = self.numbers.port(at.port, contract.class);
                let behind = *inside.get(&parent).ok_or("a port of no switch")?;
                if net.is_trunk(at.port) {
                    before = Some(self.push(index, &mut visits, server, Some(behind)));
                }
            }
            if stream.children[place].is_empty() {
                continue;
            }
            let device = net.device(info.peer).ok_or("not every switch shares a processor")?;
            let outputs = u32::try_from(stream.children[place].len()).unwrap_or(u32::MAX);
            let named =
                self.numbers.processor(context, info.peer).ok_or("a switch without ports")?;
            inside.insert(place, self.push(index, &mut visits, named, before));
            devices.push((device, outputs));
            entered.entry(info.peer).or_default().insert(at.port);
        }
        if visits.is_empty() {
            return Ok(());
        }
        let (arrival, largest) =
            brought(context, self.mode, stream, &devices).ok_or("a weight beyond any number")?;
        for visit in &visits {
            let packet = &mut self.graph.servers[visit.server].packet_ubit;
            *packet = largest.max(*packet);
        }
        self.flows.insert(index, self.graph.flows.len());
        self.graph.flows.push(Flow::new(arrival, visits, false));
        Ok(())
    }

    fn push(
        &mut self,
        stream: usize,
        visits: &mut Vec<Visit>,
        server: usize,
        before: Option<usize>,
    ) -> usize {
        visits.push(Visit { server, parent: before });
        self.visits.insert((stream, server), visits.len() - 1);
        visits.len() - 1
    }

    /// Services and delays of what is visited.
    fn serve(
        &mut self,
        context: &Context<'_>,
        entered: &BTreeMap<usize, BTreeSet<usize>>,
    ) -> Result<(), &'static str> {
        let mut rate_ubps = 0;
        for (&node, lines) in entered {
            let named = self.numbers.processor(context, node).ok_or("a switch without ports")?;
            let (service, delay) = self.processor(context, node, lines)?;
            rate_ubps = service.rate_ubps.max(rate_ubps);
            self.graph.servers[named].service = vec![service];
            self.delays[named] = Some(delay);
        }
        rate_ubps *= PORT_RATES;
        let seen: BTreeSet<usize> = self.visits.keys().map(|(_, server)| *server).collect();
        let ports = seen.range(..self.numbers.classes * self.numbers.ports);
        for &server in ports {
            let (class, port) = (server / self.numbers.ports, server % self.numbers.ports);
            let class = u8::try_from(class).map_err(|_| "no such class")?;
            let claim = context.claim(self.mode, port, class).ok_or("a port without a claim")?;
            let latency_ps = i128::from(claim);
            // It delays whole frames, and holds none of them back besides.
            let service = vec![Latency { rate_ubps, latency_ps }];
            self.graph.servers[server] = Server::fifo(service, None, 0);
            self.delays[server] = Some(latency_ps);
        }
        Ok(())
    }

    /// A processor with the lines beside it and what its switch varies.
    fn processor(
        &self,
        context: &Context<'_>,
        node: usize,
        lines: &BTreeSet<usize>,
    ) -> Result<(Latency, i128), &'static str> {
        let net = context.net;
        let device = net.device(node).ok_or("not every switch shares a processor")?;
        let jitter = net.latency_jitter_ps(node);
        if device.processor.receive != Receive::Fifo {
            return Err("a processor that serves ports in turn keeps no order between them");
        }
        if device.processor.link.is_none() && jitter > 0 {
            return Err("behind a processor whose latency varies ports keep no order between them");
        }
        let mut most = 0;
        for &line in lines {
            let claim =
                context.processing_ps(self.mode, line).ok_or("a processor without a claim")?;
            most = claim.max(most);
        }
        let beside = device.link_ps(largest(context, lines));
        let least = i128::from(device.cost_ps(FRAME_BYTES_MIN, 1));
        let share = device.processor.control;
        let period = i128::from(share.period_ps);
        let (at_once, in_second) = slice_work(&device.processor.slices);
        let counted = || {
            let at_once = i128::try_from(at_once).ok()?.checked_add(share.time_ps.into())?;
            let in_period = i128::try_from(in_second).ok()?.checked_mul(period)?;
            Some((at_once, ceil(in_period, PS_PER_S)?.checked_add(share.time_ps.into())?))
        };
        let (time, busy) = counted().ok_or("slices without end")?;
        let left = period - busy;
        if left <= 0 || least <= 0 {
            return Err("control leaves nothing of a processor");
        }
        let served = || {
            let rate_ubps =
                (LEAST_WEIGHT * PS_PER_S).checked_mul(left)? / least.checked_mul(period)?;
            let wait = ceil(time.checked_mul(period)?, left)?;
            let latency_ps = wait + 2 * i128::from(beside) + i128::from(jitter);
            Some(Latency { rate_ubps, latency_ps })
        };
        let service = served().ok_or("a weight beyond any number")?;
        Ok((service, i128::from(most) + i128::from(jitter)))
    }

    /// What a proof gives for a stream and target, constants included, picoseconds.
    pub(super) fn bound(
        &self,
        context: &Context<'_>,
        claim: &Claim<'_>,
        paths: &Net<'_>,
    ) -> Result<u128, String> {
        let it = &context.streams[claim.stream];
        let net = context.net;
        let places = it.paths.get(claim.target).ok_or("no such target")?;
        let class = net.flows[it.flow].contracts.first().map_or(0, |contract| contract.class);
        let (mut way, mut constant) = (Vec::new(), 0_u128);
        for (nth, place) in places.iter().enumerate() {
            let at = it.tree[*place];
            let info = &net.ports[at.port];
            constant += u128::from(info.propagation_ps);
            let (is_first, is_last) = (at.parent.is_none(), nth + 1 == places.len());
            if !is_first {
                constant += u128::from(net.latency_min_ps(info.node));
                way.push(self.numbers.processor(context, info.node).ok_or("no processor")?);
            }
            if is_first || is_last {
                let waiting = context.claim_for(self.mode, it, at.port);
                constant += u128::from(waiting.ok_or("a port without a claim")?);
            } else {
                way.push(self.numbers.port(at.port, class));
            }
        }
        way.reverse();
        let named = |stream: usize, server: usize| {
            Some((*self.flows.get(&stream)?, *self.visits.get(&(stream, server))?))
        };
        let most = paths.delay_of(&claim.renamed(named)?, &way, None)?;
        let most = u128::try_from(most.max(BigInt::ZERO)).map_err(|_| "beyond any time")?;
        most.checked_add(constant).ok_or_else(|| "beyond any time".to_owned())
    }
}

/// L_n: the largest frame that comes over these ports.
fn largest(context: &Context<'_>, lines: &BTreeSet<usize>) -> u32 {
    let passes = |stream: &&Stream| stream.tree.iter().any(|at| lines.contains(&at.port));
    let flows = context.streams.iter().filter(passes).map(|stream| stream.flow);
    let contracts = flows.flat_map(|flow| &context.net.flows[flow].contracts);
    let sizes = contracts.map(|contract| contract.packets.frame_bytes_max());
    sizes.max().unwrap_or(0).max(FRAME_BYTES_MIN)
}

/// What a stream brings to its first processor, and its largest frame, in weights: of every frame
/// the largest that it has at any of the devices.
fn brought(
    context: &Context<'_>,
    mode: Mode,
    stream: &Stream,
    devices: &[(Device<'_>, u32)],
) -> Option<(Plain, i128)> {
    let contract = context.net.flows[stream.flow].contracts.first()?;
    let weight = |bytes: u32| {
        let bytes = bytes.max(FRAME_BYTES_MIN);
        let mut most = 0;
        for (device, outputs) in devices {
            let least = i128::from(device.cost_ps(FRAME_BYTES_MIN, 1));
            let cost = i128::from(device.cost_ps(bytes, *outputs)) * LEAST_WEIGHT;
            most = ceil(cost, least.max(1))?.max(most);
        }
        Some(most)
    };
    let mut message = 0_i128;
    for (count, bytes) in contract.packets.each() {
        if count > 0 {
            message = message.checked_add(weight(bytes)?.checked_mul(count.into())?)?;
        }
    }
    let faster = MILLION + i128::from(context.net.tolerance_ppm);
    let per_period = message.checked_mul(faster)?.checked_mul(NS_PER_S)?;
    let rate_ubps = ceil(per_period, i128::from(contract.period_ns.max(1)) * MILLION)?;
    let source = stream.tree.first()?.port;
    let waiting = context.claim_for(mode, stream, source)?;
    let late = i128::from(contract.jitter_ps) + i128::from(waiting);
    let burst_ubit = message.checked_add(ceil(rate_ubps.checked_mul(late)?, PS_PER_S)?)?;
    Some((Plain { burst_ubit, rate_ubps }, weight(contract.packets.frame_bytes_max())?))
}
