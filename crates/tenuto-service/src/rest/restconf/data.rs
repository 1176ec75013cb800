//! Reading and writing data: streams come as planned, and go.

use super::address::{Place, StreamKey};
use super::error::Error;
use super::yang::yang;
use super::{MODULE, OWN_CUC, compute, nothing, reading, rendering, shape};
use crate::rest::Shared;
use crate::rest::access::Who;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Path, State};
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;

type Reply = Result<Response<Body>, Error>;

/// `GET` of the datastore (RFC 8040, section 3.3.1).
pub(super) async fn all(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let view = shared.service.view();
    let streams = rendering::streams(&view, &shared.planned.list());
    let data = json!({"domain": [rendering::domain(&view.network.name, &streams)]});
    let of_module = json!({format!("{MODULE}:cnc-config"): data});
    yang(StatusCode::OK, &json!({"ietf-restconf:data": of_module}))
}

/// `GET`: everything, a domain, a CUC or a stream.
pub(super) async fn read(State(shared): State<Arc<Shared>>, Path(path): Path<String>) -> Reply {
    let place = Place::of(&path)?;
    let view = shared.service.view();
    let streams = rendering::streams(&view, &shared.planned.list());
    let name = &view.network.name;
    check_domain(&shared, &place)?;
    let answer = match &place {
        Place::All => {
            json!({format!("{MODULE}:cnc-config"): {"domain": [rendering::domain(name, &streams)]}})
        }
        Place::Domain(_) => {
            json!({format!("{MODULE}:domain"): [rendering::domain(name, &streams)]})
        }
        Place::Cuc(_, cuc) => {
            let own: Vec<&Value> =
                streams.iter().filter(|(key, _)| key.cuc == *cuc).map(|(_, it)| it).collect();
            if own.is_empty() && cuc != OWN_CUC {
                return Err(Error::missing(format!("no stream is of a CUC `{cuc}`")));
            }
            json!({format!("{MODULE}:cuc"): [rendering::cuc(cuc, &own)]})
        }
        Place::Stream(_, cuc, id) => {
            let key = StreamKey { cuc: cuc.clone(), id: id.to_ascii_uppercase() };
            let stream = streams.get(&key);
            let stream =
                stream.ok_or_else(|| Error::missing(format!("CUC `{cuc}` has no stream {id}")))?;
            json!({format!("{MODULE}:stream"): [stream]})
        }
        Place::Action(_, _, action) => {
            return Err(Error::unsupported(format!("{action} is an action: POST it")));
        }
    };
    Ok(yang(StatusCode::OK, &answer))
}

/// `PUT` of a stream: it is planned, or what is planned in its place.
pub(super) async fn write(
    State(shared): State<Arc<Shared>>,
    Path(path): Path<String>,
    body: Bytes,
) -> Reply {
    let place = Place::of(&path)?;
    check_domain(&shared, &place)?;
    let Place::Stream(_, cuc, id) = &place else {
        return Err(Error::unsupported("streams are written one by one: PUT …/cuc=NAME/stream=ID"));
    };
    let key = own_key(cuc, id)?;
    let (id, stream) = one_stream(&body)?;
    if id.is_some_and(|it| !it.eq_ignore_ascii_case(&key.id)) {
        return Err(Error::value("stream-id: it is another one than that of the address"));
    }
    let is_new = plan(&shared, key, stream)?;
    Ok(nothing(if is_new { StatusCode::CREATED } else { StatusCode::NO_CONTENT }))
}

/// `POST` to a CUC: a new stream, or an action.
pub(super) async fn post(
    State(shared): State<Arc<Shared>>,
    Extension(who): Extension<Who>,
    Path(path): Path<String>,
    body: Bytes,
) -> Reply {
    let place = Place::of(&path)?;
    check_domain(&shared, &place)?;
    match place {
        Place::Cuc(_, cuc) => {
            let (id, stream) = one_stream(&body)?;
            let id = id.ok_or_else(|| Error::value("stream-id: which stream is it?"))?;
            let key = own_key(&cuc, &id)?;
            let is_there = shared.planned.get(&key).is_some()
                || shared.service.view().network.flow(&key.flow()).is_some();
            if is_there {
                return Err(Error::exists(format!("stream {} is there: PUT changes it", key.id)));
            }
            plan(&shared, key, stream)?;
            Ok(nothing(StatusCode::CREATED))
        }
        Place::Action(_, cuc, action) if action == "remove_streams" => {
            compute::remove(&shared, who, &cuc, &body).await
        }
        _ => Err(Error::unsupported("POST streams to a CUC, or its action remove_streams")),
    }
}

/// `DELETE` of a stream that waits; one that is configured goes by `remove_streams`.
pub(super) async fn remove(State(shared): State<Arc<Shared>>, Path(path): Path<String>) -> Reply {
    let place = Place::of(&path)?;
    check_domain(&shared, &place)?;
    let Place::Stream(_, cuc, id) = &place else {
        return Err(Error::unsupported("streams are deleted one by one"));
    };
    let key = own_key(cuc, id)?;
    if shared.planned.take(&key).is_some() {
        return Ok(nothing(StatusCode::NO_CONTENT));
    }
    match shared.service.view().network.flow(&key.flow()) {
        Some(_) => Err(Error::unsupported(
            "a configured stream goes by the action remove_streams of its CUC",
        )),
        None => Err(Error::missing(format!("CUC `{cuc}` has no stream {id}"))),
    }
}

/// A stream has to be readable before it waits.
fn plan(shared: &Shared, key: StreamKey, stream: Value) -> Result<bool, Error> {
    reading::wanted(&stream, &shared.service.view().network)?;
    let is_configured = shared.service.view().network.flow(&key.flow()).is_some();
    Ok(shared.planned.put(key, stream)? && !is_configured)
}

fn own_key(cuc: &str, id: &str) -> Result<StreamKey, Error> {
    if cuc == OWN_CUC {
        return Err(Error::unsupported(format!(
            "streams of the CUC `{OWN_CUC}` are flows that came otherwise: change them at /v1/flows, or take another CUC"
        )));
    }
    StreamKey::new(cuc, id)
}

/// There is one domain.
pub(super) fn check_domain(shared: &Shared, place: &Place) -> Result<(), Error> {
    let own = &shared.service.view().network.name;
    match place {
        Place::All => Ok(()),
        Place::Domain(it) | Place::Cuc(it, _) | Place::Stream(it, ..) | Place::Action(it, ..)
            if it == own =>
        {
            Ok(())
        }
        _ => Err(Error::missing(format!("there is one domain, `{own}`"))),
    }
}

/// The stream of a body (RFC 8040, section 4.5), and its name; state that a client sends back is left out.
fn one_stream(body: &[u8]) -> Result<(Option<String>, Value), Error> {
    let value: Value =
        serde_json::from_slice(body).map_err(|error| Error::malformed(error.to_string()))?;
    let list = shape::body_member(&value, "stream", "[ONE STREAM]")?;
    let stream = match list.as_array().map(Vec::as_slice) {
        Some([one]) if one.is_object() => one,
        _ => return Err(Error::malformed(format!("send {{\"{MODULE}:stream\": [ONE STREAM]}}"))),
    };
    shape::check(stream, shape::STREAM, "stream")?;
    let mut stream = stream.clone();
    let id = stream.get("stream-id").and_then(Value::as_str).map(str::to_owned);
    if let Some(map) = stream.as_object_mut() {
        for state in ["stream-status", "status-info", "failed-interfaces"] {
            map.remove(state);
        }
    }
    without_state(stream.get_mut("talker"));
    if let Some(listeners) = stream.get_mut("listener").and_then(Value::as_array_mut) {
        listeners.iter_mut().for_each(|it| without_state(Some(it)));
    }
    Ok((id, stream))
}

fn without_state(of: Option<&mut Value>) {
    if let Some(map) = of.and_then(Value::as_object_mut) {
        map.remove("accumulated-latency");
        map.remove("interface-configuration");
    }
}
