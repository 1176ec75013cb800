//! Packets as reactive applications read them.

use tenuto_controller::reactive::{Headers, Network, Transport, TransportFlow};

/// Any bytes as a frame: no more is read out of it than the bytes hold, and the match of a flow is one
/// that a switch takes.
pub fn reactive_packet(bytes: &[u8]) {
    let headers = Headers::parse(bytes);
    if headers.network != Network::Other {
        assert!(bytes.len() >= 34, "{headers:?} out of {} bytes", bytes.len());
    }
    if headers.transport != Transport::Other {
        assert!(headers.ip().is_some());
    }
    if let Some(flow) = TransportFlow::of(&headers) {
        assert_eq!(flow.matching().check(), Ok(()));
        assert_eq!(flow.reversed().reversed(), flow);
    }
}
