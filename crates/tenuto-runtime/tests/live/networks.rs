//! Networks to run, and what all tests need.

use std::path::PathBuf;
use tenuto_model::{
    Contract, Flow, Host, Link, LinkEnd, MatchKind, ModeReturn, Network, OtherTraffic, OutOfMode,
    Plan, Profile, Size, Switch, Target, Tolerates,
};
use tenuto_planner::{Options, plan};
use tenuto_runtime::{
    Allowances, HostService, SwitchProcesses, Ui, UpError, UpOptions, allowances,
};
use tenuto_units::Span;
use tenuto_world::ProgressRow;

const MS: u64 = 1_000_000;

/// Lateness that no test takes for its own fault; the machine is shared.
const STALL_NS: u64 = 20 * MS;

/// What a test does with each event of the run.
type Hearer = Box<dyn FnMut(&str)>;

/// Says what happens; `cargo test` shows it when a test fails.
#[derive(Default)]
pub(crate) struct Words {
    then: Option<Box<dyn FnMut()>>,
    heard: Option<Hearer>,
}

impl Words {
    /// Also does something as soon as traffic starts.
    pub(crate) fn at_start(then: impl FnMut() + 'static) -> Self {
        Self { then: Some(Box::new(then)), heard: None }
    }

    /// Hands on everything that happens in the run.
    pub(crate) fn hearing(heard: impl FnMut(&str) + 'static) -> Self {
        Self { then: None, heard: Some(Box::new(heard)) }
    }
}

impl Ui for Words {
    fn step(&mut self, text: &str) {
        println!("  {text}");
        if text.ends_with("traffic starts")
            && let Some(then) = &mut self.then
        {
            then();
        }
    }

    fn progress(&mut self, _rows: &[ProgressRow], _mode: &str, _elapsed: Span) {}

    fn event(&mut self, text: &str) {
        println!("  {text}");
        if let Some(heard) = &mut self.heard {
            heard(text);
        }
    }
}

/// An empty directory for one run.
pub(crate) fn run_dir(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tenuto-live-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&path).expect("a temporary directory");
    path
}

pub(crate) fn planned(network: &Network) -> Plan {
    let plan = plan(network, &Options::default());
    assert!(plan.feasible, "{:?}", plan.refusals);
    plan
}

pub(crate) fn options(plan: &Plan, name: &str) -> UpOptions {
    UpOptions {
        duration_ns: None,
        slow: 1,
        run_dir: run_dir(name),
        allowances: allowances_of(plan),
        seed: None,
        switches: SwitchProcesses::Apart,
    }
}

pub(crate) fn allowances_of(of: &Plan) -> Allowances {
    let planner = |network: &Network| plan(network, &Options::default());
    allowances(of, &HostService::stated(STALL_NS), &planner)
}

/// The outcome, or `None` after saying why nothing could run here.
pub(crate) fn possible<T>(test: &str, outcome: Result<T, UpError>) -> Option<T> {
    match outcome {
        Ok(outcome) => Some(outcome),
        Err(UpError::NotPermitted { right, .. }) => {
            println!("SKIPPED {test}: {right}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// `sensor` - `sw1` - ... - `display` in a row, with a message flow and a frame flow.
pub(crate) fn row(switches: usize) -> Network {
    let profile = Profile::built_in("tenuto").expect("a profile of ours");
    let switch = |n: usize| Switch {
        name: format!("sw{n}"),
        datapath_id: n as u64,
        profile: profile.name.clone(),
        network: None,
    };
    let host = |name: &str| Host { name: name.into() };
    let mut nodes = vec!["sensor".to_owned()];
    nodes.extend((1..=switches).map(|n| format!("sw{n}")));
    nodes.push("display".to_owned());
    let link = |(n, pair): (usize, &[String])| Link {
        a: LinkEnd { node: pair[0].clone(), port: if n == 0 { 1 } else { 2 } },
        b: LinkEnd { node: pair[1].clone(), port: 1 },
        rate_bps: 100_000_000,
        propagation_ns: 25,
    };
    Network {
        name: "row".into(),
        modes: vec!["normal".into()],
        networks: Vec::new(),
        hosts: vec![host("sensor"), host("display")],
        switches: (1..=switches).map(switch).collect(),
        controllers: Vec::new(),
        links: nodes.windows(2).enumerate().map(link).collect(),
        flows: vec![
            flow("speed", Size::MessageBytes(3_000), 10 * MS),
            flow("tick", Size::PayloadBytes(100), 5 * MS),
        ],
        other_traffic: OtherTraffic::Drop,
        mode_return: ModeReturn::default(),
        tolerates: Tolerates {
            babbling_hosts: 1,
            lost_signals: 0,
            controller_loss: true,
            links_lost: 0,
        },
        profiles: [(profile.name.clone(), profile)].into(),
    }
}

fn flow(name: &str, size: Size, period_ns: u64) -> Flow {
    Flow {
        name: name.into(),
        vl: None,
        source: "sensor".into(),
        targets: vec![Target {
            host: "display".into(),
            routes: vec![None],
            deadline_ns: vec![period_ns],
        }],
        level: 0,
        contracts: vec![Contract {
            period_ns,
            size,
            frame_bytes_min: None,
            jitter_ns: 0,
            priority: 1,
        }],
        matching: MatchKind::FiveTuple,
        out_of_mode: OutOfMode::Drop,
        monitor_at: Vec::new(),
        copies: Vec::new(),
        apart: tenuto_model::Apart::default(),
        skew_max_ns: None,
        udp_port: None,
    }
}

/// A network that the project ships.
pub(crate) fn shipped(name: &str) -> Network {
    struct Files(PathBuf);
    impl tenuto_model::Sources for Files {
        fn read(&self, path: &str) -> Result<String, String> {
            std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
        }
    }
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../networks"));
    let read = tenuto_model::read_network(&Files(folder), name);
    read.unwrap_or_else(|problems| panic!("{name}: {problems:?}")).0
}
