//! An address that is listened at, by TCP or by TLS.

use super::callers::Origin;
use super::endpoint::{ListenAt, Transport};
use super::handshakes::Waiting;
use super::stream::Stream;
use super::succession::once_free;
use super::tls::Tls;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use tenuto_io::{Interest, MonotonicClock, PollKey, PollSet, own_user, user_of_peer};
use tenuto_units::Instant;

/// Connections taken in per turn and listener.
const ACCEPTED_MAX: usize = 4;

/// Who has connected to the switch.
pub(super) struct Caller {
    /// How it is called in messages.
    pub(super) name: String,
    pub(super) origin: Origin,
}

/// An address that is listened at; handshakes of TLS go on beside it.
pub(super) struct Listener {
    /// The slice that it is a way to.
    pub(super) slice: usize,
    pub(super) socket: TcpListener,
    key: PollKey,
    tls: Option<Tls>,
    /// TLS connections whose handshake is done, or has failed.
    shaken: mpsc::Receiver<(io::Result<Stream>, Caller)>,
    tell: mpsc::Sender<(io::Result<Stream>, Caller)>,
    /// Readable when there may be one.
    wake: UnixStream,
    waker: UnixStream,
    wake_key: PollKey,
    /// Peers whose handshakes have no place yet, and until when.
    waiting: Waiting<(TcpStream, Caller)>,
    pub(super) full_until: Option<Instant>,
}

/// What counts as one address: of IPv6 a network, as a host there has as many addresses as it likes.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(it) if !it.is_loopback() => Ipv6Addr::from_bits(it.to_bits() >> 64 << 64).into(),
        it => it,
    }
}

impl Listener {
    pub(super) fn open(
        slice: usize,
        at: &ListenAt,
        tls: Option<&Tls>,
        poll: &mut PollSet,
    ) -> io::Result<Self> {
        let step = |error: io::Error| {
            let why = match error.kind() {
                io::ErrorKind::AddrInUse => "another program listens there".to_owned(),
                _ => error.to_string(),
            };
            io::Error::new(error.kind(), format!("cannot listen at {at}: {why}"))
        };
        let tls = match (at.transport, tls) {
            (Transport::Tcp, _) => None,
            (Transport::Tls, Some(tls)) => Some(tls.clone()),
            (Transport::Tls, None) => {
                let text = "no certificate and key were named (--tls-cert, --tls-key, --tls-ca)";
                return Err(step(io::Error::other(text)));
            }
        };
        let bind = || TcpListener::bind((at.host.as_str(), at.port));
        let socket = once_free(bind).map_err(step)?;
        socket.set_nonblocking(true)?;
        let key = poll.add(socket.as_raw_fd(), Interest::Read);
        let (tell, shaken) = mpsc::channel();
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let wake_key = poll.add(wake.as_raw_fd(), Interest::Read);
        let (waiting, full_until) = (Waiting::default(), None);
        Ok(Self {
            slice,
            socket,
            key,
            tls,
            shaken,
            tell,
            wake,
            waker,
            wake_key,
            waiting,
            full_until,
        })
    }

    /// Takes in who has connected, once hands are shaken; who could not be taken comes with the reason.
    pub(super) fn take(
        &mut self,
        poll: &PollSet,
        fresh: &mut Vec<(Stream, Caller)>,
        refused: &mut Vec<(String, String)>,
    ) {
        let is_over = self.full_until.is_some_and(|until| until <= MonotonicClock::now());
        if is_over || poll.readiness(self.key).readable {
            self.accept(fresh, refused);
        }
        if poll.readiness(self.wake_key).readable {
            let _ = self.wake.read(&mut [0; 64]);
            self.shake(refused);
            for (shaken, caller) in self.shaken.try_iter() {
                match shaken {
                    Ok(stream) => fresh.push((stream, caller)),
                    Err(error) => refused.push((caller.name, error.to_string())),
                }
            }
        }
    }

    /// Takes connections in; what could not be taken comes with the reason.
    fn accept(&mut self, fresh: &mut Vec<(Stream, Caller)>, refused: &mut Vec<(String, String)>) {
        for _ in 0..ACCEPTED_MAX {
            let Ok((socket, from)) = self.socket.accept() else { break };
            let origin = Origin::new(network_of(from.ip()), user_of_peer(&socket), own_user());
            if self.tls.is_some() {
                let caller = Caller { name: format!("tls:{from}"), origin };
                if let Some((_, caller)) = self.waiting.add(origin.owner, (socket, caller)) {
                    let why = "too many of its owner wait for their handshakes".to_owned();
                    refused.push((caller.name, why));
                }
                continue;
            }
            let caller = Caller { name: format!("tcp:{from}"), origin };
            match Stream::tcp(socket) {
                Ok(stream) => fresh.push((stream, caller)),
                Err(error) => refused.push((caller.name, error.to_string())),
            }
        }
        self.shake(refused);
    }

    /// Begins the handshakes for which there is a place.
    fn shake(&mut self, refused: &mut Vec<(String, String)>) {
        let Some(tls) = &self.tls else { return };
        loop {
            self.full_until = self.waiting.room_at(tls.shaking());
            if self.full_until.is_none_or(|until| until > MonotonicClock::now()) {
                return;
            }
            let Some((owner, (socket, caller))) = self.waiting.take(tls.shaking()) else {
                return;
            };
            let name = caller.name.clone();
            let begun = self.waker.try_clone().and_then(|mut waker| {
                let tell = self.tell.clone();
                tls.accept(socket, owner, move |shaken| {
                    // Without a listener there is nobody to want it; a full pipe wakes up too.
                    let _ = tell.send((shaken, caller));
                    let _ = waker.write(&[1]);
                })
            });
            if let Err(error) = begun {
                refused.push((name, error.to_string()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let of = |text: &str| network_of(text.parse().expect("an address")).to_string();
        assert_eq!(of("10.0.0.7"), "10.0.0.7");
        assert_eq!(of("::ffff:10.0.0.7"), "10.0.0.7");
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(of("::1"), "::1");
    }
}
