//! Runs on which somebody looks, and runs to the last frame.

use super::firmware::Devices;
use super::frame_log::FrameLog;
use super::watch::{Onlooker, Watch};
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
    world.watch = Some(Box::new(Watch::log()));
    let document = world.run_to_end(progress);
    world.drain();
    let recorder = world.watch.take().and_then(|it| it.recorder).unwrap_or_default();
    if recorder.is_full() {
        return Err(RunError::LogFull);
    }
    let names: Vec<&str> = world.nodes.iter().map(|node| node.name.as_str()).collect();
    Ok((document, recorder.log(plan, scenario.seed, &names)))
}

/// As [`run`](super::run), with somebody who looks on; switches behave as the devices of their profiles if they are to.
///
/// # Errors
/// As [`run`](super::run).
pub fn run_watched<'a>(
    plan: &'a Plan,
    scenario: &'a Scenario,
    devices: Option<Devices>,
    onlooker: &'a mut dyn Onlooker,
    progress: &mut dyn FnMut(RunProgress),
) -> Result<RunDocument, RunError> {
    let mut world = Clockwork::new(plan, scenario)?;
    if let Some(devices) = devices {
        world.equip(devices);
    }
    world.set_up()?;
    world.start_traffic();
    let mut watch = Watch::of(onlooker);
    watch.start(world.start);
    world.watch = Some(Box::new(watch));
    Ok(world.run_to_end(progress))
}

/// As [`run`](super::run), and how many frames nobody has let go of once sources have stopped and all that was
/// under way has come out; none, unless a switch died with frames in it.
///
/// # Errors
/// As [`run`](super::run).
pub fn run_to_rest(plan: &Plan, scenario: &Scenario) -> Result<(RunDocument, usize), RunError> {
    let mut world = Clockwork::new(plan, scenario)?;
    world.set_up()?;
    world.start_traffic();
    let document = world.run_to_end(&mut |_| {});
    world.drain();
    Ok((document, world.pool.in_use()))
}

impl Clockwork<'_> {
    /// Sources stop, and what is under way comes out.
    fn drain(&mut self) {
        let now = self.now;
        self.babblers.iter_mut().for_each(|it| it.until = it.until.min(now));
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
