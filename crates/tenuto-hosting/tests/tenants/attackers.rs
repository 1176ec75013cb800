//! What runs inside sandboxes: this program, trying what it should not be able to do.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tenuto_io::namespaces::namespace_rights;
use tenuto_io::{PacketPort, TapPort, confine, mounts};

/// Attacks, if this process was started for that.
pub(crate) fn main() -> Option<ExitCode> {
    let args: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [_, "attack", "rights"] => rights(),
        [_, "attack", "listen", address] => listen(address),
        [_, "attack", "connect", address] => connect(address),
        [_, "attack", "send", from, to] => send(from, to),
        [_, "attack", "flood", to] => flood(to),
        [_, "attack", "eat"] => eat(),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

/// Says of each right whether it was given.
fn rights() {
    let said = |what: &str, is_given: bool| {
        println!("{what}: {}", if is_given { "GIVEN" } else { "refused" });
    };
    said("mount", mounts::mount_memory(Path::new("/tmp"), 4_096, 0o755).is_ok());
    let remount = mounts::limit_mount(Path::new("/usr"), mounts::MountLimits::Data);
    said("remount", remount.is_ok() && std::fs::write("/usr/x", "").is_ok());
    said("unmount", mounts::unmount(Path::new("/proc/sys")).is_ok());
    said("user namespace", confine::enter_inner_user(0).is_ok());
    said("namespaces", namespace_rights().namespaces.is_ok());
    said("packet socket", PacketPort::open("eth0").is_ok());
    said("tap", TapPort::open("tap0").is_ok());
    said("host name", confine::set_host_name("mine").is_ok());
    said("memory of process 1", std::fs::read("/proc/1/environ").is_ok());
    said("kernel memory", std::fs::File::open("/dev/mem").is_ok());
    let kernel = std::fs::read("/proc/kcore").map(|bytes| bytes.len()).unwrap_or(0);
    said("kernel core", kernel > 0);
    said("setting of the kernel", std::fs::write("/proc/sys/kernel/core_pattern", "x").is_ok());
    println!("all tried");
    wait_for_ever();
}

fn wait_for_ever() {
    let (_keep, never) = std::sync::mpsc::channel::<()>();
    let _ = never.recv();
}

/// Serves as a controller: answers each connection with a word.
fn listen(address: &str) {
    let listener = TcpListener::bind(address).expect("its own address");
    println!("listening");
    for mut stream in listener.incoming().map_while(Result::ok) {
        let _ = stream.write_all(b"hello");
    }
}

fn connect(address: &str) {
    let address = address.parse().expect("an address");
    let answer = TcpStream::connect_timeout(&address, Duration::from_secs(3));
    let answer = answer.and_then(|mut stream| {
        stream.set_read_timeout(Some(Duration::from_secs(3)))?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    });
    println!("answer: {answer:?}");
    wait_for_ever();
}

fn send(from: &str, to: &str) {
    let sent = UdpSocket::bind(from).and_then(|socket| socket.send_to(b"x", to));
    println!("sent: {sent:?}");
    wait_for_ever();
}

/// Frames of a flood, a few times what passes while they are sent.
pub(crate) const FLOOD_FRAMES: u64 = 20_000;

/// Sends as fast as it can.
fn flood(to: &str) {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let sent = (0..FLOOD_FRAMES).filter(|_| socket.send_to(&[0; 384], to).is_ok()).count();
    println!("flooded {sent}");
    wait_for_ever();
}

/// Takes memory until there is none.
fn eat() {
    let mut eaten: Vec<Vec<u8>> = Vec::new();
    loop {
        eaten.push(vec![1; 1 << 20]);
        println!("{} MB", eaten.len());
    }
}
