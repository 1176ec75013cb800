//! What a frame costs from the port it enters by to the port it leaves by, without any port's I/O.

use super::{Handling, PlannedSwitch, Spread};
use serde::Serialize;
use tenuto_io::realtime::thread_processor_time;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pipeline {
    /// Virtual links, each with an entry in three tables, a meter and a monitor; of a general switch, entries
    /// of one table.
    pub links: u32,
    /// What becomes of their frames.
    pub handling: Handling,
    /// Bytes of a frame, FCS included.
    pub frame_bytes: usize,
}

/// What it cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PipelineCost {
    /// What was measured.
    pub pipeline: Pipeline,
    /// Processor time of a frame: into the store, through the switch, out of it, nanoseconds.
    pub ns_per_frame: Spread,
    /// The part of it that the store takes, measured without the switch, nanoseconds.
    pub store_ns_per_frame: Spread,
}

/// Measures each with so many frames at a time, taking turns, `repetitions` times.
pub fn pipeline_costs(
    all: &[Pipeline],
    frames: u32,
    repetitions: u32,
    progress: &mut dyn FnMut(&str),
) -> Vec<PipelineCost> {
    let mut switches = Vec::new();
    for it in all {
        progress(&format!("pipeline: {:?}, {} links, {} B", it.handling, it.links, it.frame_bytes));
        let mut switch = PlannedSwitch::handling(it.handling, it.links, it.frame_bytes);
        switch.pass(frames);
        switches.push((switch, Vec::new(), Vec::new()));
    }
    for repetition in 1..=repetitions {
        progress(&format!("pipeline: repetition {repetition} of {repetitions}"));
        for (it, (switch, through, store)) in all.iter().zip(&mut switches) {
            // What the neighbours of this machine have put into the caches is not ours.
            switch.pass(frames / 8);
            through.push(timed(|| switch.pass(frames) / u64::from(it.handling.copies())));
            store.push(timed(|| switch.pass_by(frames)));
        }
    }
    let cost = |(&pipeline, (_, through, store)): (&Pipeline, (_, Vec<f64>, Vec<f64>))| {
        let (ns_per_frame, store_ns_per_frame) = (Spread::of(through), Spread::of(store));
        PipelineCost { pipeline, ns_per_frame, store_ns_per_frame }
    };
    all.iter().zip(switches).map(cost).collect()
}

/// Nanoseconds of processor time per unit of work done.
pub(super) fn timed(work: impl FnOnce() -> u64) -> f64 {
    let before = thread_processor_time();
    let done = work();
    let spent = thread_processor_time() - before;
    spent.as_ns() as f64 / done.max(1) as f64
}
