//! The analytic bound of a mode change as its paper computes it ([MC-SDN] section VI).
//!
//! Our own D_mc counts what can be queued at each switch of a described network; this one counts
//! hops, rules and frames.

/// Delay components of one kind of switch, picoseconds (Tables II and III).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Components {
    /// d_prop: propagation on one link.
    pub propagation_ps: u64,
    /// d_trans: a signal on the wire.
    pub transmission_ps: u64,
    /// d_queue: what cannot be pre-empted.
    pub queueing_ps: u64,
    /// d_proc: processing of a signal.
    pub processing_ps: u64,
    /// d_flood: flooding it.
    pub flooding_ps: u64,
    /// d_copy: one rule.
    pub copy_ps: u64,
    /// d_u-misc: whatever the number of rules.
    pub update_ps: u64,
    /// d_q-handle: one out-of-mode frame.
    pub handle_ps: u64,
    /// d_q-misc: whatever their number.
    pub purge_ps: u64,
}

/// The Odroid-XU4 of Tables II and III. d_queue and d_trans follow from 5460 B and 2048 B below the
/// scheduler and signals of 58 B, at 100 Mbit/s; the latter is printed as 4.6 us.
pub const ODROID_XU4: Components = Components {
    propagation_ps: 530_000,
    transmission_ps: 4_600_000,
    queueing_ps: 600_640_000,
    processing_ps: 766_900_000,
    flooding_ps: 80_780_000,
    copy_ps: 3_950_000,
    update_ps: 50_040_000,
    handle_ps: 1_060_000,
    purge_ps: 2_070_000,
};

/// The three terms of D_mc (Eq. 1), picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeBound {
    /// D_arrange (Eq. 2).
    pub arrange_ps: u64,
    /// D_update (Eq. 3).
    pub update_ps: u64,
    /// D_q-handle (Eq. 4).
    pub queues_ps: u64,
}

impl ChangeBound {
    /// D_mc, picoseconds.
    pub const fn sum_ps(&self) -> u64 {
        self.arrange_ps + self.update_ps + self.queues_ps
    }
}

impl Components {
    /// What one hop of a signal takes: `Overall` of Table II, picoseconds.
    pub const fn hop_ps(&self) -> u64 {
        self.propagation_ps
            + self.transmission_ps
            + self.queueing_ps
            + self.processing_ps
            + self.flooding_ps
    }

    /// The bound for `links` hops between any two switches, `rules` to update and `frames` queued.
    pub const fn bound(&self, links: u64, rules: u64, frames: u64) -> ChangeBound {
        ChangeBound {
            arrange_ps: self.hop_ps() * links,
            update_ps: self.copy_ps * rules + self.update_ps,
            queues_ps: self.handle_ps * frames + self.purge_ps,
        }
    }
}
