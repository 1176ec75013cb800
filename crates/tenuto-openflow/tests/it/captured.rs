//! Captured OpenFlow 1.3 packets that ship with os-ken, each through the codec and back.
//!
//! They are read where os-ken is installed: set `TENUTO_OSKEN_PYTHON` to a Python that has it.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // a test reads its vectors

use std::path::PathBuf;
use std::process::Command;
use tenuto_openflow::{Action, Body, Experimenter, Framer, Instruction, Message, Oxm};

fn folder() -> Option<PathBuf> {
    let python = std::env::var("TENUTO_OSKEN_PYTHON").ok()?;
    let program = "import os, os_ken; print(os.path.dirname(os_ken.__file__))";
    let output = Command::new(python).args(["-c", program]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(path.trim()).join("tests/packet_data/of13"))
}

fn packets() -> Option<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder()?).ok()? {
        let path = entry.ok()?.path();
        if path.extension().is_some_and(|e| e == "packet") {
            let name = path.file_name()?.to_string_lossy().into_owned();
            found.push((name, std::fs::read(path).ok()?));
        }
    }
    found.sort();
    Some(found)
}

fn is_foreign(message: &Message) -> bool {
    let oxm = |oxm: &Oxm| matches!(oxm, Oxm::Unknown { class, .. } if *class != 0x8000);
    let action = |action: &Action| match action {
        Action::Experimenter { .. } => true,
        Action::SetField(field) => oxm(field),
        _ => false,
    };
    match &message.body {
        Body::Experimenter(Experimenter::Unknown { .. }) => true,
        Body::FlowMod(flow_mod) => {
            flow_mod.match_.oxms.iter().any(oxm)
                || flow_mod.instructions.iter().any(|instruction| match instruction {
                    Instruction::ApplyActions(list) | Instruction::WriteActions(list) => {
                        list.iter().any(action)
                    }
                    _ => false,
                })
        }
        Body::PacketIn(packet_in) => packet_in.match_.oxms.iter().any(oxm),
        _ => false,
    }
}

#[test]
fn captured_packets_come_back_byte_for_byte() {
    let Some(packets) = packets() else {
        println!("skipped: TENUTO_OSKEN_PYTHON names no Python that has os-ken");
        return;
    };
    assert!(packets.len() >= 100, "{} packets", packets.len());
    let (mut different, mut foreign) = (Vec::new(), 0);
    let mut stream = Vec::new();
    for (name, bytes) in &packets {
        match Message::parse(bytes) {
            Ok(message) => {
                foreign += usize::from(is_foreign(&message));
                if message.to_bytes() != *bytes {
                    different.push(format!("{name}: comes back as other bytes"));
                }
                assert!(!matches!(message.body, Body::Unknown { .. }), "{name}");
                stream.extend(bytes);
            }
            Err(error) => different.push(format!("{name}: {error}")),
        }
    }
    println!("{} packets, {foreign} of them with extensions of others", packets.len());
    assert!(different.is_empty(), "{different:#?}");
    assert!(foreign > 20, "{foreign}");
    // The same as one stream, in segments of 61 bytes.
    let (mut framer, mut count) = (Framer::new(), 0);
    for segment in stream.chunks(61) {
        framer.push(segment).expect("complete messages are taken out");
        while let Some(message) = framer.next() {
            message.expect("parsed above");
            count += 1;
        }
    }
    assert_eq!(count, packets.len());
}
