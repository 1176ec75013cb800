//! What `sim` writes down while a run goes on: captures of links, a trace for a browser, delays at every port.

mod pcap;
mod trace;

use crate::failure::Failure;
use crate::output;
use std::path::Path;
use tenuto_model::{Plan, Scenario};
use tenuto_world::RunDocument;
use tenuto_world::clockwork::{self, Devices, HopDelays, Onlookers, RunError, RunProgress};

/// What the command line asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// Folder of captures.
    pub(crate) pcap: Option<&'a Path>,
    /// Links that are captured; all if none is named.
    pub(crate) links: &'a [String],
    /// File of the trace.
    pub(crate) trace: Option<&'a Path>,
    /// Delays at every port.
    pub(crate) hops: bool,
    /// How switches behave as devices, if they are to.
    pub(crate) devices: Option<Devices>,
}

impl Wanted<'_> {
    /// Whether somebody has to look on.
    pub(crate) const fn is_any(&self) -> bool {
        self.pcap.is_some() || self.trace.is_some() || self.hops || self.devices.is_some()
    }
}

/// A run of which is written down what the command line asks for.
pub(crate) fn run(
    wanted: &Wanted<'_>,
    plan: &Plan,
    scenario: &Scenario,
    progress: &mut dyn FnMut(RunProgress),
) -> Result<RunDocument, Failure> {
    let mut captures =
        wanted.pcap.map(|it| pcap::Captures::open(plan, it, wanted.links)).transpose()?;
    let mut trace = wanted.trace.map(|it| trace::Trace::open(plan, it)).transpose()?;
    let mut hops = wanted.hops.then(HopDelays::default);
    let watchers = (captures.as_mut(), trace.as_mut(), hops.as_mut());
    let ran = watched((plan, scenario), wanted.devices, watchers, progress);
    let mut document = ran.map_err(|error| {
        Failure::undecidable(format!("the run could not be made: {error}"), None)
    })?;
    if let Some(captures) = captures {
        captures.finish()?;
    }
    if let (Some(trace), Some(path)) = (trace, wanted.trace)
        && let Some(end_ns) = trace.finish()?
    {
        let at = crate::format::seconds(end_ns);
        let most = trace::EVENTS_MAX;
        let shown = path.display();
        output::complain(&format!("note: {shown} ends at {at} s, after {most} events"));
    }
    if let Some(hops) = hops {
        document.hop_delays = hops.rows(plan);
    }
    Ok(document)
}

type Watchers<'a> =
    (Option<&'a mut pcap::Captures>, Option<&'a mut trace::Trace>, Option<&'a mut HopDelays>);

fn watched(
    (plan, scenario): (&Plan, &Scenario),
    devices: Option<Devices>,
    (captures, trace, hops): Watchers<'_>,
    progress: &mut dyn FnMut(RunProgress),
) -> Result<RunDocument, RunError> {
    let mut all = Onlookers::default();
    if let Some(it) = captures {
        all.0.push(it);
    }
    if let Some(it) = trace {
        all.0.push(it);
    }
    if let Some(it) = hops {
        all.0.push(it);
    }
    clockwork::run_watched(plan, scenario, devices, &mut all, progress)
}
