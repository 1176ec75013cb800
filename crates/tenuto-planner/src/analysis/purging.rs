//! What has to be purged at a swap: what waited at the trigger, and what has come since (theory, "D_mc").

use super::mode_input::ModeInput;
use super::mode_result::ModeResult;
use super::port::Ports;
use tenuto_calculus::{UBIT_PER_BIT, div_up, ubits};
use tenuto_units::{FRAME_BYTES_MAX, Picos, wire_bits};

/// What D_q rests on beside the backlogs of the mode before.
#[derive(Debug)]
pub(crate) struct Purging {
    /// Per server: the largest frame of any mode or raise, 10⁻⁶ bit on the wire.
    frames_ubit: Vec<i128>,
    /// Per node with a processor that ports share: purging what any mode or raise leaves, picoseconds.
    shared_ps: Vec<i128>,
}

impl Purging {
    pub(crate) fn new(ports: &Ports<'_>, mode_inputs: &[ModeInput], shared_ps: &[i128]) -> Self {
        let frame = |server: usize| {
            let of = mode_inputs.iter().map(|it| ports.largest_frame(server, it, None));
            of.max().unwrap_or(0)
        };
        let servers = 0..ports.topology.servers.len();
        Self { frames_ubit: servers.map(frame).collect(), shared_ps: shared_ps.to_vec() }
    }

    /// The purge of a node with a processor that ports share.
    pub(crate) fn shared_ps(&self, node: usize) -> i128 {
        self.shared_ps[node]
    }

    /// Bits on the wire of what lines can bring to a port's queue in so long; `None` without a bound.
    pub(crate) fn come_bits(
        &self,
        ports: &Ports<'_>,
        result: &ModeResult,
        server: usize,
        since_ps: i128,
    ) -> Option<u64> {
        let topology = ports.topology;
        // Of other traffic nothing but the line limits a frame on its way through a switch.
        let other = if ports.other_frame() > 0 { ubits(wire_bits(FRAME_BYTES_MAX)) } else { 0 };
        let groups = &ports.port_graph.groups[server];
        let feeds = |line: usize| groups.iter().any(|group| group.line == Some(line));
        let frame = self.frames_ubit[server].max(other);
        let mut ubit = 0_i128;
        for (line, egress) in topology.servers.iter().enumerate() {
            // Other traffic comes over any line.
            if egress.peer == topology.servers[server].node && (other > 0 || feeds(line)) {
                let came = ports.line(line, frame, &result.solution.arriving)?;
                ubit = ubit.checked_add(came.grown(Picos(since_ps)).burst_ubit)?;
            }
        }
        u64::try_from(div_up(ubit, UBIT_PER_BIT)).ok()
    }
}
