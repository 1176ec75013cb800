//! The curves of one port, and what they give: delay per class, busy period, backlog.

use crate::analysis::mode_input::ModeInput;
use crate::analysis::port_graph::{Group, PortGraph};
use crate::analysis::processor::{Processors, SIGNAL_WIRE_UBIT};
use crate::analysis::upstream::UpstreamSet;
use crate::input::topology::Topology;
use crate::options::{Curves, Options};
use tenuto_calculus::{
    Bucket, Flows, GroupCurves, Server, Staircase, SteppedGroup, backlog, backlog_stepped,
    busy_period, busy_period_stepped, delay, delay_stepped, div_up, ubits,
};
use tenuto_model::ForwardingModel;
use tenuto_model::OtherTraffic;
use tenuto_units::{FRAME_BYTES_MAX, Picos, wire_bits};

/// What every port's curves are computed from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports<'a> {
    pub(crate) topology: &'a Topology<'a>,
    pub(crate) port_graph: &'a PortGraph,
    pub(crate) options: &'a Options,
    /// Mode signals on one trunk; zero without modes.
    pub(crate) signals: Bucket,
    /// Processors that ports share.
    pub(crate) processors: &'a Processors<'a>,
    /// A delay of this length is no bound any more.
    pub(crate) diverged_ps: i128,
}

/// How everything arrives at the queues; `None` where it has no bound.
#[derive(Clone, Debug)]
pub(crate) struct Arriving {
    /// Per visit: the tree's curve at the queue.
    pub(crate) bursts: Vec<Option<Bucket>>,
    /// Per visit: the same as whole messages, where it is known to come so.
    pub(crate) steps: Vec<Option<Staircase>>,
    /// Per visit: what it grew by on the last hop, D + j + Y; nothing at the source.
    pub(crate) growth: Vec<Option<Picos>>,
    /// Per line: Y, how much the time at the processor behind it varies.
    pub(crate) varying: Vec<Option<Picos>>,
}

/// Bits of the mode signals on a trunk: copies·(max(4, 2·(levels − 1)) + 2·switches) frames of 102 B,
/// per dwell time: a raise into every level and a report of each, and a return.
pub(crate) fn signals(copies: u8, switches: usize, levels: usize) -> Bucket {
    const DWELLS_PER_S: i128 = 10;
    let raises = levels.saturating_sub(1).saturating_mul(2).max(4);
    let changes = raises.saturating_add(switches.saturating_mul(2));
    let frames = i128::from(copies) * i128::try_from(changes).unwrap_or(i128::MAX / 1_024);
    let burst_ubit = frames * SIGNAL_WIRE_UBIT;
    Bucket { burst_ubit, rate_ubps: burst_ubit * DWELLS_PER_S }
}

impl Ports<'_> {
    /// Whether lines hold back what they carry.
    pub(crate) fn shapes(&self) -> bool {
        self.options.line_shaping && !self.is_fluid()
    }

    pub(crate) fn is_fluid(&self) -> bool {
        self.options.model == ForwardingModel::Fluid
    }

    /// Whether whole messages count as such.
    pub(crate) fn has_staircases(&self) -> bool {
        self.options.curves == Curves::Staircases && !self.is_fluid()
    }

    /// Every class that is used at a server, ascending.
    pub(crate) fn classes(&self, server: usize, mode_input: &ModeInput) -> Vec<u8> {
        let present = self.present(server, mode_input);
        let mut classes: Vec<u8> = present
            .flat_map(|visit| self.share(mode_input, visit).classes.iter().copied())
            .collect();
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    pub(crate) fn share<'s>(
        &self,
        mode_input: &'s ModeInput,
        visit: usize,
    ) -> &'s crate::analysis::mode_input::Share {
        &mode_input.shares[self.port_graph.visits[visit].tree]
    }

    /// The visits of a server that take part.
    pub(crate) fn present<'s>(
        &'s self,
        server: usize,
        mode_input: &'s ModeInput,
    ) -> impl Iterator<Item = usize> + 's {
        self.port_graph.at(server).filter(|&v| self.frame_ubit(mode_input, v).is_some())
    }

    pub(crate) fn frame_ubit(&self, mode_input: &ModeInput, visit: usize) -> Option<i128> {
        self.share(mode_input, visit).frame_ubit(self.port_graph.visits[visit].depth)
    }

    /// The largest frame at a port among classes behind `above`, 10⁻⁶ bit.
    pub(crate) fn largest_frame(
        &self,
        server: usize,
        mode_input: &ModeInput,
        above: Option<u8>,
    ) -> i128 {
        let lower = |&v: &usize| above.is_none_or(|k| self.share(mode_input, v).class_last() > k);
        let present = self.present(server, mode_input).filter(lower);
        present.filter_map(|v| self.frame_ubit(mode_input, v)).max().unwrap_or(0)
    }

    /// The largest frame of other traffic, 10⁻⁶ bit. No switch enforces what the description says
    /// of it: a babbling host sends what the line carries.
    pub(crate) fn other_frame(&self) -> i128 {
        let network = self.topology.network;
        match network.other_traffic {
            OtherTraffic::Drop => 0,
            OtherTraffic::Carry { .. } if network.tolerates.babbling_hosts > 0 => {
                ubits(wire_bits(FRAME_BYTES_MAX))
            }
            OtherTraffic::Carry { frame_bytes_max, .. } => ubits(wire_bits(frame_bytes_max)),
        }
    }

    /// What the line could have carried while it was idle at swaps.
    fn idle(&self, server: usize, mode_input: &ModeInput) -> i128 {
        mode_input.idle_ubit.get(server).copied().unwrap_or(0)
    }

    /// S: what is below the scheduler, or one frame of a lower class, and in a raise what idle lines add.
    pub(crate) fn blocking(&self, server: usize, mode_input: &ModeInput, class: u8) -> i128 {
        if self.is_fluid() {
            return 0;
        }
        let below = self.topology.nodes[self.topology.servers[server].node].below_scheduler_ubit();
        let frame = self.largest_frame(server, mode_input, Some(class)).max(self.other_frame());
        below.max(frame) + self.idle(server, mode_input)
    }

    /// The groups of a server as class `class` sees them, each with the sets within behind it;
    /// `None` if a burst has no bound. Where which set stands is told too.
    pub(crate) fn groups<'s>(
        &'s self,
        server: usize,
        (mode_input, arriving): (&ModeInput, &Arriving),
        class: u8,
        told: &mut Vec<(usize, &'s UpstreamSet)>,
    ) -> Option<Vec<SteppedGroup>> {
        let mut groups = Vec::with_capacity(self.port_graph.groups[server].len() + 1);
        for (group, line) in self.lined(server, (mode_input, arriving), class)? {
            let curves = GroupCurves { line, ..GroupCurves::default() };
            groups.push(SteppedGroup { curves, steps: Vec::new() });
            self.add_flows(group, (mode_input, arriving), class, &mut groups, told)?;
        }
        if self.topology.servers[server].is_trunk && !self.signals.is_zero() {
            let higher = Flows { steady: self.signals, ending: Bucket::ZERO };
            let curves = GroupCurves { higher, ..GroupCurves::default() };
            groups.push(SteppedGroup { curves, steps: Vec::new() });
        }
        Some(groups)
    }

    /// The groups of a server, each with the Λ of what brought it of `class` and above; `None` without
    /// a bound at a processor. The line between a processor and its ports carries all as one.
    pub(crate) fn lined<'s>(
        &'s self,
        server: usize,
        (mode_input, arriving): (&ModeInput, &Arriving),
        class: u8,
    ) -> Option<Vec<(&'s Group, Option<Bucket>)>> {
        let node = self.topology.servers[server].node;
        let link = self.processors.site(node).and_then(|site| site.processor.link);
        if let Some((link, all)) = link.zip(self.port_graph.joint[server].as_ref()) {
            let line =
                self.shared_line(node, link.rate_bps, self.largest_of(all, mode_input, class));
            return Some(vec![(all, line)]);
        }
        let lined = |group: &'s Group| {
            let line = match group.line.filter(|_| self.options.line_shaping) {
                Some(line) => {
                    Some(self.line(line, self.largest_of(group, mode_input, class), arriving)?)
                }
                None => None,
            };
            Some((group, line))
        };
        self.port_graph.groups[server].iter().map(lined).collect()
    }

    /// L of a group: the largest frame that may be of `class` or above.
    fn largest_of(&self, group: &Group, mode_input: &ModeInput, class: u8) -> i128 {
        let counts = |&&v: &&usize| self.share(mode_input, v).class_first() <= class;
        let counted = group.visits.iter().filter(counts);
        counted.filter_map(|&v| self.frame_ubit(mode_input, v)).max().unwrap_or(0)
    }

    /// Adds the flows of the group that stands last, and the sets within.
    fn add_flows<'s>(
        &'s self,
        group: &'s Group,
        (mode_input, arriving): (&ModeInput, &Arriving),
        class: u8,
        groups: &mut Vec<SteppedGroup>,
        told: &mut Vec<(usize, &'s UpstreamSet)>,
    ) -> Option<()> {
        let root = groups.len() - 1;
        let sets = self.add_upstream(group, (mode_input, arriving), class, groups, told)?;
        for (place, &visit) in group.visits.iter().enumerate() {
            if self.frame_ubit(mode_input, visit).is_none() {
                continue;
            }
            let share = self.share(mode_input, visit);
            let first = share.class_first();
            if first > class {
                continue;
            }
            let ends = share.is_ending(self.port_graph.visits[visit].depth);
            let steps = arriving.steps[visit].filter(|_| self.has_staircases());
            let set = group.upstream.innermost(place).and_then(|set| sets.get(set).copied());
            let curves = &mut groups[set.unwrap_or(root)];
            curves.add(arriving.bursts[visit]?, steps, first < class, ends);
        }
        Some(())
    }

    /// Λ at the queues behind `line`: L + B + C·(t + tick + j + Y); `None` without a bound at the
    /// processor there.
    pub(crate) fn line(
        &self,
        line: usize,
        frame_ubit: i128,
        arriving: &Arriving,
    ) -> Option<Bucket> {
        let upstream = &self.topology.servers[line];
        if self.is_fluid() {
            return Some(Bucket::line(0, upstream.rate_bps));
        }
        let below = self.topology.nodes[upstream.node].below_scheduler_ubit();
        let jitter = self.topology.nodes[upstream.peer].latency_jitter_ps();
        let varying = jitter.saturating_add(arriving.varying[line]?.0);
        let varying = Picos(varying.saturating_add(upstream.tick_ps));
        Some(Bucket::line(frame_ubit + below, upstream.rate_bps).grown(varying))
    }

    /// Λ of everything that came over the line between a processor and its ports: L + R·(t + j).
    fn shared_line(&self, node: usize, rate_bps: u64, frame_ubit: i128) -> Option<Bucket> {
        if !self.options.line_shaping {
            return None;
        }
        if self.is_fluid() {
            return Some(Bucket::line(0, rate_bps));
        }
        let jitter = Picos(self.topology.nodes[node].latency_jitter_ps());
        Some(Bucket::line(frame_ubit, rate_bps).grown(jitter))
    }

    /// Θ of a class.
    pub(crate) fn ending(&self, server: usize, mode_input: &ModeInput, class: u8) -> Option<Picos> {
        let endings = mode_input.endings.get(server)?;
        endings.iter().find(|(k, _)| *k == class).and_then(|(_, after)| *after)
    }

    /// The line, a frame of lower classes in the way, and what ends.
    fn seen_by(&self, server: usize, mode_input: &ModeInput, class: u8) -> Server {
        let rate_bps = self.topology.servers[server].rate_bps;
        let ending_after = self.ending(server, mode_input, class);
        Server { ending_after, ..Server::new(rate_bps, self.blocking(server, mode_input, class)) }
    }

    /// D of a class, from the place in the queue to the last bit on the wire.
    pub(crate) fn delay(
        &self,
        server: usize,
        mode_input: &ModeInput,
        arriving: &Arriving,
        class: u8,
    ) -> Option<Picos> {
        let groups = self.groups(server, (mode_input, arriving), class, &mut Vec::new())?;
        self.delay_of(server, mode_input, class, &groups)
    }

    /// The delay, of groups at hand.
    pub(crate) fn delay_of(
        &self,
        server: usize,
        mode_input: &ModeInput,
        class: u8,
        groups: &[SteppedGroup],
    ) -> Option<Picos> {
        let it = self.seen_by(server, mode_input, class);
        let buckets = buckets(groups);
        let mut most = delay(it, &buckets)?;
        if has_steps(groups)
            && let Some(longest) = busy_period(it, &buckets)
        {
            let horizon = busy_period_stepped(it, groups, longest);
            most = delay_stepped(it, groups, horizon, most);
        }
        Some(Picos(most.0 + self.topology.servers[server].tick_ps))
    }

    /// W: the longest busy period of classes up to `class`.
    pub(crate) fn busy_period(
        &self,
        server: usize,
        mode_input: &ModeInput,
        arriving: &Arriving,
        class: u8,
    ) -> Option<Picos> {
        let groups = self.groups(server, (mode_input, arriving), class, &mut Vec::new())?;
        let it = self.seen_by(server, mode_input, class);
        let longest = busy_period(it, &buckets(&groups))?;
        Some(if has_steps(&groups) { busy_period_stepped(it, &groups, longest) } else { longest })
    }

    /// The backlog bound over all classes, bits on the wire rounded up.
    pub(crate) fn backlog_bits(
        &self,
        server: usize,
        mode_input: &ModeInput,
        arriving: &Arriving,
    ) -> Option<u64> {
        let groups = self.groups(server, (mode_input, arriving), u8::MAX, &mut Vec::new())?;
        let rate = self.topology.servers[server].rate_bps;
        let last = self.classes(server, mode_input).last().copied().unwrap_or(0);
        let ending_after = self.ending(server, mode_input, last);
        // The lines in front may hold back what overloads the port: that is no bound to rely on.
        let it = Server { ending_after, ..Server::new(rate, 0) };
        let buckets = buckets(&groups);
        let free = buckets.iter().map(|group| group.free());
        backlog(it, &free.collect::<Vec<_>>())?;
        let mut most = backlog(it, &buckets)?;
        if has_steps(&groups)
            && let Some(horizon) = self.busy_period(server, mode_input, arriving, last)
            && let Some(stepped) = backlog_stepped(it, &groups, horizon)
        {
            most = most.min(stepped);
        }
        // What is below every flow may be on the line when the busy period begins.
        let in_the_way = match self.other_frame() {
            0 => 0,
            _ => self.blocking(server, mode_input, last),
        };
        // Of what is being sent, a signal may be the largest.
        let has_signals = self.topology.servers[server].is_trunk && !self.signals.is_zero();
        let signal = if has_signals { SIGNAL_WIRE_UBIT } else { 0 };
        let idle = if self.is_fluid() { 0 } else { self.idle(server, mode_input) };
        let frames = self.largest_frame(server, mode_input, None).max(signal) + in_the_way + idle;
        // A frame is handed over at the whole nanosecond behind its end, and is in the buffer until then.
        let tick = Bucket::line(0, rate).grown(Picos(self.topology.servers[server].tick_ps));
        u64::try_from(div_up(most + frames + tick.burst_ubit, 1_000_000)).ok()
    }

    /// The long-run rate of classes up to `class`, signals included; ending flows are not.
    pub(crate) fn rate_ubps(&self, server: usize, mode_input: &ModeInput, class: u8) -> i128 {
        let lasting = self.present(server, mode_input).filter(|&v| {
            let share = self.share(mode_input, v);
            share.class_first() <= class && !share.is_ending(self.port_graph.visits[v].depth)
        });
        let rate = |v: usize| {
            let share = self.share(mode_input, v);
            let forwarded = share.forwarded.filter(|_| self.port_graph.visits[v].depth > 0);
            let enforced =
                forwarded.and_then(|f| Some(f.rate_unset_ubps.unwrap_or(f.enforced?.rate_ubps)));
            enforced.unwrap_or(share.source.rate_ubps)
        };
        let signals =
            if self.topology.servers[server].is_trunk { self.signals.rate_ubps } else { 0 };
        lasting.map(rate).fold(signals, i128::saturating_add)
    }
}

fn has_steps(groups: &[SteppedGroup]) -> bool {
    groups.iter().any(|group| !group.steps.is_empty())
}

fn buckets(groups: &[SteppedGroup]) -> Vec<GroupCurves> {
    groups.iter().map(SteppedGroup::buckets).collect()
}
