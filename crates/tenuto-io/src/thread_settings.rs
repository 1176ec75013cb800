//! What a thread that serves ports asks for, in one place.

use crate::{PortWait, WaitPolicy, realtime};
use tenuto_units::Span;

/// How a thread that serves ports waits and is scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSettings {
    /// How it waits.
    pub policy: WaitPolicy,
    /// The processor that it runs on; `None` for any.
    pub processor: Option<usize>,
    /// Priority under SCHED_FIFO, 1 to 99; `None` for usual scheduling.
    pub fifo_priority: Option<u8>,
    /// Keep all memory of the process resident.
    pub lock_memory: bool,
    /// Under SCHED_FIFO and `spin`: never rest, and be stopped by the kernel instead.
    pub never_rest: bool,
}

impl ThreadSettings {
    /// Applies the settings to the calling thread; gives its wait, and a sentence for each wish
    /// that was not granted or has a price.
    ///
    /// Nothing here is needed for correctness, so that nothing is an error.
    pub fn apply(&self) -> (PortWait, Vec<String>) {
        let mut notes = Vec::new();
        let mut wait = PortWait::new(self.policy);
        // No timer of this thread is to be delayed; every thread may ask for that.
        let _ = realtime::set_timer_slack(Span::from_ns(1));
        if let Some(processor) = self.processor
            && let Err(error) = realtime::pin_to(&[processor])
        {
            let allowed = realtime::allowed_processors().unwrap_or_default();
            notes.push(format!("processor {processor}: {error}; {allowed:?} are allowed"));
        }
        if self.lock_memory
            && let Err(refusal) = realtime::try_lock_memory()
        {
            notes.push(format!("memory is not locked: {refusal}"));
        }
        let Some(priority) = self.fifo_priority else { return (wait, notes) };
        if let Err(refusal) = realtime::try_fifo(priority) {
            notes.push(format!("no SCHED_FIFO: {refusal}"));
            return (wait, notes);
        }
        if self.policy == WaitPolicy::Spin
            && let Ok(Some((runtime, period))) = realtime::fifo_budget()
        {
            let stop = period - runtime;
            notes.push(match self.never_rest {
                true => format!(
                    "while others want its processor, the kernel stops this thread for {stop} in \
                     each {period}: no bound below that holds; `sysctl -w \
                     kernel.sched_rt_runtime_us=-1` lifts the limit"
                ),
                false => format!(
                    "this thread rests for {stop} in each {period}, in short idle moments that a \
                     frame ends; one that finds none is stopped by the kernel for that long"
                ),
            });
            if !self.never_rest {
                wait = wait.resting_within(Some((runtime, period)));
            }
        }
        (wait, notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_granted_or_has_a_price_is_told() {
        let plain = ThreadSettings::default().apply();
        assert_eq!((plain.0.policy().name(), plain.1.len()), ("adaptive", 0));
        let nowhere = ThreadSettings { processor: Some(100_000), ..Default::default() };
        let (_, notes) = nowhere.apply();
        assert!(notes[0].contains("processor 100000") && notes[0].contains("are allowed"));
        // In a thread of its own, which then ends.
        let spinner = ThreadSettings {
            policy: WaitPolicy::Spin,
            fifo_priority: Some(1),
            ..ThreadSettings::default()
        };
        for never_rest in [false, true] {
            let settings = ThreadSettings { never_rest, ..spinner };
            let told = std::thread::spawn(move || settings.apply().1);
            let told = told.join().expect("no panic");
            println!("{told:?}");
            match realtime::fifo_budget().expect("sysctls") {
                Some(_) => assert_eq!(told.len(), 1, "refused, or with a price"),
                None => assert!(told.len() <= 1),
            }
        }
    }
}
