//! From a plan to nodes: what the cores are made of in every world.

use std::sync::Arc;
use tenuto_dataplane::EgressConfig;
use tenuto_dataplane::switch::{ClassifierKind, PortConfig, PortRole, SwitchConfig};
use tenuto_model::{MeterCounts, Plan, SwitchDeployment};
use tenuto_units::{Rate, Span};
use tenuto_wire::LinkKey;

/// Tables that a deployment uses: watch, police, forward.
const TABLES: u8 = 3;
/// Where a device states no buffer, more than any network of this field can queue.
const BUFFER_BITS_UNLIMITED: u64 = 1 << 40;
/// A mode leader repeats itself after this; well above any signal's way.
const MODE_RETRY: Span = Span::from_ms(50);

/// The key of a trunk, the same at both ends, from the secret of the run.
pub fn link_key(secret: [u8; 16], a: (&str, u32), b: (&str, u32)) -> LinkKey {
    use std::hash::Hasher;
    let (first, second) = if a < b { (a, b) } else { (b, a) };
    let mut key = [0; 16];
    for (half, salt) in key.chunks_mut(8).zip([0x6b65_7941_u64, 0x6b65_7942]) {
        let mut hasher = siphasher::sip::SipHasher24::new_with_key(&secret);
        hasher.write_u64(salt);
        for (node, port) in [first, second] {
            hasher.write(node.as_bytes());
            hasher.write_u8(0);
            hasher.write_u32(port);
        }
        half.copy_from_slice(&hasher.finish().to_be_bytes());
    }
    LinkKey::new(key)
}

/// What a switch is made of. `boot_seed` must grow from start to start of the same switch.
///
/// # Panics
/// If the deployment is not of this plan: its switch must be in the network.
pub fn switch_config(
    plan: &Plan,
    deployment: &SwitchDeployment,
    secret: [u8; 16],
    boot_seed: u64,
) -> Arc<SwitchConfig> {
    let switch = plan.network.switch(&deployment.switch).expect("a deployment names its switch");
    let profile = plan.network.profile_of(switch);
    let ports = deployment.ports.iter().map(|port| PortConfig {
        port: port.port,
        role: match port.role {
            tenuto_model::PortRole::Host => PortRole::Host,
            tenuto_model::PortRole::Trunk => PortRole::Trunk(link_key(
                secret,
                (&deployment.switch, port.port),
                (&port.peer, port.peer_port),
            )),
        },
        egress: egress(port.rate_bps, profile.queues_per_port, port.buffer_bytes),
    });
    Arc::new(SwitchConfig {
        datapath_id: deployment.datapath_id,
        ports: ports.collect(),
        tables: TABLES,
        entries_max: profile.entries_max as usize,
        meters_max: profile.meters_max as usize,
        groups_max: profile.groups_max as usize,
        meter_extra_bytes: match profile.meter_counts {
            MeterCounts::L2WithoutFcs => 0,
            MeterCounts::Frame => 4,
            MeterCounts::Wire => 24,
        },
        classifier: ClassifierKind::ByMask,
        boot_seed,
        mode_retry: MODE_RETRY,
    })
}

/// Queues and pacing of a port.
pub(crate) fn egress(rate_bps: u64, queues: u8, buffer_bytes: Option<u64>) -> EgressConfig {
    EgressConfig {
        rate: Rate::from_bps(rate_bps).expect("validation refuses links without rate"),
        queues,
        buffer_bits: buffer_bytes.map_or(BUFFER_BITS_UNLIMITED, |bytes| bytes * 8),
    }
}
