//! Refusals as people read them: one block per scarce place.

use crate::format::{counted, megabits_down, megabits_up, ms_down, ms_up_ns, percent_up};
use std::collections::BTreeSet;
use std::fmt::Write;
use tenuto_model::quantity::format_rate;
use tenuto_model::{FlowBound, Plan, Refusal};
use tenuto_planner::SearchEnd;

/// Every refusal of a plan, ending in what stays guaranteed.
pub(crate) fn text(plan: &Plan, shows_rest: bool) -> String {
    let mut out = String::new();
    for refusal in &plan.refusals {
        out.push_str(&block(plan, refusal));
    }
    let rest = unharmed(plan);
    if shows_rest && rest > 0 {
        let words = match rest {
            1 => "the other flow keeps its bounds".to_owned(),
            _ => format!("the other {} keep their bounds", counted(rest, "flow")),
        };
        writeln!(out, "{words}").expect("a string");
    }
    out
}

fn block(plan: &Plan, refusal: &Refusal) -> String {
    let network = &plan.network;
    let mode = refusal.mode.filter(|_| network.modes.len() > 1);
    let mode = mode.map_or_else(String::new, |m| format!(" in mode {}", m.label(&network.modes)));
    let all = network.flows.len();
    let mut out = match harmed(plan, refusal) {
        0 => format!("REFUSED: the network cannot be guaranteed{mode}\n"),
        some => format!("REFUSED: {some} of {all} flows cannot be guaranteed{mode}\n"),
    };
    let mut say = |name: &str, text: &str| {
        let text: Vec<&str> = text.lines().collect();
        writeln!(out, "  {name:<9} {}", text.join(" ")).expect("writing to a string");
    };
    say("place", &place(plan, refusal));
    say("resource", &amount(refusal));
    if !refusal.because.is_empty() {
        say("because", &refusal.because);
    }
    if !refusal.would_fit.is_empty() {
        say("would fit", &fits(&refusal.would_fit));
    }
    out
}

/// `A, or B        (each re-planned: holds)`.
fn fits(lines: &[String]) -> String {
    let holds = lines.iter().all(|fit| !fit.contains("stays refused"));
    let how = if holds { "each re-planned: holds" } else { "each re-planned" };
    format!("{}        ({how})", lines.join(", or "))
}

/// Changes that would fit, as they are found: those of one refusal together.
pub(crate) struct Changes<'a> {
    plan: &'a Plan,
    index: usize,
    lines: Vec<String>,
    found: usize,
}

impl<'a> Changes<'a> {
    /// None so far.
    pub(crate) const fn of(plan: &'a Plan) -> Self {
        Self { plan, index: 0, lines: Vec::new(), found: 0 }
    }

    /// One more; what is complete by that.
    pub(crate) fn add(&mut self, index: usize, line: &str) -> String {
        let complete = if index == self.index { String::new() } else { self.complete() };
        self.index = index;
        self.lines.push(line.to_owned());
        self.found += 1;
        complete
    }

    /// The rest, and whether there may be more.
    pub(crate) fn end(&mut self, end: SearchEnd) -> String {
        let mut out = self.complete();
        match (end, self.found) {
            (SearchEnd::Limited, 0) => out.push_str(
                "nothing that would fit was found within the limit of re-plans; --set tries a change\n",
            ),
            (SearchEnd::Limited, _) => {
                out.push_str("the search ended at its limit of re-plans: other changes may fit too\n");
            }
            (SearchEnd::Complete, _) => {}
        }
        out
    }

    fn complete(&mut self) -> String {
        let lines = std::mem::take(&mut self.lines);
        if lines.is_empty() {
            return String::new();
        }
        let mut out = String::new();
        if let [_, _, ..] = self.plan.refusals.as_slice() {
            let refusal = &self.plan.refusals[self.index];
            let place = place(self.plan, refusal);
            writeln!(out, "for the {} of {place}", refusal.resource).expect("a string");
        }
        writeln!(out, "  would fit {}", fits(&lines)).expect("a string");
        out
    }
}

/// How many flows this refusal leaves without their guarantee.
fn harmed(plan: &Plan, refusal: &Refusal) -> usize {
    let in_mode = |row: &&FlowBound| refusal.mode.is_none_or(|mode| row.mode == mode);
    let late = plan.flows.iter().filter(in_mode).filter(|row| is_late(row));
    let late: BTreeSet<&str> = late.map(|row| row.flow.as_str()).collect();
    let named = refusal.flows.iter().filter(|flow| late.contains(flow.as_str())).count();
    if named > 0 { named } else { refusal.flows.len() }
}

fn is_late(row: &FlowBound) -> bool {
    row.delay_bound_ps.is_none_or(|ps| u128::from(ps) > u128::from(row.deadline_ns) * 1_000)
}

/// Flows that no refusal touches; none if a refusal is about the network as a whole.
fn unharmed(plan: &Plan) -> usize {
    if plan.refusals.iter().any(|refusal| refusal.flows.is_empty()) {
        return 0;
    }
    let late = plan.flows.iter().filter(|row| is_late(row)).map(|row| row.flow.as_str());
    let named = plan.refusals.iter().flat_map(|r| r.flows.iter().map(String::as_str));
    let touched: BTreeSet<&str> = late.chain(named).collect();
    plan.network.flows.iter().filter(|flow| !touched.contains(flow.name.as_str())).count()
}

/// The place, with the rate of its link or the profile of its switch.
fn place(plan: &Plan, refusal: &Refusal) -> String {
    let network = &plan.network;
    let mut rows = plan.port_rows.iter();
    if let Some(row) = rows.find(|row| network.port_label(&row.port) == refusal.place) {
        return format!("{}, {}", refusal.place, format_rate(row.capacity_bps));
    }
    match network.switch(&refusal.place) {
        Some(switch) => format!("{} ({})", refusal.place, switch.profile),
        None => refusal.place.clone(),
    }
}

fn counted_u64(number: u64, noun: &str) -> String {
    counted(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

/// `rate: needed 100.22 Mbit/s on the wire, have 100.00; short 0.22 Mbit/s`.
fn amount(refusal: &Refusal) -> String {
    let resource = &refusal.resource;
    let (Some(needed), Some(have)) = (refusal.needed, refusal.available) else {
        return resource.clone();
    };
    let short = needed.saturating_sub(have);
    match refusal.unit.as_str() {
        "bit/s" => format!(
            "{resource}: needed {} Mbit/s on the wire, have {}; short {} Mbit/s",
            megabits_up(needed),
            megabits_down(have),
            megabits_up(short),
        ),
        "ns" => format!(
            "{resource}: needed {} ms, have {}; short {} ms",
            ms_up_ns(needed),
            ms_down(i128::from(have) * 1_000),
            ms_up_ns(short),
        ),
        "ppm" => format!(
            "{resource}: needed {} of it; short {}",
            percent_up(needed, 1_000_000),
            percent_up(short, 1_000_000),
        ),
        "frames" => format!(
            "{resource}: backlog bound {}, have {have}; short {}",
            counted_u64(needed, "frame"),
            counted_u64(short, "frame"),
        ),
        unit => format!("{resource}: needed {needed} {unit}, have {have}; short {short}"),
    }
}
