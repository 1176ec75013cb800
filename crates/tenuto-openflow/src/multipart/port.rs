//! Statistics of ports and queues (OpenFlow 1.3.5, sections 7.3.5.6 and 7.3.5.8).

use crate::error::ErrorCode;
use crate::wire::{Reader, Writer};

/// Statistics of a port (`ofp_port_stats`). A counter that a switch does not keep is all ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PortStats {
    /// The port.
    pub port_no: u32,
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets dropped on receipt.
    pub rx_dropped: u64,
    /// Packets dropped on sending.
    pub tx_dropped: u64,
    /// Errors on receipt, those below included.
    pub rx_errors: u64,
    /// Errors on sending.
    pub tx_errors: u64,
    /// Frame alignment errors.
    pub rx_frame_err: u64,
    /// Packets lost by overrun.
    pub rx_over_err: u64,
    /// CRC errors.
    pub rx_crc_err: u64,
    /// Collisions.
    pub collisions: u64,
    /// How long it has been there: seconds.
    pub duration_sec: u32,
    /// How long it has been there: nanoseconds beyond the seconds.
    pub duration_nsec: u32,
}

impl PortStats {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let port_no = r.u32()?;
        r.skip(4)?;
        Ok(Self {
            port_no,
            rx_packets: r.u64()?,
            tx_packets: r.u64()?,
            rx_bytes: r.u64()?,
            tx_bytes: r.u64()?,
            rx_dropped: r.u64()?,
            tx_dropped: r.u64()?,
            rx_errors: r.u64()?,
            tx_errors: r.u64()?,
            rx_frame_err: r.u64()?,
            rx_over_err: r.u64()?,
            rx_crc_err: r.u64()?,
            collisions: r.u64()?,
            duration_sec: r.u32()?,
            duration_nsec: r.u32()?,
        })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u32(self.port_no);
        w.zeros(4);
        w.u64(self.rx_packets);
        w.u64(self.tx_packets);
        w.u64(self.rx_bytes);
        w.u64(self.tx_bytes);
        w.u64(self.rx_dropped);
        w.u64(self.tx_dropped);
        w.u64(self.rx_errors);
        w.u64(self.tx_errors);
        w.u64(self.rx_frame_err);
        w.u64(self.rx_over_err);
        w.u64(self.rx_crc_err);
        w.u64(self.collisions);
        w.u32(self.duration_sec);
        w.u32(self.duration_nsec);
    }
}

/// Statistics of a queue (`ofp_queue_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct QueueStats {
    /// The port.
    pub port_no: u32,
    /// The queue.
    pub queue_id: u32,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets dropped because the queue was full.
    pub tx_errors: u64,
    /// How long it has been there: seconds.
    pub duration_sec: u32,
    /// How long it has been there: nanoseconds beyond the seconds.
    pub duration_nsec: u32,
}

impl QueueStats {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        Ok(Self {
            port_no: r.u32()?,
            queue_id: r.u32()?,
            tx_bytes: r.u64()?,
            tx_packets: r.u64()?,
            tx_errors: r.u64()?,
            duration_sec: r.u32()?,
            duration_nsec: r.u32()?,
        })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u32(self.port_no);
        w.u32(self.queue_id);
        w.u64(self.tx_bytes);
        w.u64(self.tx_packets);
        w.u64(self.tx_errors);
        w.u32(self.duration_sec);
        w.u32(self.duration_nsec);
    }
}
