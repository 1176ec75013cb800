//! A counterexample as a message-sequence chart: one line down per node, one row per step.

use std::fmt::Write;
use tenuto_world::explore::reactive::{Action, Step, Trace};

const COLUMN: usize = 170;
const LEFT: usize = 90;
const TOP: usize = 70;
const ROW: usize = 34;
const NOTE_CHARS_MAX: usize = 60;

/// The chart as an SVG file of its own.
pub(crate) fn sequence_chart(trace: &Trace) -> String {
    let nodes = nodes(trace);
    let x = |node: &str| LEFT + COLUMN * nodes.iter().position(|it| *it == node).unwrap_or(0);
    let bottom = TOP + ROW * (trace.steps.len() + 1);
    let width = LEFT * 2 + COLUMN * nodes.len().saturating_sub(1).max(3);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<title>{title}</title>\n<defs><marker id=\"tip\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"4\" \
         orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"16\" y=\"22\" font-weight=\"bold\">{title}</text>\n",
        height = bottom + 50,
        title = escape(&format!("{}: {}", trace.property, trace.finding)),
    );
    for node in &nodes {
        let x = x(node);
        put(
            &mut out,
            format_args!(
                "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>\n\
             <line x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{bottom}\" stroke=\"#bbb\"/>\n",
                TOP - 18,
                escape(node),
                TOP - 12,
            ),
        );
    }
    for (row, step) in trace.steps.iter().enumerate() {
        put(&mut out, format_args!("{}", row_of(step, row, &x)));
    }
    put(
        &mut out,
        format_args!(
            "<text x=\"16\" y=\"{}\" fill=\"#b00\">{}</text>\n</svg>\n",
            bottom + 24,
            escape(&trace.finding)
        ),
    );
    out
}

fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a string");
}

/// Hosts and switches as they come, the controller last.
fn nodes(trace: &Trace) -> Vec<&str> {
    const CONTROLLER: &str = "controller";
    let mut nodes: Vec<&str> = Vec::new();
    for step in &trace.steps {
        for node in step.between.iter().chain(&step.reaches) {
            if node != CONTROLLER && !nodes.contains(&node.as_str()) {
                nodes.push(node);
            }
        }
    }
    nodes.push(CONTROLLER);
    nodes
}

fn row_of(step: &Step, row: usize, x: &dyn Fn(&str) -> usize) -> String {
    let y = TOP + ROW * (row + 1) - 10;
    let number = row + 1;
    let note = if step.note.is_empty() { step.action.to_string() } else { step.note.clone() };
    let mut text = escape(&short(&note));
    let mut out = String::new();
    for host in &step.reaches {
        put(
            &mut out,
            format_args!("<circle cx=\"{}\" cy=\"{y}\" r=\"4\" fill=\"#07c\"/>\n", x(host)),
        );
    }
    let is_lost = matches!(step.action, Action::Lose { .. } | Action::Cut { .. });
    let (dash, tip) =
        if is_lost { (" stroke-dasharray=\"4 3\"", "") } else { ("", " marker-end=\"url(#tip)\"") };
    if is_lost {
        text = format!("lost: {text}");
    }
    match &step.between[..] {
        [from, to] => {
            let (from, to) = (x(from), x(to));
            put(
                &mut out,
                format_args!(
                    "<line x1=\"{from}\" y1=\"{y}\" x2=\"{to}\" y2=\"{y}\" stroke=\"#000\"{dash}{tip}/>\n\
                 <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{number}. {text}</text>\n",
                    from.midpoint(to),
                    y - 5,
                ),
            );
        }
        at => {
            let x = at.first().map_or(LEFT, |node| x(node));
            put(
                &mut out,
                format_args!(
                    "<circle cx=\"{x}\" cy=\"{y}\" r=\"5\" fill=\"#c50\"/>\n<text x=\"{}\" y=\"{}\">{number}. {text}</text>\n",
                    x + 9,
                    y + 4,
                ),
            );
        }
    }
    out
}

/// The beginning of a text; the trace itself has all of it.
fn short(text: &str) -> String {
    match text.char_indices().nth(NOTE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_a_row_and_each_node_a_line() {
        let words = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect();
        let step = |action, between: &[&str], reaches: &[&str]| Step {
            action,
            note: "a <packet>".into(),
            between: words(between),
            reaches: words(reaches),
        };
        let trace = Trace {
            schema: "tenuto-reactive-trace/1".into(),
            property: "no-loops".into(),
            finding: "it comes again".into(),
            steps: vec![
                step(Action::Emit { host: "h1".into() }, &["h1", "s1"], &["h2"]),
                step(Action::Decide { switch: "s1".into() }, &["s1", "controller"], &[]),
                step(Action::Crash, &["controller"], &[]),
            ],
        };
        let chart = sequence_chart(&trace);
        assert_eq!(nodes(&trace), ["h1", "s1", "h2", "controller"]);
        assert_eq!(chart.matches("stroke=\"#bbb\"").count(), 4, "lines of nodes");
        assert_eq!(chart.matches("marker-end").count(), 2, "arrows");
        assert!(chart.contains("1. a &lt;packet&gt;") && !chart.contains("<packet>"));
        assert!(chart.ends_with("</svg>\n"));
    }
}
