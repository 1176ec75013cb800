//! What `witness --json` says, and `witness.json` keeps.

use crate::header::Header;
use serde::Serialize;

/// All witnesses of a plan.
#[derive(Debug, Serialize)]
pub(crate) struct Document {
    #[serde(flatten)]
    pub(crate) header: Header,
    /// Name of the network.
    pub(crate) network: String,
    /// Schedules played per row, at most.
    pub(crate) plays_per_row: u64,
    /// Schedules played in all.
    pub(crate) plays: u64,
    /// Whether every row had all its plays; time may have cut them.
    pub(crate) is_complete: bool,
    /// Rows that are not attacked: returns to a lower mode, rows without a bound.
    pub(crate) rows_not_attacked: usize,
    /// How tight each kind of row is.
    pub(crate) kinds: Vec<KindRow>,
    /// Delays.
    pub(crate) rows: Vec<DelayRow>,
    /// Backlogs.
    pub(crate) backlogs: Vec<BacklogRow>,
    /// Mode changes that the witnesses went through.
    pub(crate) mode_changes: Vec<ChangeRow>,
    /// What is above its bound.
    pub(crate) violations: Vec<ViolationRow>,
}

/// Rows of one kind.
#[derive(Debug, Serialize)]
pub(crate) struct KindRow {
    /// `delay` or `backlog`; mode or change.
    pub(crate) kind: String,
    /// Rows with a witness.
    pub(crate) rows: usize,
    /// Least tightness.
    pub(crate) tightness_min: f64,
    /// Median tightness.
    pub(crate) tightness_median: f64,
    /// Rows of a tightness from 0.9.
    pub(crate) rows_from_90_percent: usize,
    /// Rows of a tightness from 0.75.
    pub(crate) rows_from_75_percent: usize,
    /// Rows of a tightness from 0.5.
    pub(crate) rows_from_50_percent: usize,
}

/// A delay beside its bound.
#[derive(Debug, Serialize)]
pub(crate) struct DelayRow {
    /// Flow.
    pub(crate) flow: String,
    /// Target.
    pub(crate) target: String,
    /// Redundant network; null where there is one network.
    pub(crate) copy: Option<String>,
    /// Mode, or `LO>HI`.
    pub(crate) mode: String,
    /// Bound, nanoseconds.
    pub(crate) delay_bound_ns: u64,
    /// Largest delay that a replay in the switch core showed, nanoseconds; null without a witness.
    pub(crate) witness_delay_ns: Option<u64>,
    /// As the search's own player showed it, nanoseconds; another schedule may have shown more in its replay.
    pub(crate) searched_delay_ns: Option<u64>,
    /// Witness by bound.
    pub(crate) tightness: Option<f64>,
    /// Port by port, of the schedule that was made for this row.
    pub(crate) hops: Vec<HopRow>,
    /// The port at which the bound allows most that the witness did not use.
    pub(crate) gives_most_away_at: Option<String>,
    /// What the bound counts at that port, most given away first; with `--flow` of a network file.
    pub(crate) terms: Vec<TermRow>,
    /// Schedule file that repeats it, where files were written.
    pub(crate) schedule: Option<String>,
}

/// A term of a bound at one port, beside what the witness had of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TermRow {
    /// Flow, `frame in the way` or `mode signals`.
    pub(crate) term: String,
    /// What it costs in the bound, nanoseconds.
    pub(crate) bound_ns: u64,
    /// For how long it was on the line while the victim's last frame waited, nanoseconds.
    pub(crate) witness_ns: u64,
}

/// A port on the way.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct HopRow {
    /// `sw1:3 > sw2`.
    pub(crate) port: String,
    /// Waiting and sending as bounded there, nanoseconds; null if unbounded.
    pub(crate) queueing_bound_ns: Option<u64>,
    /// As the witness had it, nanoseconds.
    pub(crate) witness_queueing_ns: Option<u64>,
    /// Who was on the line while its last frame waited.
    pub(crate) ahead: Vec<AheadRow>,
}

/// What stood in front of a frame.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AheadRow {
    /// Flow; null for mode signals.
    pub(crate) flow: Option<String>,
    /// For how long, nanoseconds.
    pub(crate) on_line_ns: u64,
}

impl HopRow {
    /// What the bound allows and the witness did not use, ns.
    pub(crate) fn given_away_ns(&self) -> u64 {
        let bound_ns = self.queueing_bound_ns.unwrap_or(0);
        bound_ns.saturating_sub(self.witness_queueing_ns.unwrap_or(0))
    }
}

/// A backlog beside its bound.
#[derive(Debug, Serialize)]
pub(crate) struct BacklogRow {
    /// `sw1:3 > sw2`.
    pub(crate) port: String,
    /// Mode, or `LO>HI`.
    pub(crate) mode: String,
    /// Bound, bits on the wire.
    pub(crate) backlog_bound_bits: u64,
    /// Most that waited in a replay, bits on the wire; null without a witness.
    pub(crate) witness_backlog_bits: Option<u64>,
    /// The one by the other.
    pub(crate) tightness: Option<f64>,
}

/// A mode change beside its bound.
#[derive(Debug, Serialize)]
pub(crate) struct ChangeRow {
    /// Mode before.
    pub(crate) from: String,
    /// Mode after.
    pub(crate) to: String,
    /// Bound from the trigger to the last switch, nanoseconds.
    pub(crate) bound_ns: u64,
    /// The longest that a replay showed, nanoseconds.
    pub(crate) witness_ns: u64,
    /// The one by the other.
    pub(crate) tightness: f64,
}

/// A promise that a legal schedule breaks: planner, checker or switch are wrong.
#[derive(Debug, Serialize)]
pub(crate) struct ViolationRow {
    /// The row, or what the replay's judge said.
    pub(crate) what: String,
    /// What was seen: nanoseconds, or bits on the wire.
    pub(crate) seen: Option<u64>,
    /// What was promised.
    pub(crate) bound: Option<u64>,
    /// Whether the replay in the switch core showed it; otherwise the search's player alone.
    pub(crate) is_replayed: bool,
    /// Schedule file that repeats it.
    pub(crate) schedule: String,
}
