//! Whole numbers of any size, as proofs hold them.

use num_bigint::BigUint;
use num_traits::ToPrimitive;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Digits of a number that are written and read.
pub(crate) const DIGITS_MAX: usize = 4_096;

/// A whole number that is not negative. In JSON a number below 2⁶⁴, and a text of decimal digits
/// from there on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Natural(pub BigUint);

impl Natural {
    /// Nothing.
    pub const ZERO: Self = Self(BigUint::ZERO);
}

impl From<u64> for Natural {
    fn from(value: u64) -> Self {
        Self(value.into())
    }
}

impl Serialize for Natural {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_u64() {
            Some(small) => serializer.serialize_u64(small),
            None => serializer.serialize_str(&self.0.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for Natural {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Digits)
    }
}

struct Digits;

impl Visitor<'_> for Digits {
    type Value = Natural;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number that is not negative, above 2^64 - 1 as a text of digits")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Natural, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Natural, E> {
        let is_read = text.len() <= DIGITS_MAX && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_read.then(|| text.parse().ok()).flatten();
        number.map(Natural).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}
