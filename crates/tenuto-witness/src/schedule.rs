//! What the adversary chooses: releases, latencies, order at one instant, swaps; and what a conforming host may choose.

pub use crate::layout::WHOLE;
use crate::layout::{FlowLayout, Layout};
use serde::{Deserialize, Serialize};

/// Times that releases are put apart and settled again.
const APART_ROUNDS: usize = 3;

/// Everything about a run that is not fixed by the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// The mode that all switches are in at the start, long settled.
    pub start_level: u8,
    /// Messages, and frames of a babbling host; in order of time once [`Schedule::settle`] was called.
    pub releases: Vec<Release>,
    /// Per flow and switch (flow · switches + switch): which part of its latency range frames take.
    pub latencies: Vec<u16>,
    /// Per flow: order of its frames at one instant, lowest first; lines become free at 128.
    pub orders: Vec<u8>,
    /// Per switch: which part of a raise's spread passes before it swaps; with `signalled`, which part of its
    /// latency range mode signals take there.
    pub swaps: Vec<u16>,
    /// Switches swap when a signal of the raise reaches them, instead of anywhere within the certified spread.
    #[serde(default)]
    pub signalled: bool,
    /// The host that sends what it likes, by index.
    pub babbler: Option<usize>,
}

/// A message, or one frame of a babbling host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// When, ns.
    pub at_ns: u64,
    /// Flow by index.
    pub flow: usize,
    /// Size in the unit of the flow's contract; of a babbling host's frame, bytes with FCS.
    pub bytes: u32,
    /// The part of the latency range that its frames take at every switch, if not the flow's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<u16>,
    /// Message id of a babbling host's frame, in front of every class of its port; `None` for a message of a
    /// conforming host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub babbled: Option<u32>,
}

impl Release {
    /// A message of a conforming host.
    pub const fn message(at_ns: u64, flow: usize, bytes: u32) -> Self {
        Self { at_ns, flow, bytes, latency: None, babbled: None }
    }
}

impl Schedule {
    /// One without releases: least latencies, swaps at once.
    pub fn empty(layout: &Layout) -> Self {
        Self {
            start_level: 0,
            releases: Vec::new(),
            latencies: vec![0; layout.flows.len() * layout.switches.len()],
            orders: vec![100; layout.flows.len()],
            swaps: vec![0; layout.switches.len()],
            signalled: false,
            babbler: None,
        }
    }

    /// Makes every conforming host conform: sizes within the highest contract, releases within their jitter of
    /// nominal times that are a period apart. What comes too early is put off. Then sorts releases by time.
    pub fn settle(&mut self, layout: &Layout) {
        self.sort();
        let mut nominal_ns: Vec<u64> = vec![0; layout.flows.len()];
        for release in self.releases.iter_mut().filter(|it| it.babbled.is_none()) {
            let contract = layout.flows[release.flow].highest();
            let least = contract.frame_bytes_min.unwrap_or(1).min(contract.size.bytes());
            release.bytes = release.bytes.clamp(least.max(1), contract.size.bytes());
            let next_ns = &mut nominal_ns[release.flow];
            release.at_ns = release.at_ns.max(*next_ns);
            let nominal = (*next_ns).max(release.at_ns.saturating_sub(contract.jitter_ns));
            *next_ns = nominal + contract.period_ns;
        }
        self.sort();
    }

    /// Settles, with no two releases of one host at the same instant: an end system releases one message after the
    /// other, in an order that no schedule decides. Those that would be are a nanosecond apart, in their order.
    pub fn settle_apart(&mut self, layout: &Layout) {
        for _ in 0..APART_ROUNDS {
            self.settle(layout);
            let orders = &self.orders;
            self.releases.sort_by_key(|it| (it.at_ns, orders[it.flow]));
            let mut last_ns: Vec<Option<u64>> = vec![None; layout.hosts.len()];
            let mut moved = false;
            for release in self.releases.iter_mut().filter(|it| it.babbled.is_none()) {
                let last = &mut last_ns[layout.flows[release.flow].host];
                if last.is_some_and(|last| release.at_ns <= last) {
                    release.at_ns = last.map_or(release.at_ns, |it| it + 1);
                    moved = true;
                }
                *last = Some(release.at_ns);
            }
            if !moved {
                return;
            }
        }
        self.settle(layout);
    }

    /// Says the first release that a conforming host could not make.
    ///
    /// # Errors
    /// Flow and time.
    pub fn check(&self, layout: &Layout) -> Result<(), String> {
        for (index, flow) in layout.flows.iter().enumerate() {
            let own = self.releases.iter().filter(|it| it.flow == index);
            let is_babbler = self.babbler == Some(flow.host);
            check_flow(flow, is_babbler, own)?;
        }
        Ok(())
    }

    fn sort(&mut self) {
        self.releases.sort_by_key(|it| it.at_ns);
    }
}

fn check_flow<'a>(
    flow: &FlowLayout,
    is_babbler: bool,
    releases: impl Iterator<Item = &'a Release>,
) -> Result<(), String> {
    let contract = flow.highest();
    let mut next_ns = 0;
    for release in releases {
        let fault = |what: &str| Err(format!("{} at {} ns: {what}", flow.name, release.at_ns));
        if release.babbled.is_some() {
            if !is_babbler {
                return fault("its host does not babble");
            }
            continue;
        }
        if release.at_ns < next_ns {
            return fault("sooner than its contract allows");
        }
        if release.bytes > contract.size.bytes() {
            return fault("larger than its contract allows");
        }
        let nominal_ns = next_ns.max(release.at_ns.saturating_sub(contract.jitter_ns));
        next_ns = nominal_ns + contract.period_ns;
    }
    Ok(())
}
