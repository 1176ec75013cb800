//! A stand-alone OpenFlow switch: the general switch core over real interfaces.
//!
//! One thread does everything that a frame waits for: ports, tables, timers, and the messages of
//! controllers, which therefore are in effect when a barrier is answered. What may take long is done
//! beside it: connecting, TLS, writing captures.

mod channel;
mod control;
mod data_path;
mod dial;
mod endpoint;
mod news;
mod pcap;
mod ports;
mod settings;
mod stream;
mod tls;

pub use data_path::{SwitchSummary, run_switch};
pub use endpoint::{Endpoint, EndpointError, ListenAt, OPENFLOW_PORT, Transport};
pub use news::SwitchNews;
pub use settings::{
    ControllerSettings, PortMedium, PortSettings, SwitchSettings, TapDirection, TapSettings,
    TlsFiles,
};
