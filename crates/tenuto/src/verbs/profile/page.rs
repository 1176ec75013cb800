//! The page of a measurement: its figures in the order of [Loko].

use super::boxes::{Boxes, escape};
use super::summary;
use std::fmt::Write;
use tenuto_model::{Action, Position, PriorityOrder, Use};
use tenuto_world::profiling::{Cell, Change, Measured, Summary, action_name, kind_name};

const STYLE: &str = "\
body { font: 15px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }\
pre { background: #f4f4f2; padding: .8rem; overflow-x: auto; font-size: 13px }\
figure { margin: 1.6rem 0 } figcaption { color: #555 } svg { width: 100%; height: auto }\
.grid { stroke: #ddd } .whisker, .cross { stroke: #555; fill: none } .box { fill: #9cc3e6; stroke: #35608a }\
.median { stroke: #b5431d; stroke-width: 2 } .dot { fill: #35608a }\
text { font-size: 12px; fill: #333 } .tick, .axis { text-anchor: middle } .name { text-anchor: end }\
@media (prefers-color-scheme: dark) { body { background: #16181b; color: #ddd } pre { background: #22262b }\
 text { fill: #ccc } figcaption { color: #aaa } .grid { stroke: #33383e } .whisker, .cross { stroke: #aaa }\
 .box { fill: #2f5d86; stroke: #8fbce6 } .dot { fill: #8fbce6 } }";

/// The whole page.
pub(super) fn page(device: &str, it: &Measured) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>{0}: measured</title>\
         <style>{STYLE}</style></head><body><h1>{0}: measured</h1><pre>{1}</pre>\
         <p>Boxes reach from 25 to 75 % of the samples, whiskers from 5 to 95 %; crosses are the least and the most.</p>",
        escape(device),
        escape(&summary::text(device, it)),
    );
    echoes(&mut out, it);
    messages(&mut out, it);
    frames(&mut out, it);
    throughput(&mut out, it);
    changes(&mut out, it);
    out.push_str("</body></html>\n");
    out
}

fn figure(out: &mut String, caption: &str, svg: &str) {
    if !svg.is_empty() {
        let _ = write!(out, "<figure>{svg}<figcaption>{}</figcaption></figure>", escape(caption));
    }
}

fn us(out: &mut String, caption: &str, rows: Vec<(String, Summary)>) {
    figure(out, caption, &Boxes { axis: "microseconds", unit: 1e3, rows }.svg());
}

/// Fig. 6a: echoes over time.
fn echoes(out: &mut String, it: &Measured) {
    let Some(firmware) = it.firmware.as_ref().filter(|it| !it.echoes.is_empty()) else { return };
    let all = &firmware.echoes;
    let last = all.last().map_or(1, |(at, _)| (*at).max(1)) as f64;
    let most = all.iter().map(|(_, took)| *took).fold(1.0, f64::max);
    let mut svg =
        String::from("<svg viewBox=\"0 0 760 220\" role=\"img\" aria-label=\"echoes over time\">");
    // Of many echoes in one place the largest is drawn.
    let mut columns = vec![0.0_f64; 690];
    for (at, took) in all {
        let place = (*at as f64 / last * 689.0).floor();
        // Between 0 and 689.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let column = &mut columns[place as usize];
        *column = column.max(*took);
    }
    for (x, took) in columns.iter().enumerate().filter(|(_, took)| **took > 0.0) {
        let y = 180.0 - took / most * 160.0;
        let _ = write!(svg, "<circle class=\"dot\" cx=\"{}\" cy=\"{y:.1}\" r=\"1.2\"/>", x + 60);
    }
    let _ = write!(
        svg,
        "<line class=\"grid\" x1=\"60\" y1=\"180\" x2=\"750\" y2=\"180\"/>\
         <text class=\"name\" x=\"55\" y=\"25\">{:.0} us</text><text class=\"name\" x=\"55\" y=\"184\">0</text>\
         <text class=\"axis\" x=\"405\" y=\"205\">0 to {:.2} s</text></svg>",
        most / 1e3,
        last / 1e9
    );
    figure(
        out,
        "Echo requests over time (Fig. 6a): work of the firmware's own comes again and again.",
        &svg,
    );
}

/// Figs. 6b and 7.
fn messages(out: &mut String, it: &Measured) {
    let (changes, others): (Vec<_>, Vec<_>) =
        it.message_samples.iter().partition(|it| it.entries > 0 && it.name != "statistics");
    let name = |it: &&tenuto_world::profiling::MessageSample| {
        let actions =
            if it.name == "add" { format!(", {} actions", it.actions) } else { String::new() };
        let entries =
            if it.entries > 0 { format!(", {} entries", it.entries) } else { String::new() };
        (format!("{}{entries}{actions}", it.name), it.took.clone())
    };
    us(out, "Control messages (Figs. 6b and 7a).", others.iter().map(name).collect());
    us(out, "Changes of the table by its size (Fig. 7b).", changes.iter().map(name).collect());
}

/// Figs. 9 and 10.
fn frames(out: &mut String, it: &Measured) {
    let cells = &it.cells;
    let grouped = |of: &dyn Fn(&Cell) -> Option<String>| -> Vec<(String, Summary)> {
        let mut groups: Vec<(String, Vec<f64>)> = Vec::new();
        for cell in cells {
            let Some(name) = of(cell) else { continue };
            match groups.iter_mut().find(|(it, _)| *it == name) {
                Some((_, samples)) => samples.extend(&cell.samples_ns),
                None => groups.push((name, cell.samples_ns.clone())),
            }
        }
        let rows = groups.into_iter();
        rows.filter_map(|(name, samples)| Summary::of(&samples).map(|it| (name, it))).collect()
    };
    let plain = |used: &Use| used.action == Action::Output;
    let worst =
        |used: &Use| used.position == Position::Last && used.order == PriorityOrder::Increasing;
    let mut by_entries =
        grouped(&|cell| plain(&cell.used).then(|| format!("{:4} entries", cell.used.entries)));
    by_entries.sort_by(|a, b| a.0.cmp(&b.0));
    us(out, "Processing by entries, all else together (Fig. 9, left).", by_entries);
    let mut by_size =
        grouped(&|cell| plain(&cell.used).then(|| format!("{:4} B", cell.used.frame_bytes)));
    by_size.sort_by(|a, b| a.0.cmp(&b.0));
    us(out, "Processing by frame size, all else together (Fig. 9, right).", by_size);
    let most = cells.iter().map(|it| it.used.entries).max().unwrap_or(0);
    let small = |used: &Use| used.frame_bytes == 64 && used.entries == most;
    us(
        out,
        "Used entry and priorities, the largest table, 64 B (Fig. 10a).",
        grouped(&|cell| {
            let used = &cell.used;
            let is_it = small(used) && plain(used) && kind_name(used.matching) == "five-tuple";
            is_it.then(|| format!("{:?}, {:?}", used.position, used.order).to_lowercase())
        }),
    );
    us(
        out,
        "Kind of match, the largest table, 64 B (Fig. 10b).",
        grouped(&|cell| {
            let used = &cell.used;
            (small(used) && plain(used) && worst(used)).then(|| kind_name(used.matching).to_owned())
        }),
    );
    us(
        out,
        "Action, one entry, the largest frames (Fig. 10c).",
        grouped(&|cell| {
            let used = &cell.used;
            let is_it = used.entries == 1
                && used.frame_bytes == 1_516
                && kind_name(used.matching) == "five-tuple";
            is_it.then(|| action_name(used.action).to_owned())
        }),
    );
}

/// Fig. 12b.
fn throughput(out: &mut String, it: &Measured) {
    if it.throughput.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Throughput (Fig. 12b)</h2><table><tr><th>entries</th><th>frame</th><th>by Eq. 6, Mbit/s</th>\
         <th>by search, Mbit/s</th></tr>",
    );
    for of in &it.throughput {
        let computed = of.computed_bps.map_or("-".into(), |bps| format!("{:.3}", bps / 1e6));
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{} B</td><td>{computed}</td><td>{:.3}</td></tr>",
            of.entries,
            of.frame_bytes,
            of.searched_bps / 1e6
        );
    }
    out.push_str("</table>");
}

/// Barriers beside frames.
fn changes(out: &mut String, it: &Measured) {
    let mut rows = Vec::new();
    for change in Change::ALL {
        let of = || it.updates.iter().filter(|it| it.change == change);
        let answered: Vec<f64> = of().map(|it| it.answered_ns as f64).collect();
        let effect: Vec<f64> = of().filter_map(|it| it.effect_ns).map(|ns| ns as f64).collect();
        for (what, samples) in [("answered", answered), ("met by frames", effect)] {
            let summary = Summary::of(&samples);
            rows.extend(summary.map(|it| (format!("{}, {what}", change.name()), it)));
        }
    }
    us(
        out,
        "From telling a change to the barrier's answer, and to the first frame that met it.",
        rows,
    );
}
