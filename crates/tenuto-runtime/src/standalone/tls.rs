//! TLS beside the data path: a thread per connection does the cryptography, and the data path has
//! the plain side of it as a stream like any other.

use super::callers::Owner;
use super::handshakes::{Handshakes, KEPT};
use super::settings::TlsFiles;
use super::stream::{Stream, is_later};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, Connection, RootCertStore, ServerConfig};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tenuto_io::{Interest, MonotonicClock, PollSet};
use tenuto_units::{Instant, Span};

/// A handshake takes at most so long.
const HANDSHAKE: Span = Span::from_s(5);
/// Bytes that wait on either side of a connection before the other side is not read.
const WAITING_MAX: usize = 64 * 1024;

/// What both sides of a TLS connection need.
#[derive(Clone)]
pub(super) struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    shaking: Arc<Handshakes>,
}

impl Tls {
    /// Reads the files. Both sides must show a certificate that the authority has signed.
    pub(super) fn load(files: &TlsFiles) -> io::Result<Self> {
        let roots = Arc::new(roots(&files.ca)?);
        let chain = certificates(&files.certificate)?;
        let key =
            PrivateKeyDer::from_pem_file(&files.key).map_err(at(&files.key, "private key"))?;
        let provider = provider();
        let pair = |error| wrong_pair(files, &error);
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(pair)?
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(pair)?;
        let server = tls_server(files, Asks::ForCertificate)?;
        Ok(Self { client: Arc::new(client), server, shaking: Arc::default() })
    }

    /// Shakes hands with a controller, which must be called `host` in its certificate; to be called
    /// beside the data path.
    pub(super) fn connect(&self, socket: TcpStream, host: &str) -> io::Result<Stream> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let client = rustls::ClientConnection::new(Arc::clone(&self.client), name);
        let mut connection = Connection::from(client.map_err(io::Error::other)?);
        shake(&mut connection, &socket)?;
        let (here, there) = plain_pair()?;
        crate::beside::spawn("tls", move || carry(connection, &socket, &there))?;
        Ok(Stream::Local(here))
    }

    /// The handshakes of peers that have connected.
    pub(super) fn shaking(&self) -> &Handshakes {
        &self.shaking
    }

    /// Shakes hands with who has connected, and hands the plain side over or the reason why there is
    /// none, all beside the caller.
    pub(super) fn accept(
        &self,
        socket: TcpStream,
        owner: Owner,
        done: impl FnOnce(io::Result<Stream>) + Send + 'static,
    ) -> io::Result<()> {
        let number = self.shaking.begin(socket.try_clone()?, owner, MonotonicClock::now());
        let (server, shaking) = (Arc::clone(&self.server), Arc::clone(&self.shaking));
        let spawned = crate::beside::spawn("tls", move || {
            let shaken = rustls::ServerConnection::new(server).map_err(io::Error::other).and_then(
                |connection| {
                    let mut connection = Connection::from(connection);
                    shake(&mut connection, &socket).map(|()| connection)
                },
            );
            let shaken = if shaking.end(number) { shaken } else { Err(given_way()) };
            match shaken.and_then(|connection| Ok((connection, plain_pair()?))) {
                Err(error) => done(Err(error)),
                Ok((connection, (here, there))) => {
                    done(Ok(Stream::Local(here)));
                    carry(connection, &socket, &there);
                }
            }
        });
        if spawned.is_err() {
            self.shaking.end(number);
        }
        spawned.map(|_| ())
    }
}

/// What a TLS server asks of those who connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// A certificate that the authority has signed.
    ForCertificate,
    /// Nothing: who they are is told otherwise.
    ForNothing,
}

/// The side of TLS that is connected to, from files.
///
/// # Errors
/// With the file that cannot be read or does not fit.
pub fn tls_server(files: &TlsFiles, asks: Asks) -> io::Result<Arc<ServerConfig>> {
    let provider = provider();
    let chain = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(at(&files.key, "private key"))?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong_pair(files, &error))?;
    let builder = match asks {
        Asks::ForNothing => builder.with_no_client_auth(),
        Asks::ForCertificate => {
            let roots = Arc::new(roots(&files.ca)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
            let verifier = verifier
                .map_err(|error| io::Error::other(format!("{}: {error}", files.ca.display())))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let config = builder.with_single_cert(chain, key);
    Ok(Arc::new(config.map_err(|error| wrong_pair(files, &error))?))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn wrong_pair(files: &TlsFiles, error: &rustls::Error) -> io::Error {
    let (certificate, key) = (files.certificate.display(), files.key.display());
    io::Error::other(format!("certificate {certificate} with key {key}: {error}"))
}

fn plain_pair() -> io::Result<(UnixStream, UnixStream)> {
    let (here, there) = UnixStream::pair()?;
    here.set_nonblocking(true)?;
    there.set_nonblocking(true)?;
    Ok((here, there))
}

/// Says what a file was read for.
fn at<E: std::fmt::Display>(path: &Path, what: &str) -> impl Fn(E) -> io::Error {
    move |error| io::Error::other(format!("{what} {}: {error}", path.display()))
}

fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let error = at(path, "certificate");
    let read = CertificateDer::pem_file_iter(path).map_err(&error)?;
    let list: Vec<_> = read.collect::<Result<_, _>>().map_err(&error)?;
    match list.is_empty() {
        true => Err(io::Error::other(format!("{}: no certificate in it", path.display()))),
        false => Ok(list),
    }
}

fn roots(path: &Path) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(at(path, "authority"))?;
    }
    Ok(roots)
}

/// The handshake, within its time.
fn shake(connection: &mut Connection, socket: &TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_nonblocking(false)?;
    let until = MonotonicClock::now() + HANDSHAKE;
    let mut stream = socket;
    while connection.is_handshaking() {
        let left = until.since(MonotonicClock::now());
        if left == Span::ZERO {
            return Err(too_late());
        }
        let left = Some(Duration::from_nanos(left.as_ns()));
        socket.set_read_timeout(left)?;
        socket.set_write_timeout(left)?;
        if connection.wants_write() {
            connection.write_tls(&mut stream).map_err(said)?;
            continue;
        }
        if connection.read_tls(&mut stream).map_err(said)? == 0 {
            return Err(io::Error::other("it went away in its TLS handshake"));
        }
        if let Err(error) = connection.process_new_packets() {
            // The alert tells the other end why.
            let _ = connection.write_tls(&mut stream);
            return Err(io::Error::other(error));
        }
    }
    while connection.wants_write() {
        connection.write_tls(&mut stream)?;
    }
    socket.set_nonblocking(true)
}

fn given_way() -> io::Error {
    let text =
        format!("no TLS handshake within {} ms, and others waited", KEPT.as_ns() / 1_000_000);
    io::Error::new(io::ErrorKind::TimedOut, text)
}

fn too_late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no TLS handshake within 5 s")
}

/// What a call that was to wait for the other end has come to.
fn said(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => too_late(),
        _ => error,
    }
}

/// Carries bytes between both sides until either ends.
fn carry(connection: Connection, socket: &TcpStream, plain: &UnixStream) {
    let mut carrier = Carrier { connection, to_plain: Vec::new(), plain_ended: false };
    let mut poll = PollSet::new();
    let outer = poll.add(socket.as_raw_fd(), Interest::Read);
    let inner = poll.add(plain.as_raw_fd(), Interest::Read);
    let mut deadline = None;
    while let Ok(is_open) = carrier.step(socket, plain) {
        if !is_open {
            if !carrier.connection.wants_write() || deadline.is_some_and(is_over) {
                return;
            }
            deadline = deadline.or(Some(MonotonicClock::now() + HANDSHAKE));
        }
        poll.set_interest(
            outer,
            interest(is_open && carrier.takes_outer(), carrier.connection.wants_write()),
        );
        poll.set_interest(
            inner,
            interest(is_open && carrier.takes_inner(), !carrier.to_plain.is_empty()),
        );
        if poll.wait(deadline).is_err() {
            return;
        }
    }
}

fn is_over(deadline: Instant) -> bool {
    MonotonicClock::now() >= deadline
}

const fn interest(reads: bool, writes: bool) -> Interest {
    match (reads, writes) {
        (true, true) => Interest::ReadWrite,
        (true, false) => Interest::Read,
        (false, true) => Interest::Write,
        (false, false) => Interest::None,
    }
}

struct Carrier {
    connection: Connection,
    to_plain: Vec<u8>,
    plain_ended: bool,
}

impl Carrier {
    fn takes_outer(&self) -> bool {
        self.to_plain.len() < WAITING_MAX
    }

    /// Cryptography buffers without end what it is given, so it is given nothing while it has
    /// something to write.
    fn takes_inner(&self) -> bool {
        !self.plain_ended && !self.connection.wants_write()
    }

    /// Moves what can be moved; false when the plain side has ended.
    fn step(&mut self, mut socket: &TcpStream, mut plain: &UnixStream) -> io::Result<bool> {
        let mut bytes = [0; 16 * 1024];
        if self.takes_outer() {
            match self.connection.read_tls(&mut socket) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if is_later(&error) => {}
                Err(error) => return Err(error),
            }
            // Even when nothing came now: data may have come with the handshake.
            self.decrypt(&mut bytes)?;
        }
        if !self.to_plain.is_empty() {
            match plain.write(&self.to_plain) {
                Ok(count) => drop(self.to_plain.drain(..count)),
                Err(error) if is_later(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if self.takes_inner() {
            match plain.read(&mut bytes) {
                Ok(0) => {
                    self.plain_ended = true;
                    self.connection.send_close_notify();
                }
                Ok(count) => self.connection.writer().write_all(&bytes[..count])?,
                Err(error) if is_later(&error) => {}
                Err(error) => return Err(error),
            }
        }
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut socket) {
                Ok(_) => {}
                Err(error) if is_later(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(!self.plain_ended)
    }

    fn decrypt(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.connection.process_new_packets().map_err(io::Error::other)?;
        loop {
            match self.connection.reader().read(bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.to_plain.extend_from_slice(&bytes[..count]),
                Err(error) if is_later(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}
