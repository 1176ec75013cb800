//! The bytes of sessions with switches: peers that connect, hands that are shaken, what is read and written.

use crate::listening::Listening;
use crate::places::Places;
use std::net::SocketAddr;
use std::time::Duration;
use tenuto_controller::ConnId;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Bytes taken from a session at once.
const INPUT_BYTES: usize = 64 * 1024;
/// A peer that is not spoken to any more is read for so long.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// TLS handshakes at once; a peer that comes meanwhile is closed, and switches call again.
const HANDSHAKES_MAX: usize = 64;
/// Of these, from one address: a peer that never speaks does not keep others out.
const HANDSHAKES_OF_ONE_MAX: usize = 8;

/// What a session tells.
pub(crate) enum News {
    /// A peer is there, its hand shaken where that is asked for.
    Connected(Halves, SocketAddr),
    /// A peer was not taken, and why.
    Unfit(SocketAddr, String),
    /// What a session has sent.
    Bytes(ConnId, Vec<u8>),
    /// There is room for more that is to be sent.
    Written,
    /// A session is over.
    Closed(ConnId),
}

/// Both directions of a connection.
pub(crate) struct Halves {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
}

impl Halves {
    fn of_tcp(stream: TcpStream) -> Self {
        let (reader, writer) = stream.into_split();
        Self { reader: Box::new(reader), writer: Box::new(writer) }
    }

    /// Begins to carry bytes; where those to be sent go.
    pub(crate) fn carry(self, conn: ConnId, news: &mpsc::Sender<News>) -> mpsc::Sender<Vec<u8>> {
        let (to_write, bytes) = mpsc::channel(1);
        let mut reading = tokio::spawn(read(conn, self.reader, news.clone()));
        let news = news.clone();
        tokio::spawn(async move {
            write(self.writer, bytes, &news).await;
            // What the peer still sends is read, so that it gets what it was sent last.
            if timeout(LAST_WORDS, &mut reading).await.is_err() {
                reading.abort();
                let _ = news.send(News::Closed(conn)).await;
            }
        });
        to_write
    }
}

/// Takes peers for as long as somebody hears of them.
pub(crate) async fn accept(listening: Listening, news: mpsc::Sender<News>) {
    let handshakes = Places::new(HANDSHAKES_MAX, HANDSHAKES_OF_ONE_MAX);
    loop {
        let (stream, from) = listening.next().await;
        let Some(tls) = listening.tls.clone() else {
            if news.send(News::Connected(Halves::of_tcp(stream), from)).await.is_err() {
                return;
            }
            continue;
        };
        let Some(handshake) = handshakes.take(from.ip()) else { continue };
        let news = news.clone();
        tokio::spawn(async move {
            let told = match tls.accept(stream).await {
                Ok(stream) => {
                    let (reader, writer) = split(stream);
                    let halves = Halves { reader: Box::new(reader), writer: Box::new(writer) };
                    News::Connected(halves, from)
                }
                Err(why) => News::Unfit(from, why),
            };
            drop(handshake);
            let _ = news.send(told).await;
        });
    }
}

async fn read(
    conn: ConnId,
    mut reader: Box<dyn AsyncRead + Send + Unpin>,
    news: mpsc::Sender<News>,
) {
    let mut bytes = vec![0; INPUT_BYTES];
    loop {
        let told = match reader.read(&mut bytes).await {
            Ok(count) if count > 0 => News::Bytes(conn, bytes[..count].to_vec()),
            _ => News::Closed(conn),
        };
        let is_over = matches!(told, News::Closed(_));
        if news.send(told).await.is_err() || is_over {
            return;
        }
    }
}

async fn write(
    mut writer: Box<dyn AsyncWrite + Send + Unpin>,
    mut bytes: mpsc::Receiver<Vec<u8>>,
    news: &mpsc::Sender<News>,
) {
    while let Some(part) = bytes.recv().await {
        // Cryptography keeps what it was given until it is told to send all of it.
        let is_sent = writer.write_all(&part).await.is_ok() && writer.flush().await.is_ok();
        if !is_sent || news.send(News::Written).await.is_err() {
            return;
        }
    }
    let _ = timeout(LAST_WORDS, writer.shutdown()).await;
}
