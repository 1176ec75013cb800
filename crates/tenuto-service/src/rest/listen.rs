//! Connections: how many, for how long, and how large.

use super::{Shared, routes};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep_until, timeout};

/// Limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Connections at once; further ones are closed at once.
    pub connections_max: usize,
    /// Time for the head of a request; a connection that is quiet for so long is closed.
    pub head_timeout: Duration,
    /// Bytes of a head.
    pub head_bytes_max: usize,
    /// Time for requests that are under way when the service ends.
    pub grace: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections_max: 256,
            head_timeout: Duration::from_secs(30),
            head_bytes_max: 64 << 10,
            grace: Duration::from_secs(5),
        }
    }
}

/// Serves until `end` is over; then requests that are under way are finished.
///
/// # Errors
/// The listener itself fails.
pub async fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
    limits: HttpLimits,
    end: impl Future<Output = ()>,
) -> io::Result<()> {
    let router = routes::router(shared);
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let (over, _) = watch::channel(false);
    tokio::pin!(end);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            // A peer that has left again, or no descriptor is left: the next may do.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(_) => {
                sleep_until(Instant::now() + Duration::from_millis(50)).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let serving = one(stream, router.clone(), limits, over.subscribe());
        tokio::spawn(async move {
            serving.await;
            drop(place);
        });
    }
    over.send_replace(true);
    let all = u32::try_from(limits.connections_max).unwrap_or(u32::MAX);
    let _ = timeout(limits.grace, places.acquire_many(all)).await;
    Ok(())
}

/// One connection, until it is closed, or over and quiet.
async fn one(
    stream: TcpStream,
    router: Router,
    limits: HttpLimits,
    mut over: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head_timeout);
    builder.max_buf_size(limits.head_bytes_max);
    let service = TowerToHyperService::new(router);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        // What a client does wrong ends its connection, and nothing else.
        _ = connection.as_mut() => return,
        _ = over.wait_for(|it| *it) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
