//! Lines of a lab's log. A log that cannot be written, on a full disk or a closed pipe, ends no
//! process: the print macros of the standard library panic there.

use std::fmt::Display;
use std::io::Write;

/// Writes a line to the standard error, if that can be done.
pub(crate) fn log_line(text: impl Display) {
    // One call, so that lines of several processes do not mix; there is nowhere to tell of an error.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
