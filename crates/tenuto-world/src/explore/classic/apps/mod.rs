//! Applications of the classic model, from the descriptions in NICE's and Attendre's papers.

mod firewall;
mod load_balancer;
mod mac_learning;
mod route_flow;
mod traffic_engineering;

pub use firewall::Firewall;
pub use load_balancer::{CLIENT_PORT, LoadBalancer, Replica, VIRTUAL_IP, VIRTUAL_MAC};
pub use mac_learning::MacLearning;
pub use route_flow::{Redundant, RouteFlow};
pub use traffic_engineering::{
    HIGH_MEGABYTES, Map, Place, TrafficEngineering, VERY_HIGH_MEGABYTES,
};
