//! The page around the figures: head, parts, captions. Valid as HTML and well-formed as XML.

use super::table::Table;
use super::text::escape;
use std::fmt::Write;

/// A part of the page in the making.
pub(super) struct Part {
    id: &'static str,
    title: &'static str,
    body: String,
    links: String,
    /// Where the table of contents goes, if it goes into this part.
    contents_at: Option<usize>,
}

impl Part {
    pub(super) const fn new(id: &'static str, title: &'static str) -> Self {
        Self { id, title, body: String::new(), links: String::new(), contents_at: None }
    }

    /// The table of contents goes here.
    pub(super) const fn contents_here(&mut self) {
        self.contents_at = Some(self.body.len());
    }

    /// One sentence that says how to read what follows.
    pub(super) fn lead(&mut self, text: &str) {
        write!(self.body, "<p class=\"lead\">{}</p>", escape(text)).expect("writing to a string");
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        write!(self.body, "<p>{}</p>", escape(text)).expect("writing to a string");
    }

    pub(super) fn heading(&mut self, text: &str) {
        write!(self.body, "<h3>{}</h3>", escape(text)).expect("writing to a string");
    }

    /// Colours and marks, each `(class, meaning)`.
    pub(super) fn key(&mut self, marks: &[(&str, &str)]) {
        self.body.push_str("<p class=\"key\">");
        for (class, meaning) in marks {
            write!(self.body, "<i class=\"{class}\"></i>{}", escape(meaning))
                .expect("writing to a string");
        }
        self.body.push_str("</p>");
    }

    /// A finished figure under its caption.
    pub(super) fn figure(&mut self, caption: &str, svg: &str) {
        let caption = if caption.is_empty() {
            String::new()
        } else {
            format!("<figcaption>{}</figcaption>", escape(caption))
        };
        write!(self.body, "<figure>{caption}<div class=\"scroll\">{svg}</div></figure>")
            .expect("writing to a string");
    }

    /// Small figures side by side, each with its caption.
    pub(super) fn grid(&mut self, figures: &[(String, String)]) {
        self.body.push_str("<div class=\"grid\">");
        for (caption, svg) in figures {
            self.figure(caption, svg);
        }
        self.body.push_str("</div>");
    }

    /// The CSV in the head, the rows behind a fold.
    pub(super) fn table_folded(&mut self, table: &Table) {
        self.links.push_str(&table.link());
        self.body.push_str(&table.folded());
    }

    /// The rows in sight, the CSV below them.
    pub(super) fn table_open(&mut self, table: &Table) {
        self.body.push_str(&table.on_page());
        self.body.push_str(&table.link());
    }

    pub(super) fn list<T: AsRef<str>>(&mut self, lines: &[T]) {
        self.body.push_str("<ul>");
        for line in lines {
            write!(self.body, "<li>{}</li>", escape(line.as_ref())).expect("writing to a string");
        }
        self.body.push_str("</ul>");
    }

    /// Names and values; a value is escaped, and set as code where asked.
    pub(super) fn facts(&mut self, facts: &[(&str, String, bool)]) {
        self.body.push_str("<dl>");
        for (name, value, is_code) in facts {
            let value = escape(value);
            let value = if *is_code { format!("<code>{value}</code>") } else { value };
            write!(self.body, "<dt>{}</dt><dd>{value}</dd>", escape(name))
                .expect("writing to a string");
        }
        self.body.push_str("</dl>");
    }

    /// The word everyone looks for first. `tone` is a class: good, bad or open.
    pub(super) fn verdict(&mut self, tone: &str, word: &str, sentence: &str) {
        write!(
            self.body,
            "<div class=\"verdict {tone}\"><strong>{}</strong><p>{}</p></div>",
            escape(word),
            escape(sentence)
        )
        .expect("writing to a string");
    }

    fn html(&self, is_first: bool, contents: &str) -> String {
        // The verdict needs no heading: it is one.
        let head = if is_first {
            String::new()
        } else {
            format!("<div class=\"head\"><h2>{}</h2><div>{}</div></div>", self.title, self.links)
        };
        let (above, below) = self.body.split_at(self.contents_at.unwrap_or(self.body.len()));
        let contents = if self.contents_at.is_some() { contents } else { "" };
        format!("<section id=\"{}\">{head}{above}{contents}{below}</section>", self.id)
    }
}

/// The whole file.
pub(super) fn page(title: &str, parts: &[Part]) -> String {
    let title = escape(title);
    let mut contents = String::from("<nav>");
    for part in parts.iter().skip(1) {
        write!(contents, "<a href=\"#{}\">{}</a> ", part.id, part.title)
            .expect("writing to a string");
    }
    contents.push_str("</nav>");
    let mut body = String::new();
    for (place, part) in parts.iter().enumerate() {
        body.push_str(&part.html(place == 0, &contents));
        body.push('\n');
    }
    format!(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n\
         <meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\"/>\n\
         <title>{title}</title>\n<style>\n{}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}\
         </body>\n</html>\n",
        include_str!("page.css"),
    )
}
