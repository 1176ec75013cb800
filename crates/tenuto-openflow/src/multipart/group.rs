//! Groups and their statistics (OpenFlow 1.3.5, sections 7.3.5.8 to 7.3.5.10).

use crate::error::{BadRequest, ErrorCode};
use crate::groups::{Bucket, GroupType};
use crate::wire::{Reader, Writer};

/// Statistics of a group (`ofp_group_stats`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupStats {
    /// The group.
    pub group_id: u32,
    /// How many entries and groups forward to it.
    pub ref_count: u32,
    /// Packets it processed.
    pub packet_count: u64,
    /// Bytes of those packets.
    pub byte_count: u64,
    /// How long it has been there: seconds.
    pub duration_sec: u32,
    /// How long it has been there: nanoseconds beyond the seconds.
    pub duration_nsec: u32,
    /// Its buckets, in order.
    pub buckets: Vec<BucketStats>,
}

/// Statistics of a bucket (`ofp_bucket_counter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BucketStats {
    /// Packets it processed.
    pub packet_count: u64,
    /// Bytes of those packets.
    pub byte_count: u64,
}

impl GroupStats {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let len = usize::from(r.peek_u16(0)?);
        let mut r = r.part(len, BadRequest::BadLen.into())?;
        r.skip(4)?;
        let (group_id, ref_count) = (r.u32()?, r.u32()?);
        r.skip(4)?;
        Ok(Self {
            group_id,
            ref_count,
            packet_count: r.u64()?,
            byte_count: r.u64()?,
            duration_sec: r.u32()?,
            duration_nsec: r.u32()?,
            buckets: r
                .list(|r| Ok(BucketStats { packet_count: r.u64()?, byte_count: r.u64()? }))?,
        })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let start = w.position();
        w.zeros(4);
        w.u32(self.group_id);
        w.u32(self.ref_count);
        w.zeros(4);
        w.u64(self.packet_count);
        w.u64(self.byte_count);
        w.u32(self.duration_sec);
        w.u32(self.duration_nsec);
        for bucket in &self.buckets {
            w.u64(bucket.packet_count);
            w.u64(bucket.byte_count);
        }
        w.set_len(start, start);
    }
}

/// A group as it is (`ofp_group_desc`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupDescription {
    /// How it chooses.
    pub type_: GroupType,
    /// The group.
    pub group_id: u32,
    /// Its buckets.
    pub buckets: Vec<Bucket>,
}

impl GroupDescription {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let len = usize::from(r.peek_u16(0)?);
        let mut r = r.part(len, BadRequest::BadLen.into())?;
        r.skip(2)?;
        let type_ = GroupType::from_wire(r.u8()?);
        r.skip(1)?;
        Ok(Self { type_, group_id: r.u32()?, buckets: r.list(Bucket::read)? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        let start = w.position();
        w.zeros(2);
        w.u8(self.type_.to_wire());
        w.zeros(1);
        w.u32(self.group_id);
        self.buckets.iter().for_each(|bucket| bucket.write(w));
        w.set_len(start, start);
    }
}

/// What groups a switch can have (`ofp_group_features`). Arrays are indexed by the number of the
/// group type: all, select, indirect, fast failover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupFeatures {
    /// Bit *n* set: group type *n* is supported.
    pub types: u32,
    /// [`group_capability`](crate::constants::group_capability)
    pub capabilities: u32,
    /// How many groups of each type.
    pub max_groups: [u32; 4],
    /// Bit *n* set: action type *n* is supported in groups of that type.
    pub actions: [u32; 4],
}

impl GroupFeatures {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let four = |r: &mut Reader<'_>| -> Result<[u32; 4], ErrorCode> {
            Ok([r.u32()?, r.u32()?, r.u32()?, r.u32()?])
        };
        let (types, capabilities) = (r.u32()?, r.u32()?);
        Ok(Self { types, capabilities, max_groups: four(r)?, actions: four(r)? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u32(self.types);
        w.u32(self.capabilities);
        self.max_groups.iter().chain(&self.actions).for_each(|value| w.u32(*value));
    }
}
