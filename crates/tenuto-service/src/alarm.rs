//! What somebody has to look at.

use serde::{Deserialize, Serialize};

/// Something that somebody has to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Alarm {
    /// Kind: `not-certified`, `log-torn`, `not-stored`, `drift`, `switch-failed`, `switch-gone`, `change-undone`,
    /// `peer-refused`, `switch-limits`, `queues-missing`, `link-missing`, `link-undescribed`, `port-undescribed`,
    /// `host-unauthorised`, `delay-near-bound`, `cut-off`, `cannot-follow`, `role-refused`.
    pub kind: String,
    /// Where, or nothing.
    pub place: String,
    /// What, in a sentence.
    pub text: String,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// How often it came up since the service was started.
    pub count: u64,
    /// Whether it still holds.
    pub is_raised: bool,
}
