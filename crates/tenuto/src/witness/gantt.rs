//! A Gantt chart of a witness: who is on the line of each port on the way, and where the victim waits.

use super::hop_delays::{Victim, copy_of, rate_bps, start_ns, victim};
use std::fmt::Write;
use tenuto_model::{Plan, Port};
use tenuto_world::clockwork::{Schedule, Transmission};

const LEFT: u64 = 150;
const WIDTH: u64 = 1_000;
const ROW: u64 = 34;
const TOP: u64 = 40;
/// Slices drawn per port; longer trains are cut.
const SLICES_MAX: usize = 4_000;

/// The chart of a schedule that was made for a row; `None` of any other.
pub(crate) fn chart(plan: &Plan, schedule: &Schedule, sent: &[Transmission]) -> Option<String> {
    let witness = schedule.witness.as_ref()?;
    let victim = victim(plan, schedule, witness, sent)?;
    let ports: Vec<Port> = copy_of(plan, witness)?.hops.iter().map(|it| it.port.clone()).collect();
    let end_ns = victim.release_ns + witness.witness_delay_ns;
    let chart = Chart {
        plan,
        flow: u16::try_from(plan.network.flows.iter().position(|it| it.name == witness.flow)?)
            .ok()?,
        from_ns: victim.release_ns.saturating_sub((end_ns - victim.release_ns) / 4),
        to_ns: end_ns,
        victim,
    };
    let title = format!(
        "{} to {} in {}: {} of {} ns",
        witness.flow,
        witness.target,
        witness.mode,
        witness.witness_delay_ns,
        witness.delay_bound_ns
    );
    Some(chart.draw(&title, &ports, sent))
}

struct Chart<'a> {
    plan: &'a Plan,
    flow: u16,
    from_ns: u64,
    to_ns: u64,
    victim: Victim,
}

impl Chart<'_> {
    fn draw(&self, title: &str, ports: &[Port], sent: &[Transmission]) -> String {
        let height = TOP + ROW * ports.len() as u64 + 40;
        let width = LEFT + WIDTH + 20;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-label=\"{0}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
             <text x=\"10\" y=\"20\" font-weight=\"bold\">{0}</text>\n",
            escape(title)
        );
        for (number, port) in (0u64..).zip(ports) {
            self.row(&mut out, TOP + number * ROW, port, sent);
        }
        self.axis(&mut out, TOP + ROW * ports.len() as u64);
        out.push_str("</svg>\n");
        out
    }

    fn row(&self, out: &mut String, y: u64, port: &Port, sent: &[Transmission]) {
        let label = escape(&self.plan.network.port_label(port));
        let _ = writeln!(out, "<text x=\"10\" y=\"{}\">{label}</text>", y + 18);
        let rate_bps = rate_bps(self.plan, &port.node, port.port);
        let own = sent.iter().filter(|it| it.node == port.node && it.port == port.port);
        for it in own.take(SLICES_MAX) {
            let start_ns = start_ns(it, rate_bps);
            let is_victim = it.flow == Some(self.flow) && it.message == Some(self.victim.message);
            if is_victim {
                let queued_ns = it.queued_ns.unwrap_or(self.victim.release_ns);
                let title = format!("waits {} ns", start_ns.saturating_sub(queued_ns));
                self.slice(out, (queued_ns, start_ns), (y + 22, 4), "#e08a8a", &title);
            }
            let name =
                it.flow.map_or("mode signal", |it| &self.plan.network.flows[usize::from(it)].name);
            let title = format!("{name}, {} to {} ns", start_ns, it.departure_ns);
            self.slice(
                out,
                (start_ns, it.departure_ns),
                (y + 4, 18),
                &colour(it.flow, is_victim),
                &title,
            );
        }
    }

    fn slice(
        &self,
        out: &mut String,
        (from_ns, to_ns): (u64, u64),
        (y, height): (u64, u64),
        colour: &str,
        title: &str,
    ) {
        let (from_ns, to_ns) = (from_ns.max(self.from_ns), to_ns.min(self.to_ns));
        if from_ns >= to_ns {
            return;
        }
        let (x, end) = (self.x(from_ns), self.x(to_ns));
        let _ = writeln!(
            out,
            "<rect x=\"{}.{}\" y=\"{y}\" width=\"{}.{}\" height=\"{height}\" fill=\"{colour}\" \
             stroke=\"#fff\" stroke-width=\"0.3\"><title>{}</title></rect>",
            x / 10,
            x % 10,
            (end - x) / 10,
            (end - x) % 10,
            escape(title)
        );
    }

    /// Tenths of a pixel.
    fn x(&self, at_ns: u64) -> u64 {
        let span_ns = u128::from((self.to_ns - self.from_ns).max(1));
        let x = u128::from(at_ns - self.from_ns) * u128::from(WIDTH) * 10 / span_ns;
        LEFT * 10 + u64::try_from(x).unwrap_or(0)
    }

    fn axis(&self, out: &mut String, y: u64) {
        let span_ns = self.to_ns - self.victim.release_ns;
        for tenth in 0..=10 {
            let at_ns = self.victim.release_ns + span_ns * tenth / 10;
            let x = self.x(at_ns) / 10;
            let us = (at_ns - self.victim.release_ns) / 1_000;
            let _ = writeln!(
                out,
                "<line x1=\"{x}\" x2=\"{x}\" y1=\"{TOP}\" y2=\"{y}\" stroke=\"#ccc\" stroke-width=\"0.5\"/>\
                 <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{us}</text>",
                y + 16
            );
        }
        let x = LEFT + WIDTH;
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{}\" text-anchor=\"end\">µs after the release of the victim (red; \
             thin where it waits)</text>",
            y + 32
        );
    }
}

fn colour(flow: Option<u16>, is_victim: bool) -> String {
    match (flow, is_victim) {
        (_, true) => "#c02020".into(),
        (None, _) => "#202020".into(),
        // Neighbours in the list of flows are far apart on the circle of hues; red is the victim's.
        (Some(flow), _) => format!("hsl({},45%,62%)", 40 + u64::from(flow) * 137 % 290),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
