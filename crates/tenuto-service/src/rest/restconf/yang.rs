//! Values as RESTCONF has them.

use crate::rest::reply::text_of;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::Value;

pub(super) const YANG_JSON: &str = "application/yang-data+json";

/// A value as RESTCONF has it.
pub(super) fn yang(status: StatusCode, value: &Value) -> Response<Body> {
    text_of(status, YANG_JSON, value.to_string())
}
