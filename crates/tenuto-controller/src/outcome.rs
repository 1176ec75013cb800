//! How an installation ended, and what it told on the way.

use crate::difference::Difference;
use std::fmt;
use tenuto_openflow::{BadAction, BadRequest, ErrorCode, ErrorMessage, ModeStatus};

/// How a switch came to be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstallKind {
    /// Cleared and installed.
    Fresh,
    /// It had everything already; nothing was changed.
    Adopted,
    /// Changed by the differences.
    Updated,
    /// It held something else, and was changed by the differences.
    Repaired,
}

/// Why an installation failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InstallFailure {
    /// The deployment names things twice.
    Ambiguous {
        /// How many.
        clashes: usize,
    },
    /// The switch refused commands.
    Refused {
        /// How many.
        commands: usize,
    },
    /// The read-back is not what is wanted.
    Differs {
        /// In how many fields.
        fields: usize,
    },
    /// The deployment needs modes, and the switch does not know our experimenter messages.
    ModesUnsupported,
    /// The switch did not answer in time.
    NoReply {
        /// What it did not answer.
        to: String,
    },
    /// The switch answered something else than it was asked.
    WrongReply,
    /// The switch tells more than it can hold.
    TooMany,
}

impl fmt::Display for InstallFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ambiguous { clashes } => {
                write!(f, "deployment names {clashes} things twice; plan again")
            }
            Self::Refused { commands } => write!(f, "switch refused {commands} commands"),
            Self::Differs { fields } => write!(f, "switch differs in {fields} fields"),
            Self::ModesUnsupported => f.write_str(
                "switch does not support modes; use Tenuto's switch, or a plan with one mode",
            ),
            Self::NoReply { to } => write!(f, "switch did not answer in time: {to}"),
            Self::WrongReply => f.write_str("switch answered something else than it was asked"),
            Self::TooMany => f.write_str("switch tells more than it can hold"),
        }
    }
}

impl std::error::Error for InstallFailure {}

/// What an installation tells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InstallEvent {
    /// The switch refused a command.
    Refused {
        /// The command, by name.
        command: String,
        /// The OpenFlow error, by name.
        error: String,
    },
    /// The read-back found these differences.
    Differs(Vec<Difference>),
    /// Everything is there: barrier replied, read-back equal.
    Installed {
        /// How it came to be.
        kind: InstallKind,
        /// The switch's mode at that moment, where modes are used.
        status: Option<ModeStatus>,
    },
    /// It failed; nothing more is tried.
    Failed(InstallFailure),
}

/// The name in the specification, or the numbers.
pub(crate) fn error_name(error: &ErrorMessage) -> String {
    match error.error() {
        Some(code) => code.name().into(),
        None => format!("error type {} code {}", error.type_, error.code),
    }
}

/// Whether the answer says that our experimenter messages or actions are not known at all.
pub(crate) fn is_unknown_experimenter(error: &ErrorMessage) -> bool {
    matches!(
        error.error(),
        Some(
            ErrorCode::BadRequest(BadRequest::BadExperimenter | BadRequest::BadType)
                | ErrorCode::BadAction(BadAction::BadExperimenter | BadAction::BadExpType)
        )
    )
}
