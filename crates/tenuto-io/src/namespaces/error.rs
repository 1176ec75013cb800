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
                write!(f, "{step} failed: {error}; `tenuto doctor` says what is missing")
            }
            Self::Program { program, error } => {
                write!(f, "cannot run {}: {error}", program.display())
            }
        }
    }
}

impl std::error::Error for SpawnError {}
