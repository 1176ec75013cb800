//! Who leads, by signs of life: when one that leads stops, and when another may take over. No clocks are compared.
//!
//! One that leads changes a key a few times in a lease, and stops deciding two thirds of a lease after the *start* of the last
//! change that was confirmed. One that follows looks at the key. It takes over once the key has been the same for a
//! whole lease of its own, with looks all along; the transaction compares the key, so a sign of life in between
//! wins. So the two do not decide at the same time unless their clocks run a third apart, and if they did, the log would
//! still take the entries of one only.

use super::register::Look;
use std::time::{Duration, Instant};

/// Times, all from the one that is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Silence after which another controller takes over.
    pub(crate) lease: Duration,
}

impl Pace {
    pub(crate) fn beat_every(self) -> Duration {
        self.lease / 6
    }

    pub(crate) fn look_every(self) -> Duration {
        self.lease / 12
    }

    /// So long one that leads decides after its last sign of life.
    pub(crate) fn leads_for(self) -> Duration {
        self.lease * 2 / 3
    }

    /// A member has so long for an answer.
    pub(crate) fn answers_within(self) -> Duration {
        self.lease / 3
    }
}

/// What one that follows has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// Term and sign of life, as they were last seen.
    seen: (u64, u64),
    /// When that was first seen, with looks all along since.
    since: Option<Instant>,
    last: Option<Instant>,
}

impl Watch {
    /// A look that was asked for and answered at these times.
    pub(crate) fn looked(
        &mut self,
        pace: Pace,
        (asked, answered): (Instant, Instant),
        look: &Look,
    ) {
        let seen = (look.generation(), look.beat);
        // While nobody looked, or nobody answered, signs of life may have been impossible for all.
        let is_gap =
            self.last.is_none_or(|last| asked.saturating_duration_since(last) > pace.lease / 3)
                || answered.saturating_duration_since(asked) > pace.lease / 3;
        if seen != self.seen || is_gap || self.since.is_none() {
            (self.seen, self.since) = (seen, Some(answered));
        }
        self.last = Some(answered);
    }

    /// Whether what was looked at just now may be taken over: nobody leads, it leaves, it is this controller's own earlier
    /// term, or it was silent.
    pub(crate) fn may_claim(&self, pace: Pace, asked: Instant, look: &Look, own: u64) -> bool {
        let is_silent =
            self.since.is_some_and(|since| asked.saturating_duration_since(since) >= pace.lease);
        let generation = look.generation();
        generation == 0 || generation == own || look.is_leaving || is_silent
    }
}

#[cfg(test)]
mod tests {
    use super::super::register::{Leader, Term};
    use super::*;
    use proptest::prelude::*;

    const PACE: Pace = Pace { lease: Duration::from_millis(600) };

    fn look(generation: u64, beat: u64) -> Look {
        let leader = Leader { api: String::new(), nonce: String::new() };
        Look { term: Some(Term { generation, leader }), beat, ..Look::default() }
    }

    #[test]
    fn a_silence_counts_only_while_somebody_looks() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut watch = Watch::default();
        let silent = look(5, 7);
        for ms in (0..=590).step_by(50) {
            watch.looked(PACE, (at(ms), at(ms + 1)), &silent);
            assert!(!watch.may_claim(PACE, at(ms), &silent, 0), "{ms}");
        }
        watch.looked(PACE, (at(610), at(611)), &silent);
        assert!(watch.may_claim(PACE, at(610), &silent, 0));
        // Nobody answered for a while: it begins anew.
        watch.looked(PACE, (at(900), at(901)), &silent);
        assert!(!watch.may_claim(PACE, at(1_400), &silent, 0));
        // A sign of life.
        let alive = look(5, 8);
        watch.looked(PACE, (at(1_000), at(1_001)), &alive);
        assert!(!watch.may_claim(PACE, at(1_590), &alive, 0));
        for (look, own, may) in [(look(0, 0), 0, true), (alive, 5, true), (look(6, 8), 5, false)] {
            assert_eq!(watch.may_claim(PACE, at(1_010), &look, own), may);
        }
        let leaving = Look { is_leaving: true, ..look(5, 9) };
        assert!(watch.may_claim(PACE, at(1_010), &leaving, 0));
    }

    proptest! {
        /// A leader whose signs of life are late, or lost, or slow, has always stopped by the time that another may claim.
        #[test]
        fn who_leads_has_stopped_before_another_may_claim(
            beats in prop::collection::vec((0_u64..500, 1_u64..200, any::<bool>()), 0..30),
            looks in prop::collection::vec((1_u64..250, 0_u64..250), 1..120),
        ) {
            let began = Instant::now();
            let at = |ms| began + Duration::from_millis(ms);
            // Signs of life: when each was begun and carried out. Confirmed by then at the latest.
            let (mut now, mut carried_out, mut stops) = (0, vec![0], vec![(0, 400)]);
            for (pause, takes, is_lost) in beats {
                now += pause;
                if !is_lost {
                    carried_out.push(now + takes / 2);
                    stops.push((now + takes / 2, now + 400));
                }
                now += takes;
            }
            let (mut watch, mut now) = (Watch::default(), 0);
            for (pause, takes) in looks {
                let asked = now + pause;
                let seen_at = asked + takes / 2;
                let beat = carried_out.iter().filter(|it| **it <= seen_at).count() as u64;
                let seen = look(5, beat);
                watch.looked(PACE, (at(asked), at(asked + takes)), &seen);
                // It is claimed at once, and the transaction compares the sign of life.
                let claimed = asked + takes;
                let beats = carried_out.iter().filter(|it| **it <= claimed).count() as u64;
                if watch.may_claim(PACE, at(asked), &seen, 0) && beats == beat {
                    // One that is carried out later finds another term.
                    let by_then = stops.iter().filter(|it| it.0 <= claimed);
                    let leads = by_then.map(|it| it.1).max().expect("the first");
                    prop_assert!(leads <= claimed, "it decides until {leads}, claimed at {claimed}");
                    return Ok(());
                }
                now = asked + takes;
            }
        }
    }
}
