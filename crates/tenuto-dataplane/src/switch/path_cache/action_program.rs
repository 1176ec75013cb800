//! Action programs: what happens to frames at the end of a cached path that has several outputs, groups
//! or edits.
//!
//! The path compiler decides everything behind meter and monitor that is the same for all frames of the
//! path. A step is left for each operation that depends on the frame: its ingress port, the headers that
//! a select group hashes, a time to live that ends. Steps stand in the order of the interpreter, with
//! queue and cookie beside each output. Groups are resolved when the path is compiled: a change of a
//! group, or of what is live, makes the path void.

use crate::switch::actions::packet::Edit;

/// Steps of a program. Frames that need more of them take the slow path.
const STEPS_MAX: usize = 1_024;

/// One step.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) enum Step {
    /// The frame is queued at the place of a port, unless it came from there.
    Send {
        place: u16,
        queue: u8,
        cookie: u64,
    },
    /// It is queued where it came from.
    SendBack {
        queue: u8,
        cookie: u64,
    },
    /// It counts for a group, by the place of its counters.
    Group(u32),
    /// It counts for a bucket of one.
    Bucket {
        group: u32,
        bucket: u32,
    },
    /// It changes: see [`Change`].
    Change(u16),
    /// What follows is about a copy of it, up to [`Step::Close`]; with how many copies are around.
    Open(u8),
    Close(u8),
    /// One of so many choices from a place on, by its headers: see [`Choice`].
    Choose {
        first: u16,
        count: u16,
    },
    /// The steps of a choice are so many actions.
    Actions(u16),
    /// Another step is next.
    GoTo(u16),
}

/// A change of a frame. Only one that can fail needs more than itself.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Change {
    pub(in crate::switch) edit: Edit,
    /// Its stage; one more than the last if the action set asks for it.
    pub(in crate::switch) stage: u8,
    /// If it fails: the step that is next, or [`THE_END`] of the frame.
    pub(in crate::switch) next: u16,
    /// If it fails: the actions that are not carried out then. Until that is known, those in front of it.
    pub(in crate::switch) skipped: u16,
}

/// Not a step: a change that fails ends the frame.
pub(in crate::switch) const THE_END: u16 = u16::MAX;
/// Not a step: where a change that fails leads is not known yet.
const OPEN: u16 = u16::MAX - 1;

impl Change {
    /// A change behind so many actions; the step that its failure leads to is not known yet.
    pub(in crate::switch) const fn new(edit: Edit, stage: u8, before: u16) -> Self {
        Self { edit, stage, next: OPEN, skipped: before }
    }

    /// Whether it can fail.
    pub(in crate::switch) const fn can_fail(&self) -> bool {
        matches!(self.edit, Edit::DecMplsTtl | Edit::DecNwTtl)
    }
}

/// A bucket of a select group.
#[derive(Clone, Copy, Debug)]
pub(in crate::switch) struct Choice {
    /// It is for tickets below this, and not for those of the choice before.
    pub(in crate::switch) below: u64,
    /// Its first step.
    pub(in crate::switch) at: u16,
}

/// What becomes of frames at the end of a cached path.
#[derive(Clone, Debug, Default)]
pub(in crate::switch) struct ActionProgram {
    pub(in crate::switch) steps: Vec<Step>,
    pub(in crate::switch) changes: Vec<Change>,
    pub(in crate::switch) choices: Vec<Choice>,
    /// Whether it changes no frame, and does not depend on headers.
    pub(in crate::switch) is_plain: bool,
}

impl ActionProgram {
    /// Forgets everything but its room.
    pub(in crate::switch) fn clear(&mut self) {
        self.steps.clear();
        self.changes.clear();
        self.choices.clear();
        self.is_plain = true;
    }

    /// Appends a step; `None` if there is no room.
    pub(in crate::switch) fn push(&mut self, step: Step) -> Option<()> {
        (self.steps.len() < STEPS_MAX).then(|| self.steps.push(step))
    }

    /// The number of the next step.
    pub(in crate::switch) fn next(&self) -> u16 {
        u16::try_from(self.steps.len()).unwrap_or(THE_END)
    }

    /// Changes from a place on that can fail, and whose failure leads to no step yet.
    pub(in crate::switch) fn open_changes(
        &mut self,
        from: usize,
    ) -> impl Iterator<Item = &mut Change> {
        self.changes[from..].iter_mut().filter(|it| it.can_fail() && it.next == OPEN)
    }

    /// Becomes a copy of another program, without new memory where there is room.
    fn copy_from(&mut self, other: &Self) {
        self.steps.clone_from(&other.steps);
        self.changes.clone_from(&other.changes);
        self.choices.clone_from(&other.choices);
        self.is_plain = other.is_plain;
    }
}

/// Programs by number. A cached path that is compiled again gets its old one, so that nothing is allocated.
#[derive(Clone, Debug, Default)]
pub(in crate::switch) struct ActionPrograms {
    programs: Vec<ActionProgram>,
    free: Vec<u32>,
    /// The program that is being compiled.
    pub(in crate::switch) draft: ActionProgram,
}

impl ActionPrograms {
    /// Keeps what the draft says, and gives its number.
    pub(in crate::switch) fn keep(&mut self) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.programs.push(ActionProgram::default());
            u32::try_from(self.programs.len() - 1).expect("there are fewer paths")
        });
        self.programs[number as usize].copy_from(&self.draft);
        number
    }

    /// A cached path does not need its program any more.
    pub(in crate::switch) fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }

    /// A program.
    #[inline]
    pub(in crate::switch) fn get(&self, number: u32) -> Option<&ActionProgram> {
        self.programs.get(number as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_steps_are_a_line_of_cache() {
        assert_eq!(size_of::<Step>(), 16);
    }
}
