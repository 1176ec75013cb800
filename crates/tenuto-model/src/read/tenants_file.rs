//! The file of a tenants' host: whose controllers run on this machine, in what and with how much.

use super::reader::{Field, Reader};
use super::receive_path::{NicReceive, read_receive};
use super::tenant_environment::{Environment, Microvm, read_environment};
use super::tenant_text::{JudgeTenant, TenantText, judged};
use crate::quantity::{QuantityError, parse_rate_bps, parse_size_bytes, parse_time_ns};
use crate::yaml::Place;
use crate::{Diagnostics, Severity};
use std::net::Ipv4Addr;

/// Tenants of one file at most: each has addresses, a user and a few processes of its own.
pub const TENANTS_MAX: usize = 200;
/// Least memory of a tenant: a shell, its libraries and the sandbox's own process fit.
const MEMORY_BYTES_MIN: u64 = 4_000_000;
/// A whole core, in thousandths.
const CORE: u64 = 1_000;

/// A file of tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantsFile {
    /// What people call this host of tenants; part of the names of its groups and interfaces.
    pub name: String,
    /// File of the slices of the switch that they share, beside this file.
    pub slices: Option<String>,
    /// The tenants, in the order of the file.
    pub tenants: Vec<Tenant>,
}

/// One tenant: a program, what it runs in, and its limits. What the file leaves out is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Its name, unique in the file.
    pub name: String,
    /// What it runs in.
    pub environment: Environment,
    /// Program, by its absolute path, and arguments.
    pub program: Vec<String>,
    /// Variables of its environment, besides PATH, HOME and LANG.
    pub variables: Vec<(String, String)>,
    /// Further files and folders that it sees, read-only, at their own place.
    pub files: Vec<String>,
    /// A folder of the host that it may write to, seen as /data; without it /data is in memory.
    pub data: Option<String>,
    /// Most processor time, in thousandths of a core.
    pub cores_milli: Option<u64>,
    /// Processors that it may run on.
    pub pinned: Option<Vec<u32>>,
    /// Most memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Most processes and threads at a time.
    pub processes: Option<u32>,
    /// Most frames in a second, each way.
    pub rate_packets: Option<u64>,
    /// Most bits in a second, each way.
    pub rate_bps: Option<u64>,
    /// Its virtual NIC; without one it has no network.
    pub nic: Option<TenantNic>,
    /// How frames for it are received.
    pub receive: NicReceive,
    /// When it is started again.
    pub restart: Restart,
    /// Longest pause before it is started again, nanoseconds.
    pub backoff_max_ns: u64,
    /// Bytes of its log that are kept.
    pub log_bytes: u64,
    /// Its slice of the switch.
    pub slice: Option<String>,
}

/// The virtual NIC of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantNic {
    /// The tenant's address.
    pub address: Ipv4Addr,
    /// Length of its prefix.
    pub prefix_bits: u8,
    /// The host's end.
    pub host: Ipv4Addr,
    /// TCP ports at which switches reach the controller.
    pub control: Vec<u16>,
}

/// When a tenant is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Whenever it ends.
    Always,
    /// When it ends by a signal or with another exit code than 0.
    OnFailure,
    /// Never.
    Never,
}

const KEYS: [&str; 4] = ["tenuto_tenants", "name", "slices", "tenants"];
const TENANT_KEYS: [&str; 18] = [
    "program",
    "environment",
    "kernel",
    "variables",
    "files",
    "data",
    "cores",
    "pinned",
    "memory",
    "processes",
    "rate",
    "address",
    "control",
    "receive",
    "restart",
    "backoff_max",
    "log",
    "slice",
];

/// Reads a file of tenants.
///
/// # Errors
/// Every problem of the file, not only the first.
pub fn read_tenants(
    text: &str,
    path: &str,
    judge: JudgeTenant<'_>,
) -> Result<TenantsFile, Diagnostics> {
    let mut reader = Reader::default();
    let documents = reader.parse(path, text);
    let Some(node) = documents.iter().find(|node| node.get("tenuto_tenants").is_some()) else {
        let place = documents.first().map_or_else(Place::default, |document| document.place);
        let hint = Some("a file of tenants starts with `tenuto_tenants: 1`".to_owned());
        let message = "there are no tenants in this file".to_owned();
        reader.report(Severity::Error, place, "", message, hint);
        return Err(reader.diagnostics);
    };
    reader.expect_one(&documents);
    let top = Field { node, path: String::new() };
    let file = read_top(&mut reader, &top, judge);
    reader.finish(file).map(|(file, _)| file)
}

fn read_top(reader: &mut Reader, top: &Field<'_>, judge: JudgeTenant<'_>) -> Option<TenantsFile> {
    reader.expect_map(top, &KEYS);
    if let Some(version) = top.get("tenuto_tenants")
        && reader.text(&version).is_some_and(|text| text != "1")
    {
        reader.error(&version, "this version of the format is not known", "write 1");
    }
    let name = match top.get("name") {
        Some(field) => reader.text(&field).filter(|name| is_good_name(reader, name, &field)),
        None => Some("tenants"),
    };
    let Some(list) = top.get("tenants") else {
        reader.error(top, "there is no tenant", "add `tenants: {blue: {program: [/bin/…]}}`");
        return None;
    };
    if list.pairs().is_empty() {
        reader.error(&list, "there is no tenant", "write `blue: {program: [/bin/…]}`");
    }
    if list.pairs().len() > TENANTS_MAX {
        let message = format!("{} tenants, at most {TENANTS_MAX}", list.pairs().len());
        reader.error(&list, &message, "make two files");
    }
    let pairs = list.pairs();
    let read: Vec<_> = pairs
        .iter()
        .map(|(name, field)| (field, read_tenant(reader, name, field, judge)))
        .collect();
    check_apart(reader, &read);
    let slices = top.get("slices").and_then(|f| reader.text(&f)).map(str::to_owned);
    if slices.is_none() {
        let with_slice = read.iter().filter_map(|(field, _)| field.get("slice"));
        for field in with_slice {
            reader.error(
                &field,
                "the file names no slices",
                "add `slices: slices.yaml` at the top",
            );
        }
    }
    let tenants = read.into_iter().filter_map(|(_, tenant)| tenant).collect();
    Some(TenantsFile { name: name?.to_owned(), slices, tenants })
}

/// Whether a name can be that of a folder, of a control group and of an interface; otherwise an error.
fn is_good_name(reader: &mut Reader, name: &str, field: &Field<'_>) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_good = (1..=24).contains(&name.len()) && name.chars().all(plain);
    let is_good = is_good && !name.starts_with('-');
    if !is_good {
        let message = format!("`{}` cannot be a name here", super::reader::shown(name));
        reader.error(field, &message, "write 1 to 24 small letters, digits and `-`");
    }
    is_good
}

fn read_tenant(
    reader: &mut Reader,
    name: &str,
    field: &Field<'_>,
    judge: JudgeTenant<'_>,
) -> Option<Tenant> {
    reader.expect_map(field, &TENANT_KEYS);
    let is_good = is_good_name(reader, name, field);
    let environment = read_environment(reader, field, judge);
    let least = match environment {
        Environment::Sandbox => MEMORY_BYTES_MIN,
        Environment::Microvm(_) => Microvm::MEMORY_BYTES_MIN,
    };
    let program = read_program(reader, field, judge);
    let backoff = field.get("backoff_max").and_then(|f| read_backoff(reader, &f));
    let log = field.get("log").and_then(|f| bounded_size(reader, &f, 4_000, 1_000_000_000));
    let restarts = [
        ("always", Restart::Always),
        ("on-failure", Restart::OnFailure),
        ("never", Restart::Never),
    ];
    let rate = field.get("rate");
    if let Some(rate) = &rate {
        reader.expect_map(rate, &["packets", "bits"]);
    }
    let of_rate = |key: &str| rate.as_ref().and_then(|rate| rate.get(key));
    let tenant = Tenant {
        name: name.to_owned(),
        environment,
        program: program.unwrap_or_default(),
        variables: read_variables(reader, field),
        files: read_files(reader, field, judge),
        data: field.get("data").and_then(|f| {
            let path = absolute(reader, &f)?;
            judged(reader, &f, judge, TenantText::Data, &path).then_some(path)
        }),
        cores_milli: field.get("cores").and_then(|f| read_cores(reader, &f)),
        pinned: field.get("pinned").and_then(|f| read_pinned(reader, &f, judge)),
        memory_bytes: field
            .get("memory")
            .and_then(|f| bounded_size(reader, &f, least, 1_000_000_000_000_000)),
        processes: field
            .get("processes")
            .and_then(|f| reader.number(&f, 1, 100_000))
            .and_then(|n| u32::try_from(n).ok()),
        rate_packets: of_rate("packets").and_then(|f| reader.quantity(&f, parse_packets)),
        rate_bps: of_rate("bits").and_then(|f| read_bits(reader, &f)),
        nic: read_nic(reader, field),
        receive: read_receive(reader, field, judge),
        restart: field
            .get("restart")
            .and_then(|f| reader.choice(&f, &restarts))
            .unwrap_or(Restart::OnFailure),
        backoff_max_ns: backoff.unwrap_or(30_000_000_000),
        log_bytes: log.unwrap_or(1_000_000),
        slice: field.get("slice").and_then(|f| reader.text(&f)).map(str::to_owned),
    };
    if let Some(rate) = rate.filter(|_| field.get("address").is_none()) {
        reader.error(&rate, "a tenant without an address has no virtual NIC", "add `address`");
    }
    (is_good && !tenant.program.is_empty()).then_some(tenant)
}

fn read_program(
    reader: &mut Reader,
    field: &Field<'_>,
    judge: JudgeTenant<'_>,
) -> Option<Vec<String>> {
    let hint = "write `program: [/usr/bin/ovs-testcontroller, \"ptcp:6653\"]`";
    let Some(program) = field.get("program") else {
        reader.error(field, "this tenant has no program", hint);
        return None;
    };
    let words: Vec<String> = reader.texts(&program)?.into_iter().map(str::to_owned).collect();
    if !words.first().is_some_and(|first| first.starts_with('/')) {
        reader.error(&program, "the program is not named by its absolute path", hint);
        return None;
    }
    judged(reader, &program, judge, TenantText::Program, &words[0]).then_some(words)
}

fn read_variables(reader: &mut Reader, of: &Field<'_>) -> Vec<(String, String)> {
    let Some(field) = of.get("variables") else { return Vec::new() };
    let pairs = field.pairs();
    if pairs.is_empty() && !field.is_null() {
        reader.error(&field, "there is no variable", "write {NAME: value}");
    }
    let mut variables = Vec::new();
    for (name, value) in pairs {
        if name.is_empty() || name.contains('=') {
            reader.error(&value, "this is no name of a variable", "write letters and `_`");
        }
        variables.extend(reader.text(&value).map(|text| (name.to_owned(), text.to_owned())));
    }
    variables
}

fn absolute(reader: &mut Reader, field: &Field<'_>) -> Option<String> {
    let text = reader.text(field)?;
    let is_whole = text.starts_with('/') && !text.split('/').any(|part| part == "..");
    if !is_whole {
        reader.error(field, "this is not an absolute path", "begin with `/`, without `..`");
        return None;
    }
    Some(text.to_owned())
}

fn read_files(reader: &mut Reader, of: &Field<'_>, judge: JudgeTenant<'_>) -> Vec<String> {
    let items = of.get("files").and_then(|field| reader.list(&field)).unwrap_or_default();
    let mut files = Vec::new();
    for item in &items {
        let Some(path) = absolute(reader, item) else { continue };
        if ["/", "/proc", "/dev", "/sys", "/tmp", "/data", "/etc", "/run"].contains(&path.as_str())
        {
            let message = format!("`{path}` is not handed to tenants as a whole");
            reader.error(item, &message, "name the files or folders below it that are needed");
            continue;
        }
        if judged(reader, item, judge, TenantText::File, &path) {
            files.push(path);
        }
    }
    files
}

fn read_cores(reader: &mut Reader, field: &Field<'_>) -> Option<u64> {
    let text = reader.text(field)?;
    let milli = milli(text).filter(|milli| (10..=CORE * 1_024).contains(milli));
    if milli.is_none() {
        let message = format!("`{text}` is not a number of cores from 0.01 to 1024");
        reader.error(field, &message, "write 2, or 0.5 for half the time of one");
    }
    milli
}

/// Thousandths of a decimal number with up to three places.
fn milli(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 3 || !digits(whole) || !digits(part) {
        return None;
    }
    let thousandths = format!("{part:0<3}").parse::<u64>().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(CORE)?.checked_add(thousandths)
}

fn read_pinned(reader: &mut Reader, field: &Field<'_>, judge: JudgeTenant<'_>) -> Option<Vec<u32>> {
    let items = reader.list(field)?;
    if items.is_empty() {
        reader.error(field, "no processor is left", "write [0], or leave it out");
        return None;
    }
    let numbers = items.iter().filter_map(|item| {
        let number = reader.number(item, 0, 1_023)?;
        let text = number.to_string();
        judged(reader, item, judge, TenantText::Processor, &text).then_some(number)
    });
    let mut pinned: Vec<u32> = numbers.filter_map(|n| u32::try_from(n).ok()).collect();
    pinned.sort_unstable();
    pinned.dedup();
    Some(pinned)
}

fn bounded_size(reader: &mut Reader, field: &Field<'_>, min: u64, max: u64) -> Option<u64> {
    let bytes = reader.quantity(field, parse_size_bytes)?;
    if !(min..=max).contains(&bytes) {
        let sizes = [min, max].map(crate::quantity::format_size);
        let message = format!("{bytes} B is not from {} to {}", sizes[0], sizes[1]);
        reader.error(field, &message, &format!("write {} or more", sizes[0]));
        return None;
    }
    Some(bytes)
}

fn read_backoff(reader: &mut Reader, field: &Field<'_>) -> Option<u64> {
    let ns = reader.quantity(field, parse_time_ns)?;
    if ns < 100_000_000 {
        reader.error(field, "a pause is at least 100 ms", "write 30 s");
        return None;
    }
    Some(ns)
}

fn read_bits(reader: &mut Reader, field: &Field<'_>) -> Option<u64> {
    let bps = reader.quantity(field, parse_rate_bps)?;
    if bps < 100_000 {
        reader.error(field, "a full frame takes more than a tenth of a second", "write 1 Mbit/s");
        return None;
    }
    Some(bps)
}

/// Frames in a second: `20000 /s`.
fn parse_packets(text: &str) -> Result<u64, QuantityError> {
    let number = text.strip_suffix("/s").map(|digits| digits.trim_end().parse::<u64>());
    match number {
        Some(Ok(rate)) if (10..=100_000_000).contains(&rate) => Ok(rate),
        Some(Ok(rate)) => Err(QuantityError {
            message: format!("{rate} frames in a second are not from 10 to 100000000"),
            hint: "write 20000 /s, or leave it out for no limit".to_owned(),
        }),
        _ => Err(QuantityError {
            message: format!("`{}` is no rate of frames", super::reader::shown(text)),
            hint: "write 20000 /s".to_owned(),
        }),
    }
}

fn read_nic(reader: &mut Reader, field: &Field<'_>) -> Option<TenantNic> {
    let control = field.get("control");
    let Some(address) = field.get("address") else {
        if let Some(control) = control {
            reader.error(&control, "a tenant without an address has no port", "add `address`");
        }
        return None;
    };
    let ports = control.as_ref().and_then(|f| reader.list(f)).unwrap_or_default();
    let ports = ports.iter().filter_map(|item| reader.number(item, 1, 65_535));
    let control = ports.filter_map(|n| u16::try_from(n).ok()).collect();
    let text = reader.text(&address)?;
    match parse_address(text) {
        Ok((own, prefix_bits, host)) => {
            Some(TenantNic { address: own, prefix_bits, host, control })
        }
        Err(why) => {
            let hint = "write 10.99.1.2/30: this is the tenant, 10.99.1.1 the host's end";
            reader.error(&address, &why, hint);
            None
        }
    }
}

/// The tenant's address, the length of its prefix, and the host's end: the first other address.
fn parse_address(text: &str) -> Result<(Ipv4Addr, u8, Ipv4Addr), String> {
    let shown = super::reader::shown(text);
    if text.contains(':') {
        return Err(format!("`{shown}` is an IPv6 address: virtual NICs have IPv4 so far"));
    }
    let parts = text.split_once('/').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    let (own, bits): (Ipv4Addr, u8) =
        parts.ok_or_else(|| format!("`{shown}` is no address with the length of its prefix"))?;
    if !(8..=30).contains(&bits) {
        return Err(format!("a prefix of {bits} bits has no room for two ends: from 8 to 30"));
    }
    let first = u32::from(own) >> (32 - bits) << (32 - bits);
    let last = first | (u32::MAX >> bits);
    if u32::from(own) == first || u32::from(own) == last {
        return Err(format!("{own} names the network {}/{bits} itself", Ipv4Addr::from(first)));
    }
    if own.is_loopback() || own.is_multicast() || own.is_unspecified() || own.octets()[0] >= 240 {
        return Err(format!("{own} cannot be the address of a virtual NIC"));
    }
    let host = if u32::from(own) == first + 1 { first + 2 } else { first + 1 };
    Ok((own, bits, host.into()))
}

/// Two tenants must not share a network: frames of one would go to the other.
fn check_apart(reader: &mut Reader, read: &[(&Field<'_>, Option<Tenant>)]) {
    let nics: Vec<_> = read
        .iter()
        .filter_map(|(field, tenant)| Some((field, tenant.as_ref()?)))
        .filter_map(|(field, tenant)| Some((field.get("address")?, tenant, tenant.nic.as_ref()?)))
        .collect();
    for (place, (field, _, nic)) in nics.iter().enumerate() {
        let overlaps = |other: &TenantNic| {
            let shift = 32 - nic.prefix_bits.min(other.prefix_bits);
            u32::from(nic.address) >> shift == u32::from(other.address) >> shift
        };
        if let Some((_, tenant, other)) = nics[..place].iter().find(|(_, _, nic)| overlaps(nic)) {
            let message = format!(
                "{}/{} overlaps with {}/{} of tenant {}",
                nic.address, nic.prefix_bits, other.address, other.prefix_bits, tenant.name
            );
            reader.error(field, &message, "give each tenant a network of its own, such as a /30");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_tenants(text: &str, path: &str) -> Result<TenantsFile, Diagnostics> {
        super::read_tenants(text, path, &|_, text| match text {
            "/bad" => Err("it is bad".into()),
            _ => Ok(()),
        })
    }

    #[test]
    fn a_whole_file_is_read() {
        let text = "tenuto_tenants: 1\nname: box\nslices: s.yaml\ntenants:\n  blue:\n    program: [/bin/c, \"ptcp:6653\"]\n    \
            environment: sandbox\n    variables: {LEVEL: debug}\n    files: [/opt/blue]\n    data: /srv/blue\n    \
            cores: 0.5\n    pinned: [1, 0, 1]\n    memory: 256 MB\n    processes: 64\n    \
            rate: {packets: 20000 /s, bits: 100 Mbit/s}\n    address: 10.99.1.2/30\n    control: [6653]\n    receive: threaded\n    \
            restart: always\n    backoff_max: 5 s\n    log: 2 MB\n    slice: b\n  red: {program: [/bin/d]}\n";
        let file = read_tenants(text, "t.yaml").expect("it is whole");
        let blue = Tenant {
            name: "blue".into(),
            environment: Environment::Sandbox,
            program: vec!["/bin/c".into(), "ptcp:6653".into()],
            variables: vec![("LEVEL".into(), "debug".into())],
            files: vec!["/opt/blue".into()],
            data: Some("/srv/blue".into()),
            cores_milli: Some(500),
            pinned: Some(vec![0, 1]),
            memory_bytes: Some(256_000_000),
            processes: Some(64),
            rate_packets: Some(20_000),
            rate_bps: Some(100_000_000),
            nic: Some(TenantNic {
                address: Ipv4Addr::new(10, 99, 1, 2),
                prefix_bits: 30,
                host: Ipv4Addr::new(10, 99, 1, 1),
                control: vec![6653],
            }),
            receive: NicReceive { path: crate::ReceivePath::Threaded, ..NicReceive::INLINE },
            restart: Restart::Always,
            backoff_max_ns: 5_000_000_000,
            log_bytes: 2_000_000,
            slice: Some("b".into()),
        };
        assert_eq!((file.name.as_str(), &file.tenants[0]), ("box", &blue));
        assert_eq!(file.slices.as_deref(), Some("s.yaml"));
        let red = &file.tenants[1];
        assert_eq!((red.restart, red.log_bytes, &red.nic), (Restart::OnFailure, 1_000_000, &None));
    }

    #[test]
    fn every_problem_is_told_with_its_line() {
        let text = "tenuto_tenants: 1\ntenants:\n  Blue: {program: [/bin/c]}\n  a:\n    programm: [x]\n    \
            environment: bubble\n  b:\n    program: [c]\n    cores: 0.0001\n    memory: 1 B\n    \
            processes: 0\n    pinned: []\n  c:\n    program: [/bin/c]\n    address: 10.0.0.2/31\n    \
            restart: sometimes\n    files: [/, ../x, /bad]\n    rate: {packets: 20000}\n    backoff_max: 1 ms\n  \
            d: {program: [/bin/c], address: 10.9.0.2/24}\n  e: {program: [/bin/c], address: 10.9.0.9/29}\n  \
            f: {program: [/bin/c], control: [6653]}\n  g: {program: [/bin/c], address: \"fe80::1/64\"}\n  \
            h: {program: [/bin/c], slice: h}\n";
        let problems = read_tenants(text, "t.yaml").expect_err("much is wrong");
        let mut lines: Vec<u32> = problems.iter().filter_map(|problem| problem.line).collect();
        lines.dedup();
        let expected = [3, 5, 6, 8, 9, 10, 11, 12, 15, 16, 17, 18, 19, 21, 22, 23, 24];
        assert_eq!(lines, expected, "{problems}");
        for words in [
            "did you mean program?",
            "10.9.0.9/29 overlaps with 10.9.0.2/24 of tenant d",
            "write 20000 /s",
        ] {
            assert!(problems.to_string().contains(words), "{words}: {problems}");
        }
    }

    #[test]
    fn a_machine_has_a_kernel_and_no_folder_of_the_host() {
        let text = "tenuto_tenants: 1\ntenants:\n  a: {program: [/p], environment: microvm, kernel: /boot/vmlinuz-1}\n  \
            b: {program: [/p], environment: microvm}\n";
        let file = read_tenants(text, "t.yaml").expect("it is whole");
        let kernel = Some("/boot/vmlinuz-1".to_owned());
        assert_eq!(file.tenants[0].environment, Environment::Microvm(Microvm { kernel }));
        assert_eq!(file.tenants[1].environment, Environment::Microvm(Microvm { kernel: None }));
        for (more, words) in [
            ("environment: microvm, data: /srv", "a machine does not see folders of the host"),
            (
                "environment: microvm, address: 10.0.0.2/30, receive: threaded",
                "a machine receives frames",
            ),
            ("environment: microvm, memory: 8 MB", "is not from 64 MB"),
            ("environment: microvm, kernel: /bad", "it is bad"),
            ("kernel: /boot/vmlinuz-1", "a sandbox has the host's kernel"),
        ] {
            let text = format!("tenuto_tenants: 1\ntenants: {{a: {{program: [/p], {more}}}}}\n");
            let problems = read_tenants(&text, "t.yaml").expect_err(more).to_string();
            assert!(problems.contains(words), "{problems}");
        }
    }

    #[test]
    fn the_host_has_the_first_other_address() {
        let of = |text| parse_address(text).map(|(_, _, host)| host.to_string());
        assert_eq!(of("10.0.0.2/30").as_deref(), Ok("10.0.0.1"));
        assert_eq!(of("10.0.0.1/30").as_deref(), Ok("10.0.0.2"));
        assert_eq!(of("10.0.0.77/24").as_deref(), Ok("10.0.0.1"));
        for bad in ["10.0.0.0/30", "10.0.0.3/30", "10.0.0.1", "127.0.0.2/8", "x/30", "10.0.0.1/7"] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn cores_are_decimal() {
        assert_eq!(
            [milli("1"), milli("0.5"), milli("1.25")],
            [Some(1_000), Some(500), Some(1_250)]
        );
        for bad in ["", ".5", "1.2345", "-1", "1e3", "a"] {
            assert_eq!(milli(bad), None, "{bad}");
        }
    }
}
