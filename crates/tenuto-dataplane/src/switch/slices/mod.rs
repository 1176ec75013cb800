//! Slices: virtual datapaths of tenants over the ports of one switch.
//!
//! A slice is an ordinary [`Switch`](super::Switch) with ports, tables, groups, meters, buffers and connections of
//! its own. What is shared, and so has to be trusted, is small: who owns a frame ([`traffic`]), which is asked when
//! it enters and when it leaves ([`sliced`]). Why so: docs/design/0005-hosting.md, "Slices".

pub(in crate::switch) mod budget;
mod byte_credit;
pub(in crate::switch) mod datapath;
pub(in crate::switch) mod guard;
mod judging;
pub(in crate::switch) mod proxy;
pub(in crate::switch) mod sliced;
mod sliced_datapath;
pub(in crate::switch) mod traffic;
