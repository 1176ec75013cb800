//! The commands once more as RESTCONF (RFC 8040), by the model of IEEE Std 802.1Qdj (`ieee802-dot1q-cnc-config`).
//!
//! A *domain* is the network, a *CUC* whoever asks for streams, a *stream* a flow. A stream that was written is
//! *planned*: nothing is promised to it, and a restart forgets it. `compute_streams` has the service decide on it, as an add or
//! change of `/v1/flows` does; what is accepted is *configured*. A refusal is a failure code of Table 46-15 (IEEE Std 802.1Q-2022)
//! in the notification, and our text in the result of the operation. Flows that came otherwise are seen as streams of the CUC
//! `tenuto`, and are not changed here.

mod address;
mod compute;
mod data;
mod error;
mod failure;
mod planned;
mod reading;
mod rendering;
mod shape;
mod yang;

pub(crate) use planned::PlannedStreams;

use super::Shared;
use super::reply::text_of;
use super::stream::stream_of;
use crate::answer::Problem;
use crate::events::Event;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::middleware::Next;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use serde_json::{Value, json};
use std::sync::Arc;
use yang::{YANG_JSON, yang};

/// The module that all of it is by.
const MODULE: &str = "ieee802-dot1q-cnc-config";
/// CUC of flows that came otherwise.
const OWN_CUC: &str = "tenuto";

/// Every address of it.
pub(super) fn add(router: Router<Arc<Shared>>) -> Router<Arc<Shared>> {
    router
        .route("/.well-known/host-meta", get(host_meta))
        .route("/restconf", get(root))
        .route("/restconf/yang-library-version", get(library_version))
        .route("/restconf/data", get(data::all))
        .route(
            "/restconf/data/{*path}",
            get(data::read).put(data::write).delete(data::remove).post(data::post),
        )
        .route("/restconf/operations", get(operations))
        .route("/restconf/operations/{name}", post(compute::operation))
        .route("/restconf/streams/cnc", get(notifications))
}

/// Whether an address is RESTCONF's.
pub(super) fn is_of(path: &str) -> bool {
    path == "/restconf" || path.starts_with("/restconf/")
}

/// Errors below `/restconf` have one shape (RFC 8040, section 7.1), those of HTTP and of the check of tokens too.
pub(super) async fn errors(request: Request, next: Next) -> Response<Body> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = next.run(request).await;
    let status = response.status();
    let is_told = response.headers().get(CONTENT_TYPE).is_some_and(|it| it == YANG_JSON);
    if !is_of(&path) || is_told || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let error = match (status, response.extensions().get::<Problem>()) {
        (StatusCode::NOT_FOUND, _) => {
            let there = "/restconf/data, /restconf/operations and /restconf/streams/cnc";
            error::Error::missing(format!("nothing is at `{path}`: there are {there}"))
        }
        (StatusCode::METHOD_NOT_ALLOWED, _) => {
            error::Error::unsupported(format!("{method} {path}: it takes another method"))
        }
        (_, Some(problem)) => {
            error::Error::of_http(status, format!("{}: {}", problem.title, problem.detail))
        }
        (_, None) => error::Error::of_http(status, format!("{method} {path}: {status}")),
    };
    let mut told = error.into_response();
    let challenge = response.headers().get(WWW_AUTHENTICATE).cloned();
    told.headers_mut().extend(challenge.map(|it| (WWW_AUTHENTICATE, it)));
    told
}

fn nothing(status: StatusCode) -> Response<Body> {
    text_of(status, YANG_JSON, String::new())
}

/// Where the interface begins (RFC 8040, section 3.1).
async fn host_meta() -> Response<Body> {
    let text = "<XRD xmlns='http://docs.oasis-open.org/ns/xri/xrd-1.0'><Link rel='restconf' href='/restconf'/></XRD>\n";
    text_of(StatusCode::OK, "application/xrd+xml", text.to_owned())
}

async fn root() -> Response<Body> {
    let value = json!({"ietf-restconf:restconf": {"data": {}, "operations": {}, "yang-library-version": "2019-01-04"}});
    yang(StatusCode::OK, &value)
}

async fn library_version() -> Response<Body> {
    yang(StatusCode::OK, &json!({"ietf-restconf:yang-library-version": "2019-01-04"}))
}

async fn operations() -> Response<Body> {
    let all = compute::OPERATIONS.iter().map(|name| (format!("{MODULE}:{name}"), json!([null])));
    let all: serde_json::Map<String, Value> = all.collect();
    yang(StatusCode::OK, &json!({"ietf-restconf:operations": all}))
}

/// Completions as they happen (RFC 8040, section 6), from `Last-Event-ID` on where that is sent.
async fn notifications(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
) -> super::reply::Reply {
    stream_of(shared, &headers, |shared| &shared.planned.notifications, told)
}

fn told(event: &Event) -> String {
    format!("id: {}\ndata: {}\n\n", event.number, event.text)
}
