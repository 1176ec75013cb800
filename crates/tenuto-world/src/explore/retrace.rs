//! A run again, action by action: a counterexample that was found is told so, and one from a file tried.

use super::explored::Explored;
use super::frames::Interned;

/// The steps taken, and what is violated after the last of them.
pub(super) struct Retraced<S: Explored> {
    pub(super) steps: Vec<S::Step>,
    pub(super) finding: Option<S::Finding>,
}

/// Takes actions one after the other, up to the first that violates a property.
///
/// # Errors
/// In words, if an action is not possible: it is of another plan, other settings or another version.
pub(super) fn retrace<'a, S: Explored>(
    start: &S,
    actions: impl IntoIterator<Item = &'a S::Action>,
    fixed: &S::Fixed,
    frames: &mut Interned,
) -> Result<Retraced<S>, String>
where
    S::Action: 'a,
{
    let mut world = start.clone();
    let mut steps = Vec::new();
    for (number, action) in (1..).zip(actions) {
        let possible = match world.possible(fixed, frames) {
            Ok(possible) => possible,
            Err(finding) => return Ok(Retraced { steps, finding: Some(finding) }),
        };
        let next = possible.contains(action).then(|| world.after(action, fixed, frames)).flatten();
        let impossible = || format!("step {number} is not possible here: {action}");
        let next = next.ok_or_else(impossible)?;
        steps.push(world.step(action, &next, fixed, frames));
        let is_end = possible.len() == 1
            && next.fingerprint(fixed, frames) == world.fingerprint(fixed, frames);
        if let Some(finding) = world.check(&next, is_end, fixed) {
            return Ok(Retraced { steps, finding: Some(finding) });
        }
        world = next;
    }
    let finding = world.possible(fixed, frames).err();
    Ok(Retraced { steps, finding })
}
