//! Joining the controllers of a network, with the threads that it takes.

use super::address::EtcdAddress;
use super::beginning::Beginning;
use super::course::Course;
use super::etcd::{Etcd, EtcdTls};
use super::kv::Kv;
use super::member::{Joining, Ways};
use super::pulse::Pace;
use super::register::Register;
use crate::decide::Planning;
use crate::service::{OpenError, Service, certify};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tenuto_model::Network;

/// A page of a log is waited for so long.
const READS_WITHIN: Duration = Duration::from_secs(5);
/// A decision is tried to be written for so long, while nobody answers: etcd needs a second or two to choose another leader of
/// its own.
const WRITES_WITHIN: Duration = Duration::from_secs(3);
/// How often it is looked whether there is something to do where nothing is heard.
const LOOKS_AGAIN: Duration = Duration::from_millis(200);

/// One of several controllers.
#[derive(Clone, Debug)]
pub struct Membership {
    /// Where the decisions are.
    pub etcd: EtcdAddress,
    /// Files of TLS towards etcd, where it is spoken to by TLS.
    pub tls: Option<EtcdTls>,
    /// Silence after which another controller takes over.
    pub lease: Duration,
    /// Where this one is spoken to, as others tell it.
    pub api: String,
}

impl Membership {
    fn ways(&self) -> Result<Ways, String> {
        let pace = Pace { lease: self.lease };
        let register = |within| -> Result<Register, String> {
            let etcd: Arc<dyn Kv> = Arc::new(Etcd::new(&self.etcd, self.tls.as_ref(), within)?);
            Ok(Register::new(etcd, &self.etcd.prefix))
        };
        let writing = register(pace.answers_within())?;
        let course = Course::new(writing.clone(), pace, &self.api, Arc::new(Instant::now));
        Ok(Ways { writing, reading: register(READS_WITHIN)?, patience: WRITES_WITHIN, course })
    }
}

impl Service {
    /// Joins the controllers of a network: begins with its file if nothing was decided yet, else goes on where decisions end.
    /// It returns when that is known; until then `waiting` is told why not.
    ///
    /// # Errors
    /// As [`Service::open`].
    pub fn join(
        network: &Network,
        file: &str,
        membership: &Membership,
        planning: Planning,
        waiting: &mut dyn FnMut(&str),
    ) -> Result<Self, OpenError> {
        let beginning = Beginning { network, file, planning, checker: certify };
        let ways = membership.ways().map_err(OpenError::NotStored)?;
        let course = Arc::clone(&ways.course);
        let beating = course.start();
        let mut joining = Joining::new(ways);
        loop {
            match joining.turn(&course.wait(LOOKS_AGAIN), beginning) {
                Ok(Ok((service, mut member))) => {
                    *service.beating.lock().expect("nobody panics with it") = Some(beating);
                    thread::spawn(move || while member.turn(&course.wait(LOOKS_AGAIN)) {});
                    return Ok(service);
                }
                Ok(Err(why)) => waiting(&why),
                Err(error) => {
                    course.end();
                    let _ = beating.join();
                    return Err(error);
                }
            }
        }
    }
}
