//! Speaking to a running controller.

use super::controller::STATE_USUAL;
use super::controller_state::{ADDRESS_FILE, TOKEN_FILE};
use super::controller_tls::AUTHORITY_FILE;
use crate::failure::Failure;
use crate::named_file::{self, Kind};
use crate::outcome::Outcome;
use clap::Args as Flags;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Time for an answer: what would fit may be looked for over many plans.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Largest answer, bytes.
const ANSWER_BYTES_MAX: u64 = 1 << 30;

/// Which controller is meant.
#[derive(Clone, Debug, Flags)]
pub(crate) struct Where {
    /// Folder of the controller's state: its address and a token are there
    #[arg(long, value_name = "DIR", default_value = STATE_USUAL)]
    state: PathBuf,
    /// Address instead, such as http://127.0.0.1:7733
    #[arg(long, value_name = "URL")]
    at: Option<String>,
    /// File with the token instead
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Who may vouch for the controller, PEM, instead of the authority in the folder of its state
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
}

/// An answer: its status, and what it says.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Answer {
    /// The answer as JSON.
    pub(crate) fn json(&self) -> Result<Value, Failure> {
        serde_json::from_str(&self.text).map_err(|error| {
            let hint = Some("is this the address of a controller?");
            Failure::input(format!("the answer is not understood: {error}"), None, hint)
        })
    }

    /// Whether it says yes.
    pub(crate) fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// How a verb ends that got it: what was refused is 1, what cannot be decided now is 3.
    pub(crate) fn outcome(&self) -> Outcome {
        match self.status {
            200..300 => Outcome::Good,
            409 => Outcome::Bad,
            429 | 500.. => Outcome::Undecidable,
            _ => Outcome::BadInput,
        }
    }
}

impl Where {
    /// Asks; `body` goes with what has one.
    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, Failure> {
        let base = match &self.at {
            Some(at) => at.trim_end_matches('/').to_owned(),
            None => self.read(&self.state.join(ADDRESS_FILE))?,
        };
        let token = match &self.token_file {
            Some(file) => named_file::text(file, Kind::TOKEN)?.trim().to_owned(),
            None => self.read(&self.state.join(TOKEN_FILE))?,
        };
        let mut config = ureq::Agent::config_builder().http_status_as_error(false);
        if base.starts_with("https:") {
            config = config.tls_config(self.tls()?);
        }
        let agent = ureq::Agent::new_with_config(config.timeout_global(Some(TIMEOUT)).build());
        let url = format!("{base}{path}");
        let bearer = format!("Bearer {token}");
        let text = body.map_or_else(String::new, Value::to_string);
        let sent = match method {
            "POST" => agent.post(&url).header("authorization", &bearer).send(&text),
            "PUT" => agent.put(&url).header("authorization", &bearer).send(&text),
            "DELETE" => agent.delete(&url).header("authorization", &bearer).call(),
            _ => agent.get(&url).header("authorization", &bearer).call(),
        };
        let fail = |error: ureq::Error| {
            let hint = match is_of_certificate(&error) {
                true => {
                    "name who vouches for it: --tls-ca FILE; its name or address is to be in its certificate"
                }
                false => "is it running? `tenuto controller NET` starts it",
            };
            let hint = Some(hint);
            Failure::undecidable(format!("{base} does not answer: {error}"), hint)
        };
        let mut answer = sent.map_err(fail)?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        Ok(Answer { status, text: body.read_to_string().map_err(fail)? })
    }

    /// Nobody is believed but the one authority.
    fn tls(&self) -> Result<TlsConfig, Failure> {
        let file = self.tls_ca.clone().unwrap_or_else(|| self.state.join(AUTHORITY_FILE));
        let text = std::fs::read(&file);
        let wrong = |why: String| {
            let hint = "name who vouches for the controller, PEM: --tls-ca FILE";
            Failure::input(why, Some(&file.display().to_string()), Some(hint))
        };
        let text = text.map_err(|error| {
            wrong(format!("no authority is known: {}", named_file::words(&error)))
        })?;
        let one = |item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        };
        let roots: Vec<Certificate<'static>> = parse_pem(&text).filter_map(one).collect();
        if roots.is_empty() {
            return Err(wrong("no certificate in it".to_owned()));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
        Ok(builder.root_certs(RootCerts::from(roots)).build())
    }

    fn read(&self, path: &Path) -> Result<String, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let shown = path.display().to_string();
            let hint = "name its folder with --state, or --at and --token-file";
            Failure::input(
                format!("no controller is known here: {}", named_file::words(&error)),
                Some(&shown),
                Some(hint),
            )
        })?;
        Ok(text.trim().to_owned())
    }
}

/// A name as part of an address.
pub(crate) fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let one = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    name.bytes().map(one).collect()
}

/// Whether the other end was not believed, or did not believe us.
fn is_of_certificate(error: &ureq::Error) -> bool {
    matches!(error, ureq::Error::Rustls(_) | ureq::Error::Tls(_))
        || error.to_string().contains("certificate")
}
