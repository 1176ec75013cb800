//! Pauses before a tenant is started again.

use tenuto_units::{Instant, Span};

/// The first pause.
const FIRST: Span = Span::from_ms(100);
/// A tenant that ran so long has settled: its next pause is the first one again.
const SETTLED: Span = Span::from_s(60);

/// Doubles the pause with every end in short order, up to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backoff {
    next: Span,
    longest: Span,
}

impl Backoff {
    pub(crate) const fn new(longest: Span) -> Self {
        Self { next: FIRST, longest }
    }

    /// When a tenant that was started at `started` and ended at `now` starts again.
    pub(crate) fn after(&mut self, started: Instant, now: Instant) -> Instant {
        if now.since(started) >= SETTLED {
            self.next = FIRST;
        }
        let pause = self.next.min(self.longest);
        self.next = self.next.times(2).min(self.longest);
        now + pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_limit_and_begin_anew_after_a_long_run() {
        let mut backoff = Backoff::new(Span::from_ms(500));
        let mut now = Instant::from_ns(0);
        let mut pauses = Vec::new();
        for _ in 0..5 {
            let next = backoff.after(now, now);
            pauses.push(next.since(now).as_ns() / 1_000_000);
            now = next;
        }
        assert_eq!(pauses, [100, 200, 400, 500, 500]);
        let later = now + SETTLED;
        assert_eq!(backoff.after(now, later).since(later), FIRST);
    }
}
