//! `tenuto controller` by TLS: certificates made here, good ones, expired ones, those of strangers, and none.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TENUTO: &str = env!("CARGO_BIN_EXE_tenuto");
const NET: &str = "\
tenuto: 1
name: line
hosts: {s1: {}, d1: {}}
switches: {sw1: {profile: tenuto, dpid: 1}}
defaults: {link: {rate: 100 Mbit/s}}
links: [{ends: [s1, sw1]}, {ends: [sw1, d1]}]
flows:
  FIRST: {source: s1, targets: [d1], message: 10 kB, period: 10 ms, priority: 1}
";
/// Nothing here takes longer unless it is broken.
const PATIENCE: Duration = Duration::from_secs(120);

/// Who vouches for certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, as files.
#[derive(Clone)]
struct Pair {
    certificate: PathBuf,
    key: PathBuf,
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Self {
        Self::called(folder, name, name)
    }

    /// In a file of this name; certificates name it as `called`.
    fn called(folder: &Path, name: &str, called: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, called);
        let key = KeyPair::generate().expect("random numbers");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority");
        std::fs::write(folder.join(format!("{name}.pem")), issuer.pem()).expect("written");
        Self(issuer)
    }

    /// Good until the first day of a year.
    fn sign(&self, folder: &Path, name: &str, until: i32) -> Pair {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let mut params = CertificateParams::new(names).expect("good names");
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().expect("random numbers");
        let signed = params.signed_by(&key, &self.0).expect("signed");
        let pair = Pair {
            certificate: folder.join(format!("{name}.cert.pem")),
            key: folder.join(format!("{name}.key.pem")),
        };
        std::fs::write(&pair.certificate, signed.pem()).expect("written");
        std::fs::write(&pair.key, key.serialize_pem()).expect("written");
        pair
    }
}

struct Controller {
    child: Child,
    api: String,
    openflow: String,
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder for the test");
    std::fs::write(path.join("line.yaml"), NET).expect("a file for the test");
    path
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").port()
}

fn start(folder: &Path) -> Controller {
    let openflow = format!("127.0.0.1:{}", free_port());
    let at = format!("ptls:{openflow}");
    let mut child = Command::new(TENUTO)
        .args(["controller", "line.yaml", "--listen", "127.0.0.1:0", "--openflow", &at])
        .args(["--tls-ca", "ca.pem", "--tls-cert", "own.cert.pem", "--tls-key", "own.key.pem"])
        .args(["--state", "state"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(folder.join("told")).expect("a file for what it tells"))
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    stdout.read_line(&mut line).expect("it says where it is");
    let api = line.split("https://").nth(1).and_then(|rest| rest.split(',').next());
    let api = api.unwrap_or_else(|| panic!("{line}")).to_owned();
    Controller { child, api, openflow }
}

fn tenuto(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(TENUTO);
    command.args(args).current_dir(folder).stdin(Stdio::null()).output().expect("it starts")
}

#[track_caller]
fn says(output: &Output, code: i32, words: &[&str]) {
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let text = format!("{stdout}{stderr}");
    assert_eq!(output.status.code(), Some(code), "{text}");
    words.iter().for_each(|word| assert!(text.contains(word), "`{word}` is not in:\n{text}"));
}

/// Asks until the program says so.
fn until_says(folder: &Path, args: &[&str], code: i32, words: &[&str]) {
    let end = Instant::now() + PATIENCE;
    loop {
        let output = tenuto(folder, args);
        let text =
            String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat())
                .into_owned();
        if output.status.code() == Some(code) && words.iter().all(|word| text.contains(word)) {
            return;
        }
        assert!(Instant::now() < end, "{args:?}: {text}");
    }
}

#[test]
fn the_interface_speaks_https_and_takes_newer_certificates() {
    let folder = folder("secured-api");
    let authority = Authority::new(&folder, "ca");
    Authority::new(&folder, "others");
    authority.sign(&folder, "own", 2100);
    let controller = start(&folder);
    let list = ["flow", "list", "--state", "state"];
    says(&tenuto(&folder, &list), 0, &["FIRST"]);
    let token = ["--token-file", "state/token", "--tls-ca"];
    let at = format!("https://{}", controller.api);
    let elsewhere = ["flow", "list", "--state", "none", "--at", &at];
    says(&tenuto(&folder, &[&elsewhere[..], &token, &["ca.pem"]].concat()), 0, &["FIRST"]);
    let others = tenuto(&folder, &[&list[..], &["--tls-ca", "others.pem"]].concat());
    says(&others, 3, &["UnknownIssuer", "--tls-ca"]);
    let nobody = tenuto(&folder, &[&elsewhere[..], &token[..2]].concat());
    says(&nobody, 2, &["no authority is known"]);
    let no_file = tenuto(&folder, &[&list[..], &["--tls-ca", "line.yaml"]].concat());
    says(&no_file, 2, &["no certificate in it"]);
    // Whoever forgets the `s` is told.
    let mut plain = TcpStream::connect(&controller.api).expect("it listens");
    plain.write_all(b"GET /v1/status HTTP/1.1\r\nhost: x\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    plain.read_to_string(&mut answer).expect("text");
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("https://"), "{answer}");
    // Newer files count after a signal, for better or worse; files that do not fit change nothing.
    let hang_up = || {
        let id = controller.child.id().to_string();
        let sent = Command::new("kill").args(["-s", "HUP", &id]).status();
        assert!(sent.expect("a program").success());
    };
    authority.sign(&folder, "own", 2021);
    hang_up();
    until_says(&folder, &list, 3, &["certificate expired"]);
    authority.sign(&folder, "own", 2100);
    hang_up();
    until_says(&folder, &list, 0, &["FIRST"]);
    std::fs::write(folder.join("own.key.pem"), "no key").expect("written");
    hang_up();
    says(&tenuto(&folder, &list), 0, &["FIRST"]);
    drop(controller);
    the_authority_may_lie_in_the_state(&folder, &authority);
    let start = ["controller", "line.yaml", "--state", "state", "--tls-ca", "ca.pem"];
    std::fs::write(folder.join("own.key.pem"), "no key").expect("written");
    let pair = ["--tls-cert", "own.cert.pem", "--tls-key", "own.key.pem"];
    says(&tenuto(&folder, &[&start[..], &pair].concat()), 2, &["own.key.pem"]);
    let bare = ["controller", "line.yaml", "--state", "state", "--listen", "127.0.0.1:0"];
    let bare = [&bare[..], &["--openflow", "ptls:127.0.0.1:0"]].concat();
    says(&tenuto(&folder, &bare), 2, &["TLS needs an authority", "--tls-ca"]);
}

/// The file that the state is given is not emptied by a copy onto itself, and a start without TLS removes nothing.
fn the_authority_may_lie_in_the_state(folder: &Path, authority: &Authority) {
    authority.sign(folder, "own", 2100);
    let busy = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = busy.local_addr().expect("bound").to_string();
    let start = ["controller", "line.yaml", "--state", "state", "--listen", &at];
    let tls =
        ["--tls-ca", "state/ca.pem", "--tls-cert", "own.cert.pem", "--tls-key", "own.key.pem"];
    for more in [&tls[..], &[]] {
        let ended = tenuto(folder, &[&start[..], more].concat());
        assert!(!ended.status.success(), "the port is taken");
        let kept = std::fs::read(folder.join("state/ca.pem")).expect("it is there");
        assert_eq!(kept, std::fs::read(folder.join("ca.pem")).expect("the original"));
    }
}

/// What a peer of these files gets: the first bytes, or why none came.
fn first_bytes(openflow: &str, ca: &Path, pair: Option<&Pair>) -> Result<[u8; 4], String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).expect("PEM")).expect("an authority");
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("both versions")
        .with_root_certificates(roots);
    let config = match pair {
        None => builder.with_no_client_auth(),
        Some(Pair { certificate, key }) => builder
            .with_client_auth_cert(
                vec![CertificateDer::from_pem_file(certificate).expect("PEM")],
                PrivateKeyDer::from_pem_file(key).expect("PEM"),
            )
            .expect("a pair"),
    };
    let name = ServerName::try_from("127.0.0.1").expect("an address");
    let connection = ClientConnection::new(Arc::new(config), name).expect("a good config");
    let socket = TcpStream::connect(openflow).map_err(|error| error.to_string())?;
    socket.set_read_timeout(Some(PATIENCE)).expect("TCP");
    let mut first = [0; 4];
    let mut stream = StreamOwned::new(connection, socket);
    stream.read_exact(&mut first).map_err(|error| error.to_string())?;
    Ok(first)
}

#[test]
fn switches_without_a_good_certificate_are_refused_with_a_reason() {
    let folder = folder("secured-switches");
    let (authority, others) = (Authority::new(&folder, "ca"), Authority::new(&folder, "others"));
    authority.sign(&folder, "own", 2100);
    let good = authority.sign(&folder, "good", 2100);
    let expired = authority.sign(&folder, "expired", 2021);
    let foreign = others.sign(&folder, "foreign", 2100);
    let impostor = Authority::called(&folder, "impostor", "ca").sign(&folder, "forged", 2100);
    let controller = start(&folder);
    let ca = folder.join("ca.pem");
    // It listens for switches a moment after it says where it is.
    let end = Instant::now() + PATIENCE;
    let hello = loop {
        match first_bytes(&controller.openflow, &ca, Some(&good)) {
            Ok(hello) => break hello,
            Err(why) => assert!(Instant::now() < end, "{why}"),
        }
    };
    assert_eq!(hello[..2], [4, 0], "the hello of OpenFlow 1.3");
    let alarms = ["show", "alarms", "--state", "state", "--json"];
    let refused = |why: &str, count: u64| {
        let end = Instant::now() + PATIENCE;
        loop {
            let shown = tenuto(&folder, &alarms);
            let list: Vec<Value> = serde_json::from_slice(&shown.stdout).expect("a list");
            let it = list.iter().find(|it| it["kind"] == "peer-refused");
            if it.is_some_and(|it| it["count"] == count) {
                let text = it.expect("found")["text"].as_str().expect("a text");
                assert_eq!(text, format!("127.0.0.1: not taken as a switch: {why}"));
                return;
            }
            assert!(Instant::now() < end, "{list:?}");
        }
    };
    let cases = [
        (Some(&expired), "xpired", "its certificate has expired"),
        (Some(&foreign), "UnknownCA", "its certificate is of an authority that is not known here"),
        (
            Some(&impostor),
            "DecryptError",
            "its certificate is not signed by the authority that it names",
        ),
        (None, "ertificateRequired", "it showed no certificate"),
    ];
    for (count, (pair, told, why)) in (1..).zip(cases) {
        let said = first_bytes(&controller.openflow, &ca, pair).expect_err("it is not taken");
        assert!(said.contains(told), "the peer is told why: {said}");
        refused(why, count);
    }
    let mut plain = TcpStream::connect(&controller.openflow).expect("it listens");
    plain.write_all(&[4, 0, 0, 8, 0, 0, 0, 0]).expect("it reads");
    refused("it does not speak TLS", 5);
    let who = first_bytes(&controller.openflow, &folder.join("others.pem"), Some(&good));
    let who = who.expect_err("the switch does not believe the controller");
    assert!(who.contains("UnknownIssuer"), "{who}");
    refused("it refused our certificate: UnknownCA", 6);
    // Whoever runs it in a terminal is told too.
    let end = Instant::now() + PATIENCE;
    let last = "alarm: 127.0.0.1: not taken as a switch: it refused our certificate: UnknownCA\n";
    loop {
        let told = std::fs::read_to_string(folder.join("told")).expect("a file");
        if told.contains(last) {
            break;
        }
        assert!(Instant::now() < end, "{told}");
    }
    assert!(first_bytes(&controller.openflow, &ca, Some(&good)).is_ok(), "good ones are taken");
}
