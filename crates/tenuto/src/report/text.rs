//! Words and numbers of the page: everything escaped, every number with its unit, rounded outward.

use std::fmt::Write;

/// Text as it may stand in an element or a quoted attribute of HTML and of XML alike.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(' '),
            // XML 1.0 has no place for these, and nothing good hides in them; the overrides of
            // the writing direction could make a name read as another.
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                out.push('\u{fffd}');
            }
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// The text, or its beginning and an ellipsis where it is longer than `letters`.
pub(super) fn shorten(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(letters.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// A text as one field of a CSV file; what a spreadsheet would take for a formula is disarmed.
pub(super) fn csv_text(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guard = if is_formula { "'" } else { "" };
    if is_formula || text.contains([',', '"', '\n', '\r']) {
        return format!("\"{guard}{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

/// Text as the data of a `data:` link inside a quoted attribute.
pub(super) fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 5 / 4);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(char::from(byte)),
            b'-' | b'_' | b'.' | b',' | b':' | b'/' | b'~' | b'(' | b')' | b';' => {
                out.push(char::from(byte));
            }
            _ => write!(out, "%{byte:02X}").expect("writing to a string"),
        }
    }
    out
}

/// Whole and thousandths of `value / unit`, rounded up.
fn thousandths_up(value: u128, unit: u128) -> String {
    let all = (value * 1_000).div_ceil(unit);
    format!("{}.{:03}", all / 1_000, all % 1_000)
}

/// A time in the unit that suits it, rounded up to a thousandth: bounds and observations.
pub(super) fn time_up(ps: u64) -> String {
    let value = u128::from(ps);
    match ps {
        0 => "0 ms".to_owned(),
        1..1_000_000_000 => format!("{} µs", thousandths_up(value, 1_000_000)),
        1_000_000_000..10_000_000_000_000 => {
            format!("{} ms", thousandths_up(value, 1_000_000_000))
        }
        _ => format!("{} s", thousandths_up(value, 1_000_000_000_000)),
    }
}

/// A time in nanoseconds, as [`time_up`].
pub(super) fn time_ns(ns: u64) -> String {
    time_up(ns.saturating_mul(1_000))
}

/// A difference of times that should be large: rounded down, so never more than there is.
pub(super) fn slack(ns: i128) -> String {
    let unit = |per: i128, name: &str| {
        let all = (ns * 1_000).div_euclid(per);
        let sign = if all < 0 { "−" } else { "" };
        let size = all.unsigned_abs();
        format!("{sign}{}.{:03} {name}", size / 1_000, size % 1_000)
    };
    match ns.unsigned_abs() {
        0 => "0 ms".to_owned(),
        1..1_000_000 => unit(1_000, "µs"),
        1_000_000..10_000_000_000 => unit(1_000_000, "ms"),
        _ => unit(1_000_000_000, "s"),
    }
}

/// An instant of a run, to the millisecond before it.
pub(super) fn seconds(ns: u64) -> String {
    format!("{}.{:03} s", ns / 1_000_000_000, ns / 1_000_000 % 1_000)
}

/// Bits as kilobytes (1 kB = 1000 B), rounded up to a thousandth.
pub(super) fn bits(bits: u64) -> String {
    format!("{} kB", thousandths_up(u128::from(bits), 8_000))
}

/// A rate, rounded up to a thousandth.
pub(super) fn rate(bps: u64) -> String {
    format!("{} Mbit/s", thousandths_up(u128::from(bps), 1_000_000))
}

/// A share in percent, rounded up to a tenth: what is used.
pub(super) fn percent_up(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let tenths = (u128::from(part) * 1_000).div_ceil(u128::from(whole));
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// A share in percent, rounded down to a tenth: what is left.
pub(super) fn percent_down(part: i128, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let tenths = (part * 1_000).div_euclid(i128::from(whole));
    let size = tenths.unsigned_abs();
    format!("{}{}.{} %", if tenths < 0 { "−" } else { "" }, size / 10, size % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_go_up_and_slack_goes_down() {
        assert_eq!(time_up(14_604_000_001), "14.605 ms");
        assert_eq!(time_up(1), "0.001 µs");
        assert_eq!(time_ns(20_000_000_000), "20.000 s");
        assert_eq!(slack(690_999), "690.999 µs");
        assert_eq!(slack(7_395_999), "7.395 ms");
        assert_eq!(slack(-7_395_001), "−7.396 ms");
        assert_eq!(percent_up(1, 3), "33.4 %");
        assert_eq!(percent_down(2, 3), "66.6 %");
        assert_eq!(percent_down(-1, 3), "−33.4 %");
        assert_eq!(bits(8_001), "1.001 kB");
    }

    #[test]
    fn nothing_leaves_its_place() {
        assert_eq!(escape("<a b='\"&\u{0}\u{202e}"), "&lt;a b=&#39;&quot;&amp;\u{fffd}\u{fffd}");
        assert_eq!(csv_text("=cmd|' /c calc'!A1"), "\"'=cmd|' /c calc'!A1\"");
        assert_eq!(csv_text("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(percent_encode("a b\"<\n%"), "a%20b%22%3C%0A%25");
        assert_eq!(shorten("ääääää", 4), "äää…");
    }
}
