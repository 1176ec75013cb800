//! The change that a controller makes, by ours and by one of others, of our switches and of Open vSwitch:
//! the comparison of \[MC-SDN\] (sections III-A and VII-A), beside the harshest one that can be built.

use super::changes::{TARGET_RATIO, median};
use super::networks::{Laboratory, SWITCHES};
use crate::verbs::bench::sheet::{Sheet, rounded};
use serde_json::Value;
use std::path::PathBuf;
use tenuto_model::Plan;
use tenuto_runtime::measure::{BridgeChanges, BridgeOrder, measure_bridges};

/// Names a Python that has os-ken.
const PYTHON_VARIABLE: &str = "TENUTO_OSKEN_PYTHON";

/// The Python that has os-ken, if one is named.
pub(super) fn python() -> Option<PathBuf> {
    std::env::var_os(PYTHON_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Why nothing was measured with os-ken.
fn no_python() -> String {
    format!("{PYTHON_VARIABLE} names no Python that has os-ken")
}

/// Changes of one kind: how long they took, ns, and how many never ended; or why there are none.
pub(super) type Changes = Result<(Vec<u64>, usize), String>;

/// Who changes the mode of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Themselves,
    OursOwn,
    OursOsKen,
    BridgesOwn,
    BridgesOsKen,
}

impl Who {
    /// Of which switches, by whom, and until when.
    const fn words(self) -> [&'static str; 3] {
        match self {
            Self::Themselves => ["tenuto", "themselves", "the last has changed"],
            Self::OursOwn => ["tenuto", "our controller", "the last has carried it out"],
            Self::OursOsKen => ["tenuto", "os-ken", "the last has carried it out"],
            Self::BridgesOwn => ["Open vSwitch", "our controller", "the last has replied"],
            Self::BridgesOsKen => ["Open vSwitch", "os-ken", "the last has replied"],
        }
    }
}

/// What was found of one network.
pub(super) type Peers = Vec<(Who, Changes)>;

/// So many changes of the network in Open vSwitch, by both controllers.
pub(super) fn of_bridges(plan: &Plan, changes: u32) -> Peers {
    let os_ken = python();
    let has_python = os_ken.is_some();
    let requester = Laboratory::REQUESTER.to_owned();
    let order = BridgeOrder { plan: plan.clone(), requester, changes, os_ken };
    let report = match measure_bridges(&order) {
        Ok(report) => report,
        Err(error) => {
            let why = error.to_string();
            return vec![(Who::BridgesOwn, Err(why.clone())), (Who::BridgesOsKen, Err(why))];
        }
    };
    let changes = |it: Result<BridgeChanges, String>| -> Changes {
        it.map(|it| (it.delays_ns, usize::try_from(it.unfinished).unwrap_or(usize::MAX)))
    };
    let os_ken = match report.os_ken {
        Some(it) => changes(it),
        None if !has_python => Err(no_python()),
        None => Err("it was not measured".into()),
    };
    vec![(Who::BridgesOwn, changes(report.own)), (Who::BridgesOsKen, os_ken)]
}

/// What is said of our switches under os-ken where it is not there.
pub(super) fn without_os_ken() -> Changes {
    Err(no_python())
}

/// Of the table of all networks.
const COLUMNS: [&str; 11] = [
    "topology",
    "rules",
    "switches",
    "changed by",
    "until",
    "changes",
    "unfinished",
    "median us",
    "least us",
    "largest us",
    "by theirs",
];

/// The table of all networks.
pub(super) fn sheet(found: &[(Laboratory, Peers)]) -> Sheet {
    let mut sheet = Sheet::new(
        "MC-SDN, sections III-A and VII-A: the same change by controllers, live",
        &COLUMNS,
    );
    let (mut skipped, mut short) = (Vec::new(), [0; 2]);
    for (it, peers) in found {
        let ours = peers.iter().find_map(|(who, changes)| match changes {
            Ok((ns, _)) if *who == Who::Themselves && !ns.is_empty() => Some(median(ns.clone())),
            _ => None,
        });
        for (who, changes) in peers {
            match changes {
                Ok((ns, unfinished)) => {
                    let ratio =
                        ours.filter(|_| !ns.is_empty()).map(|ours| median(ns.clone()) / ours);
                    sheet.push(row(it, *who, (ns, *unfinished), ratio));
                    if let Some(ratio) = ratio.filter(|_| *who != Who::Themselves) {
                        short[1] += 1;
                        short[0] += usize::from(ratio < TARGET_RATIO);
                    }
                }
                Err(why) => note_skipped(*who, why, &mut skipped),
            }
        }
    }
    skipped.into_iter().for_each(|line| sheet.note(line));
    notes(&mut sheet);
    sheet.note(format!(
        "{} of {} quotients are below the target of {TARGET_RATIO:.0}",
        short[0], short[1]
    ));
    sheet
}

/// Said once, however many networks are left out for it.
fn note_skipped(who: Who, why: &str, skipped: &mut Vec<String>) {
    let [switches, by, _] = who.words();
    let line = format!("SKIPPED {switches} by {by}: {why}");
    if !skipped.contains(&line) {
        skipped.push(line);
    }
}

fn row(
    it: &Laboratory,
    who: Who,
    (ns, unfinished): (&[u64], usize),
    ratio: Option<f64>,
) -> Vec<Value> {
    let us = |ns: f64| rounded(ns / 1e3, 0);
    let end = |ns: Option<&u64>| ns.map_or(Value::Null, |&ns| us(ns as f64));
    let mut row: Vec<Value> = vec![it.shape.name().into(), it.rules_words().into()];
    row.extend(who.words().map(Value::from));
    let shown = match ns.is_empty() {
        true => Value::Null,
        false => us(median(ns.to_vec())),
    };
    row.extend([ns.len().into(), unfinished.into(), shown]);
    row.extend([end(ns.iter().min()), end(ns.iter().max())]);
    row.push(ratio.map_or(Value::Null, |ratio| rounded(ratio, 1)));
    row
}

fn notes(sheet: &mut Sheet) {
    sheet.note(
        "by theirs: the median by that of the change that the switches make themselves, in the same run; our \
         controller, in Rust and in effect, is the harshest of all that it is held against",
    );
    sheet.note(format!(
        "Open vSwitch: {SWITCHES} bridges of the userspace datapath, one daemon with a processor for \
         itself where there are two; the same entries, groups and meters. From the sending of the request, a \
         frame that an entry gives to the controller, to the last barrier reply; what its datapath caches \
         may be older than that"
    ));
    sheet.note(
        "os-ken: a framework for controllers in Python, a program of its own over TCP, as POX in the paper",
    );
    sheet.note(
        "the paper, on single-board computers: a controller's change of one switch with 30 rules took 50.65 ms \
         (standard deviation 17.94; 31.83 of it until rules came) and up to 86 ms (III-A, Table I), that of nine \
         up to 92 ms more with 50 and 100 rules than with one; its own 0.2 to 0.3 ms more (VII-A)",
    );
}
