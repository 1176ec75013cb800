//! Which entry of a table a frame matches: keys, masks, and the index that finds them by hash.

pub(in crate::switch) mod ethernet_key;
pub(in crate::switch) mod hash_key;
pub(in crate::switch) mod index_work;
pub(in crate::switch) mod key;
pub(in crate::switch) mod mask_index;
pub(in crate::switch) mod priority_chains;
pub(in crate::switch) mod segment;
pub(in crate::switch) mod table;
