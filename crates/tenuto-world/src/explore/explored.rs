//! What a search asks of a world.

use super::frames::Interned;
use std::fmt::Display;

/// A state of a world that can be explored.
pub(super) trait Explored: Clone {
    /// What never changes while exploring.
    type Fixed;
    /// One thing that can happen.
    type Action: Clone + PartialEq + Display;
    /// What a trace tells of it.
    type Step;
    /// A violated property and what is wrong, in words.
    type Finding;

    /// Identity: equal fingerprints, equal behaviour from here on.
    fn fingerprint(&self, fixed: &Self::Fixed, frames: &Interned) -> u128;

    /// Everything that can happen now, or what is wrong if too little can.
    fn possible(
        &self,
        fixed: &Self::Fixed,
        frames: &Interned,
    ) -> Result<Vec<Self::Action>, Self::Finding>;

    /// Places of actions that suffice here, since of the others' orders against them one is as good as another;
    /// `None` if all are needed.
    fn sufficient(&self, _actions: &[Self::Action], _fixed: &Self::Fixed) -> Option<Vec<u16>> {
        None
    }

    /// Whether states from which there is one way on are passed through.
    fn passes_corridors(_fixed: &Self::Fixed) -> bool {
        false
    }

    /// The state after an action; `None` if it is not possible here.
    fn after(
        &self,
        action: &Self::Action,
        fixed: &Self::Fixed,
        frames: &mut Interned,
    ) -> Option<Self>;

    /// What a trace tells of an action that leads to `next`.
    fn step(
        &self,
        action: &Self::Action,
        next: &Self,
        fixed: &Self::Fixed,
        frames: &Interned,
    ) -> Self::Step;

    /// What a step to `next` violates. With `is_end` it is the only one that is possible, and leads
    /// back to this state: nothing changes any more.
    fn check(&self, next: &Self, is_end: bool, fixed: &Self::Fixed) -> Option<Self::Finding>;
}
