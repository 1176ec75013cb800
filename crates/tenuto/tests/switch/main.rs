//! `tenuto switch` over real interfaces, with real controllers and tools. Needs root or user
//! namespaces; where neither is allowed each test says so and passes.

mod applications;
mod controllers;
mod counts;
mod errors;
mod flows;
mod full;
mod hosted;
mod kept_open_vswitch;
mod lab;
mod ofctl;
mod open_vswitch;
mod osken;
mod peer;
mod profiled;
mod proxied;
mod service;
mod service_cluster;
mod service_members;
mod service_modes;
mod slices;
mod tls;
mod tools;
mod waits;
