//! `tenuto bench admission`: how many flows a network holds, how fast that is decided, and whether
//! an independent recomputation agrees.

use crate::admission::{self, LineRates, List, Report, Setting};
use crate::args::{BenchAdmission, EngineName};
use crate::failure::Failure;
use crate::header::Header;
use crate::outcome::Outcome;
use crate::output;
use crate::planning::{self, Promise};
use serde::Serialize;
use std::path::Path;
use tenuto_admission::{Engine, Method};
use tenuto_planner::Options;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    list: &'a str,
    engine: &'static str,
    pacing: bool,
    /// Requests that the engine was told to expect.
    expected: usize,
    repeat: u32,
    assumed: &'a [String],
    #[serde(flatten)]
    report: &'a Report,
}

pub(crate) fn run(args: &BenchAdmission) -> Result<Outcome, Failure> {
    let mut list = list(args)?;
    if args.plan.is_some() {
        list.network = list.network.with_queues_at_hosts(admission::QUEUES);
        let queues = admission::QUEUES;
        list.assumed.push(format!("hosts have {queues} queues, of the stated room together"));
    }
    let method = match args.engine {
        EngineName::Budget => Method::Budget,
        EngineName::Exact => Method::Exact,
        EngineName::Reserve => Method::Reserve,
    };
    let setting = Setting {
        method,
        pacing: args.pacing,
        expected: args.expect.unwrap_or_else(|| list.requests()),
        adapt_after: args.adapt_after.clone(),
        has_one_queue_per_flow: args.plan.is_some(),
        repeat: args.repeat,
    };
    let (report, engine) = admission::measure(&list, &setting);
    let kept = args.plan.as_ref().map_or(Ok(()), |path| write_plan(path, &list, &engine));
    let outcome = if report.is_kept() { Outcome::Good } else { Outcome::Bad };
    if args.json {
        output::say_json(&Document {
            header: Header::new(
                "tenuto-admission/1",
                if report.is_kept() { "kept" } else { "violated" },
            ),
            list: &list.name,
            engine: match method {
                Method::Budget => "budget",
                Method::Exact => "exact",
                Method::Reserve => "reserve",
            },
            pacing: args.pacing,
            expected: setting.expected,
            repeat: args.repeat,
            assumed: &list.assumed,
            report: &report,
        })?;
    } else {
        output::say(&admission::text(&list, &setting, &report))?;
    }
    Ok(Failure::unkept(kept, outcome))
}

/// Plans what is held, as one network, and writes the plan that the checker accepted.
fn write_plan(path: &Path, list: &List, engine: &Engine) -> Result<(), Failure> {
    let network = admission::network_of(&list.name, engine)?;
    let options = Options { would_fit: false, ..Options::default() };
    let planned = planning::planned(&network, &options)?;
    if planned.promise() != Promise::Guaranteed {
        let first = planned.plan.refusals.first().map(|refusal| format!("{refusal:?}"));
        let message = "the planner does not guarantee what is held; no plan is written";
        return Err(Failure::input(message, None, first.as_deref()));
    }
    output::write_file(path, planned.plan.to_json())
}

fn list(args: &BenchAdmission) -> Result<List, Failure> {
    match (&args.network, &args.requests, &args.generated, &args.operations) {
        (Some(network), Some(requests), None, None) => admission::read_list(network, requests),
        (None, None, Some(name), None) => admission::generated(name),
        (None, None, None, Some(path)) => {
            let rates = LineRates { every_bps: args.line_rate, trunk_bps: args.trunk_rate };
            admission::read_operations(path, args.removals, rates)
        }
        _ => Err(Failure::usage(
            "what is to be decided? --network FILE --requests FILE, or --generated NAME, or \
             --operations FILE",
        )),
    }
}
