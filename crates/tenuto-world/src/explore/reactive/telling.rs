//! Steps in words, and between whom they are.

use super::super::frames::Interned;
use super::fixed::Fixed;
use super::packets::PacketName;
use super::trace::Action;
use super::world::World;
use tenuto_dataplane::Frames;
use tenuto_openflow::{Body, Message};
use tenuto_wire::CommandFrame;

impl World {
    /// The packet or message that an action is about to move, in words; none for the others.
    pub(super) fn note(
        &self,
        action: &Action,
        next: &Self,
        fixed: &Fixed,
        frames: &Interned,
    ) -> Option<String> {
        let of_host = |host: &str| {
            let place = fixed.host(host)?;
            let to = match action {
                Action::Emit { .. } => {
                    fixed.hosts[place].script.get(usize::from(self.sent[place]))?
                }
                _ => self.owed[place].front()?,
            };
            let name =
                |to: u16| fixed.hosts.get(usize::from(to)).map_or("the service", |it| &it.name);
            Some(format!("packet {} for {}", next.numbers[place], name(*to)))
        };
        let told = |body: &Body| Message::new(0, body.clone()).to_string();
        Some(match action {
            Action::Emit { host } | Action::Reply { host } => of_host(host)?,
            Action::Deliver { from, to }
            | Action::Lose { from, to }
            | Action::Double { from, to } => {
                let frame = *self.channels[fixed.link(from, to)?].front()?;
                describe(frames.bytes(frame), fixed)
            }
            Action::Decide { switch } => {
                told(&self.to_controller[fixed.place(switch)?].front()?.body)
            }
            Action::Obey { switch, answer } => {
                let sent = &self.to_switch[fixed.place(switch)?];
                told(&sent.iter().find(|sent| sent.answer == *answer)?.body)
            }
            _ => return None,
        })
    }

    /// Between whom an action is.
    pub(super) fn between(&self, action: &Action, fixed: &Fixed) -> Option<Vec<String>> {
        const CONTROLLER: &str = "controller";
        let both = |from: &str, to: &str| vec![from.to_owned(), to.to_owned()];
        Some(match action {
            Action::Emit { host } | Action::Reply { host } | Action::Move { host } => {
                let place = fixed.host(host)?;
                let is_moving = usize::from(matches!(action, Action::Move { .. }));
                let at = usize::from(self.places[place]) + is_moving;
                let (switch, _) = fixed.hosts[place].places.get(at)?;
                both(host, &fixed.switches[*switch].name)
            }
            Action::Deliver { from, to }
            | Action::Lose { from, to }
            | Action::Double { from, to }
            | Action::Cut { from, to } => {
                let link = &fixed.links[fixed.link(from, to)?];
                both(&fixed.switches[link.from].name, &fixed.switches[link.to].name)
            }
            Action::Decide { switch } => both(switch, CONTROLLER),
            Action::Obey { switch, .. } => both(CONTROLLER, switch),
            Action::HandOver { switch, .. }
            | Action::Expire { switch, .. }
            | Action::Fail { switch } => vec![switch.clone()],
            Action::Crash | Action::Timer { .. } => vec![CONTROLLER.to_owned()],
        })
    }
}

/// A frame in words.
fn describe(bytes: &[u8], fixed: &Fixed) -> String {
    match (CommandFrame::parse(bytes), PacketName::of(bytes)) {
        (Ok(command), _) => command.repr().to_string(),
        (_, Some(name)) => fixed.describe(name),
        _ => "a frame".to_owned(),
    }
}
