//! Operations: streams are decided on, one after the other, by the writer of the service.

use super::address::StreamKey;
use super::error::Error;
use super::planned::Planned;
use super::shape::{self, Members};
use super::yang::yang;
use super::{MODULE, OWN_CUC, failure, reading, rendering};
use crate::answer::{Accepted, Denied};
use crate::change::Change;
use crate::rest::Shared;
use crate::rest::access::Who;
use crate::rest::handlers::{INSTALL_PATIENCE, apart};
use crate::service::{Request, Service, now_ms};
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Path, State};
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tenuto_model::quantity::format_time;

pub(super) const OPERATIONS: [&str; 5] = [
    "compute_streams",
    "compute_planned_and_modified_streams",
    "compute_all_streams",
    "request_domain_id",
    "request_free_stream_id",
];

/// Code of every stream, and what there is to say of those that failed.
type Outcomes = Vec<(StreamKey, u8, Option<String>)>;

/// `POST /restconf/operations/NAME`.
pub(super) async fn operation(
    State(shared): State<Arc<Shared>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Response<Body>, Error> {
    let name = name.strip_prefix(&format!("{MODULE}:")).unwrap_or_default().to_owned();
    let input = |members| input(&body, members);
    let result = match name.as_str() {
        "compute_streams" => {
            let keys = named_streams(&shared, &input(shape::NAMED_STREAMS)?)?;
            compute(&shared, who, keys).await?
        }
        "compute_planned_and_modified_streams" | "compute_all_streams" => {
            // A stream that is configured holds already: deciding on it again changes nothing.
            let cucs = cucs(&shared, &input(shape::NAMED_CUCS)?)?;
            let waiting = shared.planned.list().into_iter().map(|(key, _)| key);
            compute(&shared, who, waiting.filter(|key| cucs.contains(&key.cuc)).collect()).await?
        }
        "request_domain_id" => {
            input(shape::ONE_CUC)?;
            shared.service.view().network.name.clone()
        }
        "request_free_stream_id" => free_id(&shared, &input(shape::CUC_OF_DOMAIN)?)?,
        _ => {
            let all = OPERATIONS.join(", ");
            return Err(Error::missing(format!("there is no such operation: there are {all}")));
        }
    };
    Ok(yang(StatusCode::OK, &json!({format!("{MODULE}:output"): {"result": result}})))
}

/// What an operation is asked for; what the model does not have there is refused.
fn input(body: &[u8], members: Members) -> Result<Value, Error> {
    if body.is_empty() {
        return Ok(json!({}));
    }
    let value: Value =
        serde_json::from_slice(body).map_err(|error| Error::malformed(error.to_string()))?;
    let own = shape::body_member(&value, "input", "…")?;
    shape::check(own, members, "input")?;
    Ok(own.clone())
}

/// Names of CUCs of the domain that are given, each with what stands beside it.
fn given<'a>(shared: &Shared, input: &'a Value) -> Result<Vec<(&'a str, &'a Value)>, Error> {
    let mut all = Vec::new();
    for domain in input.get("domain").and_then(Value::as_array).into_iter().flatten() {
        let id = domain.get("domain-id").and_then(Value::as_str).unwrap_or_default();
        own_domain(shared, id)?;
        for cuc in domain.get("cuc").and_then(Value::as_array).into_iter().flatten() {
            let id = cuc.get("cuc-id").and_then(Value::as_str);
            all.push((id.ok_or_else(|| Error::value("cuc-id: which CUC?"))?, cuc));
        }
    }
    if all.is_empty() {
        return Err(Error::value("domain: name a domain with a CUC in it"));
    }
    Ok(all)
}

fn own_domain(shared: &Shared, id: &str) -> Result<(), Error> {
    let own = &shared.service.view().network.name;
    match id == own {
        true => Ok(()),
        false => Err(Error::missing(format!("domain-id `{id}`: there is one domain, `{own}`"))),
    }
}

fn cucs(shared: &Shared, input: &Value) -> Result<Vec<String>, Error> {
    Ok(given(shared, input)?.into_iter().map(|(cuc, _)| cuc.to_owned()).collect())
}

fn stream_ids(cuc: &str, of: &Value) -> Result<Vec<StreamKey>, Error> {
    let list = of.get("stream-list").and_then(Value::as_array).into_iter().flatten();
    list.map(|it| {
        let id = it.get("stream-id").and_then(Value::as_str);
        StreamKey::new(cuc, id.ok_or_else(|| Error::value("stream-id: which stream?"))?)
    })
    .collect()
}

/// Streams that are named; each has to be there (the model has references to them).
fn named_streams(shared: &Shared, input: &Value) -> Result<Vec<StreamKey>, Error> {
    let mut keys = Vec::new();
    for (cuc, of) in given(shared, input)? {
        let own = stream_ids(cuc, of)?;
        if own.is_empty() {
            return Err(Error::value(format!("stream-list: which streams of CUC `{cuc}`?")));
        }
        keys.extend(own);
    }
    let view = shared.service.view();
    for key in &keys {
        if shared.planned.get(key).is_none() && view.network.flow(&key.flow()).is_none() {
            return Err(Error::missing(format!("CUC `{}` has no stream {}", key.cuc, key.id)));
        }
    }
    Ok(keys)
}

/// A number that no stream of the first host has.
fn free_id(shared: &Shared, input: &Value) -> Result<String, Error> {
    let cuc = input.get("cuc-id").and_then(Value::as_str);
    let cuc = cuc.ok_or_else(|| Error::value("cuc-id: for which CUC?"))?;
    if let Some(domain) = input.get("domain-id") {
        own_domain(shared, domain.as_str().unwrap_or_default())?;
    }
    let view = shared.service.view();
    let streams = rendering::streams(&view, &shared.planned.list());
    let free = (1..=u16::MAX).map(|it| StreamKey::own([2, 0, 0, 0, 0, 0], it));
    let free = free.map(|it| StreamKey { cuc: cuc.to_owned(), ..it });
    let mut free = free.filter(|it| !streams.contains_key(it)).map(|it| it.id);
    free.next().ok_or_else(|| Error::too_much("no number is free"))
}

/// Decides on streams, tells of it, and says how it went.
async fn compute(shared: &Arc<Shared>, who: Who, keys: Vec<StreamKey>) -> Result<String, Error> {
    let mut outcomes = Outcomes::new();
    for key in keys {
        let Some(planned) = shared.planned.get(&key) else {
            outcomes.push((key, 0, None));
            continue;
        };
        match configure(shared, &who, &key, &planned).await {
            Ok(_) => {
                shared.planned.take(&key);
                outcomes.push((key, 0, None));
            }
            Err((code, text)) => {
                shared.planned.failed(&key, (code, text.clone()));
                outcomes.push((key, code, Some(text)));
            }
        }
    }
    notify(shared, "compute_streams_completed", &outcomes);
    notify(shared, "configure_streams_completed", &outcomes);
    Ok(summary("configured", &outcomes))
}

/// Adds or changes the flow of a stream, and waits for the switches.
async fn configure(
    shared: &Arc<Shared>,
    who: &Who,
    key: &StreamKey,
    planned: &Planned,
) -> Result<Accepted, (u8, String)> {
    let Ok(_place) = shared.waiting.try_acquire() else {
        return Err((failure::RESOURCES, "too many ask at once: send it again".to_owned()));
    };
    let (name, body, who) = (key.flow(), planned.body.clone(), who.0.clone());
    let decide = move |service: &Service| decide(service, &name, &body, who);
    let answer =
        apart(shared, decide).await.map_err(|it| (failure::RESOURCES, it.detail.clone()))?;
    let accepted = answer?;
    let reached = shared.service.reached(accepted.decision, INSTALL_PATIENCE).await;
    reached.map_err(|denied| failure::of(&denied))?;
    Ok(accepted)
}

fn decide(
    service: &Service,
    name: &str,
    body: &Value,
    who: String,
) -> Result<Accepted, (u8, String)> {
    let view = service.view();
    let wanted = reading::wanted(body, &view.network)
        .map_err(|error| (failure::RESOURCES, error.message().to_owned()))?;
    let change = |flow: Value| match view.network.flow(name) {
        Some(_) => vec![Change::Change { name: name.to_owned(), flow }],
        None => vec![Change::Add { name: name.to_owned(), flow }],
    };
    let told = |denied: Denied| failure::of(&denied);
    let mut fields = wanted.fields;
    if wanted.keeps_first_latency {
        let first = service.what_if(&change(fields.clone()), true).map_err(told)?;
        let bounds = first.bounds.iter().map(|it| (it.target.clone(), it.delay_bound_ns));
        lock_down(&mut fields, bounds.collect());
    }
    let request = Request { changes: change(fields), who, key: None, advice: true };
    service.submit(&request).map_err(told)
}

/// The bounds of now are the deadlines from now on.
fn lock_down(fields: &mut Value, bounds: Vec<(String, Option<u64>)>) {
    let Some(targets) = fields.get_mut("targets").and_then(Value::as_object_mut) else { return };
    for (host, target) in targets {
        let own = bounds.iter().filter(|(it, _)| it == host).filter_map(|(_, ns)| *ns).max();
        if let (Some(ns), Some(target)) = (own, target.as_object_mut()) {
            target.insert("deadline".to_owned(), json!(format_time(ns)));
        }
    }
}

/// The action `remove_streams` of a CUC.
pub(super) async fn remove(
    shared: &Arc<Shared>,
    who: Who,
    cuc: &str,
    body: &[u8],
) -> Result<Response<Body>, Error> {
    if cuc == OWN_CUC {
        return Err(Error::unsupported("flows that came otherwise go by DELETE /v1/flows/NAME"));
    }
    let keys = stream_ids(cuc, &input(body, shape::REMOVED)?)?;
    if keys.is_empty() {
        return Err(Error::value("stream-list: which streams?"));
    }
    let mut outcomes = Outcomes::new();
    for key in keys {
        let was_planned = shared.planned.take(&key).is_some();
        let name = key.flow();
        if shared.service.view().network.flow(&name).is_none() {
            let text = (!was_planned).then(|| "unsuccessful: there is no such stream".to_owned());
            outcomes.push((key, u8::from(text.is_some()) * failure::UNSUCCESSFUL, text));
            continue;
        }
        let changes = vec![Change::Remove { name }];
        let request = Request { changes, who: who.0.clone(), key: None, advice: false };
        let answer = apart(shared, move |service| service.submit(&request)).await;
        let told = match answer {
            Ok(Ok(accepted)) => shared
                .service
                .reached(accepted.decision, INSTALL_PATIENCE)
                .await
                .err()
                .map(|it| it.problem().detail),
            Ok(Err(denied)) => Some(denied.problem().detail),
            Err(problem) => Some(problem.detail.clone()),
        };
        outcomes.push((key, u8::from(told.is_some()) * failure::UNSUCCESSFUL, told));
    }
    notify(shared, "remove_streams_completed", &outcomes);
    let result = summary("removed", &outcomes);
    Ok(yang(StatusCode::OK, &json!({format!("{MODULE}:output"): {"result": result}})))
}

/// Tells those who listen (RFC 8040, section 6.4).
fn notify(shared: &Shared, name: &str, outcomes: &Outcomes) {
    let mut cucs: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (key, code, _) in outcomes {
        let stream = json!({"stream-id": key.id, "failure-code": code});
        cucs.entry(&key.cuc).or_default().push(stream);
    }
    let cucs: Vec<Value> =
        cucs.into_iter().map(|(cuc, streams)| json!({"cuc-id": cuc, "stream": streams})).collect();
    let domain = json!({"domain-id": shared.service.view().network.name, "cuc": cucs});
    let at_ms = now_ms();
    let told = json!({"ietf-restconf:notification": {
        "eventTime": date_and_time(at_ms),
        format!("{MODULE}:{name}"): {"domain": [domain]},
    }});
    shared.planned.notifications.tell(at_ms, name, None, told.to_string());
}

/// How it went, and why not where it did not.
fn summary(done: &str, outcomes: &Outcomes) -> String {
    let good = outcomes.iter().filter(|(_, code, _)| *code == 0).count();
    let mut text = format!("{good} of {} {done}", outcomes.len());
    for (key, code, why) in outcomes {
        if let Some(why) = why {
            text.push_str(&format!("\n{}: failure-code {code}: {why}", key.id));
        }
    }
    text
}

/// A time of day as YANG writes it (RFC 6991), UTC: days to dates as Howard Hinnant's `civil_from_days`.
fn date_and_time(at_ms: u64) -> String {
    let (seconds, ms) = (at_ms / 1_000, at_ms % 1_000);
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date_and_time(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(date_and_time(951_827_696_789), "2000-02-29T12:34:56.789Z");
        assert_eq!(date_and_time(1_796_083_199_000), "2026-11-30T23:59:59.000Z");
    }
}
