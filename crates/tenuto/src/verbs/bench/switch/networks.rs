//! MC-SDN's laboratory (its section VI): nine switches as a star, a grid and a line, so many rules
//! in each, and as its fourth case packets that wait in the queues when the mode changes.

use crate::failure::Failure;
use std::fmt::Write;
use tenuto_model::{MemorySources, Network, read_network};

pub(super) const SWITCHES: usize = 9;
/// Hosts at the first switch beside its own, whose flows fill its queues.
const CROWD: usize = 4;
/// Where those go.
const CROWDED: &str = "h2";
/// Of the flow that raises the mode.
const QUIET_MS: u32 = 100;
const PERIOD_LO_MS: u64 = 10;
const PERIOD_HI_MS: u64 = 1;

/// How switches are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Star,
    Grid,
    Linear,
}

impl Shape {
    pub(super) const ALL: [Self; 3] = [Self::Star, Self::Grid, Self::Linear];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Star => "star",
            Self::Grid => "grid",
            Self::Linear => "linear",
        }
    }

    /// Pairs of switches, counted from 1.
    fn links(self) -> Vec<(usize, usize)> {
        match self {
            Self::Star => (2..=SWITCHES).map(|leaf| (1, leaf)).collect(),
            Self::Linear => (1..SWITCHES).map(|switch| (switch, switch + 1)).collect(),
            Self::Grid => {
                let right = (1..SWITCHES).filter(|n| n % 3 != 0).map(|n| (n, n + 1));
                right.chain((1..=SWITCHES - 3).map(|n| (n, n + 3))).collect()
            }
        }
    }
}

/// Flows that fill a queue, so that packets wait when the mode changes: all send at once to one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crowd {
    /// Of the host's line, Mbit/s.
    line_mbps: u32,
    message_kb: u32,
    period_ms: u32,
    /// Before a return: what a mode leaves behind on such a line takes so long to settle.
    quiet_ms: u32,
}

impl Crowd {
    /// Four lines into one as fast: of 1100 frames three quarters come to wait.
    pub(super) const FAST: Self =
        Self { line_mbps: 1_000, message_kb: 400, period_ms: 20, quiet_ms: QUIET_MS };
    /// A tenth of the frames per second, which wait longer: 820 of them for up to 100 ms.
    pub(super) const SLOW: Self =
        Self { line_mbps: 100, message_kb: 300, period_ms: 120, quiet_ms: 800 };
}

/// One network of the laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Laboratory {
    pub(super) shape: Shape,
    /// Flows with an entry in every switch.
    pub(super) rules: usize,
    pub(super) crowd: Option<Crowd>,
}

impl Laboratory {
    /// Three shapes by 1, 50 and 100 rules, and 100 rules with full queues.
    pub(super) fn all() -> Vec<Self> {
        let cases = [(1, None), (50, None), (100, None), (100, Some(Crowd::FAST))];
        let of = |shape| cases.map(|(rules, crowd)| Self { shape, rules, crowd });
        Shape::ALL.into_iter().flat_map(of).collect()
    }

    /// The flow whose excess raises the mode.
    pub(super) const TRIGGER: &'static str = "f1";
    /// The host that sends it.
    pub(super) const REQUESTER: &'static str = "h1";

    /// From one raise to the next: the mode is back by then, and twice the dwell time has passed.
    pub(super) fn cycle_ns(self) -> u64 {
        let quiet_ms = self.crowd.map_or(QUIET_MS, |crowd| crowd.quiet_ms);
        (u64::from(quiet_ms) + 200) * 1_000_000
    }

    /// `100+`: so many rules, and packets that wait.
    pub(super) fn rules_words(self) -> String {
        format!("{}{}", self.rules, if self.crowd.is_some() { "+" } else { "" })
    }

    /// `star 100+`
    pub(super) fn name(self) -> String {
        format!("{} {}", self.shape.name(), self.rules_words())
    }

    pub(super) fn network(self) -> Result<Network, Failure> {
        let text = self.text();
        let sources = MemorySources::new().with("laboratory.yaml", &text);
        let read = read_network(&sources, "laboratory.yaml").map(|(network, _)| network);
        // Ours, and read in the tests: what is reported here would be a slip of this file.
        read.map_err(|found| Failure::undecidable(format!("{found:?}"), None))
    }

    fn text(self) -> String {
        let mut out = self.nodes();
        out.push_str(&self.links());
        out.push_str(&self.flows());
        let quiet_ms = self.crowd.map_or(QUIET_MS, |crowd| crowd.quiet_ms);
        let _ = writeln!(out, "mode_return: {{quiet: {quiet_ms} ms}}");
        out
    }

    /// Its meters are whole kbit, so that Open vSwitch can be told the very same.
    fn nodes(self) -> String {
        let list = |prefix: &str, count: usize, what: &str| {
            let all: Vec<String> = (1..=count).map(|n| format!("{prefix}{n}: {what}")).collect();
            all.join(", ")
        };
        format!(
            "tenuto: 1\nname: {}\nmodes: [LO, HI]\nhosts: {{{}, {}}}\nswitches: {{{}}}\n\
             profiles: {{kbit: {{like: tenuto, meter_rate_step: 1 kbit/s, meter_burst_step: 1 kbit}}}}\n\
             controllers: {{c1: {{manages: all}}}}\n\
             defaults: {{link: {{rate: 1 Gbit/s, length: 2 m}}, flow: {{match: five-tuple}}}}\n",
            self.shape.name(),
            list("h", SWITCHES, "{}"),
            list("a", CROWD, "{}"),
            list("w", SWITCHES, "{profile: kbit}"),
        )
    }

    fn links(self) -> String {
        let mut out = String::from("links:\n");
        let mut link = |a: String, b: String| {
            let rate = self.crowd.filter(|_| a == CROWDED);
            let rate = rate.map_or(String::new(), |c| format!(", rate: {} Mbit/s", c.line_mbps));
            let _ = writeln!(out, "  - {{ends: [{a}, {b}]{rate}}}");
        };
        (1..=SWITCHES).for_each(|n| link(format!("h{n}"), format!("w{n}")));
        (1..=CROWD).for_each(|n| link(format!("a{n}"), "w1".into()));
        self.shape.links().into_iter().for_each(|(a, b)| link(format!("w{a}"), format!("w{b}")));
        out
    }

    fn flows(self) -> String {
        let targets: Vec<String> = (2..=SWITCHES).map(|n| format!("h{n}")).collect();
        let targets = targets.join(", ");
        let mut out = format!(
            "flows:\n  {}: {{source: {}, targets: [{targets}], level: HI, message: 100 B, \
             period: {{LO: {PERIOD_LO_MS} ms, HI: {PERIOD_HI_MS} ms}}, priority: 0}}\n",
            Self::TRIGGER,
            Self::REQUESTER
        );
        for n in 2..=self.rules {
            let _ = writeln!(
                out,
                "  f{n}: {{source: h1, targets: [{targets}], level: HI, message: 100 B, \
                 period: 1000 ms, priority: 1}}"
            );
        }
        if let Some(Crowd { message_kb, period_ms, .. }) = self.crowd {
            for n in 1..=CROWD {
                let _ = writeln!(
                    out,
                    "  b{n}: {{source: a{n}, targets: [{CROWDED}], level: LO, message: \
                     {message_kb} kB, period: {period_ms} ms, priority: 2, out_of_mode: drop}}"
                );
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenuto_model::MeterSpec;
    use tenuto_planner::{Options, plan};

    #[test]
    fn every_laboratory_is_a_network_of_nine_switches() {
        for laboratory in Laboratory::all() {
            let network = laboratory.network().expect("it is ours");
            assert_eq!(network.switches.len(), SWITCHES);
            let crowd = if laboratory.crowd.is_some() { CROWD } else { 0 };
            assert_eq!(network.flows.len(), laboratory.rules + crowd);
            let profile = &network.profiles["kbit"];
            let steps = (profile.meter_rate_step_bps, profile.meter_burst_step_bytes);
            assert_eq!(steps, (1_000, 125), "as Open vSwitch has them");
            let options = Options { would_fit: false, ..Options::default() };
            let deployment = plan(&network, &options).switches;
            let meters = deployment.iter().flat_map(|switch| &switch.meters).collect::<Vec<_>>();
            assert!(!meters.is_empty());
            let is_kbit = |m: &&&MeterSpec| {
                m.rate_bps.is_multiple_of(1_000) && m.burst_bytes.is_multiple_of(125)
            };
            assert_eq!(meters.iter().filter(is_kbit).count(), meters.len());
        }
    }
}
