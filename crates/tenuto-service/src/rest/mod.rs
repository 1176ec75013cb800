//! The service over HTTP: one address per thing, JSON both ways, problems as RFC 9457 has them.

mod access;
mod audit;
mod handlers;
mod listen;
mod openapi;
mod page;
mod reply;
mod restconf;
mod routes;
mod stream;

pub use audit::Audit;
pub use listen::{HttpLimits, serve};
pub use openapi::document;

use crate::service::Service;
use crate::tokens::Tokens;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Decisions that are tried at once and kept out of the way of those that count.
const WHAT_IFS_AT_ONCE: usize = 2;
/// Listeners of events at once.
const LISTENERS_MAX: usize = 32;
/// Requests that wait for the one writer; more are told to come again.
const WAITING_MAX: usize = 64;

/// What handlers share.
#[derive(Debug)]
pub struct Shared {
    pub(crate) service: Service,
    pub(crate) tokens: Tokens,
    pub(crate) audit: Audit,
    pub(crate) what_ifs: Semaphore,
    pub(crate) listeners: Arc<Semaphore>,
    pub(crate) waiting: Semaphore,
    pub(crate) planned: restconf::PlannedStreams,
}

impl Shared {
    /// A service with its tokens and the file of who did what.
    pub fn new(service: Service, tokens: Tokens, audit: Audit) -> Arc<Self> {
        let what_ifs = Semaphore::new(WHAT_IFS_AT_ONCE);
        let listeners = Arc::new(Semaphore::new(LISTENERS_MAX));
        let waiting = Semaphore::new(WAITING_MAX);
        let planned = restconf::PlannedStreams::new();
        Arc::new(Self { service, tokens, audit, what_ifs, listeners, waiting, planned })
    }

    /// The service itself.
    pub const fn service(&self) -> &Service {
        &self.service
    }
}

#[cfg(test)]
mod tests;
