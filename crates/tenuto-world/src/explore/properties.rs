//! What must hold in every state.

use super::world::{Fixed, World};
use std::sync::Arc;
use tenuto_dataplane::switch::{ModeAgent, Switch};

/// A property of the mode change and return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// While no more is lost than the network tolerates: when nothing is under way any more, all
    /// switches agree on epoch and level.
    Agreement,
    /// After its swap a switch commits no out-of-mode frame to any port.
    NoLateCommit,
    /// An edge admits a lower level only after every switch forwards it, or a later raise is
    /// under way.
    ResumeLast,
    /// An edge admits a lower level only if every switch has been quiet, or has raised since.
    QuietBeforeResume,
    /// While no more is lost than the network tolerates, and the mode does not change more often than a plan lets it,
    /// signals stay within the envelope that the analysis charges.
    SignalEnvelope,
    /// After what went beyond that (more signals lost, switches that lost their power) all switches
    /// agree again in time.
    Heals,
    /// In the end every switch is back at the start level, with nothing left to do.
    Returns,
}

impl Property {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Agreement,
        Self::NoLateCommit,
        Self::ResumeLast,
        Self::QuietBeforeResume,
        Self::SignalEnvelope,
        Self::Heals,
        Self::Returns,
    ];

    /// Its name in verdicts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agreement => "agreement",
            Self::NoLateCommit => "no-late-commit",
            Self::ResumeLast => "resume-last",
            Self::QuietBeforeResume => "quiet-before-resume",
            Self::SignalEnvelope => "signal-envelope",
            Self::Heals => "heals",
            Self::Returns => "returns",
        }
    }
}

/// A violated property and what is wrong, in words.
pub(super) type Finding = (Property, String);

fn agents(world: &World) -> impl Iterator<Item = &ModeAgent> {
    world.switches.iter().filter_map(|s: &Arc<Switch>| s.agent())
}

/// What a step from `before` to `after` violates.
pub(super) fn check_step(before: &World, after: &World, fixed: &Fixed) -> Option<Finding> {
    if let Some((place, cookie)) = after.late_commit {
        let text =
            format!("{} committed a frame of flow {cookie} after its swap", fixed.names[place]);
        return Some((Property::NoLateCommit, text));
    }
    let is_tolerated = after.is_within_tolerance(fixed);
    if after.signal_refused && is_tolerated && !after.has_flapped {
        let text = "a mode signal was refused".to_owned();
        return Some((Property::SignalEnvelope, text));
    }
    if after.apart_ticks > fixed.heal_ticks_max {
        let ticks = after.apart_ticks;
        let text = format!("{ticks} ticks after the last fault, {}", words(after, fixed));
        return Some((Property::Heals, text));
    }
    if is_tolerated && after.is_silent() && agents(after).all(ModeAgent::is_steady) {
        let mut modes = after.switches.iter().map(|s| s.mode());
        let first = modes.next()?;
        if modes.any(|mode| mode != first) {
            return Some((
                Property::Agreement,
                format!("all is quiet, but {}", words(after, fixed)),
            ));
        }
    }
    before
        .switches
        .iter()
        .zip(&after.switches)
        .position(|(b, a)| a.mode().1 < b.mode().1 && a.has_joined())
        .and_then(|place| check_resume(before, after, place, fixed))
}

fn check_resume(before: &World, world: &World, place: usize, fixed: &Fixed) -> Option<Finding> {
    let now = tenuto_units::Instant::from_ns(world.tick * super::TICK.as_ns());
    let (_, admitted, epoch) = world.switches[place].mode();
    let name = &fixed.names[place];
    // A switch that joins is let in by a neighbour, whose windows have passed.
    let resumes = before.switches[place].has_joined();
    // Who has not heard of it yet may let a lower level in.
    let is_overtaken = world.switches.iter().any(|switch| {
        let (level, _, theirs) = switch.mode();
        switch.has_joined() && theirs > epoch && level > admitted
    });
    for (place, (other, switch)) in fixed.names.iter().zip(&world.switches).enumerate() {
        let (level, _, theirs) = switch.mode();
        if !switch.has_joined() || world.has_restarted(place) {
            // What it voted for and saw is forgotten, and where it lags it drops what was let in.
            continue;
        }
        if theirs <= epoch && level > admitted && !is_overtaken {
            let text = format!("{name} admits while {other} still forwards the higher level");
            return Some((Property::ResumeLast, text));
        }
        let noisy =
            switch.agent().is_some_and(|agent| agent.last_excess(admitted) + fixed.quiet > now);
        if resumes && theirs <= epoch && noisy {
            let text = format!("{name} admits although {other} saw excess within the quiet window");
            return Some((Property::QuietBeforeResume, text));
        }
    }
    None
}

/// What a state violates in which nothing changes any more.
pub(super) fn check_end(world: &World, fixed: &Fixed) -> Option<Finding> {
    let back = |s: &Arc<Switch>| (s.mode().0, s.mode().1) == (0, 0);
    if world.switches.iter().all(back) {
        return None;
    }
    Some((Property::Returns, format!("nothing happens any more, but {}", words(world, fixed))))
}

fn words(world: &World, fixed: &Fixed) -> String {
    world.modes(fixed).join(", ")
}
