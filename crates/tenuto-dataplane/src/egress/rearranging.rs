//! How far a port has come in asking its queued frames where they belong.

/// How far a port has come.
#[derive(Clone, Debug)]
pub(super) struct Rearranging<F> {
    pub(super) is_on: bool,
    /// The queue whose frames are asked.
    pub(super) queue: u8,
    /// How many of its frames are not asked yet; `None` before it is begun.
    pub(super) left: Option<usize>,
    /// Frames that came meanwhile, by the new tables: they go behind those that are already there.
    pub(super) came: Vec<(u8, F)>,
}

impl<F> Default for Rearranging<F> {
    fn default() -> Self {
        Self { is_on: false, queue: 0, left: None, came: Vec::new() }
    }
}

impl<F> Rearranging<F> {
    /// Whether frames are left to be asked.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Keeps a frame that has come until those before it stand where they belong.
    #[cold]
    pub(super) fn keep(&mut self, queue: u8, frame: F) {
        self.came.push((queue, frame));
    }

    /// Frames that have come meanwhile, each with its queue.
    pub(super) fn kept(&self) -> impl Iterator<Item = &(u8, F)> {
        self.came.iter()
    }
}
