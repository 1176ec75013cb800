//! What goes wrong, as RESTCONF says it (RFC 8040, section 7.1).

use super::yang;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use serde_json::json;

/// An error: its status follows from its tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Error {
    tag: &'static str,
    message: String,
}

impl Error {
    /// A value that cannot be, with what would fit.
    pub(super) fn value(message: impl Into<String>) -> Self {
        Self { tag: "invalid-value", message: message.into() }
    }

    /// Something that is not there.
    pub(super) fn missing(message: impl Into<String>) -> Self {
        Self { tag: "data-missing", message: message.into() }
    }

    /// Something that is there already.
    pub(super) fn exists(message: impl Into<String>) -> Self {
        Self { tag: "data-exists", message: message.into() }
    }

    /// Bytes that are no message.
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self { tag: "malformed-message", message: message.into() }
    }

    /// Something that this service does not do.
    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        Self { tag: "operation-not-supported", message: message.into() }
    }

    /// There is no room for it.
    pub(super) fn too_much(message: impl Into<String>) -> Self {
        Self { tag: "resource-denied", message: message.into() }
    }

    /// The text.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    fn status(&self) -> StatusCode {
        match self.tag {
            "data-missing" => StatusCode::NOT_FOUND,
            "data-exists" | "resource-denied" => StatusCode::CONFLICT,
            "operation-not-supported" => StatusCode::METHOD_NOT_ALLOWED,
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response<Body> {
        let error = json!({"error-type": "application", "error-tag": self.tag, "error-message": self.message});
        yang(self.status(), &json!({"ietf-restconf:errors": {"error": [error]}}))
    }
}
