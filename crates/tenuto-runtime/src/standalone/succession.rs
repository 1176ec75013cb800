//! A switch that is started in the place of one that is ending: what that one has still to let go of is
//! waited for, as services are often restarted at once.

use std::io;
use std::time::Duration;

/// How often is looked whether something was let go of: for two seconds together, as taking a device of
/// AF_XDP apart takes the kernel long.
const LOOKS_MAX: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Takes something that one process at a time may have, as soon as it is free.
///
/// # Errors
/// Those of `take`: at once, but that it is in use only when it stays so.
pub(super) fn once_free<T>(take: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut looks = 1;
    once_free_while(take, || {
        std::thread::sleep(PAUSE);
        looks += 1;
        looks <= LOOKS_MAX
    })
}

/// Takes what may still be taken by another, waiting by `waits` as long as that says so.
fn once_free_while<T>(
    mut take: impl FnMut() -> io::Result<T>,
    mut waits: impl FnMut() -> bool,
) -> io::Result<T> {
    loop {
        match take() {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && waits() => {}
            taken => return taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn what_is_let_go_of_is_taken_and_what_is_not_is_refused() {
        let mut first = Some(TcpListener::bind("127.0.0.1:0").expect("some port is free"));
        let at = first.as_ref().expect("it is there").local_addr().expect("it has one");
        let mut looks = 0;
        let stays = once_free_while(
            || TcpListener::bind(at),
            || {
                looks += 1;
                looks < 4
            },
        );
        assert_eq!(stays.expect_err("it stays").kind(), io::ErrorKind::AddrInUse);
        assert_eq!(looks, 4);
        // It lets go at the second look.
        let mut looks = 0;
        let taken = once_free_while(
            || TcpListener::bind(at),
            || {
                looks += 1;
                if looks == 2 {
                    first = None;
                }
                looks < 4
            },
        );
        assert!(taken.is_ok() && looks == 2, "{taken:?} after {looks} looks");
    }

    #[test]
    fn other_errors_are_told_at_once() {
        let denied = || Err::<(), _>(io::Error::from(io::ErrorKind::PermissionDenied));
        let error = once_free_while(denied, || unreachable!("nothing to wait for"));
        assert_eq!(error.expect_err("denied").kind(), io::ErrorKind::PermissionDenied);
    }
}
