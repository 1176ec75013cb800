//! Flags that `sim --app` and `explore --app` share: the application, how switches are told, what hosts do.

use super::app::{application_on, setting};
use crate::failure::Failure;
use crate::load;
use clap::builder::PossibleValuesParser;
use std::path::Path;
use tenuto_controller::reactive::ReactiveApp;
use tenuto_model::{Link, LinkEnd, Network};
use tenuto_world::explore::reactive::{Move, Protocol, Send};

/// What runs on the switches of a network, and what its hosts do.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Options of an application (--app)")]
pub(crate) struct OnNetwork {
    /// A setting of the application, such as idle=30; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting, requires = "app")]
    pub(crate) app_set: Vec<(String, String)>,
    /// How switches are told: openflow, openflow-barrier or attendre
    #[arg(long, value_name = "PROTOCOL", value_parser = PossibleValuesParser::new(
        Protocol::ALL.map(Protocol::name)), default_value = "openflow")]
    pub(crate) protocol: String,
    /// N packets from a host to another, 1 unless said; may be repeated. Without any, the first host sends 2
    /// to the last, which replies
    #[arg(long, value_name = "FROM:TO[=N]", value_parser = send, requires = "app")]
    pub(crate) send: Vec<Send>,
    /// This host replies to each packet that it gets; may be repeated
    #[arg(long, value_name = "HOST", requires = "app")]
    pub(crate) reply: Vec<String>,
}

/// `FROM:TO` or `FROM:TO=N`.
fn send(text: &str) -> Result<Send, String> {
    let (pair, count) = text.split_once('=').unwrap_or((text, "1"));
    let meant = || format!("`{text}`: FROM:TO=N is meant, such as h1:h2=3");
    let (from, to) = pair.split_once(':').ok_or_else(meant)?;
    let packets = count.parse().ok().filter(|count| *count > 0).ok_or_else(meant)?;
    Ok(Send { from: from.to_owned(), to: to.to_owned(), packets })
}

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
