//! Alarms of a running controller, as people read them: each when it comes, and when it is over.

use crate::output;
use std::collections::BTreeMap;
use std::time::Duration;
use tenuto_service::rest::Shared;
use tenuto_service::{Alarm, Service};

/// An alarm that ends makes no event: this often it is looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Which alarms hold and were told, by kind and place; as many as the service keeps.
#[derive(Debug, Default)]
struct Told(BTreeMap<(String, String), String>);

impl Told {
    /// Those that were told at the start.
    fn of(alarms: &[Alarm]) -> Self {
        Self(alarms.iter().filter(|it| it.is_raised).map(entry).collect())
    }

    /// What is to be told now. An alarm that comes up again and again is told once while it holds.
    fn news(&mut self, alarms: &[Alarm]) -> Vec<String> {
        let now = Self::of(alarms).0;
        let come = now.iter().filter(|(key, text)| self.0.get(*key) != Some(*text));
        let come = come.map(|(_, text)| format!("alarm: {text}"));
        let over = self.0.iter().filter(|(key, _)| !now.contains_key(*key));
        let over = over.map(|(_, text)| format!("alarm over: {text}"));
        let news = come.chain(over).collect();
        self.0 = now;
        news
    }
}

fn entry(alarm: &Alarm) -> ((String, String), String) {
    ((alarm.kind.clone(), alarm.place.clone()), alarm.text.clone())
}

/// Tells alarms on stderr until nobody listens any more.
pub(super) async fn tell(shared: std::sync::Arc<Shared>) {
    let service: &Service = shared.service();
    let mut latest = service.listen();
    let mut told = Told::of(&service.view().alarms);
    loop {
        told.news(&service.view().alarms).iter().for_each(|line| output::complain(line));
        if let Ok(Err(_)) = tokio::time::timeout(LOOK_EVERY, latest.changed()).await {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alarm(place: &str, text: &str, is_raised: bool) -> Alarm {
        let (kind, place, text) = ("switch-gone".to_owned(), place.to_owned(), text.to_owned());
        Alarm { kind, place, text, at_ms: 0, count: 1, is_raised }
    }

    #[test]
    fn an_alarm_is_told_when_it_comes_once_while_it_holds_and_when_it_is_over() {
        let mut told = Told::of(&[alarm("sw1", "known at the start", true)]);
        let both = [alarm("sw1", "known at the start", true), alarm("sw2", "sw2 is gone", true)];
        assert_eq!(told.news(&both), ["alarm: sw2 is gone"]);
        assert!(told.news(&both).is_empty(), "it holds on");
        let over = [alarm("sw1", "known at the start", true), alarm("sw2", "sw2 is gone", false)];
        assert_eq!(told.news(&over), ["alarm over: sw2 is gone"]);
        assert!(told.news(&over).is_empty());
        assert_eq!(told.news(&both), ["alarm: sw2 is gone"], "once more");
    }
}
