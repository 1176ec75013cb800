//! Whether what is in the books holds: x ≥ F(x) at every queue whose inputs changed.

use crate::books::Books;
use crate::curves::NBIT;
use crate::network::PortId;
use crate::refusal::{Resource, Scarce};
use crate::reservation::Reservation;

/// How far an add may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Reserved delays that one add may raise; 0 keeps them fixed.
    pub(crate) raises_max: u32,
    /// Inequalities that one decision may check before it gives up.
    pub(crate) checks_max: u32,
}

/// A queue, as work to be done.
type Spot = (PortId, usize);

/// The work of one decision; kept between decisions so that nothing is allocated anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    todo: Vec<Spot>,
    changed: Vec<Spot>,
    /// Inequalities checked in this decision.
    pub(crate) checks: u32,
}

impl Work {
    /// Starts a check of the queues that a flow was entered into.
    pub(crate) fn begin(&mut self, spots: impl Iterator<Item = Spot>) {
        self.todo.clear();
        self.todo.extend(spots);
    }

    /// Re-checks every inequality whose inputs changed, raising reserved delays where flows can
    /// bear it.
    ///
    /// # Errors
    /// The first queue that cannot hold, in the order of the walk. The books are as far as it came:
    /// the caller takes them back.
    pub(crate) fn settle(
        &mut self,
        books: &mut Books,
        reservation: &Reservation,
        limits: Limits,
    ) -> Result<(), Scarce> {
        let mut raises = 0;
        let mut at = 0;
        while let Some((port, first)) = self.todo.get(at).copied() {
            at += 1;
            let queues = usize::from(books.network.port(port).queues);
            for queue in first..queues {
                if books.members(port, queue).is_empty() {
                    continue;
                }
                let Err(scarce) = self.check(books, port, queue, limits) else { continue };
                if scarce.resource != Resource::Delay || raises >= limits.raises_max {
                    return Err(scarce);
                }
                raises += 1;
                self.raise(books, &scarce, reservation)?;
                for spot in self.changed.drain(..) {
                    if !self.todo[at..].contains(&spot) {
                        self.todo.push(spot);
                    }
                }
            }
        }
        Ok(())
    }

    /// One queue: delay within what is reserved, backlog within its room.
    fn check(
        &mut self,
        books: &Books,
        port: PortId,
        queue: usize,
        limits: Limits,
    ) -> Result<(), Scarce> {
        self.checks += 1;
        let curves = books.curves(port);
        let reserved = books.delay_ns(port, queue);
        let scarce = |resource, needed, available| Scarce {
            port,
            queue: u8::try_from(queue).unwrap_or(u8::MAX),
            resource,
            needed,
            available,
            flows: u32::try_from(books.members(port, queue).len()).unwrap_or(u32::MAX),
        };
        if self.checks > limits.checks_max {
            let most = i64::from(limits.checks_max);
            return Err(scarce(Resource::Effort, i64::from(self.checks), most));
        }
        if !curves.holds(queue, reserved) {
            let rate = curves.rate_up_to(queue);
            let Some(needed) = curves.delay_ns(queue, reserved) else {
                return Err(scarce(Resource::Rate, rate, curves.rate_bps));
            };
            return Err(scarce(Resource::Delay, needed, reserved));
        }
        let room = i64::from(books.network.port(port).queue_bytes) * 8;
        if curves.came(queue, reserved) <= i128::from(room) * NBIT {
            return Ok(());
        }
        let delay = curves.delay_ns(queue, reserved).unwrap_or(reserved);
        let backlog = curves.backlog_bits(queue, delay);
        if backlog <= room { Ok(()) } else { Err(scarce(Resource::Buffer, backlog, room)) }
    }

    /// Raises the reserved delay of a queue to what it needs, if every flow in it can bear that.
    fn raise(
        &mut self,
        books: &mut Books,
        scarce: &Scarce,
        reservation: &Reservation,
    ) -> Result<(), Scarce> {
        let (port, queue) = (scarce.port, usize::from(scarce.queue));
        let (needed, reserved) = (scarce.needed, scarce.available);
        let bearable = books.bearable_ns(port, queue);
        if needed > bearable {
            return Err(Scarce { available: bearable, ..*scarce });
        }
        let extra = (needed - reserved) * reservation.headroom_percent / 100;
        let raised = needed.saturating_add(extra).min(bearable);
        let changed = &mut self.changed;
        changed.clear();
        changed.push((port, queue));
        books.reserve(port, queue, raised, |port, queue| {
            if !changed.contains(&(port, queue)) {
                changed.push((port, queue));
            }
        });
        Ok(())
    }
}
