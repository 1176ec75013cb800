//! The bench of a switch that this machine is wired to.

use crate::args::{duration_ns, rate_bps};
use crate::failure::Failure;
use clap::Args as Flags;
use tenuto_runtime::profiling::{Channel, LiveRig, LiveRigSettings, StampsWanted};
use tenuto_runtime::standalone::{Endpoint, ListenAt};

/// Interfaces and the control connection.
#[derive(Debug, Flags)]
pub(crate) struct Bench {
    /// Interfaces wired to ports of the switch: frames go into the first and come out of the second
    #[arg(
        long,
        value_name = "IF1,IF2[,IF3]",
        requires = "live",
        conflicts_with = "device",
        value_delimiter = ','
    )]
    ports: Vec<String>,
    /// Where the switch calls its controller: [HOST:]PORT
    #[arg(long, value_name = "[HOST:]PORT", requires = "live", conflicts_with = "connect")]
    listen: Option<String>,
    /// Where the switch listens for its controller: HOST[:PORT]
    #[arg(long, value_name = "HOST[:PORT]", requires = "live")]
    connect: Option<String>,
    /// The switch that is meant, where others call too
    #[arg(long, value_name = "ID", requires = "live", value_parser = datapath_id)]
    datapath_id: Option<u64>,
    /// Rate of its ports; as the interfaces have it unless said
    #[arg(long, value_name = "RATE", requires = "live", value_parser = rate_bps)]
    rate: Option<u64>,
    /// Whose stamps are taken: those of the network device where it has them for all interfaces, else the kernel's
    #[arg(long, value_name = "WHOSE", requires = "live", default_value = "best", value_parser = ["best", "kernel", "device"])]
    stamps: String,
    /// The measurement ends by then, whatever is missing
    #[arg(long = "time", value_name = "TIME", requires = "live", default_value = "10min", value_parser = duration_ns)]
    pub(super) time_ns: u64,
}

/// Opens it; the switch is waited for later.
pub(super) fn rig<'p>(
    args: &Bench,
    progress: &'p mut dyn FnMut(&str, u32),
) -> Result<LiveRig<'p>, Failure> {
    let bad = |message: String, hint: &str| Failure::input(message, None, Some(hint));
    if args.ports.len() < 2 {
        let hint =
            "name two interfaces that are wired to two ports of the switch: --ports eth1,eth2";
        return Err(bad("--ports has one interface".into(), hint));
    }
    for (place, name) in args.ports.iter().enumerate() {
        if args.ports[..place].contains(name) {
            return Err(bad(
                format!("--ports names {name} twice"),
                "each is wired to another port",
            ));
        }
    }
    let channel = match (&args.listen, &args.connect) {
        (_, Some(text)) => {
            let endpoint = Endpoint::parse(&format!("tcp:{text}"));
            Channel::Calling(endpoint.map_err(|it| bad(format!("--connect {it}"), "HOST[:PORT]"))?)
        }
        (listen, None) => {
            let text = listen.as_deref().unwrap_or("6653");
            let at = ListenAt::parse(&format!("ptcp:{text}"));
            let at = at.map_err(|it| bad(format!("--listen {it}"), "[HOST:]PORT"))?;
            let hint = "name an address of this machine, and a port that is free";
            Channel::listen(&at).map_err(|error| bad(error.to_string(), hint))?
        }
    };
    let stamps = match args.stamps.as_str() {
        "kernel" => StampsWanted::Kernel,
        "device" => StampsWanted::Device,
        _ => StampsWanted::Best,
    };
    let settings = LiveRigSettings {
        ports: args.ports.clone(),
        datapath_id: args.datapath_id,
        rate_bps: args.rate,
        stamps,
    };
    LiveRig::open(&settings, channel, progress).map_err(|error| {
        let hint = "interfaces are opened as packet sockets: root, or CAP_NET_RAW";
        bad(error.to_string(), hint)
    })
}

/// A datapath id, decimal or hexadecimal with 0x.
fn datapath_id(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "a datapath id is a number of 64 bits: 42, or 0x2a".into())
}

#[cfg(test)]
mod tests {
    use super::datapath_id;

    #[test]
    fn a_datapath_id_is_decimal_or_hexadecimal() {
        assert_eq!((datapath_id("42"), datapath_id("0x2a")), (Ok(42), Ok(42)));
        for text in ["", "0x", "2a", "-1", "0x1ffffffffffffffff"] {
            assert!(datapath_id(text).is_err(), "{text}");
        }
    }
}
