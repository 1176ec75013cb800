//! The report: one HTML file that needs nothing else, well-formed XML too.

use super::figure::{Figure, Printed};
use super::plot::escape;
use crate::verbs::bench::sheet::Sheet;
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
    table{border-collapse:collapse;margin:1rem 0;font-size:14px}td,th{padding:.2rem .7rem;\
    border-bottom:1px solid #ddd;text-align:right}td:first-child,th:first-child{text-align:left}\
    svg{width:100%;height:auto}.yes{color:#00603c}.no{color:#c02020;font-weight:bold}\
    .note{color:#555;font-size:13px}figure{margin:1rem 0}";

/// The page of all figures.
pub(super) fn page(figures: &[Figure]) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n\
         <meta charset=\"utf-8\"/>\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\"/>\n<title>Figures of the papers, Tenuto {}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n<h1>Figures of the papers</h1>\n<p>Each figure has what the print says beside ours, \
         the deviation, and the world that produced it.</p>\n",
        env!("CARGO_PKG_VERSION")
    );
    out.push_str("<ul>");
    for (place, it) in figures.iter().enumerate() {
        let name = escape(it.name);
        let _ = write!(out, "<li><a href=\"#f{place}\">{}, {name}</a></li>", it.paper);
    }
    out.push_str("</ul>\n");
    for (place, it) in figures.iter().enumerate() {
        section(&mut out, place, it);
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn section(out: &mut String, place: usize, it: &Figure) {
    let _ = writeln!(out, "<h2 id=\"f{place}\">{}, {}</h2>", it.paper, escape(it.name));
    let _ = writeln!(out, "<p class=\"note\">World: {}.</p>", escape(&it.world));
    if let Some(svg) = &it.svg {
        let _ = writeln!(out, "<figure>{svg}</figure>");
    }
    out.push_str("<table><tr><th>statement</th><th>printed</th><th>ours</th><th>deviation</th><th>agrees</th></tr>\n");
    for statement in &it.printed {
        said(out, statement);
    }
    out.push_str("</table>\n");
    table(out, &it.values);
}

fn said(out: &mut String, it: &Printed) {
    let number = |value: Option<f64>| match value {
        Some(value) if value.is_finite() => format!("{value:.3}"),
        Some(_) => "none".into(),
        None => String::new(),
    };
    let deviation = it.deviation_percent().filter(|it| it.is_finite());
    let deviation = deviation.map_or_else(String::new, |it| format!("{it:+.1} %"));
    let (class, word) = match it.agrees {
        Some(true) => ("yes", "yes"),
        Some(false) => ("no", "no"),
        None => ("", ""),
    };
    let _ = writeln!(
        out,
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{deviation}</td><td class=\"{class}\">{word}</td></tr>",
        escape(&it.what),
        number(it.printed),
        number(it.ours),
    );
}

fn table(out: &mut String, sheet: &Sheet) {
    out.push_str("<table><tr>");
    for column in sheet.columns() {
        let _ = write!(out, "<th>{}</th>", escape(column));
    }
    out.push_str("</tr>\n");
    for row in sheet.rows_shown() {
        out.push_str("<tr>");
        for cell in row {
            let _ = write!(out, "<td>{}</td>", escape(&cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
    for note in sheet.notes() {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(note));
    }
}
