//! Where a cluster of etcd is, and under which keys the decisions of a network are.

use std::fmt;
use std::str::FromStr;

/// `etcd://HOST:PORT[,HOST:PORT…]/PREFIX`; `etcds://` by TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdAddress {
    /// `HOST:PORT` of members.
    pub members: Vec<String>,
    /// What keys begin with, without the slashes around it.
    pub prefix: String,
    /// Whether members are spoken to by TLS.
    pub is_by_tls: bool,
}

const FORM: &str = "write etcd://HOST:PORT[,HOST:PORT...]/PREFIX, such as etcd://10.0.0.1:2379,10.0.0.2:2379/plant-7";

impl FromStr for EtcdAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").ok_or(FORM)?;
        let is_by_tls = match scheme {
            "etcd" => false,
            "etcds" => true,
            other => return Err(format!("`{other}` is no scheme of a store; {FORM}")),
        };
        let (members, prefix) = rest
            .split_once('/')
            .ok_or_else(|| format!("no prefix of keys: each network has its own; {FORM}"))?;
        let prefix = prefix.trim_matches('/');
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./".contains(it);
        if prefix.is_empty() || prefix.len() > 200 || !prefix.chars().all(is_plain) {
            return Err(format!(
                "`{prefix}` is no prefix of keys: 1 to 200 letters, digits, - _ . /; {FORM}"
            ));
        }
        let members: Vec<String> = members.split(',').map(str::to_owned).collect();
        match members.iter().find(|it| !is_member(it)) {
            Some(wrong) => Err(format!("`{wrong}` is no host and port; {FORM}")),
            None => Ok(Self { members, prefix: prefix.to_owned(), is_by_tls }),
        }
    }
}

/// Whether it is a host and a port, and nothing else that an address may have: a name and a password are not taken, since
/// every user of a machine sees its command lines.
fn is_member(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_name = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
    let is_v6 =
        |it: &str| it.strip_suffix(']').is_some_and(|it| it.parse::<std::net::Ipv6Addr>().is_ok());
    let is_host = match host.strip_prefix('[') {
        Some(rest) => is_v6(rest),
        None => !host.is_empty() && host.chars().all(is_name),
    };
    is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
}

impl fmt::Display for EtcdAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_by_tls { "etcds" } else { "etcd" };
        write!(f, "{scheme}://{}/{}", self.members.join(","), self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written_and_what_is_none_is_said() {
        for text in ["etcd://10.0.0.1:2379/a", "etcds://[::1]:2379,b.example:2379/plants/7"] {
            assert_eq!(text.parse::<EtcdAddress>().expect(text).to_string(), text);
        }
        for (text, why) in [
            ("127.0.0.1:2379/a", "such as"),
            ("http://127.0.0.1:2379/a", "no scheme"),
            ("etcd://127.0.0.1:2379", "no prefix"),
            ("etcd://127.0.0.1:2379/", "no prefix"),
            ("etcd://127.0.0.1:2379/a b", "no prefix"),
            ("etcd://127.0.0.1/a", "no host and port"),
            ("etcd://root:secret@127.0.0.1:2379/a", "no host and port"),
            ("etcd://127.0.0.1:2379,/a", "no host and port"),
            ("etcd://[::1:2379/a", "no host and port"),
        ] {
            let said = text.parse::<EtcdAddress>().expect_err(text);
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
