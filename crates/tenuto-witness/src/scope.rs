//! The hops that can matter for one row: its own way, and what feeds it.
//!
//! A port can delay the victim if the victim passes it, or if a released flow passes it on the way to such a
//! port. What happens elsewhere reaches none of these: frames leave them and do not come back. Playing these
//! hops only therefore shows the same delay as playing all of them.

use crate::layout::Layout;

/// Flows up to which every flow that can matter indirectly is released too.
const INDIRECT_FLOWS_MAX: usize = 48;

/// What a play is limited to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// By hop: whether frames are played there.
    pub(crate) hops: Vec<bool>,
    /// By flow: whether its releases can matter.
    is_near: Vec<bool>,
}

impl Scope {
    /// All hops of a plan, and all its flows.
    pub fn everything(layout: &Layout) -> Self {
        Self { hops: vec![true; layout.hops.len()], is_near: vec![true; layout.flows.len()] }
    }

    /// What can matter for frames that pass these hops. In large networks only flows that share a port with
    /// them are released: a schedule may leave any flow silent.
    pub fn of(layout: &Layout, path: &[usize]) -> Self {
        let mut ports = vec![false; layout.ports.len()];
        for &hop in path {
            ports[layout.hops[hop].port] = true;
        }
        let mut near = Self::passing(layout, &ports);
        feed(layout, &mut ports, &near);
        loop {
            let wider = Self::passing(layout, &ports);
            let count = wider.iter().filter(|it| **it).count();
            if wider == near || count > INDIRECT_FLOWS_MAX {
                break;
            }
            near = wider;
            feed(layout, &mut ports, &near);
        }
        let hops = layout.hops.iter().map(|it| near[it.flow] && ports[it.port]).collect();
        Self { hops, is_near: near }
    }

    /// Flows whose releases can matter.
    pub fn flows(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.is_near.len()).filter(|&it| self.is_near[it])
    }

    fn passing(layout: &Layout, ports: &[bool]) -> Vec<bool> {
        let passes = |it: usize| ports[layout.hops[it].port];
        layout.flows.iter().map(|flow| flow.hops.clone().any(passes)).collect()
    }
}

/// Adds the ports by which these flows come to the ports that are there already.
fn feed(layout: &Layout, ports: &mut [bool], flows: &[bool]) {
    let mut changed = true;
    while changed {
        changed = false;
        for hop in layout.hops.iter().filter(|it| flows[it.flow]) {
            let before = hop.before.map(|it| layout.hops[it].port);
            if let Some(before) = before.filter(|&it| ports[hop.port] && !ports[it]) {
                ports[before] = true;
                changed = true;
            }
        }
    }
}
