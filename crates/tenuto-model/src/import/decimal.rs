//! Decimal numbers of other tools' files, brought to whole numbers in the safe direction.

/// Digits that are kept; files of binary fractions have 17.
const DIGITS_MAX: usize = 19;
/// Largest power of ten that is looked at, either way.
const POWER_MAX: i32 = 60;

/// Which way a value is rounded that does not come out whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Toward {
    /// Up: bursts, rates of arrival, lines, latencies.
    Up,
    /// Down: rates of service, periods, deadlines.
    Down,
}

/// A decimal number, not negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u128,
    power: i32,
    /// Whether digits that are not zero were left out.
    more: bool,
}

impl Decimal {
    /// A number as JSON, XML and CSV files write it: `12`, `0.5`, `1e-3`, `+4.`.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        let text = text.strip_prefix('+').unwrap_or(text);
        if text.starts_with('-') && text.contains(|c: char| matches!(c, '1'..='9')) {
            return Err("it cannot be negative");
        }
        let text = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], &text[at + 1..]),
            None => (text, "0"),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
        if whole.is_empty() && fraction.is_empty() || !is_digits(whole) || !is_digits(fraction) {
            return Err("it is not a number");
        }
        let exponent: i32 = exponent.parse().map_err(|_| "it is not a number")?;
        let mut number = Self { digits: 0, power: exponent.clamp(-10_000, 10_000), more: false };
        let mut kept = 0;
        for (at, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
            let is_fraction = at >= whole.len();
            if kept < DIGITS_MAX {
                number.digits = number.digits * 10 + u128::from(digit - b'0');
                kept += usize::from(number.digits > 0);
                number.power = number.power.saturating_sub(i32::from(is_fraction));
            } else {
                number.more |= digit != b'0';
                number.power = number.power.saturating_add(i32::from(!is_fraction));
            }
        }
        Ok(number)
    }

    /// Whether it is zero.
    pub(crate) const fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// The number times `factor`·10^`power` / `divisor`, whole; `None` beyond 64 bits.
    pub(crate) fn scaled(
        self,
        factor: u64,
        power: i32,
        divisor: u64,
        toward: Toward,
    ) -> Option<u64> {
        if self.digits == 0 {
            return Some(0);
        }
        let power = self.power.checked_add(power)?;
        let mut over = self.digits.checked_mul(u128::from(factor))?;
        let mut under = u128::from(divisor);
        let mut rest = self.more;
        if power > POWER_MAX {
            return None;
        }
        for _ in 0..power.max(0) {
            over = over.checked_mul(10)?;
        }
        for _ in 0..power.min(0).unsigned_abs() {
            if over == 0 {
                break;
            }
            match under.checked_mul(10) {
                Some(longer) => under = longer,
                None => {
                    rest |= !over.is_multiple_of(10);
                    over /= 10;
                }
            }
        }
        rest |= !over.is_multiple_of(under);
        let whole = over / under + u128::from(rest && toward == Toward::Up);
        u64::try_from(whole).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Toward::{Down, Up};
    use super::*;

    fn of(text: &str, power: i32, toward: Toward) -> Option<u64> {
        Decimal::parse(text).expect(text).scaled(1, power, 1, toward)
    }

    #[test]
    fn numbers_come_out_whole_in_the_asked_direction() {
        assert_eq!(of("12", 0, Up), Some(12));
        assert_eq!(of("0.5", 3, Up), Some(500));
        assert_eq!(of("1e-3", 3, Up), Some(1));
        assert_eq!((of("1.0145521436850589", 12, Down)), Some(1_014_552_143_685));
        assert_eq!((of("1.0145521436850589", 12, Up)), Some(1_014_552_143_686));
        assert_eq!(of("0.00", 0, Up), Some(0));
        assert_eq!(of("1e-400", 0, Up), Some(1));
        assert_eq!(of("1e-400", 0, Down), Some(0));
        assert_eq!(of("1e-2147483640", 0, Up), Some(1));
        assert_eq!(of("1e400", 0, Down), None);
        assert_eq!(of("99999999999999999999", 0, Down), None);
        assert_eq!(of("1.00000000000000000001", 0, Up), Some(2));
        assert_eq!(of("12345678901234567890123e-5", 0, Down), Some(123_456_789_012_345_678));
        assert_eq!(Decimal::parse("1").expect("one").scaled(8, 6, 3_600, Down), Some(2_222));
        assert_eq!(Decimal::parse("-0.0").map(Decimal::is_zero), Ok(true));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", ".", "e5", "1e", "1 2", "0x10", "nan", "inf", "-1", "1e99999999999", "1,5"]
        {
            assert!(Decimal::parse(text).is_err(), "{text}");
        }
    }
}
