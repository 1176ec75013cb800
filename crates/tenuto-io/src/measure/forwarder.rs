//! The least that forwards frames between two ports: what any switch on the same ports is held
//! against.

use super::{PRIORITY, Subject};
use crate::links::{LinkName, disable_ipv6_on};
use crate::{
    BURST_FRAMES, FlushReport, MonotonicClock, Pending, PollKey, PollSet, Port, PortOpener,
    PortSettings, PortWait, WaitPolicy, realtime,
};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use tenuto_units::Span;

/// A sleeping forwarder looks at its orders so often.
const ORDERS_PERIOD: Span = Span::from_ms(2);

/// What a forwarder is made of.
#[derive(Clone, Debug)]
pub struct ForwarderSettings {
    /// What carries the frames.
    pub ports: PortSettings,
    /// How the thread waits.
    pub policy: WaitPolicy,
    /// The processor that it runs on.
    pub processor: Option<usize>,
}

/// A thread that passes every frame of each port on to the other.
pub struct BareForwarder {
    thread: Option<JoinHandle<()>>,
    orders: Option<Sender<()>>,
    is_window_over: Arc<AtomicBool>,
    news: Receiver<io::Result<News>>,
    notes: Vec<String>,
}

enum News {
    Ready(Vec<String>),
    Began,
    Ended { processor_time: Span },
}

impl BareForwarder {
    /// Starts it between two interfaces of the present network namespace; it sleeps until a window
    /// begins.
    ///
    /// # Errors
    ///
    /// When a port cannot be opened.
    pub fn start(settings: ForwarderSettings, entry: &str, exit: &str) -> io::Result<Self> {
        let (orders, order) = channel();
        let (tell, news) = channel();
        let is_window_over = Arc::new(AtomicBool::new(true));
        let names = [entry.to_owned(), exit.to_owned()];
        let over = Arc::clone(&is_window_over);
        let thread = std::thread::Builder::new()
            .name("forwarder".into())
            .spawn(move || work(&settings, &names, &order, &over, &tell))?;
        let mut forwarder = Self {
            thread: Some(thread),
            orders: Some(orders),
            is_window_over,
            news,
            notes: Vec::new(),
        };
        match forwarder.wait_for_news()? {
            News::Ready(notes) => forwarder.notes = notes,
            _ => return Err(io::Error::other("the forwarder is out of step")),
        }
        Ok(forwarder)
    }

    /// What is less than was wished about its ports.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn wait_for_news(&self) -> io::Result<News> {
        self.news.recv().map_err(|_| io::Error::other("the forwarder is gone"))?
    }
}

impl Subject for BareForwarder {
    fn begin(&mut self) -> io::Result<()> {
        self.is_window_over.store(false, Ordering::Release);
        let sent = self.orders.as_ref().map(|orders| orders.send(()));
        if !matches!(sent, Some(Ok(()))) {
            return Err(io::Error::other("the forwarder is gone"));
        }
        match self.wait_for_news()? {
            News::Began => Ok(()),
            _ => Err(io::Error::other("the forwarder is out of step")),
        }
    }

    fn end(&mut self) -> io::Result<Span> {
        self.is_window_over.store(true, Ordering::Release);
        match self.wait_for_news()? {
            News::Ended { processor_time } => Ok(processor_time),
            _ => Err(io::Error::other("the forwarder is out of step")),
        }
    }
}

impl Drop for BareForwarder {
    fn drop(&mut self) {
        self.is_window_over.store(true, Ordering::Release);
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was told on standard error.
            let _ = thread.join();
        }
    }
}

fn work(
    settings: &ForwarderSettings,
    names: &[String; 2],
    order: &Receiver<()>,
    is_window_over: &AtomicBool,
    tell: &Sender<io::Result<News>>,
) {
    let mut bridge = match Bridge::open(settings, names) {
        Ok((bridge, notes)) => {
            let _ = tell.send(Ok(News::Ready(notes)));
            bridge
        }
        Err(error) => {
            let _ = tell.send(Err(error));
            return;
        }
    };
    while order.recv().is_ok() {
        // Without the right it is measured as it is.
        let _ = realtime::try_fifo(PRIORITY);
        let _ = tell.send(Ok(News::Began));
        let done = bridge.window(settings.policy, is_window_over);
        let _ = realtime::leave_fifo();
        let _ = tell.send(done.map(|processor_time| News::Ended { processor_time }));
    }
}

struct Bridge {
    ports: [Box<dyn Port + Send>; 2],
    set: PollSet,
    keys: [PollKey; 2],
}

impl Bridge {
    fn open(settings: &ForwarderSettings, names: &[String; 2]) -> io::Result<(Self, Vec<String>)> {
        if let Some(processor) = settings.processor {
            realtime::pin_to(&[processor])?;
        }
        realtime::set_timer_slack(Span::from_ns(1))?;
        let mut opener = PortOpener::new(settings.ports.clone(), names.len());
        let [first, second] = [opener.open(&names[0])?, opener.open(&names[1])?];
        for name in names {
            // Else the kernel's own frames (router solicitations) into a TAP are forwarded too.
            disable_ipv6_on(&LinkName::new(name).map_err(io::Error::other)?)?;
        }
        let notes = first.notes.into_iter().chain(second.notes).collect();
        let ports = [first.port, second.port];
        let mut set = PollSet::new();
        let keys = [set.add_port(&*ports[0])?, set.add_port(&*ports[1])?];
        Ok((Self { ports, set, keys }, notes))
    }

    /// Passes frames on until the window is over; gives the processor time.
    fn window(&mut self, policy: WaitPolicy, is_over: &AtomicBool) -> io::Result<Span> {
        let Self { ports, set, keys } = self;
        for port in ports.iter_mut() {
            while port.receive(BURST_FRAMES, &mut |_, _| ())? > 0 {}
        }
        let mut wait = PortWait::new(policy);
        let before = realtime::thread_processor_time();
        while !is_over.load(Ordering::Acquire) {
            let deadline = Some(MonotonicClock::now() + ORDERS_PERIOD);
            wait.wait(set, deadline, &mut |look| {
                // The deadline is far; the order to end is not.
                match is_over.load(Ordering::Relaxed) {
                    true => Pending::Frames,
                    false => Pending::of(ports.iter().map(|port| &**port as &dyn Port), look),
                }
            })?;
            let [first, second] = ports;
            pass(&mut **first, &mut **second, set, keys[0])?;
            pass(&mut **second, &mut **first, set, keys[1])?;
        }
        Ok(Span::from_ns(realtime::thread_processor_time().as_ns() - before.as_ns()))
    }
}

/// Passes one burst on, from where it lies.
fn pass(from: &mut dyn Port, to: &mut dyn Port, set: &PollSet, key: PollKey) -> io::Result<()> {
    let is_ready = from.pending().unwrap_or(false) || set.readiness(key).readable;
    if !is_ready {
        return Ok(());
    }
    let mut done = Ok(FlushReport::default());
    from.lend(BURST_FRAMES, &mut |lent| done = to.transmit(lent.frames))?;
    done.map(|_| ())
}
