//! What an application is.

use super::answer::Answer;
use super::packet::Packet;
use core::any::Any;
use core::fmt::Debug;
use core::hash::{Hash, Hasher};
use tenuto_openflow::{ErrorMessage, FlowRemoved, FlowStats, Port, PortStats, PortStatus};

/// An application: what to do when something happens at a switch. All that it remembers is in
/// itself, so that a run can be forked and compared.
///
/// Whatever is not answered does not happen. `answer` also carries the time and starts timers.
/// Every method but [`packet_in`](Self::packet_in) may be left out. Programs choose an application
/// by name as a `Box<dyn ReactiveApp>`, which is one too.
pub trait ReactiveApp: AppState {
    /// A switch has connected, or connected anew, with these ports. Its tables may hold anything.
    fn switch_up(&mut self, datapath: u64, ports: &[Port], answer: &mut Answer) {
        let _ = (datapath, ports, answer);
    }

    /// The connection to a switch is lost. What is sent to it gets lost.
    fn switch_down(&mut self, datapath: u64, answer: &mut Answer) {
        let _ = (datapath, answer);
    }

    /// A port was added, removed or changed, a link has gone or come.
    fn port_status(&mut self, datapath: u64, status: &PortStatus, answer: &mut Answer) {
        let _ = (datapath, status, answer);
    }

    /// A packet that an entry of the switch `datapath` sends to the controller, which usually is
    /// the table-miss entry. An answer without messages drops the packet.
    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer);

    /// Several packets that came together, with an answer for each: as [`packet_in`](Self::packet_in) for one after the
    /// other, which an application that lives elsewhere may be asked at once.
    fn packet_ins(&mut self, datapath: u64, packets: &[Packet<'_>], answers: &mut [Answer]) {
        for (packet, answer) in packets.iter().zip(answers) {
            self.packet_in(datapath, packet, answer);
        }
    }

    /// An entry with `SEND_FLOW_REM` has gone.
    fn flow_removed(&mut self, datapath: u64, removed: &FlowRemoved, answer: &mut Answer) {
        let _ = (datapath, removed, answer);
    }

    /// Port statistics that were asked for with [`Answer::ask`]. A long reply comes in several calls.
    fn port_stats(&mut self, datapath: u64, stats: &[PortStats], answer: &mut Answer) {
        let _ = (datapath, stats, answer);
    }

    /// Flow statistics that were asked for with [`Answer::ask`]. A long reply comes in several calls.
    fn flow_stats(&mut self, datapath: u64, stats: &[FlowStats], answer: &mut Answer) {
        let _ = (datapath, stats, answer);
    }

    /// A switch has refused a message.
    fn refused(&mut self, datapath: u64, error: &ErrorMessage, answer: &mut Answer) {
        let _ = (datapath, error, answer);
    }

    /// A timer of [`Answer::start_timer`] is due; it has stopped.
    fn timer(&mut self, name: &str, answer: &mut Answer) {
        let _ = (name, answer);
    }

    /// Whether each switch is a world of its own: what is done about an event depends on what has happened at that
    /// switch alone, is for that switch alone, and starts no timer. Exploration then leaves out orders between
    /// switches. It reports a message to another switch; the rest is believed.
    fn is_by_switch(&self) -> bool {
        false
    }
}

/// The state of an application: it is cloned, compared, hashed and printed. Every application that is
/// `Clone`, `Eq`, `Hash`, `Debug` and `Send` has it.
pub trait AppState: Any + Debug + Send {
    /// A copy.
    fn boxed(&self) -> Box<dyn ReactiveApp>;
    /// Whether the other is an application of the same kind in the same state.
    fn is_same(&self, other: &dyn ReactiveApp) -> bool;
    /// Hashes the state.
    fn hash_state(&self, hasher: &mut dyn Hasher);
    /// For a look at an application whose type is known.
    fn as_any(&self) -> &dyn Any;
}

impl<A: ReactiveApp + Clone + Eq + Hash> AppState for A {
    fn boxed(&self) -> Box<dyn ReactiveApp> {
        Box::new(self.clone())
    }

    fn is_same(&self, other: &dyn ReactiveApp) -> bool {
        other.as_any().downcast_ref::<A>() == Some(self)
    }

    fn hash_state(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Clone for Box<dyn ReactiveApp> {
    fn clone(&self) -> Self {
        // That of what is in the box: the box is an application with a state as well.
        (**self).boxed()
    }
}

impl PartialEq for dyn ReactiveApp {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other)
    }
}

impl Eq for dyn ReactiveApp {}

impl Hash for dyn ReactiveApp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash_state(state);
    }
}

impl ReactiveApp for Box<dyn ReactiveApp> {
    fn switch_up(&mut self, datapath: u64, ports: &[Port], answer: &mut Answer) {
        (**self).switch_up(datapath, ports, answer);
    }

    fn switch_down(&mut self, datapath: u64, answer: &mut Answer) {
        (**self).switch_down(datapath, answer);
    }

    fn port_status(&mut self, datapath: u64, status: &PortStatus, answer: &mut Answer) {
        (**self).port_status(datapath, status, answer);
    }

    fn packet_in(&mut self, datapath: u64, packet: &Packet<'_>, answer: &mut Answer) {
        (**self).packet_in(datapath, packet, answer);
    }

    fn packet_ins(&mut self, datapath: u64, packets: &[Packet<'_>], answers: &mut [Answer]) {
        (**self).packet_ins(datapath, packets, answers);
    }

    fn flow_removed(&mut self, datapath: u64, removed: &FlowRemoved, answer: &mut Answer) {
        (**self).flow_removed(datapath, removed, answer);
    }

    fn port_stats(&mut self, datapath: u64, stats: &[PortStats], answer: &mut Answer) {
        (**self).port_stats(datapath, stats, answer);
    }

    fn flow_stats(&mut self, datapath: u64, stats: &[FlowStats], answer: &mut Answer) {
        (**self).flow_stats(datapath, stats, answer);
    }

    fn refused(&mut self, datapath: u64, error: &ErrorMessage, answer: &mut Answer) {
        (**self).refused(datapath, error, answer);
    }

    fn timer(&mut self, name: &str, answer: &mut Answer) {
        (**self).timer(name, answer);
    }

    fn is_by_switch(&self) -> bool {
        (**self).is_by_switch()
    }
}
