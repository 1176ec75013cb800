//! Offloads that are off for as long as a port is open.

use crate::links::{LinkName, offloads_off};
use crate::sys::ethtool::{self, FEATURE_WORDS_MAX, Features};
use crate::sys::{interface, socket};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Offloads of an interface that were switched off, and are wanted again when the last of these is dropped:
/// an interface is opened again while its earlier port is not yet closed.
///
/// A process that is killed puts nothing back: the settings are the interface's own.
pub(crate) struct OffloadsOff {
    /// Held for its end.
    _interface: Arc<Quiet>,
}

/// Network namespace and index of an interface.
type InterfaceKey = (u64, u32);

/// Interfaces that are quiet.
static QUIET: Mutex<Vec<(InterfaceKey, Weak<Quiet>)>> = Mutex::new(Vec::new());

/// An interface whose offloads are off.
struct Quiet {
    name: CString,
    index: u32,
    /// As they were before, and afterwards.
    before: Features,
    after: Features,
    /// Asks in the network namespace of the interface, wherever it is dropped.
    any: OwnedFd,
}

impl OffloadsOff {
    /// Switches them off.
    ///
    /// # Errors
    ///
    /// As those of [`offloads_off`].
    pub(crate) fn of(name: &LinkName) -> io::Result<Self> {
        let any = socket::control_socket()?;
        let c_name = CString::new(name.as_str())?;
        let index = interface::index(any.as_fd(), &c_name)?;
        let key = (namespace()?, index);
        let mut all = QUIET.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, quiet)| quiet.strong_count() > 0);
        let known = all.iter().find(|(own, _)| *own == key).and_then(|(_, quiet)| quiet.upgrade());
        if let Some(quiet) = known {
            offloads_off(name)?;
            return Ok(Self { _interface: quiet });
        }
        // A device that does not tell of its features is left as it is then.
        let features = || ethtool::features(any.as_fd(), &c_name).unwrap_or_default();
        let before = features();
        offloads_off(name)?;
        let after = features();
        let quiet = Arc::new(Quiet { name: c_name, index, before, after, any });
        all.push((key, Arc::downgrade(&quiet)));
        Ok(Self { _interface: quiet })
    }
}

/// The present network namespace, by its inode.
fn namespace() -> io::Result<u64> {
    Ok(std::fs::metadata("/proc/thread-self/ns/net")?.ino())
}

impl Quiet {
    fn put_back(&self) -> io::Result<()> {
        let any = self.any.as_fd();
        // Another interface may have got the name.
        if interface::index(any, &self.name)? != self.index {
            return Ok(());
        }
        let now = ethtool::features(any, &self.name)?;
        let which = ours(&self.before, &self.after, &now);
        if which.iter().all(|&word| word == 0) {
            return Ok(());
        }
        ethtool::set_features(any, &self.name, now.words, &which, &self.before.wanted)
    }
}

/// Features that were changed by switching offloads off, and by nobody since.
fn ours(before: &Features, after: &Features, now: &Features) -> [u32; FEATURE_WORDS_MAX] {
    std::array::from_fn(|word| {
        let changed = before.wanted[word] ^ after.wanted[word];
        changed & !(after.wanted[word] ^ now.wanted[word]) & now.switchable[word]
    })
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // The interface may be gone.
        let _ = self.put_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_have_changed_is_left_alone() {
        let features = |wanted: u32| Features {
            words: 1,
            switchable: [0b1111; FEATURE_WORDS_MAX],
            wanted: [wanted; FEATURE_WORDS_MAX],
        };
        let (before, after) = (features(0b11_0110), features(0b00_0010));
        assert_eq!(
            ours(&before, &after, &after),
            [0b0100; FEATURE_WORDS_MAX],
            "as far as it can be"
        );
        let now = features(0b00_1110);
        assert_eq!(
            ours(&before, &after, &now),
            [0; FEATURE_WORDS_MAX],
            "somebody has switched it on"
        );
        assert_eq!(ours(&before, &before, &before), [0; FEATURE_WORDS_MAX]);
    }
}
