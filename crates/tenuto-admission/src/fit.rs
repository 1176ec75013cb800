//! Whether what is in the books holds: x ≥ F(x) at every queue whose inputs changed.

use crate::books::Books;
use crate::curves::NBIT;
use crate::network::PortId;
use crate::refusal::{Resource, Scarce};
use crate::reservation::Reservation;
use std::collections::VecDeque;

/// How far an add may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Reserved delays that one add may raise; 0 keeps them fixed.
    pub(crate) raises_max: u32,
    /// Inequalities that one decision may check before it gives up.
    pub(crate) checks_max: u32,
    /// Whether a raise goes a little beyond what is needed, so that the next flow needs none.
    pub(crate) is_eased: bool,
}

/// An eased raise goes beyond the need by one part in so many of it,
pub(crate) const EASE_PARTS: i64 = 64;
/// and by no more than one part in so many of what the flows could still bear.
const EASE_OF_SLACK: i64 = 3;

/// A queue, as work to be done.
type Spot = (PortId, usize);

/// The work of one decision; kept between decisions so that nothing is allocated anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    /// Ports to be checked, first come, first served.
    todo: VecDeque<PortId>,
    /// Per port the first queue whose inputs changed; those below see the change too.
    first: Vec<Option<usize>>,
    /// Inequalities checked in this decision.
    pub(crate) checks: u32,
}

impl Work {
    /// Starts a check of the queues that a flow was entered into.
    pub(crate) fn begin(&mut self, books: &Books, spots: impl Iterator<Item = Spot>) {
        self.todo.clear();
        self.first.clear();
        self.first.resize(books.network.ports().len(), None);
        spots.for_each(|spot| self.note(spot));
    }

    fn note(&mut self, (port, queue): Spot) {
        let first = &mut self.first[port.index()];
        match first {
            None => self.todo.push_back(port),
            Some(known) if *known <= queue => return,
            Some(_) => {}
        }
        *first = Some(queue);
    }

    /// Re-checks every inequality whose inputs changed, raising reserved delays where flows can
    /// bear it. Where a reserved delay still suffices, the change goes no further.
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
        while let Some(port) = self.todo.pop_front() {
            let Some(first) = self.first[port.index()].take() else { continue };
            for queue in first..usize::from(books.network.port(port).queues) {
                if books.members(port, queue).is_empty() {
                    continue;
                }
                let Err(scarce) = self.check(books, port, queue, limits) else { continue };
                if scarce.resource != Resource::Delay || raises >= limits.raises_max {
                    return Err(scarce);
                }
                raises += 1;
                self.raise(books, &scarce, reservation, limits)?;
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
        let room = i64::from(books.network.port(port).queue_bytes) * 8;
        if let Some(stay) = books.stay(port) {
            if stay.delay_ns > reserved {
                return Err(scarce(Resource::Delay, stay.delay_ns, reserved));
            }
            let is_full = stay.backlog_bits > room;
            return if is_full {
                Err(scarce(Resource::Buffer, stay.backlog_bits, room))
            } else {
                Ok(())
            };
        }
        if !curves.holds(queue, reserved) {
            let rate = curves.rate_up_to(queue);
            let Some(needed) = curves.delay_ns(queue, reserved) else {
                return Err(scarce(Resource::Rate, rate, curves.rate_bps));
            };
            return Err(scarce(Resource::Delay, needed, reserved));
        }
        if curves.came(queue, reserved) <= i128::from(room) * NBIT {
            return Ok(());
        }
        let delay = curves.delay_ns(queue, reserved).unwrap_or(reserved);
        let backlog = curves.backlog_bits(queue, delay);
        if backlog <= room { Ok(()) } else { Err(scarce(Resource::Buffer, backlog, room)) }
    }

    /// Raises the reserved delay of a queue to what it needs and a little more, if every flow in it
    /// can bear that.
    fn raise(
        &mut self,
        books: &mut Books,
        scarce: &Scarce,
        reservation: &Reservation,
        limits: Limits,
    ) -> Result<(), Scarce> {
        let (port, queue) = (scarce.port, usize::from(scarce.queue));
        let (needed, reserved) = (scarce.needed, scarce.available);
        let ample = needed / EASE_PARTS;
        let extra = match limits.is_eased {
            true => ample,
            false => (needed - reserved) * reservation.headroom_percent / 100,
        };
        let wanted = needed.saturating_add(extra);
        // What is asked for here is all that the raise depends on: whether it was known before or
        // had to be looked for makes no difference to it.
        let asked = match limits.is_eased {
            true => needed.saturating_add(ample.saturating_mul(EASE_OF_SLACK)),
            false => wanted,
        };
        let ceiling = books.ceiling_ns(port, queue);
        let bearable = books.bearable_ns(port, queue, asked).min(ceiling);
        if needed > bearable {
            return Err(Scarce { available: bearable, ..*scarce });
        }
        let raised = match limits.is_eased {
            true => needed + ample.min((bearable - needed) / EASE_OF_SLACK),
            false => wanted.min(bearable),
        };
        books.reserve(port, queue, raised, |port, queue| self.note((port, queue)));
        // The room of the queue has to do for the longer stay, too.
        self.note((port, queue));
        Ok(())
    }
}
