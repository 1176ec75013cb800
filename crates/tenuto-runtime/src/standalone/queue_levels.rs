//! Which queues of a port share a level, as people write it: `0/1x3+2/3`.

use std::str::FromStr;
use tenuto_openflow::QueueShare;

/// Levels of queues, the first to be served first. Written as levels behind each other with `/`, queues
/// of one level with `+`, each perhaps with its weight behind an `x`. Queues that are not named come
/// behind them, each alone, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueLevels {
    named: Vec<QueueShare>,
}

impl QueueLevels {
    /// Where each queue of a port with so many stands.
    ///
    /// # Errors
    /// If a queue is named that the port does not have; the text says which.
    pub fn of_port(&self, queues: u8) -> Result<Vec<QueueShare>, String> {
        if let Some(share) = self.named.iter().find(|share| share.queue >= u32::from(queues)) {
            let last = queues.saturating_sub(1);
            return Err(format!("levels: queue {} of queues 0 to {last}", share.queue));
        }
        let mut shares = self.named.clone();
        let behind = self.named.last().map_or(0, |share| share.level.saturating_add(1));
        let others = (0..u32::from(queues)).filter(|q| self.named.iter().all(|s| s.queue != *q));
        let alone = |(level, queue)| QueueShare { queue, level, weight: 1 };
        shares.extend((behind..).zip(others).map(alone));
        Ok(shares)
    }

    /// Whether nothing was said.
    pub const fn is_empty(&self) -> bool {
        self.named.is_empty()
    }
}

impl FromStr for QueueLevels {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut named: Vec<QueueShare> = Vec::new();
        for (level, queues) in (0_u8..=u8::MAX).zip(text.split('/')) {
            for queue in queues.split('+') {
                let share = share(level, queue.trim())?;
                if named.iter().any(|other| other.queue == share.queue) {
                    return Err(format!("levels: queue {} stands in two places", share.queue));
                }
                named.push(share);
            }
        }
        Ok(Self { named })
    }
}

fn share(level: u8, text: &str) -> Result<QueueShare, String> {
    let (queue, weight) = text.split_once('x').unwrap_or((text, "1"));
    let number = |text: &str| text.parse::<u8>().ok();
    match (number(queue), number(weight).filter(|weight| *weight > 0)) {
        (Some(queue), Some(weight)) => Ok(QueueShare { queue: queue.into(), level, weight }),
        (None, _) => Err(format!("levels: `{queue}` is no queue, such as in 0/1x3+2")),
        (_, None) => Err(format!("levels: `{weight}` is no weight from 1 to 255")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(text: &str, queues: u8) -> Result<Vec<(u32, u8, u8)>, String> {
        let shares = text.parse::<QueueLevels>()?.of_port(queues)?;
        Ok(shares.into_iter().map(|it| (it.queue, it.level, it.weight)).collect())
    }

    #[test]
    fn levels_stand_in_order_and_the_rest_behind_them() {
        assert_eq!(
            stands("3/1x3+2", 5),
            Ok(vec![(3, 0, 1), (1, 1, 3), (2, 1, 1), (0, 2, 1), (4, 3, 1)])
        );
        assert_eq!(stands("0+1+2", 3), Ok(vec![(0, 0, 1), (1, 0, 1), (2, 0, 1)]));
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (text, said) in [
            ("0/1x0", "`0` is no weight"),
            ("0/1x256", "`256` is no weight"),
            ("0//1", "`` is no queue"),
            ("a", "`a` is no queue"),
            ("0/1+0", "queue 0 stands in two places"),
            ("0/9", "queue 9 of queues 0 to 7"),
        ] {
            let error = stands(text, 8).expect_err(text);
            assert!(error.contains(said), "{error}");
        }
    }
}
