//! Admission.
#![allow(missing_docs, unreachable_pub, dead_code)]
pub mod books;
pub mod curves;
pub mod engine;
pub mod fit;
pub mod network;
pub mod pacing;
pub mod refusal;
pub mod rehearsal;
pub mod request;
pub mod reservation;
pub mod routes;
pub mod search;
pub mod transition;
