//! The page: four files in the binary, which ask this service and nobody else.

use super::reply::text_of;
use axum::body::Body;
use axum::http::header::{CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Response, StatusCode};

/// Nothing from elsewhere, and nothing that stands in the document itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The document.
pub(crate) async fn document() -> Response<Body> {
    file("text/html; charset=utf-8", include_str!("page/index.html"))
}

/// Its looks.
pub(crate) async fn style() -> Response<Body> {
    file("text/css; charset=utf-8", include_str!("page/page.css"))
}

/// What it does.
pub(crate) async fn script() -> Response<Body> {
    file("text/javascript; charset=utf-8", include_str!("page/page.js"))
}

/// What it draws.
pub(crate) async fn charts() -> Response<Body> {
    file("text/javascript; charset=utf-8", include_str!("page/charts.js"))
}

fn file(kind: &'static str, text: &str) -> Response<Body> {
    let mut response = text_of(StatusCode::OK, kind, text.to_owned());
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
