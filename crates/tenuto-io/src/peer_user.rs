//! Whose a TCP connection from this machine is, as the kernel knows it (sock_diag, tcp(7)).

use crate::sys::{socket, task};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

/// `SOCK_DIAG_BY_FAMILY`, with `NLM_F_REQUEST`.
const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
/// `struct nlmsghdr`, and where in its answer a socket's user and inode are told.
const HEADER_BYTES: usize = 16;
const USER_AT: usize = HEADER_BYTES + 64;
const INODE_AT: usize = HEADER_BYTES + 68;
const ANSWER_BYTES: usize = 1_024;

/// The user whose socket is the other end of `stream`, if that is on this machine, in this network
/// namespace, and still held open by a program; `None` too where the kernel does not tell.
pub fn user_of_peer(stream: &TcpStream) -> Option<u32> {
    let request = request(stream.peer_addr().ok()?, stream.local_addr().ok()?)?;
    let mut kernel = File::from(socket::diagnosis_socket().ok()?);
    kernel.write_all(&request).ok()?;
    let mut answer = [0; ANSWER_BYTES];
    let bytes = kernel.read(&mut answer).ok()?;
    owner(&answer[..bytes])
}

/// The user that this process acts as.
pub fn own_user() -> u32 {
    task::effective_ids().0
}

/// The group that this process acts as.
pub fn own_group() -> u32 {
    task::effective_ids().1
}

/// Asks for the socket that is bound to `from` and connected to `to`.
fn request(from: SocketAddr, to: SocketAddr) -> Option<Vec<u8>> {
    let (source, destination) = (from.ip().to_canonical(), to.ip().to_canonical());
    let family = match (source, destination) {
        (IpAddr::V4(_), IpAddr::V4(_)) => libc::AF_INET,
        (IpAddr::V6(_), IpAddr::V6(_)) => libc::AF_INET6,
        _ => return None,
    };
    let mut body = vec![u8::try_from(family).ok()?, u8::try_from(libc::IPPROTO_TCP).ok()?, 0, 0];
    // Whatever its state.
    body.extend(u32::MAX.to_ne_bytes());
    body.extend(from.port().to_be_bytes());
    body.extend(to.port().to_be_bytes());
    body.extend(padded(source));
    body.extend(padded(destination));
    // Any interface; no cookie.
    body.extend(0_u32.to_ne_bytes());
    body.extend([0xff; 8]);
    let length = u32::try_from(HEADER_BYTES + body.len()).ok()?;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    Some(message)
}

fn padded(address: IpAddr) -> [u8; 16] {
    let mut bytes = [0; 16];
    match address {
        IpAddr::V4(address) => bytes[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => bytes = address.octets(),
    }
    bytes
}

/// Reads a `struct inet_diag_msg`. Of a socket that no program holds any more the kernel tells user 0 and
/// no inode: it is nobody's.
fn owner(answer: &[u8]) -> Option<u32> {
    let word = |at: usize| answer.get(at..)?.first_chunk().map(|it| u32::from_ne_bytes(*it));
    let kind = answer.get(4..)?.first_chunk().map(|it| u16::from_ne_bytes(*it))?;
    (kind == BY_FAMILY && word(INODE_AT)? != 0).then(|| word(USER_AT))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_peer_of_this_machine_has_its_user_until_it_lets_go() {
        for at in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(at) else {
                println!("SKIPPED {at}: not to be bound to here");
                continue;
            };
            let port = listener.local_addr().expect("bound").port();
            // The last one is connected to by IPv4.
            let to: SocketAddr = match at {
                "[::1]:0" => ([0, 0, 0, 0, 0, 0, 0, 1], port).into(),
                _ => ([127, 0, 0, 1], port).into(),
            };
            let there = TcpStream::connect(to).expect("it listens");
            let (here, _) = listener.accept().expect("it connects");
            if user_of_peer(&here).is_none() {
                println!("SKIPPED {at}: this kernel does not tell");
                continue;
            }
            assert_eq!(user_of_peer(&here), Some(own_user()), "{at}");
            assert_eq!(user_of_peer(&there), Some(own_user()), "{at}");
            drop(there);
            assert_eq!(user_of_peer(&here), None, "{at}: nobody holds it");
        }
    }

    #[test]
    fn what_is_no_answer_names_nobody() {
        let mut answer = vec![0; 88];
        answer[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        answer[USER_AT..USER_AT + 4].copy_from_slice(&7_u32.to_ne_bytes());
        assert_eq!(owner(&answer), None, "an orphan");
        answer[INODE_AT] = 1;
        assert_eq!(owner(&answer), Some(7));
        assert_eq!(owner(&answer[..87]), None);
        answer[4] = 2;
        assert_eq!(owner(&answer), None, "an error");
        assert_eq!(owner(&[]), None);
    }
}
