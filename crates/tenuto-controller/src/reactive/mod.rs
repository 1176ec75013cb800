//! Reactive applications: what to do with a packet that no entry knows.
//!
//! An application decides, in terms of OpenFlow, with an [`Answer`] to fill. Whether that answer
//! goes out as plain flow-mods and packet-outs or as Attendre's message sets is not its concern:
//! a numbered packet-in is answered by sets, each complete, an empty one included (docs/theory/attendre.md,
//! "Why it always ends"); a
//! plain packet-in by plain messages. [`Reactive`] is the frame around an application; it owns no
//! socket and no clock, so that the same code runs live, simulated and explored.
//!
//! [`ReactiveApp`] names what an application can be told of: switches, ports, packets, statistics,
//! entries that have gone, its own timers. What it does not handle does nothing. Its state is an ordinary
//! value that can be cloned, compared, hashed and printed.
//!
//! A hub that tells its switches apart by how much they flood:
//!
//! ```
//! use std::collections::BTreeMap;
//! use tenuto_controller::reactive::{Answer, Packet, Reactive, ReactiveApp, output};
//! use tenuto_openflow::constants::port;
//! use tenuto_openflow::{Body, Match, Oxm, PacketIn, PacketInReason, PortStatus, RequestBody};
//! use tenuto_units::{Instant, Span};
//!
//! #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
//! struct Hub {
//!     flooded: BTreeMap<u64, u64>,
//! }
//!
//! impl ReactiveApp for Hub {
//!     fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
//!         *self.flooded.entry(datapath).or_default() += 1;
//!         answer.send(datapath, vec![output(port::FLOOD)], packet);
//!         answer.start_timer("count", Span::from_s(10));
//!     }
//!
//!     fn port_status(&mut self, datapath: u64, status: &PortStatus, answer: &mut Answer) {
//!         answer.note(format!("port {} of {datapath} has changed", status.port.port_no));
//!     }
//!
//!     fn timer(&mut self, _: &str, answer: &mut Answer) {
//!         for &datapath in self.flooded.keys() {
//!             answer.ask(datapath, RequestBody::PortStats { port_no: port::ANY });
//!         }
//!     }
//! }
//!
//! let mut hub = Reactive::new(Hub::default(), 1);
//! # let packet_in = PacketIn {
//! #     buffer_id: 7, total_len: 60, reason: PacketInReason::NoMatch, table_id: 0, cookie: 0,
//! #     match_: Match::from(vec![Oxm::InPort(1)]), data: vec![2; 60],
//! # };
//! let reaction = hub.receive(Instant::ZERO, 5, &Body::PacketIn(packet_in));
//! assert!(matches!(reaction.messages[..], [(5, Body::PacketOut(_))]));
//! let (name, at) = hub.next_deadline().expect("it was started");
//! assert_eq!((name, at), ("count", Instant::from_ns(10_000_000_000)));
//! let asked = hub.fire("count", Instant::from_ns(10_000_000_000)).messages;
//! assert!(matches!(asked[..], [(5, Body::MultipartRequest(_))]));
//! ```

mod answer;
mod app;
mod barrier_gate;
mod conversation;
mod entry;
mod firewall;
mod frame;
mod headers;
mod learning_switch;
mod load_balancer;
mod monitor;
mod named;
mod packet;
mod route_flow;
mod shortest_ways;
mod spanning_tree;
mod timers;
mod traffic_engineering;
mod transport_flow;
mod way;

pub use answer::{Answer, Numbered};
pub use app::{AppState, ReactiveApp};
pub use barrier_gate::BarrierGate;
pub use conversation::Conversation;
pub use entry::{deletion, entry, is_gone, output};
pub use firewall::Firewall;
pub use frame::{Reaction, Reactive};
pub use headers::{Arp, Headers, Ip, Network, Transport, Vlan};
pub use learning_switch::LearningSwitch;
pub use load_balancer::{LoadBalancer, Replica};
pub use monitor::{Carried, Monitor};
pub use named::{APPLICATIONS, Settings, named};
pub use packet::{Packet, between, to_address};
pub use route_flow::RouteFlow;
pub use spanning_tree::SpanningTree;
pub use timers::TIMERS_MAX;
pub use traffic_engineering::{LoadLimits, TrafficEngineering};
pub use transport_flow::TransportFlow;
pub use way::Hop;
