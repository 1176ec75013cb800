//! `tenuto certify PLAN`: every claim of a plan, rebuilt from its description.

use crate::args::Certify;
use crate::certified::Certification;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::{load, output};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: &'static str,
    world: &'static str,
    seed: Option<u64>,
    plan_hash: &'a str,
    verdict: &'static str,
    feasible: bool,
    network: &'a str,
    certificate: &'a serde_json::Value,
}

pub(crate) fn run(args: &Certify) -> Result<Outcome, Failure> {
    let plan = load::plan(&args.plan)?;
    let mut progress = Progress::new();
    progress.say(|| "checking the plan".into());
    let certificate = match Certification::of(&plan) {
        Certification::Certified(certificate) => certificate,
        Certification::Rejected(findings) => return Err(Failure::not_certified(&findings)),
        Certification::NotForFrames => {
            let shown = args.plan.display().to_string();
            let hint = "plan without --model fluid";
            let message = "a fluid plan is not valid for frames and is not certified";
            return Err(Failure::input(message, Some(&shown), Some(hint)));
        }
    };
    drop(progress);
    if args.json {
        output::say_json(&Document {
            schema: "tenuto-certificate/1",
            version: env!("CARGO_PKG_VERSION"),
            world: "planned",
            seed: None,
            plan_hash: &plan.plan_hash,
            verdict: "certified",
            feasible: plan.feasible,
            network: &plan.network.name,
            certificate: &certificate,
        })?;
    } else {
        let rows = plan.flows.len();
        let what = if plan.feasible { "every promise holds" } else { "it is a refused plan" };
        let hash = &plan.plan_hash;
        output::say(&format!(
            "CERTIFIED: {rows} bounds of {}, {what}; plan {hash}\n",
            plan.network.name
        ))?;
    }
    Ok(if plan.feasible { Outcome::Good } else { Outcome::Bad })
}
