//! A violation in words: who, what, when.

use super::Violation;
use super::summary::seconds;
use std::fmt;

impl Violation {
    /// The flow with its target and row, or the change, or what else broke the promise.
    pub(super) fn who(&self) -> String {
        let mut who = match (&self.flow, &self.target) {
            (Some(flow), Some(target)) => format!("{flow} to {target}"),
            (Some(flow), None) => flow.clone(),
            (None, _) => match self.kind.as_str() {
                "expectation" => "the scenario".to_owned(),
                "mode_change" => return self.mode.clone().unwrap_or_default(),
                _ => "the network".to_owned(),
            },
        };
        if let Some(mode) = self.mode.as_ref().filter(|_| self.flow.is_some()) {
            who.push_str(&format!(" in {mode}"));
        }
        who
    }

    /// What was seen and what was promised.
    pub(super) fn what(&self) -> String {
        let noted = |usual: &str| match self.note.as_str() {
            "" => String::new(),
            note if note == usual => String::new(),
            note => format!(" ({note})"),
        };
        match (self.kind.as_str(), self.observed, self.bound) {
            ("delay" | "mode_change", Some(seen), Some(bound)) => {
                let (seen, bound) = (ms_up(seen), ms_up(bound));
                format!("took {seen} ms, bound {bound} ms{}", noted("above the bound"))
            }
            ("skew", Some(seen), Some(limit)) => {
                format!("had copies {} ms apart, limit {} ms", ms_up(seen), ms_up(limit))
            }
            ("backlog", Some(seen), Some(bound)) => {
                format!("{}: {seen} bits, bound {bound} bits", self.note)
            }
            ("loss", ..) => self.note.replacen("lost", "lost a message", 1),
            _ => self.note.clone(),
        }
    }

    /// When, if the whole run is not meant.
    pub(super) fn when_ns(&self) -> Option<u64> {
        let is_whole = matches!(self.kind.as_str(), "expectation" | "backlog");
        (!is_whole).then_some(self.at_ns)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind.as_str() {
            "expectation" | "backlog" => f.write_str(&self.what()),
            _ => write!(f, "{} {}", self.who(), self.what()),
        }?;
        match self.when_ns() {
            Some(at_ns) => write!(f, " at {:.3} s", seconds(at_ns)),
            None => Ok(()),
        }
    }
}

/// Milliseconds with three decimals, rounded up.
fn ms_up(ns: u64) -> String {
    let us = ns.div_ceil(1_000);
    format!("{}.{:03}", us / 1_000, us % 1_000)
}

#[cfg(test)]
mod tests {
    use super::Violation;

    fn violation(kind: &str, note: &str) -> Violation {
        Violation {
            kind: kind.into(),
            flow: Some("CAM".into()),
            target: Some("d1".into()),
            mode: Some("LO".into()),
            at_ns: 1_500_000_000,
            observed: Some(255_000_001),
            bound: Some(220_000_000),
            note: note.into(),
            is_explained: false,
        }
    }

    #[test]
    fn violations_are_sentences() {
        let words = |kind: &str, note: &str| violation(kind, note).to_string();
        assert_eq!(
            words("delay", "above the bound"),
            "CAM to d1 in LO took 255.001 ms, bound 220.000 ms at 1.500 s"
        );
        assert_eq!(
            words("loss", "lost at sw1: buffer full"),
            "CAM to d1 in LO lost a message at sw1: buffer full at 1.500 s"
        );
        assert_eq!(
            words("policed", "lost a conforming message to policing at sw1: over contract"),
            "CAM to d1 in LO lost a conforming message to policing at sw1: over contract at 1.500 s"
        );
        let whole = Violation { flow: None, target: None, mode: None, ..violation("", "") };
        let expected = "1 return was seen where the scenario expects 7";
        let whole = Violation { kind: "expectation".into(), note: expected.into(), ..whole };
        assert_eq!(whole.to_string(), expected);
    }
}
