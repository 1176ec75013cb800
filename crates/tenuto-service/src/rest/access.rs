//! Who may come in.

use super::reply::problem;
use super::{Shared, restconf};
use crate::answer::Problem;
use crate::service::now_ms;
use crate::tokens::Role;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Largest body of a request, bytes.
const BODY_BYTES_MAX: usize = 8 << 20;
/// Time for a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The name of who asks.
#[derive(Clone, Debug)]
pub(crate) struct Who(pub(crate) String);

/// The role that a request needs; `None` for what everybody may see.
pub(crate) fn needed(method: &Method, path: &str) -> Option<Role> {
    match (method, path) {
        (_, "/metrics") => Some(Role::Read),
        (&Method::GET | &Method::HEAD, path) if !is_kept(path) => None,
        (_, "/v1/audit") => Some(Role::Administer),
        (&Method::GET | &Method::HEAD, _) | (_, "/v1/what-if") => Some(Role::Read),
        _ => Some(Role::Admit),
    }
}

/// What only who has a token may see.
fn is_kept(path: &str) -> bool {
    path.starts_with("/v1/") || restconf::is_of(path)
}

/// Lets through whoever has a token with the role that is needed, and notes what changes something.
pub(crate) async fn check(
    State(shared): State<Arc<Shared>>,
    mut request: Request,
    next: Next,
) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let Some(role) = needed(&method, &path) else { return next.run(request).await };
    let who = match admitted(&shared, &request, role) {
        Ok(who) => who,
        Err(problem) => {
            note(&shared, "-", &method, &path, problem.status);
            return problem.into_response();
        }
    };
    request.extensions_mut().insert(Who(who.clone()));
    let response = match whole(request).await {
        Ok(request) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    if role > Role::Read {
        note(&shared, &who, &method, &path, response.status().as_u16());
    }
    response
}

/// The request with all of its body, so that who sends slowly is in nobody's way.
async fn whole(request: Request) -> Result<Request, Box<Problem>> {
    let (parts, body) = request.into_parts();
    // What its head says is answered before the rest is there.
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(too_large());
    }
    match timeout(BODY_TIMEOUT, to_bytes(body, BODY_BYTES_MAX)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Ok(Err(_)) => {
            let detail =
                "a request has at most 8 MiB, and all of what its head says: send it in parts";
            let title = "The request is too large, or cut";
            Err(problem(StatusCode::PAYLOAD_TOO_LARGE, "too-large", title, detail))
        }
        Err(_) => {
            let detail = "a request is there within 30 s";
            Err(problem(
                StatusCode::REQUEST_TIMEOUT,
                "too-slow",
                "The request took too long",
                detail,
            ))
        }
    }
}

fn too_large() -> Box<Problem> {
    let detail = "a request has at most 8 MiB, and all that its head says: send it in parts";
    let title = "The request is too large, or cut";
    problem(StatusCode::PAYLOAD_TOO_LARGE, "too-large", title, detail)
}

fn note(shared: &Shared, who: &str, method: &Method, path: &str, status: u16) {
    shared.audit.note(&serde_json::json!({
        "at_ms": now_ms(), "who": who, "method": method.as_str(), "path": path, "status": status,
    }));
}

fn admitted(shared: &Shared, request: &Request, role: Role) -> Result<String, Box<Problem>> {
    let unknown = |detail: &str| {
        problem(StatusCode::UNAUTHORIZED, "unauthorised", "A token is needed", detail)
    };
    let header = request.headers().get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    let token = header.and_then(|it| it.strip_prefix("Bearer "));
    let token = token.ok_or_else(|| unknown("send `Authorization: Bearer TOKEN`"))?;
    let known = shared.tokens.role_of(token.trim(), now_ms() / 1_000);
    let (has, who) = known.ok_or_else(|| unknown("this token is not known, or over"))?;
    if has >= role {
        return Ok(who);
    }
    let detail = format!("`{who}` may {}; this needs a token that may {}", has.word(), role.word());
    Err(problem(StatusCode::FORBIDDEN, "forbidden", "This token does not allow that", &detail))
}
