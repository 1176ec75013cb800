//! `tenuto certify PLAN`: every claim of a plan, rebuilt from its description.

use crate::args::Certify;
use crate::certified::Certification;
use crate::failure::Failure;
use crate::format::counted;
use crate::header::Header;
use crate::named_file::{self, Kind};
use crate::outcome::Outcome;
use crate::proved::{self, Proof};
use crate::{load, output};
use serde::Serialize;
use tenuto_certify::{BoundsCertificate, Certificate};
use tenuto_model::Plan;

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    header: Header,
    feasible: bool,
    network: &'a str,
    certificate: &'a Certificate,
    /// Which rows are proved; only with `--proved`.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<Proof>,
}

/// The document of bounds on a server graph.
#[derive(Serialize)]
struct BoundsDocument<'a> {
    #[serde(flatten)]
    header: Header,
    feasible: bool,
    network: &'a str,
    certificate: &'a BoundsCertificate,
}

pub(crate) fn run(args: &Certify) -> Result<Outcome, Failure> {
    if load::is_bounds(&args.plan)? {
        return bounds(args);
    }
    let plan = load::plan(&args.plan)?;
    // The checker reads the file's own text, not ours again.
    let certificate = match Certification::of_text(&named_file::text(&args.plan, Kind::PLAN)?) {
        Certification::Certified(certificate) => certificate,
        Certification::Rejected(findings) => return Err(Failure::not_certified(&findings)),
    };
    let proof =
        args.proved.as_deref().map(|program| proved::ask(program, &args.plan)).transpose()?;
    if args.json {
        output::say_json(&Document {
            header: Header::planned("tenuto-certificate/1", "certified", &plan.plan_hash),
            feasible: plan.feasible,
            network: &plan.network.name,
            certificate: &certificate,
            proof,
        })?;
    } else {
        let proof = proof.map_or_else(String::new, |proof| proof.text());
        output::say(&format!("{certificate}\n{proof}{}\n", last_line(&plan)))?;
    }
    Ok(match (plan.feasible, plan.refusals.as_slice()) {
        (true, _) if certificate.modelled => Outcome::Undecidable,
        (true, _) => Outcome::Good,
        (false, [_, ..]) => Outcome::Bad,
        (false, []) => Outcome::Undecidable,
    })
}

/// Bounds on a server graph: every claim rebuilt from the graph.
fn bounds(args: &Certify) -> Result<Outcome, Failure> {
    if args.proved.is_some() {
        let hint = "it speaks of plans of networks";
        let message = "--proved: no theorem is proved of server graphs yet";
        return Err(Failure::undecidable(message, Some(hint)));
    }
    let certified = tenuto_certify::certify_bounds(&named_file::text(&args.plan, Kind::PLAN)?);
    let certificate = certified.map_err(|findings| {
        let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
        Failure::not_certified(&findings)
    })?;
    let broken = certificate.unbounded + certificate.deadlines_missed;
    if args.json {
        output::say_json(&BoundsDocument {
            header: Header::planned("tenuto-certificate/1", "certified", &certificate.plan_hash),
            feasible: broken == 0,
            network: &certificate.network,
            certificate: &certificate,
        })?;
    } else {
        let rows = counted(certificate.bounds_checked, "bound");
        let promise = match (certificate.unbounded, certificate.deadlines_missed) {
            (0, 0) => "every promise holds".to_owned(),
            (none, late) => format!("{none} without a bound, {late} past a deadline"),
        };
        output::say(&format!("{certificate}\nCERTIFIED: {rows}, {promise}\n"))?;
    }
    Ok(if broken == 0 { Outcome::Good } else { Outcome::Bad })
}

fn last_line(plan: &Plan) -> String {
    let rows = counted(plan.flows.len(), "bound");
    match (plan.feasible, plan.refusals.len()) {
        (true, _) if plan.modelled => {
            format!("CERTIFIED: {rows}, for typical times only: nothing is guaranteed")
        }
        (true, _) => format!("CERTIFIED: {rows}, every promise holds"),
        (false, 0) => format!("CERTIFIED: {rows}, for comparison only"),
        (false, n) => format!("CERTIFIED: {rows} of a plan with {}", counted(n, "refusal")),
    }
}
