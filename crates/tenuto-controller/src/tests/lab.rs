//! A controller and its switches, their bytes carried to and fro, and the clock moved by hand.

use super::fake_switch::FakeSwitch;
use crate::{
    ConnId, Controller, ControllerConfig, ControllerEvent, ControllerLimits, ControllerTimer,
    InstallKind, ModeSettings,
};
use core::net::IpAddr;
use std::collections::BTreeMap;
use tenuto_model::{
    EntrySpec, GroupOutput, GroupSpec, LevelContract, MatchSpec, MeterSpec, MonitorKind,
    MonitorSpec, OutputSpec, SwitchDeployment,
};
use tenuto_units::Instant;

#[derive(Clone)]
pub(super) struct Lab {
    pub(super) controller: Controller,
    pub(super) switches: BTreeMap<ConnId, FakeSwitch>,
    pub(super) now: Instant,
    pub(super) events: Vec<ControllerEvent>,
    conn_next: u64,
}

pub(super) fn modes(levels: u8, members: &[u64]) -> ModeSettings {
    ModeSettings {
        generation: 3,
        levels,
        quiet_ns: 500_000_000,
        signal_copies: 2,
        dwell_ns: 100_000_000,
        members: members.to_vec(),
    }
}

pub(super) fn entry(table: u8, level: Option<u8>, precedence: u16, cookie: u64) -> EntrySpec {
    EntrySpec {
        table,
        level,
        precedence,
        cookie,
        flow: (cookie > 0).then(|| format!("F{cookie}")),
        matching: MatchSpec {
            in_port: Some(1),
            eth_type: Some(0x0800),
            ip_src: Some([10, 0, 0, 1]),
            ip_dst: Some([10, 0, 0, 2]),
            ip_proto: Some(17),
            udp_dst: Some(7000 + u16::try_from(cookie).expect("cookies of tests are small")),
            ..MatchSpec::default()
        },
        monitor: None,
        meter: None,
        output: None,
        goto: None,
    }
}

pub(super) fn output(port: u32, queue: u8) -> GroupOutput {
    GroupOutput { port, queue }
}

/// Two flows, one of them watched, in two levels; what is not known is dropped.
pub(super) fn deployment(dpid: u64) -> SwitchDeployment {
    let contract = |level, bytes_max| {
        let (period_ns, jitter_ns) = (25_000_000, 1_000);
        LevelContract { level, bytes_max, period_ns, jitter_ns }
    };
    let watch = EntrySpec { monitor: Some(1), goto: Some(1), ..entry(0, None, 100, 1) };
    let miss = EntrySpec { matching: MatchSpec::default(), goto: Some(1), ..entry(0, None, 0, 0) };
    let police = |level, cookie, meter| EntrySpec {
        meter: Some(meter),
        goto: Some(2),
        ..entry(1, Some(level), 100, cookie)
    };
    let forward = |level, cookie, output| EntrySpec {
        output: Some(output),
        ..entry(2, Some(level), 100, cookie)
    };
    let drop = |level| EntrySpec { ..entry(1, Some(level), 90, 2) };
    SwitchDeployment {
        switch: format!("sw{dpid}"),
        datapath_id: dpid,
        entries: vec![
            watch,
            miss,
            police(0, 1, 1),
            police(0, 2, 2),
            forward(0, 1, OutputSpec::Port(output(2, 1))),
            forward(0, 2, OutputSpec::Group(1)),
            police(1, 1, 1),
            drop(1),
            forward(1, 1, OutputSpec::Port(output(2, 0))),
        ],
        groups: vec![GroupSpec { id: 1, outputs: vec![output(2, 1), output(3, 2)] }],
        meters: vec![
            MeterSpec { id: 1, flow: Some("F1".into()), rate_bps: 5_000_000, burst_bytes: 8_000 },
            MeterSpec { id: 2, flow: Some("F2".into()), rate_bps: 100_001, burst_bytes: 1_519 },
        ],
        monitors: vec![MonitorSpec {
            id: 1,
            flow: "F1".into(),
            kind: MonitorKind::Message,
            contracts: vec![contract(0, 8_000), contract(1, 16_000)],
        }],
        ..SwitchDeployment::default()
    }
}

/// `deployment` without anything that plain OpenFlow lacks.
pub(super) fn plain_deployment(dpid: u64) -> SwitchDeployment {
    let mut plain = deployment(dpid);
    plain.monitors.clear();
    (plain.meters[1].rate_bps, plain.meters[1].burst_bytes) = (101_000, 1_625);
    plain.entries.retain(|entry| entry.level != Some(1));
    plain.entries.iter_mut().for_each(|entry| entry.monitor = None);
    plain
}

impl Lab {
    pub(super) fn new(dpids: &[u64]) -> Self {
        Self::of(dpids.iter().map(|&dpid| deployment(dpid)).collect(), modes(2, dpids))
    }

    pub(super) fn of(deployments: Vec<SwitchDeployment>, modes: ModeSettings) -> Self {
        Self::with_limits(deployments, modes, ControllerLimits::default())
    }

    pub(super) fn with_limits(
        deployments: Vec<SwitchDeployment>,
        modes: ModeSettings,
        limits: ControllerLimits,
    ) -> Self {
        let manages = deployments.iter().map(|deployment| deployment.datapath_id).collect();
        let name = "c1".into();
        let config = ControllerConfig {
            name,
            manages,
            deployments,
            modes,
            start_level: 0,
            epoch: 1,
            limits,
            ..ControllerConfig::default()
        };
        Self::with_config(config)
    }

    pub(super) fn with_config(config: ControllerConfig) -> Self {
        Self {
            controller: Controller::new(config),
            switches: BTreeMap::new(),
            now: Instant::from_ns(1_000_000_000),
            events: Vec::new(),
            conn_next: 1,
        }
    }

    pub(super) fn connect(&mut self, switch: FakeSwitch) -> ConnId {
        let conn = self.next_conn();
        self.controller.connected(self.now, conn);
        self.join(conn, switch)
    }

    /// Connects a switch from an address that the controller is told.
    pub(super) fn connect_from(&mut self, source: IpAddr, switch: FakeSwitch) -> ConnId {
        let conn = self.next_conn();
        self.controller.connected_from(self.now, conn, source);
        self.join(conn, switch)
    }

    /// The number of the next connection.
    pub(super) fn next_conn(&mut self) -> ConnId {
        self.conn_next += 1;
        ConnId(self.conn_next - 1)
    }

    fn join(&mut self, conn: ConnId, mut switch: FakeSwitch) -> ConnId {
        switch.reconnect();
        self.switches.insert(conn, switch);
        conn
    }

    /// The transport is cut; what was under way is lost.
    pub(super) fn cut(&mut self, conn: ConnId) -> FakeSwitch {
        self.controller.closed(self.now, conn);
        self.collect();
        self.switches.remove(&conn).expect("a connected switch")
    }

    fn collect(&mut self) {
        self.events.extend(std::iter::from_fn(|| self.controller.next_event()));
    }

    /// Carries bytes once each way; whether there were any.
    pub(super) fn exchange(&mut self) -> bool {
        let mut any = false;
        for (&conn, switch) in &mut self.switches {
            let bytes = switch.take_output();
            if !bytes.is_empty() {
                any = true;
                self.controller.received(self.now, conn, &bytes);
            }
            if let Some(output) = self.controller.output(conn)
                && !output.is_empty()
            {
                any = true;
                switch.receive(&std::mem::take(output));
            }
        }
        self.collect();
        any
    }

    /// Carries bytes until none are left, waiting for turns.
    pub(super) fn settle(&mut self) {
        for _ in 0..100_000 {
            if self.exchange() {
                continue;
            }
            let mut turn = None;
            self.controller.for_each_deadline(|timer, at| {
                if matches!(timer, ControllerTimer::Install(_, crate::InstallTimer::Turn)) {
                    turn = turn.or(Some((timer, at)));
                }
            });
            let Some((timer, at)) = turn else { return };
            self.now = self.now.max(at);
            self.controller.fire(timer, self.now);
        }
        panic!("the controller never settles");
    }

    pub(super) fn switch(&mut self, conn: ConnId) -> &mut FakeSwitch {
        self.switches.get_mut(&conn).expect("a connected switch")
    }

    pub(super) fn installed(&self) -> Vec<(u64, InstallKind)> {
        let kind = |event: &ControllerEvent| match event {
            ControllerEvent::Installed { dpid, kind } => Some((*dpid, *kind)),
            _ => None,
        };
        self.events.iter().filter_map(kind).collect()
    }

    pub(super) fn ready(&self) -> usize {
        self.events.iter().filter(|event| **event == ControllerEvent::Ready).count()
    }

    /// The events as people read them.
    pub(super) fn told(&self) -> String {
        self.events.iter().map(|event| format!("{event}\n")).collect()
    }
}
