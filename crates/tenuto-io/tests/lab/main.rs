//! Real namespaces, links and packet sockets. Needs root or user namespaces; where neither is
//! allowed each test says so and passes.

mod in_lab;
mod links;
mod measure;
mod namespaces;
mod ports;
mod stamped;
mod traps;
mod xdp;
