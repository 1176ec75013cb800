//! Units of Saihu and xTFA: a number and `[prefix](s|m|h)`, `[prefix](b|B)`, `[prefix](b|B)p(s|m|h)`.
//!
//! `b` is a bit and `B` a byte of 8; prefixes are those of SI, from `a` to `E`; `m` alone is a
//! minute. A number without unit has the unit of its object, else of the network, else s, b, bps.

use super::decimal::{Decimal, Toward};

/// What a value measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    /// Time; kept in ps.
    Time,
    /// Amount of data; kept in 10⁻⁶ bit.
    Data,
    /// Rate; kept in 10⁻⁶ bit/s.
    Rate,
}

/// A unit, as factor·10^power / divisor of the base unit s, bit or bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    dimension: Dimension,
    factor: u64,
    power: i32,
    divisor: u64,
}

/// Largest time that is kept, ps: ten days.
const TIME_MAX: u64 = 864_000_000_000_000_000;
/// Largest amount and rate that is kept, 10⁻⁶ bit.
const FINE_MAX: u64 = 10_000_000_000_000_000_000;

impl Unit {
    /// The unit of that spelling.
    pub(crate) fn parse(dimension: Dimension, text: &str) -> Result<Self, String> {
        let text = text.trim();
        let length = if dimension == Dimension::Rate { 3 } else { 1 };
        let count = text.chars().count();
        let (prefix, core) = match text.char_indices().rev().nth(length - 1) {
            Some((at, _)) => text.split_at(at),
            None => ("", ""),
        };
        let core = Self::core(dimension, core);
        let power = match prefix {
            "" => Some(0),
            "a" => Some(-18),
            "f" => Some(-15),
            "p" => Some(-12),
            "n" => Some(-9),
            "u" => Some(-6),
            "m" => Some(-3),
            "k" => Some(3),
            "M" => Some(6),
            "G" => Some(9),
            "T" => Some(12),
            "P" => Some(15),
            "E" => Some(18),
            _ => None,
        };
        match (core, power) {
            (Some((factor, divisor)), Some(power)) => {
                Ok(Self { dimension, factor, power, divisor })
            }
            _ => {
                let shown: String = text.chars().take(12).collect();
                let dots = if count > 12 { "…" } else { "" };
                Err(format!("`{shown}{dots}` is no unit of {}", dimension.noun()))
            }
        }
    }

    /// The unit of values that state none, where the file gives no default.
    pub(crate) fn base(dimension: Dimension) -> Self {
        Self { dimension, factor: 1, power: 0, divisor: 1 }
    }

    fn core(dimension: Dimension, text: &str) -> Option<(u64, u64)> {
        let time = |text: &str| match text {
            "s" => Some(1),
            "m" => Some(60),
            "h" => Some(3_600),
            _ => None,
        };
        let data = |text: &str| match text {
            "b" => Some(1),
            "B" => Some(8),
            _ => None,
        };
        match dimension {
            Dimension::Time => Some((time(text)?, 1)),
            Dimension::Data => Some((data(text)?, 1)),
            Dimension::Rate => {
                let (amount, per) = text.split_once('p')?;
                Some((data(amount)?, time(per)?))
            }
        }
    }

    /// The value in the smallest unit that is kept, rounded as asked.
    pub(crate) fn value(self, number: Decimal, toward: Toward) -> Option<u64> {
        let (small, max) = match self.dimension {
            Dimension::Time => (12, TIME_MAX),
            Dimension::Data | Dimension::Rate => (6, FINE_MAX),
        };
        let value = number.scaled(self.factor, self.power + small, self.divisor, toward)?;
        (value <= max).then_some(value)
    }
}

impl Dimension {
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Data => "data",
            Self::Rate => "rate",
        }
    }

    /// What can be written.
    pub(crate) const fn hint(self) -> &'static str {
        match self {
            Self::Time => "write 10us, 1ms or 2s; a prefix and s, m (minute) or h",
            Self::Data => "write 10B (bytes), 2kB or 80b (bits)",
            Self::Rate => "write 10kbps (bits) or 2MBps (bytes)",
        }
    }
}

/// Splits a value into its number and its unit, which can be missing.
pub(crate) fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    // An exponent has a digit or a sign behind its `e`; a unit never begins so.
    let bytes = text.as_bytes();
    let is_exponent = |at: usize| {
        matches!(bytes[at], b'e' | b'E')
            && bytes.get(at + 1).is_some_and(|c| c.is_ascii_digit() || matches!(c, b'+' | b'-'))
    };
    let end = (0..bytes.len())
        .find(|at| {
            !(bytes[*at].is_ascii_digit()
                || matches!(bytes[*at], b'.' | b'+' | b'-')
                || is_exponent(*at))
        })
        .unwrap_or(bytes.len());
    (&text[..end], text[end..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(dimension: Dimension, text: &str) -> Option<u64> {
        let (number, unit) = split(text);
        let number = Decimal::parse(number).ok()?;
        Unit::parse(dimension, unit).ok()?.value(number, Toward::Up)
    }

    #[test]
    fn bits_and_bytes_prefixes_and_minutes_are_told_apart() {
        for (dimension, text, kept) in [
            (Dimension::Rate, "10kbps", Some(10_000_000_000)),
            (Dimension::Rate, "10kBps", Some(80_000_000_000)),
            (Dimension::Rate, "60bpm", Some(1_000_000)),
            (Dimension::Rate, "1 Mbph", Some(277_777_778)),
            (Dimension::Rate, "4Mb/s", None),
            (Dimension::Rate, "4M", None),
            (Dimension::Data, "2kB", Some(16_000_000_000)),
            (Dimension::Data, "2kb", Some(2_000_000_000)),
            (Dimension::Data, "1e3B", Some(8_000_000_000)),
            (Dimension::Data, "1EB", None),
            (Dimension::Data, "2KB", None),
            (Dimension::Time, "10us", Some(10_000_000)),
            (Dimension::Time, "1m", Some(60_000_000_000_000)),
            (Dimension::Time, "1ms", Some(1_000_000_000)),
            (Dimension::Time, "10µs", None),
            (Dimension::Time, "0.1as", Some(1)),
        ] {
            assert_eq!(value(dimension, text), kept, "{text}");
        }
    }
}
