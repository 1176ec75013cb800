//! One stream at one switch of its tree: where its frames go, and what they are shown to.

use crate::deployment::header;
use crate::deployment::tables::{Check, Class, InForce, Outcome, Tables, TooLong};
use crate::description::net::Net;
use crate::description::read::{Match, PortQueue};
use crate::finding::rule;
use crate::rows::context::Context;
use crate::streams::levels::watching;
use crate::streams::stream::Stream;

/// One stream at one switch, with some levels in force.
struct Visit<'a> {
    context: &'a Context<'a>,
    stream: usize,
    node: usize,
    expected: Vec<PortQueue>,
    is_first: bool,
    is_watching: bool,
    levels: InForce,
}

/// Checks every switch that a stream crosses; `tables_of` gives the tables of a node.
pub(crate) fn check<'t>(
    context: &Context<'_>,
    index: usize,
    (identity, levels): (Match, InForce),
    tables_of: impl Fn(usize) -> Option<&'t Tables<'t>>,
    steps: &mut u64,
) -> Result<(), TooLong> {
    let (net, stream) = (context.net, &context.streams[index]);
    let watching = watching(net, stream);
    for (place, tree_port) in stream.tree.iter().enumerate() {
        let node = net.ports[tree_port.port].peer;
        let Some(tables) = tables_of(node) else { continue };
        let in_port = net.ports[Net::reverse(tree_port.port)].number;
        let visit = Visit {
            context,
            stream: index,
            node,
            expected: expected(context, stream, place, levels.forwarding),
            is_first: tree_port.parent.is_none(),
            is_watching: watching.contains(&node),
            levels,
        };
        if let Some(found) = visit.wrong(tables, in_port, identity, steps)? {
            let claim = format!("ports and queues {}", list(&visit.expected));
            context.wrong(rule::WALK, visit.label(), claim, found);
        }
    }
    Ok(())
}

/// The outputs that the claims give a stream behind one place of its tree, in order.
fn expected(context: &Context<'_>, stream: &Stream, place: usize, level: usize) -> Vec<PortQueue> {
    let net = context.net;
    let flow = &net.flows[stream.flow];
    let Some(contract) = flow.contracts.get(level) else { return Vec::new() };
    let children = stream.children[place].iter().map(|child| stream.tree[*child].port);
    let output = |port: usize| PortQueue { port: net.ports[port].number, queue: contract.class };
    let mut outputs: Vec<PortQueue> = children.map(output).collect();
    outputs.sort_unstable();
    outputs
}

impl Visit<'_> {
    /// What is wrong with the stream here, or nothing.
    fn wrong(
        &self,
        tables: &Tables<'_>,
        in_port: u32,
        identity: Match,
        steps: &mut u64,
    ) -> Result<Option<String>, TooLong> {
        let flow = self.context.streams[self.stream].flow;
        let in_port = Some(in_port);
        let frame = Match { in_port, ..header::frame(self.context.net, flow) };
        let built = tables.walk(Class::of(frame), self.levels, steps)?;
        // Beyond the frames that our end systems build: anything that counts as this flow.
        let any = Match { in_port, ..identity };
        let all = tables.walk(Class::of(any), self.levels, steps)?;
        let built = built.iter().find_map(|outcome| self.judge_built(outcome));
        Ok(built.or_else(|| all.iter().find_map(|outcome| self.judge(outcome))))
    }

    fn level(&self) -> usize {
        self.context.net.flows[self.context.streams[self.stream].flow].level
    }

    /// The cookie of the flow's entries.
    fn cookie(&self) -> u64 {
        cookie_of(self.context.streams[self.stream].flow)
    }

    /// Whether frames have to get through: admitted at the first switch, forwarded behind it.
    fn must_pass(&self) -> bool {
        self.levels.admitted <= self.level()
    }

    /// Whether frames may get through: behind the first switch, until it has swapped.
    fn may_pass(&self) -> bool {
        if self.is_first { self.must_pass() } else { self.levels.forwarding <= self.level() }
    }

    /// What is wrong with what can happen to the frames that our end systems build. Of entries of
    /// equal precedence either may win, so nothing may go wrong with any.
    fn judge_built(&self, outcome: &Outcome) -> Option<String> {
        if self.must_pass() && outcome.outputs.is_empty() {
            return Some("dropped".into());
        }
        // What is out of mode is no loss where an entry of the flow drops it; one that no entry has is.
        if outcome.outputs.is_empty() && (outcome.is_missed || outcome.cookie != self.cookie()) {
            return Some("dropped by no entry of the flow".into());
        }
        // What is out of mode is dropped behind its monitor, which tells when its host is quiet.
        let is_monitored = outcome.checks.iter().any(|check| matches!(check, Check::Monitor(_)));
        (self.is_watching && !is_monitored).then(|| "not monitored".into())
    }

    /// What is wrong with what can happen to anything that counts as this flow.
    fn judge(&self, outcome: &Outcome) -> Option<String> {
        if let Some(check) = outcome.checks.iter().find(|check| !self.is_own(**check)) {
            return Some(format!("{check:?} is not of this copy of the flow"));
        }
        let kinds: Vec<&str> = outcome.checks.iter().map(|check| kind(*check)).collect();
        if outcome.outputs.is_empty() {
            let is_twice = |at: usize| kinds[..at].contains(&kinds[at]);
            return (0..kinds.len()).any(is_twice).then(|| format!("passes {kinds:?}, dropped"));
        }
        if !self.may_pass() {
            return Some(format!("out of mode, passes to {}", list(&outcome.outputs)));
        }
        if outcome.outputs != self.expected {
            return Some(list(&outcome.outputs));
        }
        // Frames that wait at a change of modes are those of the flow that they were sent as.
        if outcome.sent_as.iter().any(|cookie| *cookie != self.cookie()) {
            return Some(format!("sent as flows of cookies {:?}", outcome.sent_as));
        }
        let mut wanted = Vec::new();
        wanted.extend(self.is_watching.then_some("monitor"));
        wanted.extend(self.is_first.then_some("meter"));
        if kinds != wanted {
            return Some(format!("passes {kinds:?} instead of {wanted:?}"));
        }
        outcome.is_checked_late.then(|| format!("leaves before {kinds:?}"))
    }

    /// Whether a meter or monitor is the one of this copy of the flow at this switch.
    fn is_own(&self, check: Check) -> bool {
        let attributed = &self.context.attributed;
        match check {
            Check::Monitor(id) => {
                attributed.monitor(self.stream, self.node).is_some_and(|own| own.id == id)
            }
            Check::Meter(id) => {
                let own = attributed.meter(self.stream).filter(|_| self.is_first);
                own.is_some_and(|own| own.id == id)
            }
        }
    }

    fn label(&self) -> String {
        let net = self.context.net;
        let flow = &net.flows[self.context.streams[self.stream].flow];
        let levels = label(net, self.levels);
        format!("{} at {}, {levels}", flow.raw.name, net.nodes[self.node].name)
    }
}

/// The cookie of the entries of a flow.
pub(crate) const fn cookie_of(flow: usize) -> u64 {
    flow as u64 + 1
}

const fn kind(check: Check) -> &'static str {
    match check {
        Check::Monitor(_) => "monitor",
        Check::Meter(_) => "meter",
    }
}

/// The levels in force, in words.
pub(crate) fn label(net: &Net<'_>, levels: InForce) -> String {
    let name = |level: usize| net.raw.modes.get(level).map_or("?", String::as_str);
    if levels.admitted == levels.forwarding {
        name(levels.admitted).to_owned()
    } else {
        format!("admitting {}, forwarding {}", name(levels.admitted), name(levels.forwarding))
    }
}

/// Outputs, in words.
pub(crate) fn list(outputs: &[PortQueue]) -> String {
    if outputs.is_empty() {
        return "dropped".into();
    }
    let one = |output: &PortQueue| format!("{} (queue {})", output.port, output.queue);
    outputs.iter().map(one).collect::<Vec<_>>().join(", ")
}
