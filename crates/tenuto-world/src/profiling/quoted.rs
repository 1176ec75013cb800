//! Texts in a profile file.

use std::fmt::Write;

/// A scalar of YAML: plain where nothing can be mistaken, else in quotes.
pub(super) fn quoted(text: &str) -> String {
    let starts = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let special = matches!(text.to_ascii_lowercase().as_str(), "null" | "true" | "false");
    if starts && text.chars().all(plain) && !special {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                // A string takes all that is written to it.
                let _ = write!(quoted, "\\U{:08x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_text_cannot_end_its_line_or_become_something_else() {
        assert_eq!(quoted("mine-2"), "mine-2");
        assert_eq!(quoted("null"), "\"null\"");
        assert_eq!(quoted("1.5"), "\"1.5\"");
        assert_eq!(quoted("a: \"b\"\nlike: tenuto"), "\"a: \\\"b\\\"\\U0000000alike: tenuto\"");
    }
}
