//! Switches of ours without ports: the core of the switch behind a connection, for what a controller keeps in it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tenuto_dataplane::switch::{
    ClassifierKind, GeneralConfig, HashKey, PortConfig, PortRole, Switch, SwitchConfig, SwitchEvent,
};
use tenuto_dataplane::{Effects, EgressConfig, FramePool};
use tenuto_io::MonotonicClock;
use tenuto_units::{Rate, Span};

/// It looks whether it is over so often, and calls a controller again that is not there.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const INPUT_BYTES: usize = 64 * 1024;
const PORTS: u32 = 16;
const LINE_BPS: u64 = 1_000_000_000;

/// A switch that keeps its tables and calls its controller for as long as this is there.
#[derive(Debug)]
pub struct CoreSwitch {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for CoreSwitch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl CoreSwitch {
    /// Starts one.
    ///
    /// # Errors
    /// No thread can be made.
    pub fn start(datapath_id: u64, controller: SocketAddr) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let body = move || {
            let mut switch = Switch::new(Arc::new(config(datapath_id)));
            while !over.load(Ordering::Relaxed) {
                // A controller that is gone is called again: the tables stay.
                let _ = serve(&mut switch, controller, &over);
                switch.disconnected();
                thread::sleep(LOOK_EVERY);
            }
        };
        let thread = thread::Builder::new().name(format!("switch {datapath_id}")).spawn(body)?;
        Ok(Self { is_over, thread: Some(thread) })
    }
}

pub(super) fn config(datapath_id: u64) -> SwitchConfig {
    let rate = Rate::from_bps(LINE_BPS).expect("not zero");
    let egress = EgressConfig { rate, queues: 8, buffer_bits: 1 << 24, unpromised_from: None };
    SwitchConfig {
        datapath_id,
        ports: (1..=PORTS).map(|port| PortConfig { port, role: PortRole::Host, egress }).collect(),
        tables: 8,
        entries_max: 100_000,
        meters_max: 20_000,
        groups_max: 20_000,
        meter_extra_bytes: 24,
        classifier: ClassifierKind::ByMask,
        hash_key: HashKey::fixed(),
        boot_seed: 0,
        mode_retry: Span::from_ms(10),
        general: Some(GeneralConfig::default()),
    }
}

fn serve(switch: &mut Switch, controller: SocketAddr, over: &AtomicBool) -> io::Result<()> {
    let mut stream = TcpStream::connect(controller)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LOOK_EVERY))?;
    let mut frames = FramePool::new(16);
    let mut fx: Effects<SwitchEvent> = Effects::new();
    let mut bytes = vec![0; INPUT_BYTES];
    switch.connected(&mut fx);
    while !over.load(Ordering::Relaxed) {
        stream.write_all(&fx.control)?;
        fx.control.clear();
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                let now = MonotonicClock::now();
                if !switch.control(now, &bytes[..count], &mut frames, &mut fx) {
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
