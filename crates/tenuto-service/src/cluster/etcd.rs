//! etcd by its JSON gateway (`/v3/kv/txn`): one member at a time, the next one where one does not answer.

use super::address::EtcdAddress;
use super::kv::{Done, Found, Is, Kv, KvError, Op};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

/// Largest answer, bytes: more than a page of pieces is.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// etcd's words for what it has not carried out (`etcdserver/api/v3rpc/rpctypes`): anything else may have been.
const NOT_CARRIED_OUT: [&str; 7] = [
    "database space exceeded",
    "request is too large",
    "too many operations",
    "duplicate key",
    "permission denied",
    "user name is empty",
    "invalid auth token",
];

/// Files of TLS towards etcd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdTls {
    /// Who vouches for its members, PEM.
    pub ca: Vec<u8>,
    /// What is shown to them: certificates and the key, PEM.
    pub own: Option<(Vec<u8>, Vec<u8>)>,
}

/// Members of a cluster of etcd.
#[derive(Debug)]
pub(crate) struct Etcd {
    agent: ureq::Agent,
    members: Vec<String>,
    /// The one that answered last.
    current: AtomicUsize,
}

impl Etcd {
    /// A member has `answers_within` for an answer.
    ///
    /// # Errors
    /// The files of TLS do not fit, in a sentence.
    pub(crate) fn new(
        address: &EtcdAddress,
        tls: Option<&EtcdTls>,
        answers_within: Duration,
    ) -> Result<Self, String> {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(0)
            .timeout_global(Some(answers_within));
        let config = match (address.is_by_tls, tls) {
            (false, _) => config,
            (true, Some(tls)) => config.tls_config(tls_config(tls)?),
            (true, None) => {
                return Err(
                    "TLS to etcd needs who vouches for it: --tls-ca, and --tls-cert and --tls-key"
                        .to_owned(),
                );
            }
        };
        let scheme = if address.is_by_tls { "https" } else { "http" };
        let members = address.members.iter().map(|it| format!("{scheme}://{it}"));
        Ok(Self {
            agent: ureq::Agent::new_with_config(config.build()),
            members: members.collect(),
            current: AtomicUsize::new(0),
        })
    }

    fn ask(&self, path: &str, body: &Value) -> Result<Value, KvError> {
        let current = self.current.load(Ordering::Relaxed) % self.members.len();
        let member = &self.members[current];
        let answer = self.ask_member(member, path, body);
        if matches!(answer, Err(KvError::Unanswered(_))) {
            let next = (current + 1) % self.members.len();
            let _ =
                self.current.compare_exchange(current, next, Ordering::Relaxed, Ordering::Relaxed);
        }
        answer
    }

    fn ask_member(&self, member: &str, path: &str, body: &Value) -> Result<Value, KvError> {
        let unanswered = |why: String| KvError::Unanswered(format!("{member}: {why}"));
        let request =
            self.agent.post(format!("{member}{path}")).header("content-type", "application/json");
        let mut answer =
            request.send(body.to_string()).map_err(|error| unanswered(error.to_string()))?;
        let status = answer.status().as_u16();
        let text = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
        let text = text.map_err(|error| unanswered(error.to_string()))?;
        if status == 200 {
            return serde_json::from_str(&text)
                .map_err(|error| unanswered(format!("no JSON: {error}")));
        }
        let said = serde_json::from_str::<Value>(&text).ok();
        let said = said.as_ref().and_then(|it| it["error"].as_str()).unwrap_or(&text);
        let why =
            format!("{member}: {} (status {status})", said.chars().take(200).collect::<String>());
        Err(match NOT_CARRIED_OUT.iter().any(|it| said.contains(it)) {
            true => KvError::Refused(why),
            false => KvError::Unanswered(why),
        })
    }
}

fn tls_config(tls: &EtcdTls) -> Result<TlsConfig, String> {
    let certificates = |pem: &[u8]| -> Vec<Certificate<'static>> {
        let one = |item| match item {
            Ok(PemItem::Certificate(it)) => Some(it),
            _ => None,
        };
        parse_pem(pem).filter_map(one).collect()
    };
    let roots = certificates(&tls.ca);
    if roots.is_empty() {
        return Err("no certificate of an authority for etcd".to_owned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(RootCerts::from(roots));
    if let Some((chain, key)) = &tls.own {
        let key =
            PrivateKey::from_pem(key).map_err(|error| format!("the key for etcd: {error}"))?;
        config = config.client_cert(Some(ClientCert::new_with_certs(&certificates(chain), key)));
    }
    Ok(config.build())
}

impl Kv for Etcd {
    fn transact(&self, compares: &[Is], then: &[Op], otherwise: &[Op]) -> Result<Done, KvError> {
        let compare = |it: &Is| {
            json!({"key": STANDARD.encode(&it.key), "target": "MOD", "result": "EQUAL",
                "mod_revision": it.revision.to_string()})
        };
        let body = json!({
            "compare": compares.iter().map(compare).collect::<Vec<_>>(),
            "success": then.iter().map(operation).collect::<Vec<_>>(),
            "failure": otherwise.iter().map(operation).collect::<Vec<_>>(),
        });
        let answer = self.ask("/v3/kv/txn", &body)?;
        done(&answer)
            .ok_or_else(|| KvError::Unanswered("this is not the answer of etcd".to_owned()))
    }
}

fn operation(op: &Op) -> Value {
    match op {
        Op::Put(key, value) => {
            json!({"request_put": {"key": STANDARD.encode(key), "value": STANDARD.encode(value)}})
        }
        Op::Get(key) => json!({"request_range": {"key": STANDARD.encode(key)}}),
        Op::GetRange(from, before, most) => json!({"request_range": {
            "key": STANDARD.encode(from), "range_end": STANDARD.encode(before), "limit": most.to_string(),
        }}),
    }
}

/// Numbers of 64 bits are strings; what is zero, false or empty is left out.
fn done(answer: &Value) -> Option<Done> {
    let number = |it: &Value| it.as_str().map_or(Some(0), |text| text.parse::<u64>().ok());
    let bytes = |it: &Value| STANDARD.decode(it.as_str().unwrap_or_default()).ok();
    let revision = number(&answer["header"]["revision"]).filter(|it| *it > 0)?;
    let one = |it: &Value| {
        let key = String::from_utf8(bytes(&it["key"])?).ok()?;
        Some(Found { key, value: bytes(&it["value"])?, revision: number(&it["mod_revision"])? })
    };
    let mut found = Vec::new();
    for response in answer["responses"].as_array().map_or(&[][..], Vec::as_slice) {
        if let Some(range) = response.get("response_range") {
            let all = range["kvs"].as_array().map_or(&[][..], Vec::as_slice);
            found.push(all.iter().map(one).collect::<Option<Vec<_>>>()?);
        }
    }
    Some(Done { is_so: answer["succeeded"] == json!(true), revision, found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_answer_of_etcd_3_4_is_read() {
        let answer = json!({
            "header": {"cluster_id": "1", "member_id": "2", "revision": "7", "raft_term": "2"},
            "responses": [
                {"response_range": {"header": {"revision": "7"}}},
                {"response_range": {"kvs": [{"key": "L2EvdGVybQ==", "create_revision": "2", "mod_revision": "5",
                    "version": "1", "value": "eA=="}], "count": "1"}},
            ],
        });
        let done = done(&answer).expect("it is one");
        assert_eq!((done.is_so, done.revision, done.found.len()), (false, 7, 2));
        assert_eq!(done.one(0), None);
        let found = Found { key: "/a/term".to_owned(), value: b"x".to_vec(), revision: 5 };
        assert_eq!(done.one(1), Some(&found));
    }

    proptest! {
        #[test]
        fn what_somebody_else_answers_is_no_answer_and_no_panic(text in "[\\[\\]{}:,\"a-z0-9_]{0,200}") {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                prop_assert!(done(&value).is_none());
            }
        }
    }
}
