//! What the links of ports are able to do.

/// What the link of a port is able to do: features as in `enum ofp_port_features`, rates in kbit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortFeatures {
    /// At present.
    pub curr: u32,
    /// What it tells the other end.
    pub advertised: u32,
    /// All that it can.
    pub supported: u32,
    /// What the other end tells.
    pub peer: u32,
    /// The rate at present; 0 if nobody knows.
    pub curr_speed_kbps: u32,
    /// The highest rate; 0 if nobody knows.
    pub max_speed_kbps: u32,
}
