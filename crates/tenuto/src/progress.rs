//! One line about what takes longer than a second: repainted on a terminal, else now and then.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Nothing is said about what is done sooner.
const PATIENCE: Duration = Duration::from_secs(1);
const REPAINT: Duration = Duration::from_millis(100);
const REPEAT: Duration = Duration::from_secs(5);

/// A line on stderr that says how something is going.
#[derive(Debug)]
pub(crate) struct Progress {
    next: Instant,
    is_terminal: bool,
    is_painted: bool,
}

impl Progress {
    /// Silent for the first second.
    pub(crate) fn new() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { next: Instant::now() + PATIENCE, is_terminal, is_painted: false }
    }

    /// Speaks from the first word on: for a search that shows from the beginning how far it has come.
    pub(crate) fn at_once() -> Self {
        Self { next: Instant::now(), ..Self::new() }
    }

    /// Says how it is going, if it is time to.
    pub(crate) fn say(&mut self, text: impl FnOnce() -> String) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + if self.is_terminal { REPAINT } else { REPEAT };
        let mut err = std::io::stderr().lock();
        // Nobody can be told that stderr is gone.
        let _ = if self.is_terminal {
            self.is_painted = true;
            write!(err, "\r\x1b[K{}", unwrapped(&text()))
        } else {
            writeln!(err, "{}", text())
        };
        let _ = err.flush();
    }
}

impl Progress {
    /// Wipes the line, for what is printed in its place.
    pub(crate) fn wipe(&mut self) {
        if std::mem::take(&mut self.is_painted) {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "\r\x1b[K");
            let _ = err.flush();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// A line that ends at the edge of the terminal: one that went on in the next row would leave its beginning behind.
pub(crate) fn unwrapped(line: &str) -> String {
    format!("\x1b[?7l{line}\x1b[?7h")
}

/// `[########------------]` for a share of a whole.
pub(crate) fn bar(part: u64, whole: u64) -> String {
    const CELLS: u64 = 20;
    let full = (u128::from(part) * u128::from(CELLS) / u128::from(whole.max(1))).min(CELLS.into());
    let full = usize::try_from(full).unwrap_or(0);
    format!("[{:-<20}]", "#".repeat(full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_not_wrapped_and_later_ones_are() {
        assert_eq!(unwrapped("half"), "\x1b[?7lhalf\x1b[?7h");
    }

    #[test]
    fn a_bar_fills_from_the_left() {
        assert_eq!(bar(8, 20), "[########------------]");
        assert_eq!(bar(21, 20), "[####################]");
        assert_eq!(bar(0, 0), "[--------------------]");
    }
}
