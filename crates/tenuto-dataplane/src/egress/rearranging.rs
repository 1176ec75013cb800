//! How far a port has come in asking its queued frames where they belong.

/// The first frames of a queue: those from before the change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Old {
    /// Frames from before, places of those that were taken back included.
    pub(super) frames: usize,
    /// The first of them that were asked.
    pub(super) asked: usize,
    /// Places of frames that were taken back.
    pub(super) gone: usize,
    /// Frames that were asked and stay.
    pub(super) staying: usize,
}

/// How far a port has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Rearranging {
    /// One per queue.
    pub(super) old: Vec<Old>,
    /// Whether a queue holds frames from before.
    is_on: bool,
}

impl Rearranging {
    /// Whether a queue holds frames from before the change.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// All that wait are from before: `waiting` says how many frames and empty places stand in each queue.
    pub(super) fn begin(&mut self, waiting: impl ExactSizeIterator<Item = usize>) {
        self.old.resize_with(waiting.len(), Old::default);
        for (old, frames) in self.old.iter_mut().zip(waiting) {
            *old = Old { frames, asked: 0, staying: 0, gone: old.gone };
        }
        self.notice();
    }

    /// Nothing is left from before.
    pub(super) fn end(&mut self) {
        self.old.fill(Old::default());
        self.is_on = false;
    }

    /// The first queue with a frame that was not asked.
    pub(super) fn first_unasked(&self) -> Option<usize> {
        self.old.iter().position(|old| old.asked < old.frames)
    }

    /// Places of a queue in which no frame stands any more.
    pub(super) fn gone(&self, queue: usize) -> usize {
        self.old.get(queue).map_or(0, |old| old.gone)
    }

    /// The first place of a queue is cleared, whether a frame stood there or not.
    pub(super) fn pass(&mut self, queue: usize, is_gone: bool) {
        let Some(old) = self.old.get_mut(queue) else { return };
        old.gone -= usize::from(is_gone);
        old.staying = old.staying.saturating_sub(usize::from(!is_gone));
        old.frames = old.frames.saturating_sub(1);
        old.asked = old.asked.saturating_sub(1);
        if old.frames == 0 {
            self.notice();
        }
    }

    /// Whether the first frame of a queue was asked, or is newer than the change.
    pub(super) fn may_begin(&self, queue: usize) -> bool {
        self.old.get(queue).is_none_or(|old| old.asked > 0 || old.frames == 0)
    }

    /// Whether no frame of a queue is known to stay, and some are not asked yet.
    pub(super) fn is_unknown(&self, queue: usize) -> bool {
        self.old.get(queue).is_some_and(|old| old.staying == 0 && old.asked < old.frames)
    }

    fn notice(&mut self) {
        self.is_on = self.old.iter().any(|old| old.frames > 0);
    }
}
