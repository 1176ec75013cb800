//! Text in a field of fixed size, ended by a zero byte.

use crate::wire::Hex;
use std::fmt::{self, Write};

/// Text in N bytes, of which the last is zero. All N bytes are kept as they came, so that decoding
/// loses nothing; printing stops at the first zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FixedText<const N: usize>(pub [u8; N]);

impl<const N: usize> FixedText<N> {
    /// As much of `text` as fits before the ending zero, cut between characters.
    pub fn new(text: &str) -> Self {
        let mut bytes = [0; N];
        let len = text.floor_char_boundary(N.saturating_sub(1));
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Self(bytes)
    }

    /// What stands before the first zero; `None` if that is not UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.until_zero()).ok()
    }

    fn until_zero(&self) -> &[u8] {
        self.0.split(|byte| *byte == 0).next().unwrap_or_default()
    }
}

impl<const N: usize> Default for FixedText<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> fmt::Display for FixedText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_str() {
            Some(text) => text.chars().try_for_each(|c| write_visible(f, c)),
            None => write!(f, "0x{}", Hex(self.until_zero())),
        }
    }
}

/// A peer chooses these texts: what it puts in must not end the line of a trace, or colour it.
fn write_visible(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    if c.is_control() { write!(f, "{}", c.escape_default()) } else { f.write_char(c) }
}

impl<const N: usize> fmt::Debug for FixedText<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_str() {
            Some(text) => write!(f, "{text:?}"),
            None => write!(f, "0x{}", Hex(self.until_zero())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters_and_before_the_ending_zero() {
        assert_eq!(FixedText::<4>::new("eth0").as_str(), Some("eth"));
        assert_eq!(FixedText::<4>::new("abé").as_str(), Some("ab"));
    }

    #[test]
    fn what_is_printed_stays_on_its_line() {
        assert_eq!(FixedText(*b"a\nb\x1bc\0\0").to_string(), "a\\nb\\u{1b}c");
        assert_eq!(FixedText([0xff, 0, 1, 2]).to_string(), "0xff");
    }
}
