//! The program as a stranger meets it: run on the shipped networks and on wrong input, judged by
//! its exit codes, by what it says, and by its documents.

mod bad_input;
mod benches;
mod check_and_import;
mod completions;
mod declared;
mod live;
mod named_files;
mod outputs;
mod ovs;
mod plans;
mod profiles;
mod programs;
mod runs;
mod schemas;
mod server_graphs;
mod simulations;
mod source;
mod stranger;
mod tenants;
mod tutorial;
mod witnesses;
