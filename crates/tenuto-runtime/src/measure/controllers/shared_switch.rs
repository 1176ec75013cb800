//! A switch of ours without ports that several controllers have: roles tell which of them writes.

use super::core_switch::config;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tenuto_dataplane::switch::{ConnectionId, Switch, SwitchEvent};
use tenuto_dataplane::{Effects, FramePool};
use tenuto_io::MonotonicClock;

/// It looks whether it is over so often, and calls a controller again that is not there.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const INPUT_BYTES: usize = 64 * 1024;

/// The switch, and where each controller is written to.
struct Shared {
    switch: Switch,
    frames: FramePool,
    writers: Vec<Option<TcpStream>>,
}

impl Shared {
    /// What the switch has to say goes out, to each its own.
    fn send(&mut self, fx: &mut Effects<SwitchEvent>) {
        for (id, bytes) in fx.channels.drain(..) {
            let place = usize::from(id).checked_sub(1);
            if let Some(writer) = place.and_then(|it| self.writers.get_mut(it)) {
                // One that is gone is found out by its reader.
                let _ = writer.as_mut().map(|it| it.write_all(&bytes));
            }
        }
    }
}

/// A switch that keeps its tables and calls its controllers for as long as this is there.
#[derive(Debug)]
pub struct SharedSwitch {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for SharedSwitch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl SharedSwitch {
    /// Starts one.
    ///
    /// # Errors
    /// No thread can be made.
    pub fn start(datapath_id: u64, controllers: &[SocketAddr]) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let switch = Switch::new(Arc::new(config(datapath_id)));
        let writers = controllers.iter().map(|_| None).collect();
        let shared = Arc::new(Mutex::new(Shared { switch, frames: FramePool::new(16), writers }));
        let mut all = Self { is_over, threads: Vec::new() };
        for (place, &controller) in controllers.iter().enumerate() {
            let (shared, over) = (Arc::clone(&shared), Arc::clone(&all.is_over));
            let name = format!("switch {datapath_id} to {controller}");
            let body = move || {
                while !over.load(Ordering::Relaxed) {
                    // A controller that is gone is called again: the tables stay.
                    let _ = serve(&shared, place, controller, &over);
                    thread::sleep(LOOK_EVERY);
                }
            };
            all.threads.push(thread::Builder::new().name(name).spawn(body)?);
        }
        Ok(all)
    }
}

fn serve(
    shared: &Mutex<Shared>,
    place: usize,
    controller: SocketAddr,
    over: &AtomicBool,
) -> io::Result<()> {
    let mut stream = TcpStream::connect(controller)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LOOK_EVERY))?;
    let number = u16::try_from(place + 1).map_err(|_| io::Error::other("too many controllers"))?;
    let id = ConnectionId(number);
    {
        let mut shared = shared.lock().expect("nobody panics with it");
        let mut fx = Effects::new();
        shared.writers[place] = Some(stream.try_clone()?);
        let connected = shared.switch.connected_to(id, None, &mut fx);
        connected.map_err(|_| io::Error::other("no room for another controller"))?;
        shared.send(&mut fx);
    }
    let ended = carry(shared, &mut stream, id, over);
    let mut shared = shared.lock().expect("nobody panics with it");
    shared.switch.disconnected_from(id);
    shared.writers[place] = None;
    ended
}

fn carry(
    shared: &Mutex<Shared>,
    stream: &mut TcpStream,
    id: ConnectionId,
    over: &AtomicBool,
) -> io::Result<()> {
    let (mut bytes, mut fx) = (vec![0; INPUT_BYTES], Effects::new());
    while !over.load(Ordering::Relaxed) {
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                let mut shared = shared.lock().expect("nobody panics with it");
                let Shared { switch, frames, .. } = &mut *shared;
                let now = MonotonicClock::now();
                let goes_on = switch.control_from(id, now, &bytes[..count], frames, &mut fx);
                shared.send(&mut fx);
                if !goes_on {
                    return Ok(());
                }
            }
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
