//! What this process may do on this machine, found by trying.

use super::{EntryStep, LabNamespaces};
use crate::sys::namespaces::{Failure, try_entry};
use crate::sys::{socket, task};
use std::{fmt, fs, io};

/// What this process may do.
#[derive(Debug)]
pub struct Rights {
    /// It is root (in its user namespace).
    pub root: bool,
    /// It may make the lab's namespaces without a user namespace of their own.
    pub namespaces: Result<(), NamespaceRefusal>,
    /// It may make them inside a new user namespace, as any user could.
    pub user_namespaces: Result<(), NamespaceRefusal>,
    /// It may open packet sockets in the present network namespace (CAP_NET_RAW).
    pub packet_sockets: Result<(), io::Error>,
}

impl Rights {
    /// Whether and how the lab can run: with the namespaces returned, or why not.
    ///
    /// # Errors
    ///
    /// The reason that the present user can do something about.
    pub fn lab(&self) -> Result<LabNamespaces, &NamespaceRefusal> {
        let of = |user| LabNamespaces { user, tmpfs: None };
        if self.root && self.namespaces.is_ok() {
            return Ok(of(false));
        }
        self.user_namespaces.as_ref().map(|()| of(true))
    }
}

/// Why the lab's namespaces cannot be made.
#[derive(Debug)]
pub struct NamespaceRefusal {
    /// What was refused; `None` when not even the attempt could be made.
    pub step: Option<EntryStep>,
    /// The kernel's reason.
    pub error: io::Error,
    /// The setting that forbids it, with its value, if one does.
    pub sysctl: Option<(&'static str, String)>,
}

impl fmt::Display for NamespaceRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Some(step) => f.write_str(&step.refusal(&self.error))?,
            None => write!(f, "{}", self.error)?,
        }
        match &self.sysctl {
            Some((name, value)) => write!(f, " (forbidden by {name} = {value})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for NamespaceRefusal {}

/// Settings that forbid user namespaces: name, file, and the value that forbids.
const FORBIDDING: [(&str, &str, &str); 3] = [
    ("kernel.unprivileged_userns_clone", "/proc/sys/kernel/unprivileged_userns_clone", "0"),
    ("user.max_user_namespaces", "/proc/sys/user/max_user_namespaces", "0"),
    (
        "kernel.apparmor_restrict_unprivileged_userns",
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    ),
];

/// Finds out by trying, in children that end at once; takes some milliseconds.
pub fn namespace_rights() -> Rights {
    Rights {
        root: task::effective_ids().0 == 0,
        namespaces: attempt(false),
        user_namespaces: attempt(true),
        packet_sockets: socket::packet_socket().map(drop),
    }
}

fn attempt(user: bool) -> Result<(), NamespaceRefusal> {
    let entry = LabNamespaces { user, tmpfs: None }.entry();
    match entry.and_then(|entry| try_entry(&entry)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(failure)) => Err(refusal(failure, user)),
        Err(error) => Err(NamespaceRefusal { step: None, error, sysctl: None }),
    }
}

fn refusal(failure: Failure, user: bool) -> NamespaceRefusal {
    let forbids = |&(name, path, value): &(&'static str, &str, &str)| {
        let found = fs::read_to_string(path).ok()?.trim().to_owned();
        (found == value).then_some((name, found))
    };
    NamespaceRefusal {
        step: Some(EntryStep::from_sys(failure.step)),
        error: io::Error::from_raw_os_error(failure.errno),
        sysctl: FORBIDDING.iter().find_map(forbids).filter(|_| user),
    }
}
