//! What `sim --app` and `explore --app` share: the application, how switches are told, what hosts do.

use super::app::application_on;
use crate::args::OnNetwork;
use crate::failure::Failure;
use crate::load;
use std::path::Path;
use tenuto_controller::reactive::ReactiveApp;
use tenuto_model::{Link, LinkEnd, Network};
use tenuto_world::explore::reactive::{Move, Protocol, Send};

impl OnNetwork {
    pub(crate) fn protocol(&self) -> Protocol {
        let named = Protocol::ALL.into_iter().find(|it| it.name() == self.protocol);
        named.unwrap_or_default()
    }

    /// What hosts send, and which reply.
    pub(crate) fn traffic(&self, network: &Network) -> Result<(Vec<Send>, Vec<String>), Failure> {
        if !self.send.is_empty() {
            return Ok((self.send.clone(), self.reply.clone()));
        }
        let [first, .., last] = &network.hosts[..] else {
            let why = "this network has fewer than two hosts: nobody sends to anybody";
            return Err(Failure::input(why, None, None));
        };
        let send = Send { from: first.name.clone(), to: last.name.clone(), packets: 2 };
        let replies =
            if self.reply.is_empty() { vec![last.name.clone()] } else { self.reply.clone() };
        Ok((vec![send], replies))
    }

    /// The MAC address that a load balancer serves, as its settings say.
    pub(crate) fn service(&self) -> Option<[u8; 6]> {
        let (_, text) = self.app_set.iter().find(|(key, _)| key == "service")?;
        let bytes: Option<Vec<u8>> =
            text.split(':').map(|part| u8::from_str_radix(part, 16).ok()).collect();
        bytes?.try_into().ok()
    }
}

/// The network of a file and the application for it. Ports that hosts may move to are ports of hosts for the
/// application too.
pub(crate) fn read(
    input: &Path,
    name: &str,
    args: &OnNetwork,
    moves: &[Move],
    is_checked: bool,
) -> Result<(Network, Box<dyn ReactiveApp>), Failure> {
    let network = load::network(input)?;
    let mut told = network.clone();
    told.links.extend(moves.iter().filter_map(|it| second_place(&network, it)));
    let app = application_on(name, &args.app_set, Some(&told), is_checked)?;
    Ok((network, app))
}

fn second_place(network: &Network, it: &Move) -> Option<Link> {
    let home =
        network.links.iter().find(|link| link.a.node == it.host || link.b.node == it.host)?;
    let port = if home.a.node == it.host { home.a.port } else { home.b.port };
    let a = LinkEnd { node: it.host.clone(), port };
    Some(Link { a, b: LinkEnd { node: it.switch.clone(), port: it.port }, ..*home })
}
