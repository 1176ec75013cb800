//! Ports: description, status, modification (OpenFlow 1.3.5, sections 7.2.1, 7.3.4.4, 7.4.3).

use crate::error::ErrorCode;
use crate::text::FixedText;
use crate::wire::{Reader, Writer, open_enum};

/// What a port is (`ofp_port`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// Its number.
    pub port_no: u32,
    /// Its MAC address.
    pub hw_addr: [u8; 6],
    /// Its name.
    pub name: FixedText<16>,
    /// [`port_config`](crate::constants::port_config)
    pub config: u32,
    /// [`port_state`](crate::constants::port_state)
    pub state: u32,
    /// Current features ([`port_feature`](crate::constants::port_feature)).
    pub curr: u32,
    /// Features advertised to the peer.
    pub advertised: u32,
    /// Features supported.
    pub supported: u32,
    /// Features that the peer advertises.
    pub peer: u32,
    /// Current rate in kbit/s.
    pub curr_speed: u32,
    /// Largest rate in kbit/s.
    pub max_speed: u32,
}

impl Port {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let port_no = r.u32()?;
        r.skip(4)?;
        let hw_addr = r.array()?;
        r.skip(2)?;
        Ok(Self {
            port_no,
            hw_addr,
            name: FixedText(r.array()?),
            config: r.u32()?,
            state: r.u32()?,
            curr: r.u32()?,
            advertised: r.u32()?,
            supported: r.u32()?,
            peer: r.u32()?,
            curr_speed: r.u32()?,
            max_speed: r.u32()?,
        })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u32(self.port_no);
        w.zeros(4);
        w.bytes(&self.hw_addr);
        w.zeros(2);
        w.bytes(&self.name.0);
        w.u32(self.config);
        w.u32(self.state);
        w.u32(self.curr);
        w.u32(self.advertised);
        w.u32(self.supported);
        w.u32(self.peer);
        w.u32(self.curr_speed);
        w.u32(self.max_speed);
    }
}

open_enum! {
    /// What happened to a port (`enum ofp_port_reason`).
    PortReason: u8 {
        /// It was added (`OFPPR_ADD`).
        Add = 0 "ADD",
        /// It was removed (`OFPPR_DELETE`).
        Delete = 1 "DEL",
        /// Some attribute changed (`OFPPR_MODIFY`).
        Modify = 2 "MOD",
    }
}

/// A port has changed (`ofp_port_status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortStatus {
    /// What happened.
    pub reason: PortReason,
    /// The port as it is now.
    pub port: Port,
}

impl PortStatus {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let reason = PortReason::from_wire(r.u8()?);
        r.skip(7)?;
        Ok(Self { reason, port: Port::read(r)? })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u8(self.reason.to_wire());
        w.zeros(7);
        self.port.write(w);
    }
}

/// A change of a port's behaviour (`ofp_port_mod`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortMod {
    /// The port.
    pub port_no: u32,
    /// Its MAC address, as a check that the right port is meant.
    pub hw_addr: [u8; 6],
    /// New values of the configuration bits.
    pub config: u32,
    /// Which of them to change.
    pub mask: u32,
    /// Features to advertise; 0 for no change.
    pub advertise: u32,
}

impl PortMod {
    pub(crate) fn read(r: &mut Reader<'_>) -> Result<Self, ErrorCode> {
        let port_no = r.u32()?;
        r.skip(4)?;
        let hw_addr = r.array()?;
        r.skip(2)?;
        let (config, mask, advertise) = (r.u32()?, r.u32()?, r.u32()?);
        r.skip(4)?;
        Ok(Self { port_no, hw_addr, config, mask, advertise })
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.u32(self.port_no);
        w.zeros(4);
        w.bytes(&self.hw_addr);
        w.zeros(2);
        w.u32(self.config);
        w.u32(self.mask);
        w.u32(self.advertise);
        w.zeros(4);
    }
}
