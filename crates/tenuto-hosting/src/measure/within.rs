//! What a process says until it ends, for a limited time.

use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdout};
use tenuto_io::{Interest, MonotonicClock, PollSet};
use tenuto_units::{Instant, Span};

/// Longest text that is taken.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// All that a process writes; `None` if it has not ended in time, and is killed for that. It has ended either way.
pub(super) fn read_within(child: &mut Child, limit: Span) -> io::Result<Option<String>> {
    let read = match child.stdout.take() {
        Some(output) => read_until(output, MonotonicClock::now() + limit),
        None => Ok(Some(String::new())),
    };
    if !matches!(read, Ok(Some(_))) {
        // It may have ended meanwhile.
        let _ = child.kill();
    }
    child.wait()?;
    read
}

fn read_until(mut output: ChildStdout, until: Instant) -> io::Result<Option<String>> {
    let mut poll = PollSet::new();
    let key = poll.add(output.as_raw_fd(), Interest::Read);
    let (mut text, mut part) = (Vec::new(), [0; 16 * 1024]);
    loop {
        if poll.wait(Some(until))? == 0 {
            return Ok(None);
        }
        if !poll.readiness(key).readable {
            continue;
        }
        let count = output.read(&mut part)?;
        if count == 0 {
            return String::from_utf8(text).map(Some).map_err(io::Error::other);
        }
        text.extend_from_slice(&part[..count]);
        if text.len() > TEXT_BYTES_MAX {
            return Err(io::Error::new(ErrorKind::InvalidData, "it writes without end"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn shell(script: &str) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        command.spawn().expect("a shell")
    }

    #[test]
    fn one_that_does_not_end_is_ended() {
        let mut child = shell("echo begun; exec sleep 600");
        let read = read_within(&mut child, Span::from_ms(300)).expect("a pipe");
        assert_eq!(read, None);
        assert!(child.try_wait().expect("a child").is_some(), "it is gone");
    }

    #[test]
    fn one_that_ends_is_read_whole() {
        let mut child = shell("echo one; echo two");
        let read = read_within(&mut child, Span::from_s(60)).expect("a pipe");
        assert_eq!(read.as_deref(), Some("one\ntwo\n"));
        let mut endless = shell("exec cat /dev/zero");
        assert!(read_within(&mut endless, Span::from_s(60)).is_err());
    }
}
