//! Answers as HTTP: JSON, or a problem document.

use crate::answer::{Denied, Problem};
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use serde::Serialize;

/// What a handler gives: an answer or a problem.
pub(crate) type Reply = Result<Response<Body>, Box<Problem>>;

/// A problem of HTTP itself.
pub(crate) fn problem(status: StatusCode, kind: &str, title: &str, detail: &str) -> Box<Problem> {
    Box::new(Problem {
        type_: format!("/problems/{kind}"),
        title: title.to_owned(),
        status: status.as_u16(),
        detail: detail.to_owned(),
        refusals: Vec::new(),
        errors: Vec::new(),
        leader: None,
    })
}

/// A value as JSON.
pub(crate) fn json<T: Serialize>(status: StatusCode, value: &T) -> Reply {
    let text = serde_json::to_string(value).map_err(|error| {
        let why = error.to_string();
        problem(StatusCode::INTERNAL_SERVER_ERROR, "internal", "No answer could be made", &why)
    })?;
    Ok(text_of(status, "application/json", text))
}

/// A text of some kind.
pub(crate) fn text_of(status: StatusCode, kind: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl IntoResponse for Box<Problem> {
    fn into_response(self) -> Response<Body> {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let text = serde_json::to_string(&self).unwrap_or_default();
        let mut response = text_of(status, "application/problem+json", text);
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(axum::http::header::WWW_AUTHENTICATE, scheme);
        }
        // For who writes errors in another way.
        response.extensions_mut().insert(*self);
        response
    }
}

impl From<Denied> for Box<Problem> {
    fn from(denied: Denied) -> Self {
        Self::new(denied.problem())
    }
}
