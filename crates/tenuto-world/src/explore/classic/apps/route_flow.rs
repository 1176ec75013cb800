//! Route flow: with the first packet-in, rules on the whole way (\[Attendre\] III).

use crate::explore::classic::Answers;
use crate::explore::classic::Application;
use crate::explore::classic::Mixer;
use crate::explore::classic::PacketIn;
use crate::explore::classic::lines::LAST_MAC;
use crate::explore::classic::{Actions, Match, Rule};

/// What the controller does on a packet-in that it need not have got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redundant {
    /// The first switch of the way has the whole way installed again; others have the packet sent.
    #[default]
    Mixed,
    /// The rest of the way is installed again.
    Reinstall,
    /// The rule of that switch is installed again.
    ReinstallHere,
    /// The packet is sent.
    PacketOut,
}

/// The application, on a line of switches: it keeps no state, for it knows where hosts are.
#[derive(Clone, Copy, Debug, Default)]
pub struct RouteFlow {
    /// Switches on the line.
    pub switches: usize,
    /// On redundant packet-ins.
    pub redundant: Redundant,
    /// Directions for which the way was installed; what [`Redundant::PacketOut`] and
    /// [`Redundant::ReinstallHere`] ask for.
    installed: [bool; 2],
}

impl RouteFlow {
    /// On a line of so many switches.
    pub const fn new(switches: usize, redundant: Redundant) -> Self {
        Self { switches, redundant, installed: [false; 2] }
    }

    /// From a switch to the end of the way.
    fn rest(&self, switch: usize, is_forward: bool) -> Vec<usize> {
        if is_forward { (switch..self.switches).collect() } else { (0..=switch).rev().collect() }
    }

    fn install(self, way: &[usize], is_forward: bool, asked: &PacketIn, answers: &mut Answers) {
        let (into, out) = if is_forward { (0, 1) } else { (1, 0) };
        for (at, switch) in way.iter().enumerate() {
            let matching = Match::of_packet_at(&asked.packet, into);
            let rule = Rule::new(matching, Actions::output(out));
            if at == 0 {
                answers.add_and_release(*switch, rule, asked);
            } else {
                answers.add(*switch, rule);
            }
            if at + 1 < way.len() {
                answers.goes_on();
            }
        }
    }
}

impl Application for RouteFlow {
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers) {
        let is_forward = asked.packet.destination == LAST_MAC;
        let rest = self.rest(switch, is_forward);
        let is_first = rest.len() == self.switches;
        let was_installed = self.installed[usize::from(is_forward)];
        self.installed[usize::from(is_forward)] = true;
        let installs = match self.redundant {
            Redundant::Mixed if is_first => rest.len(),
            Redundant::Reinstall => rest.len(),
            _ if !was_installed => rest.len(),
            Redundant::ReinstallHere => 1,
            Redundant::Mixed | Redundant::PacketOut => 0,
        };
        if installs == 0 {
            let out = u8::from(is_forward);
            return answers.packet_out(switch, asked, Actions::output(out));
        }
        self.install(&rest[..installs], is_forward, asked, answers);
    }

    fn key(&self, _has_learned: bool, mixer: &mut Mixer) {
        let [back, forth] = self.installed;
        mixer.word(u64::from(back) | u64::from(forth) << 1);
    }
}
