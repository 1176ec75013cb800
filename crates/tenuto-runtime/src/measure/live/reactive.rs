//! The least controller that forwards: every packet that it is asked about goes out at once.

use super::entries::{ENTRY, EXIT};
use crate::standalone::{Endpoint, SwitchClient};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tenuto_io::realtime;
use tenuto_openflow::constants::NO_BUFFER;
use tenuto_openflow::{Action, PacketOut};

/// Above who sends, which shares its processor and never sleeps.
const PRIORITY: u8 = 11;

/// A thread that answers one switch.
pub(super) struct Reactive {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reactive {
    /// Connects and asks to be asked; works on `processor`.
    pub(super) fn start(endpoint: &Endpoint, processor: usize) -> io::Result<Self> {
        let mut client = SwitchClient::connect(endpoint, None)?;
        client.listen_to_packets()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = std::thread::Builder::new().name("controller".into()).spawn(move || {
            // Without the rights it answers as it can.
            let _ = realtime::pin_to(&[processor]);
            let _ = realtime::try_fifo(PRIORITY);
            while !over.load(Ordering::Relaxed) {
                if answer(&mut client).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { is_over, thread: Some(thread) })
    }
}

fn answer(client: &mut SwitchClient) -> io::Result<()> {
    let Some(packet) = client.next_packet()? else { return Ok(()) };
    client.send_packet(PacketOut {
        buffer_id: packet.buffer_id,
        in_port: ENTRY,
        actions: vec![Action::Output { port: EXIT, max_len: 0 }],
        data: if packet.buffer_id == NO_BUFFER { packet.data } else { Vec::new() },
    })
}

impl Drop for Reactive {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there was told on standard error.
            let _ = thread.join();
        }
    }
}
