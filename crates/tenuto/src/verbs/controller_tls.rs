//! TLS of `tenuto controller`: where switches connect, what is shown and asked for, and newer certificates.

use super::switch_flags::TlsFlags;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tenuto_runtime::standalone::{Asks, TlsFiles, Transport, tls_server};
use tenuto_service::{Listening, Tls};
use tokio::net::TcpListener;

/// Who vouches for the service, for those who speak to it from this machine.
pub(crate) const AUTHORITY_FILE: &str = "ca.pem";

/// Where switches connect, and by what.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenFlowAt {
    pub(super) transport: Transport,
    pub(super) address: SocketAddr,
}

/// `ADDRESS`, perhaps with `ptcp:` or `ptls:` in front.
pub(super) fn openflow_at(text: &str) -> Result<OpenFlowAt, String> {
    let (transport, rest) = match text.split_once(':') {
        Some(("tcp" | "ptcp", rest)) => (Transport::Tcp, rest),
        Some(("tls" | "ptls" | "pssl", rest)) => (Transport::Tls, rest),
        _ => (Transport::Tcp, text),
    };
    let form = "write an address and a port, such as 127.0.0.1:6653 or ptls:0.0.0.0:6653";
    let address = rest.parse().map_err(|_| form.to_owned())?;
    Ok(OpenFlowAt { transport, address })
}

/// Both sides that are connected to, from the same files.
pub(super) struct Secured {
    files: TlsFiles,
    /// Of switches: they show a certificate.
    openflow: Arc<Tls>,
    /// Of programs and people: they show a token.
    api: Arc<Tls>,
}

impl Secured {
    /// From the files that were named, if any were.
    pub(super) fn of(flags: &TlsFlags) -> io::Result<Option<Self>> {
        let Some(files) = flags.files() else { return Ok(None) };
        let openflow = Tls::new(tls_server(&files, Asks::ForCertificate)?);
        let api = Tls::new(tls_server(&files, Asks::ForNothing)?);
        Ok(Some(Self { files, openflow, api }))
    }

    /// Reads the files again: connections from now on have what they say. Nothing changes where one does not fit.
    pub(super) fn reload(&self) -> io::Result<()> {
        let openflow = tls_server(&self.files, Asks::ForCertificate)?;
        let api = tls_server(&self.files, Asks::ForNothing)?;
        self.openflow.replace(openflow);
        self.api.replace(api);
        Ok(())
    }

    /// Leaves the authority where those who speak to the service from this machine find it. The authority may be
    /// that very file, which a copy onto itself would empty.
    pub(super) fn tell_authority(&self, state: &Path) -> io::Result<()> {
        let authority = std::fs::read(&self.files.ca)?;
        let told = state.join(AUTHORITY_FILE);
        match std::fs::read(&told) {
            Ok(before) if before == authority => Ok(()),
            _ => std::fs::write(told, authority),
        }
    }
}

/// What programs and people speak: HTTPS where there are certificates.
pub(super) fn api(listener: TcpListener, secured: Option<&Secured>) -> Listening {
    match secured {
        Some(secured) => Listening::by_tls(listener, Arc::clone(&secured.api)),
        None => listener.into(),
    }
}

/// Begins to listen for switches.
pub(super) async fn openflow(at: OpenFlowAt, secured: Option<&Secured>) -> io::Result<Listening> {
    let listener = TcpListener::bind(at.address).await?;
    match (at.transport, secured) {
        (Transport::Tcp, _) => Ok(listener.into()),
        (Transport::Tls, Some(secured)) => {
            Ok(Listening::by_tls(listener, Arc::clone(&secured.openflow)))
        }
        (Transport::Tls, None) => Err(io::Error::other(
            "TLS needs an authority, a certificate and its key: --tls-ca, --tls-cert, --tls-key",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_connect_by_tcp_unless_tls_is_asked_for() {
        for (text, transport) in [
            ("127.0.0.1:6653", Transport::Tcp),
            ("ptcp:127.0.0.1:6653", Transport::Tcp),
            ("[::1]:6653", Transport::Tcp),
            ("ptls:[::1]:6653", Transport::Tls),
            ("tls:0.0.0.0:6653", Transport::Tls),
        ] {
            assert_eq!(openflow_at(text).expect(text).transport, transport, "{text}");
        }
        for text in ["", "6653", "ptls:6653", "udp:127.0.0.1:6653", "host:6653"] {
            assert!(openflow_at(text).expect_err(text).contains("such as"), "{text}");
        }
    }
}
