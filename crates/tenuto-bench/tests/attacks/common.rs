//! Plans of networks that tests state as text.

use tenuto_model::{MemorySources, Network, Plan, read_network};
use tenuto_planner::{Curves, Options};
use tenuto_witness::layout::Layout;
use tenuto_witness::rows::{Row, Subject};

pub(crate) fn network(text: &str) -> Network {
    let sources = MemorySources::new().with("net.yaml", text);
    read_network(&sources, "net.yaml").unwrap_or_else(|it| panic!("{it}")).0
}

pub(crate) fn plan(text: &str, curves: Curves) -> Plan {
    let options = Options { curves, would_fit: false, ..Options::default() };
    let plan = tenuto_planner::plan(&network(text), &options);
    assert!(plan.feasible, "{:?}", plan.refusals);
    plan
}

pub(crate) fn layout(text: &str, curves: Curves) -> Layout {
    Layout::new(&plan(text, curves)).unwrap()
}

pub(crate) fn flow(layout: &Layout, name: &str) -> usize {
    layout.flows.iter().position(|it| it.name == name).unwrap()
}

/// The row of a flow's first target in the mode of that name.
pub(crate) fn row(layout: &Layout, name: &str, mode: &str) -> Row {
    let leaf = layout.flows[flow(layout, name)].leaves.start;
    let transition = layout.transition_labels.iter().position(|it| it == mode).unwrap();
    Row { subject: Subject::Delay(leaf), transition }
}

/// Four hosts: a burst of eight full frames (984.32 us), behind it a full frame of `s`, handed over at 1107.36 us;
/// the four keep the line of 1 Gbit/s to `d` busy for 49.216 us. A period later each host sends a smaller frame of
/// `s`, alone, which comes within that time.
pub(crate) const SMALL_BEHIND_LARGE: &str = "
tenuto: 1
name: small-behind-large
hosts: [b0, b1, b2, b3, e, d]
switches: {sw1: {profile: ideal}}
links:
  - {ends: [b0, sw1], rate: 100 Mbit/s}
  - {ends: [b1, sw1], rate: 100 Mbit/s}
  - {ends: [b2, sw1], rate: 100 Mbit/s}
  - {ends: [b3, sw1], rate: 100 Mbit/s}
  - {ends: [e, sw1], rate: 1 Gbit/s}
  - {ends: [d, sw1], rate: 1 Gbit/s}
flows:
  g0: {source: b0, targets: [b1], message: 11680 B, period: 90 ms, deadline: 50 ms, priority: 0}
  g1: {source: b1, targets: [b2], message: 11680 B, period: 90 ms, deadline: 50 ms, priority: 0}
  g2: {source: b2, targets: [b3], message: 11680 B, period: 90 ms, deadline: 50 ms, priority: 0}
  g3: {source: b3, targets: [b0], message: 11680 B, period: 90 ms, deadline: 50 ms, priority: 0}
  s0: {source: b0, targets: [d], frame: 1518 B, period: 1116 us, deadline: 5 ms, priority: 0}
  s1: {source: b1, targets: [d], frame: 1518 B, period: 1116 us, deadline: 5 ms, priority: 0}
  s2: {source: b2, targets: [d], frame: 1518 B, period: 1116 us, deadline: 5 ms, priority: 0}
  s3: {source: b3, targets: [d], frame: 1518 B, period: 1116 us, deadline: 5 ms, priority: 0}
  v: {source: e, targets: [d], frame: 64 B, period: 90 ms, deadline: 5 ms, priority: 1}
";

/// `f` may come every 2 ms, of which the monitor of LO (8 ms) sees nothing while `g`, as large as in HI, could have
/// delayed it by more than 6 ms. A message of `f` takes 615.2 us, one of `u` 1476.48 us: longer than 2 ms together.
pub(crate) const EARLY_UNSEEN: &str = "
tenuto: 1
name: early-unseen
modes: [LO, HI]
hosts: [h1, h2, h3, h4, h5]
switches: {sw1: {profile: tenuto}}
links:
  - {ends: [h1, sw1], rate: 100 Mbit/s}
  - {ends: [h2, sw1], rate: 100 Mbit/s}
  - {ends: [h5, sw1], rate: 100 Mbit/s}
  - {ends: [sw1, h3], rate: 100 Mbit/s}
  - {ends: [sw1, h4], rate: 100 Mbit/s}
flows:
  f: {source: h1, targets: [h3], level: HI, message: 7300 B, period: {LO: 8 ms, HI: 2 ms}, deadline: 50 ms, priority: 1}
  g: {source: h1, targets: [h4], level: HI, message: {LO: 1 kB, HI: 80 kB}, period: 100 ms, deadline: 50 ms, priority: 1}
  u: {source: h5, targets: [h3], level: HI, message: 17520 B, period: 100 ms, deadline: 50 ms, priority: 0}
  v: {source: h2, targets: [h3], level: LO, frame: 64 B, period: 100 ms, deadline: 50 ms, priority: 2}
tolerates: {babbling_hosts: 0, lost_signals: 0}
";

/// The same at the port of one host, whose other flows wait behind.
pub(crate) const EARLY_AT_ITS_OWN_PORT: &str = "
tenuto: 1
name: early-at-its-own-port
modes: [LO, HI]
hosts: [h1, h3, h4, h5]
switches: {sw1: {profile: tenuto}}
links:
  - {ends: [h1, sw1], rate: 100 Mbit/s}
  - {ends: [sw1, h3], rate: 100 Mbit/s}
  - {ends: [sw1, h4], rate: 100 Mbit/s}
  - {ends: [sw1, h5], rate: 100 Mbit/s}
flows:
  u: {source: h1, targets: [h3], level: HI, message: 17520 B, period: 100 ms, deadline: 50 ms, priority: 0}
  f: {source: h1, targets: [h4], level: HI, message: 7300 B, period: {LO: 8 ms, HI: 2 ms}, deadline: 50 ms, priority: 1}
  g: {source: h1, targets: [h3], level: HI, message: {LO: 1 kB, HI: 80 kB}, period: 100 ms, deadline: 50 ms, priority: 1}
  x: {source: h1, targets: [h5], level: LO, frame: 64 B, period: 100 ms, deadline: 50 ms, priority: 2}
tolerates: {babbling_hosts: 1, lost_signals: 0}
";
