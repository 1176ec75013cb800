//! What becomes of frames at the end of a track where that is more than to be sent once: several
//! ports, groups, changes.
//!
//! Everything that the entries of a way do behind its meter and monitor is known when the track is laid,
//! but for what a frame brings along: the port it came by, its headers where a select group asks them, a
//! time to live that ends. So it is written down as steps in the order of the walk, with the queue and
//! the cookie of each output beside it. Groups are in there as they were: a change of one, or of what
//! is live, makes the track void.

use super::packet::Edit;

/// Steps of a tail; frames that need more of them walk.
const STEPS_MAX: usize = 1_024;

/// One step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
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
pub(super) struct Change {
    pub(super) edit: Edit,
    /// Its stage; one more than the last if the action set asks for it.
    pub(super) stage: u8,
    /// If it fails: the step that is next, or [`THE_END`] of the frame.
    pub(super) next: u16,
    /// If it fails: the actions that are not carried out then. Until that is known, those in front of it.
    pub(super) skipped: u16,
}

/// Not a step: a change that fails ends the frame.
pub(super) const THE_END: u16 = u16::MAX;
/// Not a step: where a change that fails leads is not known yet.
const OPEN: u16 = u16::MAX - 1;

impl Change {
    /// One whose failure leads to where is still to be said, behind so many actions.
    pub(super) const fn new(edit: Edit, stage: u8, before: u16) -> Self {
        Self { edit, stage, next: OPEN, skipped: before }
    }

    /// Whether it can fail.
    pub(super) const fn can_fail(&self) -> bool {
        matches!(self.edit, Edit::DecMplsTtl | Edit::DecNwTtl)
    }
}

/// A bucket of a select group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// It is for tickets below this, and not for those of the choice before.
    pub(super) below: u64,
    /// Its first step.
    pub(super) at: u16,
}

/// What becomes of frames at the end of a track.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    pub(super) steps: Vec<Step>,
    pub(super) changes: Vec<Change>,
    pub(super) choices: Vec<Choice>,
    /// Whether it leaves every frame as it is, and asks nothing of it.
    pub(super) is_plain: bool,
}

impl Tail {
    /// Forgets everything but its room.
    pub(super) fn clear(&mut self) {
        self.steps.clear();
        self.changes.clear();
        self.choices.clear();
        self.is_plain = true;
    }

    /// Appends a step; `None` if there is no room.
    pub(super) fn push(&mut self, step: Step) -> Option<()> {
        (self.steps.len() < STEPS_MAX).then(|| self.steps.push(step))
    }

    /// The number of the next step.
    pub(super) fn next(&self) -> u16 {
        u16::try_from(self.steps.len()).unwrap_or(THE_END)
    }

    /// Changes from a place on that can fail, of which it is not known where that leads.
    pub(super) fn open_changes(&mut self, from: usize) -> impl Iterator<Item = &mut Change> {
        self.changes[from..].iter_mut().filter(|it| it.can_fail() && it.next == OPEN)
    }

    /// The same as another one, in the room that is there.
    fn copy_from(&mut self, other: &Self) {
        self.steps.clone_from(&other.steps);
        self.changes.clone_from(&other.changes);
        self.choices.clone_from(&other.choices);
        self.is_plain = other.is_plain;
    }
}

/// Tails by number. A track that is laid again gets its old one, so that nothing is allocated.
#[derive(Clone, Debug, Default)]
pub(super) struct Tails {
    tails: Vec<Tail>,
    free: Vec<u32>,
    /// What a tail is written in first.
    pub(super) draft: Tail,
}

impl Tails {
    /// Keeps what the draft says, and gives its number.
    pub(super) fn keep(&mut self) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.tails.push(Tail::default());
            u32::try_from(self.tails.len() - 1).expect("there are fewer tracks")
        });
        self.tails[number as usize].copy_from(&self.draft);
        number
    }

    /// A track does not need its tail any more.
    pub(super) fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }

    /// A tail.
    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&Tail> {
        self.tails.get(number as usize)
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
