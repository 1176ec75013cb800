//! Quantities as people write them: a number and its unit, exact.
//!
//! A unit is always required, the space before it optional. Decimal fractions are exact: `0.5 ms`
//! is 500000 ns, while a value that does not come out whole in the smallest unit is refused.

use std::fmt;

const BYTES_PER_KBIT: u64 = 125;
/// Digits of a number, on either side of the point, that are looked at.
const DIGITS_MAX: usize = 24;

/// A quantity that cannot be used: what is wrong, and what would fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    /// What is wrong, naming the value.
    pub message: String,
    /// What was meant, or what would fit.
    pub hint: String,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.message, self.hint)
    }
}

impl std::error::Error for QuantityError {}

/// A kind of quantity: its units, in terms of the smallest that is kept.
struct Dimension {
    noun: &'static str,
    /// Name of the smallest unit; values must be whole in it.
    whole: &'static str,
    /// Unit to propose where none was written.
    usual: &'static str,
    units: &'static [(&'static str, u64)],
    /// What is often written instead, and what to say then.
    slips: &'static [(&'static str, &'static str)],
    max: u64,
    max_text: &'static str,
}

const TIME: Dimension = Dimension {
    noun: "time",
    whole: "ns",
    usual: "ms",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
    ],
    slips: &[
        ("µs", "us"),
        ("μs", "us"),
        ("usec", "us"),
        ("msec", "ms"),
        ("sec", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("m", "min"),
        ("nsec", "ns"),
        ("MS", "ms"),
        ("Ms", "ms"),
        ("S", "s"),
    ],
    // Ten days in nanoseconds: sums of many stay far from the end of 64 bits.
    max: 864_000_000_000_000,
    max_text: "10 days",
};

/// Costs of single bytes and comparisons: as [`TIME`], from picoseconds on.
const COST: Dimension = Dimension {
    noun: "cost",
    whole: "ps",
    usual: "us",
    units: &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000)],
    slips: &[("µs", "us"), ("μs", "us"), ("usec", "us"), ("msec", "ms"), ("psec", "ps")],
    // A thousand seconds in picoseconds.
    max: 1_000_000_000_000_000,
    max_text: "1000000 ms",
};

const RATE: Dimension = Dimension {
    noun: "rate",
    whole: "bit/s",
    usual: "Mbit/s",
    units: &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)],
    slips: &[
        ("bps", "bit/s"),
        ("kbps", "kbit/s"),
        ("Mbps", "Mbit/s"),
        ("Gbps", "Gbit/s"),
        ("b/s", "bit/s"),
        ("kb/s", "kbit/s"),
        ("Mb/s", "Mbit/s"),
        ("Gb/s", "Gbit/s"),
        ("mbit/s", "Mbit/s"),
        ("Kbit/s", "kbit/s"),
        ("mbps", "Mbit/s"),
        ("Mbit", "Mbit/s"),
        ("Gbit", "Gbit/s"),
        ("M", "Mbit/s"),
        ("G", "Gbit/s"),
    ],
    max: 1_000_000_000_000,
    max_text: "1000 Gbit/s",
};

const SIZE: Dimension = Dimension {
    noun: "size",
    whole: "B",
    usual: "B",
    units: &[("B", 1), ("kB", 1_000), ("MB", 1_000_000)],
    slips: &[
        ("bytes", "B"),
        ("byte", "B"),
        ("Byte", "B"),
        ("Bytes", "B"),
        ("b", "B"),
        ("mb", "MB"),
        ("Mb", "MB"),
        ("kb", "kB"),
    ],
    max: 1_000_000_000_000,
    max_text: "1000000 MB",
};

const LENGTH: Dimension = Dimension {
    noun: "length",
    whole: "mm",
    usual: "m",
    units: &[("m", 1_000), ("cm", 10), ("km", 1_000_000), ("mm", 1)],
    slips: &[("meter", "m"), ("meters", "m"), ("metre", "m"), ("metres", "m"), ("M", "m")],
    max: 1_000_000_000,
    max_text: "1000 km",
};

const SHARE: Dimension = Dimension {
    noun: "share",
    whole: "%",
    usual: "%",
    units: &[("%", 1)],
    slips: &[("percent", "%"), ("pct", "%")],
    max: 1_000_000,
    max_text: "1000000 %",
};

const TOLERANCE: Dimension = Dimension {
    noun: "tolerance",
    whole: "ppm",
    usual: "ppm",
    units: &[("ppm", 1)],
    slips: &[("PPM", "ppm")],
    max: 100_000,
    max_text: "100000 ppm",
};

const BURST: Dimension = Dimension {
    noun: "burst",
    whole: "bit",
    usual: "kbit",
    units: &[("bit", 1), ("B", 8), ("kbit", 1_000), ("Mbit", 1_000_000)],
    slips: &[("kb", "kbit"), ("Mb", "Mbit"), ("b", "bit"), ("byte", "B"), ("bytes", "B")],
    max: 1_000_000_000_000,
    max_text: "1000000 Mbit",
};

/// Ten thousand gigabit, in millionths of a bit: sums of many stay far from the end of 128 bits.
const FINE_MAX: u64 = 10_000_000_000_000_000_000;

const FINE_RATE: Dimension = Dimension {
    noun: "rate",
    whole: "ubit/s",
    usual: "Mbit/s",
    units: &[
        ("bit/s", 1_000_000),
        ("kbit/s", 1_000_000_000),
        ("Mbit/s", 1_000_000_000_000),
        ("Gbit/s", 1_000_000_000_000_000),
        ("ubit/s", 1),
    ],
    slips: RATE.slips,
    max: FINE_MAX,
    max_text: "10000 Gbit/s",
};

const FINE_DATA: Dimension = Dimension {
    noun: "amount of data",
    whole: "ubit",
    usual: "B",
    units: &[
        ("bit", 1_000_000),
        ("kbit", 1_000_000_000),
        ("Mbit", 1_000_000_000_000),
        ("B", 8_000_000),
        ("kB", 8_000_000_000),
        ("MB", 8_000_000_000_000),
        ("ubit", 1),
    ],
    slips: &[
        ("b", "bit"),
        ("kb", "kbit"),
        ("Mb", "Mbit"),
        ("bits", "bit"),
        ("byte", "B"),
        ("bytes", "B"),
        ("KB", "kB"),
        ("KiB", "kB"),
    ],
    max: FINE_MAX,
    max_text: "10000000 Mbit",
};

const FINE_TIME: Dimension = Dimension {
    noun: "time",
    whole: "ps",
    usual: "us",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
    ],
    slips: TIME.slips,
    max: 864_000_000_000_000_000,
    max_text: "10 days",
};

/// A time in nanoseconds: `25 ms`, `0.5ms`, `40us`.
///
/// # Errors
/// No unit, an unknown one, no number, a negative, fractional or too large one.
pub fn parse_time_ns(text: &str) -> Result<u64, QuantityError> {
    TIME.parse(text)
}

/// A cost in picoseconds: `32 us`, `0.026 us`, `9.86 us`.
///
/// # Errors
/// As [`parse_time_ns`].
pub fn parse_cost_ps(text: &str) -> Result<u64, QuantityError> {
    COST.parse(text)
}

/// A rate in bit/s: `100 Mbit/s`.
///
/// # Errors
/// As [`parse_time_ns`].
pub fn parse_rate_bps(text: &str) -> Result<u64, QuantityError> {
    RATE.parse(text)
}

/// A size in bytes: `154 kB` (1000 B each), `64 B`.
///
/// # Errors
/// As [`parse_time_ns`]; `KB` and `KiB` are asked about.
pub fn parse_size_bytes(text: &str) -> Result<u64, QuantityError> {
    let unit = split(text).1;
    if matches!(unit, "KB" | "KiB" | "MiB" | "kiB" | "Kb" | "Kib") {
        let number = split(text).0;
        let (decimal, factor) = if unit == "MiB" { ("MB", 1_048_576) } else { ("kB", 1_024) };
        let binary = number
            .parse::<u64>()
            .ok()
            .and_then(|n| n.checked_mul(factor))
            .map_or_else(String::new, |bytes| format!(", or {bytes} B"));
        return Err(QuantityError {
            message: format!("`{}` can be read in two ways", shorten(text)),
            hint: format!("did you mean {number} {decimal} (1 kB = 1000 B){binary}?"),
        });
    }
    SIZE.parse(text)
}

/// A length in millimetres: `5 m`, `30 cm`.
///
/// # Errors
/// As [`parse_time_ns`].
pub(crate) fn parse_length_mm(text: &str) -> Result<u64, QuantityError> {
    LENGTH.parse(text)
}

/// A share in percent: `200 %`.
///
/// # Errors
/// As [`parse_time_ns`].
pub(crate) fn parse_percent(text: &str) -> Result<u64, QuantityError> {
    SHARE.parse(text)
}

/// A clock tolerance in parts per million: `200 ppm`.
///
/// # Errors
/// As [`parse_time_ns`].
pub(crate) fn parse_ppm(text: &str) -> Result<u64, QuantityError> {
    TOLERANCE.parse(text)
}

/// A burst in bits: `1 kbit`, `1 B`.
///
/// # Errors
/// As [`parse_time_ns`].
pub(crate) fn parse_burst_bits(text: &str) -> Result<u64, QuantityError> {
    BURST.parse(text)
}

/// A rate in 10⁻⁶ bit/s, for curves: `4 Mbit/s`, `0.25 bit/s`.
///
/// # Errors
/// As [`parse_time_ns`].
pub fn parse_rate_ubps(text: &str) -> Result<u64, QuantityError> {
    FINE_RATE.parse(text)
}

/// An amount of data in 10⁻⁶ bit, for curves: `80 bit`, `1.5 kB`.
///
/// # Errors
/// As [`parse_time_ns`].
pub(crate) fn parse_data_ubit(text: &str) -> Result<u64, QuantityError> {
    FINE_DATA.parse(text)
}

/// A time in picoseconds, for curves: `10 us`, `0.5 ns`.
///
/// # Errors
/// As [`parse_time_ns`].
pub fn parse_time_ps(text: &str) -> Result<u64, QuantityError> {
    FINE_TIME.parse(text)
}

/// Propagation delay of a cable in nanoseconds, rounded up: 5.3 ns/m ([MC-SDN] section VI-B:
/// 530 ns on 100 m of Cat. 5e).
pub const fn propagation_ns(length_mm: u64) -> u64 {
    (length_mm * 53).div_ceil(10_000)
}

/// The number and the unit of a text; either can be empty.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_')))
        .unwrap_or(text.len());
    (text[..end].trim(), text[end..].trim())
}

/// Whether what follows a number is its power of ten, as in `1e6 B`.
fn is_scientific(rest: &str) -> bool {
    let Some(power) = rest.strip_prefix(['e', 'E']) else { return false };
    power.strip_prefix(['+', '-']).unwrap_or(power).starts_with(|c: char| c.is_ascii_digit())
}

fn shorten(text: &str) -> String {
    let text = text.trim();
    if text.chars().count() <= 24 {
        return text.to_owned();
    }
    text.chars().take(23).chain(['…']).collect()
}

impl Dimension {
    fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let (number, unit) = split(text);
        let is_digit = |c: char| c.is_ascii_digit();
        let number = if number.contains(is_digit) { number } else { "" };
        let fail = |message: String, hint: String| Err(QuantityError { message, hint });
        let shown = shorten(text);
        if number.is_empty() {
            return fail(format!("`{shown}` is not a {}", self.noun), self.example());
        }
        if unit.is_empty() {
            return fail(
                format!("{} `{shown}` has no unit", self.noun),
                format!("did you mean {number} {}? {}", self.usual, self.units_text()),
            );
        }
        if is_scientific(unit) {
            let why = "powers of ten are not read";
            return fail(format!("`{shown}` is not a {}: {why}", self.noun), self.example());
        }
        let Some(&(_, factor)) = self.units.iter().find(|(name, _)| *name == unit) else {
            let slip = self.slips.iter().find(|(slip, _)| *slip == unit);
            let meant = slip.map(|(_, meant)| format!("did you mean {number} {meant}? "));
            return fail(
                format!("`{shown}` has no unit of {}", self.noun),
                meant.unwrap_or_default() + &self.units_text(),
            );
        };
        match decimal(number) {
            Ok(parts) => self.scaled(parts, factor, &shown),
            Err(why) => fail(format!("`{shown}` is not a {}: {why}", self.noun), self.example()),
        }
    }

    /// So many of a unit as whole ones of the smallest.
    fn scaled(
        &self,
        (mantissa, decimals): (u128, u32),
        factor: u64,
        shown: &str,
    ) -> Result<u64, QuantityError> {
        let fail = |message: String, hint: String| Err(QuantityError { message, hint });
        let scale = 10_u128.pow(decimals);
        match mantissa.checked_mul(u128::from(factor)) {
            Some(total) if total % scale != 0 => fail(
                format!("{} `{shown}` is not whole in {}", self.noun, self.whole),
                format!("did you mean {} {}?", (total / scale).max(1), self.whole),
            ),
            Some(total) if total / scale <= u128::from(self.max) => {
                Ok(u64::try_from(total / scale).expect("compared with a 64-bit maximum"))
            }
            _ => fail(
                format!("{} `{shown}` is too large", self.noun),
                format!("at most {} can be", self.max_text),
            ),
        }
    }

    fn units_text(&self) -> String {
        let names: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
        if let [only] = names.as_slice() {
            return format!("the unit is {only}");
        }
        format!("units are {}", names.join(", "))
    }

    fn example(&self) -> String {
        format!("write a number and its unit, as in 5 {}", self.usual)
    }
}

/// All digits of a decimal number and how many of them follow the point.
fn decimal(number: &str) -> Result<(u128, u32), &'static str> {
    if number.starts_with('-') {
        return Err("it cannot be negative");
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || number.ends_with('.') {
        return Err("the number is not a decimal one");
    }
    let fraction = fraction.trim_end_matches('0');
    let whole = whole.trim_start_matches('0');
    if whole.len() + fraction.len() > DIGITS_MAX {
        return Err("the number has too many digits");
    }
    let mantissa = format!("0{whole}{fraction}").parse().map_err(|_| "too many digits")?;
    let decimals = u32::try_from(fraction.len()).map_err(|_| "too many digits")?;
    Ok((mantissa, decimals))
}

/// A value in the largest unit in which it is whole.
fn largest(value: u64, units: &[(&str, u64)], least: &str) -> String {
    let fits = |factor: u64| value.is_multiple_of(factor) && value > 0;
    let unit = units.iter().filter(|(_, factor)| fits(*factor)).max_by_key(|(_, factor)| *factor);
    match unit {
        Some((name, factor)) => format!("{} {name}", value / factor),
        None => format!("{value} {least}"),
    }
}

/// A time as [`parse_time_ns`] reads it back exactly; never in minutes.
pub fn format_time(ns: u64) -> String {
    largest(ns, &TIME.units[..4], "ns")
}

/// A cost as [`parse_cost_ps`] reads it back exactly.
pub fn format_cost(ps: u64) -> String {
    largest(ps, COST.units, "ps")
}

/// A rate as [`parse_rate_bps`] reads it back exactly.
pub fn format_rate(bps: u64) -> String {
    largest(bps, RATE.units, "bit/s")
}

/// A size as [`parse_size_bytes`] reads it back exactly.
pub fn format_size(bytes: u64) -> String {
    largest(bytes, SIZE.units, "B")
}

/// A burst of whole bytes as [`parse_burst_bits`] reads it back exactly: `kbit` where it is whole in
/// them, as switches state it, else `B`.
pub(crate) fn format_burst(bytes: u64) -> String {
    match bytes % BYTES_PER_KBIT {
        0 => format!("{} kbit", bytes / BYTES_PER_KBIT),
        _ => format!("{bytes} B"),
    }
}

/// A rate as [`parse_rate_ubps`] reads it back exactly.
pub fn format_rate_ubps(ubps: u64) -> String {
    largest_or_decimal(ubps, &FINE_RATE)
}

/// An amount of data as [`parse_data_ubit`] reads it back exactly.
pub(crate) fn format_data_ubit(ubit: u64) -> String {
    largest_or_decimal(ubit, &FINE_DATA)
}

/// A time as [`parse_time_ps`] reads it back exactly.
pub fn format_time_ps(ps: u64) -> String {
    largest(ps, FINE_TIME.units, "ps")
}

/// The largest unit in which the value is whole, or the first unit with six decimals.
fn largest_or_decimal(millionths: u64, dimension: &Dimension) -> String {
    let (name, factor) = dimension.units[0];
    if millionths.is_multiple_of(factor) {
        return largest(millionths, &dimension.units[..dimension.units.len() - 1], name);
    }
    let fraction = format!("{:06}", millionths % factor);
    format!("{}.{} {name}", millionths / factor, fraction.trim_end_matches('0'))
}

/// The roundest length whose [`propagation_ns`] is exactly `ns`.
pub(crate) fn format_length(ns: u64) -> String {
    let longest_mm = ns.saturating_mul(10_000) / 53;
    for (unit, factor) in [("m", 1_000), ("cm", 10)] {
        let number = longest_mm / factor;
        if propagation_ns(number * factor) == ns {
            return format!("{number} {unit}");
        }
    }
    format!("{longest_mm} mm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_values_with_or_without_space() {
        for (text, ns) in [
            ("25 ms", 25_000_000),
            ("0.5ms", 500_000),
            ("40us", 40_000),
            ("1 min", 60_000_000_000),
            ("0 ns", 0),
            ("0010 ns", 10),
        ] {
            assert_eq!(parse_time_ns(text), Ok(ns), "{text}");
        }
        assert_eq!(parse_rate_bps("100 Mbit/s"), Ok(100_000_000));
        assert_eq!(parse_size_bytes("154 kB"), Ok(154_000));
        assert_eq!(parse_length_mm("2.5 m"), Ok(2_500));
    }

    #[test]
    fn each_refusal_says_what_would_fit() {
        for (error, words) in [
            (parse_time_ns("25"), "time `25` has no unit: did you mean 25 ms?"),
            (parse_time_ns("25 sec"), "did you mean 25 s?"),
            (parse_time_ns("-5 ms"), "cannot be negative"),
            (parse_time_ns("0.5 ns"), "not whole in ns: did you mean 1 ns?"),
            (parse_time_ns("1e1 ms"), "powers of ten are not read"),
            (parse_time_ns(".inf ms"), "`.inf ms` is not a time"),
            (parse_time_ns("- ms"), "`- ms` is not a time"),
            (parse_time_ns("99999999 min"), "too large"),
            (parse_time_ns("soon"), "`soon` is not a time"),
            (parse_time_ns("1.2.3 ms"), "not a decimal"),
            (parse_rate_bps("100Mbps"), "did you mean 100 Mbit/s?"),
            (parse_size_bytes("8 KB"), "did you mean 8 kB (1 kB = 1000 B), or 8192 B?"),
            (parse_size_bytes("8 KiB"), "8192 B?"),
            (parse_size_bytes("99999999999999999999999999 B"), "too many digits"),
        ] {
            let text = error.expect_err(words).to_string();
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn printed_values_read_back() {
        for ns in [0, 1, 999, 1_000, 40_000, 22_000_000, 20_000_000_000, 90_000_000_000] {
            assert_eq!(parse_time_ns(&format_time(ns)), Ok(ns));
        }
        for ns in 0..2_000 {
            let mm = parse_length_mm(&format_length(ns)).expect("a length");
            assert_eq!(propagation_ns(mm), ns);
        }
        for bytes in [1, 8, 124, 125, 126, 1_000, 125_000] {
            assert_eq!(parse_burst_bits(&format_burst(bytes)), Ok(bytes * 8));
        }
        assert_eq!((format_burst(250), format_burst(251)), ("2 kbit".into(), "251 B".into()));
        assert_eq!(format_length(27), "5 m");
        assert_eq!(format_size(154_000), "154 kB");
    }

    #[test]
    fn curves_are_read_to_a_millionth_and_written_back() {
        assert_eq!(parse_rate_ubps("4710605.379978 bit/s"), Ok(4_710_605_379_978));
        assert_eq!(parse_data_ubit("1.5 kB"), Ok(12_000_000_000));
        assert_eq!(parse_time_ps("0.5 ns"), Ok(500));
        assert!(parse_rate_ubps("0.0000001 bit/s").is_err());
        assert!(parse_data_ubit("2 b").expect_err("B or bit").hint.contains("2 bit"));
        for value in [0, 1, 999_999, 8_000_000, 12_000_000_000, 4_710_605_379_978, FINE_MAX] {
            assert_eq!(parse_rate_ubps(&format_rate_ubps(value)), Ok(value));
            assert_eq!(parse_data_ubit(&format_data_ubit(value)), Ok(value));
        }
        assert_eq!(format_rate_ubps(4_000_000_000_000), "4 Mbit/s");
        assert_eq!(format_data_ubit(80_000_000), "10 B");
        assert_eq!(format_time_ps(10_000_000), "10 us");
    }

    #[test]
    fn a_hundred_metres_take_530_ns() {
        assert_eq!(propagation_ns(100_000), 530);
        assert_eq!(propagation_ns(5_000), 27);
    }
}
