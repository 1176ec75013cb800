//! Why a program could not be started in its namespaces.

use super::{Failure, Step};
use std::path::PathBuf;
use std::{fmt, io};

/// A step on the way into namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryStep {
    /// Making a user namespace.
    UserNamespace,
    /// Writing its user and group maps.
    UserMaps,
    /// Making the other namespaces.
    Namespaces,
    /// Joining the namespaces of the lab.
    JoinLab,
    /// Joining the network namespace of a node.
    JoinNode,
    /// Asking to die with the parent.
    ParentDeath,
    /// Starting the process inside.
    Fork,
    /// Making the mounts private.
    PrivateMounts,
    /// Mounting /proc for the new pid namespace.
    MountProc,
    /// Mounting the empty file system.
    MountTmpfs,
    /// Becoming the user of the sandbox.
    Identity,
    /// Joining a control group.
    ControlGroup,
}

impl EntryStep {
    pub(super) const fn from_sys(step: Step) -> Self {
        match step {
            Step::UserNamespace => Self::UserNamespace,
            Step::UserMaps => Self::UserMaps,
            Step::Namespaces => Self::Namespaces,
            Step::JoinNamespaces => Self::JoinLab,
            Step::JoinNode => Self::JoinNode,
            Step::ParentDeath => Self::ParentDeath,
            Step::Fork => Self::Fork,
            Step::PrivateMounts => Self::PrivateMounts,
            Step::MountProc => Self::MountProc,
            Step::MountTmpfs => Self::MountTmpfs,
            Step::Identity => Self::Identity,
            Step::ControlGroup => Self::ControlGroup,
        }
    }
}

impl EntryStep {
    /// Why the kernel refused this step, in words that name what is short: of namespaces it says
    /// "no space left on device", or "too many users", where none may be made any more.
    pub fn refusal(self, error: &io::Error) -> String {
        let is_short = matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EUSERS));
        match self {
            Self::UserNamespace if is_short => format!(
                "{self} failed: user namespaces are used up or disabled (user.max_user_namespaces)"
            ),
            Self::Namespaces if is_short => format!(
                "{self} failed: namespaces are used up or disabled (user.max_net_namespaces, \
                 user.max_mnt_namespaces, user.max_pid_namespaces)"
            ),
            _ => format!("{self} failed: {error}"),
        }
    }
}

impl fmt::Display for EntryStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UserNamespace => "making a user namespace",
            Self::UserMaps => "mapping the user into the user namespace",
            Self::Namespaces => "making network, mount and pid namespaces",
            Self::JoinLab => "joining the namespaces of the lab",
            Self::JoinNode => "joining the network namespace of the node",
            Self::ParentDeath => "asking to die with the parent",
            Self::Fork => "starting the process inside",
            Self::PrivateMounts => "making the mounts private",
            Self::MountProc => "mounting /proc",
            Self::MountTmpfs => "mounting an empty file system",
            Self::Identity => "becoming the user of the sandbox",
            Self::ControlGroup => "joining a control group",
        })
    }
}

/// Why a program could not be started in its namespaces.
#[derive(Debug)]
pub enum SpawnError {
    /// Before anything was started: a pid without a process, a path with a zero byte.
    Prepare(io::Error),
    /// The kernel refused a step; `tenuto doctor` says what would help.
    Refused {
        /// What was tried.
        step: EntryStep,
        /// The kernel's reason.
        error: io::Error,
    },
    /// The namespaces were entered, but the program could not be run.
    Program {
        /// The program.
        program: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

impl From<Failure> for SpawnError {
    fn from(failure: Failure) -> Self {
        let error = io::Error::from_raw_os_error(failure.errno);
        Self::Refused { step: EntryStep::from_sys(failure.step), error }
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prepare(error) => error.fmt(f),
            Self::Refused { step, error } => {
                let refusal = step.refusal(error);
                write!(f, "{refusal}; `tenuto doctor` says what is missing")
            }
            Self::Program { program, error } => {
                write!(f, "cannot run {}: {error}", program.display())
            }
        }
    }
}

impl std::error::Error for SpawnError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_namespaces_left_is_not_said_to_have_no_disk() {
        let words = |step: EntryStep, errno| {
            let error = io::Error::from_raw_os_error(errno);
            let spawn = SpawnError::Refused { step, error: io::Error::from_raw_os_error(errno) };
            let refusal = step.refusal(&error);
            assert!(spawn.to_string().starts_with(&refusal));
            refusal
        };
        let short = "user namespaces are used up or disabled (user.max_user_namespaces)";
        for errno in [libc::ENOSPC, libc::EUSERS] {
            assert!(words(EntryStep::UserNamespace, errno).ends_with(short));
            assert!(words(EntryStep::Namespaces, errno).contains("user.max_net_namespaces"));
        }
        // An empty file system may really be refused for want of space.
        assert!(words(EntryStep::MountTmpfs, libc::ENOSPC).contains("No space left"));
        assert!(words(EntryStep::UserNamespace, libc::EPERM).contains("not permitted"));
    }
}
