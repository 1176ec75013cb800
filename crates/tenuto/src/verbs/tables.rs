//! `tenuto tables NET|PLAN`: what every switch is told, offline.

use crate::args::{Planning, Tables, TablesFormat};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::planning::{self, Promise};
use crate::{output, plan_json, tables_ovs, tables_text};
use serde::Serialize;
use tenuto_model::SwitchDeployment;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: &'a str,
    world: &'static str,
    seed: Option<u64>,
    plan_hash: &'a str,
    verdict: &'static str,
    network: &'a str,
    switches: Vec<plan_json::SwitchRow<'a>>,
    deployments: Vec<&'a SwitchDeployment>,
}

pub(crate) fn run(args: &Tables) -> Result<Outcome, Failure> {
    let planned = planning::of_input(&args.input, &Planning::default())?;
    let plan = &planned.plan;
    let wanted = |name: &str| args.switch.as_deref().is_none_or(|only| only == name);
    if let Some(name) = args.switch.as_deref().filter(|name| plan.network.switch(name).is_none()) {
        let names: Vec<&str> = plan.network.switches.iter().map(|s| s.name.as_str()).collect();
        let hint = format!("switches: {}", names.join(", "));
        return Err(Failure::input(format!("no switch is `{name}`"), None, Some(&hint)));
    }
    let deployments: Vec<&SwitchDeployment> =
        plan.switches.iter().filter(|it| wanted(&it.switch)).collect();
    if args.json {
        output::say_json(&Document {
            schema: "tenuto-tables/1",
            version: &plan.version,
            world: "planned",
            seed: None,
            plan_hash: &plan.plan_hash,
            verdict: planned.promise().word(),
            network: &plan.network.name,
            switches: plan_json::switches(plan, &wanted),
            deployments,
        })?;
    } else {
        let text = |it: &&SwitchDeployment| match args.format {
            TablesFormat::Text => tables_text::text(&plan.network, it),
            TablesFormat::Ovs => tables_ovs::text(it),
        };
        let texts: Vec<String> = deployments.iter().map(text).collect();
        output::say(&texts.join("\n"))?;
    }
    if planned.promise() == Promise::Refused {
        super::plan::refuse(&planned);
        return Ok(Outcome::Bad);
    }
    Ok(Outcome::Good)
}
