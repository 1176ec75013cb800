//! JSON for people, but for linear proofs: those are long lists of short numbers, one line each.

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// The member that stands on one line.
const ON_ONE_LINE: &str = "linear";

/// Indented text, ended by a line feed; what is named `linear` has no line feeds in it.
///
/// # Errors
/// If a key is no text.
pub(crate) fn text(value: &impl Serialize) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    let lines = Lines { pretty: PrettyFormatter::new(), key: String::new(), inside: 0 };
    value.serialize(&mut Serializer::with_formatter(&mut bytes, lines))?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(<serde_json::Error as serde::ser::Error>::custom)
}

struct Lines {
    pretty: PrettyFormatter<'static>,
    /// The last key, as far as it was written.
    key: String,
    /// Brackets that are open on one line.
    inside: usize,
}

/// One part of either form.
macro_rules! either {
    ($self:ident, $name:ident ( $($argument:expr),* )) => {
        match $self.inside {
            0 => $self.pretty.$name($($argument),*),
            _ => CompactFormatter.$name($($argument),*),
        }
    };
}

impl Lines {
    /// Whether a bracket opens on a line that stays one.
    fn opens(&mut self) -> bool {
        let opens = self.inside > 0 || self.key == ON_ONE_LINE;
        self.inside += usize::from(opens);
        opens
    }

    /// Whether a bracket closes on such a line.
    fn closes(&mut self) -> bool {
        let closes = self.inside > 0;
        self.inside = self.inside.saturating_sub(1);
        if self.inside == 0 {
            self.key.clear();
        }
        closes
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.opens() {
            true => CompactFormatter.begin_array(writer),
            false => self.pretty.begin_array(writer),
        }
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.closes() {
            true => CompactFormatter.end_array(writer),
            false => self.pretty.end_array(writer),
        }
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        either!(self, begin_array_value(writer, first))
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        either!(self, end_array_value(writer))
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.opens() {
            true => CompactFormatter.begin_object(writer),
            false => self.pretty.begin_object(writer),
        }
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.closes() {
            true => CompactFormatter.end_object(writer),
            false => self.pretty.end_object(writer),
        }
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.key.clear();
        either!(self, begin_object_key(writer, first))
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        either!(self, begin_object_value(writer))
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        // A number or text ends with its member: no bracket behind it is of that name.
        self.key.clear();
        either!(self, end_object_value(writer))
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        self.key.push_str(fragment);
        writer.write_all(fragment.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn proofs_stand_on_one_line_and_nothing_else_does() {
        let value = json!({
            "linear": { "terms": [{ "arrival": [1, [2, 3], 4] }, {}], "nodes": [] },
            "method": "linear",
            "rows": [1, { "linear": 2, "others": [3] }],
        });
        let text = text(&value).expect("keys are texts");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
        let line = r#"  "linear": {"nodes":[],"terms":[{"arrival":[1,[2,3],4]},{}]},"#;
        assert!(text.lines().any(|l| l == line), "{text}");
        assert!(text.ends_with("\n}\n"));
        assert_eq!(text.lines().count(), 13, "{text}");
    }
}
