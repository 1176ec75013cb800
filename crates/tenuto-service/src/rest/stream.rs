//! Events as they happen, as server-sent events.

use super::Shared;
use super::reply::{Reply, problem};
use crate::events::{Event, Events};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use futures_util::stream::unfold;
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::timeout;

/// Silence after which a sign of life is sent, so that who has left is noticed.
const QUIET: Duration = Duration::from_secs(15);

/// A listener: where it is, and its place among the others.
struct Listener {
    shared: Arc<Shared>,
    latest: watch::Receiver<u64>,
    seen: u64,
    of: fn(&Shared) -> &Events,
    told: fn(&Event) -> String,
    _place: OwnedSemaphorePermit,
}

/// What happens, from `Last-Event-ID` on where that is sent.
#[utoipa::path(get, path = "/v1/events", security(("token" = [])),
    params(("Last-Event-ID" = Option<u64>, Header, description = "Number of the last event that was seen")),
    responses((status = 200, body = Event, content_type = "text/event-stream")))]
pub(crate) async fn events(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Reply {
    stream_of(shared, &headers, |shared| &shared.service.inner.events, told)
}

/// Some events, each as `told` writes it.
pub(super) fn stream_of(
    shared: Arc<Shared>,
    headers: &HeaderMap,
    of: fn(&Shared) -> &Events,
    told: fn(&Event) -> String,
) -> Reply {
    let Ok(place) = Arc::clone(&shared.listeners).try_acquire_owned() else {
        let detail = "32 listen already";
        let title = "Too many listen";
        return Err(problem(StatusCode::TOO_MANY_REQUESTS, "busy", title, detail));
    };
    let latest = of(&shared).listen();
    let last = headers.get("last-event-id").and_then(|it| it.to_str().ok()?.parse().ok());
    let seen = last.unwrap_or(*latest.borrow());
    let listener = Listener { shared, latest, seen, of, told, _place: place };
    let stream = unfold(listener, |mut listener| async move {
        let text = listener.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(text)), listener))
    });
    let mut response = Response::new(Body::from_stream(stream));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

impl Listener {
    /// The next events, or a sign of life; nothing at the end.
    async fn next(&mut self) -> Option<String> {
        loop {
            let events = (self.of)(&self.shared).after(self.seen);
            if let Some(last) = events.last() {
                self.seen = last.number;
                return Some(events.iter().map(self.told).collect());
            }
            match timeout(QUIET, self.latest.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return None,
                Err(_) => return Some(": still here\n\n".to_owned()),
            }
        }
    }
}

fn told(event: &Event) -> String {
    let mut text = String::new();
    let data = serde_json::to_string(event).unwrap_or_default();
    write!(text, "id: {}\nevent: {}\ndata: {data}\n\n", event.number, event.kind)
        .expect("a string");
    text
}
