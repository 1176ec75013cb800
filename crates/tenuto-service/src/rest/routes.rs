//! Every address, once: the router is made of this list, and the document is held against it.

use super::{Shared, access, handlers, page, restconf, stream};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::{MethodRouter, delete, get, post, put};
use std::sync::Arc;

/// Method, address and handler.
pub(crate) type Route = (&'static str, &'static str, MethodRouter<Arc<Shared>>);

/// Every address that the document tells of; those of RESTCONF are told by their model.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        ("get", "/v1/status", get(handlers::status)),
        ("get", "/v1/flows", get(handlers::flows)),
        ("post", "/v1/flows", post(handlers::add)),
        ("get", "/v1/flows/{name}", get(handlers::flow)),
        ("put", "/v1/flows/{name}", put(handlers::change)),
        ("delete", "/v1/flows/{name}", delete(handlers::remove)),
        ("post", "/v1/batch", post(handlers::batch)),
        ("post", "/v1/what-if", post(handlers::what_if)),
        ("get", "/v1/ports", get(handlers::ports)),
        ("get", "/v1/observed", get(handlers::observed)),
        ("get", "/v1/switches", get(handlers::switches)),
        ("get", "/v1/modes", get(handlers::modes)),
        ("get", "/v1/modes/switches", get(handlers::mode_of_switches)),
        ("get", "/v1/modes/history", get(handlers::mode_history)),
        ("get", "/metrics", get(handlers::metrics)),
        ("get", "/v1/plan", get(handlers::plan)),
        ("get", "/v1/network", get(handlers::network)),
        ("get", "/v1/alarms", get(handlers::alarms)),
        ("get", "/v1/events", get(stream::events)),
        ("get", "/v1/audit", get(handlers::audit)),
        ("get", "/openapi.json", get(handlers::openapi)),
    ]
}

/// The router of the service.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let every = routes().into_iter().fold(Router::new(), |all, (_, path, it)| all.route(path, it));
    let unknown = |request: Request| async move {
        let detail = format!(
            "{} {}: /openapi.json lists what there is",
            request.method(),
            request.uri().path()
        );
        super::reply::problem(StatusCode::NOT_FOUND, "no-such-address", "Nothing is there", &detail)
    };
    let other = |request: Request| async move {
        let detail = format!(
            "{} {}: /openapi.json lists what there is",
            request.method(),
            request.uri().path()
        );
        let title = "This address takes another method";
        super::reply::problem(StatusCode::METHOD_NOT_ALLOWED, "no-such-method", title, &detail)
    };
    let every = every.route("/", get(page::document)).route("/page.css", get(page::style));
    restconf::add(every)
        .route("/page.js", get(page::script))
        .route("/charts.js", get(page::charts))
        .fallback(unknown)
        .method_not_allowed_fallback(other)
        // Limited where it is read, before any handler.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), access::check))
        .layer(middleware::from_fn(restconf::errors))
        .with_state(shared)
}
