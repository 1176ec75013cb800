//! `receive: auto`: the receive path that carried most on this machine, chosen by measuring once, with the reasons.
//!
//! A path is chosen only if it carried no less than `inline` under every load. What it does for neighbours under a
//! flood is told beside it: that is a wish of whoever runs the machine, not of the tenant.

use crate::allowed::HostError;
use crate::measure::{MeasureSettings, Observed, Row, Series, measure};
use crate::state::StateFolder;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use tenuto_model::{NicReceive, ReceivePath};

/// Windows, and their length: the whole takes some ten seconds.
const ROUNDS: u32 = 5;
const WINDOW_MS: u64 = 40;
/// A path that carries less of `inline`'s messages than this under any load is not chosen.
const NEVER_SLOWER: f64 = 1.0;
/// A victim beside a flood that keeps this share of its messages is protected.
const KEEPS: f64 = 0.95;

/// What was measured of the receive paths of a machine, and what follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveChoice {
    /// Kernel and number of processors; another machine is measured anew.
    pub machine: String,
    /// The path: `inline`, `threaded` or `cpumap`.
    pub path: String,
    /// Why, in words with figures.
    pub reasons: Vec<String>,
    /// What a message takes in the thread that receives, by path.
    pub times: Vec<PathTime>,
}

/// Processor time of the thread of a receive path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathTime {
    /// The path.
    pub path: String,
    /// For each message, the most over all loads.
    pub message_ns: u64,
}

/// What tells machines apart.
fn machine() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!("Linux {}, {processors} processors", release.trim())
}

impl ReceiveChoice {
    /// What was measured before on this machine.
    pub fn kept(state: &StateFolder) -> Option<Self> {
        let text = fs::read_to_string(state.receive_choice()).ok()?;
        serde_json::from_str::<Self>(&text).ok().filter(|it| it.machine == machine())
    }

    /// What was measured before, or is measured now; it is kept for later.
    ///
    /// # Errors
    /// Where paths cannot be measured, as without root, and where the result cannot be kept.
    pub fn make(state: &StateFolder) -> Result<Self, HostError> {
        if let Some(kept) = Self::kept(state) {
            return Ok(kept);
        }
        let only = ["requests", "isolation"].map(str::to_owned).to_vec();
        let settings = MeasureSettings { only, rounds: ROUNDS, window_ms: WINDOW_MS };
        let choice = choose(&measure(&settings)?);
        state.make()?;
        let text = serde_json::to_string_pretty(&choice).map_err(io::Error::other)?;
        fs::write(state.receive_choice(), text)?;
        Ok(choice)
    }

    /// Processor time of a message in the thread of a path.
    pub(crate) fn frame_ns(&self, path: ReceivePath) -> Option<u64> {
        let time = self.times.iter().find(|time| time.path == path.name())?;
        Some(time.message_ns).filter(|ns| *ns > 0)
    }

    /// The path as a setting.
    pub(crate) fn receive(&self) -> NicReceive {
        let paths = [ReceivePath::Threaded, ReceivePath::Cpumap];
        let path = paths.into_iter().find(|path| path.name() == self.path);
        NicReceive { path: path.unwrap_or(ReceivePath::Inline), ..NicReceive::INLINE }
    }
}

/// Rows of a path, load by load, each with that of `inline`.
fn of_path(series: &Series, path: ReceivePath) -> Vec<(&str, &Row, &Row)> {
    let blocks = series.blocks.iter().filter_map(|rows| {
        let plain = rows.first()?;
        let load = plain.setting.split(',').next()?;
        let own = |row: &&Row| row.setting.rsplit(", ").any(|part| part == path.name());
        Some((load, rows.iter().find(own)?, plain))
    });
    blocks.collect()
}

fn choose(all: &[Series]) -> ReceiveChoice {
    let named = |name: &str| all.iter().find(|series| series.name == name);
    let mut choice = ReceiveChoice {
        machine: machine(),
        path: ReceivePath::Inline.name().to_owned(),
        reasons: Vec::new(),
        times: Vec::new(),
    };
    let mut best = NEVER_SLOWER;
    for path in [ReceivePath::Threaded, ReceivePath::Cpumap] {
        let name = path.name();
        let rows = named("requests").map_or(Vec::new(), |series| of_path(series, path));
        let mut least = f64::INFINITY;
        for (load, own, plain) in &rows {
            let Some(ratio) = own.ratio(plain, Observed::rate) else { continue };
            least = least.min(ratio.median);
            choice.reasons.push(format!(
                "{name} carried {:.2} × the messages of inline at {load} ({:.2} to {:.2})",
                ratio.median, ratio.min, ratio.max
            ));
        }
        if rows.is_empty() {
            choice.reasons.push(format!("{name} cannot be had here"));
            continue;
        }
        let frame = rows.iter().map(|(_, own, _)| {
            own.median(|it| it.receive_cpu_ns as f64 / it.messages.max(1) as f64)
        });
        let frame = frame.fold(0.0, f64::max).ceil();
        choice.times.push(PathTime { path: name.to_owned(), message_ns: whole_ns(frame) });
        if least.is_finite() && least >= best {
            best = least;
            choice.path = name.to_owned();
        }
    }
    let words = match choice.path.as_str() {
        "inline" => "inline: no other path carried as much under every load".to_owned(),
        path => format!("{path}: it carried no less than inline under every load"),
    };
    choice.reasons.insert(0, words);
    choice.reasons.extend(named("isolation").and_then(floods));
    choice
}

/// What a flood costs neighbours by path, in one sentence.
fn floods(series: &Series) -> Option<String> {
    let rows = series.blocks.first()?;
    let quiet = rows.first()?;
    let of = |part: &str| {
        let row = rows.iter().find(|row| row.setting.ends_with(part))?;
        Some(row.ratio(quiet, Observed::rate)?.median)
    };
    let words = |name: &str, share: Option<f64>| {
        share.map_or_else(|| format!("{name} not seen"), |it| format!("{name} {it:.2}"))
    };
    let (inline, threaded, cpumap) =
        (of("interrupts of the victim's processor"), of("received threaded"), of("by cpumap"));
    let policed = of("flood policed");
    let protects = [threaded, cpumap].into_iter().flatten().any(|it| it >= KEEPS);
    let advice = match inline {
        Some(share) if share < KEEPS && protects => {
            "; for a tenant that may be flooded write `receive: {path: threaded, priority: nice 19}`, or `rate`"
        }
        _ => "",
    };
    Some(format!(
        "beside a flooded tenant another kept these shares of its messages: {}, {}, {}, {}{advice}",
        words("inline", inline),
        words("threaded", threaded),
        words("cpumap", cpumap),
        words("with a rate", policed)
    ))
}

/// Whole nanoseconds of a time that was measured.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a time of seconds at most, not below 0
const fn whole_ns(time_ns: f64) -> u64 {
    time_ns.max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(setting: &str, messages: [u64; 3]) -> Row {
        let of = |messages| Observed {
            messages,
            ns: 1_000_000_000,
            receive_cpu_ns: messages * 2_000,
            ..Observed::default()
        };
        Row { setting: setting.into(), rounds: messages.map(of).to_vec() }
    }

    fn series(name: &str, blocks: Vec<Vec<Row>>) -> Series {
        Series { name: name.into(), title: String::new(), blocks, notes: Vec::new() }
    }

    fn requests(threaded: [u64; 2]) -> Series {
        let block = |load: &str, own: u64| {
            vec![
                row(&format!("{load}, inline"), [100, 110, 120]),
                row(&format!("{load}, threaded"), [own, own + 10, own + 20]),
                row(&format!("{load}, cpumap, ring 512"), [90, 99, 300]),
            ]
        };
        series("requests", vec![block("1 × 1", threaded[0]), block("64 × 8", threaded[1])])
    }

    #[test]
    fn a_path_that_is_slower_anywhere_is_not_chosen() {
        let choice = choose(&[requests([200, 90])]);
        assert_eq!(choice.path, "inline");
        assert!(choice.reasons[0].starts_with("inline: no other"), "{:?}", choice.reasons);
        let told = choice.reasons.join("\n");
        assert!(
            told.contains("threaded carried 0.91 × the messages of inline at 64 × 8"),
            "{told}"
        );
        assert!(told.contains("cpumap carried 0.90 ×"), "{told}");
        assert_eq!(choice.frame_ns(ReceivePath::Threaded), Some(2_000));
        let choice = choose(&[requests([150, 120])]);
        assert_eq!(
            (choice.path.as_str(), choice.receive().path),
            ("threaded", ReceivePath::Threaded)
        );
    }

    #[test]
    fn floods_are_told_with_what_helps() {
        let rows = vec![
            row("1 × 1, nothing beside it", [100, 100, 100]),
            row("1 × 1, flood received in interrupts of the victim's processor", [10, 20, 30]),
            row("1 × 1, flood received threaded", [98, 99, 97]),
        ];
        let told = floods(&series("isolation", vec![rows])).expect("rows");
        assert!(told.contains("inline 0.20, threaded 0.98, cpumap not seen"), "{told}");
        assert!(told.contains("write `receive: {path: threaded"), "{told}");
    }
}
