//! `tenuto bench admission`: how many flows a network holds, how fast that is decided, and whether
//! an independent recomputation agrees.

use crate::admission::{self, List, Report, Setting};
use crate::args::{BenchAdmission, EngineName};
use crate::failure::Failure;
use crate::header::Header;
use crate::outcome::Outcome;
use crate::output;
use serde::Serialize;
use tenuto_admission::Method;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    list: &'a str,
    engine: &'static str,
    pacing: bool,
    repeat: u32,
    #[serde(flatten)]
    report: &'a Report,
}

pub(crate) fn run(args: &BenchAdmission) -> Result<Outcome, Failure> {
    let list = list(args)?;
    let method = match args.engine {
        EngineName::Budget => Method::Budget,
        EngineName::Exact => Method::Exact,
        EngineName::Reserve => Method::Reserve,
    };
    let setting = Setting {
        method,
        pacing: args.pacing,
        adapt_after: args.adapt_after.clone(),
        repeat: args.repeat,
    };
    let report = admission::measure(&list, &setting);
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
            repeat: args.repeat,
            report: &report,
        })?;
    } else {
        output::say(&admission::text(&list.name, &setting, &report))?;
    }
    Ok(outcome)
}

fn list(args: &BenchAdmission) -> Result<List, Failure> {
    match (&args.network, &args.requests, &args.generated, &args.operations) {
        (Some(network), Some(requests), None, None) => admission::read_list(network, requests),
        (None, None, Some(name), None) => admission::generated(name),
        (None, None, None, Some(path)) => admission::read_operations(path, args.removals),
        _ => Err(Failure::usage(
            "what is to be decided? --network FILE --requests FILE, or --generated NAME, or \
             --operations FILE",
        )),
    }
}
