//! The eleven bugs of NICE's paper and three of MoCS's, each with an application that has it and one
//! that has not: the first is caught by the right property, the second passes exhaustively.

mod balancer;
mod consistency;
mod learning;
mod traffic;

pub(super) use learning::triangle;
use tenuto_world::explore::classic::{
    Answers, Application, Counting, Load, Mixer, Packet, PacketIn, Property, Setup, Trace, explore,
    narrate,
};

/// A setup whose keys omit nothing: what is said of it holds of every state.
pub(super) fn exact(setup: Setup, properties: Vec<Property>) -> Setup {
    let counting = Counting {
        has_queue_order: true,
        has_learned: true,
        has_commands: true,
        ..Counting::default()
    };
    Setup { properties, counting, ..setup }
}

/// The first violation of a property, told line by line.
fn caught<A: Application>(setup: &Setup, application: A, property: Property) -> Trace {
    let count = explore(setup, application.clone());
    let found = count.traces.iter().find(|trace| trace.finding.property == property);
    let names: Vec<&str> = count.traces.iter().map(|it| it.finding.property.name()).collect();
    let trace = found.unwrap_or_else(|| panic!("{} is not among {names:?}", property.name()));
    let told = narrate(setup, application, &trace.path);
    assert_eq!(told.len(), trace.path.len(), "the trace can be played again");
    println!("{}\n  {}\n", trace.finding.text, told.join("\n  "));
    trace.clone()
}

fn passes<A: Application>(setup: &Setup, application: A) {
    let count = explore(setup, application.clone());
    if let Some(trace) = count.traces.first() {
        let told = narrate(setup, application, &trace.path);
        panic!("{}: {}\n{}", trace.finding.property.name(), trace.finding.text, told.join("\n"));
    }
    assert!(count.is_exhaustive && count.ends > 0);
}

/// An application whose answers are spoiled.
#[derive(Clone)]
struct Spoiled<A> {
    inner: A,
    spoil: fn(&mut A, usize, &PacketIn, &mut Answers),
    spoil_callback: fn(&mut A, &mut Answers),
}

impl<A> Spoiled<A> {
    const fn new(inner: A, spoil: fn(&mut A, usize, &PacketIn, &mut Answers)) -> Self {
        Self { inner, spoil, spoil_callback: |_, _| {} }
    }
}

impl<A: Application> Application for Spoiled<A> {
    fn packet_in(&mut self, switch: usize, asked: &PacketIn, answers: &mut Answers) {
        self.inner.packet_in(switch, asked, answers);
        (self.spoil)(&mut self.inner, switch, asked, answers);
    }

    fn statistics(&mut self, switch: usize, load: &mut Load) {
        self.inner.statistics(switch, load);
    }

    fn callback(&mut self, number: u8, answers: &mut Answers) {
        self.inner.callback(number, answers);
        (self.spoil_callback)(&mut self.inner, answers);
    }

    fn wrong_route(&self, packet: &Packet) -> Option<String> {
        self.inner.wrong_route(packet)
    }

    fn key(&self, has_learned: bool, mixer: &mut Mixer) {
        self.inner.key(has_learned, mixer);
    }
}
