//! A service that is one of several: it reads what another one decides, and decides itself once it leads.

use super::beginning::Beginning;
use super::course::{Course, Standing, Turn};
use super::kv::KvError;
use super::register::Register;
use super::store::{ClusterStore, LogReader, Tenure};
use crate::log::{Log, LogError, Replayed, replay};
use crate::service::{Inner, OpenError, Service};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The alarm of a controller that the store does not answer.
const CUT_OFF: &str = "cut-off";
/// The alarm of a log that another one writes and this one cannot follow.
const CANNOT_FOLLOW: &str = "cannot-follow";

/// The ways of a controller to what all of them share.
#[derive(Clone)]
pub(crate) struct Ways {
    /// For signs of life and writing: a member that does not answer is soon given up.
    pub(crate) writing: Register,
    /// For the log, whose pages take longer.
    pub(crate) reading: Register,
    /// A decision is tried to be written for so long, while nobody answers.
    pub(crate) patience: Duration,
    pub(crate) course: Arc<Course>,
}

impl Ways {
    fn store(&self, reader: &LogReader, tenure: &Arc<Tenure>) -> Box<ClusterStore> {
        let tenure = Arc::clone(tenure);
        Box::new(ClusterStore::new(reader.clone(), self.writing.clone(), tenure, self.patience))
    }
}

/// A controller that has no set yet.
pub(crate) struct Joining {
    ways: Ways,
    reader: LogReader,
}

impl Joining {
    pub(crate) fn new(ways: Ways) -> Self {
        let reader = LogReader::new(ways.reading.clone());
        Self { ways, reader }
    }

    /// Begins, or goes on where decisions end; what it waits for where it can do neither yet.
    ///
    /// # Errors
    /// As [`Service::open`].
    pub(crate) fn turn(
        &mut self,
        turn: &Turn,
        beginning: Beginning<'_>,
    ) -> Result<Result<(Service, Member), String>, OpenError> {
        let course = Arc::clone(&self.ways.course);
        let has_log = turn.look.as_ref().is_some_and(|look| look.head.1.pieces > 0);
        course.may_lead(turn.look.is_some() && !has_log);
        if turn.look.is_none() {
            return Ok(Err(match course.standing() {
                Standing::CutOff { why, .. } => why,
                _ => "etcd has not answered yet".to_owned(),
            }));
        }
        if let (Some(tenure), false) = (&turn.tenure, has_log) {
            // Nobody has begun. What this one begins with is read as anybody else's.
            let store = self.ways.store(&self.reader, tenure);
            match Service::begin(beginning, store) {
                Err(OpenError::NotStored(why)) => return Ok(Err(why)),
                begun => begun?,
            }
        } else if !has_log {
            return Ok(Err("nothing was decided yet, and no controller has begun".to_owned()));
        }
        let bytes = match self.reader.read_on() {
            Ok((_, bytes)) => bytes,
            Err(error) => {
                self.reader = LogReader::new(self.ways.reading.clone());
                return Ok(Err(error.to_string()));
            }
        };
        let read = replay(&bytes).map_err(OpenError::Log)?;
        let service = Service::following(beginning, &read, Arc::clone(&course))?;
        let inner = Arc::downgrade(&service.inner);
        let (ways, reader) = (self.ways.clone(), self.reader.clone());
        let (serving, is_cut_off) = (None, false);
        course.may_lead(true);
        Ok(Ok((service, Member { ways, reader, read, inner, serving, is_cut_off })))
    }
}

/// What reads on, and tells the service how it stands.
pub(crate) struct Member {
    ways: Ways,
    reader: LogReader,
    read: Replayed,
    inner: Weak<Inner>,
    /// The term that is served.
    serving: Option<Arc<Tenure>>,
    is_cut_off: bool,
}

impl Member {
    /// Does what there is to do. `false` at the end.
    pub(crate) fn turn(&mut self, turn: &Turn) -> bool {
        let Some(inner) = self.inner.upgrade().filter(|_| !turn.is_over) else { return false };
        self.tell_cut_off(&inner);
        let generation = turn.look.as_ref().map_or(0, |look| look.generation());
        if let Some(serving) = &self.serving {
            let goes_on =
                turn.tenure.as_ref().is_some_and(|it| it.generation == serving.generation);
            if goes_on && !serving.is_over() {
                return true;
            }
            self.serving = None;
            inner.follows(generation);
            inner.tell("leader", None, "this controller does not lead any more".to_owned());
        }
        let head = turn.look.as_ref().map_or(0, |look| look.head.0);
        if turn.tenure.is_none() && head == self.reader.head_revision {
            inner.tell_generation(generation);
            return true;
        }
        match self.read_on(&inner) {
            Ok(()) => inner.lower(CANNOT_FOLLOW),
            Err(KvError::Unanswered(_)) => return true,
            Err(KvError::Refused(why)) => {
                self.ways.course.may_lead(false);
                if let Some(tenure) = &turn.tenure {
                    tenure.end();
                }
                inner.raise(CANNOT_FOLLOW, "", why);
                return true;
            }
        }
        match &turn.tenure {
            Some(tenure) => self.lead(&inner, tenure),
            None => inner.tell_generation(generation),
        }
        true
    }

    /// All that was decided before this term is read: it can be decided on.
    fn lead(&mut self, inner: &Inner, tenure: &Arc<Tenure>) {
        let generation = tenure.generation;
        inner.leads(Log::behind(self.ways.store(&self.reader, tenure), &self.read), generation);
        self.ways.course.serves(generation);
        self.serving = Some(Arc::clone(tenure));
        inner.tell("leader", None, format!("this controller leads, generation {generation}"));
    }

    /// Takes what was decided since it was read last.
    fn read_on(&mut self, inner: &Inner) -> Result<(), KvError> {
        let (goes_on, bytes) = self.reader.read_on()?;
        let not_a_log = |error: LogError| KvError::Refused(error.to_string());
        if !goes_on {
            self.read = Replayed::default();
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let known = self.read.decisions.len();
        let read = self.read.read_on(&bytes).map_err(not_a_log);
        if read.is_err() || self.read.torn > 0 {
            // To be read anew, should somebody mend it.
            self.reader = LogReader::new(self.ways.reading.clone());
            let error = read.err();
            self.read = Replayed::default();
            return Err(
                error.unwrap_or_else(|| KvError::Refused("the log ends within a record".into()))
            );
        }
        self.ways.course.may_lead(true);
        inner.take_decided(&self.read, if goes_on { known } else { 0 }).map_err(KvError::Refused)
    }

    fn tell_cut_off(&mut self, inner: &Inner) {
        let standing = self.ways.course.standing();
        match (&standing, self.is_cut_off) {
            (Standing::CutOff { why, .. }, false) => {
                self.is_cut_off = true;
                let text = format!("nothing is admitted, and switches stay as they are: {why}");
                inner.raise(CUT_OFF, "", text);
            }
            (Standing::CutOff { .. }, true) | (_, false) => {}
            (_, true) => {
                self.is_cut_off = false;
                inner.lower(CUT_OFF);
                inner.tell("leader", None, format!("etcd answers again: {}", standing.word()));
            }
        }
    }
}
