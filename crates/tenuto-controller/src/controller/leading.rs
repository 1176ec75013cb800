//! Roles of several controllers (OpenFlow 1.3.5, section 6.3.4).
//!
//! A switch is installed only once it has answered that this controller is its master in the generation in force. One that
//! knows a newer generation refuses (`OFPRRFC_STALE`), and one that has another master by now refuses commands
//! (`OFPBRC_IS_SLAVE`): either ends what is under way at that switch, and is told.

use super::{Channel, Controller};
use crate::events::{ConnId, ControllerEvent};
use crate::leadership::{Leadership, Standby};
use crate::outcome::error_name;
use crate::session::Refusal;
use crate::{ModeSettings, controller::targets};
use tenuto_model::SwitchDeployment;
use tenuto_openflow::{
    BadRequest, Body, ControllerRole, ErrorCode, Message, Role, RoleRequestFailed,
};
use tenuto_units::Instant;

impl Channel {
    /// The switch that it is of, once that is known.
    pub(super) fn dpid(&self) -> Option<u64> {
        let installed = self.switch.as_ref().map(|(dpid, _)| *dpid);
        installed.or_else(|| self.standby.map(|it| it.dpid))
    }
}

impl Controller {
    /// Whether it is one of several, and leads.
    pub const fn leadership(&self) -> Leadership {
        self.leadership
    }

    /// This controller leads from now on, by a generation above all before, and wants these deployments. Every switch is asked
    /// to take it as its master, then read, and changed where it differs.
    pub fn lead(
        &mut self,
        now: Instant,
        generation: u64,
        deployments: &[SwitchDeployment],
        modes: &ModeSettings,
    ) {
        self.leadership = Leadership::Leads { generation };
        let dpids: Vec<u64> = self.members.by_dpid.keys().copied().collect();
        self.members.begin_again(modes.clone());
        for (dpid, target) in targets(&dpids, deployments, modes, self.watches_links) {
            if let Some(member) = self.members.by_dpid.get_mut(&dpid) {
                member.target = target;
            }
        }
        self.stand_by(now);
    }

    /// Another controller leads: nothing is sent to any switch any more but a request to be its slave.
    pub fn follow(&mut self, now: Instant, generation: u64) {
        self.leadership = Leadership::Follows { generation };
        self.members.begin_again(self.members.modes.clone());
        self.stand_by(now);
    }

    fn stand_by(&mut self, now: Instant) {
        (self.change, self.is_ready) = (None, false);
        let conns: Vec<ConnId> = self.channels.keys().copied().collect();
        for conn in conns {
            let Some(channel) = self.channels.get_mut(&conn) else { continue };
            let Some(dpid) = channel.dpid() else { continue };
            (channel.switch, channel.activating) = (None, None);
            self.ask_for_role(conn, dpid);
            self.work(now, conn);
        }
    }

    /// Asks a switch for the role that this controller has to have there.
    pub(super) fn ask_for_role(&mut self, conn: ConnId, dpid: u64) {
        let Some(channel) = self.channels.get_mut(&conn) else { return };
        let role = match self.leadership {
            Leadership::Alone => None,
            // No generation is known: as a controller that is new is, neither master nor slave.
            Leadership::Follows { generation: 0 } => None,
            Leadership::Follows { generation } => Some((ControllerRole::Slave, generation)),
            Leadership::Leads { generation } => Some((ControllerRole::Master, generation)),
        };
        let role = role.map(|(role, generation_id)| Role { role, generation_id });
        let asked = role.and_then(|role| channel.session.send(Body::RoleRequest(role)));
        channel.standby = Some(Standby { dpid, asked });
    }

    /// Asks a switch again that had refused.
    pub(super) fn ask_again(&mut self, conn: ConnId) {
        let standby = self.channels.get(&conn).and_then(|channel| channel.standby);
        if let Some(Standby { dpid, asked: None }) = standby
            && self.leadership.is_leading()
        {
            self.ask_for_role(conn, dpid);
        }
    }

    /// A message of a switch that is not installed from here; the one that is waited for says which role this controller has.
    pub(super) fn on_standby(&mut self, conn: ConnId, message: &Message) {
        let Some(channel) = self.channels.get_mut(&conn) else { return };
        let Some(standby) = &mut channel.standby else { return };
        let Body::RoleReply(role) = &message.body else { return };
        if standby.asked.take_if(|xid| *xid == message.xid).is_none() {
            return;
        }
        let (dpid, wanted) = (standby.dpid, self.leadership);
        if let Leadership::Leads { generation } = wanted {
            if role.role == ControllerRole::Master {
                return self.install(conn, dpid);
            }
            let why = format!("it answers {role} to a master of generation {generation}");
            self.tell(ControllerEvent::RoleRefused { dpid, is_stale: false, why });
        }
    }

    /// Whether a refusal is of a role: of the request for it, or of a command for want of it.
    pub(super) fn refused_for_role(
        &mut self,
        now: Instant,
        conn: ConnId,
        refusal: &Refusal,
    ) -> bool {
        let Some(channel) = self.channels.get_mut(&conn) else { return false };
        let code = refusal.error.error();
        let is_slave = code == Some(ErrorCode::BadRequest(BadRequest::IsSlave));
        match (&mut channel.standby, &channel.switch) {
            (Some(standby), None) => {
                let is_answer = standby.asked.take_if(|xid| *xid == refusal.xid).is_some();
                let dpid = standby.dpid;
                if is_answer && self.leadership.is_leading() {
                    let is_stale =
                        code == Some(ErrorCode::RoleRequestFailed(RoleRequestFailed::Stale));
                    let why = error_name(&refusal.error);
                    self.tell(ControllerEvent::RoleRefused { dpid, is_stale, why });
                }
                true
            }
            (_, Some((dpid, _))) if is_slave && self.leadership != Leadership::Alone => {
                let dpid = *dpid;
                (channel.switch, channel.activating) = (None, None);
                channel.standby = Some(Standby { dpid, asked: None });
                if let Some(member) = self.members.by_dpid.get_mut(&dpid) {
                    (member.is_installed, member.has_joined) = (false, false);
                }
                self.is_ready = false;
                let why = error_name(&refusal.error);
                self.tell(ControllerEvent::RoleRefused { dpid, is_stale: true, why });
                self.change_lost(now, dpid);
                true
            }
            _ => false,
        }
    }
}
