//! The document of the interface, generated from the types and handlers.

use super::{handlers, stream};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

#[derive(OpenApi)]
#[openapi(
    info(title = "Tenuto", description = "Admitted flows of a running network: added, changed and removed while traffic flows."),
    paths(
        handlers::status, handlers::flows, handlers::add, handlers::flow, handlers::change, handlers::remove,
        handlers::batch, handlers::what_if, handlers::ports, handlers::observed, handlers::switches, handlers::modes,
        handlers::mode_of_switches, handlers::mode_history, handlers::metrics, handlers::plan,
        handlers::network, handlers::alarms, stream::events, handlers::audit, handlers::openapi,
    ),
    modifiers(&Token)
)]
struct Document;

struct Token;

impl Modify for Token {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let components = document.components.get_or_insert_with(Default::default);
        components.add_security_scheme("token", scheme);
    }
}

/// The OpenAPI 3.1 document as indented JSON, ending in a newline.
pub fn document() -> String {
    let text = Document::openapi().to_pretty_json().unwrap_or_default();
    format!("{text}\n")
}
