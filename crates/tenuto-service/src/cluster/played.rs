//! Keys with revisions in memory, whose answers are lost or whose requests come late.

use super::kv::{Done, Found, Is, Kv, KvError, Op};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is carried out and answered.
    Answered,
    /// It is carried out, and the answer is lost.
    AnswerLost,
    /// It is lost.
    Lost,
    /// Nobody answers, and it is carried out later.
    Late,
}

type Request = (Vec<Is>, Vec<Op>, Vec<Op>);

#[derive(Default)]
struct State {
    revision: u64,
    keys: BTreeMap<String, (Vec<u8>, u64)>,
    fates: VecDeque<Fate>,
    late: Vec<Request>,
}

/// A handle on them.
#[derive(Clone, Default)]
pub(super) struct Played {
    state: Arc<Mutex<State>>,
    /// This handle's controller is cut off.
    is_cut: Arc<Mutex<bool>>,
}

impl Played {
    /// Another controller's handle on the same keys.
    pub(super) fn of_another(&self) -> Self {
        Self { state: Arc::clone(&self.state), is_cut: Arc::default() }
    }

    pub(super) fn set_cut(&self, is_cut: bool) {
        *self.is_cut.lock().unwrap() = is_cut;
    }

    /// What becomes of the next requests; all later ones are answered.
    pub(super) fn set_fates(&self, fates: impl IntoIterator<Item = Fate>) {
        self.state.lock().unwrap().fates = fates.into_iter().collect();
    }

    /// Carries out what is late.
    pub(super) fn deliver_late(&self) {
        let mut state = self.state.lock().unwrap();
        for (compares, then, otherwise) in std::mem::take(&mut state.late) {
            state.carry_out(&compares, &then, &otherwise);
        }
    }
}

impl State {
    fn carry_out(&mut self, compares: &[Is], then: &[Op], otherwise: &[Op]) -> Done {
        let revision_of = |key: &str| self.keys.get(key).map_or(0, |it| it.1);
        let is_so = compares.iter().all(|it| revision_of(&it.key) == it.revision);
        let ops = if is_so { then } else { otherwise };
        let puts: Vec<&String> = ops
            .iter()
            .filter_map(|it| if let Op::Put(key, _) = it { Some(key) } else { None })
            .collect();
        assert!(
            (1..puts.len()).all(|at| !puts[..at].contains(&puts[at])),
            "etcd refuses a key twice"
        );
        self.revision += u64::from(!puts.is_empty());
        let mut found = Vec::new();
        for op in ops {
            match op {
                Op::Put(key, value) => {
                    self.keys.insert(key.clone(), (value.clone(), self.revision));
                }
                Op::Get(key) => found.push(self.read(key..=key, 1)),
                Op::GetRange(from, before, most) => found.push(self.read(from..before, *most)),
            }
        }
        Done { is_so, revision: self.revision.max(1), found }
    }

    fn read<'a>(&self, range: impl std::ops::RangeBounds<&'a String>, most: u32) -> Vec<Found> {
        let range = (range.start_bound().cloned(), range.end_bound().cloned());
        let all = self.keys.range::<String, _>(range);
        let one = |(key, (value, revision)): (&String, &(Vec<u8>, u64))| Found {
            key: key.clone(),
            value: value.clone(),
            revision: *revision,
        };
        all.take(most as usize).map(one).collect()
    }
}

impl Kv for Played {
    fn transact(&self, compares: &[Is], then: &[Op], otherwise: &[Op]) -> Result<Done, KvError> {
        if *self.is_cut.lock().unwrap() {
            return Err(KvError::Unanswered("cut off".to_owned()));
        }
        let mut state = self.state.lock().unwrap();
        let unanswered = Err(KvError::Unanswered("no answer".to_owned()));
        match state.fates.pop_front().unwrap_or(Fate::Answered) {
            Fate::Answered => Ok(state.carry_out(compares, then, otherwise)),
            Fate::AnswerLost => {
                state.carry_out(compares, then, otherwise);
                unanswered
            }
            Fate::Lost => unanswered,
            Fate::Late => {
                state.late.push((compares.to_vec(), then.to_vec(), otherwise.to_vec()));
                unanswered
            }
        }
    }
}
