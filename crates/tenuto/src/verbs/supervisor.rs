//! What systemd is told: lines over its datagram socket (sd_notify(3)).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Nobody asks for a sign of life: it is tried so often, and goes nowhere.
const NOBODY_ASKS: Duration = Duration::from_secs(3_600);

/// The supervisor of this process, if there is one.
#[derive(Debug)]
pub(crate) struct Supervisor {
    to: Option<(UnixDatagram, SocketAddr)>,
    watchdog_us: Option<u64>,
}

impl Supervisor {
    /// As the environment names it.
    pub(crate) fn of_environment() -> Self {
        let socket = std::env::var("NOTIFY_SOCKET").ok();
        let watchdog = std::env::var("WATCHDOG_USEC").ok();
        let own = std::env::var("WATCHDOG_PID").ok();
        let is_ours = own.is_none_or(|pid| pid == std::process::id().to_string());
        Self::new(socket.as_deref(), watchdog.filter(|_| is_ours).as_deref())
    }

    fn new(socket: Option<&str>, watchdog: Option<&str>) -> Self {
        let address = socket.and_then(|text| match text.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name).ok(),
            None => SocketAddr::from_pathname(text).ok(),
        });
        let to = address.and_then(|address| Some((UnixDatagram::unbound().ok()?, address)));
        Self { to, watchdog_us: watchdog.and_then(|text| text.parse().ok()).filter(|us| *us > 0) }
    }

    /// Tells it a line. One that is gone misses it.
    pub(crate) fn tell(&self, line: &str) {
        if let Some((socket, address)) = &self.to {
            let _ = socket.send_to_addr(line.as_bytes(), address);
        }
    }

    /// How often it wants a sign of life, halved as sd_watchdog_enabled(3) advises.
    pub(crate) fn watchdog_every(&self) -> Duration {
        let half = self.watchdog_us.map(|us| Duration::from_micros((us / 2).max(1)));
        half.unwrap_or(NOBODY_ASKS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_reach_sockets_with_and_without_a_path_and_the_watchdog_is_fed_twice_as_often() {
        let path = std::env::temp_dir().join(format!("tenuto-notify-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let name = format!("tenuto-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let ends = [
            (UnixDatagram::bind(&path).expect("a socket"), path.display().to_string()),
            (UnixDatagram::bind_addr(&address).expect("a socket"), format!("@{name}")),
        ];
        for (end, told) in &ends {
            Supervisor::new(Some(told), None).tell("READY=1");
            let mut bytes = [0; 32];
            let count = end.recv(&mut bytes).expect("a line");
            assert_eq!(&bytes[..count], b"READY=1");
        }
        let of = |text| Supervisor::new(None, text).watchdog_every();
        assert_eq!(of(Some("3000000")), Duration::from_millis(1_500));
        assert_eq!(
            (of(None), of(Some("0")), of(Some("x"))),
            (NOBODY_ASKS, NOBODY_ASKS, NOBODY_ASKS)
        );
        Supervisor::new(None, None).tell("READY=1");
        let _ = std::fs::remove_file(&path);
    }
}
