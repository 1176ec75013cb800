//! What goes wrong, as RESTCONF says it (RFC 8040, section 7.1).

use super::yang::yang;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use serde_json::json;

/// An error: a tag with a status that section 7 has for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Error {
    tag: &'static str,
    status: StatusCode,
    message: String,
}

impl Error {
    /// A value that cannot be, with what would fit.
    pub(super) fn value(message: impl Into<String>) -> Self {
        Self::new("invalid-value", StatusCode::BAD_REQUEST, message)
    }

    /// A member that the model does not have.
    pub(super) fn unknown(message: impl Into<String>) -> Self {
        Self::new("unknown-element", StatusCode::BAD_REQUEST, message)
    }

    /// Something that is not there.
    pub(super) fn missing(message: impl Into<String>) -> Self {
        Self::new("invalid-value", StatusCode::NOT_FOUND, message)
    }

    /// Something that is there already.
    pub(super) fn exists(message: impl Into<String>) -> Self {
        Self::new("data-exists", StatusCode::CONFLICT, message)
    }

    /// Bytes that are no message.
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new("malformed-message", StatusCode::BAD_REQUEST, message)
    }

    /// Something that this service does not do.
    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        Self::new("operation-not-supported", StatusCode::METHOD_NOT_ALLOWED, message)
    }

    /// There is no room for it.
    pub(super) fn too_much(message: impl Into<String>) -> Self {
        Self::new("resource-denied", StatusCode::CONFLICT, message)
    }

    fn new(tag: &'static str, status: StatusCode, message: impl Into<String>) -> Self {
        Self { tag, status, message: message.into() }
    }

    /// What HTTP itself refuses, or the check of tokens, by its status.
    pub(super) fn of_http(status: StatusCode, message: String) -> Self {
        let tag = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "access-denied",
            StatusCode::BAD_REQUEST => "invalid-value",
            StatusCode::PAYLOAD_TOO_LARGE => "too-big",
            StatusCode::TOO_MANY_REQUESTS => "resource-denied",
            _ => "operation-failed",
        };
        Self::new(tag, status, message)
    }

    /// The text.
    pub(super) fn message(&self) -> &str {
        &self.message
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response<Body> {
        let error = json!({"error-type": "application", "error-tag": self.tag, "error-message": self.message});
        yang(self.status, &json!({"ietf-restconf:errors": {"error": [error]}}))
    }
}
