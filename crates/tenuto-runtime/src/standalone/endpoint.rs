//! Where controllers are, and where a switch listens: `tcp:HOST:PORT`, `ptcp:[HOST:]PORT`.

use std::fmt::{self, Display, Formatter};

/// The registered port of OpenFlow.
pub const OPENFLOW_PORT: u16 = 6653;

/// What carries OpenFlow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP as it is.
    Tcp,
    /// TLS over TCP.
    Tls,
}

/// A peer to connect to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// What carries OpenFlow.
    pub transport: Transport,
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// An address to be connected to at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListenAt {
    /// What carries OpenFlow.
    pub transport: Transport,
    /// Address of this machine.
    pub host: String,
    /// Port; 0 lets the kernel choose one.
    pub port: u16,
}

/// A text that names no endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {why}")]
pub struct EndpointError {
    text: String,
    why: String,
}

impl Endpoint {
    /// Reads `tcp:HOST(:PORT)` or `tls:HOST(:PORT)`; `ssl:` is another name of the latter. An IPv6
    /// address stands in brackets.
    ///
    /// # Errors
    /// With what would fit.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        const FORM: &str = "a controller is tcp:HOST[:PORT] or tls:HOST[:PORT]";
        let error = |why: &str| EndpointError { text: text.to_owned(), why: why.to_owned() };
        let (transport, rest) = match text.split_once(':') {
            Some(("tcp", rest)) => (Transport::Tcp, rest),
            Some(("tls" | "ssl", rest)) => (Transport::Tls, rest),
            Some(("ptcp" | "ptls" | "pssl", _)) => {
                return Err(error("where to listen is told with --listen"));
            }
            _ => return Err(error(FORM)),
        };
        let (host, port) = host_and_port(rest).ok_or_else(|| error(FORM))?;
        match port {
            Some(0) => Err(error("port 0 cannot be connected to")),
            port => Ok(Self { transport, host, port: port.unwrap_or(OPENFLOW_PORT) }),
        }
    }
}

impl ListenAt {
    /// Reads `ptcp:[HOST:]PORT` or `ptls:[HOST:]PORT`, also in Open vSwitch's order `PORT:HOST`.
    /// Without a host it is this machine alone (127.0.0.1): whoever connects may change the tables.
    ///
    /// # Errors
    /// With what would fit.
    pub fn parse(text: &str) -> Result<Self, EndpointError> {
        const FORM: &str = "where to listen is ptcp:[HOST:]PORT or ptls:[HOST:]PORT";
        let error = |why: &str| EndpointError { text: text.to_owned(), why: why.to_owned() };
        let (transport, rest) = match text.split_once(':') {
            Some(("ptcp", rest)) => (Transport::Tcp, rest),
            Some(("ptls" | "pssl", rest)) => (Transport::Tls, rest),
            None if text == "ptcp" => (Transport::Tcp, ""),
            None if text == "ptls" => (Transport::Tls, ""),
            _ => return Err(error(FORM)),
        };
        let here = "127.0.0.1".to_owned();
        if rest.is_empty() {
            return Ok(Self { transport, host: here, port: OPENFLOW_PORT });
        }
        if let Ok(port) = rest.parse() {
            return Ok(Self { transport, host: here, port });
        }
        if rest.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(error("a port is a number from 0 to 65535"));
        }
        if let Some((port, host)) = rest.split_once(':')
            && let Ok(port) = port.parse()
            && !host.is_empty()
        {
            let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            return Ok(Self { transport, host, port });
        }
        let (host, port) = host_and_port(rest).ok_or_else(|| error(FORM))?;
        Ok(Self { transport, host, port: port.unwrap_or(OPENFLOW_PORT) })
    }
}

/// `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`.
fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => text.find(':').map_or((text, ""), |at| text.split_at(at)),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => Some(port.parse().ok()?),
        None if rest.is_empty() => None,
        None => return None,
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

impl Display for Endpoint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let transport = match self.transport {
            Transport::Tcp => "tcp",
            Transport::Tls => "tls",
        };
        write!(f, "{transport}:{}:{}", bracketed(&self.host), self.port)
    }
}

impl Display for ListenAt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let transport = match self.transport {
            Transport::Tcp => "ptcp",
            Transport::Tls => "ptls",
        };
        write!(f, "{transport}:{}:{}", bracketed(&self.host), self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_have_a_host_and_perhaps_a_port() {
        for (text, shown) in [
            ("tcp:10.0.0.1:6633", "tcp:10.0.0.1:6633"),
            ("tcp:ctl.example", "tcp:ctl.example:6653"),
            ("ssl:[::1]:7000", "tls:[::1]:7000"),
            ("tls:[fe80::2]", "tls:[fe80::2]:6653"),
        ] {
            assert_eq!(Endpoint::parse(text).map(|it| it.to_string()).as_deref(), Ok(shown));
        }
        for text in ["", "10.0.0.1:6633", "tcp:", "tcp::6633", "tcp:h:0", "tcp:h:99999", "tcp:[::1"]
        {
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
        let error = Endpoint::parse("ptcp:6653").expect_err("not a controller").to_string();
        assert!(error.contains("--listen"), "{error}");
    }

    #[test]
    fn listening_is_local_unless_told_otherwise() {
        for (text, shown) in [
            ("ptcp:6634", "ptcp:127.0.0.1:6634"),
            ("ptcp", "ptcp:127.0.0.1:6653"),
            ("ptcp:0.0.0.0:6634", "ptcp:0.0.0.0:6634"),
            ("ptcp:6634:0.0.0.0", "ptcp:0.0.0.0:6634"),
            ("ptls:[::1]:6634", "ptls:[::1]:6634"),
            ("pssl:6634:[::1]", "ptls:[::1]:6634"),
        ] {
            assert_eq!(ListenAt::parse(text).map(|it| it.to_string()).as_deref(), Ok(shown));
        }
        for text in ["tcp:6634", "6634", "ptcp:h:p:q", "ptcp:70000"] {
            assert!(ListenAt::parse(text).is_err(), "{text}");
        }
    }
}
