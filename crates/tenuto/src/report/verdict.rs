//! What was promised, what came of it, and how to see it again.

use super::page::Part;
use super::table::{Cell, Table};
use super::text::seconds;
use crate::format::counted;
use tenuto_model::{ForwardingModel, Plan, Verdict};
use tenuto_world::RunDocument;

pub(super) fn part(plan: &Plan, run: Option<&RunDocument>) -> Part {
    let mut part = Part::new("verdict", "Verdict");
    match run {
        Some(run) => {
            let word = run.verdict.headline();
            let tone = match run.verdict {
                Verdict::Kept => "good",
                Verdict::Violated | Verdict::Broken => "bad",
                _ => "open",
            };
            let sentence = run
                .summary
                .strip_prefix(word)
                .map_or(run.summary.as_str(), |rest| rest.trim_start_matches([':', ' ']));
            part.verdict(tone, word, sentence);
        }
        None => planned_verdict(&mut part, plan),
    }
    if let Some(run) = run
        && run.plan_hash != plan.plan_hash
    {
        let hash = &run.plan_hash;
        part.paragraph(&format!(
            "Caution: the run names another plan ({hash}); bounds of hops and resources below are \
             of the plan named here."
        ));
    }
    part.facts(&facts(plan, run));
    part.contents_here();
    refusals(&mut part, plan);
    if let Some(run) = run {
        reasons(&mut part, run);
        violations(&mut part, run);
        events(&mut part, run);
        not_played(&mut part, run);
        not_observed(&mut part, run);
    }
    part
}

fn planned_verdict(part: &mut Part, plan: &Plan) {
    let flows = plan.network.flows.len();
    if plan.feasible {
        let sentence = format!(
            "{} of {} bounds are at or below their deadline, for {}.",
            kept_bounds(plan),
            plan.flows.len(),
            counted(flows, "flow")
        );
        if plan.modelled {
            let sentence = format!(
                "{sentence} They hold for typical times of its devices, not for worst ones: \
                 nothing is guaranteed."
            );
            return part.verdict("open", "MODELLED", &sentence);
        }
        part.verdict("good", "GUARANTEED", &sentence);
        return;
    }
    let mut refused: Vec<&String> = plan.refusals.iter().flat_map(|r| &r.flows).collect();
    refused.sort_unstable();
    refused.dedup();
    let sentence = match plan.model {
        ForwardingModel::Fluid => {
            "The fluid model is for comparison only; it promises nothing for frames.".to_owned()
        }
        ForwardingModel::StoreAndForward => format!(
            "{} of {} cannot be guaranteed, for want of {}.",
            refused.len(),
            counted(flows, "flow"),
            counted(plan.refusals.len(), "resource")
        ),
    };
    part.verdict("bad", "REFUSED", &sentence);
}

fn kept_bounds(plan: &Plan) -> usize {
    let within = |bound: &&tenuto_model::FlowBound| {
        bound.delay_bound_ps.is_some_and(|ps| ps.div_ceil(1_000) <= bound.deadline_ns)
    };
    plan.flows.iter().filter(within).count()
}

fn facts(plan: &Plan, run: Option<&RunDocument>) -> Vec<(&'static str, String, bool)> {
    let network = &plan.network;
    let hash = |hash: &str| if hash.is_empty() { "not sealed".into() } else { hash.to_owned() };
    let refused = if plan.feasible { "" } else { "nothing: the plan is refused; " };
    let promised = format!(
        "{refused}{} of {} bounds at or below their deadline; {}, {}, {}, modes {}",
        kept_bounds(plan),
        plan.flows.len(),
        counted(network.flows.len(), "flow"),
        counted(network.switches.len(), "switch"),
        counted(network.hosts.len(), "host"),
        network.modes.join(" ")
    );
    let certificate = format!(
        "{}, covered by the hash of the plan: one per port, class and mode",
        counted(plan.ports.len(), "claim")
    );
    let mut facts = vec![
        ("promised", promised, false),
        ("plan", hash(&plan.plan_hash), true),
        ("description", hash(&plan.description_digest), true),
        ("certificate", certificate, false),
    ];
    if let Some(run) = run {
        let slow = if run.slow > 1 {
            format!(", {} times slower than described: rates divided, times multiplied", run.slow)
        } else {
            String::new()
        };
        let world = format!(
            "{}, {}{slow}; {} handled",
            run.world,
            seconds(run.duration_ns),
            counted(usize::try_from(run.packet_hops).unwrap_or(usize::MAX), "frame")
        );
        facts.push(("world", world, false));
        facts.push(("seed", run.seed.to_string(), false));
    }
    facts.push(("repeat with", command(plan, run), true));
    let version = run.map_or(&plan.version, |run| &run.version);
    facts.push(("made by", format!("tenuto {version}"), false));
    facts
}

/// The command of the run itself, or the one that does the same.
fn command(plan: &Plan, run: Option<&RunDocument>) -> String {
    let file = quoted(&format!("{}.yaml", plan.network.name));
    match run {
        None => format!("tenuto plan {file}"),
        Some(RunDocument { command: Some(command), .. }) => command.clone(),
        Some(run) => {
            let verb = if run.world == "live" { "up" } else { "sim" };
            let slow = if run.slow > 1 { format!(" --slow {}", run.slow) } else { String::new() };
            let length = run.duration_ns.div_ceil(1_000_000);
            format!("tenuto {verb} {file} --seed {} --for '{length} ms'{slow}", run.seed)
        }
    }
}

/// A word of a command, quoted where a shell would see more than a word.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    if word.chars().all(is_plain) && !word.starts_with('-') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn refusals(part: &mut Part, plan: &Plan) {
    if plan.refusals.is_empty() {
        return;
    }
    let mut table = Table::new(
        "refusals",
        vec![
            "place",
            "resource",
            "mode",
            "needed",
            "available",
            "unit",
            "because",
            "flows",
            "would_fit",
        ],
    );
    for refusal in &plan.refusals {
        let amount =
            |value| if refusal.unit == "ns" { Cell::ns(value) } else { Cell::maybe(value) };
        let mode = refusal.mode.map_or(String::new(), |m| m.label(&plan.network.modes));
        table.push(vec![
            Cell::text(&refusal.place),
            Cell::text(&refusal.resource),
            Cell::text(mode),
            amount(refusal.needed),
            amount(refusal.available),
            Cell::text(&refusal.unit),
            Cell::text(&refusal.because),
            Cell::text(refusal.flows.join(", ")),
            Cell::text(refusal.would_fit.join("; ")),
        ]);
    }
    part.heading("What is scarce");
    part.table_open(&table);
}

/// Why the verdict is not kept.
fn reasons(part: &mut Part, run: &RunDocument) {
    if run.verdict_reasons.is_empty() {
        return;
    }
    let mut table = Table::new("verdict_reasons", vec!["verdict", "who", "what", "at_ns"]);
    for reason in &run.verdict_reasons {
        table.push(vec![
            Cell::text(reason.verdict.word().replace('_', " ")),
            Cell::text(&reason.who),
            Cell::text(&reason.what),
            reason.at_ns.map_or_else(|| Cell::text(""), Cell::at),
        ]);
    }
    part.heading("Why");
    part.table_open(&table);
}

/// Events of the scenario that were not played, and whether what it expects was judged.
fn not_played(part: &mut Part, run: &RunDocument) {
    if let Some(why) = &run.expect_not_judged {
        part.paragraph(&format!("What the scenario expects was not judged: {why}."));
    }
    if run.not_played.is_empty() {
        return;
    }
    let mut table = Table::new("not_played", vec!["at_ns", "event"]);
    for event in &run.not_played {
        table.push(vec![Cell::at(event.at_ns), Cell::text(&event.text)]);
    }
    part.heading("What was not played");
    part.table_open(&table);
}

/// Rows of the plan without a message.
fn not_observed(part: &mut Part, run: &RunDocument) {
    if run.not_observed.is_empty() {
        return;
    }
    let mut table = Table::new("not_observed", vec!["flow", "target", "mode"]);
    for row in &run.not_observed {
        table.push(vec![Cell::text(&row.flow), Cell::text(&row.target), Cell::text(&row.mode)]);
    }
    part.heading("What was not observed");
    part.table_open(&table);
}

fn violations(part: &mut Part, run: &RunDocument) {
    if run.violations.is_empty() {
        return;
    }
    let mut table = Table::new(
        "violations",
        vec!["at_ns", "kind", "flow", "target", "mode", "observed", "bound", "note"],
    );
    for violation in &run.violations {
        let cell = |value| match violation.kind.as_str() {
            "delay" | "loss" | "policed" | "skew" | "mode_change" => Cell::ns(value),
            "backlog" => Cell::bits(value),
            _ => Cell::maybe(value),
        };
        let word = |word: &Option<String>| Cell::text(word.as_deref().unwrap_or(""));
        table.push(vec![
            Cell::at(violation.at_ns),
            Cell::text(&violation.kind),
            word(&violation.flow),
            word(&violation.target),
            word(&violation.mode),
            cell(violation.observed),
            cell(violation.bound),
            Cell::text(&violation.note),
        ]);
    }
    let is_broken = run.violations.iter().any(|it| !it.is_explained);
    part.heading(if is_broken { "What broke a promise" } else { "What was not kept" });
    part.table_open(&table);
}

fn events(part: &mut Part, run: &RunDocument) {
    if run.events.is_empty() {
        return;
    }
    let mut table = Table::new("events", vec!["at_ns", "event", "fault_model"]);
    for event in &run.events {
        let model = match event.tolerated {
            None => "no fault",
            Some(true) => "tolerated",
            Some(false) => "outside",
        };
        table.push(vec![Cell::at(event.at_ns), Cell::text(&event.text), Cell::text(model)]);
    }
    part.heading("What happened");
    part.table_open(&table);
}
