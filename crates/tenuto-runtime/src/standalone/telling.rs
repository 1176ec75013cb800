//! News told beside the data path: who reads them may be slow or stop, and no frame waits for that.

use crate::beside;
use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;
use tenuto_units::{Instant, Span};

/// News that may wait for the thread that tells them.
const WAITING_MAX: usize = 256;
/// How long the end waits for those that are not told yet.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Takes news at once and tells them when they are taken.
pub(super) struct Telling<N> {
    queue: Option<SyncSender<N>>,
    /// Ends when everything has been told.
    told: Receiver<()>,
    untold: u64,
    /// The news that so many were not told.
    of_untold: fn(u64) -> N,
}

impl<N: Send + 'static> Telling<N> {
    /// Starts the thread that calls `tell`.
    pub(super) fn start(
        tell: impl FnMut(N) + Send + 'static,
        of_untold: fn(u64) -> N,
    ) -> io::Result<Self> {
        let (queue, news) = sync_channel(WAITING_MAX);
        let (done, told) = channel();
        beside::spawn("news", move || tell_all(&news, tell, done))?;
        Ok(Self { queue: Some(queue), told, untold: 0, of_untold })
    }

    /// Takes news; what finds no room is counted, and the count is told as soon as there is.
    pub(super) fn tell(&mut self, news: N) {
        let Some(queue) = &self.queue else { return };
        if self.untold > 0 && queue.try_send((self.of_untold)(self.untold)).is_ok() {
            self.untold = 0;
        }
        if self.untold > 0 || queue.try_send(news).is_err() {
            self.untold += 1;
        }
    }
}

impl<N> Drop for Telling<N> {
    fn drop(&mut self) {
        self.queue = None;
        // It ends without a word; a reader that takes nothing does not keep the switch from ending.
        let _ = self.told.recv_timeout(LAST_WORDS);
    }
}

fn tell_all<N>(news: &Receiver<N>, mut tell: impl FnMut(N), done: Sender<()>) {
    for news in news {
        tell(news);
    }
    drop(done);
}

/// News of one kind that others can cause as often as they like: some of them a second, and the
/// number of the rest.
#[derive(Debug)]
pub(crate) struct Quota {
    per_window: u32,
    told: u32,
    untold: u64,
    since: Instant,
}

/// So long are the windows of a quota.
const WINDOW: Span = Span::from_s(1);

impl Quota {
    pub(crate) const fn new(per_window: u32) -> Self {
        Self { per_window, told: 0, untold: 0, since: Instant::ZERO }
    }

    /// Whether there is room for another one; it is counted if not.
    pub(crate) fn takes(&mut self, now: Instant) -> bool {
        if now.since(self.since) >= WINDOW {
            (self.since, self.told) = (now, 0);
        }
        let takes = self.told < self.per_window;
        match takes {
            true => self.told += 1,
            false => self.untold += 1,
        }
        takes
    }

    /// When the number of those that were not told is to be told.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        (self.untold > 0).then(|| self.since + WINDOW)
    }

    /// That number, once it is time.
    pub(crate) fn take_untold(&mut self, now: Instant) -> Option<u64> {
        self.deadline().filter(|&at| at <= now)?;
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::super::news::SwitchNews;
    use super::*;

    #[test]
    fn a_reader_that_does_not_read_holds_nobody_up() {
        let (go, wait) = channel::<()>();
        let (heard, read) = channel();
        let tell = move |news| {
            let _ = wait.recv();
            let _ = heard.send(news);
        };
        let mut telling = Telling::start(tell, SwitchNews::Untold).expect("a thread");
        let lost = 100;
        for number in 0..WAITING_MAX + 1 + lost {
            telling.tell(SwitchNews::Warning(number.to_string()));
        }
        // It reads again.
        drop(go);
        let all: Vec<_> = read.iter().take(WAITING_MAX).collect();
        assert_eq!(all[WAITING_MAX - 1], SwitchNews::Warning((WAITING_MAX - 1).to_string()));
        let untold = telling.untold;
        assert!((lost as u64..=lost as u64 + 1).contains(&untold), "{untold}");
        telling.tell(SwitchNews::Warning("at last".into()));
        drop(telling);
        let rest: Vec<_> = read.iter().collect();
        let last = [SwitchNews::Untold(untold), SwitchNews::Warning("at last".into())];
        assert!(rest.ends_with(&last), "{rest:?}");
    }

    #[test]
    fn what_is_above_a_quota_is_counted_and_told_once() {
        let at = |ms| Instant::ZERO + Span::from_ms(ms);
        let mut quota = Quota::new(2);
        let taken: Vec<bool> = (0..5).map(|i| quota.takes(at(5_000 + i))).collect();
        assert_eq!(taken, [true, true, false, false, false]);
        assert_eq!(quota.deadline(), Some(at(6_000)));
        assert_eq!(quota.take_untold(at(5_999)), None);
        assert_eq!(quota.take_untold(at(6_000)), Some(3));
        assert_eq!(quota.deadline(), None);
        assert!(quota.takes(at(6_000)), "another second");
    }
}
