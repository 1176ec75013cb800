//! The independent checker's word on a plan, without which no bound is printed.

use tenuto_certify::Certificate;
use tenuto_model::Plan;

/// What the checker says.
#[derive(Clone, Debug)]
pub(crate) enum Certification {
    /// Every claim follows from the description.
    Certified(Box<Certificate>),
    /// The claims and the description differ, in words.
    Rejected(Vec<String>),
}

impl Certification {
    /// Asks the checker about a sealed plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        Self::of_text(&plan.to_json())
    }

    /// Asks the checker about the text of a plan.
    pub(crate) fn of_text(text: &str) -> Self {
        match tenuto_certify::certify(text) {
            Ok(certificate) => Self::Certified(Box::new(certificate)),
            Err(findings) => Self::Rejected(findings.iter().map(ToString::to_string).collect()),
        }
    }

    /// Whether bounds may be shown.
    pub(crate) const fn allows_bounds(&self) -> bool {
        matches!(self, Self::Certified(_))
    }
}
