//! MC-SDN's laboratory (its section VI): nine switches as a star, a grid and a line, so many rules
//! in each, and as its fourth case packets that wait in the queues when the mode changes.

use crate::failure::Failure;
use std::fmt::Write;
use tenuto_model::{MemorySources, Network, read_network};

const SWITCHES: usize = 9;
/// Hosts at the first switch beside its own, whose flows fill its queues.
const CROWD: usize = 4;
/// Of the flow that raises the mode.
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

/// One network of the laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Laboratory {
    pub(super) shape: Shape,
    /// Flows with an entry in every switch.
    pub(super) rules: usize,
    /// Whether packets wait when the mode changes.
    pub(super) is_crowded: bool,
}

impl Laboratory {
    /// Three shapes by 1, 50 and 100 rules, and 100 rules with full queues.
    pub(super) fn all() -> Vec<Self> {
        let cases = [(1, false), (50, false), (100, false), (100, true)];
        let of = |shape| cases.map(|(rules, is_crowded)| Self { shape, rules, is_crowded });
        Shape::ALL.into_iter().flat_map(of).collect()
    }

    /// The flow whose excess raises the mode.
    pub(super) const TRIGGER: &'static str = "f1";

    pub(super) fn network(self) -> Result<Network, Failure> {
        let text = self.text();
        let sources = MemorySources::new().with("laboratory.yaml", &text);
        let read = read_network(&sources, "laboratory.yaml").map(|(network, _)| network);
        // Ours, and read in the tests: what is reported here would be a slip of this file.
        read.map_err(|found| Failure::undecidable(format!("{found:?}"), None))
    }

    fn text(self) -> String {
        let list = |prefix: &str, count: usize, what: &str| {
            let all: Vec<String> = (1..=count).map(|n| format!("{prefix}{n}: {what}")).collect();
            all.join(", ")
        };
        let mut out = format!(
            "tenuto: 1\nname: {}\nmodes: [LO, HI]\nhosts: {{{}, {}}}\nswitches: {{{}}}\n\
             controllers: {{c1: {{manages: all}}}}\n\
             defaults: {{link: {{rate: 1 Gbit/s, length: 2 m}}, flow: {{match: five-tuple}}}}\n\
             links:\n",
            self.shape.name(),
            list("h", SWITCHES, "{}"),
            list("a", CROWD, "{}"),
            list("w", SWITCHES, "{profile: tenuto}"),
        );
        let mut link = |a: String, b: String| {
            let _ = writeln!(out, "  - {{ends: [{a}, {b}]}}");
        };
        (1..=SWITCHES).for_each(|n| link(format!("h{n}"), format!("w{n}")));
        (1..=CROWD).for_each(|n| link(format!("a{n}"), "w1".into()));
        self.shape.links().into_iter().for_each(|(a, b)| link(format!("w{a}"), format!("w{b}")));
        let targets: Vec<String> = (2..=SWITCHES).map(|n| format!("h{n}")).collect();
        let targets = targets.join(", ");
        let _ = writeln!(
            out,
            "flows:\n  {}: {{source: h1, targets: [{targets}], level: HI, message: 100 B, \
             period: {{LO: {PERIOD_LO_MS} ms, HI: {PERIOD_HI_MS} ms}}, priority: 0}}",
            Self::TRIGGER
        );
        for n in 2..=self.rules {
            let _ = writeln!(
                out,
                "  f{n}: {{source: h1, targets: [{targets}], level: HI, message: 100 B, \
                 period: 1000 ms, priority: 1}}"
            );
        }
        if self.is_crowded {
            // Four lines into one at once: of 1100 frames three quarters come to wait.
            for n in 1..=CROWD {
                let _ = writeln!(
                    out,
                    "  b{n}: {{source: a{n}, targets: [h2], level: LO, message: 400 kB, \
                     period: 20 ms, priority: 2, out_of_mode: drop}}"
                );
            }
        }
        out.push_str("mode_return: {quiet: 100 ms}\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_laboratory_is_a_network_of_nine_switches() {
        for laboratory in Laboratory::all() {
            let network = laboratory.network().expect("it is ours");
            assert_eq!(network.switches.len(), SWITCHES);
            let crowd = if laboratory.is_crowded { CROWD } else { 0 };
            assert_eq!(network.flows.len(), laboratory.rules + crowd);
        }
    }
}
