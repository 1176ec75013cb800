//! TLS control channels, with certificates made here.

use crate::lab::{Hosts, PATIENCE, SWITCH, Switch, in_lab, run, tenuto};
use crate::peer::Peer;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tenuto_openflow::{Body, Hello};

/// An authority and a certificate that it signed, in files.
pub(crate) struct Files {
    pub(crate) ca: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
}

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tenuto-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

impl Files {
    pub(crate) fn make(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // OpenSSL finds issuers by their names.
        params.distinguished_name.push(DnType::CommonName, format!("authority of {name}"));
        let key = KeyPair::generate().expect("random numbers");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority");
        let key = KeyPair::generate().expect("random numbers");
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let mut params = CertificateParams::new(names).expect("good names");
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &issuer).expect("signed");
        let write = |end: &str, text: String| {
            let path = folder.join(format!("{name}-{end}.pem"));
            std::fs::write(&path, text).expect("written");
            path.to_str().expect("UTF-8").to_owned()
        };
        Self {
            ca: write("ca", issuer.pem()),
            certificate: write("cert", certificate.pem()),
            key: write("key", key.serialize_pem()),
        }
    }

    pub(crate) fn flags(&self) -> [&str; 6] {
        ["--tls-ca", &self.ca, "--tls-cert", &self.certificate, "--tls-key", &self.key]
    }
}

#[test]
fn tools_connect_by_tls_and_strangers_do_not() {
    in_lab("tls::tools_connect_by_tls_and_strangers_do_not", || {
        let _hosts = Hosts::new(2);
        let folder = folder();
        let (ours, others) = (Files::make(&folder, "ours"), Files::make(&folder, "others"));
        let listen = ["--listen", "ptls:127.0.0.1:6640"];
        let mut switch = Switch::start(2, &[&listen[..], &ours.flags()].concat());
        let dump = ["dump", "ports", "--switch", "tls:127.0.0.1:6640"];
        let (is_done, text) = run(&mut tenuto(&[&dump[..], &ours.flags()].concat()));
        assert!(is_done && text.contains("1(s1)"), "{text}");
        let (is_done, text) = run(&mut tenuto(&[&dump[..], &others.flags()].concat()));
        assert!(!is_done, "a stranger was let in: {text}");
        let line = switch.wait_for("lost: tls:127.0.0.1:");
        assert!(line.contains("alert") || line.contains("certificate"), "it says why: {line}");
        let plain = ["dump", "ports", "--switch", "tcp:127.0.0.1:6640"];
        assert!(!run(&mut tenuto(&plain)).0, "a plain connection was let in");
        switch.wait_for("lost: tls:127.0.0.1:");
        let dump = ["dump", "ports", "--switch", SWITCH];
        assert!(run(&mut tenuto(&dump)).0, "the switch goes on");
        switch.stop();
    });
}

#[test]
fn a_switch_connects_to_its_controller_by_tls() {
    in_lab("tls::a_switch_connects_to_its_controller_by_tls", || {
        let _hosts = Hosts::new(2);
        let folder = folder();
        let files = Files::make(&folder, "dialled");
        let listener = TcpListener::bind("127.0.0.1:6653").expect("a network of its own");
        let controller = ["--controller", "tls:127.0.0.1:6653"];
        let mut switch = Switch::start(2, &[&controller[..], &files.flags()].concat());
        let (socket, _) = listener.accept().expect("the switch");
        let connection = rustls::ServerConnection::new(server(&files)).expect("a good config");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("TCP");
        let mut peer = Peer::over(rustls::StreamOwned::new(connection, socket));
        peer.send(Body::Hello(Hello::default()));
        switch.wait_for("connected: tls:127.0.0.1:6653");
        peer.wait(|body| matches!(body, Body::Hello(_)));
        // More than any buffer on the way holds.
        for _ in 0..200 {
            peer.send(Body::EchoRequest(vec![7; 20_000]));
            peer.wait(|body| matches!(body, Body::EchoReply(data) if data.len() == 20_000));
        }
        peer.barrier();
        drop(peer);
        switch.wait_for("lost: tls:127.0.0.1:6653");
        switch.stop();
    });
}

fn server(files: &Files) -> Arc<rustls::ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&files.ca).expect("PEM")).expect("an authority");
    let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
        Arc::new(roots),
        Arc::clone(&provider),
    );
    let certificate = CertificateDer::from_pem_file(&files.certificate).expect("PEM");
    let key = PrivateKeyDer::from_pem_file(&files.key).expect("PEM");
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("both versions")
        .with_client_cert_verifier(verifier.build().expect("roots"))
        .with_single_cert(vec![certificate], key);
    Arc::new(config.expect("a pair"))
}

/// Peers that take all the places for handshakes, and take them again, do not keep a tool out.
#[test]
fn peers_that_stall_do_not_keep_a_tool_out() {
    in_lab("tls::peers_that_stall_do_not_keep_a_tool_out", || {
        let _hosts = Hosts::new(2);
        let files = Files::make(&folder(), "stalled");
        let listen = ["--listen", "ptls:127.0.0.1:6640"];
        let switch = Switch::start(2, &[&listen[..], &files.flags()].concat());
        let is_over = Arc::new(AtomicBool::new(false));
        let stall = |is_over: Arc<AtomicBool>| {
            while !is_over.load(Ordering::Relaxed) {
                // It says nothing, and comes again once it has been shown out.
                let Ok(mut socket) = TcpStream::connect("127.0.0.1:6640") else { continue };
                socket.set_read_timeout(Some(Duration::from_secs(20))).expect("TCP");
                let _ = socket.read(&mut [0]);
            }
        };
        let peers: Vec<_> = (0..16)
            .map(|_| Arc::clone(&is_over))
            .map(|is_over| std::thread::spawn(move || stall(is_over)))
            .collect();
        let dump = ["dump", "ports", "--switch", "tls:127.0.0.1:6640"];
        for _ in 0..3 {
            let (is_done, text) = run(&mut tenuto(&[&dump[..], &files.flags()].concat()));
            assert!(is_done && text.contains("1(s1)"), "{text}");
        }
        is_over.store(true, Ordering::Relaxed);
        switch.stop();
        peers.into_iter().for_each(|peer| peer.join().expect("no panic"));
    });
}

/// A service that is killed with its test.
struct Service(std::process::Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks the service until what it shows is as it shall be.
fn until_shown(folder: &Path, what: &str, is_so: impl Fn(&str) -> bool) {
    let end = std::time::Instant::now() + PATIENCE * 4;
    loop {
        let mut show = tenuto(&["show", what, "--json", "--state", "state"]);
        let (_, text) = run(show.current_dir(folder));
        if is_so(&text) {
            return;
        }
        assert!(std::time::Instant::now() < end, "{what}: {text}");
    }
}

/// The service keeps a switch that calls it by TLS, and tells of one that a stranger vouches for.
#[test]
fn the_service_keeps_switches_by_tls() {
    in_lab("tls::the_service_keeps_switches_by_tls", || {
        let _hosts = Hosts::new(3);
        let folder = folder().join("kept");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        std::fs::write(folder.join("one.yaml"), crate::service::NET).expect("written");
        let (ours, others) = (Files::make(&folder, "ours"), Files::make(&folder, "others"));
        let keep = ["controller", "one.yaml", "--listen", "127.0.0.1:0", "--state", "state"];
        let keep = [&keep[..], &["--openflow", "ptls:127.0.0.1:6653"], &ours.flags()].concat();
        let mut command = tenuto(&keep);
        let _service = Service(command.current_dir(&folder).spawn().expect("it starts"));
        let call = ["--controller", "tls:127.0.0.1:6653", "--backoff-max", "200ms"];
        let stranger = Switch::start(3, &[&call[..], &others.flags()].concat());
        until_shown(&folder, "alarms", |text| text.contains("it refused our certificate"));
        stranger.stop();
        let switch = Switch::start(3, &[&call[..], &ours.flags()].concat());
        until_shown(&folder, "status", |text| {
            text.contains("\"installed\":0") || text.contains("\"installed\": 0")
        });
        switch.stop();
    });
}
