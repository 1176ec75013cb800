//! Entries, meters, groups, queues and buffers against what the profile allows.

use super::page::Part;
use super::svg::{Anchor, Svg, WIDTH, float, place};
use super::table::{Cell, ROWS_SHOWN, Table};
use super::text::shorten;
use tenuto_model::{Plan, SwitchDeployment};

const LEFT: f64 = 150.0;
const ROW: f64 = 22.0;
const TOP: f64 = 22.0;
const NAMES: [&str; 5] =
    ["entries and shadow", "meters", "groups", "queues of a port", "buffer of a port, kB"];

/// What a switch uses of each resource, and what it has (`None`: no limit stated).
struct Use {
    switch: String,
    profile: String,
    parts: [(u64, Option<u64>); 5],
}

pub(super) fn part(plan: &Plan) -> Option<Part> {
    let mut uses: Vec<Use> = plan.switches.iter().map(|d| used(plan, d)).collect();
    if uses.is_empty() {
        return None;
    }
    let fullest = |used: &Use| used.parts.iter().map(|p| share(*p)).max();
    uses.sort_by_key(|used| std::cmp::Reverse(fullest(used)));
    let mut part = Part::new("resources", "Entries, meters, queues, buffers");
    part.lead(
        "What the deployment takes of each switch, of what its profile has. Shadow entries of \
         other modes count. The buffer is that of the fullest port, by its backlog bound.",
    );
    let caption = if uses.len() > ROWS_SHOWN {
        format!("The fullest {ROWS_SHOWN} of {}.", uses.len())
    } else {
        String::new()
    };
    part.figure(&caption, &draw(&uses[..uses.len().min(ROWS_SHOWN)]));
    part.table_folded(&table(&uses));
    Some(part)
}

fn used(plan: &Plan, deployed: &SwitchDeployment) -> Use {
    let network = &plan.network;
    let switch = network.switch(&deployed.switch);
    let profile = switch.and_then(|s| network.profiles.get(&s.profile));
    let limit = |get: fn(&tenuto_model::Profile) -> u64| profile.map(get);
    let usage = deployed.usage;
    let rows = plan.port_rows.iter().filter(|row| row.port.node == deployed.switch);
    let kb = |bits: u64| bits.div_ceil(8_000);
    let backlog = rows.filter_map(|row| row.backlog_bound_bits).max().map_or(0, kb);
    let buffer = profile.and_then(|p| p.buffer_bytes_per_port).map(|bytes| bytes / 1_000);
    Use {
        switch: deployed.switch.clone(),
        profile: switch.map_or(String::new(), |s| s.profile.clone()),
        parts: [
            (u64::from(usage.entries) + u64::from(usage.shadow), limit(|p| p.entries_max.into())),
            (usage.meters.into(), limit(|p| p.meters_max.into())),
            (usage.groups.into(), limit(|p| p.groups_max.into())),
            (usage.queues.into(), limit(|p| p.queues_per_port.into())),
            (backlog, buffer),
        ],
    }
}

/// Millionths of the limit.
fn share((used, limit): (u64, Option<u64>)) -> u64 {
    match limit {
        None => 0,
        Some(0) if used == 0 => 0,
        Some(0) => u64::MAX,
        Some(limit) => used.saturating_mul(1_000_000) / limit,
    }
}

fn draw(uses: &[Use]) -> String {
    let step = (WIDTH - LEFT) / place(NAMES.len());
    let bar = step - 22.0;
    let mut svg = Svg::new();
    for (column, name) in NAMES.iter().enumerate() {
        svg.text(LEFT + step * place(column), TOP - 8.0, Anchor::Start, "dim", name);
    }
    for (row, used) in uses.iter().enumerate() {
        let y = TOP + ROW * place(row);
        let words = shorten(&used.switch, 20);
        svg.titled(&format!("{}, profile {}", used.switch, used.profile), |svg| {
            svg.text(LEFT - 10.0, y + 12.0, Anchor::End, "", &words);
        });
        for (column, part) in used.parts.iter().enumerate() {
            let x = LEFT + step * place(column);
            let share = share(*part);
            let filled = (float(share) / 1e6).min(1.0) * bar;
            let class = if share > 1_000_000 { "bad" } else { "bound" };
            svg.rect(x, y + 14.0, bar, 3.5, "soft");
            svg.rect(x, y + 14.0, if part.0 > 0 { filled.max(1.5) } else { 0.0 }, 3.5, class);
            let words = match part.1 {
                Some(limit) => format!("{} / {limit}", part.0),
                None => format!("{}, no limit stated", part.0),
            };
            let class = if share > 1_000_000 { "bad-text" } else { "" };
            svg.text(x, y + 11.0, Anchor::Start, class, &words);
        }
    }
    svg.finish(WIDTH, TOP + ROW * place(uses.len()) + 4.0, "Use of switch resources")
}

fn table(uses: &[Use]) -> Table {
    let header = vec![
        "switch",
        "profile",
        "entries",
        "entries_limit",
        "meters",
        "meters_limit",
        "groups",
        "groups_limit",
        "queues",
        "queues_limit",
        "backlog_bound_kB",
        "buffer_limit_kB",
    ];
    let mut table = Table::new("resources", header);
    for used in uses {
        let mut row = vec![Cell::text(&used.switch), Cell::text(&used.profile)];
        for (used, limit) in used.parts {
            row.extend([Cell::number(used), Cell::maybe(limit)]);
        }
        table.push(row);
    }
    table
}
