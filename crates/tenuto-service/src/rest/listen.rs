//! Connections: how many, for how long, and how large.

use super::{Shared, routes};
use crate::listening::{Listening, Tls, begins_tls};
use crate::places::{Place, Places};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

/// Limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Connections at once; further ones are closed at once.
    pub connections_max: usize,
    /// Of these, from one address.
    pub connections_of_one_max: usize,
    /// TLS handshakes of one address that are under way; a further one is closed at once.
    pub handshakes_of_one_max: usize,
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
            connections_of_one_max: 64,
            handshakes_of_one_max: 16,
            head_timeout: Duration::from_secs(30),
            head_bytes_max: 64 << 10,
            grace: Duration::from_secs(5),
        }
    }
}

/// What whoever speaks HTTP where HTTPS is meant is told.
const PLAIN: &str = "this address speaks HTTPS: write https:// in place of http://\n";

/// Serves until `end` is over; then requests that are under way are finished.
pub async fn serve(
    listening: impl Into<Listening>,
    shared: Arc<Shared>,
    limits: HttpLimits,
    end: impl Future<Output = ()>,
) {
    let (listening, router) = (listening.into(), routes::router(shared));
    let open = Arc::new(Semaphore::new(limits.connections_max));
    let places = Places::new(limits.connections_max, limits.connections_of_one_max);
    let handshakes = Places::new(limits.connections_max, limits.handshakes_of_one_max);
    let (over, _) = watch::channel(false);
    tokio::pin!(end);
    loop {
        let (stream, from) = tokio::select! {
            accepted = listening.next() => accepted,
            () = &mut end => break,
        };
        let Some(place) = places.take(from.ip()) else { continue };
        let Ok(counted) = Arc::clone(&open).try_acquire_owned() else { continue };
        // A peer that says nothing is in a handshake until that is over.
        let handshake = listening.tls.as_ref().map(|_| handshakes.take(from.ip()));
        if matches!(handshake, Some(None)) {
            continue;
        }
        let (router, over, tls) = (router.clone(), over.subscribe(), listening.tls.clone());
        tokio::spawn(async move {
            match tls {
                None => one(stream, router, limits, over).await,
                Some(tls) => {
                    secured(stream, &tls, handshake.flatten(), (router, limits, over)).await
                }
            }
            drop((place, counted));
        });
    }
    over.send_replace(true);
    let all = u32::try_from(limits.connections_max).unwrap_or(u32::MAX);
    let _ = timeout(limits.grace, open.acquire_many(all)).await;
}

/// One connection by TLS; its place among handshakes is given back when hands are shaken.
async fn secured(
    stream: TcpStream,
    tls: &Tls,
    handshake: Option<Place>,
    (router, limits, over): (Router, HttpLimits, watch::Receiver<bool>),
) {
    if !begins_tls(&stream).await {
        return tell_plain(stream, limits).await;
    }
    // Where it fails, the alert has told the peer why.
    let shaken = tls.accept(stream).await;
    drop(handshake);
    if let Ok(stream) = shaken {
        one(stream, router, limits, over).await;
    }
}

/// One connection, until it is closed, or over and quiet.
async fn one(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    limits: HttpLimits,
    mut over: watch::Receiver<bool>,
) {
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

/// Tells a peer without TLS what is spoken here.
async fn tell_plain(mut stream: TcpStream, limits: HttpLimits) {
    let length = PLAIN.len();
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{PLAIN}"
    );
    let told = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    };
    let _ = timeout(limits.grace, told).await;
}
