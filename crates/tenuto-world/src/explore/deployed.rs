//! What a plan installs in its switches, over OpenFlow, at the start and after a loss of power.

use super::frames::Interned;
use super::ticked::ticked_config;
use super::{Settings, TICK};
use crate::assemble;
use std::sync::Arc;
use tenuto_controller::compile;
use tenuto_dataplane::switch::{HashKey, Mutant, Switch};
use tenuto_dataplane::{Effects, Frames};
use tenuto_model::{Plan, SwitchDeployment};
use tenuto_openflow::{Body, Experimenter, Message, ModesMessage};
use tenuto_units::Instant;

/// The switches of a plan, and the messages that install it.
#[derive(Debug)]
pub(crate) struct Deployed {
    plan: Plan,
    mutant: Mutant,
    /// Of it the keys of the links follow.
    secret: [u8; 16],
    bodies: Vec<Vec<Body>>,
}

impl Deployed {
    /// Of a plan that is in ticks already.
    pub(crate) fn new(plan: &Plan, settings: &Settings, secret: [u8; 16]) -> Self {
        let modes = assemble::mode_settings(plan, 1);
        let bodies = plan.switches.iter().map(|deployment| compile(deployment, &modes)).collect();
        Self { plan: plan.clone(), mutant: settings.mutant, secret, bodies }
    }

    /// Every switch with all that the plan installs, in the start mode.
    ///
    /// # Errors
    /// In words, if a switch refuses its deployment.
    pub(super) fn activated(&self, frames: &mut Interned) -> Result<Vec<Arc<Switch>>, String> {
        let activate = ModesMessage::ModeActivate { generation: 1, epoch: 1, level: 0 };
        let activate = Body::Experimenter(Experimenter::Modes(activate));
        let mut switches = Vec::new();
        for place in 0..self.plan.switches.len() {
            let mut switch = self.started(place, 1, Instant::ZERO, frames)?;
            if self.plan.network.modes.len() > 1 {
                install(&mut switch, std::slice::from_ref(&activate), Instant::ZERO, frames)?;
            }
            switches.push(Arc::new(switch));
        }
        Ok(switches)
    }

    /// A switch that has started for the `starts`-th time, with its tables; it has not joined.
    ///
    /// # Errors
    /// In words, if it refuses its deployment.
    pub(crate) fn started(
        &self,
        place: usize,
        starts: u8,
        now: Instant,
        frames: &mut impl Frames,
    ) -> Result<Switch, String> {
        let deployment: &SwitchDeployment = &self.plan.switches[place];
        // Numbers of signals grow from start to start, by more than one start can send.
        let boot_seed = 1 + u64::from(starts - 1) * TICK.as_ns();
        let key = HashKey::fixed();
        let config = assemble::switch_config(&self.plan, deployment, self.secret, boot_seed, key);
        let mut switch = Switch::new(ticked_config(&config));
        switch.set_mutant(self.mutant);
        install(&mut switch, &self.bodies[place], now, frames)?;
        Ok(switch)
    }
}

/// Sends messages to a switch as a controller does, and takes any error for a refusal.
fn install(
    switch: &mut Switch,
    bodies: &[Body],
    now: Instant,
    frames: &mut impl Frames,
) -> Result<(), String> {
    let mut fx = Effects::new();
    switch.connected(&mut fx);
    for (xid, body) in (1u32..).zip(bodies) {
        fx.control.clear();
        let bytes = Message { xid, body: body.clone() }.to_bytes();
        switch.control(now, &bytes, frames, &mut fx);
        let mut framer = tenuto_openflow::Framer::new();
        let _ = framer.push(&fx.control);
        while let Some(Ok(answer)) = framer.next() {
            if let Body::Error(error) = answer.body {
                return Err(format!("a switch refuses its deployment: {error:?} to {body:?}"));
            }
        }
    }
    switch.disconnected();
    Ok(())
}
