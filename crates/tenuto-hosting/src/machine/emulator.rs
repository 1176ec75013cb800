//! The command that is a machine: QEMU's `microvm`, which has a serial line, a network card and no other device.

use crate::setup::MachineSetup;
use std::path::Path;
use std::process::{Command, Stdio};

/// What carries out the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Processor {
    /// That of the host.
    Kvm,
    /// An emulated one.
    Emulated,
}

impl Processor {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Emulated => "tcg",
        }
    }
}

/// Of translated code, where the processor is emulated.
const TRANSLATED_MB: u32 = 64;
/// The kernel's own look at an emulated processor's clocks may hang on a busy machine: they are told.
const TOLD_CLOCKS: &str = "no_timer_check lpj=4000000 tsc_early_khz=2600000";

/// The emulator with an image; its serial line is standard input and output.
pub(super) fn command(machine: &MachineSetup, image: &Path, processor: Processor) -> Command {
    let mut command = Command::new(&machine.emulator);
    let (accelerator, cpu, clocks) = match processor {
        Processor::Kvm => ("kvm".to_owned(), "host", ""),
        Processor::Emulated => (format!("tcg,tb-size={TRANSLATED_MB}"), "qemu64", TOLD_CLOCKS),
    };
    command.args(["-machine", "microvm,acpi=on,rtc=on,pit=off,pic=off"]);
    command.args(["-accel", &accelerator, "-cpu", cpu, "-smp", &machine.processors.to_string()]);
    command.args(["-m", &format!("{}M", machine.memory_bytes.div_ceil(1 << 20))]);
    command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    command.args(["-serial", "stdio", "-monitor", "none"]);
    command.arg("-kernel").arg(&machine.kernel).arg("-initrd").arg(image);
    let append = format!("console=ttyS0 quiet panic=-1 ipv6.disable=1 {clocks}");
    command.args(["-append", append.trim_end()]);
    if let Some(card) = &machine.card {
        command.args(["-netdev", &format!("tap,id=n0,fd={},vhost=off", card.tap)]);
        command.args(["-device", &format!("virtio-net-device,netdev=n0,mac={}", card.mac)]);
    }
    command.env_clear().current_dir("/tmp");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}
