//! Why frames of a program do not go into the network: each reason in words when it first occurs,
//! and counted for the end.

use std::collections::BTreeMap;

/// Why a frame of a program was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Refusal {
    /// Its flow has messages of many frames, whose shim header only our end system writes.
    Shim,
    /// It is larger than the contract of its flow.
    Size,
    /// Too many of its flow wait for what the contract lets go.
    Policed,
    /// Its flow does not send in the mode in force.
    Mode,
    /// Its address and port are in no flow of the host, and other traffic is not carried.
    Port,
    /// A ping, where other traffic is not carried.
    Ping,
    /// The port of the host had no room for other traffic.
    Full,
    /// They waited for their release when the run ended.
    Ended,
}

impl Refusal {
    /// A few words, to stand behind a number of frames.
    const fn short(self) -> &'static str {
        match self {
            Self::Shim => "without the shim header",
            Self::Size => "larger than the contract",
            Self::Policed => "above the contract's rate",
            Self::Mode => "not sent in this mode",
            Self::Port => "in no flow",
            Self::Ping => "pings",
            Self::Full => "more than the port takes",
            Self::Ended => "not released before the end",
        }
    }
}

/// Refused frames of one host, by flow (`None` for those of no flow) and reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals {
    counts: BTreeMap<(Option<u16>, Refusal), u64>,
}

impl Refusals {
    /// Counts a frame; whether it is the first for that reason.
    pub(crate) fn note(&mut self, flow: Option<u16>, reason: Refusal) -> bool {
        let count = self.counts.entry((flow, reason)).or_default();
        *count += 1;
        *count == 1
    }

    /// Frames of a flow that were refused.
    pub(crate) fn of_flow(&self, flow: Option<u16>) -> u64 {
        self.rows(flow).map(|(_, count)| count).sum()
    }

    /// The reasons with their counts, in brackets; nothing if there were none.
    pub(crate) fn words(&self, flow: Option<u16>) -> String {
        let rows = self.rows(flow).map(|(reason, count)| format!("{count} {}", reason.short()));
        let rows: Vec<String> = rows.collect();
        if rows.is_empty() { String::new() } else { format!(" ({})", rows.join(", ")) }
    }

    fn rows(&self, flow: Option<u16>) -> impl Iterator<Item = (Refusal, u64)> {
        let of_flow = self.counts.iter().filter(move |((of, _), _)| *of == flow);
        of_flow.map(|(&(_, reason), &count)| (reason, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_flow_and_reason() {
        let mut refusals = Refusals::default();
        assert_eq!((refusals.of_flow(Some(1)), refusals.words(Some(1))), (0, String::new()));
        assert!(refusals.note(Some(1), Refusal::Size), "the first is news");
        assert!(!refusals.note(Some(1), Refusal::Size));
        assert!(refusals.note(Some(1), Refusal::Shim));
        assert!(refusals.note(None, Refusal::Ping));
        assert_eq!(refusals.of_flow(Some(1)), 3);
        let words = " (1 without the shim header, 2 larger than the contract)";
        assert_eq!(refusals.words(Some(1)), words);
        assert_eq!(refusals.words(None), " (1 pings)");
    }
}
