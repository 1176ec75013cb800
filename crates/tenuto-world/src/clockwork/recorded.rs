//! Runs of which every frame is written down.

use super::frame_log::{FrameLog, Recorder};
use super::{Clockwork, Core, Plan, RunDocument, RunError, RunProgress, Scenario, Span};

/// Time after the end of a run in which frames that are under way come out.
const DRAIN: Span = Span::from_s(10);

/// As [`run`](super::run), with each frame of the run and its hops. Sources stop at the end of the scenario, and
/// what is under way then comes out before the log ends.
///
/// # Errors
/// As [`run`](super::run), and [`RunError::LogFull`].
pub fn run_with_frames(
    plan: &Plan,
    scenario: &Scenario,
    progress: &mut dyn FnMut(RunProgress),
) -> Result<(RunDocument, FrameLog), RunError> {
    let mut world = Clockwork::new(plan, scenario)?;
    world.set_up()?;
    world.start_traffic();
    world.recorder = Some(Recorder::default());
    let document = world.run_to_end(progress);
    world.drain();
    let recorder = world.recorder.take().unwrap_or_default();
    if recorder.is_full() {
        return Err(RunError::LogFull);
    }
    let names: Vec<&str> = world.nodes.iter().map(|node| node.name.as_str()).collect();
    Ok((document, recorder.log(plan, scenario.seed, &names)))
}

impl Clockwork<'_> {
    /// Sources stop, and what is under way comes out.
    fn drain(&mut self) {
        for node in &mut self.nodes {
            let Core::Host(host) = &mut node.core else { continue };
            let flows: Vec<u16> = host.config().senders.iter().map(|it| it.flow).collect();
            for flow in flows {
                // A host stops what it sends itself: no other flow is asked for.
                let _ = host.stop_flow(flow);
            }
        }
        let end = self.now + DRAIN;
        while self.pool.in_use() > 0 && self.queue.next_at().is_some_and(|at| at <= end) {
            self.step();
        }
    }
}
