//! A stand-alone OpenFlow switch: the general switch core over real interfaces.
//!
//! One thread does everything that a frame waits for: ports, tables, timers, and the messages of
//! controllers, which therefore are in effect when a barrier is answered. What may take long is done
//! beside it: connecting, TLS, writing captures. Receiving and sending may be done by threads of
//! their own, which decide nothing.

mod callers;
mod channel;
mod client;
mod control;
mod data_path;
mod dial;
mod dump;
mod dump_document;
mod dump_text;
mod endpoint;
mod frame_store;
mod handshakes;
mod io_threads;
mod listener;
mod news;
mod packet_text;
mod pcap;
mod pcap_read;
mod port_features;
mod ports;
mod queue_levels;
mod reopening;
mod replica;
mod settings;
mod slice_proxy;
mod stream;
mod succession;
mod telling;
mod tls;
mod trace_text;

pub use client::SwitchClient;
pub(crate) use data_path::ENTRIES_AT_ONCE;
pub use data_path::{SwitchSummary, run_switch};
pub use dump::{Dump, DumpPart};
pub use dump_document::DumpDocument;
pub use dump_text::dump_text;
pub use endpoint::{Endpoint, EndpointError, ListenAt, OPENFLOW_PORT, Transport};
pub use news::SwitchNews;
pub use packet_text::{PacketText, describe_frame};
pub use pcap_read::pcap_frame;
pub use queue_levels::QueueLevels;
pub use replica::Replica;
pub use settings::{
    ControllerSettings, IoThreads, PortSettings, SliceSettings, SwitchSettings, TapDirection,
    TapSettings, TlsFiles,
};
pub use slice_proxy::{ProxiedSlice, ProxyNews, ProxySettings, run_slice_proxy};
pub(crate) use telling::Quota;
pub use tls::{Asks, tls_server};
pub use trace_text::{TraceNames, trace_text};
