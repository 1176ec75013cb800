//! Corridors: states from which there is one way on, which is passed at once.

use super::explored::Explored;
use super::frames::Interned;

/// Steps at most that are passed at once: a way round ends at a state that is kept.
const LENGTH_MAX: usize = 64;

/// The first state that is kept, from one that was reached on; tells every action that is passed.
///
/// # Errors
/// What is violated on the way.
pub(super) fn pass<S: Explored>(
    reached: S,
    fixed: &S::Fixed,
    frames: &mut Interned,
    told: &mut dyn FnMut(&S::Action),
) -> Result<S, S::Finding> {
    let mut world = reached;
    if !S::passes_corridors(fixed) {
        return Ok(world);
    }
    for _ in 0..LENGTH_MAX {
        let actions = world.possible(fixed, frames)?;
        let Some(action) = only_way(&world, &actions, fixed) else { break };
        let Some(next) = world.after(action, fixed, frames) else { break };
        told(action);
        if let Some(finding) = world.check(&next, false, fixed) {
            return Err(finding);
        }
        world = next;
    }
    Ok(world)
}

fn only_way<'a, S: Explored>(
    world: &S,
    actions: &'a [S::Action],
    fixed: &S::Fixed,
) -> Option<&'a S::Action> {
    match (actions, world.sufficient(actions, fixed).as_deref()) {
        ([only], _) => Some(only),
        (_, Some([only])) => actions.get(usize::from(*only)),
        _ => None,
    }
}
