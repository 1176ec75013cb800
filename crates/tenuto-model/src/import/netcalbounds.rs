//! NetCalBounds tandems: servers numbered from left to right, flows from one to another.
//!
//! Keywords with numbers, `#` to the end of the line is a comment, `;` ends an entry:
//! `server i (rate,latency)…;` is the maximum, `flow i [from,to] (burst,rate)…;` the minimum.

use super::Import;
use super::decimal::Decimal;
use super::server_draft::{PathParts, ServerDraft, WithoutUnits};
use crate::read::network::FLOWS_MAX;
use crate::read::reader::shown;
use crate::servers::{PIECES_MAX, SERVERS_MAX};
use crate::yaml::Place;
use tenuto_calculus::{GraphServer, Multiplexing, ServerGraph};

/// The server graph of the file.
pub(super) fn read(it: &mut Import<'_>) -> Option<ServerGraph> {
    it.note(WithoutUnits::NOTE);
    it.note("the format does not say how flows share a server: FIFO is taken");
    let name = it.stem();
    let mut tokens = Tokens::new(it.text);
    let mut draft = ServerDraft::new(&name);
    match read_all(&mut tokens, it, &mut draft) {
        Ok(()) => Some(draft.finish(it)),
        Err(wanted) => {
            let (place, found) = match tokens.peek() {
                Some((line, token)) => (Place { line, ..Place::default() }, shown(token)),
                None => (Place::default(), "the end".to_owned()),
            };
            let message = format!("`{found}` where {wanted} is needed");
            it.error(place, message, "server 1 (10.0,1.0); and flow 1 [1,6] (2.0,2.0);");
            None
        }
    }
}

/// Numbers, words and single signs, with their lines.
struct Tokens<'t> {
    rest: &'t str,
    line: u32,
}

impl<'t> Tokens<'t> {
    const fn new(text: &'t str) -> Self {
        Self { rest: text, line: 1 }
    }

    fn skip(&mut self) {
        loop {
            let start = self.rest;
            let trimmed = start.trim_start_matches('\u{feff}').trim_start();
            let skipped = &start[..start.len() - trimmed.len()];
            let lines = skipped.bytes().filter(|b| *b == b'\n').count();
            self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
            self.rest = trimmed;
            if !trimmed.starts_with('#') {
                return;
            }
            self.rest = trimmed.find('\n').map_or("", |end| &trimmed[end..]);
        }
    }

    fn peek(&mut self) -> Option<(u32, &'t str)> {
        self.skip();
        let first = self.rest.chars().next()?;
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '.' | '+' | '-' | '_' | '\'');
        let length = if is_word(first) {
            self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len())
        } else {
            first.len_utf8()
        };
        Some((self.line, &self.rest[..length]))
    }

    /// The next token if it is this one.
    fn take(&mut self, wanted: &str) -> bool {
        let found = self.peek().is_some_and(|(_, token)| token == wanted);
        if found {
            self.rest = &self.rest[wanted.len()..];
        }
        found
    }

    fn want(&mut self, wanted: &'static str) -> Result<(), &'static str> {
        if self.take(wanted) { Ok(()) } else { Err(wanted) }
    }

    fn number(&mut self) -> Result<Decimal, &'static str> {
        let (_, token) = self.peek().ok_or("a number")?;
        let number = Decimal::parse(token).map_err(|_| "a number")?;
        self.rest = &self.rest[token.len()..];
        Ok(number)
    }

    fn whole(&mut self, max: usize) -> Result<usize, &'static str> {
        let wanted = "a whole number from 1";
        let (_, token) = self.peek().ok_or(wanted)?;
        let number = token.parse().ok().filter(|n| (1..=max).contains(n)).ok_or(wanted)?;
        self.rest = &self.rest[token.len()..];
        Ok(number)
    }

    /// `(a,b) (c,d) … ;`
    fn pairs(&mut self) -> Result<Vec<(Decimal, Decimal)>, &'static str> {
        let mut pairs = Vec::new();
        while !self.take(";") {
            if pairs.len() >= PIECES_MAX {
                return Err("; (a curve has at most 64 pieces)");
            }
            self.want("(")?;
            let first = self.number()?;
            self.want(",")?;
            pairs.push((first, self.number()?));
            self.want(")")?;
        }
        if pairs.is_empty() { Err("a curve before ;") } else { Ok(pairs) }
    }
}

fn read_all(
    tokens: &mut Tokens<'_>,
    it: &mut Import<'_>,
    draft: &mut ServerDraft,
) -> Result<(), &'static str> {
    tokens.want("nservers")?;
    let servers = tokens.whole(SERVERS_MAX)?;
    tokens.want("nflows")?;
    let flows = tokens.whole(FLOWS_MAX)?;
    if tokens.take("objective") {
        while tokens.peek().is_some_and(|(_, token)| token != "beginservers") {
            let length = tokens.peek().map_or(0, |(_, token)| token.len());
            tokens.rest = &tokens.rest[length..];
        }
        it.note("the objective is left out: every flow is bounded");
    }
    tokens.want("beginservers")?;
    while !tokens.take("endservers") {
        tokens.want("server")?;
        read_server(tokens, it, draft)?;
    }
    tokens.want("beginflows")?;
    let mut read = 0;
    while !tokens.take("endflows") {
        tokens.want("flow")?;
        read += 1;
        if read > FLOWS_MAX || draft.is_full() {
            return Err("endflows (there are at most 65000 flows)");
        }
        read_flow(tokens, it, draft, read)?;
    }
    for (stated, found, what) in [(servers, draft.servers(), "servers"), (flows, read, "flows")] {
        if stated != found {
            let message = format!("the file states {stated} {what} and has {found}");
            it.error(Place { line: 1, ..Place::default() }, message, "is the file complete?");
        }
    }
    Ok(())
}

fn here(tokens: &mut Tokens<'_>) -> Place {
    let line = tokens.peek().map_or(tokens.line, |(line, _)| line);
    Place { line, ..Place::default() }
}

fn read_server(
    tokens: &mut Tokens<'_>,
    it: &mut Import<'_>,
    draft: &mut ServerDraft,
) -> Result<(), &'static str> {
    let place = here(tokens);
    let number = tokens.whole(SERVERS_MAX)?;
    if number != draft.servers() + 1 {
        let message = format!("server {number} is the entry number {}", draft.servers() + 1);
        it.error(place, message, "servers are numbered from left to right");
    }
    let mut service = Vec::new();
    for (rate, latency) in tokens.pairs()? {
        match WithoutUnits::rate_latency(rate, latency) {
            Some(piece) => service.push(piece),
            None => it.error(place, "rate or latency are too large", "at most 10^7"),
        }
    }
    let name = format!("s{}", draft.servers() + 1);
    let multiplexing = Multiplexing::Fifo;
    let server = GraphServer { name, service, line: None, multiplexing, packet_ubit: 0 };
    draft.server(it, server, place);
    Ok(())
}

fn read_flow(
    tokens: &mut Tokens<'_>,
    it: &mut Import<'_>,
    draft: &mut ServerDraft,
    index: usize,
) -> Result<(), &'static str> {
    let place = here(tokens);
    let number = tokens.whole(FLOWS_MAX)?;
    if number != index {
        // The example of the format's own description has a number twice.
        let message = format!("flow {number} is the entry number {index}");
        it.warn(place, message, "it is named by its entry");
    }
    tokens.want("[")?;
    let first = tokens.whole(draft.servers())?;
    tokens.want(",")?;
    let last = tokens.whole(draft.servers())?;
    tokens.want("]")?;
    let mut arrival = Vec::new();
    for (burst, rate) in tokens.pairs()? {
        match WithoutUnits::bucket(burst, rate) {
            Some(bucket) => arrival.push(bucket),
            None => it.error(place, "burst or rate are too large", "at most 10^7"),
        }
    }
    if first > last {
        it.error(place, format!("the flow goes from {first} back to {last}"), "left to right");
        return Ok(());
    }
    let path = PathParts {
        name: format!("s{last}"),
        servers: (first - 1..last).collect(),
        deadline: None,
        place,
    };
    draft.flow(it, &format!("f{index}"), arrival, vec![path], place);
    Ok(())
}
