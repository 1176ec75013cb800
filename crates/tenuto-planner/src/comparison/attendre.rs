//! Forwarding delay of the first packet of a flow through reactive OpenFlow (\[Attendre\] section VIII).
//!
//! Picoseconds everywhere; switches 1..=N of the paper are 0..N here.

/// Delays on the way of one packet over `nodes` switches; every list is by switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// L_0..=L_N (Eq. 1): from a node's output queue until the next node begins to process.
    pub links_ps: Vec<u64>,
    /// p_sp: processing of the packet.
    pub packet_ps: Vec<u64>,
    /// p_sc: processing of a command.
    pub command_ps: Vec<u64>,
    /// τ: round trip between switch and controller.
    pub round_trip_ps: Vec<u64>,
    /// p_c: the controller's processing of a packet-in.
    pub controller_ps: Vec<u64>,
}

/// L (Eq. 1), picoseconds: queueing before the link, transmission, propagation, queueing behind it.
pub const fn link_ps(queue_out: u64, sending: u64, propagation: u64, queue_in: u64) -> u64 {
    queue_out + sending + propagation + queue_in
}

impl Way {
    /// N.
    pub const fn switches(&self) -> usize {
        self.packet_ps.len()
    }

    /// S (Eq. 2): from the sender's output queue until the controller begins to process.
    fn until_controller_ps(&self) -> u64 {
        self.links_ps[0] + self.packet_ps[0] + self.round_trip_ps[0] / 2 + self.controller_ps[0]
    }

    /// With one switch all three mechanisms are the same.
    fn first_ps(&self) -> u64 {
        self.until_controller_ps()
            + self.command_ps[0]
            + self.round_trip_ps[0] / 2
            + self.packet_ps[0]
            + self.links_ps[1]
    }

    /// Plain OpenFlow (Eq. 3): a packet that is at a switch before its entry goes to the controller
    /// once more.
    pub fn openflow_ps(&self) -> u64 {
        let since = self.until_controller_ps();
        let mut total = self.first_ps();
        for k in 1..self.switches() {
            let is_early = total - since < self.round_trip_ps[k] / 2 + self.command_ps[k];
            let again = self.round_trip_ps[k]
                + self.controller_ps[k]
                + self.command_ps[k]
                + self.packet_ps[k];
            total += self.packet_ps[k] + self.links_ps[k + 1] + if is_early { again } else { 0 };
        }
        total
    }

    /// OpenFlow with barriers (Eq. 4): the controller waits for every switch behind the first.
    pub fn barriers_ps(&self) -> u64 {
        let forwarding: u64 = self.links_ps.iter().chain(&self.packet_ps).sum();
        let waits = (1..self.switches()).map(|k| self.round_trip_ps[k] + self.command_ps[k]);
        let first =
            self.packet_ps[0] + self.round_trip_ps[0] + self.controller_ps[0] + self.command_ps[0];
        forwarding + first + waits.max().unwrap_or(0)
    }

    /// Attendre (Eq. 5): a packet waits in the switch until its entry is there.
    pub fn attendre_ps(&self) -> u64 {
        let since = self.until_controller_ps();
        let mut total = self.first_ps();
        for k in 1..self.switches() {
            let ready = self.round_trip_ps[k] / 2 + self.command_ps[k];
            total = self.packet_ps[k] + self.links_ps[k + 1] + since + ready.max(total - since);
        }
        total
    }
}
