//! What a guest says of itself on its serial line, among what its kernel and its tenant write.
//!
//! A tenant may say the same words; whoever does tells its own supervisor something wrong about itself alone.

/// Begins a line that the guest's first program says.
pub(super) const SAYS: &str = "tenuto-guest: ";
/// The tenant's program is started now.
pub(super) const RUNS: &str = "runs";
/// It has ended, with the status that follows.
pub(super) const ENDED: &str = "ended ";
/// What the guest is told on the same line, to end its program.
pub(super) const STOP: &[u8] = b"stop\n";

/// A line that a guest may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Runs,
    Ended(u8),
}

/// What a line says of the guest, if it does.
pub(super) fn said(line: &[u8]) -> Option<Said> {
    let text = std::str::from_utf8(line).ok()?.trim_end().strip_prefix(SAYS)?;
    match text.strip_prefix(ENDED) {
        Some(status) => status.parse().ok().map(Said::Ended),
        None => (text == RUNS).then_some(Said::Runs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_of_the_guest_are_its_own() {
        assert_eq!(said(b"tenuto-guest: runs\r\n"), Some(Said::Runs));
        assert_eq!(said(b"tenuto-guest: ended 143\n"), Some(Said::Ended(143)));
        for other in [&b"tenuto-guest: ended 1000"[..], b" tenuto-guest: runs", b"runs", b"\xff"] {
            assert_eq!(said(other), None, "{other:?}");
        }
    }
}
