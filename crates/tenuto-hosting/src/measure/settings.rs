//! What is measured, and how long.

use serde::{Deserialize, Serialize};
use tenuto_units::Span;

/// Which figures, and how long each window is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureSettings {
    /// Names of series; all if none is named.
    pub only: Vec<String>,
    /// Windows of a setting.
    pub rounds: u32,
    /// Length of a window.
    pub window_ms: u64,
}

impl MeasureSettings {
    /// For people who want figures.
    pub const fn usual() -> Self {
        Self { only: Vec::new(), rounds: 5, window_ms: 150 }
    }

    /// To see that everything works.
    pub const fn quick() -> Self {
        Self { only: Vec::new(), rounds: 2, window_ms: 30 }
    }

    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|it| it == name)
    }

    pub(super) const fn window(&self) -> Span {
        Span::from_ms(self.window_ms)
    }
}
