//! What is answered to who asked: acceptances with bounds, and problems (RFC 9457).

use serde::{Deserialize, Serialize};
use tenuto_model::{Diagnostics, FlowBound, Plan, Severity, Transition};
use utoipa::ToSchema;

/// A bound and what it is held against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BoundRow {
    /// The flow.
    pub flow: String,
    /// Receiving host.
    pub target: String,
    /// Mode, or `FROM>TO` for a change of modes.
    pub mode: String,
    /// Scheduling class, 0 = highest.
    pub priority: u8,
    /// Deadline, nanoseconds.
    pub deadline_ns: u64,
    /// End-to-end bound, nanoseconds, rounded up; null if unbounded.
    pub delay_bound_ns: Option<u64>,
    /// Deadline less bound, nanoseconds.
    pub slack_ns: Option<u64>,
    /// Analysis that gave it.
    pub method: String,
}

impl BoundRow {
    /// The row of one bound of a plan.
    pub(crate) fn of(plan: &Plan, row: &FlowBound) -> Self {
        let delay_bound_ns = row.delay_bound_ps.map(|ps| ps.div_ceil(1_000));
        Self {
            flow: row.flow.clone(),
            target: row.target.clone(),
            mode: row.mode.label(&plan.network.modes),
            priority: row.priority,
            deadline_ns: row.deadline_ns,
            delay_bound_ns,
            slack_ns: delay_bound_ns.and_then(|bound| row.deadline_ns.checked_sub(bound)),
            method: row.method.clone(),
        }
    }

    /// The rows of one flow.
    pub(crate) fn of_flow(plan: &Plan, name: &str) -> Vec<Self> {
        let rows = plan.flows.iter().filter(|row| row.flow == name);
        rows.map(|row| Self::of(plan, row)).collect()
    }
}

/// An answer that says yes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// Number of the decision; the one before for what was only asked.
    pub decision: u64,
    /// Whether it is in force; a what-if is not.
    pub in_force: bool,
    /// `confirmed`: in force, and in every switch that is kept; `pending`: stored, and not in every switch yet.
    pub state: String,
    /// Which model decided.
    pub decided_by: String,
    /// How long deciding took, microseconds.
    pub took_us: u64,
    /// Hash of the plan that the set is.
    pub plan_hash: String,
    /// Bounds of the flows that were added or changed.
    pub bounds: Vec<BoundRow>,
    /// What the reader of flows warned of.
    pub warnings: Vec<String>,
}

/// A resource that is scarce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusalDocument {
    /// Where, such as `sw1:3 > sw2`.
    pub place: String,
    /// What is short.
    pub resource: String,
    /// In which mode, if it depends on one.
    pub mode: Option<String>,
    /// How much is needed, in `unit`.
    pub needed: Option<u64>,
    /// How much there is, in `unit`.
    pub available: Option<u64>,
    /// Unit of both.
    pub unit: String,
    /// Flows that take part there.
    pub flows: Vec<String>,
    /// Why, in a sentence.
    pub because: String,
    /// Changes that were planned and hold.
    pub would_fit: Vec<String>,
}

impl RefusalDocument {
    /// Every refusal of a plan.
    pub(crate) fn all(plan: &Plan) -> Vec<Self> {
        let modes = &plan.network.modes;
        let label = |mode: Transition| mode.label(modes);
        let one = |it: &tenuto_model::Refusal| Self {
            place: it.place.clone(),
            resource: it.resource.clone(),
            mode: it.mode.map(label),
            needed: it.needed,
            available: it.available,
            unit: it.unit.clone(),
            flows: it.flows.clone(),
            because: it.because.clone(),
            would_fit: it.would_fit.clone(),
        };
        plan.refusals.iter().map(one).collect()
    }
}

/// A mistake in what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Mistake {
    /// Key path, such as `flows.CAM.period`.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// What was meant, or what would fit.
    pub hint: Option<String>,
}

/// Why a change was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Something is scarce.
    Refused(Vec<RefusalDocument>),
    /// Fields that cannot be.
    Invalid(Vec<Mistake>),
    /// It does not fit what is there.
    Conflict(String),
    /// There is no such flow.
    NotFound(String),
    /// Nothing is admitted at the moment, and why.
    Stopped(String),
    /// This controller does not lead: why, and where the one that does is spoken to.
    NotLeading {
        /// Why, in a sentence.
        why: String,
        /// Where to ask instead, if that is known.
        leader: Option<String>,
    },
    /// The log could not be written; nothing was changed.
    NotStored(String),
    /// The key was used for something else.
    KeyReused,
    /// A switch refused its part, and the change is undone everywhere.
    SwitchRefused(String),
}

impl Denied {
    /// The errors of a reading.
    pub(crate) fn invalid(all: &Diagnostics) -> Self {
        let errors = all.iter().filter(|it| it.severity == Severity::Error);
        let one = |it: &tenuto_model::Diagnostic| Mistake {
            field: it.field_path.clone(),
            message: it.message.clone(),
            hint: it.hint.clone(),
        };
        Self::Invalid(errors.map(one).collect())
    }

    /// The problem document of it.
    pub fn problem(&self) -> Problem {
        let problem = |status, kind: &str, title: &str, detail: String| Problem {
            type_: format!("/problems/{kind}"),
            title: title.to_owned(),
            status,
            detail,
            refusals: Vec::new(),
            errors: Vec::new(),
            leader: None,
        };
        match self {
            Self::Refused(refusals) => {
                let detail = refusals.first().map_or("", |it| it.because.as_str()).to_owned();
                let title = "Not every flow can be guaranteed";
                Problem { refusals: refusals.clone(), ..problem(409, "refused", title, detail) }
            }
            Self::Invalid(errors) => {
                let detail = errors.first().map_or("", |it| it.message.as_str()).to_owned();
                let title = "The flow cannot be read";
                Problem { errors: errors.clone(), ..problem(422, "invalid", title, detail) }
            }
            Self::Conflict(why) => {
                problem(409, "conflict", "This does not fit what is admitted", why.clone())
            }
            Self::NotFound(why) => problem(404, "not-found", "There is no such flow", why.clone()),
            Self::Stopped(why) => problem(503, "stopped", "Nothing is admitted now", why.clone()),
            Self::NotLeading { why, leader } => {
                let title = "Another controller decides, or none at this moment";
                Problem {
                    leader: leader.clone(),
                    ..problem(503, "not-leading", title, why.clone())
                }
            }
            Self::NotStored(why) => {
                problem(507, "not-stored", "The decision could not be stored", why.clone())
            }
            Self::SwitchRefused(why) => problem(
                409,
                "switch-refused",
                "A switch refused its part of the change",
                why.clone(),
            ),
            Self::KeyReused => {
                let detail = "take another Idempotency-Key, or send what was sent with this one";
                problem(422, "key-reused", "The key was used for something else", detail.into())
            }
        }
    }
}

/// A problem document (RFC 9457), with the refusal in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Kind of problem: a relative address that names it.
    #[serde(rename = "type")]
    pub type_: String,
    /// The kind in words.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// This case in words.
    pub detail: String,
    /// What is scarce, where that is the problem.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<RefusalDocument>,
    /// What is wrong with the flow, where that is the problem.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Mistake>,
    /// Where to ask instead, where another controller decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
}
