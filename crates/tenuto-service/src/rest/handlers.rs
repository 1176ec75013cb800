//! What each address does.

use super::Shared;
use super::access::Who;
use super::openapi::document;
use super::reply::{Reply, json, problem, text_of};
use crate::alarm::Alarm;
use crate::answer::{Accepted, BoundRow, Denied, Problem};
use crate::change::Change;
use crate::cluster::Standing;
use crate::flow_fields::fields;
use crate::modes::{ModeChange, SwitchMode};
use crate::observed::ObservedQueue;
use crate::service::{Request, Service};
use crate::view::View;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::task;
use utoipa::{IntoParams, ToSchema};

/// Rows of a page where nothing else is asked for.
const PAGE_USUAL: usize = 100;
/// Most rows of a page.
const PAGE_MAX: usize = 1_000;
/// So long an answer waits for switches; after that it says that they are pending.
pub(super) const INSTALL_PATIENCE: Duration = Duration::from_secs(10);
/// Longest key of a request, bytes.
const KEY_BYTES_MAX: usize = 128;

/// A flow to add.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewFlow {
    /// Its name.
    name: String,
    /// Its fields, as a network file has them.
    flow: serde_json::Value,
}

/// Changes that are made together or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Batch {
    /// The changes, in order.
    changes: Vec<Change>,
}

/// An admitted flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct FlowRow {
    /// Its name.
    name: String,
    /// Its fields in the words of a network file, route and port included.
    flow: serde_json::Value,
    /// Its bounds, per target and mode.
    bounds: Vec<BoundRow>,
}

/// Part of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct FlowPage {
    /// The flows.
    flows: Vec<FlowRow>,
    /// How many there are in all.
    total: usize,
    /// `after` of the next page; null at the end.
    next: Option<String>,
}

/// What the service is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Status {
    /// Name of the network.
    network: String,
    /// Number of the latest decision.
    decision: u64,
    /// Flows in force.
    flows: usize,
    /// Hash of the plan in force.
    plan_hash: String,
    /// `pending` (stored, not in every switch yet), `confirmed` (in force) or `certified` (the checker's word too).
    state: String,
    /// The latest decision whose set the checker accepted.
    certified: Option<u64>,
    /// The latest decision that every switch confirmed; null where no switches are kept.
    installed: Option<u64>,
    /// Why nothing is admitted, if that is so.
    stopped: Option<String>,
    /// `alone`, or among several controllers `leader`, `follower`, `taking over` or `cut off` (nothing is admitted, traffic goes on).
    role: String,
    /// Grows with every change of who leads; null unless this one does.
    generation: Option<u64>,
    /// Where the controller that leads is spoken to, if another one does.
    leader: Option<String>,
    /// Whether a switch has typical times, so that bounds are not guaranteed.
    modelled: bool,
    /// Alarms that still hold.
    alarms: usize,
}

/// Load and backlog of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PortLoad {
    /// Sending node and its port.
    port: String,
    /// Sending node.
    from: String,
    /// Receiving node.
    to: String,
    /// Mode, or `FROM>TO`.
    mode: String,
    /// Sum of rates, bit/s.
    rate_bps: u64,
    /// Rate of the line, bit/s.
    capacity_bps: u64,
    /// Bound on what waits, bits.
    backlog_bound_bits: Option<u64>,
    /// Buffer, bits; null where the device states none.
    buffer_limit_bits: Option<u64>,
}

/// What a switch is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SwitchRow {
    /// Its name.
    name: String,
    /// OpenFlow datapath id.
    datapath_id: u64,
    /// Its profile.
    profile: String,
    /// Entries of the start mode.
    entries: u32,
    /// Entries of higher modes.
    shadow: u32,
    /// Meters.
    meters: u32,
    /// Groups.
    groups: u32,
}

/// A mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ModeRow {
    /// Its name; the first is the start mode.
    name: String,
    /// Flows that are guaranteed in it.
    flows: usize,
    /// Bound of the change from the mode before, nanoseconds.
    raise_bound_ns: Option<u64>,
    /// So long nothing may exceed this mode before the network returns to it, nanoseconds; null of the highest.
    quiet_ns: Option<u64>,
}

/// Where a list goes on.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageQuery {
    /// The last name of the page before.
    after: Option<String>,
    /// Most rows, 1 to 1000; 100 if it is left out.
    limit: Option<usize>,
}

/// How many rows are asked for.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowsQuery {
    /// Most rows, 1 to 1000; 100 if it is left out.
    limit: Option<usize>,
}

/// Most rows of an answer.
fn rows(limit: Option<usize>) -> Result<usize, Box<Problem>> {
    let limit = limit.unwrap_or(PAGE_USUAL);
    if (1..=PAGE_MAX).contains(&limit) {
        return Ok(limit);
    }
    let detail = format!("limit {limit}: an answer has 1 to {PAGE_MAX} rows");
    Err(problem(StatusCode::BAD_REQUEST, "not-understood", "The query is not understood", &detail))
}

/// Whether refusals are to say what would fit.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdviceQuery {
    /// `false` leaves out what would fit: looking for it may take seconds.
    advice: Option<bool>,
}

/// Takes a body as JSON of some kind.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Box<Problem>> {
    serde_json::from_slice(body).map_err(|error| {
        let title = "The request is not what this address takes";
        problem(StatusCode::BAD_REQUEST, "not-understood", title, &error.to_string())
    })
}

fn asked<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Box<Problem>> {
    query.map(|Query(it)| it).map_err(|rejection| {
        let title = "The query is not understood";
        problem(StatusCode::BAD_REQUEST, "not-understood", title, &rejection.body_text())
    })
}

fn key_of(headers: &HeaderMap) -> Result<Option<String>, Box<Problem>> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let is_fine = |it: &&str| !it.is_empty() && it.len() <= KEY_BYTES_MAX;
    match key.to_str().ok().filter(is_fine) {
        Some(key) => Ok(Some(key.to_owned())),
        None => {
            let detail = "an Idempotency-Key has 1 to 128 visible ASCII characters";
            let title = "The key is not understood";
            Err(problem(StatusCode::BAD_REQUEST, "not-understood", title, detail))
        }
    }
}

/// Does work that takes long where it is in nobody's way.
pub(super) async fn apart<T: Send + 'static>(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Service) -> T + Send + 'static,
) -> Result<T, Box<Problem>> {
    let shared = Arc::clone(shared);
    task::spawn_blocking(move || work(&shared.service)).await.map_err(|_| {
        let detail = "the set in force is as it was";
        let title = "The decision broke off";
        problem(StatusCode::INTERNAL_SERVER_ERROR, "internal", title, detail)
    })
}

fn busy() -> Box<Problem> {
    let title = "Too many ask at once";
    problem(StatusCode::TOO_MANY_REQUESTS, "busy", title, "send it again in a moment")
}

/// Decides on changes and answers; what is asked has a place in the line, or comes again.
async fn submit(
    shared: &Arc<Shared>,
    (who, headers): (Who, &HeaderMap),
    advice: Option<bool>,
    changes: Vec<Change>,
) -> Result<Accepted, Box<Problem>> {
    let _place = shared.waiting.try_acquire().map_err(|_| busy())?;
    let (key, advice) = (key_of(headers)?, advice.unwrap_or(true));
    let request = Request { changes, who: who.0, key, advice };
    let mut answer = apart(shared, move |service| service.submit(&request)).await??;
    answer.state = shared.service.reached(answer.decision, INSTALL_PATIENCE).await?.to_owned();
    Ok(answer)
}

/// What the service is doing.
#[utoipa::path(get, path = "/v1/status", security(("token" = [])), responses((status = 200, body = Status)))]
pub(crate) async fn status(State(shared): State<Arc<Shared>>) -> Reply {
    let view = shared.service.view();
    json(StatusCode::OK, &status_of(&view, shared.service.standing()))
}

fn status_of(view: &View, standing: Standing) -> Status {
    let role = standing.word().to_owned();
    let (mut generation, mut leader, mut stopped) = (None, None, view.stopped.clone());
    match standing {
        Standing::Alone | Standing::TakesOver => {}
        Standing::Leads { generation: it } => generation = Some(it),
        Standing::Follows { leader: it } => leader = it,
        Standing::CutOff { why, .. } => stopped = Some(format!("cut off: {why}")),
    }
    Status {
        network: view.network.name.clone(),
        decision: view.decision,
        flows: view.network.flows.len(),
        plan_hash: view.plan.plan_hash.clone(),
        state: view.state_of(view.decision).to_owned(),
        certified: view.certified,
        installed: view.installed,
        stopped,
        role,
        generation,
        leader,
        modelled: view.plan.modelled,
        alarms: view.alarms.iter().filter(|it| it.is_raised).count(),
    }
}

/// The admitted flows, by name.
#[utoipa::path(get, path = "/v1/flows", params(PageQuery), security(("token" = [])),
    responses((status = 200, body = FlowPage), (status = 400, body = Problem)))]
pub(crate) async fn flows(
    State(shared): State<Arc<Shared>>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> Reply {
    let query = asked(query)?;
    let limit = rows(query.limit)?;
    let page = apart(&shared, move |service| page_of(&service.view(), &query, limit)).await?;
    json(StatusCode::OK, &page)
}

fn page_of(view: &View, query: &PageQuery, limit: usize) -> FlowPage {
    let mut names: Vec<&str> = view.network.flows.iter().map(|flow| flow.name.as_str()).collect();
    names.sort_unstable();
    let start =
        query.after.as_ref().map_or(0, |last| names.partition_point(|name| *name <= last.as_str()));
    let page: Vec<&str> = names[start..].iter().take(limit).copied().collect();
    let is_last = start + page.len() >= names.len();
    let next = page.last().filter(|_| !is_last).map(|name| (*name).to_owned());
    let flows = page.into_iter().filter_map(|name| row_of(view, name)).collect();
    FlowPage { flows, total: names.len(), next }
}

fn row_of(view: &View, name: &str) -> Option<FlowRow> {
    let flow = fields(view.network.flow(name)?, &view.network);
    Some(FlowRow { name: name.to_owned(), flow, bounds: BoundRow::of_flow(&view.plan, name) })
}

/// One admitted flow.
#[utoipa::path(get, path = "/v1/flows/{name}", params(("name" = String, Path, description = "Its name")),
    security(("token" = [])), responses((status = 200, body = FlowRow), (status = 404, body = Problem)))]
pub(crate) async fn flow(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Reply {
    match row_of(&shared.service.view(), &name) {
        Some(row) => json(StatusCode::OK, &row),
        None => Err(Denied::NotFound(format!("there is no flow `{name}`")).into()),
    }
}

/// Adds a flow, or says what is in the way.
#[utoipa::path(post, path = "/v1/flows", request_body = NewFlow, params(AdviceQuery,
    ("Idempotency-Key" = Option<String>, Header, description = "The same key gives the same answer")),
    security(("token" = [])), responses((status = 201, body = Accepted), (status = 409, body = Problem),
    (status = 422, body = Problem), (status = 503, body = Problem), (status = 507, body = Problem)))]
pub(crate) async fn add(
    State(shared): State<Arc<Shared>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
    query: Result<Query<AdviceQuery>, QueryRejection>,
    body: Bytes,
) -> Reply {
    let advice = asked(query)?.advice;
    let NewFlow { name, flow } = read(&body)?;
    let changes = vec![Change::Add { name, flow }];
    json(StatusCode::CREATED, &submit(&shared, (who, &headers), advice, changes).await?)
}

/// Changes a flow; should the change be refused, the flow stays as it was.
#[utoipa::path(put, path = "/v1/flows/{name}", request_body = serde_json::Value, params(AdviceQuery,
    ("name" = String, Path, description = "Its name"),
    ("Idempotency-Key" = Option<String>, Header, description = "The same key gives the same answer")),
    security(("token" = [])), responses((status = 200, body = Accepted), (status = 404, body = Problem),
    (status = 409, body = Problem), (status = 422, body = Problem), (status = 503, body = Problem)))]
pub(crate) async fn change(
    State(shared): State<Arc<Shared>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    headers: HeaderMap,
    query: Result<Query<AdviceQuery>, QueryRejection>,
    body: Bytes,
) -> Reply {
    let advice = asked(query)?.advice;
    let changes = vec![Change::Change { name, flow: read(&body)? }];
    json(StatusCode::OK, &submit(&shared, (who, &headers), advice, changes).await?)
}

/// Removes a flow.
#[utoipa::path(delete, path = "/v1/flows/{name}", params(("name" = String, Path, description = "Its name"),
    ("Idempotency-Key" = Option<String>, Header, description = "The same key gives the same answer")),
    security(("token" = [])), responses((status = 200, body = Accepted), (status = 404, body = Problem),
    (status = 409, body = Problem), (status = 503, body = Problem)))]
pub(crate) async fn remove(
    State(shared): State<Arc<Shared>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Reply {
    let changes = vec![Change::Remove { name }];
    json(StatusCode::OK, &submit(&shared, (who, &headers), None, changes).await?)
}

/// Several changes, all or none.
#[utoipa::path(post, path = "/v1/batch", request_body = Batch, params(AdviceQuery,
    ("Idempotency-Key" = Option<String>, Header, description = "The same key gives the same answer")),
    security(("token" = [])), responses((status = 200, body = Accepted), (status = 404, body = Problem),
    (status = 409, body = Problem), (status = 422, body = Problem), (status = 503, body = Problem)))]
pub(crate) async fn batch(
    State(shared): State<Arc<Shared>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
    query: Result<Query<AdviceQuery>, QueryRejection>,
    body: Bytes,
) -> Reply {
    let advice = asked(query)?.advice;
    let Batch { changes } = read(&body)?;
    json(StatusCode::OK, &submit(&shared, (who, &headers), advice, changes).await?)
}

/// What would be answered to changes; nothing is changed.
#[utoipa::path(post, path = "/v1/what-if", request_body = Batch, params(AdviceQuery), security(("token" = [])),
    responses((status = 200, body = Accepted), (status = 404, body = Problem), (status = 409, body = Problem),
    (status = 422, body = Problem), (status = 429, body = Problem)))]
pub(crate) async fn what_if(
    State(shared): State<Arc<Shared>>,
    query: Result<Query<AdviceQuery>, QueryRejection>,
    body: Bytes,
) -> Reply {
    let advice = asked(query)?.advice.unwrap_or(true);
    let Batch { changes } = read(&body)?;
    let _place = shared.what_ifs.try_acquire().map_err(|_| busy())?;
    let answer = apart(&shared, move |service| service.what_if(&changes, advice)).await??;
    json(StatusCode::OK, &answer)
}

/// Load and backlog of every port in every mode.
#[utoipa::path(get, path = "/v1/ports", security(("token" = [])), responses((status = 200, body = Vec<PortLoad>)))]
pub(crate) async fn ports(State(shared): State<Arc<Shared>>) -> Reply {
    let view = shared.service.view();
    let modes = &view.network.modes;
    let row = |row: &tenuto_model::PortRow| PortLoad {
        port: format!("{}:{}", row.port.node, row.port.port),
        from: row.port.node.clone(),
        to: view.network.peer(&row.port).map_or_else(String::new, |(end, _)| end.node.clone()),
        mode: row.mode.label(modes),
        rate_bps: row.rate_bps,
        capacity_bps: row.capacity_bps,
        backlog_bound_bits: row.backlog_bound_bits,
        buffer_limit_bits: row.buffer_limit_bits,
    };
    json(StatusCode::OK, &view.plan.port_rows.iter().map(row).collect::<Vec<_>>())
}

/// What frames waited in queues of switches, beside what is promised; of switches that tell.
#[utoipa::path(get, path = "/v1/observed", security(("token" = [])), responses((status = 200, body = Vec<ObservedQueue>)))]
pub(crate) async fn observed(State(shared): State<Arc<Shared>>) -> Reply {
    let view = shared.service.view();
    json(StatusCode::OK, &shared.service.inner.observed.rows(&view))
}

/// What every switch is told, in numbers.
#[utoipa::path(get, path = "/v1/switches", security(("token" = [])), responses((status = 200, body = Vec<SwitchRow>)))]
pub(crate) async fn switches(State(shared): State<Arc<Shared>>) -> Reply {
    let view = shared.service.view();
    let row = |it: &tenuto_model::SwitchDeployment| SwitchRow {
        name: it.switch.clone(),
        datapath_id: it.datapath_id,
        profile: view.network.switch(&it.switch).map_or_else(String::new, |it| it.profile.clone()),
        entries: it.usage.entries,
        shadow: it.usage.shadow,
        meters: it.usage.meters,
        groups: it.usage.groups,
    };
    json(StatusCode::OK, &view.plan.switches.iter().map(row).collect::<Vec<_>>())
}

/// The modes, lowest first.
#[utoipa::path(get, path = "/v1/modes", security(("token" = [])), responses((status = 200, body = Vec<ModeRow>)))]
pub(crate) async fn modes(State(shared): State<Arc<Shared>>) -> Reply {
    let view = shared.service.view();
    let raise = |level: usize| {
        let changes = view.plan.mode_changes.iter();
        let to = changes.filter(|it| match it.change {
            tenuto_model::Transition::Raise { to, .. } => usize::from(to) == level,
            _ => false,
        });
        to.map(|it| it.bound_ps.div_ceil(1_000)).max()
    };
    let row = |(level, name): (usize, &String)| ModeRow {
        name: name.clone(),
        flows: view.network.flows.iter().filter(|flow| flow.level >= level).count(),
        raise_bound_ns: raise(level),
        quiet_ns: view.plan.quiet_ns.filter(|_| level + 1 < view.network.modes.len()),
    };
    json(StatusCode::OK, &view.network.modes.iter().enumerate().map(row).collect::<Vec<_>>())
}

/// The mode of every switch that is kept, as it last told it.
#[utoipa::path(get, path = "/v1/modes/switches", security(("token" = [])), responses((status = 200, body = Vec<SwitchMode>)))]
pub(crate) async fn mode_of_switches(State(shared): State<Arc<Shared>>) -> Reply {
    json(StatusCode::OK, &shared.service.inner.modes.switches())
}

/// Violations and mode changes that switches told of, the latest last.
#[utoipa::path(get, path = "/v1/modes/history", security(("token" = [])), responses((status = 200, body = Vec<ModeChange>)))]
pub(crate) async fn mode_history(State(shared): State<Arc<Shared>>) -> Reply {
    json(StatusCode::OK, &shared.service.inner.modes.changes())
}

/// Counters for Prometheus: its text format, or OpenMetrics where that is asked for.
#[utoipa::path(get, path = "/metrics", security(("token" = [])),
    responses((status = 200, body = String, content_type = "text/plain; version=0.0.4")))]
pub(crate) async fn metrics(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Reply {
    let accepts = headers.get("accept").and_then(|it| it.to_str().ok()).unwrap_or_default();
    let is_open = accepts.contains("application/openmetrics-text");
    let kind = match is_open {
        true => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        false => "text/plain; version=0.0.4; charset=utf-8",
    };
    Ok(text_of(StatusCode::OK, kind, shared.service.metrics(is_open)))
}

/// The plan in force, as `tenuto certify` takes it.
#[utoipa::path(get, path = "/v1/plan", security(("token" = [])), responses((status = 200, body = serde_json::Value)))]
pub(crate) async fn plan(State(shared): State<Arc<Shared>>) -> Reply {
    let text = apart(&shared, |service| service.view().plan.to_json()).await?;
    Ok(text_of(StatusCode::OK, "application/json", text))
}

/// The set in force as a network file.
#[utoipa::path(get, path = "/v1/network", security(("token" = [])),
    responses((status = 200, body = String, content_type = "application/yaml")))]
pub(crate) async fn network(State(shared): State<Arc<Shared>>) -> Reply {
    let text = apart(&shared, |it| tenuto_model::write_network(&it.view().network)).await?;
    Ok(text_of(StatusCode::OK, "application/yaml", text))
}

/// What somebody has to look at.
#[utoipa::path(get, path = "/v1/alarms", security(("token" = [])), responses((status = 200, body = Vec<Alarm>)))]
pub(crate) async fn alarms(State(shared): State<Arc<Shared>>) -> Reply {
    json(StatusCode::OK, &shared.service.view().alarms)
}

/// Who asked for what, the latest last.
#[utoipa::path(get, path = "/v1/audit", params(RowsQuery), security(("token" = [])),
    responses((status = 200, body = Vec<serde_json::Value>)))]
pub(crate) async fn audit(
    State(shared): State<Arc<Shared>>,
    query: Result<Query<RowsQuery>, QueryRejection>,
) -> Reply {
    let limit = rows(asked(query)?.limit)?;
    json(StatusCode::OK, &shared.audit.latest(limit))
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", responses((status = 200, body = serde_json::Value)))]
pub(crate) async fn openapi() -> Reply {
    Ok(text_of(StatusCode::OK, "application/json", document()))
}
