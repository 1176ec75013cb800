//! Tags and times to live (OpenFlow 1.3.5, sections 5.11 and 7.2.5).

use super::checksum::adjusted;
use super::layers::{Network, long, short};
use super::{Buffer, Edit};

/// Behind the addresses: where every pushed tag goes, as the outermost (section 5.12).
const TAG_AT: usize = 12;
const VLAN_TAG_LEN: usize = 4;
const LABEL_LEN: usize = 4;
/// EtherType, control information and the customer's addresses.
const PBB_TAG_LEN: usize = 18;
const BOTTOM_OF_STACK: u32 = 1 << 8;

/// A time to live was to be decremented below one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::switch) struct TtlExpired;

/// Where a time to live stands.
#[derive(Clone, Copy)]
enum Ttl {
    V4(usize),
    V6(usize),
    Mpls(usize),
}

impl Buffer {
    /// Carries out a change; one that does not apply to this frame leaves it as it is.
    ///
    /// # Errors
    /// If a time to live would not stay above zero; the frame is as it was.
    pub(in crate::switch) fn apply(&mut self, edit: Edit) -> Result<(), TtlExpired> {
        match edit {
            Edit::PushVlan(ether_type) => self.push_vlan(ether_type),
            Edit::PopVlan => {
                if let Some(tag) = self.layers.vlan {
                    self.cut(tag, VLAN_TAG_LEN);
                    self.relocate();
                }
            }
            Edit::PushMpls(ether_type) => self.push_mpls(ether_type),
            Edit::PopMpls(ether_type) => {
                if let Network::Mpls(at) = self.layers.network {
                    self.cut(at, LABEL_LEN);
                    let eth_type_at = self.layers.eth_type_at;
                    self.put(eth_type_at, &ether_type.to_be_bytes());
                    self.relocate();
                }
            }
            Edit::PushPbb(ether_type) => self.push_pbb(ether_type),
            Edit::PopPbb => self.pop_pbb(),
            Edit::SetMplsTtl(ttl) => self.set_ttl(self.mpls_ttl(), ttl),
            Edit::SetNwTtl(ttl) => self.set_ttl(self.network_ttl(), ttl),
            Edit::DecMplsTtl => return self.decrement(self.mpls_ttl()),
            Edit::DecNwTtl => return self.decrement(self.network_ttl()),
            Edit::CopyTtlOut => {
                if let Some((outer, inner)) = self.nested_ttls() {
                    self.set_ttl(Some(outer), self.ttl(inner));
                }
            }
            Edit::CopyTtlIn => {
                if let Some((outer, inner)) = self.nested_ttls() {
                    self.set_ttl(Some(inner), self.ttl(outer));
                }
            }
            Edit::SetField(value) => self.set_field(&value),
        }
        Ok(())
    }

    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes_mut().get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// Fields of the new tag are those of the outermost one, or zero (section 5.12.1).
    fn push_vlan(&mut self, ether_type: u16) {
        let tci = self.layers.vlan.map_or(0, |tag| short(self.bytes(), tag + 2));
        if self.layers.is_frame && self.insert(TAG_AT, VLAN_TAG_LEN) {
            self.put(TAG_AT, &ether_type.to_be_bytes());
            self.put(TAG_AT + 2, &tci.to_be_bytes());
            self.relocate();
        }
    }

    /// Label and traffic class of the outermost label, or zero; its time to live, or that of the
    /// IP header (section 5.12.1).
    fn push_mpls(&mut self, ether_type: u16) {
        if !self.layers.is_frame {
            return;
        }
        let outer = match self.layers.network {
            // Behind a VLAN tag, it is no label of the same stack.
            Network::Mpls(at) if self.layers.vlan.is_some() => {
                long(self.bytes(), at) | BOTTOM_OF_STACK
            }
            Network::Mpls(at) => long(self.bytes(), at) & !BOTTOM_OF_STACK,
            _ => BOTTOM_OF_STACK | self.network_ttl().map_or(0, |at| self.ttl(at).into()),
        };
        if self.insert(TAG_AT + 2, LABEL_LEN) {
            self.put(TAG_AT, &ether_type.to_be_bytes());
            self.put(TAG_AT + 2, &outer.to_be_bytes());
            self.relocate();
        }
    }

    /// Service instance of the outermost service tag, and priority of the VLAN tag, or zero; the
    /// customer's addresses are those of the frame (section 5.12.1).
    fn push_pbb(&mut self, ether_type: u16) {
        if !self.layers.is_frame {
            return;
        }
        let instance = match self.layers.network {
            Network::Pbb(at) => long(self.bytes(), at) & 0xff_ffff,
            _ => 0,
        };
        let priority = self.layers.vlan.map_or(0, |tag| short(self.bytes(), tag + 2) >> 13);
        let mut addresses = [0; 12];
        addresses.copy_from_slice(&self.bytes()[..12]);
        if self.insert(TAG_AT, PBB_TAG_LEN) {
            self.put(TAG_AT, &ether_type.to_be_bytes());
            let control = u32::from(priority) << 29 | instance;
            self.put(TAG_AT + 2, &control.to_be_bytes());
            self.put(TAG_AT + 6, &addresses);
            self.relocate();
        }
    }

    /// The service tag goes, and the customer's addresses take the place of the outer ones; a
    /// backbone VLAN tag in front of it stays (section 7.2.5).
    fn pop_pbb(&mut self) {
        if let Network::Pbb(at) = self.layers.network {
            let mut addresses = [0; 12];
            addresses.copy_from_slice(&self.bytes()[at + 4..at + 16]);
            self.put(0, &addresses);
            self.cut(self.layers.eth_type_at, PBB_TAG_LEN);
            self.relocate();
        }
    }

    fn network_ttl(&self) -> Option<Ttl> {
        match self.layers.network {
            Network::V4(at) => Some(Ttl::V4(at)),
            Network::V6(at) => Some(Ttl::V6(at)),
            _ => None,
        }
    }

    fn mpls_ttl(&self) -> Option<Ttl> {
        match self.layers.network {
            Network::Mpls(at) => Some(Ttl::Mpls(at)),
            _ => None,
        }
    }

    /// The outermost time to live and the one next to it: of labels, of a label and the IP header behind
    /// it, of IP headers (section 5.11, table 6).
    fn nested_ttls(&self) -> Option<(Ttl, Ttl)> {
        match self.layers.network {
            Network::Mpls(at) => {
                let next = at + LABEL_LEN;
                let is_last = long(self.bytes(), at) & BOTTOM_OF_STACK != 0;
                let has_label = self.layers.end >= next + LABEL_LEN;
                let label = (!is_last && has_label).then_some(Ttl::Mpls(next));
                let inner = if is_last { self.ip_ttl(next) } else { label };
                Some((Ttl::Mpls(at), inner?))
            }
            _ => Some((self.network_ttl()?, self.ip_ttl(self.layers.carried?)?)),
        }
    }

    /// That of the IP header that begins here, of the version that its first four bits tell.
    fn ip_ttl(&self, at: usize) -> Option<Ttl> {
        let has = |len: usize| self.layers.end >= at + len;
        match self.bytes().get(at)? >> 4 {
            4 if has(20) => Some(Ttl::V4(at)),
            6 if has(40) => Some(Ttl::V6(at)),
            _ => None,
        }
    }

    fn ttl(&self, at: Ttl) -> u8 {
        let (Ttl::V4(place) | Ttl::V6(place) | Ttl::Mpls(place)) = self.ttl_place(at);
        self.bytes()[place]
    }

    /// The byte itself in place of its header.
    fn ttl_place(&self, at: Ttl) -> Ttl {
        match at {
            Ttl::V4(at) => Ttl::V4(at + 8),
            Ttl::V6(at) => Ttl::V6(at + 7),
            Ttl::Mpls(at) => Ttl::Mpls(at + 3),
        }
    }

    fn set_ttl(&mut self, at: Option<Ttl>, ttl: u8) {
        let Some(at) = at else { return };
        match self.ttl_place(at) {
            Ttl::V4(place) => {
                let before = [self.bytes()[place], self.bytes()[place + 1]];
                let after = [ttl, before[1]];
                let checksum = adjusted(short(self.bytes(), place + 2), &before, &after);
                self.put(place, &after);
                self.put(place + 2, &checksum.to_be_bytes());
            }
            Ttl::V6(place) | Ttl::Mpls(place) => self.put(place, &[ttl]),
        }
    }

    fn decrement(&mut self, at: Option<Ttl>) -> Result<(), TtlExpired> {
        let Some(place) = at else { return Ok(()) };
        match self.ttl(place) {
            0 | 1 => Err(TtlExpired),
            ttl => {
                self.set_ttl(at, ttl - 1);
                Ok(())
            }
        }
    }

    /// The drop precedence of the DSCP class raised by `steps`, up to its highest ([RFC 2597],
    /// section 6): AF11 becomes AF12. Classes without precedence stay.
    pub(in crate::switch) fn raise_drop_precedence(&mut self, steps: u8) {
        let traffic_class = match self.layers.network {
            Network::V4(at) => self.bytes()[at + 1],
            Network::V6(at) => (long(self.bytes(), at) >> 20).to_le_bytes()[0],
            _ => return,
        };
        let dscp = traffic_class >> 2;
        let (class, precedence) = (dscp >> 3, dscp >> 1 & 3);
        let is_assured = (1..=4).contains(&class) && precedence > 0 && dscp & 1 == 0;
        if is_assured {
            let raised = class << 3 | precedence.saturating_add(steps).min(3) << 1;
            self.set_dscp(raised);
        }
    }
}
