//! What every switch is told, as commands of Open vSwitch: a script whose lines `ovs-ofctl` takes.
//!
//! Bridges have the names of switches. What OpenFlow 1.3 has no words for (monitors, entries of
//! higher modes) is left out, and a comment says what it was.

use crate::tables_text::{kbps, matching};
use std::fmt::Write;
use tenuto_model::{
    EntrySpec, GroupOutput, GroupSpec, MatchSpec, MeterSpec, OutputSpec, SwitchDeployment,
};

const BPS_PER_KBPS: u64 = 1_000;
const BYTES_PER_KBIT: u64 = 125;

/// One switch: meters and groups first, as entries refer to them.
pub(crate) fn text(it: &SwitchDeployment) -> String {
    let mut out = format!("# {}: datapath id {:016x}\n", it.switch, it.datapath_id);
    out.push_str(&left_out(it));
    let bridge = quoted(&it.switch);
    let mut line = |verb: &str, what: &str| {
        let _ = writeln!(out, "ovs-ofctl -O OpenFlow13 {verb} {bridge} {}", quoted(what));
    };
    it.meters.iter().for_each(|spec| line("add-meter", &meter(spec)));
    it.groups.iter().for_each(|spec| line("add-group", &group(spec)));
    of_start(it).for_each(|spec| line("add-flow", &entry(spec)));
    out
}

/// Entries in the tables at the start: those of the lowest mode, and those of every mode.
fn of_start(it: &SwitchDeployment) -> impl Iterator<Item = &EntrySpec> {
    it.entries.iter().filter(|entry| entry.level.is_none_or(|level| level == 0))
}

/// What these lines do not say, as comments.
fn left_out(it: &SwitchDeployment) -> String {
    let mut out = String::new();
    for monitor in &it.monitors {
        let flow = one_line(&monitor.flow);
        let _ = writeln!(out, "# left out: monitor {} of {flow}, Tenuto's own", monitor.id);
    }
    let higher = it.entries.len() - of_start(it).count();
    if higher > 0 {
        let _ = writeln!(out, "# left out: {higher} entries of higher modes, Tenuto's own");
    }
    for spec in it.meters.iter().filter(|spec| !is_whole(spec)) {
        let (rate, burst) = (kbps(spec.rate_bps), spec.burst_bytes);
        let _ = writeln!(
            out,
            "# rounded up: meter {} of {rate} and {burst} B, to whole kbit/s and kbit: bounds are \
             not proved for it",
            spec.id
        );
    }
    out
}

const fn is_whole(spec: &MeterSpec) -> bool {
    spec.rate_bps.is_multiple_of(BPS_PER_KBPS) && spec.burst_bytes.is_multiple_of(BYTES_PER_KBIT)
}

fn meter(spec: &MeterSpec) -> String {
    format!(
        "meter={},kbps,burst,stats,bands=type=drop,rate={},burst_size={}",
        spec.id,
        spec.rate_bps.div_ceil(BPS_PER_KBPS),
        spec.burst_bytes.div_ceil(BYTES_PER_KBIT)
    )
}

fn group(spec: &GroupSpec) -> String {
    let mut out = format!("group_id={},type=all", spec.id);
    for output in &spec.outputs {
        let _ = write!(out, ",bucket=actions={}", sent(output));
    }
    out
}

fn entry(spec: &EntrySpec) -> String {
    let EntrySpec { table, precedence, cookie, .. } = spec;
    let mut out = format!("table={table},priority={precedence},cookie={cookie:#x}");
    if spec.matching != MatchSpec::default() {
        let _ = write!(out, ",{}", matching(&spec.matching));
    }
    let mut actions = Vec::new();
    actions.extend(spec.meter.map(|id| format!("meter:{id}")));
    actions.extend(spec.output.as_ref().map(|output| match output {
        OutputSpec::Port(output) => sent(output),
        OutputSpec::Group(id) => format!("group:{id}"),
    }));
    actions.extend(spec.goto.map(|table| format!("goto_table:{table}")));
    let actions = if actions.is_empty() { "drop".to_owned() } else { actions.join(",") };
    let _ = write!(out, ",actions={actions}");
    out
}

fn sent(output: &GroupOutput) -> String {
    format!("set_queue:{},output:{}", output.queue, output.port)
}

/// A word of a shell that stands for itself.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A name cannot end a comment.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ovs_cannot_count_is_rounded_and_said() {
        let spec = |rate_bps, burst_bytes| MeterSpec { id: 4, flow: None, rate_bps, burst_bytes };
        let it = |meters| SwitchDeployment { switch: "s1".into(), meters, ..Default::default() };
        let whole = text(&it(vec![spec(5_000_000, 8_000)]));
        assert!(
            whole.contains("'meter=4,kbps,burst,stats,bands=type=drop,rate=5000,burst_size=64'")
        );
        assert!(!whole.contains("rounded"), "{whole}");
        let finer = text(&it(vec![spec(100_001, 1_519)]));
        assert!(finer.contains("rate=101,burst_size=13"), "{finer}");
        assert!(finer.contains("# rounded up: meter 4 of 100.001 kbit/s and 1519 B"), "{finer}");
    }

    #[test]
    fn names_do_not_leave_their_word() {
        assert_eq!(quoted("it's $HOME; `ls`"), "'it'\\''s $HOME; `ls`'");
        assert_eq!(one_line("a\nrm -r b"), "a rm -r b");
    }
}
