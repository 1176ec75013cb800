//! Where peers connect: TCP as it is, or TLS over it.

use rustls::{CertificateError, Error, ServerConfig};
use std::io;
use std::sync::{Arc, RwLock};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A handshake takes at most so long.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// No descriptor was left: the next look is after so long.
const PAUSE: Duration = Duration::from_millis(50);
/// What a record of TLS that begins a handshake begins with (RFC 8446, section 5.1).
const HANDSHAKE_RECORD: u8 = 22;

/// Certificates, keys and authorities in force: a service that runs for months is given newer ones.
#[derive(Debug)]
pub struct Tls {
    config: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Shows and asks for what the configuration says.
    pub fn new(config: Arc<ServerConfig>) -> Arc<Self> {
        Arc::new(Self { config: RwLock::new(config) })
    }

    /// Connections from now on take another configuration; those that are open stay.
    pub fn replace(&self, config: Arc<ServerConfig>) {
        *self.config.write().expect("nobody panics with it") = config;
    }

    /// Shakes hands; the reason where that came to nothing.
    pub(crate) async fn accept(&self, stream: TcpStream) -> Result<TlsStream<TcpStream>, String> {
        let config = Arc::clone(&self.config.read().expect("nobody panics with it"));
        let shaken = timeout(HANDSHAKE, TlsAcceptor::from(config).accept(stream)).await;
        let late = |_| format!("no TLS handshake within {} s", HANDSHAKE.as_secs());
        shaken.map_err(late)?.map_err(|error| reason(&error))
    }
}

/// Whether a peer begins as TLS does; it is waited for as long as for a handshake.
pub(crate) async fn begins_tls(stream: &TcpStream) -> bool {
    let mut first = [0];
    match timeout(HANDSHAKE, stream.peek(&mut first)).await {
        Ok(Ok(1)) => first[0] == HANDSHAKE_RECORD,
        _ => true,
    }
}

/// Why a handshake failed, in words of whoever has to mend it.
fn reason(error: &io::Error) -> String {
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => "it went away in its TLS handshake".to_owned(),
            _ => error.to_string(),
        };
    };
    match tls {
        Error::NoCertificatesPresented => "it showed no certificate".to_owned(),
        Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. },
        ) => "its certificate has expired".to_owned(),
        Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => "its certificate is not valid yet".to_owned(),
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "its certificate is of an authority that is not known here".to_owned()
        }
        Error::InvalidCertificate(CertificateError::BadSignature) => {
            "its certificate is not signed by the authority that it names".to_owned()
        }
        Error::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        Error::AlertReceived(alert) => format!("it refused our certificate: {alert:?}"),
        other => other.to_string(),
    }
}

/// Where peers connect.
#[derive(Debug)]
pub struct Listening {
    pub(crate) listener: TcpListener,
    pub(crate) tls: Option<Arc<Tls>>,
}

impl From<TcpListener> for Listening {
    /// TCP as it is.
    fn from(listener: TcpListener) -> Self {
        Self { listener, tls: None }
    }
}

impl Listening {
    /// TLS over TCP.
    pub fn by_tls(listener: TcpListener, tls: Arc<Tls>) -> Self {
        Self { listener, tls: Some(tls) }
    }

    /// The next peer. One that has left again is passed over, and so is a time without descriptors.
    pub(crate) async fn next(&self) -> (TcpStream, std::net::SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    let _ = stream.set_nodelay(true);
                    return (stream, from);
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => sleep_until(Instant::now() + PAUSE).await,
            }
        }
    }
}
