//! Paths of data (RFC 8040, section 3.5.3), streams and the names of their flows.

use super::error::Error;
use super::{MODULE, OWN_CUC};

/// Longest name of a CUC: with a stream behind it, it still is the name of a flow.
const CUC_CHARACTERS_MAX: usize = 40;

/// A stream of a CUC.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StreamKey {
    pub(super) cuc: String,
    /// As the model writes it, in capitals: `02-00-00-00-00-20:00-01`.
    pub(super) id: String,
}

impl StreamKey {
    /// Takes the names that a client gives.
    pub(super) fn new(cuc: &str, id: &str) -> Result<Self, Error> {
        let is_fine = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
        if cuc.is_empty() || cuc.len() > CUC_CHARACTERS_MAX || !cuc.chars().all(is_fine) {
            return Err(Error::value(format!(
                "cuc-id `{cuc}`: a CUC has 1 to {CUC_CHARACTERS_MAX} letters, digits, `-` and `_` here"
            )));
        }
        if !is_stream_id(id) {
            return Err(Error::value(format!(
                "stream-id `{id}`: write it as 02-00-00-00-00-20:00-01"
            )));
        }
        Ok(Self { cuc: cuc.to_owned(), id: id.to_ascii_uppercase() })
    }

    /// The name of its flow.
    pub(super) fn flow(&self) -> String {
        let digits: String = self.id.chars().filter(char::is_ascii_hexdigit).collect();
        format!("{}.{}.{}", self.cuc, &digits[..12], &digits[12..])
    }

    /// The stream that a flow is by its name, if it came as one.
    pub(super) fn of_flow(name: &str) -> Option<Self> {
        let mut parts = name.rsplitn(3, '.');
        let (unique, mac, cuc) = (parts.next()?, parts.next()?, parts.next()?);
        let hex = |text: &str, length| {
            text.len() == length
                && text.chars().all(|it| it.is_ascii_digit() || matches!(it, 'A'..='F'))
        };
        if !hex(mac, 12) || !hex(unique, 4) || cuc == OWN_CUC {
            return None;
        }
        Self::new(cuc, &written(mac, unique)).ok()
    }

    /// The stream as which a flow is seen that came otherwise: of its source, numbered by its port.
    pub(super) fn own(mac: [u8; 6], port: u16) -> Self {
        let mac: String = mac.iter().map(|byte| format!("{byte:02X}")).collect();
        Self { cuc: OWN_CUC.to_owned(), id: written(&mac, &format!("{port:04X}")) }
    }
}

/// Twelve and four hexadecimal digits as the model writes them.
fn written(mac: &str, unique: &str) -> String {
    let pairs: Vec<&str> = (0..6).map(|it| &mac[2 * it..2 * it + 2]).collect();
    format!("{}:{}-{}", pairs.join("-"), &unique[..2], &unique[2..])
}

/// The pattern of `stream-id-type`.
fn is_stream_id(text: &str) -> bool {
    text.len() == 23
        && text.bytes().enumerate().all(|(at, byte)| match at {
            17 => byte == b':',
            2 | 5 | 8 | 11 | 14 | 20 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// What a path of data names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// All of it.
    All,
    Domain(String),
    Cuc(String, String),
    Stream(String, String, String),
    /// An action of a CUC.
    Action(String, String, String),
}

impl Place {
    /// Reads a path behind `/restconf/data/`, percent signs undone per value.
    pub(super) fn of(path: &str) -> Result<Self, Error> {
        let mut parts = path.split('/');
        let unknown = || {
            let paths = format!("{MODULE}:cnc-config/domain=NAME/cuc=NAME/stream=ID");
            Error::missing(format!("nothing is at `{path}`: there is {paths}"))
        };
        if parts.next() != Some(&format!("{MODULE}:cnc-config")) {
            return Err(unknown());
        }
        let mut value = |key: &str| -> Result<Option<String>, Error> {
            let Some(part) = parts.next() else { return Ok(None) };
            match part.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')) {
                Some(value) => Ok(Some(plain(value)?)),
                None if key == "stream" => Ok(Some(format!("action {part}"))),
                None => Err(unknown()),
            }
        };
        let Some(domain) = value("domain")? else { return Ok(Self::All) };
        let Some(cuc) = value("cuc")? else { return Ok(Self::Domain(domain)) };
        let Some(stream) = value("stream")? else { return Ok(Self::Cuc(domain, cuc)) };
        if value("none")?.is_some() {
            return Err(unknown());
        }
        Ok(match stream.strip_prefix("action ") {
            Some(action) => Self::Action(domain, cuc, action.to_owned()),
            None => Self::Stream(domain, cuc, stream),
        })
    }
}

/// A value without its percent signs.
fn plain(text: &str) -> Result<String, Error> {
    let wrong = || Error::malformed(format!("`{text}` is not percent-encoded UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        if *byte == b'%' {
            let digits = behind.get(..2).and_then(|it| std::str::from_utf8(it).ok());
            let digits = digits.filter(|it| it.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let byte = digits.and_then(|it| u8::from_str_radix(it, 16).ok());
            bytes.push(byte.ok_or_else(wrong)?);
            rest = &behind[2..];
        } else {
            bytes.push(*byte);
            rest = behind;
        }
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_stream_is_its_flow_and_back() {
        let key = StreamKey::new("plant-1", "02-00-00-00-0a-20:00-1f").expect("it is one");
        assert_eq!(key.flow(), "plant-1.020000000A20.001F");
        assert_eq!(StreamKey::of_flow(&key.flow()), Some(key));
        for name in [
            "CAM",
            "a.b.c",
            "tenuto.020000000A20.001F",
            ".020000000A20.001F",
            "x.020000000a20.001F",
        ] {
            assert_eq!(StreamKey::of_flow(name), None, "{name}");
        }
        for id in ["", "02-00-00-00-0a-20:00", "02:00-00-00-0a-20:00-1f", "0é-00-00-00-0a-20:00-1f"]
        {
            assert!(StreamKey::new("c", id).is_err(), "{id}");
        }
        assert!(StreamKey::new("a.b", "02-00-00-00-0a-20:00-1f").is_err());
    }

    #[test]
    fn paths_are_read_with_their_percent_signs() {
        let root = "ieee802-dot1q-cnc-config:cnc-config";
        assert_eq!(Place::of(root), Ok(Place::All));
        let stream = format!("{root}/domain=a%2Fb/cuc=c/stream=02-00-00-00-00-20%3A00-01");
        let wanted = Place::Stream("a/b".into(), "c".into(), "02-00-00-00-00-20:00-01".into());
        assert_eq!(Place::of(&stream), Ok(wanted));
        let action = format!("{root}/domain=a/cuc=c/remove_streams");
        assert_eq!(
            Place::of(&action),
            Ok(Place::Action("a".into(), "c".into(), "remove_streams".into()))
        );
        for wrong in ["", "cnc-config", "ieee802-dot1q-cnc-config:cnc-config/host=a"] {
            assert!(Place::of(wrong).is_err(), "{wrong}");
        }
        for wrong in ["%", "%4", "%zz", "%+1", "%ff"] {
            assert!(Place::of(&format!("{root}/domain={wrong}")).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_path_and_name_is_read_without_harm(path in ".{0,80}", name in ".{0,40}") {
            let _ = Place::of(&format!("ieee802-dot1q-cnc-config:cnc-config/domain={path}"));
            let _ = Place::of(&path);
            let _ = StreamKey::of_flow(&name);
        }
    }
}
