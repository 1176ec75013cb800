//! How a controller stands among others, kept by a thread that gives or watches signs of life.

use super::kv::KvError;
use super::pulse::{Pace, Watch};
use super::register::{Leader, Look, Register};
use super::store::{Tenure, nonce};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// How a controller stands among others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is no other.
    Alone,
    /// It decides.
    Leads {
        /// Grows with every change of who leads.
        generation: u64,
    },
    /// It leads, and reads what was decided before.
    TakesOver,
    /// Another one decides.
    Follows {
        /// Where that one is spoken to, if it is known.
        leader: Option<String>,
    },
    /// The store does not answer, and so nothing is decided.
    CutOff {
        /// What is known of it.
        why: String,
        /// Whether it answers and takes nothing.
        is_refused: bool,
    },
}

impl Standing {
    /// Whether it decides.
    pub const fn decides(&self) -> bool {
        matches!(self, Self::Alone | Self::Leads { .. })
    }

    /// The word for it.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Leads { .. } => "leader",
            Self::TakesOver => "taking over",
            Self::Follows { .. } => "follower",
            Self::CutOff { .. } => "cut off",
        }
    }
}

#[derive(Debug, Default)]
struct State {
    /// What was seen last, and when.
    look: Option<(Instant, Look)>,
    /// The term of this controller, and when its last sign of life was begun that was confirmed.
    tenure: Option<(Arc<Tenure>, Instant)>,
    /// The generation in which all that was decided before has been read.
    serves: u64,
    /// Whether it may take over: it has a set, or there is none yet.
    may_lead: bool,
    /// Why nothing was heard, when it last was not.
    silence: Option<KvError>,
    /// Since when nothing was heard.
    heard: Option<Instant>,
    is_over: bool,
}

/// What time it is: read from the machine's clock, or played.
pub(crate) type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Shared by the thread of signs of life, the one that reads on, and whoever asks.
pub(crate) struct Course {
    register: Register,
    pace: Pace,
    api: String,
    clock: Clock,
    state: Mutex<State>,
    changed: Condvar,
}

impl std::fmt::Debug for Course {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Course {:?}", self.standing())
    }
}

/// What there is to do for the thread that reads on.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) look: Option<Look>,
    /// The term that was won, and is not over.
    pub(crate) tenure: Option<Arc<Tenure>>,
    pub(crate) is_over: bool,
}

impl Course {
    pub(crate) fn new(register: Register, pace: Pace, api: &str, clock: Clock) -> Arc<Self> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Arc::new(Self { register, pace, api: api.to_owned(), clock, state, changed })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }

    /// How it stands at this moment.
    pub(crate) fn standing(&self) -> Standing {
        let now = (self.clock)();
        let state = self.state();
        let since = |at: Instant| now.saturating_duration_since(at);
        let silence = || {
            let is_refused = matches!(state.silence, Some(KvError::Refused(_)));
            let why = state.silence.as_ref().map(ToString::to_string);
            let why = why.unwrap_or_else(|| "etcd has not answered yet".to_owned());
            Standing::CutOff { why, is_refused }
        };
        match &state.tenure {
            Some((tenure, confirmed)) if !tenure.is_over() => {
                if since(*confirmed) >= self.pace.leads_for() {
                    return silence();
                }
                let generation = tenure.generation;
                return match state.serves == generation {
                    true => Standing::Leads { generation },
                    false => Standing::TakesOver,
                };
            }
            _ => {}
        }
        if state.heard.is_none_or(|at| since(at) >= self.pace.lease) {
            return silence();
        }
        let term = state.look.as_ref().and_then(|(_, look)| look.term.as_ref());
        let other = term.filter(|it| {
            state.tenure.as_ref().is_none_or(|(own, _)| own.generation != it.generation)
        });
        Standing::Follows { leader: other.map(|it| it.leader.api.clone()) }
    }

    /// This controller has read all, and may lead.
    pub(crate) fn may_lead(&self, may_lead: bool) {
        self.state().may_lead = may_lead;
    }

    /// All that was decided before this term has been read.
    pub(crate) fn serves(&self, generation: u64) {
        self.state().serves = generation;
    }

    /// It ends, and another one may take over at once.
    pub(crate) fn end(&self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }

    /// Waits for something new, at most for so long.
    pub(crate) fn wait(&self, most: Duration) -> Turn {
        let state = self.state();
        let state = match state.is_over {
            true => state,
            false => self.changed.wait_timeout(state, most).expect("nobody panics with it").0,
        };
        let tenure = state.tenure.as_ref().map(|it| Arc::clone(&it.0)).filter(|it| !it.is_over());
        Turn { look: state.look.as_ref().map(|it| it.1.clone()), tenure, is_over: state.is_over }
    }

    /// What there is to do now.
    #[cfg(test)]
    pub(crate) fn turn(&self) -> Turn {
        self.wait(Duration::ZERO)
    }

    /// One step of who leads or follows; when the next one is due.
    pub(crate) fn step(&self, watch: &mut Watch) -> Duration {
        let leads =
            self.state().tenure.as_ref().map(|it| Arc::clone(&it.0)).filter(|it| !it.is_over());
        let began = (self.clock)();
        let every = match leads {
            Some(tenure) => {
                self.give_sign(&tenure, began);
                self.pace.beat_every()
            }
            None => {
                self.look_around(watch, began);
                self.pace.look_every()
            }
        };
        self.changed.notify_all();
        every.saturating_sub((self.clock)().saturating_duration_since(began))
    }

    fn give_sign(&self, tenure: &Arc<Tenure>, began: Instant) {
        match self.register.beat(tenure.generation, false) {
            Ok(true) => {
                let mut state = self.state();
                (state.silence, state.heard) = (None, Some((self.clock)()));
                if let Some((own, confirmed)) = &mut state.tenure
                    && own.generation == tenure.generation
                {
                    *confirmed = began;
                }
            }
            Ok(false) => tenure.end(),
            Err(error) => self.is_silent(error),
        }
    }

    fn look_around(&self, watch: &mut Watch, asked: Instant) {
        let look = match self.register.look() {
            Ok(look) => look,
            Err(error) => return self.is_silent(error),
        };
        let answered = (self.clock)();
        watch.looked(self.pace, (asked, answered), &look);
        let own = {
            let mut state = self.state();
            (state.silence, state.heard) = (None, Some(answered));
            state.look = Some((answered, look.clone()));
            if !state.may_lead || state.is_over {
                return;
            }
            state.tenure.as_ref().map_or(0, |it| it.0.generation)
        };
        if watch.may_claim(self.pace, asked, &look, own) {
            self.claim(&look);
        }
    }

    fn claim(&self, look: &Look) {
        let leader = Leader { api: self.api.clone(), nonce: nonce() };
        let asked = (self.clock)();
        // An attempt without an answer is not told from one that was lost until it is asked again.
        let claimed = match self.register.claim(look, &leader) {
            Err(KvError::Unanswered(_)) => self.register.claim(look, &leader),
            other => other,
        };
        match claimed {
            Ok(Some(generation)) => {
                let mut state = self.state();
                state.tenure = Some((Tenure::new(generation), asked));
                let leader = super::register::Term { generation, leader };
                state.look = Some((asked, Look { term: Some(leader), ..look.clone() }));
            }
            Ok(None) => {}
            Err(error) => self.is_silent(error),
        }
    }

    fn is_silent(&self, error: KvError) {
        self.state().silence = Some(error);
    }

    /// The last sign of life: whoever follows need not wait.
    fn leave(&self) {
        let tenure = self.state().tenure.take();
        if let Some((tenure, _)) = tenure.filter(|it| !it.0.is_over()) {
            tenure.end();
            let _ = self.register.beat(tenure.generation, true);
        }
    }

    /// Steps until it is over.
    pub(crate) fn start(self: &Arc<Self>) -> thread::JoinHandle<()> {
        let course = Arc::clone(self);
        thread::spawn(move || {
            let mut watch = Watch::default();
            loop {
                let pause = course.step(&mut watch);
                let state = course.state();
                let state = course
                    .changed
                    .wait_timeout_while(state, pause, |it| !it.is_over)
                    .expect("nobody panics with it")
                    .0;
                if state.is_over {
                    drop(state);
                    return course.leave();
                }
            }
        })
    }
}
