//! Random bytes that nobody outside can know.

use std::fs::File;
use std::io::{self, Read};

/// Bytes from the system's random source, for keys.
///
/// # Errors
/// Those of opening and reading `/dev/urandom`.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_others_each_time() {
        let [one, other] = [random_bytes::<16>(), random_bytes()].map(Result::unwrap);
        assert_ne!(one, other);
    }
}
