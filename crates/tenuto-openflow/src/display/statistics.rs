//! Counters of ports, queues, groups and meters, as `ovs-ofctl` writes them.

use super::flow::Seconds;
use super::syntax::{Instructions, PortNo};
use crate::action::Instruction;
use crate::constants::meter;
use crate::multipart::{GroupStats, MeterStats, PortStats, QueueStats};
use crate::oxm::Match;
use std::fmt::{self, Display, Formatter};

impl Display for PortStats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "port {}: ", PortNo(self.port_no))?;
        write!(f, "rx pkts={}, bytes={}, ", self.rx_packets, self.rx_bytes)?;
        write!(f, "drop={}, errs={}, ", self.rx_dropped, self.rx_errors)?;
        write!(f, "frame={}, over={}, ", self.rx_frame_err, self.rx_over_err)?;
        writeln!(f, "crc={}", self.rx_crc_err)?;
        write!(f, "          tx pkts={}, bytes={}, ", self.tx_packets, self.tx_bytes)?;
        write!(f, "drop={}, errs={}, ", self.tx_dropped, self.tx_errors)?;
        writeln!(f, "coll={}", self.collisions)?;
        write!(f, "          duration={}", Seconds(self.duration_sec, self.duration_nsec))
    }
}

impl Display for QueueStats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "port {} queue {}: ", PortNo(self.port_no), self.queue_id)?;
        write!(f, "bytes={}, pkts={}, ", self.tx_bytes, self.tx_packets)?;
        write!(f, "errors={}, ", self.tx_errors)?;
        write!(f, "duration={}", Seconds(self.duration_sec, self.duration_nsec))
    }
}

impl Display for GroupStats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let duration = Seconds(self.duration_sec, self.duration_nsec);
        write!(f, "group_id={},duration={duration},ref_count={},", self.group_id, self.ref_count)?;
        write!(f, "packet_count={},byte_count={}", self.packet_count, self.byte_count)?;
        for (place, bucket) in self.buckets.iter().enumerate() {
            let (packets, bytes) = (bucket.packet_count, bucket.byte_count);
            write!(f, ",bucket{place}:packet_count={packets},byte_count={bytes}")?;
        }
        Ok(())
    }
}

impl Display for MeterStats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.meter_id {
            meter::CONTROLLER => f.write_str("meter:controller ")?,
            id => write!(f, "meter:{id} ")?,
        }
        write!(f, "flow_count:{} ", self.flow_count)?;
        write!(f, "packet_in_count:{} ", self.packet_in_count)?;
        write!(f, "byte_in_count:{} ", self.byte_in_count)?;
        write!(f, "duration:{} bands:", Seconds(self.duration_sec, self.duration_nsec))?;
        for (place, band) in self.bands.iter().enumerate() {
            let (packets, bytes) = (band.packet_band_count, band.byte_band_count);
            write!(f, " {place}: packet_count:{packets} byte_count:{bytes}")?;
        }
        Ok(())
    }
}

/// An entry without its counters: `priority=1,in_port=2 actions=output:3`.
#[derive(Clone, Copy, Debug)]
pub struct EntryText<'a> {
    /// Higher wins.
    pub priority: u16,
    /// What it matches.
    pub match_: &'a Match,
    /// What happens.
    pub instructions: &'a [Instruction],
}

impl Display for EntryText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        super::flow::write_entry(f, self.priority, self.match_)?;
        write!(f, " actions={}", Instructions(self.instructions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multipart::{BandStats, BucketStats};

    #[test]
    fn counters_are_written_as_users_know_them() {
        let queue = QueueStats {
            port_no: 1,
            queue_id: 2,
            tx_bytes: 300,
            tx_packets: 4,
            tx_errors: 0,
            duration_sec: 5,
            duration_nsec: 600_000_000,
        };
        assert_eq!(
            queue.to_string(),
            "port 1 queue 2: bytes=300, pkts=4, errors=0, duration=5.600s"
        );
        let group = GroupStats {
            group_id: 7,
            ref_count: 1,
            packet_count: 2,
            byte_count: 128,
            duration_sec: 3,
            duration_nsec: 0,
            buckets: vec![BucketStats { packet_count: 2, byte_count: 128 }],
        };
        assert_eq!(
            group.to_string(),
            "group_id=7,duration=3.000s,ref_count=1,packet_count=2,byte_count=128,\
             bucket0:packet_count=2,byte_count=128"
        );
        let meter = MeterStats {
            meter_id: 9,
            flow_count: 1,
            packet_in_count: 10,
            byte_in_count: 640,
            duration_sec: 1,
            duration_nsec: 5_000_000,
            bands: vec![BandStats { packet_band_count: 4, byte_band_count: 256 }],
        };
        assert_eq!(
            meter.to_string(),
            "meter:9 flow_count:1 packet_in_count:10 byte_in_count:640 duration:1.005s bands: \
             0: packet_count:4 byte_count:256"
        );
    }
}
