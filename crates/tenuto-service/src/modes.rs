//! What switches tell of modes. Told, and never asked: a raise goes from switch to switch.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use tenuto_openflow::{ModeEvent, ModeEventKind, ModeStatus};
use utoipa::ToSchema;

/// Changes that are kept, the latest ones.
const CHANGES_MAX: usize = 1_024;

/// The mode of a switch as it last told it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SwitchMode {
    /// Its name.
    pub switch: String,
    /// Mode of its forwarding.
    pub mode: String,
    /// Mode that its edges admit: higher until the last switch has confirmed a return.
    pub admitted: String,
    /// Number of the agreement; a greater one is later.
    pub epoch: u64,
    /// Raises since it was started.
    pub raises: u64,
    /// Returns since it was started.
    pub returns: u64,
    /// Frames out of mode that left its queues at changes.
    pub purged_frames: u64,
    /// When that was told, milliseconds since 1970.
    pub at_ms: u64,
}

/// Something that a switch told of a mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModeChange {
    /// Milliseconds since 1970, at the controller.
    pub at_ms: u64,
    /// Nanoseconds of the switch's own clock.
    pub switch_ns: u64,
    /// The switch.
    pub switch: String,
    /// `violation`: a flow exceeds its contract of the mode; `raised`, `swapped` (forwards by the lower mode, admits by the higher
    /// still), `returned`, and `signal_rejected`: somebody sent a signal that is none.
    pub kind: String,
    /// Mode before.
    pub from: String,
    /// Mode after; of a violation, the mode that it asks for.
    pub to: String,
    /// Number of the agreement.
    pub epoch: u64,
    /// The flow that exceeded its contract, of a violation.
    pub flow: Option<String>,
    /// Frames out of mode that left the queues.
    pub purged_frames: u32,
}

#[derive(Debug, Default)]
struct Kept {
    switches: BTreeMap<String, SwitchMode>,
    changes: VecDeque<ModeChange>,
    counts: BTreeMap<(String, &'static str), u64>,
}

/// Modes of switches, and their history.
#[derive(Debug, Default)]
pub(crate) struct ModeBook {
    kept: Mutex<Kept>,
}

impl ModeBook {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("nobody panics with it")
    }

    /// Takes a status in.
    pub(crate) fn status(&self, at_ms: u64, switch: &str, status: &ModeStatus, modes: &[String]) {
        let known = SwitchMode {
            switch: switch.to_owned(),
            mode: named(modes, status.level),
            admitted: named(modes, status.admitted_level),
            epoch: status.epoch,
            raises: status.raises,
            returns: status.returns,
            purged_frames: status.purged_frames,
            at_ms,
        };
        self.kept().switches.insert(switch.to_owned(), known);
    }

    /// Takes an event in, and gives it as it is kept.
    pub(crate) fn event(
        &self,
        at_ms: u64,
        (switch, flow): (&str, Option<&str>),
        event: &ModeEvent,
        modes: &[String],
    ) -> ModeChange {
        let kind = word(event.kind);
        let change = ModeChange {
            at_ms,
            switch_ns: event.at_ns,
            switch: switch.to_owned(),
            kind: kind.to_owned(),
            from: named(modes, event.from_level),
            to: named(modes, event.to_level),
            epoch: event.epoch,
            flow: flow.filter(|_| event.kind == ModeEventKind::Violation).map(str::to_owned),
            purged_frames: event.purged_frames,
        };
        let mut kept = self.kept();
        *kept.counts.entry((switch.to_owned(), kind)).or_default() += 1;
        kept.changes.push_back(change.clone());
        if kept.changes.len() > CHANGES_MAX {
            kept.changes.pop_front();
        }
        if !matches!(event.kind, ModeEventKind::Violation | ModeEventKind::SignalRejected) {
            let now = kept.switches.entry(switch.to_owned()).or_default();
            (now.switch, now.at_ms, now.epoch) = (switch.to_owned(), at_ms, event.epoch);
            now.mode.clone_from(&change.to);
            // Until the last confirmation edges admit what the higher mode does.
            let admits =
                if event.kind == ModeEventKind::Swapped { &change.from } else { &change.to };
            now.admitted.clone_from(admits);
        }
        change
    }

    /// What is known of every switch, by name.
    pub(crate) fn switches(&self) -> Vec<SwitchMode> {
        self.kept().switches.values().cloned().collect()
    }

    /// What was told lately, the latest last.
    pub(crate) fn changes(&self) -> Vec<ModeChange> {
        self.kept().changes.iter().cloned().collect()
    }

    /// How often each kind was told, by switch.
    pub(crate) fn counts(&self) -> BTreeMap<(String, &'static str), u64> {
        self.kept().counts.clone()
    }
}

const fn word(kind: ModeEventKind) -> &'static str {
    match kind {
        ModeEventKind::Violation => "violation",
        ModeEventKind::Raised => "raised",
        ModeEventKind::Swapped => "swapped",
        ModeEventKind::Returned => "returned",
        ModeEventKind::SignalRejected => "signal_rejected",
    }
}

fn named(modes: &[String], level: u8) -> String {
    modes.get(usize::from(level)).cloned().unwrap_or_else(|| format!("level {level}"))
}
