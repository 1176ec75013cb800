//! A full buffer: frames that wait at lower levels give way to one that is served before them.
//!
//! Queues share the buffer of their port. Without this a flood at the lowest level fills it, and
//! strict priority would be worth nothing to who finds no room: of a flow at the highest level as
//! many frames would be lost as of the flood. So a frame is refused only for want of what its own
//! level and those before it take.

use super::{Egress, QueueFull, Queued};

impl Egress {
    /// From now on frames at lower levels give way where the buffer is full ([`Self::displace`]).
    pub(crate) fn let_lower_levels_give_way(&mut self) {
        self.gives_way = true;
    }

    /// Takes in a frame that [`Self::enqueue`] has just refused, if what waits at lower levels is
    /// worth as much: the newest of the lowest level go first, each handed to `gone` and counted as
    /// refused in its queue.
    ///
    /// # Errors
    /// [`QueueFull`] where that is not enough, or was not asked for; nothing has changed then.
    #[cold]
    pub(crate) fn displace(
        &mut self,
        queue: u8,
        frame: Queued,
        mut gone: impl FnMut(Queued),
    ) -> Result<(), QueueFull> {
        let queue = self.existing(queue);
        let (owner, bits) = (self.config.owner(queue), self.taken_by(&frame));
        let missing = (self.backlog_bits[owner] + bits).saturating_sub(self.buffer_bits[owner]);
        let below: u64 = self.below(queue).map(|it| self.taken_at_least(it)).sum();
        if !self.gives_way || below < missing {
            return Err(QueueFull);
        }
        while !self.has_room(queue, bits) {
            let lowest = self.below(queue).filter(|&it| !self.queues[it].is_empty());
            let lowest = lowest.max_by_key(|&it| (self.level_of(it), it)).ok_or(QueueFull)?;
            let displaced = self.queues[lowest].pop_back().ok_or(QueueFull)?;
            let counters = &mut self.queue_stats[lowest];
            counters.wire_bits -= u64::from(displaced.wire_bits);
            counters.refused += 1;
            self.stats.refused += 1;
            self.backlog_bits[owner] -= self.taken_by(&displaced);
            gone(displaced);
        }
        // It was refused, and is not any more.
        self.stats.refused -= 1;
        self.queue_stats[usize::from(queue)].refused -= 1;
        self.enqueue(queue, frame)
    }

    /// What the frames of a queue take of the buffer, or somewhat less: they are too many to be asked each.
    fn taken_at_least(&self, queue: usize) -> u64 {
        let frames = self.queues[queue].len() as u64;
        self.queue_stats[queue].wire_bits.max(frames * u64::from(self.least_bits))
    }

    /// Queues of the same buffer that are served after this one.
    fn below(&self, queue: u8) -> impl Iterator<Item = usize> {
        let (level, owner) = (self.level_of(queue.into()), self.config.owner(queue));
        let is_below = move |&(other, it): &(u8, usize)| {
            self.level_of(it) > level && self.config.owner(other) == owner
        };
        (0u8..).zip(0..self.queues.len()).filter(is_below).map(|(_, it)| it)
    }

    fn level_of(&self, queue: usize) -> usize {
        self.shares.as_ref().map_or(queue, |shares| usize::from(shares.of_queues()[queue].level))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EgressConfig, Share};
    use super::*;
    use crate::FrameId;
    use tenuto_units::{Instant, Rate};

    const FRAME_BITS: u32 = 12_000;

    fn port(unpromised_from: Option<u8>) -> Egress {
        let rate = Rate::from_bps(100_000_000).expect("not zero");
        let buffer_bits = 4 * u64::from(FRAME_BITS);
        let mut port = Egress::new(EgressConfig { rate, queues: 4, buffer_bits, unpromised_from });
        port.let_lower_levels_give_way();
        port
    }

    fn frame(id: u32, wire_bits: u32) -> Queued {
        let since = Instant::ZERO;
        Queued { frame: FrameId(id), wire_bits, cookie: u64::from(id), since }
    }

    /// Puts a frame in; which others went for it, or whether it was refused.
    fn put(port: &mut Egress, queue: u8, frame: Queued) -> Result<Vec<u32>, QueueFull> {
        let mut gone = Vec::new();
        port.enqueue(queue, frame)
            .or_else(|_| port.displace(queue, frame, |it| gone.push(it.frame.0)))?;
        Ok(gone)
    }

    fn drain(port: &mut Egress) -> Vec<u32> {
        std::iter::from_fn(|| Some(port.hand_over(1, port.deadline()?)?.frame.0)).collect()
    }

    fn refused(port: &Egress) -> Vec<u64> {
        port.queue_stats().iter().map(|it| it.refused).collect()
    }

    #[test]
    fn the_newest_of_the_lowest_go_first_and_never_their_betters() {
        let mut port = port(None);
        for (id, queue) in [(0, 3), (1, 3), (2, 3), (3, 2)] {
            assert_eq!(put(&mut port, queue, frame(id, FRAME_BITS)), Ok(vec![]));
        }
        // Frame 0 is committed, and stays.
        assert_eq!(put(&mut port, 1, frame(4, FRAME_BITS)), Ok(vec![2]));
        assert_eq!(put(&mut port, 3, frame(5, FRAME_BITS)), Err(QueueFull));
        assert_eq!(put(&mut port, 0, frame(6, FRAME_BITS)), Ok(vec![1]));
        assert_eq!(put(&mut port, 1, frame(7, FRAME_BITS)), Ok(vec![3]));
        assert_eq!(put(&mut port, 1, frame(8, FRAME_BITS)), Err(QueueFull));
        assert_eq!((refused(&port), port.stats().refused), (vec![0, 1, 1, 3], 5));
        assert_eq!(drain(&mut port), [0, 6, 4, 7]);
        assert_eq!(port.backlog_bits(), 0);
        assert!(port.queue_stats().iter().all(|it| it.wire_bits == 0));
    }

    #[test]
    fn nothing_goes_for_a_frame_that_is_refused_all_the_same() {
        let mut port = port(None);
        for id in 0..4 {
            put(&mut port, 3, frame(id, FRAME_BITS)).expect("there is room");
        }
        assert_eq!(put(&mut port, 0, frame(4, 4 * FRAME_BITS)), Err(QueueFull));
        assert_eq!(refused(&port), [1, 0, 0, 0]);
        // Small ones need one, a large one all that wait.
        assert_eq!(put(&mut port, 0, frame(5, 512)), Ok(vec![3]));
        assert_eq!(put(&mut port, 0, frame(6, 512)), Ok(vec![]));
        assert_eq!(put(&mut port, 0, frame(7, 2 * FRAME_BITS)), Ok(vec![2, 1]));
        assert_eq!(drain(&mut port), [0, 5, 6, 7]);
    }

    #[test]
    fn levels_count_not_numbers() {
        let mut port = port(None);
        let share = |level| Share { level, weight: 1 };
        port.set_shares([3, 1, 1, 0].map(share).to_vec());
        for (id, queue) in [(0, 1), (1, 1), (2, 2), (3, 0)] {
            put(&mut port, queue, frame(id, FRAME_BITS)).expect("there is room");
        }
        assert_eq!(put(&mut port, 2, frame(4, FRAME_BITS)), Ok(vec![3]));
        // The other queue of its level is not below it.
        assert_eq!(put(&mut port, 2, frame(5, FRAME_BITS)), Err(QueueFull));
        // Of queues that share a level the last gives way first.
        assert_eq!(put(&mut port, 3, frame(6, FRAME_BITS)), Ok(vec![4]));
        assert_eq!(drain(&mut port).len(), 4);
    }

    #[test]
    fn small_frames_that_count_as_more_give_way_as_more() {
        let mut port = port(None);
        port.count_at_least(FRAME_BITS / 2);
        for id in 0..8 {
            assert_eq!(put(&mut port, 3, frame(id, 672)), Ok(vec![]), "{id}");
        }
        assert_eq!(put(&mut port, 3, frame(8, 672)), Err(QueueFull));
        assert_eq!(put(&mut port, 2, frame(9, FRAME_BITS)), Ok(vec![7, 6]));
        assert_eq!(put(&mut port, 1, frame(10, 672)), Ok(vec![5]));
        port.rearrange_all(|cookie, queue| (cookie != 1).then_some(queue), |_| ());
        assert_eq!(put(&mut port, 3, frame(11, 672)), Ok(vec![]), "in the place of frame 1");
        assert_eq!(put(&mut port, 3, frame(12, 672)), Err(QueueFull));
        assert_eq!(drain(&mut port), [0, 10, 9, 2, 3, 4, 11]);
        assert_eq!(port.backlog_bits(), 0);
        assert!(port.queue_stats().iter().all(|it| it.wire_bits == 0));
    }

    #[test]
    fn what_has_a_buffer_of_its_own_gives_no_way() {
        let mut port = port(Some(3));
        for (id, queue) in [(0, 3), (1, 3), (2, 0), (3, 0), (4, 0), (5, 0)] {
            assert_eq!(put(&mut port, queue, frame(id, FRAME_BITS)), Ok(vec![]));
        }
        assert_eq!(put(&mut port, 0, frame(6, FRAME_BITS)), Err(QueueFull));
        assert_eq!(drain(&mut port).len(), 6);
    }
}
